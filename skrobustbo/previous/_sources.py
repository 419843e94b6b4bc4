"""Read candidates from results of other packages without importing the packages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from skrobustbo.optimizer import read_results
from skrobustbo.previous._candidates import PreviousCandidates
from skrobustbo.space import is_number, plain

_PARAM = "param_"


def from_cv_results(
    cv_results: Any, metric: str | None = None, *, same_data: bool = True
) -> PreviousCandidates:
    """Return the candidates of a scikit-learn search.

    Parameters
    ----------
    cv_results : dict of arrays or DataFrame
        The ``cv_results_`` of `RobustBayesSearchCV`, `GridSearchCV`,
        `RandomizedSearchCV` or a similar search, as a dict or a table. The result of
        `trials_dataframe()` is also accepted. Candidates that were stopped by a race
        are omitted, because their mean score is unknown.
    metric : str, default=None
        The metric to maximise, if the results contain several metrics.
    same_data : bool, default=True
        See `PreviousCandidates`.

    Returns
    -------
    previous : PreviousCandidates

    Raises
    ------
    ValueError
        If the results lack the metric or the params.

    Examples
    --------
    >>> from skrobustbo.previous import from_cv_results
    >>> results = {"params": [{"C": 1}, {"C": 5}], "mean_test_score": [0.8, 0.9]}
    >>> from_cv_results(results)
    PreviousCandidates of 2 candidates, the best score 0.9
    """
    columns = _columns(cv_results, metric)
    found = read_results(columns, metric)
    params, scores = [p for p, _ in found], [score for _, score in found]
    return PreviousCandidates(params, scores, same_data=same_data)


def _columns(cv_results: Any, metric: str | None) -> Any:
    """Return the columns of a table under the names used in `cv_results_`.

    Missing values are masked, because they stand for absent parameters.
    """
    is_table = hasattr(cv_results, "columns") and hasattr(cv_results, "iloc")
    if not is_table or "params" in cv_results:
        return cv_results
    columns = {name: cv_results[name].to_numpy() for name in cv_results.columns}
    names = [name for name in columns if str(name).startswith(_PARAM)]
    # A table of trials contains the mean score of the metric that was optimised.
    several = metric is not None and f"split0_test_{metric}" in columns
    if "score" in columns and "mean_test_score" not in columns:
        columns[f"mean_test_{metric if several else 'score'}"] = columns["score"]
    for name in names:
        values = np.empty(len(cv_results), dtype=object)
        values[:] = list(columns[name])
        missing = [_is_missing(value) for value in values]
        columns[name] = np.ma.MaskedArray(values, mask=missing)
    return columns


def _is_missing(value: Any) -> bool:
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return type(value).__name__ in ("NAType", "NaTType")


def from_optuna(study: Any, *, same_data: bool = True) -> PreviousCandidates:
    """Return the completed trials of an Optuna study.

    Failed, pruned and unfinished trials are omitted. If the study minimises its
    objective, the values are negated.

    Parameters
    ----------
    study : optuna.Study
        A study with a single objective, which is the metric of the new search.
    same_data : bool, default=True
        See `PreviousCandidates`.

    Returns
    -------
    previous : PreviousCandidates

    Raises
    ------
    ValueError
        If `study` is not an Optuna study with a single objective.

    Examples
    --------
    >>> from types import SimpleNamespace as Object
    >>> from skrobustbo.previous import from_optuna
    >>> complete = Object(name="COMPLETE")
    >>> trial = Object(state=complete, params={"C": 2.0}, values=[0.1])
    >>> study = Object(trials=[trial], directions=[Object(name="MINIMIZE")])
    >>> from_optuna(study).scores
    [-0.1]
    """
    if not (hasattr(study, "trials") and hasattr(study, "directions")):
        raise ValueError(
            f"The 'study' of from_optuna must be an Optuna study. Got {study!r} "
            "instead; load it with optuna.load_study."
        )
    directions = [str(getattr(d, "name", d)).upper() for d in study.directions]
    if len(directions) != 1:
        raise ValueError(
            "The 'study' of from_optuna must have one objective. Got one of "
            f"{len(directions)} instead; give PreviousCandidates the scores to use."
        )
    sign = -1.0 if directions[0] == "MINIMIZE" else 1.0
    complete = [t for t in study.trials if getattr(t.state, "name", "") == "COMPLETE"]
    return PreviousCandidates(
        [dict(trial.params) for trial in complete],
        [sign * float(trial.values[0]) for trial in complete],
        same_data=same_data,
    )


def from_skopt(result: Any, *, same_data: bool = True) -> PreviousCandidates:
    """Return the points of a scikit-optimize result, with negated values as scores.

    Parameters
    ----------
    result : OptimizeResult
        The result of `gp_minimize` or a similar function, or an element of the
        `optimizer_results_` of `BayesSearchCV`. The dimensions of the space must have
        names.
    same_data : bool, default=True
        See `PreviousCandidates`.

    Returns
    -------
    previous : PreviousCandidates
        The points, with the negated values as scores.

    Raises
    ------
    ValueError
        If `result` is not a scikit-optimize result, or its dimensions have no names.

    Examples
    --------
    >>> from types import SimpleNamespace as Object
    >>> from skrobustbo.previous import from_skopt
    >>> space = Object(dimensions=[Object(name="C")])
    >>> result = Object(x_iters=[[2.0]], func_vals=[0.1], space=space)
    >>> from_skopt(result).params
    [{'C': 2.0}]
    """
    if not all(hasattr(result, name) for name in ("x_iters", "func_vals", "space")):
        raise ValueError(
            "The 'result' of from_skopt must have x_iters, func_vals and space. Got "
            f"{result!r} instead; give what gp_minimize or the like returns."
        )
    names = [dimension.name for dimension in result.space.dimensions]
    if not all(isinstance(name, str) for name in names):
        raise ValueError(
            "The 'result' of from_skopt must be of dimensions with names. Got the "
            f"names {names!r} instead; give PreviousCandidates the dicts."
        )
    points: list[Mapping[str, Any]] = [
        dict(zip(names, map(plain, x), strict=True)) for x in result.x_iters
    ]
    scores = [-float(v) if is_number(plain(v)) else math.nan for v in result.func_vals]
    return PreviousCandidates(points, scores, same_data=same_data)
