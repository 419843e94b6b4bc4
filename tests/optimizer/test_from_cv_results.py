"""Starting from the results of an earlier search."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.svm import SVC

from skrobustbo import Integer, Optimizer, Real

SPACE = {"C": Real(1e-2, 1e2, log=True), "kernel": ["rbf", "linear"]}
GRID = {"C": [0.1, 1.0, 10.0], "kernel": ["rbf", "linear"]}


@pytest.fixture(scope="module")
def searched():
    X, y = load_iris(return_X_y=True)
    scoring = ["accuracy", "f1_macro"]
    return GridSearchCV(SVC(), GRID, scoring=scoring, refit=False, cv=3).fit(X, y)


def test_an_earlier_search_is_gone_on_with(searched):
    results = searched.cv_results_
    optimizer = Optimizer.from_cv_results(
        results, SPACE, metric="accuracy", horizon=20, random_state=0
    )
    assert len(optimizer.history_) == 6
    assert optimizer.best_value_ == results["mean_test_accuracy"].max()
    assert optimizer.ask() not in results["params"]
    assert optimizer.horizon == 20


def test_what_does_not_fit_is_reported(searched):
    narrow = {**SPACE, "C": Real(0.5, 20)}
    with pytest.warns(UserWarning, match=r"Of 6 .* 4 fit .* 2 do not.*'C'.*got 0\.1"):
        optimizer = Optimizer.from_cv_results(
            searched.cv_results_, narrow, metric="f1_macro"
        )
    assert len(optimizer.history_) == 4
    with pytest.warns(UserWarning, match="0 fit the space"):
        Optimizer.from_cv_results(searched.cv_results_, {"z": [1]}, metric="f1_macro")


@pytest.mark.parametrize("metric", [None, "score", "accuraccy"])
def test_several_metrics_have_to_be_named(searched, metric):
    with pytest.raises(ValueError, match=r"\['accuracy', 'f1_macro'\]"):
        Optimizer.from_cv_results(searched.cv_results_, SPACE, metric=metric)


def test_the_branches_of_an_earlier_grid():
    """Parameters that a candidate did not have are masked."""
    X, y = load_iris(return_X_y=True)
    grid = [{"kernel": ["linear"], "C": [1, 2]}, {"kernel": ["rbf"], "gamma": [0.1]}]
    results = dict(GridSearchCV(SVC(), grid, cv=3).fit(X, y).cv_results_)
    space = [
        {"kernel": ["linear"], "C": Real(0.1, 10)},
        {"kernel": ["rbf"], "gamma": Real(1e-3, 1)},
    ]
    whole = Optimizer.from_cv_results(results, space)
    del results["params"]
    columns = Optimizer.from_cv_results(results, space)
    assert whole.best_params_ == columns.best_params_
    assert len(columns.history_) == 3
    assert [r["params"] for r in columns.history_] == [
        r["params"] for r in whole.history_
    ]


def test_failed_candidates_and_plain_types():
    results = {
        "params": [{"C": np.float64(1.0)}, {"C": 3}, {"C": 5.0}],
        "mean_test_score": np.ma.array([0.5, math.nan, 0.9], mask=[0, 0, 1]),
    }
    optimizer = Optimizer.from_cv_results(results, {"C": Real(0, 10)})
    reasons = [record["failed_reason"] for record in optimizer.history_]
    assert reasons == [None, "the value was nan", "the value was nan"]
    assert type(optimizer.best_params_["C"]) is float


def test_a_table_of_the_results():
    X, y = load_iris(return_X_y=True)
    search = RandomizedSearchCV(
        LogisticRegression(),
        {"max_iter": range(200, 300)},
        n_iter=3,
        cv=3,
        random_state=0,
    ).fit(X, y)
    table = pd.DataFrame(search.cv_results_)
    optimizer = Optimizer.from_cv_results(table, {"max_iter": Integer(200, 299)})
    assert len(optimizer.history_) == 3
    text = table.drop(columns="params")
    again = Optimizer.from_cv_results(text, {"max_iter": Integer(200, 299)})
    assert again.best_params_ == optimizer.best_params_


@pytest.mark.parametrize(
    ("results", "words"),
    [
        (3, "a dict of columns, got 3"),
        ([1], "a dict of columns"),
        ({}, "The 'metric' must be one of"),
        ({"mean_test_score": [1.0]}, "columns 'param_<name>'"),
        ({"mean_test_score": [1.0], "params": [{}, {}]}, "1 scores of 2 candidates"),
    ],
)
def test_what_is_no_result(results, words):
    with pytest.raises(ValueError, match=words):
        Optimizer.from_cv_results(results, SPACE)
