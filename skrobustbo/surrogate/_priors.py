"""Priors of length scales.

A prior has two different densities. A fit maximises `log_density`: its peak is the
usual mode of the prior, in theta for a Gamma distribution and in log theta (the median)
for a log-normal one. A sampler of log theta uses `log_density_of_log`: this is the
density with respect to log theta, which is theta p(theta) if theta has the density p.
The position of a peak depends on the variable, but the distribution does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from skrobustbo._arguments import is_finite, require, require_positive
from skrobustbo._arrays import Array


class Prior(Protocol):
    """The interface of priors for the likelihood fit and the sampler."""

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return the log density (up to a constant) and its gradient in log theta."""

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return the log density with respect to log theta (up to a constant)."""


@dataclass(frozen=True)
class LogNormalPrior:
    """Log-normal prior: log theta is Gaussian.

    Parameters
    ----------
    median : float, default=0.7
        Median length scale, in unit-cube coordinates.
    sigma : float, default=1.5
        Standard deviation of the part of log theta that is specific to each length
        scale.
    common : float, default=0.0
        Standard deviation of the part of log theta that all length scales share. With
        0, the length scales are independent.

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
        """Return the log density of log theta (up to a constant) and its gradient."""
        z = (log_theta - math.log(self.median)) / self.sigma
        # The covariance is sigma**2 I + common**2 1 1', inverted by Sherman-Morrison.
        variance = self.sigma**2 + len(z) * self.common**2
        own = z - self.common**2 * z.sum() / variance
        return -0.5 * float(z @ own), -own / self.sigma

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return the log density with respect to log theta, as `log_density` does."""
        return self.log_density(log_theta)[0]


@dataclass(frozen=True)
class GammaPrior:
    """Gamma prior on theta, as in the fully Bayesian baseline of the papers.

    Parameters
    ----------
    shape : float, default=3.0
        Shape parameter of the distribution.
    rate : float, default=6.0
        Rate parameter, in unit-cube coordinates; the mode is ``(shape - 1) / rate``.

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
        """Return the log density of theta (up to a constant), gradient in log theta."""
        theta = np.exp(log_theta)
        value = (self.shape - 1) * log_theta - self.rate * theta
        return float(value.sum()), (self.shape - 1) - self.rate * theta

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return the log density with respect to log theta.

        It is the density of theta times each theta, because d theta = theta d log
        theta.
        """
        return self.log_density(log_theta)[0] + float(log_theta.sum())


@dataclass(frozen=True)
class FlatPrior:
    """Flat prior, which gives the maximum likelihood estimate."""

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return zero and a zero gradient."""
        return 0.0, np.zeros_like(log_theta)

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return zero: log theta is uniform within its bounds."""
        return 0.0
