"""Prior distributions of length scales.

Each prior defines two densities. Fits maximise `log_density`, whose peak is the usual
mode of the prior. For a Gamma distribution, this is the mode of theta; for a log-normal
distribution, it is the mode of log theta, which is the median. Samplers of log theta
use `log_density_of_log`, the density with respect to log theta. If theta has the
density p, this is theta p(theta). Both densities describe the same distribution, but
their peaks may differ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skrobustbo._arguments import is_finite, require, require_positive
from skrobustbo._arrays import Array


class Prior(Protocol):
    """Interface of the priors used by fits and samplers."""

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return the log density and its gradient with respect to log theta.

        The log density may omit a constant.
        """

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return the unnormalised log density with respect to log theta."""


@dataclass(frozen=True)
class LogNormalPrior:
    """Log-normal prior, in which log theta has a normal distribution.

    Parameters
    ----------
    median : float, default=0.7
        Median length scale, in unit-cube coordinates.
    sigma : float, default=1.5
        Standard deviation of the component of log theta that is independent for each
        length scale.
    common : float, default=0.0
        Standard deviation of the component of log theta that all length scales share.
        If it is 0, the length scales are independent.

    Raises
    ------
    ValueError
        If `median` or `sigma` is not positive and finite, or `common` is negative.

    Examples
    --------
    >>> import numpy as np
    >>> from skrobustbo.surrogate import LogNormalPrior
    >>> value, slope = LogNormalPrior(median=1.0).log_density(np.zeros(1))
    >>> abs(value) + abs(float(slope[0]))
    0.0
    """

    median: float = 0.7
    sigma: float = 1.5
    common: float = 0.0

    def __post_init__(self) -> None:
        require_positive(self, "median", "sigma")
        holds = is_finite(self.common) and self.common >= 0
        require(holds, self, "common", ">= 0 and finite")

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return the unnormalised log density of log theta and its gradient."""
        z = (log_theta - math.log(self.median)) / self.sigma
        # The covariance is sigma**2 I + common**2 1 1', inverted by Sherman-Morrison.
        variance = self.sigma**2 + len(z) * self.common**2
        own = z - self.common**2 * z.sum() / variance
        return -0.5 * float(z @ own), -own / self.sigma

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return the unnormalised log density of log theta."""
        return self.log_density(log_theta)[0]


@dataclass(frozen=True)
class GammaPrior:
    """Gamma prior on theta, as used by the fully Bayesian baseline in the papers.

    Parameters
    ----------
    shape : float, default=3.0
        Shape parameter of the distribution.
    rate : float, default=6.0
        Rate parameter in unit-cube coordinates. The mode is ``(shape - 1) / rate``.

    Raises
    ------
    ValueError
        If `shape` or `rate` is not positive and finite.

    Examples
    --------
    >>> import numpy as np
    >>> from skrobustbo.surrogate import GammaPrior
    >>> value, slope = GammaPrior(3, 6).log_density(np.log([1 / 3]))
    >>> bool(abs(slope[0]) < 1e-12)
    True
    """

    shape: float = 3.0
    rate: float = 6.0

    def __post_init__(self) -> None:
        require_positive(self, "shape", "rate")

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return the log density of theta and its gradient with respect to log theta.

        The log density omits a constant.
        """
        theta = np.exp(log_theta)
        value = (self.shape - 1) * log_theta - self.rate * theta
        return float(value.sum()), (self.shape - 1) - self.rate * theta

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return the unnormalised log density with respect to log theta.

        It is the density of theta multiplied by every theta, because d theta = theta d
        log theta.
        """
        return self.log_density(log_theta)[0] + float(log_theta.sum())


@dataclass(frozen=True)
class FlatPrior:
    """Flat prior, for maximum likelihood estimates."""

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return zero and a zero gradient."""
        return 0.0, np.zeros_like(log_theta)

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return zero, because log theta is uniform within its bounds."""
        return 0.0
