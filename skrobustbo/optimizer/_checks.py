"""Checks of the points and values that a user hands to an optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from skrobustbo.space import is_finite, is_number, plain

Params = dict[str, Any]


def plain_params(params: Any, name: str = "params") -> Params:
    """Return a params dict in plain Python types; ValueError for anything else."""
    if not isinstance(params, Mapping):
        raise ValueError(
            f"Expected a dict of parameters in '{name}', got {params!r}; write one, "
            "such as {'C': 1.0}."
        )
    return {key: plain(value) for key, value in params.items()}


def listed_params(params: Any, name: str = "params") -> list[Params]:
    """Return params dicts in plain Python types; ValueError unless it lists some."""
    if not _lists(params) or isinstance(params, Mapping):
        raise ValueError(
            f"Expected a list of dicts of parameters in '{name}', got {params!r}; "
            "write one, such as [{'C': 1.0}]."
        )
    return [plain_params(point, name) for point in params]


def _lists(value: Any) -> bool:
    text = isinstance(value, str | bytes | bytearray)
    return isinstance(value, Iterable) and not text and getattr(value, "ndim", 1) > 0


def checked_value(value: Any, what: str = "value told") -> float:
    """Return a value told as a float; ValueError for anything but a number."""
    value = plain(value)
    if isinstance(value, np.ndarray) and value.size == 1 and not np.ma.is_masked(value):
        value = value.item()
    # Integers have no end, floats do.
    endless = isinstance(value, int) and not is_finite(value)
    if not is_number(value) or endless:
        raise ValueError(
            f"Expected the {what} to be a number (nan for a failure), got {value!r}; "
            "tell one float for each point."
        )
    return float(value)


def paired(
    params: Mapping[str, Any] | Sequence[Mapping[str, Any]], value: Any
) -> list[tuple[Params, float]]:
    """Return points and their values in pairs, whether one or several were given."""
    if isinstance(params, Mapping):
        return [(plain_params(params), checked_value(value))]
    points = listed_params(params)
    # Not through NumPy, which would make numbers of booleans.
    values = list(value) if _lists(value) else [value]
    if len(points) != len(values):
        raise ValueError(
            f"Expected one value for each of the {len(points)} points, got "
            f"{len(values)} values; give as many."
        )
    return list(zip(points, map(checked_value, values), strict=True))
