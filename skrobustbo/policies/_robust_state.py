"""The default policy's run-time state, and how it winsorizes bad values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from skrobustbo._forms import Count, Positive
from skrobustbo.policies._interface import Array, Metadata
from skrobustbo.policies._metadata import Predicted

#: Below the lower quartile by so many times the distance of the quartiles, values are
#: raised even for predictions: they say that a fit diverged, not by how much.
_FENCE = 10.0
#: Values closer to the best than this share of it are the same.
_ROUNDING = 1e-9


class Estimate(NamedTuple):
    """Length scales, the noise if it is most of the values, and of how many values."""

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
        Evaluations of each level that are told.
    misses : list of int
        Those of each level since one was last worth its while.
    theta : list of float
        The latest estimate, one length scale per parameter; empty at first.
    noise : float or None
        Noise estimated with it; None unless the values are mostly noise.
    n_fitted : int
        Values that the estimate was made from.
    passed : list of int
        The levels that rest: they have just left their turn to another one.
    """

    n_parameters: Count
    horizon: Count | None
    counts: list[Count]
    misses: list[Count]
    theta: list[Positive] = field(default_factory=list)
    noise: Positive | None = None
    n_fitted: Count = 0
    passed: list[Count] = field(default_factory=list)

    def latest(self, pending: Sequence[Metadata]) -> Estimate:
        """Return the estimate from most values, that of queries under way included."""
        waiting = [
            Estimate(*(metadata[k] for k in Estimate._fields)) for metadata in pending
        ]
        own = Estimate(self.theta, self.noise, self.n_fitted)
        return max([own, *waiting], key=lambda fit: fit.n_fitted)

    def taken(self, pending: Sequence[Metadata]) -> list[int]:
        """Return the evaluations of each level, those under way included."""
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
