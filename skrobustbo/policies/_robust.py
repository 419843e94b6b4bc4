"""The default: a grid of length scales below a MAP estimate for each parameter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from skrobustbo.acquisition import EI, UCB, Acquisition, LogEI
from skrobustbo.policies._base import UCBPolicy
from skrobustbo.policies._grid_state import (
    Estimate,
    GridState,
    LevelMetadata,
    fenced,
    winsorized,
)
from skrobustbo.policies._interface import Argmax, Array, Metadata, Setup, Told
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    length_scale_candidate,
    map_length_scales,
    note,
)
from skrobustbo.policies._settings import require, settings
from skrobustbo.surrogate import Candidate, LogNormalPrior, Models, Posterior, Prior

#: Without a horizon the grid reaches as far as for this many evaluations, or as many
#: as there have been.
_DEFAULT_HORIZON = 50
#: How far below the estimate the length scale may be for the regret bound to hold.
REGRET_DIVISOR = 2.0
#: An estimate serves until there are more values by a share of those beyond the first
#: number, one over the second: up to 40 values there is one at every step.
_FREE, _SPACING = 25, 16
#: A level that has skipped its turn is left out until there are more values by one over
#: this, one of them is the best so far, or one is far from its prediction.
_COOLDOWN = 10
#: Longest length scale to look from for an estimate without noise, after one with it.
_START = 0.5
#: A value further from its prediction than so many deviations calls for an estimate
#: so many times sooner.
_SURPRISE, _HASTE = 4.0, 4


@settings
class RobustUCB(UCBPolicy):
    """UCB on a grid of length scales below a MAP estimate, the default policy.

    A likelihood estimate of the length scales is good on average and disastrous when
    the data so far look smooth: the model is then sure of what it has not seen. So the
    estimate is one candidate among several. The others divide it, until its longest
    length scale is the shortest that the budget can resolve, and take turns with it,
    the shorter the more rarely.

    Pseudo-code (N: evaluations planned, d: parameters, w: the levels' weights)::

        1  for t = 1, 2, ...
        2      theta = argmax of log p(y | theta) + log p(theta), one per parameter;
               for j = 0 also with noise >= 1/2, if that is ahead by `noise_margin`
        3      D = max(1, max(theta) / (resolution N**(-1/d)))
        4      i = argmin over levels of (n_i + 1) / w_i; ties to the longest
        5      for j = i, i + 1, ..., levels - 1
        6          x_t = argmax over x of alpha_j of theta / D**(j / (levels - 1))
        7          if EI of x_t >= min_improvement: break
        8      y_t = f(x_t) + noise; n_i = n_i + 1

    Line 4 is the balancing rule of `LBGPUCB` with suspected regrets n / w_i. In line 6
    alpha_j is the UCB for the first `n_ucb` levels and the expected improvement for the
    others. Line 7 spends no evaluation on what a level itself expects nothing of: where
    the long length scales say that the maximum is found, the shorter ones look
    elsewhere. A level that skipped its turn has a cooldown, which ends with a better
    value, one far from its prediction, or a tenth more values. In the last `endgame`
    share of the horizon every point maximises the UCB of the first level with
    `endgame_beta`: no time is left to profit from what exploring would find. Values far
    below the middle are winsorized before the model sees them: one diverged fit would
    otherwise flatten all the rest. But the middle follows the search, until nothing but
    its own hill is left to see. So up to the endgame every third query is chosen with
    raw values, by the same length scales.

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
        Share of each level, from the longest to the shortest length scales.
    resolution : float, default=0.5
        Shortest length scale, in units of the mean distance N**(-1/d) of N points.
    prior : LogNormalPrior or GammaPrior, default=None
        Prior of each length scale; log-normal with median 0.7 and sigma 1.5 if None.
    winsorize : float or None, default=3.0
        Values below median - winsorize * (best - median) enter the model as that. None:
        all values enter raw.
    raw_every : int, default=3
        Of so many queries before the endgame the last is chosen with all values raw. 0:
        none is.
    n_ucb : int, default=1
        Levels that go by the upper confidence bound, from the longest length scales.
        The others go by the logarithm of the expected improvement on the best mean of
        the points told.
    noise_margin : float or None, default=8.0
        Nats of log posterior by which noise of half the spread of the values, or more,
        must be ahead of `noise` to take its place on the first level. None: it never
        does.
    min_improvement : float, default=0.003
        Least expected improvement, in standard deviations of the values, for which a
        level takes its turn instead of leaving it to the next. 0: it always does.
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

    state_type: ClassVar[type] = GridState
    metadata_type: ClassVar[type] = LevelMetadata

    beta: float | str = 0.7
    weights: Sequence[float] = (1, 0.5, 0.25, 0.125)
    resolution: float = 0.5
    prior: Prior | None = None
    winsorize: float | None = 3.0
    raw_every: int = 3
    n_ucb: int = 1
    noise_margin: float | None = 8.0
    min_improvement: float = 0.003
    endgame: float = 0.15
    endgame_beta: float = 0.3

    def start(self, setup: Setup, models: Models) -> GridState:
        """Return a grid without queries."""
        self.check()
        zeros = [0] * len(self.weights)
        return GridState(setup.n_parameters, setup.horizon, zeros, cooldown=[*zeros])

    def suggest(
        self,
        state: GridState,
        models: Models,
        argmax: Argmax,
        pending: Sequence[Metadata],
    ) -> tuple[Array, Metadata]:
        """Return the query of the level whose turn it is."""
        fit = self._estimate(state, models, pending)  # line 2
        t = sum(state.counts) + len(pending) + 1  # line 1
        endgame = self.is_endgame(state, models.n + len(pending) + models.n_elsewhere)
        raw = not endgame and self.raw_every > 0 and t % self.raw_every == 0
        models = self._raw(models) if raw else models
        turn = 0 if endgame else self.turn(state, pending)
        skipped: list[int] = []
        for level in [0] if endgame else state.active(turn, models.n):  # line 5
            posterior = models[self._candidate(state, models, fit, level)]
            alpha = self._alpha(posterior, state.n_parameters, t, level, endgame)
            x, _ = argmax(alpha)  # line 6
            if endgame or expected_gain(posterior, x) >= self.min_improvement:  # line 7
                break
            skipped.append(level)
        metadata = note(
            models, posterior, x, level=turn, skipped=skipped, **fit._asdict()
        )
        deviation = math.hypot(metadata["std"], posterior.noise * models.scale)
        return x, {**metadata, "raw": raw, "expected_error": deviation}

    def _raw(self, models: Models) -> Models:
        """Return the models of the raw values."""
        z, shift, scale = super().targets(models.values)
        # Values that are all the same have no units of their own.
        return models.seen_as(z, shift, scale) if z.min() < z.max() else models

    def _alpha(
        self, posterior: Posterior, d: int, t: int, level: int, endgame: bool
    ) -> Acquisition:
        """Return what a level maximises."""
        if endgame:
            return UCB(posterior, self.endgame_beta)
        if level < self.n_ucb:
            return UCB(posterior, self.beta_of(posterior, d, t))
        return LogEI(posterior, float(posterior.told_means.max()))

    def is_endgame(self, state: GridState, n: int) -> bool:
        """Return whether the query after `n` others is in the last share.

        Beyond the horizon there is time again: nobody knows for how much longer.
        """
        horizon = state.horizon
        return horizon is not None and (1 - self.endgame) * horizon <= n < horizon

    def _candidate(
        self, state: GridState, models: Models, fit: Estimate, level: int
    ) -> Candidate:
        # By the values of the estimate: factors serve until there is another one.
        divisor = self.divisor(state, np.array(fit.theta), fit.n_fitted, level)
        fit = fit._replace(noise=None) if level > 0 else fit
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
        self, state: GridState, models: Models, pending: Sequence[Metadata]
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
        if self.noise_margin is not None:
            found = models.strong_noise(
                kernel, prior, LENGTH_SCALE_BOUNDS, theta, self.noise_margin, earlier
            )
        theta, noise = found or (theta, None)
        return Estimate(theta.tolist(), noise, models.n)

    def map_model(self, models: Models) -> Candidate:
        """Return the model of the estimate from all values."""
        return self._model(models, self._fit(Estimate([], None, 0), models))

    def plausible(self, state: GridState, models: Models) -> list[Candidate]:
        """Return the models of the estimate and of half of it.

        The lower levels are there to be safe; under the lowest, which resolve no more
        than the distance of the points planned, no bound would ever be small.
        """
        fit = self._fit(state.latest([]), models)
        return [self._model(models, fit, divisor) for divisor in (1.0, REGRET_DIVISOR)]

    def posteriors(self, state: GridState, models: Models) -> list[Posterior]:
        """Return those of the levels."""
        fit, levels = self._estimate(state, models, ()), range(len(self.weights))
        return [models[self._candidate(state, models, fit, level)] for level in levels]

    def turn(self, state: GridState, pending: Sequence[Metadata]) -> int:
        """Return the level whose turn it is, queries under way counted."""
        n = list(state.counts)
        for metadata in pending:
            n[metadata["level"]] += 1
        return min(range(len(n)), key=lambda i: (n[i] + 1) / self.weights[i])  # line 4

    def divisor(self, state: GridState, theta: Array, n: int, level: int) -> float:
        """Return what the level divides the estimate by."""
        planned = state.horizon or max(n, _DEFAULT_HORIZON)
        shortest = self.resolution * planned ** (-1 / state.n_parameters)
        D = max(1.0, float(np.max(theta)) / shortest)  # line 3
        return float(D ** (level / max(len(self.weights) - 1, 1)))

    def learn(self, state: GridState, metadata: Metadata, history: Told) -> None:
        """Count the query, keep the estimate, and note surprises and cooldown."""
        state.counts[metadata["level"]] += 1  # line 8
        state.theta, state.noise, state.n_fitted = state.latest([metadata])
        shaped = super().targets if metadata["raw"] else self.targets
        z, shift, scale = shaped(history.values)
        error = abs(z[-1] * scale + shift - metadata["mean"])
        surprised = error > _SURPRISE * metadata["expected_error"]
        if surprised:
            state.n_surprised = len(z)
        for level in metadata["skipped"]:
            state.cooldown[level] = len(z) + len(z) // _COOLDOWN
        if surprised or z[-1] > z[:-1].max(initial=-math.inf):
            state.cooldown = [0] * len(state.cooldown)

    def consistent(
        self, state: GridState, pending: Sequence[Metadata], setup: Setup, n_told: int
    ) -> bool:
        """Tell whether a state is one of this problem, with the levels there are."""
        d, n_levels = setup.n_parameters, len(self.weights)
        fits = [state.latest([]), *(state.latest([metadata]) for metadata in pending)]
        levels = [
            level
            for metadata in pending
            for level in (metadata["level"], *metadata["skipped"])
        ]
        return (
            super().consistent(state, pending, setup, n_told)
            and len(state.counts) == len(state.cooldown) == n_levels
            and sum(state.counts) <= n_told
            and all(len(fit.theta) == d or not fit.n_fitted for fit in fits)
            and all(len(metadata["theta"]) == d for metadata in pending)
            and all(level < n_levels for level in levels)
        )

    def targets(self, values: Array) -> tuple[Array, float, float]:
        """Return the values as the model sees them, winsorized."""
        return super().targets(winsorized(values, self.winsorize))

    def outcomes(self, values: Array) -> tuple[Array, float, float]:
        """Return the raw values, but for those far outside the others.

        The search has little use for differences among the bad; who looks at a plot has
        some.
        """
        return super().targets(values if self.winsorize is None else fenced(values))

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        known = len(self.weights) > 0 and all(0 < w < math.inf for w in self.weights)
        require(known, self, "weights", "one or more positive numbers")
        require(0 < self.resolution < math.inf, self, "resolution", "positive")
        factor = self.winsorize or 0.0
        require(0 <= factor < math.inf, self, "winsorize", ">= 0 and finite, or None")
        require(self.raw_every >= 0, self, "raw_every", ">= 0")
        require(self.n_ucb >= 0, self, "n_ucb", ">= 0")
        require((self.noise_margin or 0.0) >= 0, self, "noise_margin", ">= 0 or None")
        require(self.min_improvement >= 0, self, "min_improvement", ">= 0")
        require(0 <= self.endgame <= 1, self, "endgame", "from 0 to 1")
        in_range = 0 <= self.endgame_beta < math.inf
        require(in_range, self, "endgame_beta", ">= 0 and finite")


def expected_gain(posterior: Posterior, x: Array) -> float:
    """Return the expected improvement of one point on the best mean of those told."""
    best = float(posterior.told_means.max())
    return float(EI(posterior, best)(x[None, :])[0])
