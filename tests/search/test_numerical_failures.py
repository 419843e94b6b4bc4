"""Numerical failures cost a query or a candidate, but not the search."""

import json
import math
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared

from skrobustbo import Optimizer, Real, RobustBayesSearchCV, best_posterior_mean
from skrobustbo.policies import GPUCB, MAPGPUCB

X, y = np.zeros((30, 1)), np.arange(30) % 2
SPACE = {"a": Real(-1, 1), "b": Real(-1, 1)}
#: Not positive definite on two columns.
PERIODIC = ExpSineSquared(length_scale=1.0, periodicity=0.2)


class Score(BaseEstimator):
    values = staticmethod(lambda a, b: -(a**2) - b**2)

    def __init__(self, a=0.0, b=0.0):
        self.a = a
        self.b = b

    def fit(self, X, y=None):
        return self

    def score(self, X, y=None):
        return self.values(self.a, self.b)


def search(n_iter=14, estimator=None, **settings):
    given = {"cv": 3, "random_state": 0, **settings}
    space = given.pop("space", SPACE)
    return RobustBayesSearchCV(estimator or Score(), space, n_iter=n_iter, **given)


class Huge(Score):
    values = staticmethod(lambda a, b: 1.7e308 if a > 0.5 else -(a**2))


@pytest.mark.parametrize("metric", [False, True])
def test_scores_whose_sum_overflows_are_failures(metric):
    several = {"s": Huge.score, "n": lambda e, X, y: 1.0}
    settings = {"scoring": several, "refit": "s"} if metric else {}
    with pytest.warns(UserWarning, match="non-finite"):
        made = search(estimator=Huge(), **settings).fit(X, y)
    key = "mean_test_s" if metric else "mean_test_score"
    means = made.cv_results_[key]
    huge = np.array([p["a"] > 0.5 for p in made.cv_results_["params"]])
    assert huge.any()
    assert np.isnan(means[huge]).all()
    assert np.isfinite(means[~huge]).all()
    assert made.best_params_["a"] <= 0.5
    assert f"{huge.sum()} of 14 candidates got no score" in made.report()
    if metric:
        np.testing.assert_array_equal(made.cv_results_["mean_test_n"], 1.0)


def test_large_scores_that_can_be_added_are_scores():
    class Large(Score):
        values = staticmethod(lambda a, b: 1e307 * a)

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "overflow", RuntimeWarning)  # of deviations
        made = search(estimator=Large()).fit(X, y)
    assert made.best_score_ > 5e306


@pytest.mark.parametrize("policy", [GPUCB(PERIODIC), MAPGPUCB(PERIODIC)])
def test_a_kernel_that_fails_costs_queries_and_not_the_search(policy):
    with pytest.warns(UserWarning, match="A model failed .*positive definite"):
        made = search(policy=policy, n_initial_points=4).fit(X, y)
    assert made.n_iter_ == 14
    labels = list(made.cv_results_["model_label"])
    assert labels.count("fallback") > 0
    points = {json.dumps(params) for params in made.cv_results_["params"]}
    assert len(points) == 14
    n = labels.count("fallback")
    assert f"failed {n} time" in made.report()
    assert "skrobustbo-report" in made._repr_html_()


class Breaking(RBF):
    """A kernel that fails when it is called for the n-th time."""

    n_calls, fails = 0, ()

    def __call__(self, X, Y=None, eval_gradient=False):
        Breaking.n_calls += 1
        if Breaking.n_calls in Breaking.fails:
            raise np.linalg.LinAlgError("out of order")
        return super().__call__(X, Y, eval_gradient)


@pytest.mark.parametrize("space", [SPACE, [SPACE, {"b": Real(2, 3)}]])
@pytest.mark.parametrize("tol", [None, 1e-9])
def test_wherever_a_model_fails_the_search_ends_with_its_results(space, tol):
    """Each failure is tried: in choices, predictions, bounds and reports."""
    policy = GPUCB(Breaking(0.3), beta=1.0)

    def run(fails):
        Breaking.n_calls, Breaking.fails = 0, fails
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A model failed")
            made = search(8, policy=policy, space=space, tol=tol, n_initial_points=5)
            made.set_params(refit=best_posterior_mean).fit(X, y)
            made.report()
        return made

    run(())
    n_calls = Breaking.n_calls
    for i in range(1, n_calls + 1, max(1, n_calls // 9)):
        assert run({i}).n_iter_ == 8
    always = run(range(1, 10**6))
    assert list(always.cv_results_["model_label"]).count("fallback") == 3
    assert np.isfinite(always.cv_results_["posterior_mean"]).all()
    assert set(always.optimizer_.recommend()) == set(always.best_params_)


def test_an_optimizer_that_fails_goes_on_from_json_all_the_same():
    def run(reread):
        made = Optimizer(
            SPACE, GPUCB(PERIODIC), n_initial_points=3, horizon=12, random_state=0
        )
        asked = []
        for _ in range(12):
            asked.append(made.ask())
            made.tell(asked[-1], math.sin(9 * asked[-1]["a"]))
            if reread:
                state = json.loads(json.dumps(made.to_dict()))
                made = Optimizer.from_dict(state, policy=GPUCB(PERIODIC))
        return asked, [record["model_label"] for record in made.history_]

    with pytest.warns(UserWarning, match="A model failed"):
        whole = run(reread=False)
    with pytest.warns(UserWarning, match="A model failed"):
        again = run(reread=True)
    assert again == whole
    assert "fallback" in whole[1]
