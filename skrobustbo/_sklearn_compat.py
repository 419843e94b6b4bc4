"""The private helpers of scikit-learn that we rely on, in one place.

Tested on the oldest and the newest supported release; nothing else in the package
imports a private name of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import sklearn
from sklearn.base import _fit_context as fit_context
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _fit_and_score as fit_and_score
from sklearn.model_selection._validation import (
    _insert_error_scores as insert_error_scores,
)
from sklearn.model_selection._validation import (
    _warn_or_raise_about_fit_failures as warn_or_raise_about_fit_failures,
)
from sklearn.utils import estimator_html_repr
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.fixes import parse_version
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _num_samples as num_samples

# What scikit-learn's own searches say, word for word, as callers match on it.
NO_FITS = "No fits were performed. Was the CV iterator empty? Were there no candidates?"
_SAYS = (
    "return"
    if parse_version(sklearn.__version__) >= parse_version("1.9")
    else "returned"
)
OTHER_SPLITS = f"cv.split and cv.get_n_splits {_SAYS} inconsistent results."

__all__ = [
    "NO_FITS",
    "OTHER_SPLITS",
    "BaseSearchCV",
    "HTMLReprMixin",
    "Interval",
    "SilentTask",
    "StrOptions",
    "check_method_params",
    "fit_and_score",
    "fit_context",
    "has_callbacks",
    "insert_error_scores",
    "metric_names",
    "num_samples",
    "root_task",
    "warn_or_raise_about_fit_failures",
]


class HTMLReprMixin:
    """Puts `_more_html()` below the diagram that notebooks show of an estimator.

    To be inherited from before the estimator's other bases.
    """

    def _more_html(self) -> str:
        """Return HTML without style sheets and scripts, escaped where needed."""
        return ""

    def _html_repr(self) -> str:
        return str(estimator_html_repr(self)) + self._more_html()

    # Before 1.7, scikit-learn does not ask _html_repr. Whether HTML is wanted at all is
    # decided above these two.

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._html_repr()
        return bundle


class SilentTask:
    """Stands in for a task of scikit-learn's callback tree where nobody listens."""

    def subcontext(self, **kwargs: Any) -> Self:
        """Return the task itself: its parts are silent, too."""
        return self

    def call_on_fit_task_begin(self, **kwargs: Any) -> Self:
        """Tell nobody."""
        return self

    def call_on_fit_task_end(self, **kwargs: Any) -> bool:
        """Tell nobody, who does not ask to stop."""
        return False

    @contextmanager
    def propagate_callback_context(self, estimator: Any) -> Iterator[None]:
        """Hand on nothing."""
        yield


def root_task(search: Any, max_subtasks: int) -> Any:
    """Return the root of a search's callback tree; silent before scikit-learn 1.9."""
    if not hasattr(search, "_init_callback_context"):
        return SilentTask()
    return search._init_callback_context(max_subtasks=max_subtasks)


def has_callbacks(value: Any) -> bool:
    """Tell whether an object, or an estimator inside it, has callbacks registered."""
    if getattr(value, "_skl_callbacks", None) or hasattr(value, "_parent_callback_ctx"):
        return True
    if not hasattr(value, "get_params") or isinstance(value, type):
        return False
    return any(
        getattr(part, "_skl_callbacks", None)
        for part in value.get_params(deep=True).values()
    )


def metric_names(scorers: Any) -> list[str]:
    """Return the names of several metrics; none where there is a single one."""
    named = getattr(scorers, "_scorers", None)
    return list(named) if isinstance(named, dict) else []
