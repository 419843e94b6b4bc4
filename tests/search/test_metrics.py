"""Several metrics, and ways to choose the candidate to refit."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from fake_estimators import Marked, search_of
from skrobustbo import (
    Real,
    RobustBayesSearchCV,
    best_posterior_mean,
    one_standard_error,
)

X, y = load_iris(return_X_y=True)


def near(estimator, X, y):
    return -((estimator.a - 0.3) ** 2)


def far(estimator, X, y):
    return -((estimator.a + 0.7) ** 2)


def both(estimator, X, y):
    return {"near": near(estimator, X, y), "far": far(estimator, X, y)}


def search(**settings):
    return search_of(Marked(), **{"n_iter": 14, "cv": 2, **settings})


SCORERS = {"dict": {"near": near, "far": far}, "callable": both}


@pytest.mark.parametrize("scoring", SCORERS)
@pytest.mark.parametrize(("metric", "optimum"), [("near", 0.3), ("far", -0.7)])
@pytest.mark.parametrize("refit", [False, "near", "callable"])
def test_the_search_maximises_its_metric(scoring, metric, optimum, refit):
    if refit == "callable":

        def refit(results):
            return 3

    ours = search(scoring=SCORERS[scoring], search_metric=metric, refit=refit).fit(X, y)
    assert ours.multimetric_
    assert ours.optimizer_.best_params_["a"] == pytest.approx(optimum, abs=0.05)
    means = ours.cv_results_[f"mean_test_{metric}"]
    assert ours.optimizer_.best_value_ == means.max()
    if refit == "near":
        assert ours.best_index_ == np.argmax(ours.cv_results_["mean_test_near"])
        assert ours.best_score_ == ours.cv_results_["mean_test_near"].max()
    elif refit is False:
        assert not hasattr(ours, "best_index_")
    else:
        assert ours.best_index_ == 3
        assert not hasattr(ours, "best_score_")
        assert ours.best_estimator_.a == ours.cv_results_["params"][3]["a"]


def test_the_metric_of_refit_is_searched_by_default():
    ours = search(scoring=SCORERS["dict"], refit="far").fit(X, y)
    assert ours.best_params_["a"] == pytest.approx(-0.7, abs=0.05)


@pytest.mark.parametrize("scoring", SCORERS)
@pytest.mark.parametrize(
    "settings",
    [{"refit": False}, {"refit": np.argmax}, {"search_metric": "nearly"}],
)
def test_it_must_be_clear_what_to_search_for(scoring, settings):
    settings = {"refit": "near", **settings}
    ours = search(scoring=SCORERS[scoring], **settings)
    with pytest.raises(ValueError, match=r"'search_metric'.*\['far', 'near'\]"):
        ours.fit(X, y)


def test_a_search_metric_without_several_metrics_is_refused():
    with pytest.raises(ValueError, match=r"'search_metric'.*several metrics"):
        search(search_metric="near").fit(X, y)


def test_refit_must_name_a_metric_of_a_callable_scorer():
    with pytest.raises(ValueError, match="parameter refit must be set"):
        search(scoring=both, refit=True, search_metric="near").fit(X, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scoring", SCORERS)
@pytest.mark.parametrize("error_score", [math.nan, -9.0])
def test_failures_with_several_metrics(scoring, error_score):
    ours = search(
        scoring=SCORERS[scoring],
        refit="near",
        error_score=error_score,
        return_train_score=True,
    )
    ours.set_params(estimator=Marked(fail_above=0.0)).fit(X, y)
    failed = np.array([p["a"] > 0 for p in ours.cv_results_["params"]])
    assert failed.any()
    for column in ("mean_test_near", "mean_test_far", "mean_train_near"):
        found = ours.cv_results_[column][failed]
        np.testing.assert_array_equal(found, np.full(failed.sum(), error_score))


def test_train_scores_of_several_metrics():
    ours = search(scoring=SCORERS["dict"], refit="near", return_train_score=True)
    results = ours.fit(X, y).cv_results_
    np.testing.assert_array_equal(results["mean_train_far"], results["mean_test_far"])
    assert "split1_train_near" in results


# Callables for refit -----------------------------------------------------------------


def noisy(estimator, X, y):
    # A lucky value far from the optimum that its neighbours suggest.
    lucky = 0.5 * (abs(estimator.a + 0.61) < 0.02)
    return -((estimator.a - 0.3) ** 2) + lucky


def test_the_best_posterior_mean():
    ours = search(refit=best_posterior_mean).fit(X, y)
    means = ours.cv_results_["posterior_mean"]
    assert ours.best_index_ == np.argmax(means)
    results = {
        "posterior_mean": np.array([0.3, 0.9, 0.5]),
        "mean_test_a": np.array([1.0, np.nan, 0.2]),
        "mean_test_b": np.array([1.0, 1.0, 0.2]),
    }
    assert best_posterior_mean(results) == 2  # the second failed
    with pytest.raises(ValueError, match="without 'posterior_mean'"):
        best_posterior_mean({"mean_test_score": np.ones(2)})
    with pytest.raises(ValueError, match="none"):
        best_posterior_mean({**results, "mean_test_a": np.full(3, np.nan)})


RESULTS = {
    "params": [{"k": 5}, {"k": 3}, {"k": 1}, {"k": 3}, {"k": 0}],
    "split0_test_score": np.array([0.8, 0.7, 0.5, 0.7, np.nan]),
    "split1_test_score": np.array([1.0, 0.9, 0.5, 0.94, 0.9]),
}
SPLITS = [RESULTS["split0_test_score"], RESULTS["split1_test_score"]]
RESULTS["mean_test_score"] = np.mean(SPLITS, axis=0)


def test_one_standard_error():
    # The best has 0.9 with a standard error of sqrt(0.02) / sqrt(2) = 0.1.
    assert one_standard_error("k")(RESULTS) == 3
    assert one_standard_error(lambda params: -params["k"])(RESULTS) == 0
    only = {key: RESULTS[key] for key in ("params", "mean_test_score")}
    only["split0_test_score"] = RESULTS["mean_test_score"]
    assert one_standard_error("k")(only) == 0  # a single fold has no error


def test_one_standard_error_of_a_metric():
    results = {
        key.replace("_score", "_m"): value
        for key, value in RESULTS.items()
        if key != "params"
    }
    results = {"params": RESULTS["params"], "mean_test_n": np.zeros(5), **results}
    assert one_standard_error("k", metric="m")(results) == 3
    with pytest.raises(ValueError, match=r"'metric'.*\['m', 'n'\]"):
        one_standard_error("k")(results)


def test_one_standard_error_complains():
    with pytest.raises(ValueError, match="'simplest'"):
        one_standard_error(3)
    for params in ({"k": "x"}, {}):
        with pytest.raises(ValueError, match="'simplest' of one_standard_error"):
            one_standard_error("k")({**RESULTS, "params": [params] * 5})


def test_one_standard_error_in_a_search():
    space = {"C": Real(1e-2, 1e3, log=True)}
    ours = RobustBayesSearchCV(
        SVC(), space, n_iter=8, random_state=0, refit=one_standard_error("C")
    ).fit(X, y)
    results = ours.cv_results_
    best = int(np.argmax(results["mean_test_score"]))
    error = results["std_test_score"][best] / math.sqrt(5 - 1)
    within = results["mean_test_score"] >= results["mean_test_score"][best] - error
    C = np.array([params["C"] for params in results["params"]])
    assert ours.best_params_["C"] == C[within].min()
    assert "one_standard_error('C')" in repr(ours)
