"""Run-time state of the default policy: turns, estimates and rests of the rungs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from skrobustbo._forms import Count, Positive
from skrobustbo.policies._interface import Memo
from skrobustbo.policies._memos import Predicted


class Estimate(NamedTuple):
    """Length scales, the noise if it is most of the values, and of how many values."""

    theta: list[Positive]
    noise: Positive | None
    n_fitted: Count


@dataclass
class LadderState:
    """Run-time state of `RobustUCB`.

    Attributes
    ----------
    n_parameters : int
        Dimension d.
    horizon : int or None
        Evaluations planned.
    counts : list of int
        Turns of each rung of which the value is told.
    theta : list of float
        The latest estimate, one length scale per parameter; empty at first.
    noise : float or None
        Noise estimated with it; None unless the values are mostly noise.
    n_fitted : int
        Values that the estimate was made from.
    n_surprised : int
        Values there were at the last surprise.
    rests : list of int
        Values until which a rung, having passed, is not asked again.
    """

    n_parameters: Count
    horizon: Count | None
    counts: list[Count]
    theta: list[Positive] = field(default_factory=list)
    noise: Positive | None = None
    n_fitted: Count = 0
    n_surprised: Count = 0
    rests: list[Count] = field(default_factory=list)

    def awake(self, turn: int, n: int) -> list[int]:
        """Return the rungs from `turn` on that are not at rest; the last never is."""
        last = len(self.counts) - 1
        return [i for i in range(turn, last) if n >= self.rests[i]] + [last]

    def latest(self, pending: Sequence[Memo]) -> Estimate:
        """Return the estimate from most values, that of queries under way included."""
        waiting = [Estimate(*(memo[k] for k in Estimate._fields)) for memo in pending]
        own = Estimate(self.theta, self.noise, self.n_fitted)
        return max([own, *waiting], key=lambda fit: fit.n_fitted)


class RungMemo(Predicted):
    """The memo of `RobustUCB`."""

    rung: Count
    passed: list[Count]
    theta: list[Positive]
    noise: Positive | None
    n_fitted: Count
    plain: bool
    expected_error: float
