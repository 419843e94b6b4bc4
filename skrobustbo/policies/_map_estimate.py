"""MAP estimates of the length scales: when they are made, and the models they give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._arguments import require
from skrobustbo.policies._base import UCBPolicy
from skrobustbo.policies._interface import Array, Metadata
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    length_scale_candidate,
    map_length_scales,
)
from skrobustbo.policies._robust_state import (
    Estimate,
    RobustState,
    fenced,
    winsorized,
)
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, LogNormalPrior, Models, Prior

#: How far below the estimate the length scale may be for the regret bound to hold.
_REGRET_DIVISOR = 2.0


@dataclass(frozen=True)
class Schedule:
    """When an estimate is made anew.

    Up to `free` + `spacing` values it is at every step. More values change it less,
    while each costs more: beyond, it is when there are more by one over `spacing` of
    those above `free`.
    """

    free: int = 25
    spacing: int = 16

    def due(self, fit: Estimate, n: int) -> bool:
        """Return whether `n` values are enough for another estimate after `fit`."""
        spacing = max(0, n - self.free) // self.spacing
        return not fit.n_fitted or n - fit.n_fitted > spacing


SCHEDULE = Schedule()


@dataclass(frozen=True)
class MapEstimator:
    """How the length scales are estimated, and which models the estimate gives.

    Parameters
    ----------
    kernel : Kernel
        The kernel at length scale 1.
    prior : Prior or None
        Prior of each length scale; None: that of `default_prior`.
    noise_margin : float or None
        Nats by which a strong noise must be ahead; None: there is none.
    """

    kernel: Kernel
    prior: Prior | None
    noise_margin: float | None

    def latest(
        self, state: RobustState, models: Models, pending: Sequence[Metadata]
    ) -> Estimate:
        """Return the latest estimate, or a new one where it is time."""
        fit = state.latest(pending)
        return self.fit(fit, models) if SCHEDULE.due(fit, models.n) else fit

    def fit(self, last: Estimate | None, models: Models) -> Estimate:
        """Return the estimate from all values, begun at the last one."""
        last = last or Estimate([], None, 0)
        prior = self.prior or default_prior(len(models.groups))
        earlier = None
        if last.noise is not None:
            earlier = np.array(last.theta), last.noise
        begun = last.theta or None
        theta, noise = map_length_scales(self.kernel, models, begun, prior), None
        if self.noise_margin is not None:
            args = (prior, LENGTH_SCALE_BOUNDS, theta, self.noise_margin, earlier)
            theta, noise = models.strong_noise(self.kernel, *args) or (theta, None)
        return Estimate(theta.tolist(), noise, models.n)

    def model(self, models: Models, fit: Estimate, divisor: float = 1.0) -> Candidate:
        """Return the model of the estimate, its length scales divided.

        That of shorter ones believes what the estimate takes for noise.
        """
        theta = np.array(fit.theta)
        return length_scale_candidate(
            self.kernel,
            models.spread(theta) / divisor,
            theta / divisor,
            label=f"theta/{divisor:.3g}",
            noise=fit.noise if divisor == 1.0 else None,
            divisor=divisor,
        )

    def noiseless(self, models: Models, fit: Estimate) -> Candidate:
        """Return the model of the estimate that believes every value."""
        return self.model(models, fit._replace(noise=None))


def default_prior(d: int) -> LogNormalPrior:
    """Return the prior of each of `d` length scales where no other one is set.

    The law of each of them does not depend on d. But the more there are, the less the
    values say about each, and the more about what they have in common: beyond five,
    they differ from it by 5 / d of their spread.
    """
    own = min(1.0, 5 / d)
    return LogNormalPrior(0.7, 1.5 * own, 1.5 * math.sqrt(1 - own**2))


@settings
class MapPolicy(UCBPolicy):
    """What a policy has that goes by a MAP estimate of the values, winsorized.

    Parameters
    ----------
    prior : LogNormalPrior or GammaPrior, default=None
        Prior of each length scale. None: log-normal with median 0.7 and sigma 1.5. Of
        d > 5 length scales, sigma is 7.5 / d, and the rest of the spread is `common`.
    winsorize : float or None, default=3.0
        Values below median - winsorize * (best - median) enter the model as that. None:
        all values enter raw.
    noise_margin : float or None, default=8.0
        Nats of log posterior by which noise of half the spread of the values, or more,
        must be ahead of `noise` to take its place on the first level. None: it never
        does.
    """

    prior: Prior | None = None
    winsorize: float | None = 3.0
    noise_margin: float | None = 8.0

    @property
    def estimator(self) -> MapEstimator:
        """How the length scales are estimated."""
        return MapEstimator(self.base_kernel(), self.prior, self.noise_margin)

    def map_model(self, models: Models) -> Candidate:
        """Return the model of the estimate from all values."""
        estimator = self.estimator
        return estimator.model(models, estimator.fit(None, models))

    def plausible(self, state: RobustState, models: Models) -> list[Candidate]:
        """Return the models of the estimate and of half of it.

        Shorter length scales are there to be safe; under those of a climb, which
        resolve no more than the distance of the points planned, no bound would ever be
        small.
        """
        estimator = self.estimator
        fit = estimator.fit(state.latest([]), models)
        return [estimator.model(models, fit, each) for each in (1.0, _REGRET_DIVISOR)]

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
        factor = self.winsorize or 0.0
        require(0 <= factor < math.inf, self, "winsorize", ">= 0 and finite, or None")
        require((self.noise_margin or 0.0) >= 0, self, "noise_margin", ">= 0 or None")
