"""Checks of what a user hands to an optimizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from skrobustbo.space._values import plain

Params = dict[str, Any]


def plain_params(params: Any) -> Params:
    """Return a params dict in plain Python types; ValueError for anything else."""
    if not isinstance(params, Mapping):
        raise ValueError(f"Expected a dict of parameters, got {params!r}.")
    return {key: plain(value) for key, value in params.items()}


def checked_count(name: str, value: Any) -> int | None:
    """Return a positive integer or None as it is; ValueError for anything else."""
    value = plain(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            f"The '{name}' of Optimizer must be a positive integer or None. Got "
            f"{value!r} instead."
        )
    return value


def checked_value(value: Any) -> float:
    """Return a value told as a float; ValueError for anything but a number."""
    value = plain(value)
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(
            f"Expected the value told to be a number (nan for a failure), got "
            f"{value!r}."
        )
    return float(value)


def paired(
    params: Mapping[str, Any] | Sequence[Mapping[str, Any]], value: Any
) -> list[tuple[Params, float]]:
    """Return points and their values in pairs, whether one or several were given."""
    if isinstance(params, Mapping):
        points, values = [params], [value]
    else:
        points, values = list(params), list(np.ravel(value))
    if len(points) != len(values):
        raise ValueError(
            f"Expected one value for each of the {len(points)} points, got "
            f"{len(values)} values."
        )
    return [
        (plain_params(point), checked_value(number))
        for point, number in zip(points, values, strict=True)
    ]
