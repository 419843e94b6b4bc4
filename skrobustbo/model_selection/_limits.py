"""Limits on the values of scores and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from skrobustbo._sklearn_compat import (
    allows,
    is_own_score,
    is_row_wise,
    score_function,
    score_sign,
)
from skrobustbo.model_selection._parameters import present_values
from skrobustbo.model_selection._settings import Search
from skrobustbo.space import Categorical, Space

#: scikit-learn metrics whose best value is 1.
_UP_TO_ONE = (
    "accuracy_score average_precision_score balanced_accuracy_score cohen_kappa_score "
    "d2_absolute_error_score d2_tweedie_score explained_variance_score f1_score "
    "fbeta_score jaccard_score matthews_corrcoef precision_score r2_score recall_score "
    "roc_auc_score top_k_accuracy_score"
)
#: Parameters of boosting libraries that are fractions, or have no upper limit.
_SHARES = (
    "bagging_fraction colsample_bylevel colsample_bynode colsample_bytree "
    "feature_fraction feature_fraction_bynode other_rate rate_drop rsm skip_drop "
    "subsample top_rate"
)
_AT_LEAST_ZERO = (
    "bagging_temperature eta gamma l2_leaf_reg lambda_l1 lambda_l2 learning_rate "
    "max_delta_step min_child_samples min_child_weight min_gain_to_split "
    "min_split_gain min_split_loss random_strength reg_alpha reg_lambda"
)
#: The smallest and largest values for the parameters of boosting libraries. These
#: libraries check values in compiled code, which we cannot query.
_LIMITS: dict[str, tuple[float | None, float | None]] = {
    **dict.fromkeys(_SHARES.split(), (0, 1)),
    **dict.fromkeys(_AT_LEAST_ZERO.split(), (0, None)),
    **dict.fromkeys(("iterations", "n_estimators", "min_data_in_leaf"), (1, None)),
    "border_count": (1, 65535),
    "depth": (1, 16),
    "max_bin": (2, None),
    "max_depth": (1, None),
    "num_leaves": (2, None),
}
_BOOSTING = {"catboost", "lightgbm", "xgboost"}
#: Parameters limited by the number of columns.
_COLUMNS = {"k", "max_features", "n_components", "n_features_to_select"}
#: How far beyond the end of a range to test, as a fraction of the range.
_BEYOND = 0.01


# Scores ------------------------------------------------------------------------------


def largest_score(scorer: Any, estimator: Any) -> float | None:
    """Return the largest possible score of a scorer, or None if it is unknown."""
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
    return 1.0 if function.__name__ in _UP_TO_ONE.split() else None


def largest_of(search: Search) -> float | None:
    """Return the largest possible score of a search, or None if it is unknown."""
    notes = getattr(search, "_notes", None)
    if notes is None:  # `fit` is not finished
        return None
    scorer = search.scorer_
    scorer = scorer[notes.metric] if isinstance(scorer, dict) else scorer
    estimator = getattr(search, "best_estimator_", search.estimator)
    return largest_score(scorer, estimator)


# Parameters --------------------------------------------------------------------------


def goes_on(search: Search, branch: Space, name: str, side: str) -> bool | None:
    """Return whether a range can be extended beyond one of its ends.

    Returns
    -------
    legal : bool or None
        False if the end is marked as hard, or if an estimator with this parameter
        rejects values beyond it; None if this is unknown.
    """
    dimension = branch.dimensions[name]
    if getattr(dimension, "hard", False) in (True, side):
        return False
    owner, _, short = name.rpartition("__")
    low, middle, high = dimension.decode(np.array([[0.0], [0.5], [1.0]]))
    n_columns = getattr(search, "n_features_in_", None)
    if side == "high" and short in _COLUMNS and type(high) is int and high == n_columns:
        return False
    values = dimension.choices if isinstance(dimension, Categorical) else [middle]
    whole = all(isinstance(value, int) for value in values)
    beyond = _beyond(low, middle, high, side, whole=whole)
    owners = _owners(search.estimator, branch, owner)
    answers = [_takes(estimator, short, beyond) for estimator in owners]
    if False in answers:
        return False
    return None if None in answers or not answers else True


def _beyond(low: Any, middle: Any, high: Any, side: str, *, whole: bool) -> Any:
    """Return a value slightly beyond one end of a range."""
    step = 1 if whole else _BEYOND * (high - low)
    if side == "high":
        return high + step
    # Use the same distance on a log scale.
    is_log = low > 0 and not whole and middle < low + (high - low) / 4
    return low * (1 - _BEYOND) if is_log else low - step


def _owners(estimator: Any, branch: Space, path: str) -> list[Any]:
    """Return the estimators that a component can take as its value."""
    if not path:
        return [estimator]
    dimension = branch.dimensions.get(path)
    if isinstance(dimension, Categorical):
        found = list(dimension.choices)
    else:
        found = present_values(estimator, branch, path)
    return [owner for owner in found if hasattr(owner, "get_params")]


def _takes(estimator: Any, name: str, value: Any) -> bool | None:
    """Return whether an estimator accepts a parameter value, or None if unknown."""
    answer = allows(estimator, name, value)
    modules = {str(cls.__module__).partition(".")[0] for cls in type(estimator).__mro__}
    if answer is None and modules & _BOOSTING:
        low, high = _LIMITS.get(name, (None, None))
        if (low is not None and value < low) or (high is not None and value > high):
            return False
    return answer
