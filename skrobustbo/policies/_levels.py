"""The levels of the default policy, and the points that they propose."""

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
    """The resolution that N evaluations in d parameters allow."""

    n_parameters: int
    n_planned: int

    @classmethod
    def of(cls, d: int, horizon: int | None, n: int) -> Spacing:
        """Return the scale after `n` evaluations; without a horizon, N is 50 or n."""
        return cls(d, horizon or max(n, _DEFAULT_HORIZON))

    @property
    def spacing(self) -> float:
        """Mean distance of the planned points, N**(-1/d)."""
        return float(self.n_planned ** (-1 / self.n_parameters))

    @property
    def fills(self) -> bool:
        """Whether half of N random points hit a cube of side 0.4, on average."""
        return bool(0.5 * self.n_planned * _SIDE**self.n_parameters >= 1)

    def divisor(self, theta: list[float]) -> float:
        """Return the divisor that turns the estimate into the shorter length scales.

        The longest of them equals the mean distance of the planned points.
        """
        return max(1.0, max(theta) / self.spacing)


@dataclass(frozen=True)
class Step:
    """The data that the levels need to choose their points at one step.

    Parameters
    ----------
    models, argmax
        The arguments of the policy's `suggest`, with the targets to which the estimate
        was fitted.
    policy : MapPolicy
        Makes the models of the estimate.
    fit : Estimate
        The estimate.
    scale : Spacing
        The resolution of the evaluations.
    beta : callable
        Maps a posterior to the factor beta of its confidence band.
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
        """Return the point with the largest EI under shorter length scales."""
        divisor = self.scale.divisor(self.fit["theta"])
        posterior = self.models[self.policy.model(self.models, self.fit, divisor)]
        x, _ = self.argmax(LogEI(posterior, float(posterior.told_means.max())))
        return self._of(posterior, x)

    def by_climb(self) -> Query | None:
        """Return the next point of a climb; None if no point is suitable."""
        posterior = self.models[self.policy.noiseless(self.models, self.fit)]
        radius, d = radius_of_box(self.scale.spacing), self.scale.n_parameters
        top = next(tops(posterior, radius, d, self.only_best), None)
        return top and top.climb(self.models, self.argmax, self.policy.base_kernel())

    def by_filling(self) -> Query:
        """Return the next point of a climb, None if no point stands out."""
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
