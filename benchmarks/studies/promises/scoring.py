"""Rows on scorers, several metrics and the choice of the best candidate."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, get_scorer

from promises.tools import CS, LINE, Instant, X, best_of, require, y

METRICS = ("accuracy", "neg_log_loss")


def _fitted(peer, **settings):
    return peer.search(LogisticRegression(), CS, **settings).fit(X, y)


def _require_columns(search, *metrics):
    for metric in metrics:
        name = f"mean_test_{metric}"
        require(name in search.cv_results_, f"cv_results_ lacks {name}")


def metrics_refit_name(peer):
    """Several metrics, refit by the name of one."""
    search = _fitted(peer, scoring=list(METRICS), refit="neg_log_loss")
    _require_columns(search, *METRICS)
    require(search.multimetric_, "multimetric_ is false")
    means = search.cv_results_["mean_test_neg_log_loss"]
    require(search.best_score_ == max(means), "the best is not by that metric")
    loss = get_scorer("neg_log_loss")(search.best_estimator_, X, y)
    require(np.isclose(search.score(X, y), loss), "score is by another metric")


def metrics_refit_false(peer):
    """Several metrics, `refit=False`."""
    search = _fitted(peer, scoring=list(METRICS), refit=False)
    _require_columns(search, *METRICS)
    require(not hasattr(search, "best_estimator_"), "has a best_estimator_")


def metrics_refit_callable(peer):
    """Several metrics, refit by a callable."""
    search = _fitted(peer, scoring=list(METRICS), refit=_worst_accuracy)
    _require_columns(search, *METRICS)
    expected = _worst_accuracy(search.cv_results_)
    require(search.best_index_ == expected, "takes another candidate")
    require(search.best_params_ == best_of(search), "best_params_ are another's")


def _worst_accuracy(results):
    return int(np.argmin(results["mean_test_accuracy"]))


def scorers_in_dict(peer):
    """A dict of scorers, one a function."""
    scoring = {"acc": "accuracy", "mine": _ones}
    search = _fitted(peer, scoring=scoring, refit="acc")
    _require_columns(search, *scoring)
    require(set(search.scorer_) == set(scoring), "scorer_ has other names")


def _ones(estimator, X, y):
    return float(np.mean(estimator.predict(X) == 1))


def scorer_returns_dict(peer):
    """One callable that returns a dict of scores."""
    search = _fitted(peer, scoring=_both, refit="f1")
    _require_columns(search, "f1", "acc")
    means = search.cv_results_["mean_test_f1"]
    require(search.best_score_ == max(means), "the best is not by that metric")


def _both(estimator, X, y):
    predicted = estimator.predict(X)
    return {"f1": f1_score(y, predicted), "acc": accuracy_score(y, predicted)}


def refit_callable(peer):
    """One metric, refit by a callable, which sees all of `cv_results_`."""
    search = peer.search(Instant(), LINE, refit=_worst).fit(X, y)
    require(search.best_index_ == _worst(search.cv_results_), "takes another candidate")
    require(search.best_params_ == best_of(search), "best_params_ are another's")
    require(not hasattr(search, "best_score_"), "has a best_score_")


def _worst(results):
    return int(np.argmin(results["mean_test_score"]))


def refit_false(peer):
    """One metric, `refit=False`: the best parameters, no estimator."""
    search = _fitted(peer, refit=False)
    lacks = [n for n in ("best_params_", "best_score_") if not hasattr(search, n)]
    require(not lacks, f"lacks {', '.join(lacks)}")
    require(not hasattr(search, "best_estimator_"), "has a best_estimator_")
    require(not hasattr(search, "predict"), "claims to predict")


def scoring_kept(peer):
    """`score` uses the search's metric, not the estimator's own."""
    search = _fitted(peer, scoring="neg_log_loss")
    loss = get_scorer("neg_log_loss")(search.best_estimator_, X, y)
    require(np.isclose(search.score(X, y), loss), "score is by another metric")


def train_scores(peer):
    """`return_train_score` adds the training scores."""
    search = _fitted(peer, return_train_score=True)
    require("mean_train_score" in search.cv_results_, "adds none")
    search = _fitted(peer, return_train_score=False)
    require("mean_train_score" not in search.cv_results_, "has them without")
