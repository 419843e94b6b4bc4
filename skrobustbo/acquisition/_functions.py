"""Acquisition functions for one model, several models and perturbed points."""

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
    """Interface of the posteriors that acquisition functions use."""

    @property
    def length_scales(self) -> Array:
        """Distance over which the posterior varies in each column."""

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Return the mean and standard deviation at points, both of shape (m,)."""

    def gradient(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """Return the mean, the standard deviation and their gradients at points."""


class Acquisition(Protocol):
    """Interface of acquisition functions, which take encoded points.

    The optional attribute `length_scales` of shape (n_columns,) is the distance over
    which the function varies. It reduces the number of steps in the maximisation.
    """

    def __call__(self, Z: Array) -> Array:
        """Return the values at points of shape (m, n_columns)."""

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the values and gradients at points of shape (m, n_columns)."""


def reach_of(acq: Acquisition) -> Array:
    """Return the `length_scales` of an acquisition function, by default 1."""
    return getattr(acq, "length_scales", np.ones(1))


@dataclass(frozen=True)
class OfPosterior:
    """Base class of acquisition functions of a single posterior."""

    posterior: Belief

    @property
    def length_scales(self) -> Array:
        """Distance over which the function varies in each column."""
        return self.posterior.length_scales


@dataclass(frozen=True)
class UCB(OfPosterior):
    """Upper confidence bound, mu(x) + beta sigma(x).

    Parameters
    ----------
    posterior : Belief
        Posterior that provides the mean and standard deviation.
    beta : float
        Width of the confidence band in standard deviations. If it is 0, the function is
        the posterior mean. If it is negative, the function is a lower confidence bound.
    """

    beta: float

    def __call__(self, Z: Array) -> Array:
        """Return the confidence bound at points of shape (m, n_columns)."""
        mu, sigma = self.posterior.predict(Z)
        return mu + self.beta * sigma

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the bound and its gradient with respect to x."""
        mu, sigma, d_mu, d_sigma = self.posterior.gradient(Z)
        return mu + self.beta * sigma, d_mu + self.beta * d_sigma


@dataclass(frozen=True)
class EI(OfPosterior):
    """Expected improvement over an incumbent, s (a Phi(a) + phi(a)).

    Here, s = nu sigma and a = (mu - incumbent) / s, as in equation (4) of Wang and de
    Freitas (2014). With nu = 1, this is the usual expected improvement. It is zero
    where the standard deviation is zero.

    Parameters
    ----------
    posterior : Belief
        Posterior that provides the mean and standard deviation.
    incumbent : float
        Value to improve on, in units of the posterior. It is either the largest
        posterior mean (EI(mu)) or the best observed value (EI(f)).
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
        """Return the expected improvement and its gradient with respect to x."""
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

    This function has the same maximiser as `EI`. Its gradient remains useful even where
    the expected improvement is too small for a float (Ament et al. 2023, section 4).

    Parameters
    ----------
    posterior : Belief
        Posterior that provides the mean and standard deviation.
    incumbent : float
        Value to improve on, in units of the posterior.
    """

    incumbent: float

    def __call__(self, Z: Array) -> Array:
        """Return the log expected improvement at points of shape (m, n_columns)."""
        mu, sigma = self.posterior.predict(Z)
        value, _, _, _ = self._parts(mu, sigma)
        return value

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the log expected improvement and its gradient with respect to x."""
        mu, sigma, d_mu, d_sigma = self.posterior.gradient(Z)
        value, s, cdf, pdf = self._parts(mu, sigma)
        return value, (cdf[:, None] * d_mu + pdf[:, None] * d_sigma) / s[:, None]

    def _parts(self, mu: Array, sigma: Array) -> tuple[Array, Array, Array, Array]:
        """Return log(s h(a)), s, Phi(a) / h(a) and phi(a) / h(a)."""
        s = np.maximum(sigma, _LEAST_DEVIATION)
        log_h, cdf, pdf = log_improvement((mu - self.incumbent) / s)
        return np.log(s) + log_h, s, cdf, pdf


def log_improvement(a: Array) -> tuple[Array, Array, Array]:
    """Return log h(a), Phi(a) / h(a) and phi(a) / h(a) without underflow or overflow.

    All three are computed from Phi(a) / phi(a), which has a moderate size unless a is
    large.
    """
    if np.abs(a).max(initial=0.0) > _NEAR:
        return _far_improvement(a)
    ratio = _phi_ratio(a)
    h = 1.0 + a * ratio  # h / phi
    return np.log(h) - (0.5 * a**2 + _LOG_SQRT_2PI), ratio / h, 1.0 / h


def _far_improvement(a: Array) -> tuple[Array, Array, Array]:
    """Return the results of `log_improvement` if some values of `a` are extreme.

    The terms of the closed form cancel far below the incumbent and overflow far above
    it.
    """
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
    """Base class of combinations of several acquisition functions."""

    acqs: Sequence[Acquisition]

    @property
    def length_scales(self) -> Array:
        """Smallest length scale of the combined functions in each column."""
        return reduce(np.minimum, map(reach_of, self.acqs))

    def _each_with_gradient(self, Z: Array) -> tuple[Array, Array]:
        pairs = [acq.with_gradient(Z) for acq in self.acqs]
        values, gradients = zip(*pairs, strict=True)
        return np.array(values), np.array(gradients)


@dataclass(frozen=True)
class UnionMax(OfSeveral):
    """Pointwise maximum of several acquisition functions.

    Maximising it is optimistic about both the point and the candidate model.

    Parameters
    ----------
    acqs : sequence of Acquisition
        One or more acquisition functions.
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
        """Return the index of the function with the largest value at a point.

        If there are ties, return the first index.
        """
        return int(np.argmax([acq(x[None, :])[0] for acq in self.acqs]))


@dataclass(frozen=True)
class WeightedSum(OfSeveral):
    """Weighted sum of acquisition functions, such as the mean over models.

    Parameters
    ----------
    acqs : sequence of Acquisition
        One or more acquisition functions.
    weights : array of shape (n_acqs,)
        Weights of the acquisition functions.
    """

    weights: Array

    def __call__(self, Z: Array) -> Array:
        """Return the weighted sum at points of shape (m, n_columns)."""
        return self.weights @ np.array([acq(Z) for acq in self.acqs])

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the weighted sum and its gradient with respect to x."""
        values, slopes = self._each_with_gradient(Z)
        return self.weights @ values, np.einsum("a,amj->mj", self.weights, slopes)


@dataclass(frozen=True)
class WorstCase:
    """Smallest value of an acquisition function over perturbations of a point.

    Parameters
    ----------
    acq : Acquisition
        The acquisition function.
    ball : callable
        Function that maps points of shape (m, n_columns) to their feasible
        perturbations of shape (m, k, n_columns), which include the points themselves.
    """

    acq: Acquisition
    ball: Callable[[Array], Array]

    @property
    def length_scales(self) -> Array:
        """Distance over which the function varies in each column."""
        return reach_of(self.acq)

    def __call__(self, Z: Array) -> Array:
        """Return the worst-case values at points of shape (m, n_columns)."""
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
        """Return the worst-case values and their gradients with respect to x.

        By the envelope theorem, this is the gradient at the worst perturbation, which
        moves with the point.
        """
        around = self.ball(Z)
        worst = self._values(around).argmin(axis=1)
        return self.acq.with_gradient(around[np.arange(len(Z)), worst])
