"""Levels of the default policy, which propose points to evaluate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from skrobustbo.acquisition import UCB, LogEI
from skrobustbo.policies._climbs import (
    Query,
    expected_gain,
    model_of_box,
    radius_of_box,
    tops,
)
from skrobustbo.policies._interface import Argmax, Array
from skrobustbo.policies._map_estimate import MapPolicy
from skrobustbo.policies._robust_state import Estimate
from skrobustbo.surrogate import Candidate, Models, Posterior

#: The levels, in the order of their weights.
MODEL, SHORTER, CLIMB, FILL = range(4)
#: Number of planned evaluations without a horizon, or the number so far if larger.
_DEFAULT_HORIZON = 50
#: Filling is worthwhile only if it can find cubes with sides of this length.
_SIDE = 0.4


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


@dataclass(frozen=True)
class Step:
    """Data that the levels use to choose their points in one step.

    Parameters
    ----------
    models, argmax
        The arguments of `suggest`. The models use the same targets as the estimate.
    policy : MapPolicy
        Policy that creates the models from the estimate.
    fit : Estimate
        The estimated length scales and noise.
    scale : Spacing
        Resolution of the planned evaluations.
    beta : callable
        Function that returns beta for a posterior.
    only_best : bool
        Whether to climb only from the best point.
    """

    models: Models
    argmax: Argmax
    policy: MapPolicy
    fit: Estimate
    scale: Spacing
    beta: Callable[[Posterior], float]
    only_best: bool

    def by_model(self) -> Query:
        """Return the point with the highest upper confidence bound."""
        posterior = self.models[self.policy.model(self.models, self.fit)]
        x, _ = self.argmax(UCB(posterior, self.beta(posterior)))
        return self._of(posterior, x)

    def by_shorter(self) -> Query:
        """Return the point with the largest EI when using shorter length scales."""
        divisor = self.scale.divisor(self.fit["theta"])
        posterior = self.models[self.policy.model(self.models, self.fit, divisor)]
        x, _ = self.argmax(LogEI(posterior, float(posterior.told_means.max())))
        return self._of(posterior, x)

    def by_climb(self) -> Query | None:
        """Return the next point of a climb, or None if there is no starting point."""
        posterior = self.models[self.policy.noiseless(self.models, self.fit)]
        radius, d = radius_of_box(self.scale.spacing), self.scale.n_parameters
        top = next(tops(posterior, radius, d, self.only_best), None)
        return top and top.climb(self.models, self.argmax, self.policy.base_kernel())

    def by_filling(self) -> Query:
        """Return the point that is farthest from all points seen so far."""
        believing = self.policy.noiseless(self.models, self.fit)
        named = replace(believing, label="fill")
        return Query(self.argmax.farthest(), named, gain=0.0, free=True)

    def _of(self, posterior: Posterior, x: Array) -> Query:
        reached = float(posterior.told_means.max())
        return Query(x, posterior.candidate, expected_gain(posterior, x, reached))


def of_space(
    policy: MapPolicy, models: Models, fit: Estimate, scale: Spacing
) -> list[Candidate]:
    """Return the models of the levels that search the whole space."""
    divisors = sorted({1.0, 1.0 if scale.fills else scale.divisor(fit["theta"])})
    return [policy.model(models, fit, each) for each in divisors]


def of_climb(policy: MapPolicy, models: Models, scale: Spacing) -> Candidate:
    return model_of_box(policy.base_kernel(), models, radius_of_box(scale.spacing))
