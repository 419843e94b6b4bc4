"""Variants of a method beside it: differences over problems, and their errors."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ablation
import shared
from ablation import differences, jackknife_error, pairs_of
from scores import LEAST_SHARE

DOCS = Path(__file__).parents[3] / "docs" / "benchmarks"


def of(*values):
    return dict(enumerate(values))


def found(variant, reference, random=(10.0,), n_tasks=1):
    of_methods = {"variant": variant, "robust": reference, "random": of(*random)}
    task = pd.concat(dict.fromkeys(["final", "area"], pd.DataFrame(of_methods)), axis=1)
    return {(f"p{i}", 9): task for i in range(n_tasks)}


def test_difference_is_that_of_logarithms_of_mean_shares():
    pairs = pairs_of(found(of(1.0, 3.0), of(10.0, 30.0)), "variant", "robust")
    np.testing.assert_allclose(differences(pairs, "final"), [-1.0])
    np.testing.assert_allclose(differences(pairs, "area"), [-1.0])
    np.testing.assert_allclose(differences(pairs, "final", {1}), [-1.0])


def test_tiny_shares_and_lost_runs_are_bounded():
    pairs = pairs_of(found(of(0.0), of(1e-9)), "variant", "robust")
    assert differences(pairs, "final") == [0.0]
    pairs = pairs_of(found(of(math.inf), of(10.0)), "variant", "robust")
    np.testing.assert_allclose(differences(pairs, "final"), -math.log10(LEAST_SHARE))


def test_pairs_are_of_common_seeds_and_unsolved_problems():
    (pair,) = pairs_of(found(of(1.0, 2.0, 3.0), of(4.0)), "variant", "robust")
    assert list(pair.variant.index) == list(pair.reference.index) == [0]
    assert pairs_of(found(of(1.0), of(1.0), random=(0.0,)), "variant", "robust") == []
    assert pairs_of(found(of(1.0), {}), "variant", "robust") == []


def test_jackknife_of_a_mean_is_its_standard_error():
    # Of one problem, and shares so close that the logarithm is a line.
    values = 1.0 + 1e-6 * np.array([3.0, -1.0, 4.0, 1.0, -5.0])
    pairs = pairs_of(found(of(*values), of(*np.ones(5))), "variant", "robust")
    expected = values.std(ddof=1) / math.sqrt(5) / math.log(10)
    assert jackknife_error(pairs, "final") == pytest.approx(expected, rel=1e-4)
    # Problems of the same seeds err together: more of them do not help.
    several = found(of(*values), of(*np.ones(5)), n_tasks=4)
    pairs = pairs_of(several, "variant", "robust")
    assert jackknife_error(pairs, "final") == pytest.approx(expected, rel=1e-4)


def test_problems_of_other_seeds_err_by_themselves():
    few = 1.0 + 1e-6 * np.array([3.0, -1.0, 4.0])
    many = 1.0 + 1e-6 * np.array([1.0, -5.0, 9.0, 2.0, -6.0, 5.0])
    pairs = [
        pair
        for values in (few, many)
        for pair in pairs_of(
            found(of(*values), of(*np.ones(len(values)))), "variant", "robust"
        )
    ]
    # The error of the mean of two independent means.
    errors = [values.std(ddof=1) / math.sqrt(len(values)) for values in (few, many)]
    expected = math.hypot(*errors) / 2 / math.log(10)
    assert jackknife_error(pairs, "final") == pytest.approx(expected, rel=1e-4)


def test_one_seed_has_no_error():
    pairs = pairs_of(found(of(1.0), of(2.0)), "variant", "robust")
    assert math.isnan(jackknife_error(pairs, "final"))


def command(*words):
    return shared.status(ablation.build_parser(), ablation.main, list(map(str, words)))


def test_a_report_has_the_variants(tmp_path):
    out = tmp_path / "page.md"
    words = ("--reference", "before", "--title", "Price", "--out", out)
    assert command(DOCS / "price.csv", *words) == 0
    text = out.read_text()
    assert text.startswith("# Price\n\n## Differences from before")
    assert "| robust | 27 | 20 |" in text


def test_what_is_missing_is_said(capsys):
    path = DOCS / "price.csv"
    for present, missing in (("robust", "random"), ("random", "robust")):
        with pytest.raises(SystemExit):
            command(path, "--policies", present)
        assert f"takes runs of {missing}; there are none" in capsys.readouterr().err
