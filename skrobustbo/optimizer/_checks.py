"""Validation of user input: points, values and results of an earlier search."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._arguments import checked_flag
from skrobustbo._names import be, count, shown
from skrobustbo.space import is_finite, is_listing, is_number, plain

Params = dict[str, Any]
Found = list[tuple[Params, float]]

_PARAM, _MEAN = "param_", "mean_test_"


def plain_params(params: Any, name: str = "params") -> Params:
    """Return a params dict with plain Python values, or raise ValueError."""
    if not isinstance(params, Mapping):
        raise ValueError(
            f"Expected a dict of parameters in '{name}', got {shown(params)}; write "
            "one, such as {'C': 1.0}."
        )
    return {key: plain(value) for key, value in params.items()}


def listed_params(params: Any, name: str = "params") -> list[Params]:
    """Return a list of params dicts with plain values, or raise ValueError."""
    if not _lists(params) or isinstance(params, Mapping):
        raise ValueError(
            f"Expected a list of dicts of parameters in '{name}', got {shown(params)}; "
            "write one, such as [{'C': 1.0}]."
        )
    return [plain_params(point, name) for point in params]


def _lists(value: Any) -> bool:
    text = isinstance(value, str | bytes | bytearray)
    return isinstance(value, Iterable) and not text and getattr(value, "ndim", 1) > 0


def checked_value(value: Any) -> float:
    """Return a value as a float, or raise ValueError if it is not a number."""
    value = plain(value)
    if isinstance(value, np.ndarray) and value.size == 1 and not np.ma.is_masked(value):
        value = value.item()
    # Python integers are unbounded, floats are not.
    endless = isinstance(value, int) and not is_finite(value)
    if not is_number(value) or endless:
        raise ValueError(
            f"Expected the value told to be a number (nan for a failure), got "
            f"{reprlib.repr(value)}; tell one float for each point."
        )
    return float(value)


def paired(
    params: Mapping[str, Any] | Sequence[Mapping[str, Any]], value: Any
) -> list[tuple[Params, float]]:
    """Return a list of (point, value) pairs for one or more points."""
    if isinstance(params, Mapping):
        return [(plain_params(params), checked_value(value))]
    points = listed_params(params)
    # NumPy would turn booleans into numbers.
    values = list(value) if _lists(value) else [value]
    if len(points) != len(values):
        raise ValueError(
            f"Expected one value for each of the {len(points)} points, got "
            f"{len(values)} values; give as many."
        )
    return list(zip(points, map(checked_value, values), strict=True))


def checked_amounts(resources: Any) -> list[float]:
    """Return the amounts of a resource, which must be positive and ascending."""
    amounts = [plain(amount) for amount in resources] if _lists(resources) else []
    known = all(is_number(a) and is_finite(a) and a > 0 for a in amounts)
    if not (amounts and known and amounts == sorted(set(amounts))):
        raise ValueError(
            "The 'resources' of Optimizer must be a list of positive numbers in "
            f"ascending order, such as [6, 18, 54]. Got {resources!r} instead."
        )
    return amounts


def check_resource(resource: Any, amounts: Sequence[float]) -> None:
    """Raise a ValueError unless the resource is None or one of the amounts."""
    if resource is None:
        return
    if not amounts:
        raise ValueError(
            "The 'resource' of Optimizer.tell must be None for an optimizer without "
            f"'resources'. Got {resource!r} instead."
        )
    if not is_number(plain(resource)) or resource not in amounts:
        raise ValueError(
            "The 'resource' of Optimizer.tell must be one of its 'resources', "
            f"{list(amounts)}. Got {resource!r} instead."
        )


def check_return_resource(flag: Any, amounts: Sequence[float]) -> None:
    """Check that `return_resource` is True with resources and False otherwise."""
    flag = checked_flag("return_resource", flag, "Optimizer.ask")
    if flag != bool(amounts):
        raise ValueError(
            f"The 'return_resource' of Optimizer.ask must be {not flag} for an "
            f"optimizer {'with' if amounts else 'without'} 'resources'. Got {flag} "
            "instead."
        )


def read_results(cv_results: Any, metric: str | None) -> Found:
    """Return the params and mean test scores in `cv_results_` or a table of it.

    Candidates that were only partially evaluated are omitted.

    Raises
    ------
    ValueError
        If a required column is missing or invalid.
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
    partial = _partial(cv_results, names, len(params))
    rows = zip(params, scores, partial, strict=True)
    return [(p, float(score)) for p, score, in_part in rows if not in_part]


def _partial(columns: Any, names: Sequence[str], n: int) -> NDArray[np.bool_]:
    """Return a mask of the candidates that were only partially evaluated.

    These candidates were stopped by a race or used less of a resource than others.
    """
    partial = np.zeros(n, dtype=bool)
    if "raced" in names:
        partial |= np.asarray(columns["raced"], dtype=bool)
    if "n_resources" in names:
        amounts = np.asarray(columns["n_resources"], dtype=float)
        partial |= amounts < amounts.max(initial=0.0)
    if "status" in names:
        partial |= np.isin(list(columns["status"]), ["stopped", "partial"])
    return partial


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
    """Return a column as a masked array, or raise ValueError if it is not 1D."""
    values = cv_results[name]
    try:
        column = np.ma.asarray(values)
    except ValueError:  # columns of different lengths
        column = np.ma.asarray(None)
    if column.ndim != 1:
        raise ValueError(
            f"Expected the column {name!r} of the results to list one value for each "
            f"candidate, got {values!r}; give 'cv_results_' as the search left it."
        )
    return column


def _scores(cv_results: Any, name: str) -> NDArray[np.float64]:
    """Return a column of scores, with nan for missing scores."""
    column = _column(cv_results, name)
    try:
        # As objects, because NumPy only warns about complex numbers.
        column = np.ma.asarray(column.astype(object), dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"Expected the column {name!r} of the results to hold numbers, got "
            f"{cv_results[name]!r}; give 'cv_results_' as the search left it."
        ) from None
    return np.ma.filled(column, np.nan)


def _params(cv_results: Any, names: list[str]) -> list[Params]:
    """Return the params dicts from `params` or from one column per parameter."""
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
    """Return the points that lie in the space, and warn about the others.

    Warns
    -----
    UserWarning
        If points are omitted. The message gives their number and the reason for
        omitting the first one.
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
            f"Of {count(len(found), 'earlier candidate')}, {len(kept)} "
            f"{be(len(kept), 'fits', 'fit')} the space and {be(len(kept))} used; "
            f"{len(refused)} {be(len(refused), 'does', 'do')} not. The first that does "
            f"not: {refused[0]}",
            stacklevel=3,
        )
    return kept
