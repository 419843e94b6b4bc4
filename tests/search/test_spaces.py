"""Spaces of several branches, constraints, and what is caught before the first fit."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from fake_estimators import Fake, search_of
from skrobustbo import Integer, Real

X, y = load_iris(return_X_y=True)
PIPE = Pipeline([("reduce", PCA()), ("model", SVC())])
BRANCHES = [
    {"model": [SVC()], "model__C": Real(1e-2, 1e2, log=True)},
    {"model": [KNeighborsClassifier()], "model__n_neighbors": Integer(1, 30)},
    {
        "model": [RandomForestClassifier(n_estimators=5, random_state=0)],
        "model__max_depth": Integer(1, 5),
        "reduce": ["passthrough"],
    },
]


class Kinds(Fake):
    def __init__(self, a=0.0, b=0.0, kind="x"):
        self.a = a
        self.b = b
        self.kind = kind

    def score(self, X, y=None):
        base = {"x": 0.0, "good": 1.0, "bad": -1.0}[self.kind]
        return base + super().score(X, y) - (self.b - 0.1) ** 2


def search(estimator, space, **settings):
    return search_of(estimator, space, **{"n_iter": 12, "cv": 2, **settings})


def test_one_search_over_several_models():
    ours = search(PIPE, BRANCHES, n_iter=18).fit(X, y)
    tried = ours.cv_results_["params"]
    kinds = [type(params["model"]).__name__ for params in tried]
    assert set(kinds) == {"SVC", "KNeighborsClassifier", "RandomForestClassifier"}
    for name in ("param_model__C", "param_model__n_neighbors", "param_reduce"):
        masked = ours.cv_results_[name].mask
        assert 0 < np.sum(masked) < 18
    assert ours.best_score_ > 0.95
    assert ours.best_estimator_.score(X, y) > 0.9
    # The estimators of the space stay as they are; each candidate has a clone.
    assert not hasattr(BRANCHES[1]["model"][0], "classes_")


def test_the_better_branch_gets_the_budget():
    space = [{"kind": [kind], "a": Real(-1, 1)} for kind in ("bad", "good", "x")]
    ours = search(Kinds(), space, n_iter=40).fit(X, y)
    kinds = [params["kind"] for params in ours.cv_results_["params"]]
    assert kinds[-15:].count("good") >= 13
    assert ours.best_params_["kind"] == "good"


def test_initial_params_are_completed_within_their_branch():
    first = [{"model__n_neighbors": 7}, {"model__C": 3.0}]
    ours = search(PIPE, BRANCHES, initial_params=first, n_iter=9).fit(X, y)
    given, second = ours.cv_results_["params"][:2]
    assert isinstance(given["model"], KNeighborsClassifier)
    assert given["model__n_neighbors"] == 7
    assert isinstance(second["model"], SVC)
    assert second["model__C"] == 3.0


def test_initial_params_take_what_else_the_component_has():
    space = [
        {"model": [SVC(C=4.0)], "model__C": Real(1, 9), "model__gamma": Real(0, 1)}
    ]
    ours = search(PIPE, space, initial_params=[{"model__gamma": 0.5}], n_iter=3)
    ours.fit(X, y)
    assert ours.cv_results_["params"][0]["model__C"] == 4.0


def test_constraints():
    def allowed(params):
        return params["a"] + params["b"] < 0.2

    space, best = {"a": Real(-1, 1), "b": Real(-1, 1)}, []
    for seed in range(3):
        settings = {"constraints": allowed, "n_iter": 30, "random_state": seed}
        ours = search(Kinds(), space, **settings).fit(X, y)
        assert all(map(allowed, ours.cv_results_["params"]))
        best.append(ours.best_score_)
    assert np.median(best) > -0.0202  # the best allowed point has a = 0.2, b = 0


def test_constraints_are_asked_before_any_fit():
    class Never(Fake):
        def fit(self, X, y=None):
            raise AssertionError

    ours = search(Never(), {"a": Real(-1, 1)}, constraints=lambda params: False)
    with pytest.raises(ValueError, match="'constraints' of Optimizer must allow"):
        ours.fit(X, y)
    ours.set_params(constraints=lambda params: params["a"] > 0)
    with pytest.raises(ValueError, match=r"'initial_params'.*'constraints'"):
        ours.set_params(initial_params=[{"a": -0.5}]).fit(X, y)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (
            [{"model": [SVC()], "model__CC": Real(0, 1)}],
            r"'model__CC' in 'param_space' for SVC; did you mean 'model__C'\?",
        ),
        (
            {"model": [SVC(), KNeighborsClassifier()], "model__C": Real(0, 1)},
            r"KNeighborsClassifier, a value of 'model', has no 'C'. Write a list",
        ),
        (
            {"reduce": ["passthrough", PCA()], "reduce__n_components": [1, 2]},
            r"'passthrough', a value of 'reduce', has no 'n_components'",
        ),
        (
            {"model": ["passthrough"], "model__C": Real(0, 1)},
            r"'model__C' in 'param_space' for 'passthrough'",
        ),
        ([BRANCHES[0], {"modle": [SVC()]}], "did you mean 'model'"),
    ],
)
def test_names_of_searched_components(space, message):
    with pytest.raises(ValueError, match=message):
        search(PIPE, space).fit(X, y)


def test_a_finite_space_is_searched_once():
    space = [{"kind": ["x", "good"], "a": [0, 1]}, {"kind": ["bad"], "b": [1, 2, 3]}]
    ours = search(Kinds(), space, n_iter=25).fit(X, y)
    assert ours.n_iter_ == 7
    assert ours.stop_reason_ == "space_exhausted"
    tried = [tuple(sorted(p.items())) for p in ours.cv_results_["params"]]
    assert len(set(tried)) == 7
