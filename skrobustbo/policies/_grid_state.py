"""Run-time state of the default policy: turns, estimates, cooldowns of the levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skrobustbo._forms import Count, Positive
from skrobustbo.policies._interface import Metadata, Predicted


class Estimate(NamedTuple):
    """Length scales, the noise if it is most of the values, and of how many values."""

    theta: list[Positive]
    noise: Positive | None
    n_fitted: Count


@dataclass
class GridState:
    """Run-time state of `RobustUCB`.

    Attributes
    ----------
    n_parameters : int
        Dimension d.
    horizon : int or None
        Evaluations planned.
    counts : list of int
        Turns of each level of which the value is told.
    theta : list of float
        The latest estimate, one length scale per parameter; empty at first.
    noise : float or None
        Noise estimated with it; None unless the values are mostly noise.
    n_fitted : int
        Values that the estimate was made from.
    n_surprised : int
        Values there were at the last surprise.
    cooldown : list of int
        Number of values up to which a level that skipped its turn is left out.
    """

    n_parameters: Count
    horizon: Count | None
    counts: list[Count]
    theta: list[Positive] = field(default_factory=list)
    noise: Positive | None = None
    n_fitted: Count = 0
    n_surprised: Count = 0
    cooldown: list[Count] = field(default_factory=list)

    def active(self, turn: int, n: int) -> list[int]:
        """Return the levels from `turn` on that are active; the last always is."""
        last = len(self.counts) - 1
        return [i for i in range(turn, last) if n >= self.cooldown[i]] + [last]

    def latest(self, pending: Sequence[Metadata]) -> Estimate:
        """Return the estimate from most values, that of queries under way included."""
        waiting = [
            Estimate(*(metadata[k] for k in Estimate._fields)) for metadata in pending
        ]
        own = Estimate(self.theta, self.noise, self.n_fitted)
        return max([own, *waiting], key=lambda fit: fit.n_fitted)


class LevelMetadata(Predicted):
    """The metadata of `RobustUCB`."""

    level: Count
    skipped: list[Count]
    theta: list[Positive]
    noise: Positive | None
    n_fitted: Count
    raw: bool
    expected_error: float
