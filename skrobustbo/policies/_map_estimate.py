"""MAP estimates of the length scales for the default policy."""

from __future__ import annotations

import math

import numpy as np

from skrobustbo.policies._base import UCBPolicy
from skrobustbo.policies._interface import Array, Pending
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    length_scale_candidate,
    map_length_scales,
)
from skrobustbo.policies._robust_state import (
    NO_ESTIMATE,
    Estimate,
    RobustState,
    compress,
    fenced,
    winsorized,
)
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, LogNormalPrior, Models, Prior

#: A noise of at least half the spread of the values replaces `noise` only if its log
#: posterior is this many nats higher.
_NOISE_MARGIN = 8.0
#: The regret bound holds down to the estimated length scales divided by this.
_REGRET_DIVISOR = 2.0


#: With few values, the estimate is updated at every step. Later, it changes less and
#: costs more, so n values must include more than (n - _FREE) // _SPACING new ones.
_FREE, _SPACING = 25, 8


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


@settings
class MapPolicy(UCBPolicy):
    """Base class of policies with MAP estimates from winsorized or compressed values.

    Parameters
    ----------
    prior : LogNormalPrior or GammaPrior, default=None
        Prior of each length scale. If None, a log-normal prior with median 0.7 and
        sigma 1.5 is used. With d > 5 length scales, sigma is 7.5 / d, and the rest of
        the spread is common to all length scales.
    """

    prior: Prior | None = None

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
