"""The study of honest scores: a real run with tiny settings, and a table made up."""

import numpy as np
import pandas as pd
import pytest

import honest_score
import shared
from honest_score import COLUMNS, Key
from skrobustbo.benchmarks._record import Table

TINY = "--settings tree-r2 --policies random --searches 2 --nested 1 --n-iter 3"


def command(path, *more):
    words = ["--out", str(path), *TINY.split(), "--rows", "60", *more]
    return shared.status(honest_score.build_parser(), honest_score.main, words)


def test_the_command_goes_on_where_it_was(tmp_path, capsys):
    path = tmp_path / "r.csv"
    assert command(path) == 0
    first, _ = Table(path, COLUMNS, key=Key._fields).read()
    assert first["nested"].tolist() == [1, 0]
    assert first["nested_score"].notna().tolist() == [True, False]
    assert (first["low"] < first["honest_score"]).all()
    assert (first["honest_score"] < first["high"]).all()
    assert (first["folds_score"] <= first["naive_score"]).all()
    assert "nested cross-validation | 1 |" in capsys.readouterr().out
    assert command(path, "--searches", "1") == 0
    assert len(Table(path, COLUMNS, key=Key._fields).read()[0]) == 2
    assert "`best_score_` | 1 |" in capsys.readouterr().out


def test_settings_that_are_none(tmp_path):
    with pytest.raises(SystemExit):
        command(tmp_path / "r.csv", "--settings", "forest")


def test_bias_and_coverage_are_of_the_truth():
    keys = [Key("tree auc", "robust", 300, 30, seed, 0) for seed in range(4)]
    runs = pd.DataFrame([key._asdict() for key in keys])
    truth = np.array([0.7, 0.8, 0.7, 0.8])
    runs = runs.assign(
        truth=truth,
        naive_score=truth + 0.1,
        honest_score=truth + np.tile([0.01, -0.01], 2),
        folds_score=truth - 0.02,
        nested_score=np.nan,
        low=[0.6, 0.7, 0.6, 0.9],
        high=[0.9, 0.9, 0.9, 1.0],
    )
    lines = honest_score.report(runs).splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    naive, honest, folds = cells
    assert naive[4:] == ["+0.1000 ± 0.0000", "100", "0.1000", "-"]
    assert honest[3:] == ["4", "+0.0000 ± 0.0058", "11", "0.0100", "75.0"]
    assert folds[4:] == ["-0.0200 ± 0.0000", "20", "0.0200", "-"]
