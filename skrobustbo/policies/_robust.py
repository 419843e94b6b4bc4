"""The default policy, `RobustUCB`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

from skrobustbo._arguments import require
from skrobustbo.policies._climbs import points_of_box
from skrobustbo.policies._interface import (
    Argmax,
    Metadata,
    Pending,
    Proposal,
    Setup,
    Told,
)
from skrobustbo.policies._levels import (
    CLIMB,
    FILL,
    MODEL,
    SHORTER,
    Spacing,
    Step,
    of_climb,
    of_space,
)
from skrobustbo.policies._map_estimate import MapPolicy
from skrobustbo.policies._models import metadata_of
from skrobustbo.policies._robust_state import Estimate, LevelMetadata, RobustState
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, Models, Posterior


@settings
class RobustUCB(MapPolicy, name="robust"):
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
    beta: float | str = 0.7
    weights: Sequence[float] = (1, 0.5, 0.05, 0.1)
    min_improvement: float = 0.003
    endgame: float = 1.0

    def start(self, setup: Setup, models: Models) -> RobustState:
        self.check()
        return RobustState(setup.n_parameters)

    def suggest(
        self, state: RobustState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the point of the first level that expects a sufficient gain."""
        n = models.n + len(pending) + models.n_elsewhere  # line 1
        d, t = state.n_parameters, sum(state.taken(pending)) + 1
        compressed = (models.n + len(pending)) % 2 == 1  # line 2
        seen = models.seen_as(*self.compressed(models.values)) if compressed else models
        fit = self.latest(state, seen, pending, compressed)  # line 3
        is_last = self.is_endgame(models.horizon, n)
        step = Step(
            *(seen, argmax, self, fit, Spacing.of(d, models.horizon, n)),
            beta=lambda posterior: self.beta_of(posterior, d, t),
            only_best=is_last,
        )
        asked = (step.by_model, step.by_shorter, step.by_climb, step.by_filling)
        order = self.order(state, pending, models.horizon, n)
        least = 0.0 if is_last else self._least_gain(fit, n)
        for level in order:  # line 5
            offered = asked[level]()  # line 6, line 7, line 8, line 9
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

    def posteriors(self, state: RobustState, models: Models) -> list[Posterior]:
        """Return the posteriors of the levels in use."""
        fit = self.latest(state, models, (), compressed=False)
        scale = Spacing.of(state.n_parameters, models.horizon, models.n)
        climb = of_climb(self, models, scale)
        return [models[each] for each in (*of_space(self, models, fit, scale), climb)]

    def spanning(self, state: RobustState, models: Models) -> list[Candidate]:
        """Return the models of the levels that search the whole space.

        The model of a climb has length scales as short as the distance between planned
        points, so it would expect a gain in every region without points.
        """
        fit = self.estimate(state.fits[False], models)
        scale = Spacing.of(state.n_parameters, models.horizon, models.n)
        return of_space(self, models, fit, scale)

    def consistent(
        self, state: RobustState, pending: Pending, setup: Setup, n_told: int
    ) -> bool:
        d, n_levels = setup.n_parameters, len(self.weights)
        return (
            super().consistent(state, pending, setup, n_told)
            and state.n_parameters == d
            and len(state.counts) == n_levels
            and sum(state.counts) <= n_told
            and len(state.fits) == 2
            and all(len(fit["theta"]) == d or not fit["n_fitted"] for fit in state.fits)
            and all(len(metadata["fit"]["theta"]) == d for metadata in pending)
            and all(metadata["level"] < n_levels for metadata in pending)
        )

    def check(self) -> None:
        super().check()
        known = len(self.weights) == 4 and all(0 < w < math.inf for w in self.weights)
        require(known, self, "weights", "four positive numbers")
        require(self.min_improvement >= 0, self, "min_improvement", ">= 0")
        require(self.endgame >= 0, self, "endgame", ">= 0")
