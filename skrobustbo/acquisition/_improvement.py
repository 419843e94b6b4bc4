"""Expected improvement, plain and with a scaled deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from skrobustbo.acquisition._functions import Belief

Array = NDArray[np.float64]

_SQRT_2PI = float(np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class EI:
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

    posterior: Belief
    incumbent: float
    nu: float = 1.0

    @property
    def reach(self) -> Array:
        """Distance over which the improvement varies: that of the posterior."""
        return self.posterior.reach

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
