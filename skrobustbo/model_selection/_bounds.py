"""The largest scores that metrics can give."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassifierMixin, RegressorMixin

from skrobustbo._sklearn_compat import (
    is_own_score,
    is_row_wise,
    score_function,
    score_sign,
)
from skrobustbo.model_selection._settings import Search

#: Metrics of scikit-learn of which 1 is the best value.
_UP_TO_ONE = {
    "accuracy_score",
    "average_precision_score",
    "balanced_accuracy_score",
    "cohen_kappa_score",
    "d2_absolute_error_score",
    "d2_tweedie_score",
    "explained_variance_score",
    "f1_score",
    "fbeta_score",
    "jaccard_score",
    "matthews_corrcoef",
    "precision_score",
    "r2_score",
    "recall_score",
    "roc_auc_score",
    "top_k_accuracy_score",
}


def largest_score(scorer: Any, estimator: Any) -> float | None:
    """Return the largest score that a scorer can give, None if that is not known.

    Parameters
    ----------
    scorer : callable
        As `scorer_` of a search has it, of one metric.
    estimator : estimator
        Whose own `score` it may ask.
    """
    if is_own_score(scorer):
        last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
        own = getattr(type(last), "score", None)
        return 1.0 if own in (ClassifierMixin.score, RegressorMixin.score) else None
    if not is_row_wise(scorer):
        return None
    function = score_function(scorer)
    if not str(getattr(function, "__module__", "")).startswith("sklearn.metrics."):
        return None
    if score_sign(scorer) < 0:
        return 0.0  # a loss
    return 1.0 if function.__name__ in _UP_TO_ONE else None


def largest_of(search: Search) -> float | None:
    """Return the largest score that the metric of a search has, None if not known."""
    notes = getattr(search, "_notes", None)
    if notes is None:  # `fit` is not over
        return None
    scorer = search.scorer_
    scorer = scorer[notes.metric] if isinstance(scorer, dict) else scorer
    estimator = getattr(search, "best_estimator_", search.estimator)
    return largest_score(scorer, estimator)
