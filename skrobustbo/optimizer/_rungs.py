"""Evaluations with part of a resource, and predictions at the full resource.

Each amount of the resource is a rung. A candidate is first evaluated at the lowest rung
and may be promoted to higher rungs. The model uses one value per candidate: its value
at full resource, or a prediction from its highest rung together with the standard
deviation of the prediction. Once all new evaluations use the full resource, the model
uses only values at full resource.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from skrobustbo._trials import (
    BranchTrials,
    Trial,
    Trials,
    is_constant,
    limited,
    rounding,
)

Array = NDArray[np.float64]
#: A value and the standard deviation of its error.
Estimate = tuple[float, float]

#: Share of the budget that low rungs may use. Afterwards, all evaluations are full.
_LOW_SHARE = 1 / 3
#: Prior of a link: its slope and the standard deviation of its error, in units of the
#: values' standard deviation.
_SLOPE, _ERROR = 0.8, 0.5
#: Weight of this prior for the slope and for the error, as a number of pairs.
_SLOPE_WEIGHT, _ERROR_WEIGHT = 0.25, 0.5
#: Smallest rank at which the weight of a pair falls to one half.
_LEAST_RANK = 4.0
#: A rung is dropped only after this many pairs with the full resource.
_MIN_PAIRS = 4
#: A rung is dropped after this many failures without a success.
_MOST_FAILURES = 8
#: Number of full values that are enough for a model.
_MIN_FULL = 4
#: Standard deviation of predictions from a dropped rung, in units of the values'
#: deviation.
_UNINFORMATIVE = 10.0
#: Upper limit of estimated correlations.
_MAX_CORRELATION = 0.999
#: Decimals for comparing spent amounts, because sums have rounding errors.
_DECIMALS = 9
#: The interquartile range of a normal distribution, in standard deviations.
_IQR = 1.35


@dataclass(frozen=True)
class Link:
    """Regression line that predicts values at a higher rung from those at a lower one.

    This is the autoregressive model of multi-fidelity data with independent errors. It
    is fitted by a Bayesian linear regression that gives more weight to better
    candidates.

    Attributes
    ----------
    spread : float
        Standard deviation of the values at a rung. It is the unit of the other fields.
    low, high : float
        Weighted mean values at the two rungs.
    slope : float
        Slope of the regression line.
    variance : float
        Variance of the error.
    n : float
        Sum of the weights of the pairs.
    information : float
        Weighted sum of squares of the predictor, including the prior.
    """

    spread: float
    low: float
    high: float
    slope: float
    variance: float
    n: float
    information: float

    @classmethod
    def of(cls, low: Array, high: Array, spread: float) -> Link:
        """Return the link fitted to pairs of values, if there are any.

        `spread` is the standard deviation of the values at a rung.
        """
        if not len(low):
            return cls(spread, 0.0, 0.0, 1.0, _ERROR**2, math.inf, math.inf)
        low, high = low / spread, high / spread
        ranks = np.argsort(np.argsort(-low, kind="stable"), kind="stable")
        w = 1 / (1 + (ranks / max(_LEAST_RANK, len(low) / 3)) ** 2)
        n = float(w.sum())
        means = float(w @ low / n), float(w @ high / n)
        x, y = low - means[0], high - means[1]
        information = float(w @ x**2) + _SLOPE_WEIGHT
        slope = float(w @ (x * y)) + _SLOPE_WEIGHT * _SLOPE
        slope = max(0.0, slope / information)
        squares = float(w @ (y - slope * x) ** 2) + _ERROR_WEIGHT * _ERROR**2
        # The mean uses up to one degree of freedom.
        variance = squares / (n + _ERROR_WEIGHT - min(1.0, n / 2))
        return cls(spread, *means, slope, variance, n, information)

    def carry(self, value: float, std: float) -> Estimate:
        """Return the prediction at the higher rung and its standard deviation."""
        x, error = value / self.spread - self.low, std / self.spread
        own = self.variance * (1 + 1 / self.n + x**2 / self.information)
        carried = self.high + self.slope * x
        deviation = math.sqrt((self.slope * error) ** 2 + own)
        return carried * self.spread, deviation * self.spread


class Rungs:
    """Amounts of a resource, and the rule that allocates the resource to candidates.

    During the first third of the budget, every rung in use gets the same share of the
    resource. The next evaluation goes to the rung that would have used the least
    resource after it. If each amount is k times the previous one, roughly one in k
    candidates is promoted. New candidates start at the lowest rung. Among the
    candidates just below a rung, the one with the best expected value at full resource
    is promoted to the rung. A rung is dropped if its values are not worth their cost,
    or if all its evaluations fail.

    For the rest of the budget, new candidates and promising old ones are evaluated only
    at full resource, and the model uses only values at full resource. Misleading rungs
    therefore cost at most a third of the budget.

    Parameters
    ----------
    amounts : sequence of float
        The amounts in ascending order; the last one is the full resource. If empty,
        every evaluation is a full evaluation of a new candidate.
    budget : int or None
        Planned number of full evaluations, or None if unknown.
    trials : Trials
        The candidates and their values at each rung.

    Attributes
    ----------
    first_budget, budget : int or None
        Initial and current number of planned evaluations.
    shares : list of float
        The amounts as fractions of the full amount.
    top : int
        The rung with the full resource.
    in_use : list of int
        The rungs that have not been dropped.
    over : bool
        Whether all further evaluations use the full resource.
    """

    def __init__(
        self, amounts: Sequence[float], budget: int | None, trials: Trials
    ) -> None:
        self.amounts, self._trials = tuple(amounts), trials
        self.first_budget = self.budget = budget
        self.shares = [amount / self.amounts[-1] for amount in self.amounts] or [1]
        self.top = len(self.shares) - 1
        self.in_use = list(range(len(self.shares)))
        self.over = False
        self._links: dict[int, Link] = {}

    def n_candidates(self, budget: int | None) -> int | None:
        """Return the approximate number of candidates that a budget allows."""
        if budget is None or not self.amounts:
            return budget
        begun = _LOW_SHARE / len(self.shares) / self.shares[0]
        return max(1, round(budget * (begun + 1 - _LOW_SHARE)))

    def rung_of(self, resource: float | None) -> int:
        """Return the rung of an amount, or the top rung if the amount is None."""
        return self.top if resource is None else self.amounts.index(resource)

    def cost(self, resource: float | None) -> float:
        """Return the cost of an evaluation, as a fraction of a full one."""
        return self.shares[self.rung_of(resource)]

    def resource_of(self, rung: int) -> float | None:
        """Return the amount of a rung, or None for the top rung."""
        return None if rung == self.top else self.amounts[rung]

    @property
    def spent(self) -> Array:
        """Resource spent at each rung, including pending evaluations."""
        return self._spent(pending=True)

    def _spent(self, *, pending: bool) -> Array:
        spent = np.zeros(len(self.shares))
        for trial in self._trials.trials[self._trials.n_before :]:
            for each in trial.rungs:
                if pending or each["value"] is not None:
                    spent[each["rung"]] += self.shares[each["rung"]]
        return spent

    def _ends_early_part(self, spent: Array) -> bool:
        """Return whether the first third of the budget has been used up.

        Candidates of an earlier search cost nothing and do not count towards the
        budget.
        """
        planned = math.inf if self.budget is None else self.budget
        part = _LOW_SHARE * (planned - self._trials.n_before)
        return bool(round(float(spent.sum()) - part, _DECIMALS) >= 0)

    # What to evaluate next ------------------------------------------------------------

    def next(self) -> tuple[Trial | None, int]:
        """Return the next candidate, or None for a new candidate, and its rung."""
        if not self.amounts:
            return None, self.top
        spent = self.spent
        if self.over or self._ends_early_part(spent):
            best = self._best_below(self.top)
            beats = best is not None and _value(best) > self._incumbent_value
            return (best if beats else None), self.top
        after = np.round(spent + self.shares, _DECIMALS)
        turn = min(self.in_use, key=lambda rung: (after[rung], rung))
        for rung in sorted((k for k in self.in_use if k <= turn), reverse=True):
            best = self._best_below(rung)
            if best is not None:
                return best, rung
        return None, self.in_use[0]

    def next_when_exhausted(self) -> tuple[Trial | None, int]:
        """Return a candidate to promote and its rung if no new candidates remain.

        Candidates that failed at a low rung come last, because they may still succeed
        at full resource.
        """
        if not self.amounts:
            return None, self.top
        failed = (trial for trial in self._trials.told if self._failed_low(trial))
        return self._best_below(self.top) or next(failed, None), self.top

    @property
    def _incumbent_value(self) -> float:
        i = self._trials.best
        best = None if i is None else self._trials.told[i]
        return -math.inf if best is None or best.value_std > 0 else _value(best)

    def _best_below(self, rung: int) -> Trial | None:
        """Return the best candidate just below a rung."""
        below = [trial for trial in self._trials.told if _can_rise(trial, rung)]
        highest = max(map(_highest, below), default=0)
        among = [trial for trial in below if _highest(trial) == highest]
        return max(among, key=_value, default=None)

    def _failed_low(self, trial: Trial) -> bool:
        """Return whether a candidate failed and was not evaluated at full resource."""
        failed = not math.isfinite(_value(trial))
        return failed and not _is_due(trial) and not self.is_full(trial)

    def always_fails(self, rung: int) -> bool:
        """Return whether a rung has many failures and no success."""
        every = [_told(trial) for trial in self._trials.trials]
        values = [told[rung][0] for told in every if rung in told]
        return len(values) >= _MOST_FAILURES and not any(map(math.isfinite, values))

    def _pays(self, rung: int) -> bool:
        """Return whether the values at a rung are worth their cost.

        Let r be the correlation of these values with the values at full resource. A
        value at the rung explains the share r**2 of the variance at cost s, whereas a
        full evaluation explains all of it at cost 1. The rung is worth its cost if r**2
        / (1 - r**2) > s. To allow for errors, the test uses r plus its standard error
        by Fisher's transformation.
        """
        low, high = map(_unit, self._pairs(rung, self.top))
        if len(low) < _MIN_PAIRS or not (low.any() and high.any()):
            return True
        r = float(np.clip(low @ high, -_MAX_CORRELATION, _MAX_CORRELATION))
        at_most = math.tanh(math.atanh(r) + 1 / math.sqrt(len(low) - 3))
        share = self.shares[rung]
        return at_most > math.sqrt(share / (1 + share))

    # Values predicted at full resource ------------------------------------------------

    def note(
        self, trial: Trial, rung: int, value: float | None, std: float = 0.0
    ) -> None:
        """Record a candidate's value at a rung, or None while the value is pending.

        Pending values at lower rungs are removed.
        """
        if not self.amounts:
            return
        trial.rungs = [
            each
            for each in trial.rungs
            if each["rung"] > rung
            or (each["rung"] < rung and each["value"] is not None)
        ]
        trial.rungs.append({"rung": rung, "value": value, "std": std})

    def take(self, trial: Trial, rung: int, value: float, std: float) -> Estimate:
        """Record a candidate's value at a rung and return its expected full value."""
        if not self.amounts:
            return value, std
        self.note(trial, rung, value, std)
        self.revalue()
        return self.expected(trial)

    def revalue(self) -> None:
        """Update the values of all candidates to those expected at full resource."""
        low = [k for k in range(self.top) if self._pays(k) and not self.always_fails(k)]
        self.in_use = [*low, self.top]
        every = [_told(trial).values() for trial in self._trials.trials]
        spread = _spread([value for told in every for value, _ in told])
        self._links = {rung: self._link(rung, spread) for rung in range(self.top)}
        spent = self._spent(pending=False)
        self.over |= self.in_use == [self.top] or self._ends_early_part(spent)
        for trial in self._trials.told:
            trial.value, trial.value_std = self.expected(trial)

    def expected(self, trial: Trial) -> Estimate:
        """Return a candidate's measured or predicted value at full resource."""
        rung = _highest(trial)
        value, std = _told(trial)[rung]
        if not math.isfinite(value):
            return math.nan, 0.0
        if rung < self.top:
            value = limited(value)
        while rung < self.top:
            value, std = self._links[rung].carry(value, std)
            rung = self._above(rung)
        return value, std

    def is_full(self, trial: Trial) -> bool:
        return self.top in _told(trial)

    def full(self, history: BranchTrials) -> list[Trial]:
        """Return the trials of a branch that have a value at full resource."""
        return [trial for trial in history.told if self.is_full(trial)]

    def has_enough_full(self, history: BranchTrials) -> bool:
        """Return whether a branch has enough full values to ignore all others."""
        if history.only_full or not self.over:
            return False
        finite = [math.isfinite(_value(trial)) for trial in self.full(history)]
        return sum(finite) >= _MIN_FULL

    def _above(self, rung: int) -> int:
        return next(k for k in self.in_use if k > rung)

    def _link(self, rung: int, spread: float) -> Link:
        low, high = self._pairs(rung, self._above(rung))
        link = Link.of(low, high, spread)
        if rung in self.in_use:
            return link
        return replace(link, slope=0.0, variance=_UNINFORMATIVE**2)

    def _pairs(self, rung: int, other: int) -> tuple[Array, Array]:
        """Return the values of the candidates measured at both rungs."""
        found = [_told(trial) for trial in self._trials.trials]
        both = [(v[rung][0], v[other][0]) for v in found if {rung, other} <= v.keys()]
        finite = [
            list(map(limited, pair)) for pair in both if all(map(math.isfinite, pair))
        ]
        low, high = np.array(finite).reshape(-1, 2).T
        return low, high

    def check(self) -> None:
        """Raise a ValueError if the restored rungs are inconsistent."""
        for trial in self._trials.trials:
            rungs = [each["rung"] for each in trial.rungs]
            known = set(rungs) <= set(range(len(self.amounts)))
            once = len(set(rungs)) == len(rungs)
            fits = not self.amounts or trial.pending != bool(_told(trial))
            if not (fits and known and once):
                raise ValueError(f"rungs {rungs} of a candidate")


def _told(trial: Trial) -> dict[int, Estimate]:
    """Return a dict from rungs to a candidate's observed values and their errors."""
    return {
        each["rung"]: (value, each["std"])
        for each in trial.rungs
        if (value := each["value"]) is not None
    }


def _highest(trial: Trial) -> int:
    """Return the highest rung at which a candidate has a value."""
    return max(_told(trial))


def _is_due(trial: Trial) -> bool:
    """Return whether an evaluation of a candidate is pending."""
    return any(each["value"] is None for each in trial.rungs)


def _can_rise(trial: Trial, rung: int) -> bool:
    has_value = math.isfinite(_value(trial))
    return has_value and not _is_due(trial) and _highest(trial) < rung


def _value(trial: Trial) -> float:
    return math.nan if trial.value is None else trial.value


def _unit(values: Array) -> Array:
    """Return the deviations from the mean as a unit vector, or zeros if all are 0."""
    if is_constant(values):
        return np.zeros_like(values)
    scaled = values / np.abs(values).max()
    away = scaled - scaled.mean()
    return away / np.linalg.norm(away)


def _spread(values: Sequence[float]) -> float:
    """Return a robust standard deviation, or the largest magnitude if it is 0."""
    finite = np.array([limited(value) for value in values if math.isfinite(value)])
    if not len(finite):
        return 1.0
    largest = float(np.abs(finite).max())
    if is_constant(finite):
        return largest or 1.0
    low, high = np.percentile(finite, [25, 75])
    spread = (high - low) / _IQR
    if spread <= rounding(largest):
        spread = (finite / largest).std() * largest
    return float(spread) or largest
