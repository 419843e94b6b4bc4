"""The default: a ladder of length scales below a MAP estimate for each parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from skrobustbo.acquisition import EI, UCB, Acquisition, LogEI
from skrobustbo.policies._base import UCBPolicy, fits_problem
from skrobustbo.policies._interface import Argmax, Array, Memo, Setup, Told
from skrobustbo.policies._ladder import Estimate, LadderState, RungMemo
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    length_scale_candidate,
    map_length_scales,
    note,
)
from skrobustbo.policies._settings import require, settings
from skrobustbo.policies._tails import fenced, raised
from skrobustbo.surrogate import Candidate, LogNormalPrior, Models, Posterior, Prior

#: Without a horizon the ladder reaches as far as for this many evaluations, or as many
#: as there have been.
_DEFAULT_HORIZON = 50
#: How far below the estimate the length scale may be for the regret bound to hold.
REGRET_DIVISOR = 2.0
#: An estimate serves until there are more values by a share of those beyond the first
#: number, one over the second: up to 40 values there is one at every step.
_FREE, _SPACING = 25, 16
#: A rung that has passed is not asked again until there are more values by one over
#: this, one of them is the best so far, or one is far from its prediction.
_REST = 10
#: Longest length scale to look from for an estimate without noise, after one with it.
_START = 0.5
#: A value further from its prediction than so many deviations calls for an estimate
#: so many times sooner.
_SURPRISE, _HASTE = 4.0, 4


@settings
class RobustUCB(UCBPolicy):
    """UCB on a ladder of length scales below a MAP estimate, the default policy.

    A likelihood estimate of the length scales is good on average and disastrous when
    the data so far look smooth: the model is then sure of what it has not seen. So the
    estimate is one candidate among several. The others divide it, until its longest
    length scale is the shortest that the budget can resolve, and take turns with it,
    the shorter the more rarely.

    Pseudo-code (N: evaluations planned, d: parameters, w: the rungs' weights)::

        1  for t = 1, 2, ...
        2      theta = argmax of log p(y | theta) + log p(theta), one per parameter;
               for j = 0 also with noise >= 1/2, if that is ahead by `evidence`
        3      D = max(1, max(theta) / (resolution N**(-1/d)))
        4      i = argmin over rungs of (n_i + 1) / w_i; ties to the longest
        5      for j = i, i + 1, ..., rungs - 1
        6          x_t = argmax over x of alpha_j of theta / D**(j / (rungs - 1))
        7          if EI of x_t >= gain: break
        8      y_t = f(x_t) + noise; n_i = n_i + 1

    Line 4 is the balancing rule of `LBGPUCB` with suspected regrets n / w_i. In line 6
    alpha_j is the UCB for the first `n_ucb` rungs and the expected improvement for the
    others. Line 7 spends no evaluation on what a rung itself expects nothing of: where
    the long length scales say that the maximum is found, the shorter ones look
    elsewhere. A rung that passed rests until there is a better value, or one far from
    its prediction, or a tenth more. In the last `endgame` share of the horizon every
    point maximises the UCB of the first rung with `endgame_beta`: no time is left to
    profit from what exploring would find. Values far below the middle are raised before
    the model sees them: one diverged fit would otherwise flatten all the rest. But the
    middle follows the search, until nothing but its own hill is left to see. So up to
    the endgame every third query is chosen with the values as they are, by the same
    length scales.

    Line 2 takes values for noise only where they are mostly that: the ripples of a
    smooth objective look like less of it, and are better believed. A narrow peak looks
    like much of it, so that the shorter length scales believe the values all the same.

    Beyond 40 values line 2 is left out in most steps, as more values change the
    estimate less while each costs more: it comes when there are more values by a
    sixteenth of those beyond 25, or by a fourth of that after a value far from its
    prediction.

    Parameters
    ----------
    {kernel}
    weights : sequence of float, default=(1, 0.5, 0.25, 0.125)
        Share of each rung, from the longest to the shortest length scales.
    resolution : float, default=0.5
        Shortest length scale, in units of the mean distance N**(-1/d) of N points.
    prior : LogNormalPrior or GammaPrior, default=None
        Prior of each length scale; log-normal with median 0.7 and sigma 1.5 if None.
    tail : float or None, default=3.0
        Values below median - tail * (best - median) enter the model as that. None: all
        values enter as they are.
    plain_every : int, default=3
        Of so many queries before the endgame the last is chosen with all values as they
        are. 0: none is.
    n_ucb : int, default=1
        Rungs that go by the upper confidence bound, from the longest length scales.
        The others go by the logarithm of the expected improvement on the best mean of
        the points told.
    evidence : float or None, default=8.0
        Nats of log posterior by which noise of half the spread of the values, or more,
        must be ahead of `noise` to take its place on the first rung. None: it never
        does.
    gain : float, default=0.003
        Least expected improvement, in standard deviations of the values, for which a
        rung takes its turn instead of leaving it to the next. 0: it always does.
    endgame : float, default=0.15
        Share of the horizon, at its end, in which the estimate has all the turns.
    endgame_beta : float, default=0.3
        Width of its band there, in deviations.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import RobustUCB
    >>> RobustUCB(weights=(1, 1))
    RobustUCB(weights=(1, 1))
    """

    state_type: ClassVar[type] = LadderState
    memo_type: ClassVar[type] = RungMemo

    beta: float | str = 0.7
    weights: Sequence[float] = (1, 0.5, 0.25, 0.125)
    resolution: float = 0.5
    prior: Prior | None = None
    tail: float | None = 3.0
    plain_every: int = 3
    n_ucb: int = 1
    evidence: float | None = 8.0
    gain: float = 0.003
    endgame: float = 0.15
    endgame_beta: float = 0.3

    def start(self, setup: Setup, models: Models) -> LadderState:
        """Return a ladder without queries."""
        self.check()
        zeros = [0] * len(self.weights)
        return LadderState(setup.n_parameters, setup.horizon, zeros, rests=[*zeros])

    def suggest(
        self,
        state: LadderState,
        models: Models,
        argmax: Argmax,
        pending: Sequence[Memo],
    ) -> tuple[Array, Memo]:
        """Return the query of the rung whose turn it is."""
        fit = self._estimate(state, models, pending)  # line 2
        t = sum(state.counts) + len(pending) + 1  # line 1
        endgame = self.is_endgame(state, models.n + len(pending) + models.n_elsewhere)
        plain = not endgame and self.plain_every > 0 and t % self.plain_every == 0
        models = self._as_they_are(models) if plain else models
        turn = 0 if endgame else self.turn(state, pending)
        passed: list[int] = []
        for rung in [0] if endgame else state.awake(turn, models.n):  # line 5
            posterior = models[self._candidate(state, models, fit, rung)]
            alpha = self._alpha(posterior, state.n_parameters, t, rung, endgame)
            x, _ = argmax(alpha)  # line 6
            if endgame or expected_gain(posterior, x) >= self.gain:  # line 7
                break
            passed.append(rung)
        memo = note(models, posterior, x, rung=turn, passed=passed, **fit._asdict())
        deviation = math.hypot(memo["std"], posterior.noise * models.scale)
        return x, {**memo, "plain": plain, "expected_error": deviation}

    def _as_they_are(self, models: Models) -> Models:
        """Return the models of the values as they are, bad ones not raised."""
        z, shift, scale = super().targets(models.values)
        # Values that are all the same have no units of their own.
        return models.seen_as(z, shift, scale) if z.min() < z.max() else models

    def _alpha(
        self, posterior: Posterior, d: int, t: int, rung: int, endgame: bool
    ) -> Acquisition:
        """Return what a rung maximises."""
        if endgame:
            return UCB(posterior, self.endgame_beta)
        if rung < self.n_ucb:
            return UCB(posterior, self.beta_of(posterior, d, t))
        return LogEI(posterior, float(posterior.told_means.max()))

    def is_endgame(self, state: LadderState, n: int) -> bool:
        """Return whether the query after `n` others is in the last share.

        Beyond the horizon there is time again: nobody knows for how much longer.
        """
        horizon = state.horizon
        return horizon is not None and (1 - self.endgame) * horizon <= n < horizon

    def _candidate(
        self, state: LadderState, models: Models, fit: Estimate, rung: int
    ) -> Candidate:
        # By the values of the estimate: factors serve until there is another one.
        divisor = self.divisor(state, np.array(fit.theta), fit.n_fitted, rung)
        fit = fit._replace(noise=None) if rung > 0 else fit
        return self._model(models, fit, divisor)

    def _model(self, models: Models, fit: Estimate, divisor: float = 1.0) -> Candidate:
        theta = np.array(fit.theta)
        return length_scale_candidate(
            self.base_kernel(),
            models.spread(theta) / divisor,
            theta / divisor,
            label=f"theta/{divisor:.3g}",
            noise=fit.noise,
            divisor=divisor,
        )

    def _estimate(
        self, state: LadderState, models: Models, pending: Sequence[Memo]
    ) -> Estimate:
        """Return the latest estimate, or a new one where it is time."""
        fit = state.latest(pending)
        haste = _HASTE if state.n_surprised > fit.n_fitted else 1
        spacing = max(0, models.n - _FREE) // _SPACING // haste
        if fit.n_fitted and models.n - fit.n_fitted <= spacing:
            return fit
        return self._fit(fit, models)

    def _fit(self, last: Estimate, models: Models) -> Estimate:
        """Return the estimate from all values, begun at the last one."""
        prior = LogNormalPrior(0.7, 1.5) if self.prior is None else self.prior
        kernel, start, earlier = self.base_kernel(), np.array(last.theta), None
        if last.noise is not None:
            start, earlier = np.minimum(start, _START), (start, last.noise)
        theta = map_length_scales(kernel, models, start.tolist() or None, prior)
        found = None
        if self.evidence is not None:
            found = models.strong_noise(
                kernel, prior, LENGTH_SCALE_BOUNDS, theta, self.evidence, earlier
            )
        theta, noise = found or (theta, None)
        return Estimate(theta.tolist(), noise, models.n)

    def overall(self, models: Models) -> Candidate:
        """Return the model of the estimate from all values."""
        return self._model(models, self._fit(Estimate([], None, 0), models))

    def plausible(self, state: LadderState, models: Models) -> list[Candidate]:
        """Return the models of the estimate and of half of it.

        The lower rungs are there to be safe; under the lowest, which resolve no more
        than the distance of the points planned, no bound would ever be small.
        """
        fit = self._fit(state.latest([]), models)
        return [self._model(models, fit, divisor) for divisor in (1.0, REGRET_DIVISOR)]

    def posteriors(self, state: LadderState, models: Models) -> list[Posterior]:
        """Return those of the rungs."""
        fit, rungs = self._estimate(state, models, ()), range(len(self.weights))
        return [models[self._candidate(state, models, fit, rung)] for rung in rungs]

    def turn(self, state: LadderState, pending: Sequence[Memo]) -> int:
        """Return the rung whose turn it is, queries under way counted."""
        n = list(state.counts)
        for memo in pending:
            n[memo["rung"]] += 1
        return min(range(len(n)), key=lambda i: (n[i] + 1) / self.weights[i])  # line 4

    def divisor(self, state: LadderState, theta: Array, n: int, rung: int) -> float:
        """Return what the rung divides the estimate by."""
        planned = state.horizon or max(n, _DEFAULT_HORIZON)
        shortest = self.resolution * planned ** (-1 / state.n_parameters)
        D = max(1.0, float(np.max(theta)) / shortest)  # line 3
        return float(D ** (rung / max(len(self.weights) - 1, 1)))

    def learn(self, state: LadderState, memo: Memo, history: Told) -> None:
        """Count the query, keep the estimate, and note surprises and rests."""
        state.counts[memo["rung"]] += 1  # line 8
        state.theta, state.noise, state.n_fitted = state.latest([memo])
        shaped = super().targets if memo["plain"] else self.targets
        z, shift, scale = shaped(history.values)
        error = abs(z[-1] * scale + shift - memo["mean"])
        surprised = error > _SURPRISE * memo["expected_error"]
        if surprised:
            state.n_surprised = len(z)
        for rung in memo["passed"]:
            state.rests[rung] = len(z) + len(z) // _REST
        if surprised or z[-1] > z[:-1].max(initial=-math.inf):
            state.rests = [0] * len(state.rests)

    def consistent(
        self, state: LadderState, memos: Sequence[Memo], setup: Setup, n_told: int
    ) -> bool:
        """Tell whether a state is one of this problem, with the rungs there are."""
        d, n_rungs = setup.n_parameters, len(self.weights)
        fits = [state.latest([]), *(state.latest([memo]) for memo in memos)]
        rungs = [rung for memo in memos for rung in (memo["rung"], *memo["passed"])]
        return (
            fits_problem(state, setup, n_told)
            and len(state.counts) == len(state.rests) == n_rungs
            and sum(state.counts) <= n_told
            and all(len(fit.theta) == d or not fit.n_fitted for fit in fits)
            and all(len(memo["theta"]) == d for memo in memos)
            and all(rung < n_rungs for rung in rungs)
        )

    def targets(self, values: Array) -> tuple[Array, float, float]:
        """Return the values as the model sees them, the lower tail raised."""
        return super().targets(raised(values, self.tail))

    def outcomes(self, values: Array) -> tuple[Array, float, float]:
        """Return the values as they are, but for those far outside the others.

        The search has little use for differences among the bad; who looks at a plot has
        some.
        """
        return super().targets(values if self.tail is None else fenced(values))

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        known = len(self.weights) > 0 and all(0 < w < math.inf for w in self.weights)
        require(known, self, "weights", "one or more positive numbers")
        require(0 < self.resolution < math.inf, self, "resolution", "positive")
        tail = self.tail or 0.0
        require(0 <= tail < math.inf, self, "tail", ">= 0 and finite, or None")
        require(self.plain_every >= 0, self, "plain_every", ">= 0")
        require(self.n_ucb >= 0, self, "n_ucb", ">= 0")
        require((self.evidence or 0.0) >= 0, self, "evidence", ">= 0 or None")
        require(self.gain >= 0, self, "gain", ">= 0")
        require(0 <= self.endgame <= 1, self, "endgame", "from 0 to 1")
        in_range = 0 <= self.endgame_beta < math.inf
        require(in_range, self, "endgame_beta", ">= 0 and finite")


def expected_gain(posterior: Posterior, x: Array) -> float:
    """Return the expected improvement of one point on the best mean of those told."""
    best = float(posterior.told_means.max())
    return float(EI(posterior, best)(x[None, :])[0])
