"""Checks performed before the first fit of a search."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skrobustbo._names import shown
from skrobustbo._sklearn_compat import num_samples
from skrobustbo.checkpoint import describe
from skrobustbo.model_selection._parameters import settings_in
from skrobustbo.model_selection._settings import Search
from skrobustbo.space import Space

Params = dict[str, Any]
Given = Mapping[str, Any]

#: Numbers, the number of jobs and operators, as joblib parses them.
_TERM = r"(?:n_jobs|\d+\.?\d*)"
_ARITHMETIC = re.compile(rf"(?=.{{1,30}}$){_TERM}(?: *[-+*/] *{_TERM})*")


def metric_of(search: Search) -> str | None:
    """Return the metric to optimise, or None if it is not specified."""
    named = search.refit if isinstance(search.refit, str) else None
    metric: str | None = search.search_metric
    return named if metric is None else metric


def score_metric(search: Search, names: Sequence[str]) -> str | None:
    """Return the metric of `best_score_`, or None for single-metric scoring.

    If `refit` is not one of several metrics, `search_metric` is used.
    """
    if not names:
        return None
    named = search.refit if isinstance(search.refit, str) else search.search_metric
    return names[0] if len(names) == 1 and named is None else named


def keeps_predictions(search: Search) -> bool:
    """Return whether the honest score of a search is computed from predictions."""
    return not isinstance(search.honest_score, str) and bool(search.honest_score)


def kept_metric(
    search: Search, names: Sequence[str], described: str | None
) -> str | None:
    """Return the metric for which an earlier run stored predictions."""
    named = [name for name in names if describe(f"True for {name}") == described]
    if named or not names:
        return named[0] if named else None
    return names[0] if len(names) == 1 else search.search_metric


def check_settings(search: Search) -> None:
    """Check settings that scikit-learn's validation of parameters does not check."""
    estimator, refit = search.estimator, search.refit
    if isinstance(estimator, type):
        raise TypeError(
            "The 'estimator' of RobustBayesSearchCV must be an object. Got the class "
            f"{estimator.__name__} instead; write {estimator.__name__}()."
        )
    if not hasattr(estimator, "get_params"):
        raise TypeError(
            "The 'estimator' of RobustBayesSearchCV must have scikit-learn's "
            f"get_params. Got {estimator!r} instead; derive it from BaseEstimator."
        )
    if not _is_scoring(search.scoring):
        raise ValueError(
            "The 'scoring' of RobustBayesSearchCV must, for several metrics, be a list "
            "of names or a dict of names or callables. Got "
            f"{search.scoring!r} instead; leave it out for the estimator's own score."
        )
    if isinstance(refit, type):
        raise ValueError(
            "The 'refit' of RobustBayesSearchCV must be True, False, a metric or a "
            f"function of cv_results_. Got {refit!r} instead; pass an instance, "
            f"{refit.__name__}(...)."
        )
    if not _is_pre_dispatch(search.pre_dispatch):
        raise ValueError(
            "The 'pre_dispatch' of RobustBayesSearchCV must be a positive integer, "
            "'all' or an expression such as '2*n_jobs'. Got "
            f"{search.pre_dispatch!r} instead."
        )


def _is_scoring(scoring: Any) -> bool:
    """Return whether a collection of metrics is not empty and has only metrics."""
    if isinstance(scoring, dict):
        known = all(isinstance(m, str) or callable(m) for m in scoring.values())
    elif isinstance(scoring, list | tuple | set):
        known = all(isinstance(m, str) for m in scoring)
    else:
        return True
    return known and bool(scoring)


def _is_pre_dispatch(value: int | str) -> bool:
    """Return whether joblib accepts the value."""
    if isinstance(value, str):
        return value == "all" or bool(_ARITHMETIC.fullmatch(value))
    return value >= 1


def initial_points(search: Search, space: Space) -> list[Params]:
    """Return the initial points of a search, with missing parameters filled in.

    Raises
    ------
    ValueError
        If the estimator's value for a missing parameter is unknown or outside the
        space.
    """
    given, branches = search.initial_params or [], space.branches
    points = completed(given, space, search.estimator)
    for params, point in zip(given, points, strict=True):
        unknown = missing(point, space)
        if unknown is not None:
            raise ValueError(
                f"In 'initial_params', {dict(params)!r} has no {unknown!r}, and "
                f"{not_listed(unknown)}; give {unknown!r} a value in the space."
            )
        for name in [name for name in point if name not in params]:
            among = [b.dimensions[name] for b in branches if name in b.names]
            if not any(dimension.contains(point[name]) for dimension in among):
                raise ValueError(
                    f"In 'initial_params', {shown(dict(params))} has no {name!r}, and "
                    f"the estimator's own value, {shown(point[name])}, is outside the "
                    f"space; give {name!r} a value in the space."
                )
    return points


def missing(point: Given, space: Space) -> str | None:
    """Return a missing parameter, or None if the point is complete in some branch."""
    fitting = [branch for branch in space.branches if set(point) <= set(branch.names)]
    lacking = [[n for n in branch.names if n not in point] for branch in fitting]
    return lacking[0][0] if lacking and all(lacking) else None


def not_listed(name: str) -> str:
    """Return a message saying that `get_params` does not list a parameter."""
    return (
        f"the estimator's own value of {name!r} is unknown, because its get_params "
        "does not list it"
    )


def completed(given: Sequence[Given], space: Space, estimator: Any) -> list[Params]:
    """Return points with missing parameters set to the estimator's current values.

    Each point is completed for the first branch that can contain it.
    """
    for params in given:
        if not isinstance(params, Mapping):
            raise ValueError(
                "The 'initial_params' of RobustBayesSearchCV must be a list of dicts. "
                f"Got {params!r} in it instead."
            )
    listed = estimator.get_params(deep=True)
    return [_complete(params, space.branches, listed) for params in given]


def _complete(params: Given, branches: Sequence[Space], listed: Given) -> Params:
    likely = [branch for branch in branches if set(params) <= set(branch.names)]
    points = [_in_branch(params, branch, listed) for branch in likely or branches[:1]]
    found = (point for point in points if any(b.contains(point) for b in branches))
    # If no branch fits, the optimizer reports what is wrong in the likeliest one.
    return next(found, points[0])


def _in_branch(params: Given, branch: Space, listed: Given) -> Params:
    """Fill in the missing parameters of a point in one branch."""
    given = {name: params[name] for name in branch.names if name in params}
    if len(given) < len(branch.names):
        settings = settings_in(branch, listed, given)
        given = {name: settings[name] for name in branch.names if name in settings}
    return {**given, **params}


# Shape of the data, which are not stored ---------------------------------------------

Shape = tuple[int, int | None]


def shape_of(X: Any) -> Shape:
    """Return the number of rows and of columns (None for one-dimensional data)."""
    shape: Sequence[int] = (
        np.shape(X[:1]) if isinstance(X, list) else getattr(X, "shape", ())
    )
    return num_samples(X), int(shape[1]) if len(shape) > 1 else None


def check_shape(X: Any, before: Shape | None) -> None:
    """Raise a ValueError if the data passed to `resume` have a different shape."""
    now = shape_of(X)
    if now != before:
        raise ValueError(
            "The 'X' of RobustBayesSearchCV.resume must be that of fit, with "
            f"{_shown(before)}. Got {_shown(now)} instead; for other data, call fit "
            "with previous= to reuse this search."
        )


def _shown(shape: Shape | None) -> str:
    if shape is None:
        return "an unknown number of rows"
    n_rows, n_columns = shape
    return f"{n_rows} rows" + ("" if n_columns is None else f" of {n_columns} columns")
