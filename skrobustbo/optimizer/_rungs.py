"""Rungs: evaluations with a part of a resource, and what they say of the full one.

Notation: rung k = 0, ..., K - 1 has the share s_k of the full resource, s_{K-1} = 1. A
candidate has the value y_k at rung k. The model sees one value of each candidate: the
one at full resource, or what its highest rung lets expect of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skrobustbo._trials import Trial, Trials

Array = NDArray[np.float64]
#: A value, and the standard deviation of its error.
Estimate = tuple[float, float]

#: Slope of a link before it has any pairs, and of the error's deviation in units of
#: that of the values.
_SLOPE, _ERROR = 0.8, 0.5
#: Weight of this against the pairs: of the slope, and of the variance of the error.
_WEIGHTS = 0.25, 0.5
#: A pair whose rank is this or a third of their number, counts half.
_LEAST_RANK = 4.0
#: Pairs of a rung with the full resource before the rung may be given up.
_TELLING = 4
#: Correlations are not taken for larger than this.
_ALMOST = 0.999
#: The interquartile range of normal values, in standard deviations.
_IQR = 1.35


@dataclass(frozen=True)
class Link:
    """A line from the values at one rung to those at a higher one.

    The values at the higher rung are ``a + slope * value`` with an independent error:
    Bayesian linear regression, in which the better candidates count more.
    """

    low: float
    high: float
    slope: float
    variance: float

    @classmethod
    def of(cls, low: Array, high: Array, spread: float) -> Link:
        """Return the link of pairs; `spread` is the deviation of values at a rung.

        Parameters
        ----------
        low, high : array of shape (n,)
            Values of the same candidates at both rungs; there may be none.
        spread : float
            Standard deviation of the values of all candidates.
        """
        expected = (_ERROR * spread) ** 2
        if not len(low):
            return cls(0.0, 0.0, 1.0, expected)
        ranks = np.argsort(np.argsort(-low, kind="stable"), kind="stable")
        w = 1 / (1 + (ranks / max(_LEAST_RANK, len(low) / 3)) ** 2)
        n, (of_slope, of_error) = float(w.sum()), _WEIGHTS
        x, y = low - w @ low / n, high - w @ high / n
        prior = of_slope * spread**2
        slope = max(0.0, float((w @ (x * y) + prior * _SLOPE) / (w @ x**2 + prior)))
        # The mean takes a degree of freedom, as far as there is one to take.
        df = n + of_error - min(1.0, n / 2)
        variance = float((w @ (y - slope * x) ** 2 + of_error * expected) / df)
        return cls(float(w @ low / n), float(w @ high / n), slope, variance)

    def carry(self, value: float, variance: float) -> Estimate:
        """Return a value at the higher rung, and the variance of its error."""
        carried = self.high + self.slope * (value - self.low)
        return carried, self.slope**2 * variance + self.variance


class Rungs:
    """The amounts of a resource, and on which of them it is spent next.

    Every rung in use gets the same share of the resource. A new candidate starts at the
    lowest one. Of those just below a rung, the one with the best expected value at full
    resource is promoted to it. A rung whose values do not pay for their cost is given
    up.

    Parameters
    ----------
    amounts : sequence of float
        The amounts of the resource, ascending; the last one is the full one.
    budget : int or None
        Evaluations planned, in units of a full one; None if that is not known.
    trials : Trials
        The candidates, with their values at each rung.

    Attributes
    ----------
    shares : list of float
        The amounts in units of the full one.
    top : int
        The rung of the full resource.
    in_use : list of int
        The rungs that have not been given up.
    """

    def __init__(
        self, amounts: Sequence[float], budget: int | None, trials: Trials
    ) -> None:
        self.amounts, self.budget, self._trials = tuple(amounts), budget, trials
        self.shares = [amount / self.amounts[-1] for amount in self.amounts]
        self.top = len(self.amounts) - 1
        self.in_use = list(range(len(self.amounts)))
        self._links: dict[int, Link] = {}

    @property
    def n_candidates(self) -> int | None:
        """How many candidates the budget lets begin, None without one."""
        if self.budget is None:
            return None
        return max(1, round(self.budget / len(self.shares) / self.shares[0]))

    @property
    def spent(self) -> Array:
        """Resource spent at each rung, that of pending values included."""
        spent = np.zeros(len(self.shares))
        for trial in self._trials.trials:
            for each in trial.rungs:
                spent[each["rung"]] += self.shares[each["rung"]]
        return spent

    # What to evaluate next ------------------------------------------------------------

    def next(self) -> tuple[Trial | None, int]:
        """Return the candidate to promote, None for a new one, and its rung."""
        spent = self.spent
        rungs = self._affordable(float(spent.sum()))
        turn = min(rungs, key=lambda rung: (spent[rung], rung))
        for rung in sorted((k for k in rungs if k <= turn), reverse=True):
            best = self._best_below(rung)
            if best is not None:
                return best, rung
        return None, rungs[0]

    def rest(self) -> tuple[Trial | None, int]:
        """Return a candidate to promote where no new one is left, and its rung."""
        best = self._best_below(self.top)
        return best, self.top if best is None else self._above(_highest(best))

    def _affordable(self, spent: float) -> list[int]:
        """Return the rungs from which a candidate can still be taken to the top."""
        left = math.inf if self.budget is None else self.budget - spent
        if left <= 0:  # the search goes on beyond what was planned
            return self.in_use
        costs = {
            k: sum(self.shares[j] for j in self.in_use if j >= k)
            for k in range(self.top)
        }
        return [k for k in self.in_use if costs.get(k, 0.0) <= left]

    def _best_below(self, rung: int) -> Trial | None:
        """Return the candidate to promote to a rung, one of the highest ones below."""
        below = [trial for trial in self._trials.told if _can_rise(trial, rung)]
        highest = max(map(_highest, below), default=0)
        among = [trial for trial in below if _highest(trial) == highest]
        return max(among, key=_value, default=None)

    def _pays(self, rung: int) -> bool:
        """Tell whether the values at a rung are worth their cost.

        With the correlation r to those at full resource, they take the share r**2 of
        the variance away at the cost s; a full evaluation takes all of it at the cost
        1. They pay if r**2 / (1 - r**2) > s. A rung is given up where r, with its
        standard error added, is too small for that, by Fisher's transformation.
        """
        low, high = self._pairs(rung, self.top)
        if len(low) < _TELLING or not low.std() * high.std() > 0:
            return True
        r = float(np.clip(np.corrcoef(low, high)[0, 1], -_ALMOST, _ALMOST))
        at_most = math.tanh(math.atanh(r) + 1 / math.sqrt(len(low) - 3))
        share = self.shares[rung]
        return at_most > math.sqrt(share / (1 + share))

    # What rungs say of the full resource ----------------------------------------------

    def note(
        self, trial: Trial, rung: int, value: float | None, std: float = 0.0
    ) -> None:
        """Note a candidate's value at a rung, asked before or not; None if pending."""
        trial.rungs = [each for each in trial.rungs if each["rung"] != rung]
        trial.rungs.append({"rung": rung, "value": value, "std": std})

    def revalue(self) -> None:
        """Set the values of all candidates to what is expected at full resource."""
        self.in_use = [k for k in range(self.top) if self._pays(k)] + [self.top]
        self._links = {rung: self._link(rung) for rung in range(self.top)}
        for trial in self._trials.told:
            trial.value, trial.value_std = self.expected(trial)

    def check(self) -> None:
        """Raise a ValueError unless what was read back of the rungs fits together."""
        for trial in self._trials.trials:
            rungs = [each["rung"] for each in trial.rungs]
            told = bool(_told(trial))
            if trial.pending == told or not set(rungs) <= set(range(self.top + 1)):
                raise ValueError(f"rungs {rungs} of a candidate")

    def expected(self, trial: Trial) -> Estimate:
        """Return a candidate's value at full resource, or what is expected of it."""
        rung = _highest(trial)
        value, std = _told(trial)[rung]
        if not math.isfinite(value):
            return math.nan, 0.0
        variance = std**2
        while rung < self.top:
            value, variance = self._links[rung].carry(value, variance)
            rung = self._above(rung)
        return value, math.sqrt(variance)

    def _above(self, rung: int) -> int:
        """Return the next rung in use above one."""
        return next(k for k in self.in_use if k > rung)

    def _link(self, rung: int) -> Link:
        every = [
            value for trial in self._trials.trials for value, _ in _told(trial).values()
        ]
        low, high = self._pairs(rung, self._above(rung))
        return Link.of(low, high, _spread(every))

    def _pairs(self, rung: int, other: int) -> tuple[Array, Array]:
        """Return the values of candidates that were measured at two rungs."""
        found = [_told(trial) for trial in self._trials.trials]
        both = [(v[rung][0], v[other][0]) for v in found if {rung, other} <= v.keys()]
        pairs = np.array(both).reshape(-1, 2)
        low, high = pairs[np.isfinite(pairs).all(axis=1)].T
        return low, high


def _told(trial: Trial) -> dict[int, Estimate]:
    """Return the values told of a candidate, with their errors, by rung."""
    return {
        each["rung"]: (value, each["std"])
        for each in trial.rungs
        if (value := each["value"]) is not None
    }


def _highest(trial: Trial) -> int:
    """Return the highest rung of which a value is told."""
    return max(_told(trial))


def _can_rise(trial: Trial, rung: int) -> bool:
    """Tell whether a candidate may be promoted to a rung."""
    pending = any(each["value"] is None for each in trial.rungs)
    return not pending and math.isfinite(_value(trial)) and _highest(trial) < rung


def _value(trial: Trial) -> float:
    return math.nan if trial.value is None else trial.value


def _spread(values: Sequence[float]) -> float:
    """Return the standard deviation of most of some values; 1 where they have none."""
    finite = np.array([value for value in values if math.isfinite(value)])
    if not len(finite):
        return 1.0
    low, high = np.percentile(finite, [25, 75])
    return float((high - low) / _IQR) or float(finite.std()) or 1.0
