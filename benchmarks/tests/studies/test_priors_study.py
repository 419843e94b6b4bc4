"""What priors of many length scales cost the default."""

import numpy as np
import pandas as pd
import pytest

import priors


@pytest.mark.parametrize("name", priors.FUNCTIONS)
def test_functions_have_their_least_value_at_0(name):
    func = priors.function(name, 8, 4, 0)
    values = [func(u) for u in np.random.default_rng(0).random((200, 8))]
    assert 0 < min(values) < max(values)
    # Only some coordinates matter.
    moved = [func(np.where(np.arange(8) == i, 0.9, 0.3)) for i in range(8)]
    assert sum(value != func(np.full(8, 0.3)) for value in moved) == 4


def test_the_optimum_of_what_is_shifted():
    rng = np.random.default_rng([3, 8])
    chosen, optimum = rng.permutation(8)[:4], rng.uniform(0.2, 0.8, 4)
    u = np.zeros(8)
    u[chosen] = optimum
    for name in ("griewank", "rastrigin", "sums"):
        assert priors.function(name, 8, 4, 3)(u) == pytest.approx(0.0, abs=1e-12)


def test_runs_share_their_initial_designs():
    first, other = (
        priors.run_of("bowl", (8, 4, 12), 1, method) for method in ("random", "common")
    )
    assert first["problem"] == other["problem"] == "bowl, 4 of 8"
    assert 0 < other["final"] <= other["area"]


def test_differences_are_of_shares_of_random_search():
    rows = []
    for problem, scale in (("a", 1.0), ("b", 100.0)):
        for seed in (0, 1):
            shares = {"random": 1.0, "narrow": 0.1, "common": 0.01}
            for method, share in shares.items():
                value = scale * share
                rows.append((problem, seed, method, value, 2 * value))
    columns = ["problem", "seed", "method", "final", "area"]
    table = priors.differences(pd.DataFrame(rows, columns=columns)).set_index("prior")
    assert list(table.index) == ["common", "narrow"]
    assert list(table.loc["common"]) == [2, -1.0, 0.0, -1.0, 0.0]
    assert list(table.loc["narrow"]) == [2, 0.0, 0.0, 0.0, 0.0]


def test_command(tmp_path, capsys):
    path = tmp_path / "p.csv"
    words = "--seeds 1 --jobs 1 --sizes 0 --functions bowl --priors common"
    priors.main(priors.build_parser().parse_args([*words.split(), "--out", str(path)]))
    assert set(pd.read_csv(path)["method"]) == {"random", "narrow", "common"}
    assert "area_error" in capsys.readouterr().out
