"""Expected improvement, plain, with a scaled deviation, and its logarithm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

from skrobustbo.acquisition._functions import OfPosterior

Array = NDArray[np.float64]

_SQRT_2PI = float(np.sqrt(2 * np.pi))
_SQRT_HALF_PI, _SQRT_HALF = float(np.sqrt(np.pi / 2)), float(np.sqrt(0.5))
_LOG_SQRT_2PI = float(np.log(_SQRT_2PI))
#: Smaller deviations are taken as this: the logarithm of no improvement is no number.
_LEAST_DEVIATION = 1e-12
#: So many deviations below the incumbent a series takes over: the closed form has lost
#: four digits there, and the series is right to ten.
_FAR = -100.0
#: So many above it, the improvement is the difference to all digits.
_NEAR = 30.0


@dataclass(frozen=True)
class EI(OfPosterior):
    """Expected improvement over an incumbent, s (a Phi(a) + phi(a)), s = nu sigma.

    Here a = (mu - incumbent) / s. Wang and de Freitas (2014), equation (4), where nu
    multiplies the deviation; nu = 1 is the plain expected improvement. Where the
    deviation is zero, so is the improvement.

    Parameters
    ----------
    posterior : Belief
        Where mean and deviation come from.
    incumbent : float
        The value to improve on, in the units of the posterior: the largest posterior
        mean (EI(mu)) or the best value seen (EI(f)).
    nu : float, default=1.0
        Factor on the deviation.
    """

    incumbent: float
    nu: float = 1.0

    def __call__(self, Z: Array) -> Array:
        """Return the expected improvement at points of shape (m, n_columns)."""
        mu, sigma = self.posterior.predict(Z)
        value, _, _ = self._parts(mu, sigma)
        return value

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the expected improvement and its gradient in x."""
        mu, sigma, d_mu, d_sigma = self.posterior.gradient(Z)
        value, cdf, pdf = self._parts(mu, sigma)
        return value, cdf[:, None] * d_mu + self.nu * pdf[:, None] * d_sigma

    def _parts(self, mu: Array, sigma: Array) -> tuple[Array, Array, Array]:
        s = self.nu * sigma
        certain = s <= 0
        a = (mu - self.incumbent) / np.where(certain, 1.0, s)
        cdf: Array = ndtr(a)
        pdf: Array = np.exp(-0.5 * a**2) / _SQRT_2PI
        return np.where(certain, 0.0, s * (a * cdf + pdf)), cdf, pdf


@dataclass(frozen=True)
class LogEI(OfPosterior):
    """Logarithm of the expected improvement, log(s h(a)) with h(a) = a Phi(a) + phi(a).

    It has its maximum where `EI` has it, and a slope that leads there from where the
    improvement itself is smaller than any number (Ament et al. 2023, section 4).

    Parameters
    ----------
    posterior : Belief
        Where mean and deviation come from.
    incumbent : float
        The value to improve on, in the units of the posterior.
    """

    incumbent: float

    def __call__(self, Z: Array) -> Array:
        """Return the logarithm at points of shape (m, n_columns)."""
        mu, sigma = self.posterior.predict(Z)
        value, _, _, _ = self._parts(mu, sigma)
        return value

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the logarithm and its gradient in x."""
        mu, sigma, d_mu, d_sigma = self.posterior.gradient(Z)
        value, s, cdf, pdf = self._parts(mu, sigma)
        return value, (cdf[:, None] * d_mu + pdf[:, None] * d_sigma) / s[:, None]

    def _parts(self, mu: Array, sigma: Array) -> tuple[Array, Array, Array, Array]:
        """Return the logarithm, the deviation, and Phi(a) and phi(a) in units of h."""
        s = np.maximum(sigma, _LEAST_DEVIATION)
        log_h, cdf, pdf = log_improvement((mu - self.incumbent) / s)
        return np.log(s) + log_h, s, cdf, pdf


def log_improvement(a: Array) -> tuple[Array, Array, Array]:
    """Return log h(a), Phi(a) / h(a) and phi(a) / h(a), without under- or overflow.

    All are expressed by Phi / phi, which is of a moderate size unless a is large.
    """
    if np.abs(a).max(initial=0.0) > _NEAR:
        return _far_improvement(a)
    ratio = _phi_ratio(a)
    h = 1.0 + a * ratio  # h / phi
    return np.log(h) - (0.5 * a**2 + _LOG_SQRT_2PI), ratio / h, 1.0 / h


def _far_improvement(a: Array) -> tuple[Array, Array, Array]:
    """Return the same where terms cancel, far below, or overflow, far above."""
    above, near = a > _NEAR, np.minimum(a, _NEAR)
    ratio = np.where(above, 1.0, _phi_ratio(near))
    q = np.where(a < _FAR, a, _FAR) ** -2.0
    series = q * (1.0 - 3.0 * q + 15.0 * q**2)
    h = np.where(a < _FAR, series, np.where(above, a, 1.0 + near * ratio))
    log_phi = np.where(above, 0.0, -(0.5 * near**2 + _LOG_SQRT_2PI))
    return np.log(h) + log_phi, ratio / h, np.where(above, 0.0, 1.0 / h)


def _phi_ratio(a: Array) -> Array:
    """Return Phi(a) / phi(a)."""
    ratio: Array = _SQRT_HALF_PI * erfcx(-_SQRT_HALF * a)
    return ratio
