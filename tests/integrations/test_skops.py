"""skops, joblib and pickle store and restore fitted searches, which can then resume."""

import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline

from fake_estimators import FAKE_SPACE, Noisy
from skrobustbo import (
    Categorical,
    Integer,
    Optimizer,
    Real,
    RobustBayesSearchCV,
    Space,
    one_standard_error,
)
from skrobustbo.policies import GPUCB, available

X, y = load_iris(return_X_y=True)

pytestmark = pytest.mark.filterwarnings("ignore")


def by_skops(what):
    skops = pytest.importorskip("skops.io")
    written = skops.dumps(what)
    return skops.loads(written, trusted=skops.get_untrusted_types(data=written))


def by_joblib(what):
    file = io.BytesIO()
    joblib.dump(what, file)
    file.seek(0)
    return joblib.load(file)


def is_allowed(params):
    return params["a"] < 0.8


BRANCHES = [
    {"model": [GaussianNB()], "model__var_smoothing": Real(1e-9, 1e-3, log=True)},
    {"model": [LogisticRegression(max_iter=9)], "model__C": Real(0.1, 10)},
]
SEARCHES = {
    "plain": {},
    "space": {"param_space": Space({"a": Real(-1, 1)})},
    "points": {"param_space": Space.from_points([{"a": i / 9} for i in range(9)])},
    "lists": {"param_space": {"a": np.linspace(0, 1, 20), "fail_above": [0.5, 9]}},
    "mixed": {
        "param_space": {
            "a": Categorical([0.1, 0.3, 0.5], ordered=True),
            "seconds": [0.0, 1e-3],
            "fail_above": Integer(1, 3),
        },
        "estimator": Noisy(),
    },
    "branches": {"estimator": Pipeline([("model", GaussianNB())])},
    "constraints": {"constraints": is_allowed},
    "failed": {"estimator": Noisy(fail_above=0.3)},
    "racing": {"racing": "confident", "cv": 5},
    "free": {"schedule": "free", "batch_size": 2},
    "honest": {"honest_score": True, "scoring": "accuracy"},
    "metrics": {"scoring": ["accuracy", "f1_macro"], "refit": "accuracy"},
    "rule": {"refit": one_standard_error("a")},
    "kernel": {"policy": GPUCB(RBF() + WhiteKernel())},
    "groups": {"cv": [(np.arange(100), np.arange(100, 150))] * 2},
    "resource": {
        "estimator": LogisticRegression(),
        "param_space": {"C": Real(0.1, 10)},
        "resource": "max_iter",
        "n_iter": 2,
    },
    "previous": {"previous": {"params": [{"a": 0.2}], "mean_test_score": [0.9]}},
    **{name: {"policy": name} for name in available()},
}
SEARCHES["branches"]["param_space"] = BRANCHES


#: joblib pickles, and pickle accepts more than skops does.
CASES = [("skops", name) for name in SEARCHES]
CASES += [("joblib", name) for name in ("plain", "branches", "racing", "resource")]


@pytest.mark.parametrize(("way", "name"), CASES)
def test_a_search_that_was_written_predicts_and_goes_on(way, name):
    given = {"estimator": Noisy(), "param_space": FAKE_SPACE, "n_iter": 5}
    given |= {"cv": 2, "random_state": 0, **SEARCHES[name]}
    search = RobustBayesSearchCV(**given).fit(X, y)
    read = {"skops": by_skops, "joblib": by_joblib}[way](search)
    np.testing.assert_array_equal(read.predict(X), search.predict(X))
    assert read.report() == search.report()
    for each in (search, read):
        each.resume(X, y, n_iter=2)
    assert str(read.cv_results_["params"]) == str(search.cv_results_["params"])
    for column in ("mean_test_accuracy", "mean_test_score", "model_std"):
        if column in search.cv_results_:
            expected = search.cv_results_[column]
            np.testing.assert_array_equal(read.cv_results_[column], expected)


def test_factors_that_are_not_written_are_built_again_bit_by_bit():
    space = {"a": Real(-1, 1)}
    optimizer = Optimizer(space, "map-gp-ucb", n_initial_points=3, random_state=0)
    for _ in range(40):
        params = optimizer.ask()
        optimizer.tell(params, -((params["a"] - 0.3) ** 2))
    read = pickle.loads(pickle.dumps(optimizer))
    for _ in range(3):
        params = optimizer.ask()
        assert read.ask() == params
        for each in (optimizer, read):
            each.tell(params, params["a"])
