"""Checkpoints of searches with an honest score store predictions with the scores."""

import base64
import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from skrobustbo import Integer, RobustBayesSearchCV
from skrobustbo._trials import SINGLE, FoldResult
from skrobustbo.checkpoint import CheckpointError
from skrobustbo.checkpoint._events import FoldForm, Malformed, read_fold, write_fold
from skrobustbo.checkpoint._store import _digest

X, y = make_classification(60, 5, flip_y=0.2, random_state=0)
SPACE = {"max_depth": Integer(1, 8), "min_samples_leaf": Integer(1, 20)}


class Counted(DecisionTreeClassifier):
    n_fits = 0

    # With the parameters of the base class, for which scikit-learn has metadata.
    def fit(self, X, y, sample_weight=None, check_input=True):
        Counted.n_fits += 1
        return super().fit(X, y, sample_weight, check_input)


def make(path=None, n_iter=6, **settings):
    given = {"honest_score": True, "cv": 3, "random_state": 0, **settings}
    return RobustBayesSearchCV(
        Counted(random_state=0), SPACE, n_iter=n_iter, checkpoint=path, **given
    )


def rows_of(path, table="fold"):
    with closing(sqlite3.connect(path)) as db:
        return db.execute(
            f"SELECT number, body FROM {table} ORDER BY number"
        ).fetchall()


def change(path, number, **predictions):
    """Change the predictions in the row of a fold, with a matching digest."""
    with closing(sqlite3.connect(path)) as db:
        (file_number,) = db.execute("SELECT number FROM header").fetchone()
        query = "SELECT body FROM fold WHERE number = ?"
        body = json.loads(db.execute(query, [number]).fetchone()[0])
        body["predictions"] = {**(body["predictions"] or {}), **predictions}
        text = json.dumps(body)
        db.execute(
            "UPDATE fold SET body = ?, digest = ? WHERE number = ?",
            [text, _digest(file_number, "fold", number, text), number],
        )
        db.commit()


@pytest.mark.parametrize("scoring", [None, "neg_log_loss", "roc_auc"])
def test_resumed_is_unbroken(scoring, tmp_path):
    path = tmp_path / "search.ckpt"
    settings = {"scoring": scoring, "policy": "random", "n_initial_points": 2}
    whole = make(n_iter=6, **settings).fit(X, y)
    make(path, 4, **settings).fit(X, y)
    Counted.n_fits = 0
    again = make(path, 6, **settings).fit(X, y)
    assert Counted.n_fits == 2 * 3 + 1
    assert again.honest_score_ == whole.honest_score_
    assert again.honest_interval_ == whole.honest_interval_
    kinds = {json.loads(body)["predictions"]["type"] for _, body in rows_of(path)}
    assert kinds <= ({"uint8"} if scoring is None else {"float32", "float64"})


def test_without_it_rows_have_no_predictions(tmp_path):
    paths = [tmp_path / name for name in ("off", "folds", "on")]
    for path, setting in zip(paths, (False, "folds", True), strict=True):
        make(path, honest_score=setting).fit(X, y)
    off, folds, on = ([json.loads(body) for _, body in rows_of(p)] for p in paths)
    assert all(row["predictions"] is None for row in off + folds)
    assert all(row["predictions"] is not None for row in on)
    headers = [json.loads(rows_of(p, "header")[0][1])["search"] for p in paths]
    assert "honest_score" not in headers[0]["settings"]
    assert headers[0] == headers[1] != headers[2]


def test_what_may_change_from_call_to_call(tmp_path):
    path, other = tmp_path / "off", tmp_path / "on"
    make(path, honest_score=False).fit(X, y)
    Counted.n_fits = 0
    make(path, honest_score="folds", refit=False).fit(X, y)
    assert Counted.n_fits == 0
    with pytest.raises(
        CheckpointError, match="honest_score was absent and is now True"
    ):
        make(path).fit(X, y)
    several = {"scoring": ["accuracy", "roc_auc"], "search_metric": "accuracy"}
    make(other, **several, refit="accuracy").fit(X, y)
    with pytest.raises(CheckpointError, match="honest_score was 'True for accuracy'"):
        make(other, **several, refit="roc_auc").fit(X, y)


SEVERAL = {"scoring": ["accuracy", "roc_auc"], "search_metric": "accuracy"}
SETTINGS = {
    "one metric": ({}, {}),
    "another refit": (
        {**SEVERAL, "refit": "roc_auc"},
        {**SEVERAL, "refit": "accuracy"},
    ),
    "no refit": ({**SEVERAL, "refit": False}, {**SEVERAL, "refit": "roc_auc"}),
    "a list of one": (
        {"scoring": ["roc_auc"], "refit": "roc_auc"},
        {"scoring": ["roc_auc"], "search_metric": "roc_auc", "refit": False},
    ),
}


def timeless(results):
    return str({key: value for key, value in results.items() if "time" not in key})


@pytest.mark.parametrize("off", [False, "folds"])
@pytest.mark.parametrize("name", SETTINGS)
def test_it_may_be_turned_off_and_on_again(name, off, tmp_path):
    path, (settings, later) = tmp_path / "search.ckpt", SETTINGS[name]
    same = {"policy": "random", "n_initial_points": 3}
    settings, later = {**settings, **same}, {**later, **same}
    whole = make(n_iter=8, **settings).fit(X, y)
    make(path, 4, **settings).fit(X, y)
    Counted.n_fits = 0
    without = make(path, 6, honest_score=off, **later).fit(X, y)
    assert Counted.n_fits == 2 * 3 + (later.get("refit") is not False)
    assert hasattr(without, "honest_score_") == (off == "folds")
    if off:
        assert np.isnan(without.honest_interval_).all()
    assert all("predictions" in json.loads(body) for _, body in rows_of(path))
    again = make(path, 8, **settings).fit(X, y)
    assert again.honest_score_ == whole.honest_score_
    assert again.honest_interval_ == whole.honest_interval_


@pytest.mark.parametrize("off", [False, "folds"])
def test_resume_may_turn_it_off_and_on_again(off):
    whole = make(n_iter=6, n_initial_points=2).fit(X, y)
    search = make(n_iter=4, n_initial_points=2).fit(X, y)
    search.set_params(honest_score=off).resume(X, y, n_iter=1)
    assert timeless(search.cv_results_).count("predictions") == 0
    search.set_params(honest_score=True).resume(X, y, n_iter=1)
    assert np.isfinite(search.honest_score_)
    assert len(search.cv_results_["params"]) == len(whole.cv_results_["params"])
    again = search.set_params(honest_score=off).resume(X, y, n_iter=1)
    assert hasattr(again, "honest_score_") == (off == "folds")
    assert hasattr(again, "honest_optimism_") == (off == "folds")
    plain = make(n_iter=4, n_initial_points=2, honest_score=off).fit(X, y)
    with pytest.raises(ValueError, match="honest_score was absent and is now True"):
        plain.set_params(honest_score=True).resume(X, y, n_iter=1)


ONE = base64.b64encode(bytes(20)).decode()


@pytest.mark.parametrize(
    "bad",
    [
        {"type": "object"},
        {"type": ["uint8"]},
        {"type": "uint16"},
        {"type": "float16", "data": base64.b64encode(bytes(40)).decode()},
        {"shape": [19]},
        {"shape": [21]},
        {"shape": [-20]},
        {"shape": [20.0]},
        {"shape": [True]},
        {"shape": []},
        {"shape": 20},
        {"shape": [2**53, 2**53]},
        {"shape": [20, 1, 1]},
        {"shape": [20, 0], "data": ""},
        {"shape": [10, 2]},  # of other rows than the fold's
        {"shape": [19], "data": base64.b64encode(bytes(19)).decode()},
        {"data": "*"},
        {"data": "ä"},
        {"data": None},
        {"data": 3},
        {"data": ONE + "A"},
        {"data": base64.b64encode(b"\2" * 20).decode()},  # there are two classes
        {"type": "float32", "data": base64.b64encode(b"\xff" * 80).decode()},  # nan
        {"pickle": "gASVAAAA"},
    ],
)
def test_malformed_predictions_are_refused(bad, tmp_path):
    path = tmp_path / "search.ckpt"
    make(path, 2).fit(X, y)
    change(path, 1, **bad)
    before, Counted.n_fits = path.read_bytes(), 0
    with pytest.raises(CheckpointError, match=r"is damaged \(.*predictions\)"):
        make(path, 2).fit(X, y)
    assert Counted.n_fits == 0
    assert path.read_bytes() == before


def test_predictions_where_there_are_none(tmp_path):
    path = tmp_path / "search.ckpt"
    make(path, 2, honest_score=False).fit(X, y)
    change(path, 1, type="uint8", shape=[20], data=ONE)
    with pytest.raises(CheckpointError, match=r"is damaged \(.*predictions\)"):
        make(path, 2, honest_score=False).fit(X, y)


def test_predictions_that_are_no_record(tmp_path):
    fold = FoldResult({SINGLE: 0.5}, None, 2, 0.1, 0.1)
    row = write_fold(((0, 0), fold))
    for bad in ([], "uint8", 3, {}):
        with pytest.raises(Malformed, match="predictions"):
            read_fold(json.dumps({**json.loads(row), "predictions": bad}))
    FoldForm([], train=False).check(((0, 0), fold))
    codes = read_fold(
        write_fold(((0, 0), replace(fold, predictions=np.zeros(2, dtype="u1"))))
    )
    for n_classes, n_rows in ((None, [2]), (0, [2]), (1, [3])):
        form = FoldForm([], train=False, n_classes=n_classes, n_rows=n_rows)
        with pytest.raises(Malformed, match="predictions"):
            form.check(codes)
    FoldForm([], train=False, n_classes=1, n_rows=[2]).check(codes)
    assert len(codes[1].predictions) == 2
