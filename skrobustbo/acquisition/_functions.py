"""Acquisition functions of one posterior, several models, or perturbations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

import numpy as np
from scipy.special import erfcx, ndtr

from skrobustbo._arrays import Array

_SQRT_2PI = float(np.sqrt(2 * np.pi))
_SQRT_HALF_PI, _SQRT_HALF = float(np.sqrt(np.pi / 2)), float(np.sqrt(0.5))
_LOG_SQRT_2PI = float(np.log(_SQRT_2PI))
#: Smaller deviations are raised to this, because zero improvement has no logarithm.
_LEAST_DEVIATION = 1e-12
#: At this many deviations below the incumbent, a series takes over: the closed form has
#: lost four digits there, while the series is accurate to ten.
_FAR = -100.0
#: At this many deviations above the incumbent, the improvement equals the difference.
_NEAR = 30.0
#: Maximum number of perturbation coordinates in memory (32 MiB), and the minimum
#: assumed number of perturbations per point, which varies in finite spaces.
_MOST, _USUAL = 2**22, 65


class Belief(Protocol):
    """The interface of posteriors for acquisition functions."""

    @property
    def length_scales(self) -> Array:
        """Distance over which the belief varies in each column, shape (n_columns,)."""

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Return mean and deviation at the points, each of shape (m,)."""

    def gradient(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """Return mean, deviation and the gradients of both at the points."""


class Acquisition(Protocol):
    """A function of encoded points to maximise.

    The optional attribute `length_scales`, of shape (n_columns,), gives the distance
    over which the function varies, so that climbs take fewer steps.
    """

    def __call__(self, Z: Array) -> Array:
        """Return the values at points of shape (m, n_columns)."""

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the values, shape (m,), and gradients, shape (m, n_columns)."""


def reach_of(acq: Acquisition) -> Array:
    """Return the distance over which a function varies, by default the cube's side."""
    return getattr(acq, "length_scales", np.ones(1))


@dataclass(frozen=True)
class OfPosterior:
    """Base class of the functions of one posterior."""

    posterior: Belief

    @property
    def length_scales(self) -> Array:
        """Distance over which the function varies, taken from the posterior."""
        return self.posterior.length_scales


@dataclass(frozen=True)
class UCB(OfPosterior):
    """Upper confidence bound, mu(x) + beta sigma(x).

    Parameters
    ----------
    posterior : Belief
        Gives mean and standard deviation.
    beta : float
        Width of the band in standard deviations. With 0, the function is the posterior
        mean; with a negative number, it is a lower confidence bound.
    """

    beta: float

    def __call__(self, Z: Array) -> Array:
        """Return the bound at points of shape (m, n_columns)."""
        mu, sigma = self.posterior.predict(Z)
        return mu + self.beta * sigma

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the bound and its gradient in x."""
        mu, sigma, d_mu, d_sigma = self.posterior.gradient(Z)
        return mu + self.beta * sigma, d_mu + self.beta * d_sigma


@dataclass(frozen=True)
class EI(OfPosterior):
    """Expected improvement over an incumbent, s (a Phi(a) + phi(a)), s = nu sigma.

    Here, a = (mu - incumbent) / s. See Wang and de Freitas (2014), equation (4), where
    nu multiplies the standard deviation; nu = 1 gives the usual expected improvement.
    Where the standard deviation is zero, the improvement is zero.

    Parameters
    ----------
    posterior : Belief
        Gives mean and standard deviation.
    incumbent : float
        The value to improve on, in units of the posterior: the largest posterior mean
        (EI(mu)) or the best value seen (EI(f)).
    nu : float, default=1.0
        Factor on the standard deviation.
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

    It has the same maximiser as `EI`. Its gradient leads there even from points where
    the improvement itself is too small for a float (Ament et al. 2023, section 4).

    Parameters
    ----------
    posterior : Belief
        Gives mean and standard deviation.
    incumbent : float
        The value to improve on, in units of the posterior.
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

    All three are computed from Phi / phi, which is of moderate size unless a is large.
    """
    if np.abs(a).max(initial=0.0) > _NEAR:
        return _far_improvement(a)
    ratio = _phi_ratio(a)
    h = 1.0 + a * ratio  # h / phi
    return np.log(h) - (0.5 * a**2 + _LOG_SQRT_2PI), ratio / h, 1.0 / h


def _far_improvement(a: Array) -> tuple[Array, Array, Array]:
    """Return the same three where terms cancel (far below) or overflow (far above)."""
    above, near = a > _NEAR, np.minimum(a, _NEAR)
    ratio = np.where(above, 1.0, _phi_ratio(near))
    q = np.where(a < _FAR, a, _FAR) ** -2.0
    series = q * (1.0 - 3.0 * q + 15.0 * q**2)
    h = np.where(a < _FAR, series, np.where(above, a, 1.0 + near * ratio))
    log_phi = np.where(above, 0.0, -(0.5 * near**2 + _LOG_SQRT_2PI))
    return np.log(h) + log_phi, ratio / h, np.where(above, 0.0, 1.0 / h)


def _phi_ratio(a: Array) -> Array:
    return _SQRT_HALF_PI * erfcx(-_SQRT_HALF * a)


@dataclass(frozen=True)
class OfSeveral:
    """Base class of combinations of acquisition functions."""

    acqs: Sequence[Acquisition]

    @property
    def length_scales(self) -> Array:
        """Distance over which the combination varies: the smallest of its parts'."""
        return reduce(np.minimum, map(reach_of, self.acqs))

    def _each_with_gradient(self, Z: Array) -> tuple[Array, Array]:
        pairs = [acq.with_gradient(Z) for acq in self.acqs]
        values, gradients = zip(*pairs, strict=True)
        return np.array(values), np.array(gradients)


@dataclass(frozen=True)
class UnionMax(OfSeveral):
    """The largest of several acquisition functions, point by point.

    A single maximisation is then optimistic about both points and candidate models.

    Parameters
    ----------
    acqs : sequence of Acquisition
        At least one.
    """

    def __call__(self, Z: Array) -> Array:
        """Return the largest value at points of shape (m, n_columns)."""
        return reduce(np.maximum, (acq(Z) for acq in self.acqs))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the largest value and the gradient of the function that attains it."""
        values, gradients = self._each_with_gradient(Z)
        top, rows = np.argmax(values, axis=0), np.arange(len(Z))
        return values[top, rows], gradients[top, rows]

    def attained_by(self, x: Array) -> int:
        """Return the index of the largest function at a point; ties go to the first."""
        return int(np.argmax([acq(x[None, :])[0] for acq in self.acqs]))


@dataclass(frozen=True)
class WeightedSum(OfSeveral):
    """A weighted sum of acquisition functions, such as the mean over models.

    Parameters
    ----------
    acqs : sequence of Acquisition
        At least one.
    weights : array of shape (n_acqs,)
        Their weights.
    """

    weights: Array

    def __call__(self, Z: Array) -> Array:
        """Return the weighted sum at points of shape (m, n_columns)."""
        return self.weights @ np.array([acq(Z) for acq in self.acqs])

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the weighted sum and its gradient in x."""
        values, slopes = self._each_with_gradient(Z)
        return self.weights @ values, np.einsum("a,amj->mj", self.weights, slopes)


@dataclass(frozen=True)
class WorstCase:
    """The smallest value of an acquisition function over perturbations of a point.

    Parameters
    ----------
    acq : Acquisition
        The function.
    ball : callable
        Maps points of shape (m, n_columns) to their feasible perturbations, shape (m,
        k, n_columns), including the points themselves.
    """

    acq: Acquisition
    ball: Callable[[Array], Array]

    @property
    def length_scales(self) -> Array:
        """Distance over which the smallest value varies."""
        return reach_of(self.acq)

    def __call__(self, Z: Array) -> Array:
        """Return the smallest value around points of shape (m, n_columns)."""
        values, size = np.empty(len(Z)), self._block(Z)
        for start in range(0, len(Z), size):
            around = self.ball(Z[start : start + size])
            values[start : start + size] = self._values(around).min(axis=1)
        return values

    def _values(self, around: Array) -> Array:
        m, k, d = around.shape
        return self.acq(around.reshape(m * k, d)).reshape(m, k)

    def _block(self, Z: Array) -> int:
        """Return the number of points whose perturbations are computed at once."""
        m, d = Z.shape
        few = m * _USUAL * d <= _MOST
        k = _USUAL if few else max(_USUAL, self.ball(Z[:1]).shape[1])
        return max(1, _MOST // (k * d))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the smallest value, and the gradient at its perturbation.

        The envelope theorem applies, because the worst perturbation moves with the
        point.
        """
        around = self.ball(Z)
        worst = self._values(around).argmin(axis=1)
        return self.acq.with_gradient(around[np.arange(len(Z)), worst])
