"""Run-time state of the default policy, and transformations of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TypedDict

import numpy as np

from skrobustbo._forms import Count, Positive
from skrobustbo._trials import rounding
from skrobustbo.policies._interface import Array, Pending, Predicted

#: Winsorized values are at most this many times as far below the median as the best
#: value is above it.
_WINSORIZED = 3.0
#: Values for predictions are at most this many interquartile ranges below the lower
#: quartile. Lower values only show that a fit diverged.
_FENCE = 10.0
#: Share of the values whose gap to the best value is below the unit of gaps.
_UNIT = 0.25


class Estimate(TypedDict):
    """Length scales, the noise if it dominates, and the number of fitted values."""

    theta: list[Positive]
    noise: Positive | None
    n_fitted: Count


#: Placeholder before the first estimate.
NO_ESTIMATE = Estimate(theta=[], noise=None, n_fitted=0)


@dataclass
class RobustState:
    """Run-time state of `RobustUCB`.

    Attributes
    ----------
    n_parameters : int
        Dimension d of the problem.
    counts : list of int
        Number of told evaluations of each level.
    fits : list of Estimate
        The latest estimates, the first from the values and the second from the
        compressed values.
    passed : list of int
        Levels that are skipped because they expected too little gain in the last step.
    """

    n_parameters: Count
    counts: list[Count] = field(default_factory=lambda: [0] * 4)
    fits: list[Estimate] = field(default_factory=lambda: [NO_ESTIMATE] * 2)
    passed: list[Count] = field(default_factory=list)

    def latest(self, pending: Pending, compressed: bool) -> Estimate:
        """Return the latest estimate, including the estimates of pending queries."""
        waiting = (each for each in pending if each["compressed"] == compressed)
        fits: list[Estimate] = [each["fit"] for each in waiting]
        return max([self.fits[compressed], *fits], key=itemgetter("n_fitted"))

    def taken(self, pending: Pending) -> list[int]:
        """Return the number of evaluations of each level, including pending ones."""
        counts = list(self.counts)
        for metadata in pending:
            counts[metadata["level"]] += 1
        return counts


class LevelMetadata(Predicted):
    """Metadata of `RobustUCB`."""

    level: Count
    passed: list[Count]
    compressed: bool
    fit: Estimate


def winsorized(values: Array) -> Array:
    """Return the values with a lower limit of median - 3 (best - median)."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return values
    middle, best = middle_and_best(np.sort(finite).tolist())
    return np.maximum(values, middle - _WINSORIZED * (best - middle))


def fenced(values: Array) -> Array:
    """Return the values with low outliers raised to a limit."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return values
    low, high = np.quantile(finite, [0.25, 0.75])
    return np.maximum(values, low - _FENCE * (high - low)) if high > low else values


def compress(z: Array, shift: float, scale: float) -> tuple[Array, Array]:
    """Return values that emphasise differences near the best, and their slopes.

    The compressed values are standardised values of -log(gap + unit), where gap is the
    distance to the best value and unit is a quantile of all gaps. Far from the best
    value, their differences depend only on the ratios of the gaps. The slopes are
    derivatives with respect to the raw values, z * scale + shift.
    """
    gaps = z.max() - z
    # Smaller gaps are rounding errors.
    least = rounding(abs(shift) + scale * float(np.abs(z).max())) / scale
    if not (gaps > least).any():
        return z, np.full(len(z), 1 / scale)
    unit = max(float(np.quantile(gaps, _UNIT)), float(gaps[gaps > least].min()))
    logs = np.log(gaps + unit)
    spread = float(logs.std())
    return (logs.mean() - logs) / spread, 1 / ((gaps + unit) * spread * scale)


def middle_and_best(ordered: Sequence[float]) -> tuple[float, float]:
    """Return the median and the maximum of sorted values.

    If at least half of the values are equal to the maximum, a lower limit at the median
    would make all values equal. In this case, the upper median of the other values is
    returned.
    """
    # np.median would take longer than all other work on the values.
    n, best = len(ordered), ordered[-1]
    middle = 0.5 * ordered[(n - 1) // 2] + 0.5 * ordered[n // 2]
    same = best - rounding(max(abs(best), abs(middle)))
    if middle < same:
        return middle, best
    others = [value for value in ordered if value < same]
    return (others[len(others) // 2] if others else best), best
