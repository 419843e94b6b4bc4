"""Spaces of several branches, constraints, and errors before the first fit."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from fake_estimators import Fake, search_of
from skrobustbo import Integer, Real, load_checkpoint

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


# Equal values of different types ------------------------------------------------------


class Typed(Fake):
    """Scores by the type of a parameter, and requires a whole number in another."""

    def __init__(self, a=1, n=1, r=0.5):
        self.a = a
        self.n = n
        self.r = r

    def fit(self, X, y=None, **params):
        assert type(self.n) is int
        assert type(self.r) is float
        return super().fit(X, y)

    def score(self, X, y=None):
        return {int: 0.0, float: 1.0, bool: -1.0}[type(self.a)]


TYPED = {"a": [1, 1.0, True], "n": Integer(1, 4), "r": Real(0.1, 1)}
FIRST = [{"a": a, "n": 2.0, "r": 1} for a in (1, 1.0, True)]


def test_the_type_is_part_of_a_value(tmp_path):
    path = tmp_path / "s.db"
    settings = {"initial_params": FIRST, "error_score": "raise"}
    ours = search(Typed(), TYPED, checkpoint=path, **settings).fit(X, y)
    first = ours.cv_results_["params"][:3]
    assert [repr(p) for p in first] == [
        f"{{'a': {a}, 'n': 2, 'r': 1.0}}" for a in ("1", "1.0", "True")
    ]
    assert ours.cv_results_["mean_test_score"][:3].tolist() == [0.0, 1.0, -1.0]
    assert type(ours.best_params_["a"]) is float
    assert "a = 1.0" in ours.report()
    for table in (ours.trials_dataframe(), load_checkpoint(path).trials_dataframe()):
        assert [type(a) for a in table["param_a"][:3]] == [int, float, bool]
    again = search(Typed(), TYPED, checkpoint=path, **settings).fit(X, y)
    assert repr(again.cv_results_["params"]) == repr(ours.cv_results_["params"])
    other = {**TYPED, "a": [1, 1.0, 0]}
    with pytest.raises(ValueError, match="another search"):
        search(Typed(), other, checkpoint=path, error_score="raise").fit(X, y)
    for previous in (ours, path, ours.trials_dataframe()):
        later = search(Typed(), TYPED, previous=previous, n_iter=3).fit(X, y)
        known = {repr(r["params"]): r["value"] for r in later.optimizer_.history_}
        assert known["{'a': 1.0, 'n': 2, 'r': 1.0}"] == 1.0
        assert known["{'a': True, 'n': 2, 'r': 1.0}"] == -1.0


def test_a_setting_that_has_changed_its_type_is_another():
    before = search(Typed(a=1), {"n": [1, 2, 3], "a": [1]}, n_iter=3).fit(X, y)
    with pytest.warns(UserWarning, match="no candidate that fits"):
        search(Typed(a=1.0), {"n": [1, 2, 3]}, n_iter=3, previous=before).fit(X, y)


# Choices that are odd objects ---------------------------------------------------------


class Held(Fake):
    """Changes what it is given, and scores by it."""

    def __init__(self, a=None, b=0.0):
        self.a = a
        self.b = b

    def score(self, X, y=None):
        score = float(len(self.a)) + self.b
        self.a.append(0)
        return score


def test_an_estimator_may_change_its_parameters():
    choices = [[1], [1, 2], [1, 2, 3]]
    ours = search(Held(), {"a": choices, "b": [0.0, 0.1]}, n_iter=6, cv=3).fit(X, y)
    assert choices == [[1], [1, 2], [1, 2, 3]]
    tried = ours.cv_results_["params"]
    assert sorted((len(p["a"]), p["b"]) for p in tried) == [
        (n, b) for n in (1, 2, 3) for b in (0.0, 0.1)
    ]


def test_a_listener_may_change_what_it_is_told():
    def careless(record):
        record["params"]["a"].clear()

    ours = search(Held(), {"a": [[1], [1, 2]]}, n_iter=2, on_trial=careless).fit(X, y)
    assert sorted(len(p["a"]) for p in ours.cv_results_["params"]) == [1, 2]


class Holder(Fake):
    """Has a parameter that accepts anything."""

    def __init__(self, a=0.0, b=None):
        self.a = a
        self.b = b


@pytest.mark.parametrize(
    "choices",
    [
        [np.array([0.5, 0.5]), np.array([0.3, 0.7])],
        [np.eye(2), np.zeros((2, 2)), None],
        [[0.5, 0.5], {"a": np.arange(2)}, (1, 2)],
        [pd.DataFrame({"a": [1]}), pd.Series([1, 2])],
        [Pipeline([("reduce", PCA())]), SVC()],
        [np.datetime64("2020-01-01"), np.float64(1), True],
    ],
)
def test_a_table_of_any_choices(choices):
    ours = search(Holder(), {"b": choices}, n_iter=3).fit(X, y)
    table = ours.trials_dataframe()
    assert len(table) == len(choices)
    for shown, params in zip(table["param_b"], ours.cv_results_["params"], strict=True):
        assert type(shown) is type(params["b"])


class Mute:
    def __repr__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.process)])
def test_choices_without_a_text(n_jobs, tmp_path, capsys):
    space = {"b": [Mute(), {"a": Mute()}, None], "a": [0.0, 0.1]}
    settings = {"verbose": 3, "n_jobs": n_jobs, "checkpoint": tmp_path / "s.db"}
    ours = search(Holder(), space, n_iter=6, **settings).fit(X, y)
    assert len(ours.cv_results_["params"]) == 6
    assert "b = " in ours.report()
    assert len(ours.trials_dataframe()) == 6
    assert len(load_checkpoint(tmp_path / "s.db").trials_dataframe()) == 6
