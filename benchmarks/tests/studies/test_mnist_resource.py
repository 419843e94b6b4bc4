"""The study of the time to a good score on MNIST, on the small digits."""

import importlib.util
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mnist_resource as study
import shared
from mnist import load_split

HAS_OPTUNA = importlib.util.find_spec("optuna") is not None


def command(path, *more):
    words = ["--out", str(path), "--data", "digits", "--n-iter", "4", "--seeds", "0"]
    return shared.status(study.build_parser(), study.main, [*words, *more])


def test_every_method_is_run_and_runs_are_made_once(tmp_path, capsys):
    path = tmp_path / "r.csv"
    command(path)
    runs = pd.read_csv(path)
    methods = ["resource", "full", "halving"] + ["hyperband"] * HAS_OPTUNA
    assert runs.method.tolist() == methods
    for text, seconds in zip(runs.curve, runs.seconds, strict=True):
        at, scores = study.curve_of(text)
        assert (np.diff(at) >= 0).all()
        assert at[-1] <= seconds + 0.01
        assert ((scores >= 0) & (scores <= 1)).all()
    shown = capsys.readouterr().out
    assert shown.count("| resource |") == 1
    command(path, "--seeds", "0-1")
    again = pd.read_csv(path)
    assert again.curve[: len(runs)].tolist() == runs.curve.tolist()
    assert len(again) == 2 * len(runs)


@pytest.mark.parametrize(
    ("method", "n"), [("resource", 3), ("full", 4), ("halving", 2)]
)
def test_only_full_evaluations_count(method, n):
    (X, y), _ = load_split("digits", 1500, 0)
    curve = study.METHODS[method](X, y, study.Key("digits", 4, 0, method))
    assert len(curve) == n
    assert all(0 <= score <= 1 for _, score in curve)


def test_the_clock_pairs_the_end_of_a_candidate_with_its_score():
    clock = study.Clock()
    clock.ends = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert clock.curve([0.5, 0.7], [True, True]) == [(3.0, 0.5), (6.0, 0.7)]
    assert clock.curve([0.5, 0.7], [False, True]) == [(6.0, 0.7)]


def test_the_time_is_that_to_a_score_near_the_best():
    runs = pd.DataFrame(
        {
            "method": ["resource", "full"],
            "curve": ["1:0.90 2:0.897 3:0.95", "1:0.5 7:0.946 9:0.9"],
            "seconds": [4.0, 9.0],
        }
    )
    shown = study.report(runs)
    assert "Best of all: 0.9500" in shown
    assert "| resource | 1 of 1 | 3 |" in shown
    assert "| full | 1 of 1 | 7 |" in shown
    runs.loc[1, "curve"] = "1:0.5"
    assert "| full | 0 of 1 | inf |" in study.report(runs)


def test_the_page_says_what_the_file_holds():
    docs = Path(__file__).parents[3] / "docs"
    shown = study.report(pd.read_csv(docs / "benchmarks" / "mnist_resource.csv"))
    page = " ".join((docs / "resource.md").read_text().split())
    assert "| full | 3 of 3 |" in shown
    assert "| resource | 2 of 3 |" in shown
    assert "*full* came close to the best score in all three runs" in page
    assert "whereas *resource* did so in only two" in page
