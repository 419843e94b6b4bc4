"""Fits and scores that fail in every way are recorded, avoided and survived."""

import warnings
import zlib

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning

from fake_estimators import Fake, search_of
from skrobustbo import Optimizer, Real, maximize

X, y = load_iris(return_X_y=True)


def raises(error):
    def way(estimator):
        raise error

    return way


def recursion(estimator):
    return recursion(estimator)


def warning(estimator):
    warnings.simplefilter("error")
    warnings.warn("as good as an error", RuntimeWarning, stacklevel=1)


FIT = {
    "exception": raises(RuntimeError("no")),
    "value error": raises(ValueError("no")),
    "memory": raises(MemoryError("no")),
    "linear algebra": raises(np.linalg.LinAlgError("no")),
    "stop iteration": raises(StopIteration("no")),
    "exit": raises(SystemExit("no")),
    "clean exit": raises(SystemExit(0)),
    "recursion": recursion,
    "assertion": raises(AssertionError()),
    "warning": warning,
}
SCORES = [np.nan, np.inf, -np.inf]


class Fails(Fake):
    """Fails in one way or another, in fitting or in scoring, above a threshold."""

    def __init__(self, a=0.0, fit_way=None, score_way=None, above=0.5):
        self.a = a
        self.fit_way = fit_way
        self.score_way = score_way
        self.above = above

    def fit(self, X, y=None):
        with warnings.catch_warnings():
            if self.a > self.above and self.fit_way is not None:
                FIT[self.fit_way](self)
        return super().fit(X, y)

    def score(self, X, y=None):
        with warnings.catch_warnings():
            if self.a > self.above and self.score_way is not None:
                if self.score_way in FIT:
                    FIT[self.score_way](self)
                return self.score_way
        return super().score(X, y)


def search(estimator, **settings):
    return search_of(
        estimator, **{"n_iter": 9, "n_initial_points": 4, "cv": 2} | settings
    )


def fitted(estimator, **settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = search(estimator, **settings).fit(X, y)
    return ours, {w.category for w in caught}


def check(ours):
    """Check that just the points above the threshold failed, and none is refitted."""
    asked = np.array([params["a"] for params in ours.cv_results_["params"]])
    failed = np.isnan(ours.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(failed, asked > 0.5)
    assert failed.any()
    reasons = [record["failed_reason"] for record in ours.optimizer_.history_]
    np.testing.assert_array_equal([bool(reason) for reason in reasons], failed)
    assert ours.stop_reason_ == "n_iter"
    assert len(asked) == 9
    assert ours.best_params_["a"] < 0.5
    assert np.isfinite(ours.best_score_)
    assert np.isfinite(ours.cv_results_["posterior_mean"]).all()


@pytest.mark.parametrize("way", FIT)
def test_every_way_to_fail_in_a_fit(way):
    ours, categories = fitted(Fails(fit_way=way))
    check(ours)
    assert FitFailedWarning in categories


@pytest.mark.parametrize("way", FIT)
def test_every_way_to_fail_in_scoring(way):
    check(fitted(Fails(score_way=way))[0])


@pytest.mark.parametrize("score", SCORES)
def test_scores_that_are_no_numbers(score):
    ours, categories = fitted(Fails(score_way=score))
    check(ours)
    assert categories == {UserWarning}  # of scikit-learn, on non-finite scores


def several(score):
    def scorer(estimator, X, y=None):
        return {"m": estimator.score(X, y), "n": score}

    return scorer


@pytest.mark.parametrize("score", SCORES)
def test_scores_of_several_metrics_that_are_no_numbers(score):
    settings = {"scoring": several(score), "refit": "m"}
    ours, _ = fitted(Fails(score_way=score), **settings)
    asked = np.array([params["a"] for params in ours.cv_results_["params"]])
    np.testing.assert_array_equal(
        np.isnan(ours.cv_results_["mean_test_m"]), asked > 0.5
    )
    assert np.isnan(ours.cv_results_["mean_test_n"]).all()


@pytest.mark.parametrize("n_jobs", [2])
@pytest.mark.parametrize("way", ["exit", "memory"])
def test_failures_in_workers(way, n_jobs):
    check(fitted(Fails(fit_way=way), n_jobs=n_jobs)[0])


@pytest.mark.parametrize("way", ["exit", "memory", "exception"])
def test_error_score_raise_lets_failures_through(way):
    with pytest.raises((SystemExit, MemoryError, RuntimeError), match="no"):
        search(Fails(fit_way=way), error_score="raise").fit(X, y)


def test_error_score_stands_for_a_fit_that_exits():
    ours, _ = fitted(Fails(fit_way="exit"), error_score=-5.0)
    asked = np.array([params["a"] for params in ours.cv_results_["params"]])
    scores = ours.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(scores == -5, asked > 0.5)


# What failures do to the model -------------------------------------------------------


def bowl(params):
    return -((params["a"] - 0.3) ** 2) - (params["b"] + 0.1) ** 2


def in_a_strip(params):
    return np.nan if params["a"] > 0.8 else bowl(params)


def at_random(params):
    """Fail once in ten, at irregular places."""
    key = zlib.crc32(f"{params['a']:.9f} {params['b']:.9f}".encode())
    return np.nan if key % 10 == 0 else bowl(params)


def beside_the_optimum(params):
    """Fail in a tenth of the space whose edge is close to the optimum."""
    a, b = params["a"], params["b"]
    return np.inf if 0.35 < a < 0.75 and abs(b) < 0.5 else bowl(params)


SPACE = {"a": Real(-1, 1), "b": Real(-1, 1)}


@pytest.mark.parametrize("objective", [in_a_strip, at_random, beside_the_optimum])
@pytest.mark.parametrize("seed", range(3))
def test_with_a_tenth_of_failures_the_optimum_is_found(objective, seed):
    result = maximize(objective, SPACE, n_iter=35, random_state=seed)
    failed = ~np.isfinite(result.values)
    assert failed.any() or objective is not at_random
    assert failed.mean() < 0.35
    assert result.fun > -0.03  # a hundredth of the range


@pytest.mark.parametrize("seed", range(3))
def test_a_failure_lowers_what_is_expected_around_it_and_nothing_else(seed):
    rng = np.random.default_rng(seed)
    points = [{"a": a, "b": b} for a, b in rng.uniform(-1, 1, (30, 2))]
    calm = Optimizer(SPACE, random_state=0)
    calm.tell(points, [bowl(p) for p in points])
    hurt = Optimizer(SPACE, random_state=0)
    hurt.tell(points, [bowl(p) for p in points])
    hurt.tell({"a": 0.9, "b": -0.9}, np.nan)
    assert hurt.predict({"a": 0.9, "b": -0.9}) < -1
    worst = min(bowl(p) for p in points)
    assert hurt.predict({"a": 0.9, "b": -0.9}) > worst - 0.5
    far = [p for p in points if np.hypot(p["a"] - 0.9, p["b"] + 0.9) > 1]
    np.testing.assert_allclose(hurt.predict(far), calm.predict(far), atol=0.05)
    np.testing.assert_allclose(hurt.predict(points), calm.predict(points), atol=0.15)
