"""The study of honest scores: a real run with tiny settings, and a table made up."""

import numpy as np
import pandas as pd
import pytest

import honest_score
import shared
from honest_score import COLUMNS, SETTINGS, Key
from skrobustbo_benchmarks._record import Table

TINY = "--settings tree-r2 --policies random --searches 2 --nested 1 --n-iter 3"


def command(path, *more):
    words = ["--out", str(path), *TINY.split(), *more]
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


def test_images_are_drawn_anew_for_each_search(monkeypatch):
    images = np.arange(30 * 784).reshape(30, 784)
    monkeypatch.setattr(
        honest_score, "fetch_mnist", lambda *args, **kwargs: (images, np.arange(30))
    )
    monkeypatch.setattr(honest_score, "N_UNUSED", 20)
    honest_score.images.cache_clear()
    few = SETTINGS["mnist accuracy"]._replace(rows=10)
    monkeypatch.setitem(SETTINGS, "mnist accuracy", few)
    key = Key("mnist accuracy", "robust", 30, 0, 0)
    X, y, unused, answers = honest_score.draw(key)
    honest_score.images.cache_clear()
    assert X.shape == (10, 196)
    assert sorted([*y, *answers]) == list(range(30))
    # The first pixels of the first and the third line.
    np.testing.assert_array_equal(X[:, 0], images[y, 0])
    np.testing.assert_array_equal(unused[:, 14], images[answers, 56])


@pytest.mark.parametrize("setting", [s for s in SETTINGS if not s.startswith("mnist")])
def test_unused_rows_are_of_the_same_source(setting, monkeypatch):
    monkeypatch.setattr(honest_score, "N_UNUSED", 2000)
    X, y, unused, answers = honest_score.draw(Key(setting, "random", 30, 0, 0))
    assert len(X) == len(y) == SETTINGS[setting].rows
    assert len(unused) == len(answers) == 2000
    if SETTINGS[setting].scoring == "roc_auc" and SETTINGS[setting].rare < 50:
        assert answers.mean() == pytest.approx(SETTINGS[setting].rare / 100, abs=0.02)
    if SETTINGS[setting].groups:
        assert len(np.unique(X[:, 0])) == SETTINGS[setting].groups
        assert X[0, 0] == X[4, 0] != X[5, 0] == X[9, 0]


def test_settings_that_are_none(tmp_path):
    with pytest.raises(SystemExit):
        command(tmp_path / "r.csv", "--settings", "forest")


def made_up(setting, **columns):
    """Return four runs of which some scores are given, and an unlucky default."""
    keys = [Key(setting, "robust", 30, seed, 0) for seed in range(4)]
    luck = np.array([0.05, 0.05, -0.05, -0.05])
    runs = pd.DataFrame([key._asdict() for key in keys])
    return runs.assign(luck=luck, nested_score=np.nan, **columns)


def cells(runs):
    lines = honest_score.report(runs).splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_bias_and_coverage_are_of_the_truth():
    truth = np.array([0.7, 0.8, 0.7, 0.8])
    runs = made_up(
        "tree auc",
        truth=truth,
        naive_score=truth + 0.1,
        honest_score=truth + np.tile([0.01, -0.01], 2),
        folds_score=truth - 0.02,
        low=[0.6, 0.7, 0.6, 0.9],
        high=[0.9, 0.9, 0.9, 1.0],
    )
    naive, honest, folds = cells(runs)
    assert naive[4:] == ["+0.1000 ± 0.0000", "100", "28", "0.1000", "-"]
    assert honest[3:] == ["4", "+0.0000 ± 0.0058", "11", "28", "0.0100", "75.0"]
    assert folds[4:] == ["-0.0200 ± 0.0000", "20", "28", "0.0200", "-"]


def test_luck_that_the_default_shares_is_taken_off():
    luck = np.array([0.05, 0.05, -0.05, -0.05])
    same = dict.fromkeys(["honest_score", "folds_score", "low", "high"], 0.5)
    runs = made_up("tree r2", truth=0.5, naive_score=0.6 + 2 * luck, **same)
    assert cells(runs)[0][4] == "+0.1000 ± 0.0000"
    runs["luck"] += 0.01  # more than the expected luck, which is 0
    assert cells(runs)[0][4] == "+0.0800 ± 0.0000"


def test_a_summary_has_a_line_for_each_setting(tmp_path, capsys):
    path, same = tmp_path / "r.csv", {"truth": 0.5, "low": 0.4, "high": 0.6}
    runs = made_up(
        "tree auc", naive_score=0.6, honest_score=0.51, folds_score=0.48, **same
    )
    runs.to_csv(path, index=False)
    options = ["--out", str(path), "--summary"]
    assert shared.status(honest_score.build_parser(), honest_score.main, options) == 0
    line = "| tree auc | robust | 4 | 0.1 | 10 ± 0 | -20 | 100.0 |"
    assert capsys.readouterr().out.splitlines()[2:] == [line]
