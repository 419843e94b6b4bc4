"""The default policy's run-time state, and how it winsorizes bad values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from skrobustbo._forms import Count, Positive
from skrobustbo._trials import rounding
from skrobustbo.policies._interface import Array, Pending, Predicted

#: Values farther below the lower quartile than this, in interquartile ranges, are
#: raised even for predictions: they show that a fit diverged, but not by how much.
_FENCE = 10.0


class Estimate(NamedTuple):
    """Length scales, the noise if it dominates, and how many values were fitted."""

    theta: list[Positive]
    noise: Positive | None
    n_fitted: Count


@dataclass
class RobustState:
    """Run-time state of `RobustUCB`.

    Attributes
    ----------
    n_parameters : int
        Dimension d.
    horizon : int or None
        Evaluations planned.
    counts : list of int
        Number of told evaluations of each level.
    misses : list of int
        Number of evaluations of each level since the last one that gained enough.
    theta : list of float
        The latest estimate, one length scale per parameter; empty at first.
    noise : float or None
        The noise of this estimate; None unless the values are mostly noise.
    n_fitted : int
        Number of values that the estimate was fitted to.
    passed : list of int
        The levels that rest, because they have just passed their turn.
    """

    n_parameters: Count
    horizon: Count | None
    counts: list[Count]
    misses: list[Count]
    theta: list[Positive] = field(default_factory=list)
    noise: Positive | None = None
    n_fitted: Count = 0
    passed: list[Count] = field(default_factory=list)

    def latest(self, pending: Pending) -> Estimate:
        """Return the estimate from the most values, pending queries included."""
        waiting = [
            Estimate(*(metadata[k] for k in Estimate._fields)) for metadata in pending
        ]
        own = Estimate(self.theta, self.noise, self.n_fitted)
        return max([own, *waiting], key=lambda fit: fit.n_fitted)

    def taken(self, pending: Pending) -> list[int]:
        """Return the number of evaluations of each level, pending ones included."""
        counts = list(self.counts)
        for metadata in pending:
            counts[metadata["level"]] += 1
        return counts


class LevelMetadata(Predicted):
    """The metadata of `RobustUCB`."""

    level: Count
    passed: list[Count]
    theta: list[Positive]
    noise: Positive | None
    n_fitted: Count


def winsorized(values: Array, factor: float | None) -> Array:
    """Return values with the floor median - factor (best - median); None: no floor."""
    finite = values[np.isfinite(values)]
    if factor is None or not len(finite):
        return values
    middle, best = middle_and_best(np.sort(finite).tolist())
    return np.maximum(values, middle - factor * (best - middle))


def fenced(values: Array) -> Array:
    """Return the values, with those far below the others raised to a limit."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return values
    low, high = np.quantile(finite, [0.25, 0.75])
    return np.maximum(values, low - _FENCE * (high - low)) if high > low else values


def middle_and_best(ordered: Sequence[float]) -> tuple[float, float]:
    """Return the median and the largest of sorted values.

    If at least half of the values equal the largest one, a floor at their median would
    make all values equal. In this case, it is the upper median of the others.
    """
    # np.median would take longer than everything else that is done to the values.
    n, best = len(ordered), ordered[-1]
    middle = 0.5 * ordered[(n - 1) // 2] + 0.5 * ordered[n // 2]
    same = best - rounding(max(abs(best), abs(middle)))
    if middle < same:
        return middle, best
    others = [value for value in ordered if value < same]
    return (others[len(others) // 2] if others else best), best
