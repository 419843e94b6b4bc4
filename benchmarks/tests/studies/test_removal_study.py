"""What the default is worth without one of its settings or constants."""

import numpy as np
import pandas as pd
import pytest

import removal
from skrobustbo.policies import _climbs


def run_of(variant, seed, best, found=False, problem="camel"):
    return {
        "problem": problem,
        "seed": seed,
        "variant": variant,
        "found": found,
        "n_initial": 1,
        "best": best,
    }


def runs(of_variant, found=(True, True)):
    """Two seeds of robust, a variant and random on a problem, and as many traps."""
    rows = []
    for seed in (0, 1):
        rows.append(run_of("random", seed, [-10.0, -10.0, -10.0]))
        rows.append(run_of("robust", seed, [-10.0, -1.0, 0.0]))
        rows.append(run_of("endgame", seed, [-10.0, *of_variant]))
        for variant, ok in (("robust", True), ("endgame", found[seed])):
            rows.append(run_of(variant, seed, [0.0] * 3, ok, "trap, d = 2"))
    return pd.DataFrame(rows)


def line_of(made, variant="endgame"):
    table = removal.verdicts(made)
    return table.set_index("without").loc[variant]


def test_area_is_the_mean_regret_after_the_start_as_a_share_of_randoms():
    found = removal.areas(runs([-2.0, 0.0])).loc["camel"]
    np.testing.assert_allclose(found["robust"], np.log10(0.05))
    np.testing.assert_allclose(found["endgame"], np.log10(0.1))


@pytest.mark.parametrize(
    ("of_variant", "found", "verdict"),
    [
        ([-1.0, 0.0], (True, True), "goes"),
        ([-1.04, 0.0], (True, True), "stays"),  # log10(1.04) = 0.017
        ([-1.0, 0.0], (True, False), "goes"),
        ([-1.0, 0.0], (False, False), "stays"),
    ],
)
def test_what_is_without_effect_goes(of_variant, found, verdict):
    assert line_of(runs(of_variant, found))["verdict"] == verdict


def test_constants_are_patched_for_one_run_only():
    for variant, patches in removal.CONSTANTS.items():
        before = [getattr(module, name) for module, name, _ in patches]
        if variant == "_BOX":
            removal.values_of("camel", 0, variant)
        assert [getattr(module, name) for module, name, _ in patches] == before
        assert all(
            value != old for (*_, value), old in zip(patches, before, strict=True)
        )
    assert _climbs._BOX == 0.4


def test_command(tmp_path, capsys):
    path = tmp_path / "r.csv"
    words = (
        f"--seeds 1 --jobs 1 --variants endgame --problems camel --traps 1 --out {path}"
    )
    removal.main(removal.build_parser().parse_args(words.split()))
    table = pd.read_csv(path)
    assert list(table["without"]) == ["robust", "endgame"]
    assert "verdict" in capsys.readouterr().out
