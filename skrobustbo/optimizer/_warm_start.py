"""Points and values out of the results of an earlier search."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.optimizer._checks import plain_params
from skrobustbo.space import is_listing

Params = dict[str, Any]
Found = list[tuple[Params, float]]

_PARAM, _MEAN = "param_", "mean_test_"


def read_results(cv_results: Any, metric: str | None) -> Found:
    """Return params and mean test scores of `cv_results_`, or of a table made of it.

    Raises
    ------
    ValueError
        If a column that is needed is missing.
    """
    if not hasattr(cv_results, "keys") or not hasattr(cv_results, "__getitem__"):
        raise ValueError(
            "Expected the 'cv_results_' of a search, a dict of columns, got "
            f"{cv_results!r}."
        )
    names = [str(name) for name in cv_results.keys()]  # noqa: SIM118 - or a DataFrame
    scores = _scores(cv_results, _score_column(names, metric))
    params = _params(cv_results, names)
    if len(params) != len(scores):
        raise ValueError(
            f"Expected as many scores as candidates, got {len(scores)} scores of "
            f"{len(params)} candidates; give 'cv_results_' as the search left it."
        )
    return [(p, float(score)) for p, score in zip(params, scores, strict=True)]


def _score_column(names: list[str], metric: str | None) -> str:
    metrics = [n.removeprefix(_MEAN) for n in names if n.startswith(_MEAN)]
    if metric is None and len(metrics) == 1:
        metric = metrics[0]
    if metric is None and "score" in metrics:
        metric = "score"
    if not isinstance(metric, str) or metric not in metrics:
        raise ValueError(
            f"The 'metric' must be one of those in the results, {metrics}. Got "
            f"{metric!r} instead; name the one to maximise."
        )
    return f"{_MEAN}{metric}"


def _column(cv_results: Any, name: str) -> Any:
    """Return a column as a masked array; ValueError unless it lists values."""
    values = cv_results[name]
    try:
        column = np.ma.asarray(values)
    except ValueError:  # lists of several lengths
        column = np.ma.asarray(None)
    if column.ndim != 1:
        raise ValueError(
            f"Expected the column {name!r} of the results to list one value for each "
            f"candidate, got {values!r}; give 'cv_results_' as the search left it."
        )
    return column


def _scores(cv_results: Any, name: str) -> NDArray[np.float64]:
    """Return a column of scores, nan where there is none."""
    column = _column(cv_results, name)
    try:
        # As objects: complex numbers would only be warned of.
        column = np.ma.asarray(column.astype(object), dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"Expected the column {name!r} of the results to hold numbers, got "
            f"{cv_results[name]!r}; give 'cv_results_' as the search left it."
        ) from None
    scores: NDArray[np.float64] = np.ma.filled(column, np.nan)
    return scores


def _params(cv_results: Any, names: list[str]) -> list[Params]:
    """Return the params dicts, from their own column or from one per parameter."""
    if "params" in names:
        given = cv_results["params"]
        given = list(given) if is_listing(given) else [given]
        if all(isinstance(params, Mapping) for params in given):
            return [plain_params(params) for params in given]
    columns = {
        name.removeprefix(_PARAM): _column(cv_results, name)
        for name in names
        if name.startswith(_PARAM)
    }
    if not columns:
        raise ValueError(
            "Expected a column 'params' of dicts or columns 'param_<name>' in the "
            f"results, got the columns {names}; give 'cv_results_' as the search left "
            "it."
        )
    n = len(next(iter(columns.values())))
    return [
        plain_params({k: v[i] for k, v in columns.items() if v[i] is not np.ma.masked})
        for i in range(n)
    ]


def fitting(found: Found, encode: Callable[[Params], Any]) -> Found:
    """Return those points that are of the space; the others are warned of.

    Warns
    -----
    UserWarning
        If some are not: how many, and why the first is not.
    """
    kept, refused = [], []
    for params, value in found:
        try:
            encode(params)
        except ValueError as error:
            refused.append(str(error))
        else:
            kept.append((params, value))
    if refused:
        warnings.warn(
            f"Of {len(found)} earlier candidates, {len(kept)} fit the space and are "
            f"used; {len(refused)} do not. The first that does not: {refused[0]}",
            stacklevel=3,
        )
    return kept
