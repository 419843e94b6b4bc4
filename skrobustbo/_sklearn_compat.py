"""Private scikit-learn helpers that this package uses.

This module is tested with the oldest and newest supported releases. No other module
imports private names from scikit-learn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import sklearn
from sklearn import get_config
from sklearn.base import _clone_parametrized as clone_parametrized
from sklearn.base import _fit_context as fit_context
from sklearn.metrics._scorer import _PassthroughScorer, _Scorer
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _fit_and_score as fit_and_score
from sklearn.model_selection._validation import (
    _warn_or_raise_about_fit_failures as warn_or_raise_about_fit_failures,
)
from sklearn.utils import estimator_html_repr
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    StrOptions,
    validate_parameter_constraints,
)
from sklearn.utils.fixes import parse_version
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _num_samples as num_samples

# Messages of scikit-learn's searches, kept unchanged because callers match them.
NO_FITS = "No fits were performed. Was the CV iterator empty? Were there no candidates?"
_SAYS = (
    "return"
    if parse_version(sklearn.__version__) >= parse_version("1.9")
    else "returned"
)
OTHER_SPLITS = f"cv.split and cv.get_n_splits {_SAYS} inconsistent results."

_HAS_CALLBACKS = hasattr(BaseSearchCV, "_init_callback_context")

#: Names that other modules import from here, in addition to those defined below.
__all__ = [
    "BaseSearchCV",
    "HasMethods",
    "Interval",
    "StrOptions",
    "check_method_params",
    "clone_parametrized",
    "fit_and_score",
    "fit_context",
    "num_samples",
    "validate_parameter_constraints",
    "warn_or_raise_about_fit_failures",
]


class HTMLReprMixin:
    """Mixin that adds HTML below the diagram of an estimator in notebooks.

    It must precede the other base classes of the estimator.
    """

    def _more_html(self) -> str:
        """Return the additional HTML, escaped and without style sheets or scripts."""
        return ""

    def _html_repr(self) -> str:
        return str(estimator_html_repr(self)) + self._more_html()

    # Before 1.7, scikit-learn does not call _html_repr. The code above has already
    # decided whether HTML is wanted.

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = self._html_repr()
        return bundle


class SilentTask:
    """Task in scikit-learn's callback tree that calls no callbacks."""

    def subcontext(self, **kwargs: Any) -> Self:
        return self

    def call_on_fit_task_begin(self, **kwargs: Any) -> Self:
        return self

    def call_on_fit_task_end(self, **kwargs: Any) -> bool:
        """Return False, so that the fit continues."""
        return False

    @contextmanager
    def propagate_callback_context(self, estimator: Any) -> Iterator[None]:
        yield


def root_task(search: Any, max_subtasks: int) -> Any:
    """Return the root of the callback tree of a search.

    Before scikit-learn 1.9, this is a task that calls no callbacks.
    """
    if not _HAS_CALLBACKS:
        return SilentTask()
    return search._init_callback_context(max_subtasks=max_subtasks)


def has_callbacks(value: Any) -> bool:
    """Return whether an object or one of its nested estimators has callbacks."""
    if not _HAS_CALLBACKS:
        return False
    if getattr(value, "_skl_callbacks", None) or hasattr(value, "_parent_callback_ctx"):
        return True
    if not has_params(value):
        return False
    return any(
        getattr(part, "_skl_callbacks", None)
        for part in value.get_params(deep=True).values()
    )


def metric_names(scorers: Any) -> list[str]:
    """Return the names of the metrics, or an empty list for a single metric."""
    named = getattr(scorers, "_scorers", None)
    return list(named) if isinstance(named, dict) else []


def has_params(value: Any) -> bool:
    """Return whether a value is an instance that has parameters."""
    return hasattr(value, "get_params") and not isinstance(value, type)


def nested_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nested parameters of all estimators in `params`."""
    return {
        f"{name}__{inner}": value
        for name, owner in params.items()
        if has_params(owner)
        for inner, value in owner.get_params().items()
    }


def allows(estimator: Any, name: str, value: Any) -> bool | None:
    """Return whether an estimator accepts a value, or None if it has no checks."""
    constraints = getattr(estimator, "_parameter_constraints", None)
    known = constraints.get(name) if isinstance(constraints, Mapping) else None
    if known is None or isinstance(known, str):  # "no_validation"
        return None
    try:
        validate_parameter_constraints({name: known}, {name: value}, "")
    except InvalidParameterError:
        return False
    return True


# Scorers ------------------------------------------------------------------------------


def is_own_score(scorer: Any) -> bool:
    """Return whether a scorer only calls the `score` method of the estimator."""
    return isinstance(scorer, _PassthroughScorer)


def is_row_wise(scorer: Any) -> bool:
    """Return whether a scorer was created by `make_scorer`."""
    return type(scorer) is _Scorer


def score_function(scorer: Any) -> Callable[..., Any]:
    """Return the metric function of a scorer created by `make_scorer`."""
    return scorer._score_func


def score_sign(scorer: Any) -> int:
    """Return 1 if larger values of the metric are better, and -1 otherwise."""
    return int(scorer._sign)


def with_score_function(scorer: Any, function: Callable[..., Any]) -> Any:
    """Return a copy of a scorer with a different metric function."""
    changed = copy(scorer)
    changed._score_func = function
    return changed


def scorer_of(scorers: Any, metric: str | None) -> Any:
    """Return the scorer of a metric, or the only scorer if `metric` is None."""
    return scorers if metric is None else scorers._scorers[metric]


def with_scorer(scorers: Any, metric: str, scorer: Any) -> Any:
    """Return a copy of a multi-metric scorer with one scorer replaced."""
    changed = copy(scorers)
    changed._scorers = {**scorers._scorers, metric: scorer}
    return changed


def score_settings(
    scorer: Any, scorers: Any, metric: str | None, params: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the additional arguments of a metric function.

    Parameters
    ----------
    scorer : scorer of make_scorer
        The scorer of the metric.
    scorers : scorer
        The scorer used on the folds, for one or several metrics.
    metric : str or None
        Name of the metric, or None if there is only one.
    params : dict
        Arguments of `scorers` for all samples.

    Returns
    -------
    settings, passed : dict
        Arguments stored in the scorer, and arguments passed from `params`.
    """
    passed = dict(params)
    if metric is not None and get_config()["enable_metadata_routing"]:
        passed = dict(process_routing(scorers, "score", **params)[metric].score)
    elif (
        metric is not None
        and "sample_weight" in passed  # older versions never pass it, and lack this:
        and not scorer._accept_sample_weight()
    ):
        del passed["sample_weight"]
    return dict(scorer._kwargs), passed
