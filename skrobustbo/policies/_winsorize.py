"""Winsorizing: how far the worst values may lie below the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skrobustbo.policies._interface import Array

#: Below the lower quartile by so many times the distance of the quartiles, values are
#: raised even for predictions: they say that a fit diverged, not by how much.
_FENCE = 10.0
#: Values closer to the best than this share of it are the same.
_ROUNDING = 1e-9


def winsorized(values: Array, factor: float | None) -> Array:
    """Return the values, none below median - factor (best - median); None: raw."""
    finite = values[np.isfinite(values)]
    if factor is None or not len(finite):
        return values
    middle, best = middle_and_best(np.sort(finite).tolist())
    return np.maximum(values, middle - factor * (best - middle))


def fenced(values: Array) -> Array:
    """Return the raw values, but for those far outside the others."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return values
    low, high = np.quantile(finite, [0.25, 0.75])
    return np.maximum(values, low - _FENCE * (high - low)) if high > low else values


def middle_and_best(ordered: Sequence[float]) -> tuple[float, float]:
    """Return the median of values in order, and the largest.

    Where half of them equal the largest, a floor at their median would leave nothing
    of the rest: there it is the upper median of the rest.
    """
    # By hand: np.median would cost more than all else that is done to the values.
    n, best = len(ordered), ordered[-1]
    middle = 0.5 * ordered[(n - 1) // 2] + 0.5 * ordered[n // 2]
    same = best - _ROUNDING * max(abs(best), abs(middle))
    if middle < same:
        return middle, best
    others = [value for value in ordered if value < same]
    return (others[len(others) // 2] if others else best), best
