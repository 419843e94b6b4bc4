"""The private helpers of scikit-learn that we rely on, in one place.

Tested on the oldest and the newest supported release; nothing else in the package
imports a private name of scikit-learn.
"""

from sklearn.base import _fit_context as fit_context
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _fit_and_score as fit_and_score
from sklearn.model_selection._validation import (
    _insert_error_scores as insert_error_scores,
)
from sklearn.model_selection._validation import (
    _warn_or_raise_about_fit_failures as warn_or_raise_about_fit_failures,
)
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import _check_method_params as check_method_params

__all__ = [
    "BaseSearchCV",
    "Interval",
    "check_method_params",
    "fit_and_score",
    "fit_context",
    "insert_error_scores",
    "warn_or_raise_about_fit_failures",
]
