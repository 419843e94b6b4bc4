"""The default policy, `RobustUCB`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Annotated, ClassVar, TypedDict

import numpy as np

from skrobustbo._arguments import require
from skrobustbo._forms import Consistent, Count, Positive
from skrobustbo._trials import rounding
from skrobustbo.acquisition import UCB, LogEI
from skrobustbo.policies._base import (
    Argmax,
    Array,
    Dimension,
    Metadata,
    Pending,
    Predicted,
    Proposal,
    Resumed,
    Told,
    UCBPolicy,
)
from skrobustbo.policies._climbs import (
    Query,
    expected_gain,
    model_of_box,
    points_of_box,
    radius_of_box,
    tops,
)
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    length_scale_candidate,
    map_length_scales,
    metadata_of,
)
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, LogNormalPrior, Models, Posterior, Prior

#: The levels, in the order of their weights.
MODEL, SHORTER, CLIMB, FILL = range(4)
#: Number of planned evaluations without a horizon, or the number so far if larger.
_DEFAULT_HORIZON = 50
#: Filling is worthwhile only if it can find cubes with sides of this length.
_SIDE = 0.4
#: A noise of at least half the spread of the values replaces `noise` only if its log
#: posterior is this many nats higher.
_NOISE_MARGIN = 8.0
#: The regret bound holds down to the estimated length scales divided by this.
_REGRET_DIVISOR = 2.0
#: With few values, the estimate is updated at every step. Later, it changes less and
#: costs more, so n values must include more than (n - _FREE) // _SPACING new ones.
_FREE, _SPACING = 25, 8
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


def _is_complete(fit: Estimate, at: Resumed) -> bool:
    return len(fit["theta"]) == at.setup.n_parameters


#: An estimate with a length scale for each parameter, and one that may be missing.
_Fitted = Annotated[Estimate, Consistent(_is_complete)]
_Fit = Annotated[
    Estimate, Consistent(lambda fit, at: not fit["n_fitted"] or _is_complete(fit, at))
]
#: The position of a level, and counts of the evaluations of all levels.
_Level = Annotated[Count, Consistent(lambda level, at: level <= FILL)]
_Counts = Annotated[
    list[Count],
    Consistent(lambda counts, at: len(counts) == FILL + 1 and sum(counts) <= at.n_told),
]


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

    n_parameters: Dimension
    counts: _Counts = field(default_factory=lambda: [0] * 4)
    fits: Annotated[list[_Fit], Consistent(lambda fits, at: len(fits) == 2)] = field(
        default_factory=lambda: [NO_ESTIMATE] * 2
    )
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

    level: _Level
    passed: list[Count]
    compressed: bool
    fit: _Fitted


@dataclass(frozen=True)
class Spacing:
    """Resolution that is possible with N evaluations of d parameters."""

    n_parameters: int
    n_planned: int

    @classmethod
    def of(cls, d: int, horizon: int | None, n: int) -> Spacing:
        """Return the resolution after `n` evaluations.

        Without a horizon, N is the larger of 50 and `n`.
        """
        return cls(d, horizon or max(n, _DEFAULT_HORIZON))

    @property
    def spacing(self) -> float:
        """Mean distance between the planned points, N**(-1/d)."""
        return float(self.n_planned ** (-1 / self.n_parameters))

    @property
    def fills(self) -> bool:
        """Whether N/2 random points are expected to hit a given cube of side 0.4."""
        return bool(0.5 * self.n_planned * _SIDE**self.n_parameters >= 1)

    def divisor(self, theta: list[float]) -> float:
        """Return the divisor that yields the shorter length scales.

        It limits the longest length scale to the mean distance between planned points.
        """
        return max(1.0, max(theta) / self.spacing)


@settings
class RobustUCB(UCBPolicy, name="robust"):
    """Default policy, which combines a model with local searches and space filling.

    Likelihood estimates of the length scales work well on average, but they fail badly
    if the data look smooth. The model is then too certain about unexplored regions.
    Therefore, the model is only one of several levels, which take turns as long as they
    expect a sufficient gain. The last level fills the space without using a model.

    Pseudo-code (N: expected number of evaluations; d: number of parameters; w: weights
    of the levels)::

        1  for t = 1, 2, ...
        2      if t is odd: z = y; else z = -log(g + q), where g are the gaps between y
               and the best value, and q is the lower quartile of the gaps
        3      theta = argmax of log p(z | theta) + log p(theta), one per parameter;
               for i = 0, also with noise >= 1/2 if it is better by 8 nats
        4      I = {0, 2, 3} if N/2 * 0.4**d >= 1, else {0, 1}
        5      for i in I that do not rest, in the order of (n_i + 1) / w_i
        6          i = 0: x_t = argmax of the UCB of theta
        7          i = 1: x_t = argmax of the EI of theta / D
        8          i = 2: x_t = argmax of the EI of a short length scale around a point
        9          i = 3: x_t = the point farthest from all points and the border
       10          if the expected gain of x_t >= `min_improvement`: break; else i rests
                   at step t + 1, unless y_t is a gain of this size
       11      y_t = f(x_t) + noise; n_i = n_i + 1

    In line 2, the steps alternate between models of the values and of *compressed*
    values. If the values span several orders of magnitude, differences near the best
    value are tiny compared to the range of the values. A model of the values is then
    accurate only if the objective is smooth. A model of compressed values resolves
    differences both near the best value and far from it. Neither model is always
    better.

    Line 4 checks whether N/2 random points are expected to hit a given cube of side
    0.4. If not, there are too few evaluations to fill the space. Line 5 is the
    balancing rule of `LBGPUCB` with the suspected regrets n / w_i. If no level expects
    a sufficient gain, the last level chooses the point.

    In line 7, D = max(theta) / N**(-1/d), because N points can resolve structures as
    small as their mean distance. Line 8 searches boxes around points whose values are
    higher than predicted from the other points (see "Why a tuner gets stuck" in the
    guide). No minimum gain is required, except around the best point. The point in line
    9 is always accepted, so some of the points cover the space regardless of the
    predictions of the models.

    In the last `endgame` sqrt(N) evaluations, there is no time left to explore.
    Therefore, only lines 6 and 8 take turns, and line 8 searches only around the best
    point. In the 2 d evaluations before this phase, line 5 puts i = 3 last, because a
    climb from a new point could not be completed in time.

    If values are not compressed, those far below the median are winsorized before a
    model is fitted. Otherwise, a single extremely low value would make all other
    differences negligible.

    Parameters
    ----------
    {kernel}
    prior : LogNormalPrior or GammaPrior, default=None
        Prior of each length scale. If None, a log-normal prior with median 0.7 and
        sigma 1.5 is used. With d > 5 length scales, sigma is 7.5 / d, and the rest of
        the spread is common to all length scales.
    weights : sequence of float, default=(1, 0.5, 0.05, 0.1)
        Weights of the four levels: the model, shorter length scales, climbs and
        filling. If there are too many parameters to fill the space, the second level
        replaces the last two levels.
    min_improvement : float, default=0.003
        Smallest expected improvement at which a level may choose a point, in standard
        deviations of the values or compressed values. With 0, every level may choose a
        point. If noise dominates, the threshold is at least the standard error of the
        mean of all values.
    endgame : float, default=1
        Number of final evaluations that refine the best region, as a multiple of
        sqrt(N) for a horizon N. A small budget therefore uses a larger share of its
        evaluations for refinement.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import RobustUCB
    >>> RobustUCB(endgame=1.5)
    RobustUCB(endgame=1.5)
    """

    state_type: ClassVar[type] = RobustState
    metadata_type: ClassVar[type] = LevelMetadata

    prior: Prior | None = None
    beta: float | str = 0.7
    weights: Sequence[float] = (1, 0.5, 0.05, 0.1)
    min_improvement: float = 0.003
    endgame: float = 1.0

    def suggest(
        self, state: RobustState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the point of the first level that expects a sufficient gain."""
        n = models.n + len(pending) + models.n_elsewhere  # line 1
        d, t = state.n_parameters, sum(state.taken(pending)) + 1
        compressed = (models.n + len(pending)) % 2 == 1  # line 2
        seen = models.seen_as(*self.compressed(models.values)) if compressed else models
        fit = self.latest(state, seen, pending, compressed)  # line 3
        scale = Spacing.of(d, models.horizon, n)
        is_last = self.is_endgame(models.horizon, n)
        levels: list[Callable[[], Query | None]] = [
            lambda: self.by_model(seen, argmax, fit, t),  # line 6
            lambda: self.by_shorter(seen, argmax, fit, scale),  # line 7
            lambda: self.by_climb(seen, argmax, fit, scale, is_last),  # line 8
            lambda: self.by_filling(seen, argmax, fit),  # line 9
        ]
        order = self.order(state, pending, models.horizon, n)
        least = 0.0 if is_last else self._least_gain(fit, n)
        for level in order:  # line 5
            offered = levels[level]()
            if offered is not None:
                query, chosen = offered, level
                if query.free or query.gain >= least:
                    break  # line 10
        passed = order[: order.index(chosen)]
        # Predictions of the point are in units of the objective.
        metadata = metadata_of(models, models[query.candidate], query.x)
        turn = {"level": chosen, "passed": passed, "compressed": compressed, "fit": fit}
        return query.x, {**metadata, **turn}

    def order(
        self, state: RobustState, pending: Pending, horizon: int | None, n: int
    ) -> list[int]:
        """Return the levels in the order in which they are tried."""
        if self.is_endgame(horizon, n):
            return [CLIMB, MODEL] if n % 2 else [MODEL]
        fills = Spacing.of(state.n_parameters, horizon, n).fills  # line 4
        levels = [MODEL, CLIMB, FILL] if fills else [MODEL, SHORTER]
        levels = [i for i in levels if i not in state.passed] or levels
        taken, w = state.taken(pending), self.weights
        late = self.is_endgame(horizon, n, ahead=points_of_box(state.n_parameters))
        return sorted(levels, key=lambda i: (late and i == FILL, (taken[i] + 1) / w[i]))

    def _least_gain(self, fit: Estimate, n: int) -> float:
        """Return the smallest expected gain that is sufficient after `n` evaluations.

        If noise dominates, it is at least the standard error of the mean of all values,
        because a smaller gain could not be detected.
        """
        return max(self.min_improvement, math.sqrt((fit["noise"] or 0.0) / n))

    def is_endgame(self, horizon: int | None, n: int, ahead: int = 0) -> bool:
        """Return whether query n + 1 is in the endgame, extended by `ahead` queries."""
        if horizon is None:
            return False
        return 0 < horizon - n <= self.endgame * math.sqrt(horizon) + ahead

    def learn(self, state: RobustState, metadata: Metadata, history: Told) -> None:
        """Update the counts, the estimates and the resting levels."""
        state.counts[metadata["level"]] += 1  # line 11
        compressed = metadata["compressed"]
        state.fits[compressed] = state.latest([metadata], compressed)
        values = history.values
        z = self.compressed(values)[0] if compressed else self.targets(values)[0]
        gained = z[-1] - z[:-1].max(initial=-math.inf) >= self.min_improvement
        state.passed = [] if gained else metadata["passed"]

    def check(self) -> None:
        super().check()
        known = len(self.weights) == 4 and all(0 < w < math.inf for w in self.weights)
        require(known, self, "weights", "four positive numbers")
        require(self.min_improvement >= 0, self, "min_improvement", ">= 0")
        require(self.endgame >= 0, self, "endgame", ">= 0")

    # Levels ---------------------------------------------------------------------------

    def by_model(self, models: Models, argmax: Argmax, fit: Estimate, t: int) -> Query:
        """Return the point with the highest upper confidence bound."""
        posterior = models[self.model(models, fit)]
        beta = self.beta_of(posterior, len(models.groups), t)
        x, _ = argmax(UCB(posterior, beta))
        reached = float(posterior.told_means.max())
        return Query(x, posterior.candidate, expected_gain(posterior, x, reached))

    def by_shorter(
        self, models: Models, argmax: Argmax, fit: Estimate, scale: Spacing
    ) -> Query:
        """Return the point with the largest EI when using shorter length scales."""
        posterior = models[self.model(models, fit, scale.divisor(fit["theta"]))]
        reached = float(posterior.told_means.max())
        x, _ = argmax(LogEI(posterior, reached))
        return Query(x, posterior.candidate, expected_gain(posterior, x, reached))

    def by_climb(
        self,
        models: Models,
        argmax: Argmax,
        fit: Estimate,
        scale: Spacing,
        only_best: bool,
    ) -> Query | None:
        """Return the next point of a climb, or None if there is no starting point."""
        posterior = models[self.noiseless(models, fit)]
        radius, d = radius_of_box(scale.spacing), scale.n_parameters
        top = next(tops(posterior, radius, d, only_best), None)
        return top and top.climb(models, argmax, self.base_kernel())

    def by_filling(self, models: Models, argmax: Argmax, fit: Estimate) -> Query:
        """Return the point that is farthest from all points seen so far."""
        model = replace(self.noiseless(models, fit), label="fill")
        return Query(argmax.farthest(), model, gain=0.0, free=True)

    # Models and values ----------------------------------------------------------------

    def latest(
        self, state: RobustState, models: Models, pending: Pending, compressed: bool
    ) -> Estimate:
        """Return the latest estimate, or a new estimate if an update is due."""
        fit = state.latest(pending, compressed)
        return self.estimate(fit, models) if is_due(fit, models.n) else fit

    def estimate(self, last: Estimate, models: Models) -> Estimate:
        """Return an estimate based on all values, starting from the last estimate."""
        prior = self.prior or default_prior(len(models.groups))
        kernel = self.base_kernel()
        earlier = None
        if last["noise"] is not None:
            earlier = np.array(last["theta"]), last["noise"]
        begun = last["theta"] or None
        theta = map_length_scales(kernel, models, begun, prior)
        args = prior, LENGTH_SCALE_BOUNDS, theta, _NOISE_MARGIN, earlier
        theta, noise = models.strong_noise(kernel, *args) or (theta, None)
        return Estimate(theta=theta.tolist(), noise=noise, n_fitted=models.n)

    def model(self, models: Models, fit: Estimate, divisor: float = 1.0) -> Candidate:
        """Return the model of an estimate with its length scales divided by `divisor`.

        The fitted noise is used only if the divisor is 1.
        """
        theta = np.array(fit["theta"])
        return length_scale_candidate(
            self.base_kernel(),
            models.spread(theta) / divisor,
            theta / divisor,
            label=f"theta/{divisor:.3g}",
            noise=fit["noise"] if divisor == 1.0 else None,
            divisor=divisor,
        )

    def noiseless(self, models: Models, fit: Estimate) -> Candidate:
        """Return the model of an estimate without the fitted noise."""
        return self.model(models, {**fit, "noise": None})

    def map_model(self, models: Models) -> Candidate:
        """Return the model of an estimate based on all values."""
        return self.model(models, self.estimate(NO_ESTIMATE, models))

    def plausible(self, state: RobustState, models: Models) -> list[Candidate]:
        """Return models with the estimated length scales and with halved ones.

        The shorter length scales make the regret bound more conservative. The length
        scales of a climb are not used, because they are as short as the distance
        between planned points, so the regret bound would always be large.
        """
        fit = self.estimate(state.fits[False], models)
        return [self.model(models, fit, each) for each in (1.0, _REGRET_DIVISOR)]

    def posteriors(self, state: RobustState, models: Models) -> list[Posterior]:
        """Return the posteriors of the levels in use."""
        fit = self.latest(state, models, (), compressed=False)
        scale = Spacing.of(state.n_parameters, models.horizon, models.n)
        radius = radius_of_box(scale.spacing)
        climb = model_of_box(self.base_kernel(), models, radius)
        return [models[u] for u in (*self._of_space(models, fit, scale), climb)]

    def spanning(self, state: RobustState, models: Models) -> list[Candidate]:
        """Return the models of the levels that search the whole space.

        The model of a climb has length scales as short as the distance between planned
        points, so it would expect a gain in every region without points.
        """
        fit = self.estimate(state.fits[False], models)
        scale = Spacing.of(state.n_parameters, models.horizon, models.n)
        return self._of_space(models, fit, scale)

    def _of_space(
        self, models: Models, fit: Estimate, scale: Spacing
    ) -> list[Candidate]:
        divisors = {1.0} if scale.fills else {1.0, scale.divisor(fit["theta"])}
        return [self.model(models, fit, each) for each in sorted(divisors)]

    def compressed(self, values: Array) -> tuple[Array, Array]:
        """Return the compressed values and their slopes."""
        return compress(*super().targets(values))

    def targets(self, values: Array) -> tuple[Array, float, float]:
        """Return the winsorized values for the model, and their shift and scale."""
        return super().targets(winsorized(values))

    def outcomes(self, values: Array) -> tuple[Array, float, float]:
        """Return the values with low outliers raised, and their shift and scale.

        Differences between bad values do not help the search, but they are useful in
        plots.
        """
        return super().targets(fenced(values))


def is_due(fit: Estimate, n: int) -> bool:
    """Return whether an estimate should be updated if there are `n` values."""
    spacing = max(0, n - _FREE) // _SPACING
    return not fit["n_fitted"] or n - fit["n_fitted"] > spacing


def default_prior(d: int) -> LogNormalPrior:
    """Return the default prior of `d` length scales.

    The marginal distribution of each length scale does not depend on d. With more
    length scales, the values contain less information about each of them and more about
    their common level. For d > 5, the independent share of the spread is therefore only
    5 / d.
    """
    own = min(1.0, 5 / d)
    return LogNormalPrior(0.7, 1.5 * own, 1.5 * math.sqrt(1 - own**2))


# Transformations of values ------------------------------------------------------------


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
