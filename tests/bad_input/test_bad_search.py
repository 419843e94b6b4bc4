"""Mistakes of users in a search: one sentence each, before the first fit."""

import math
import os
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.stats
from sentences import FITS, Counting, X, assert_well_written, refusal, short, y
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, KFold
from sklearn.svm import SVC

from fake_estimators import FAKE_SPACE, search_of
from skrobustbo import (
    Categorical,
    Integer,
    Racing,
    Real,
    Resource,
    Space,
    one_standard_error,
    policies,
)


def search(**settings):
    given = {"estimator": Counting(), "n_iter": 6, "cv": 2, **settings}
    return search_of(**given)


def refused(data=(X, y), passed=None, fits=0, **settings):
    """Return the error of a search for settings or data, after at most `fits` fits."""
    FITS.clear()
    message = refusal(lambda: search(**settings).fit(*data, **(passed or {})))
    assert len(FITS) <= fits, message
    return message


class Wrong:
    """Has only a fit method."""

    def fit(self, X, y=None):
        return self


def test_the_table_starts_from_a_search_that_works():
    FITS.clear()
    ours = search().fit(X, y)
    assert len(FITS) == 6 * 2 + 1
    assert ours.n_iter_ == 6


# The constructor ----------------------------------------------------------------------

COUNTS = [0, -1, 1.5, "5", math.nan, math.inf, [5]]
SECONDS = [0, -1, "x", math.nan, math.inf, [1], type(None)]
ONLY = {
    "estimator": [None, 3, "svc", object(), SVC, Wrong()],
    "param_space": [None, 3, "a", ({"a": [1]},), np.array([1]), Real(0, 1)],
    "n_iter": [*COUNTS, None, 10**400],
    "n_initial_points": [*COUNTS, True, 10**400],
    "batch_size": [*COUNTS, None],
    "policy": [None, 3, policies.RobustUCB, object(), "", "robustt", "gp ucb"],
    "include_default": [3, "yes", None],
    "initial_params": [
        3,
        {"a": 0.1},
        "a",
        np.array([0.1]),
        [3],
        [None],
        [{"a": 5}],
        [{"a": "x"}],
        [{"a": None}],
        [{"a": math.nan}],
        [{"b": 0.1}],
        [{"aa": 0.1}],
        [{1: 2}],
        [{"a": 0.1}, {"a": [0.1]}],
    ],
    "previous": [3, b"x", ["a"], [{"a": 0.1}], np.array(3), True],
    "constraints": [3, "x", [len], np.array(3), {"a": 1}],
    "search_metric": [3, ["a"], "accuracy", ""],
    "max_time": SECONDS,
    "fit_timeout": SECONDS,
    "tol": [-1, "x", math.nan, math.inf, [1], "Noise"],
    "checkpoint": [3, b"x", ["a"], "", "a\0b", "x" * 300, "/proc/none/x.db", os.sep],
    "scoring": ["accuracyy", 3, object(), [], {}, ["accuracy", "accuracyy"], (1, 2)],
    "n_jobs": [0, 1.5, "x", math.nan, [1]],
    "refit": [3, None, [1], "accuracy", one_standard_error],
    "cv": [0, 1, -1, 1.5, "x", math.nan, object(), [1, 2], [(1, 2, 3)], [([0], [99])]],
    "verbose": ["x", -1, None, 1.5],
    "pre_dispatch": [None, 1.5, [1], 0, -1, "", "x", "import os", "n_jobs(", "2n_jobs"],
    "random_state": ["x", 1.5, -1, math.nan, 2**40, [1], np.random.default_rng(0)],
    "error_score": ["x", None, [1]],
    "return_train_score": ["x", None, 3],
    "retry_failed": ["x", None, 3],
    "schedule": ["x", "windows", None, 3],
    "racing": ["x", "bold", 3, Racing],
    "resource": [3, True, "n_sample", "a", "b__c", "", Resource],
    "honest_score": ["x", "rows", None, 3],
    "on_trial": ["x", 3, []],
}
#: Settings that are wrong only in combination with these.
WITH = {"refit": {"scoring": ["f1", "recall"]}}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ONLY for value in ONLY[name]],
)
def test_each_setting_is_named_before_any_fit(name, value):
    given = {"space" if name == "param_space" else name: value}
    message = refused(**WITH.get(name, {}), **given)
    assert name.removesuffix("ing") in message, message
    shown = repr(value)
    if name not in ("cv", "n_jobs", "scoring", "estimator") and len(shown) < 200:
        inner = value[-1] if isinstance(value, list) and value else value
        inner = next(iter(inner)) if isinstance(inner, dict) and inner else inner
        assert repr(inner) in message, message


def test_every_setting_is_in_the_table():
    assert set(ONLY) == set(search().get_params(deep=False))


#: Settings that are objects, and errors inside them.
OBJECTS = {
    Racing: {
        "delta": [0.0, 1.0, -0.1, "x", None, math.nan],
        "margin": [-0.1, "x", None, math.nan],
    },
    partial(Resource, "n_samples"): {
        "min": [*COUNTS, 10**400],
        "max": [*COUNTS, 10**400],
        "factor": [*COUNTS, 1, None],
    },
    Resource: {"name": [3, None, True]},
}


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [(make, n, v) for make, names in OBJECTS.items() for n in names for v in names[n]],
)
def test_each_setting_of_an_object_is_named_before_any_fit(make, name, value):
    given = make(**{name: value})
    setting = type(given).__name__.lower()
    message = refused(**{setting: given})
    assert f"The '{name}' " in message
    assert type(given).__name__ in message
    assert repr(value) in message or len(repr(value)) > 200


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"estimator": SVC}, "write SVC()"),
        ({"estimator": Wrong()}, "derive it from BaseEstimator"),
        ({"policy": "robustt"}, "did you mean 'robust'?"),
        ({"policy": "gp_ubc"}, "did you mean 'gp-ucb'?"),
        ({"initial_params": [{"aa": 1}]}, "In 'initial_params', expected"),
        ({"initial_params": [{"a": 5}]}, "[-1.0, 1.0], got 5; change the value"),
        ({"tol": 0.1, "policy": "stableopt"}, "'tol'"),
        ({"cv": [(1, 2, 3)]}, "write (train, test) for each split"),
        ({"cv": [([0.5], [1])]}, "numbers of rows"),
        ({"cv": [(np.ones(3, bool), [1])]}, "from 0 to 19"),
        ({"cv": 100}, "n_splits=100"),
        ({"cv": KFold(30)}, "n_splits=30"),
        ({"cv": GroupKFold(2)}, "'groups'"),
        ({"cv": []}, "CV iterator empty"),
    ],
    ids=short,
)
def test_what_to_do_is_said(settings, says):
    message = refused(**settings)
    assert says in message


@pytest.mark.parametrize("pre_dispatch", ["all", "2*n_jobs", "1.5 * n_jobs + 1", 3])
def test_what_joblib_understands_is_left_to_it(pre_dispatch):
    assert search(n_iter=2, pre_dispatch=pre_dispatch).fit(X, y).n_iter_ == 2


# The space ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "says"),
    [
        ({}, "at least one parameter"),
        ([], "got []"),
        ([{}], "at least one parameter"),
        ({"aa": Real(0, 1)}, "did you mean 'a'?"),
        ({"svc__C": Real(0, 1)}, "Valid parameters are: ['a', 'b']"),
        ({"a": (0, 1)}, "write Real(0, 1) or Integer(0, 1) for a range, [0, 1]"),
        ({"a": ()}, "the tuple ()"),
        ({"a": []}, "empty sequence"),
        ({"a": "rbf"}, "write ['rbf'] for a constant"),
        ({"a": 3}, "write [3] for a constant"),
        ({"a": None}, "write [None] for a constant"),
        ({"a": {1, 2}}, "definite order"),
        ({"a": {"low": 0}}, "the dict {'low': 0}"),
        ({"a": scipy.stats.norm}, "frozen distribution"),
        ({"a": np.ones((2, 2))}, "one-dimensional"),
        ({"a": iter([1])}, "write list(...)"),
        ({1: [1]}, "write it in quotes"),
        ([{"a": [1]}, 3], "got 3"),
        ([[{"a": [1]}]], "got [{'a': [1]}]"),
        ([{"a": [1]}, [{"b": [1]}, {"a": [2]}]], "give all of them in one list"),
        ([{"a": [1]}, {"aa": [1]}], "did you mean 'a'?"),
        ([{"a": [1]}, {"b": (0, 1)}], "Parameter 'b'"),
        ([{"a": [1]}, Space([{"a": [1]}, {"b": [2]}])], "in one list"),
    ],
    ids=short,
)
def test_spaces(space, says):
    message = refused(space=space)
    assert says in message
    assert_well_written(message)


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Real(1, 0), "'low' must be below 'high'"),
        (lambda: Real(0, 0), "write [0.0] for a constant"),
        (lambda: Real(math.nan, 1), "'low' of Real must be a finite number. Got nan"),
        (lambda: Real(0, math.inf), "'high' of Real must be a finite number. Got inf"),
        (lambda: Real("0", 1), "Got '0'"),
        (lambda: Real(0, 1, log=True), "'low' must be positive on a log scale"),
        (lambda: Real(1, 2, log="log-uniform"), "'log' of Real must be True or False"),
        (lambda: Real(1, 2, log=1), "'log' of Real must be True or False. Got 1"),
        (lambda: Integer(5, 1), "'low' must be below 'high'"),
        (lambda: Integer(0.5, 3), "whole number"),
        (lambda: Integer(0, 9, log=True), "'low' must be positive on a log scale"),
        (lambda: Integer(1, 9, log=None), "'log' of Integer must be True or False"),
        (lambda: Categorical([1, 1]), "Got 1 twice; drop one"),
        (lambda: Categorical("abc"), "must be a list of values"),
        (lambda: Categorical([]), "at least one value"),
        (lambda: Categorical(["a"], ordered="yes"), "'ordered' of Categorical must be"),
    ],
)
def test_dimensions(build, says):
    message = refusal(build)
    assert says in message
    assert_well_written(message)


# The constraints ----------------------------------------------------------------------


def at_the_end(params):
    if params["a"] > 0.9:
        raise KeyError("a")
    return True


@pytest.mark.parametrize(
    ("constraints", "says"),
    [
        (lambda params: "yes", "Got 'yes' at {'a': "),
        (lambda params: None, "write bool(...) around it"),
        (lambda params: np.array([True, True]), "True or False"),
        (lambda params: False, "none among"),
        (lambda params: 1 / 0, "ZeroDivisionError('division by zero') at"),
        (lambda params: params["zz"], "KeyError('zz') at"),
        (lambda: True, "takes 0 positional arguments"),
        (at_the_end, "KeyError('a') at {'a': 0.9"),
    ],
)
def test_constraints(constraints, says):
    message = refused(constraints=constraints)
    assert says in message
    if "array" not in message:  # NumPy writes them with two spaces
        assert_well_written(message)
    assert "'constraints'" in message


# Scorers: their return values are known only after the first fit --------------------


def score(value):
    return lambda estimator, X, y: value


def scorer_that_changes(estimator, X, y):
    many = {"m": 1.0} if len(FITS) <= 2 else {"m": 1.0, "n": 2.0}
    return many if len(FITS) != 2 else {"m": 0.5}


def scorer_that_forgets(estimator, X, y):
    return {"m": 1.0} if len(FITS) <= 2 else 1.0


@pytest.mark.parametrize(
    ("scoring", "says"),
    [
        (score("x"), "got x"),
        (score(None), "got None"),
        (score([1, 2]), "got [1, 2]"),
        (score(np.ones(2)), "got [1. 1.]"),
        (score(1j), "Got 1j"),
        (score(10**400), "range of floats"),
        (score({}), "Got {}"),
        (score({1: 2.0}), "Got {1: 2.0}"),
        (score({"m": "x"}), "got x"),
        (score({"m": None}), "got None"),
        (score({"m": {"n": 1}}), "got {'n': 1}"),
        (score({"m": 1j, "n": 1}), "Got 1j"),
        (score({"n": 1.0}), "refit"),
        (scorer_that_changes, "Got metrics ['m', 'n'] after metrics ['m']"),
        (scorer_that_forgets, "Got one number after metrics ['m']"),
        ({"m": score(1j)}, "Got 1j"),
    ],
)
def test_scorers_are_refused_at_the_first_candidate(scoring, says):
    message = refused(scoring=scoring, refit="m", fits=4)
    assert says in message
    assert "scor" in message or "refit" in message


@pytest.mark.parametrize(
    "scoring",
    [
        score(math.nan),
        score(math.inf),
        lambda estimator: 1.0,
        lambda e, X, y: 1 / 0,
        {"m": score("x")},
    ],
)
def test_scorers_without_any_score(scoring):
    """They only cost the candidates their scores, as with `GridSearchCV`."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s)Scoring failed")
        with pytest.warns(UserWarning, match="test scores are non-finite"):
            made = search(scoring=scoring, refit="m").fit(X, y)
    assert made.best_index_ == 0


def sometimes(estimator, X, y):
    if estimator.a > 0.2:
        raise RuntimeError("no score here")
    return {"m": estimator.a, "n": -estimator.a}


@pytest.mark.parametrize("error_score", [math.nan, -7.0])
def test_scorers_of_several_metrics_that_fail_now_and_then(error_score):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = search(
            scoring=sometimes,
            refit="m",
            n_iter=9,
            error_score=error_score,
            return_train_score=True,
        ).fit(X, y)
    failed = np.array([params["a"] > 0.2 for params in ours.cv_results_["params"]])
    assert failed.any()
    assert not failed.all()
    for column in ("mean_test_m", "mean_test_n", "mean_train_n"):
        found = ours.cv_results_[column]
        np.testing.assert_array_equal(found[failed], error_score)
        assert np.isfinite(found[~failed]).all()


@pytest.mark.parametrize(
    ("choose", "kind"),
    [
        (lambda results: 99, IndexError),  # as in GridSearchCV
        (lambda results: -1, IndexError),
        (lambda results: "x", TypeError),
        (lambda results: 1 / 0, ZeroDivisionError),
    ],
)
def test_what_was_paid_for_outlives_a_refit_that_fails(choose, kind):
    ours = search(refit=choose)
    with pytest.raises(kind):
        ours.fit(X, y)
    assert len(ours.cv_results_["params"]) == 6
    assert len(ours.optimizer_.history_) == 6
    assert math.isfinite(ours.optimizer_.best_value_)


# The data -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ((X, y[:7]), "inconsistent numbers of samples: [20, 7]"),
        (("abc", y), "inconsistent numbers of samples: [3, 20]"),
        ((None, y), "NoneType"),
        ((3, y), "got scalar"),
        ((X, iter(y)), "got scalar"),
        ((X, np.r_[math.nan, np.ones(19)]), "contains NaN"),
        ((np.empty((0, 2)), []), "0 sample(s)"),
        ((X[:1], y[:1]), "n_samples=1"),
        ((X, y * 1j), "Complex data"),
    ],
)
def test_data_that_no_fit_could_use(data, says):
    assert says in refused(data)


@pytest.mark.parametrize("estimator", [SVC(), Counting()])
def test_weights_of_other_data(estimator):
    space = {"C": Real(0.1, 1)} if isinstance(estimator, SVC) else FAKE_SPACE
    passed = {"sample_weight": np.ones(7)}
    message = refused(estimator=estimator, space=space, passed=passed)
    assert "'sample_weight' passed to fit" in message
    assert "20 samples. Got 7" in message


@pytest.mark.parametrize(
    ("estimator", "space", "data", "says"),
    [
        (SVC(), {"C": [1, 2]}, (X, None), "'y'"),
        (SVC(), {"C": [1, 2]}, (X, np.ones(20)), "got 1 class"),
        (SVC(), {"C": [1, 2]}, (np.full((20, 2), "a"), y), "could not convert string"),
        (SVC(), {"C": [1, 2]}, (X * math.nan, y), "contains NaN"),
        (SVC(), {"C": [1, 2]}, (X[:, 0], y), "Expected 2D array"),
        (SVC(), {"C": [1, 2]}, (X, [object()] * 20), "label type"),
        (SVC(), {"C": [1, 2]}, (X, X[:, 0]), "label type: continuous"),
        (Ridge(), {"alpha": [1, 2]}, (X, np.full(20, "b")), "string"),
    ],
)
def test_data_that_the_estimator_refuses(estimator, space, data, says):
    message = refused(data, estimator=estimator, space=space, cv=KFold(2))
    assert "fits of the first" in message
    assert says in message
    assert f"fix {type(estimator).__name__}, the data or 'param_space'" in message


# Nothing is lost ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "data"),
    [
        ({"param_space": {"aa": [1]}}, (X, y)),
        ({"n_iter": 0}, (X, y)),
        ({"policy": "robustt"}, (X, y)),
        ({"initial_params": [{"a": 7}]}, (X, y)),
        ({"constraints": lambda params: False}, (X, y)),
        ({"cv": [(1, 2, 3)]}, (X, y)),
        ({"scoring": "accuracyy"}, (X, y)),
        ({"checkpoint": os.sep}, (X, y)),
        ({}, (X, y[:3])),
        ({}, (X, np.r_[math.nan, np.ones(19)])),
    ],
    ids=short,
)
def test_a_fitted_search_stays_as_it_is(settings, data):
    ours = search().fit(X, y)
    before = {k: v for k, v in vars(ours).items() if k.endswith("_") or k == "_notes"}
    kept, report = pickle.dumps(ours.cv_results_), ours.report()
    ours.set_params(**settings)
    refusal(lambda: ours.fit(*data))
    after = {k: v for k, v in vars(ours).items() if k.endswith("_") or k == "_notes"}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert pickle.dumps(ours.cv_results_) == kept
    if "scoring" not in settings:  # which the report repeats
        assert ours.report() == report


def test_a_checkpoint_outlives_bad_calls(tmp_path):
    path = tmp_path / "search.db"
    unbroken = search().fit(X, y)
    ours = search(checkpoint=path, n_iter=3).fit(X, y)
    for bad in (
        {"n_iter": 2},
        {"cv": 3},
        {"space": {"b": Real(0, 1)}},
        {"policy": "x"},
    ):
        message = refused(checkpoint=path, **bad)
        assert "checkpoint" in message or "policy" in message
    refused((X[:10], y[:10]), checkpoint=path)
    FITS.clear()
    ours = search(checkpoint=path).fit(X, y)
    assert len(FITS) == 3 * 2 + 1
    assert ours.cv_results_["params"][:3] == ours.cv_results_["params"][:3]
    assert ours.n_iter_ == unbroken.n_iter_


def test_checkpoints_that_are_none(tmp_path):
    other = tmp_path / "notes.txt"
    other.write_text("my notes, which nobody may touch")
    for path in (other, tmp_path, tmp_path / "no" / "folder.db"):
        message = refused(checkpoint=path)
        assert_well_written(message)
        assert str(path) in message
    assert other.read_text() == "my notes, which nobody may touch"
