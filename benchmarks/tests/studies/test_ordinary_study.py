"""Ordinary problems at every moment: short runs, and tables of runs made up."""

import json

import numpy as np
import pandas as pd
import pytest

import ordinary
import shared
from ordinary import COLUMNS, Key
from skrobustbo_benchmarks._record import Table


def command(path, *more):
    words = ["--out", str(path), "--seeds", "1", "--n-iter", "6", "--d", "2", *more]
    return shared.status(ordinary.build_parser(), ordinary.main, words)


def read(path):
    return Table(path, COLUMNS, key=Key._fields).read()[0]


def made_up(regret_of):
    """Return runs whose regrets after half of the evaluations fall to a tenth."""
    rows = []
    for family in ("powers", "ackley"):
        for seed in (1000, 1001):
            for method in ("map-gp-ucb", "robust"):
                last = regret_of(family, seed, method)
                best = json.dumps([10 * last] * 10 + [last] * 10)
                rows.append((family, 2, 20, method, seed, 100.0, best))
    return pd.DataFrame(rows, columns=[*COLUMNS])


def test_differences_at_each_moment():
    shares = {"map-gp-ucb": 1.0, "robust": 0.1}
    runs = made_up(lambda family, seed, method: shares[method])
    logs = ordinary.logs_of(runs).xs("map-gp-ucb", level="method")
    assert logs.iloc[0].tolist() == pytest.approx([-1, -1, -2, -2, -2])
    apart = ordinary.differences(runs, "map-gp-ucb").xs("robust", level="method")
    assert apart.to_numpy() == pytest.approx(-1.0)


def test_regrets_below_the_least_are_level():
    shares = {"map-gp-ucb": 1e-9, "robust": 0.0}
    runs = made_up(lambda family, seed, method: shares[method])
    apart = ordinary.differences(runs, "map-gp-ucb").xs("robust", level="method")
    assert apart.to_numpy()[:, -1] == pytest.approx(0.0)


def test_intervals_hold_the_mean():
    values = np.random.default_rng(0).normal(1.0, 1.0, (100, 2))
    mean, low, high = ordinary.interval(values)
    assert (low < mean).all()
    assert (mean < high).all()
    assert high - low == pytest.approx([0.4, 0.4], abs=0.08)


def test_report():
    worse = {"powers": 1.0, "ackley": 100.0}
    runs = made_up(lambda family, seed, method: worse[family] ** (method == "robust"))
    text = ordinary.report(runs, "map-gp-ucb")
    assert "| robust | 20 | all | powers | 2 | +0.00 (+0.00 to +0.00) |" in text
    assert "| robust | 20 | all | ackley | 2 | +2.00 (+2.00 to +2.00) |" in text
    assert "| robust | 20 | all | all | 4 | +1.00 (" in text


def test_runs_are_stored_and_continued(tmp_path, capsys):
    path, target = tmp_path / "runs.csv", tmp_path / "table.md"
    families = ("--families", "powers", "mixed-ellipsoid")
    assert command(path, "--methods", "random", *families) == 0
    assert "| random | 6 | all | powers | 1 |" in capsys.readouterr().out
    first = path.read_text()
    more = ("--methods", "random,sobol", *families, "--table", str(target))
    assert command(path, *more) == 0
    assert path.read_text().startswith(first)
    assert "4 of 6 runs are there" in capsys.readouterr().err
    assert "| sobol | 6 | all | all | 2 |" in target.read_text()
    runs = read(path)
    assert set(runs["seed"]) == {1000}
    for best in runs["best"]:
        assert len(json.loads(best)) == 6
    # All methods of a seed share the initial design.
    firsts = runs.groupby("family")["best"].agg(
        lambda of: {json.loads(b)[0] for b in of}
    )
    assert all(len(of) == 1 for of in firsts)


def test_roles_share_no_families_and_no_seeds(tmp_path):
    path = tmp_path / "runs.csv"
    words = ("--methods", "random", "--reference", "random", "--role", "reporting")
    assert command(path, *words, "--families", "sphere") == 0
    assert set(read(path)["seed"]) == {0}
    with pytest.raises(SystemExit):
        command(path, *words, "--families", "powers")


def test_runs_of_another_version_have_a_name(tmp_path, capsys):
    path = tmp_path / "runs.csv"
    words = ("--families", "powers", "--label", "before")
    assert command(path, "--methods", "random", *words) == 0
    assert set(read(path)["method"]) == {"map-gp-ucb", "before"}
    with pytest.raises(SystemExit):
        command(path, "--methods", "random,sobol", *words)
    assert "--label takes a single one" in capsys.readouterr().err
