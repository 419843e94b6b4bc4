"""Rows on fits and scores that fail, and on mistakes in the call."""

import warnings

import numpy as np
from sklearn.exceptions import FitFailedWarning

from promises.tools import LINE, Instant, NotApplicableError, X, require, tried_a, y
from searches import Floats, UnmetError

N_ITER = 12


def _half_failing(peer, error_score=np.nan):
    """Return a search with a fit that fails for all positive values."""
    estimator = Instant(fail_above=0.0)
    return peer.search(estimator, LINE, n_iter=N_ITER, error_score=error_score)


def _fitted_half_failing(peer, error_score=np.nan):
    Instant.log.clear()
    search = _half_failing(peer, error_score).fit(X, y)
    if not any(params[0] > 0 for params, *_ in Instant.log):
        raise NotApplicableError("no candidate has failed")
    return search


def failing_candidate(peer):
    """A candidate whose fits all fail has a nan score, and the search goes on."""
    search = _fitted_half_failing(peer)
    results = search.cv_results_
    values = tried_a(search)
    nan = np.isnan(results["mean_test_score"])
    require(nan.any(), "the failure is not among the results")
    require(np.array_equal(nan, values > 0), "nan is not where the fits failed")
    require(search.best_params_["a"] <= 0, "the best is a failed one")
    require(np.isfinite(search.best_score_), "best_score_ is not finite")


def failing_is_ranked_last(peer):
    """A failed candidate has the last rank."""
    results = _fitted_half_failing(peer).cv_results_
    ranks, nan = results["rank_test_score"], np.isnan(results["mean_test_score"])
    require(nan.any(), "the failure is not among the results")
    require(ranks[nan].min() > ranks[~nan].max(), "it ranks before others")


def failing_is_warned_of(peer):
    """Failed fits end in one `FitFailedWarning` that counts them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = _fitted_half_failing(peer)
    told = [str(w.message) for w in caught if w.category is FitFailedWarning]
    require(told, "does not warn")
    require(len(told) == 1, f"warns {len(told)} times")
    n_failed = 3 * int(np.isnan(search.cv_results_["mean_test_score"]).sum())
    require(f"{n_failed} fits failed" in told[0], "the count is wrong")


def number_for_failures(peer):
    """`error_score` may be a number."""
    search = _fitted_half_failing(peer, error_score=-7.0)
    values = tried_a(search)
    means = np.asarray(search.cv_results_["mean_test_score"])
    require((means[values > 0] == -7.0).all(), "failures have another score")


def raise_on_failure(peer):
    """`error_score="raise"` lets the estimator's own error through."""
    try:
        _half_failing(peer, error_score="raise").fit(X, y)
    except ArithmeticError:
        return
    raise UnmetError("raises nothing")


def nothing_succeeds(peer):
    """If every fit fails, a `ValueError` says so with the estimator's error."""
    estimator = Instant(fail_above=-2.0)
    search = peer.search(estimator, LINE, n_iter=3, error_score=np.nan)
    try:
        search.fit(X, y)
    except ValueError as error:
        require("fits" in str(error), f"says: {error}")
        require("too large" in str(error), "does not tell the estimator's error")
        return
    raise UnmetError("raises nothing")


def failing_scorer(peer):
    """A scorer that raises gives nan, not the end of the search."""
    search = peer.search(
        Instant(), LINE, n_iter=N_ITER, scoring=_fails_above_zero, error_score=np.nan
    )
    Instant.log.clear()
    values = tried_a(search.fit(X, y))
    nan = np.isnan(search.cv_results_["mean_test_score"])
    require(np.array_equal(nan, values > 0), "nan is not where the scorer failed")
    require(search.best_params_["a"] <= 0, "the best is a failed one")


def _fails_above_zero(estimator, X, y):
    if estimator.a > 0:
        raise ArithmeticError("no score")
    return estimator.score(X, y)


def misspelt_parameter(peer):
    """A misspelt parameter is an error that names it."""
    search = peer.search(Instant(), {"aa": Floats(0.0, 1.0)}, n_iter=3)
    try:
        search.fit(X, y)
    except ValueError as error:
        require("'aa'" in str(error), f"says: {error}")
        return
    raise UnmetError("raises nothing")
