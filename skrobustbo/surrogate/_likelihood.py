"""Fit length scales, noise and output variance by (penalised) likelihood."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._arrays import Array, Indices
from skrobustbo.kernels import NominalKernel, differ, radial, with_length_scale
from skrobustbo.surrogate._priors import Prior

_LOG_2PI = math.log(2 * math.pi)
_STEP = 1e-5
#: A climb ends if no log length scale promises more than this many nats per unit: the
#: data contain no further information, and more digits would take a third more calls.
_GTOL, _FTOL = 1e-2, 1e-6
#: Number of climbs from the best starts, and number of iterations per climb.
_N_CLIMBS, _MAX_ITER = 2, 50
#: Length scales within this many nats are equally likely, and one that is longer by
#: this factor is preferred: among short ones, the likelihood is flat, and rounding
#: would decide.
_TIE, _LONGER = 0.05, 1.5


class LengthScaleLikelihood:
    """Log posterior of length scales given data, as a function of their logarithms.

    Parameters
    ----------
    kernel : Kernel
        The kernel at length scale 1. Its own length scales are multiplied.
    X : array of shape (n, n_columns)
        Encoded points.
    z : array of shape (n,)
        Targets, in the model's units.
    noise : float
        Standard deviation of the noise, in units of `z`.
    groups : list of integer arrays
        Columns that share a length scale, one group per length scale.
    prior : Prior
        Penalty on the logarithms.
    fits_noise : bool, default=False
        Whether to fit the noise as well. Its logarithm is then the last coordinate,
        with a flat prior, and `noise` is only an assumption for other purposes.
    fits_variance : bool, default=False
        Whether to fit the output variance as well. The logarithm of a factor on the
        kernel is then the very last coordinate, with a flat prior.
    modulation : array of shape (n, n), optional
        Factors on the kernel's values, such as a kernel in time.
    errors : array of shape (n,), optional
        Variance of each target's own error, in addition to the noise.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        z: Array,
        *,
        noise: float,
        groups: Sequence[Indices],
        prior: Prior,
        fits_noise: bool = False,
        fits_variance: bool = False,
        modulation: Array | None = None,
        errors: Array | None = None,
    ) -> None:
        self.kernel, self.X, self.z = kernel, X, z
        self.noise, self.groups, self.prior = noise, groups, prior
        self.fits_noise, self.fits_variance = fits_noise, fits_variance
        self.modulation, self.errors = modulation, errors
        self._owner = np.zeros(X.shape[1], dtype=np.intp)
        for i, columns in enumerate(groups):
            self._owner[columns] = i
        closed = radial(kernel, np.zeros(1)) is not None
        self._scaled = _in_own_units(kernel, X) if closed else None
        #: Squared distances in each nominal column, for kernels with a closed form.
        self._apart: dict[int, Array] = {}
        if closed and isinstance(kernel, NominalKernel):
            scales = np.broadcast_to(kernel.kernel.length_scale, X.shape[1:])
            self._apart = {
                c: differ(X[:, c], X[:, c]) / scales[c] ** 2 for c in kernel.columns
            }

    def columns(self, log_theta: Array) -> Array:
        """Return the length scale of each encoded column, shape (n_columns,)."""
        return np.exp(log_theta)[self._owner]

    def _distances(self, log_theta: Array) -> tuple[Array, Array]:
        """Return the points in units of the length scales, with their distances."""
        scales = self.columns(log_theta)
        X: Array = self._scaled / scales  # type: ignore[operator] # see __init__
        if not self._apart:
            return X, cdist(X, X)
        squares = cdist(X, X, "sqeuclidean")
        for c, apart in self._apart.items():
            squares += apart / scales[c] ** 2
        return X, np.sqrt(squares)

    def _split(self, point: Array) -> tuple[Array, float, float]:
        noise, variance = self.noise, 1.0
        if self.fits_variance:
            point, variance = point[:-1], math.exp(point[-1])
        if self.fits_noise:
            point, noise = point[:-1], math.exp(point[-1])
        return point, noise, variance

    def _times(self, K: Array, variance: float) -> Array:
        """Return the kernel's values, or slopes, times all factors."""
        if self.modulation is not None:
            K = K * self.modulation
        return K * variance if self.fits_variance else K

    def _add_noise(self, K: Array, noise: float) -> None:
        diagonal = K.reshape(-1)[:: len(K) + 1]
        diagonal += noise**2
        if self.errors is not None:
            diagonal += self.errors

    def __call__(self, point: Array) -> tuple[float, Array]:
        """Return minus the log posterior and its gradient."""
        if self._scaled is None:
            return self._by_differences(point)
        log_theta, noise, variance = self._split(point)
        X, r = self._distances(log_theta)
        parts = radial(self.kernel, r)
        K, h = (self._times(part, variance) for part in parts)  # type: ignore[union-attr] # see __init__
        self._add_noise(K, noise)
        value, alpha, L = _solve(K, self.z)
        if L is None:
            return self._penalised(point, value, np.zeros(len(point)))
        # d(-log p)/dlog(l_j) = -1/2 sum_ab G_ab (x_aj - x_bj)^2, with scaled distances
        # and G = (alpha alpha^T - K^-1) h. LAPACK returns one triangle of K^-1: it
        # counts twice, and the diagonal, where distances are zero, does not count.
        half_inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
        precisions = half_inverse.diagonal().copy() if self._fits_more else alpha
        G = np.outer(alpha, alpha)
        half_inverse *= 2
        G -= half_inverse
        G *= h
        sums = 0.5 * (G.sum(axis=0) + G.sum(axis=1))
        moments = sums @ X**2 - np.einsum("aj,aj->j", X, G @ X)
        for c, apart in self._apart.items():
            scale = self.columns(log_theta)[c]
            moments[c] = 0.5 * np.einsum("ab,ab->", G, apart) / scale**2
        slopes = [-moments[columns].sum() for columns in self.groups]
        if self._fits_more:
            slopes += self._slopes_of_sizes(alpha, precisions, noise)
        return self._penalised(point, value, np.array(slopes))

    @property
    def _fits_more(self) -> bool:
        """Whether to fit more than the length scales."""
        return self.fits_noise or self.fits_variance

    def _slopes_of_sizes(
        self, alpha: Array, precisions: Array, noise: float
    ) -> list[float]:
        """Return the slopes along the logarithms of noise and variance, if fitted."""
        # d(-log p)/dlog(noise) = -noise^2 tr(alpha alpha^T - K^-1) and, with K minus
        # its diagonal noise in place of the kernel, d(-log p)/dlog(variance).
        by_noise = noise**2 * (float(alpha @ alpha) - float(precisions.sum()))
        by_all = float(alpha @ self.z) - len(alpha)
        by_kernel = by_all - by_noise
        if self.errors is not None:
            by_kernel -= float(self.errors @ (alpha**2 - precisions))
        slopes = [-by_noise] if self.fits_noise else []
        return slopes + ([-0.5 * by_kernel] if self.fits_variance else [])

    def _penalised(
        self, point: Array, value: float, slopes: Array
    ) -> tuple[float, Array]:
        log_prior, prior_slopes = self.prior.log_density(self._split(point)[0])
        slopes[: len(prior_slopes)] -= prior_slopes
        return value - log_prior, slopes

    def value(self, point: Array) -> float:
        """Return minus the log posterior."""
        return self._value(point) - self.prior.log_density(self._split(point)[0])[0]

    def log_density(self, log_theta: Array) -> float:
        """Return the log posterior density with respect to log theta, for samplers.

        The density is up to a constant. It uses the prior's density of log theta, while
        a maximisation uses the density with the prior's usual mode.
        """
        return self.prior.log_density_of_log(log_theta) - self._value(log_theta)

    def _value(self, point: Array) -> float:
        log_theta, noise, variance = self._split(point)
        if self._scaled is None:
            K = with_length_scale(self.kernel, self.columns(log_theta))(self.X)
        else:
            _, r = self._distances(log_theta)
            K, _ = radial(self.kernel, r)  # type: ignore[misc] # see __init__
        K = self._times(K, variance)
        self._add_noise(K, noise)
        return _solve(K, self.z)[0]

    def _by_differences(self, point: Array) -> tuple[float, Array]:
        steps = _STEP * np.eye(len(point))
        values = [(self._value(point + e), self._value(point - e)) for e in steps]
        slopes = np.array([up - down for up, down in values]) / (2 * _STEP)
        slopes[~np.isfinite(slopes)] = 0.0  # if K is singular
        return self._penalised(point, self._value(point), slopes)


def _in_own_units(kernel: Kernel, X: Array) -> Array:
    """Return points in units of a kernel's length scales, with nominal columns at 0."""
    if not isinstance(kernel, NominalKernel):
        return X / kernel.length_scale
    units = X / kernel.kernel.length_scale
    units[:, kernel.columns] = 0.0
    return units


def _solve(K: Array, z: Array) -> tuple[float, Array, Array | None]:
    """Return minus the log likelihood, K^-1 z and K's factor, overwriting K.

    If K is singular, the likelihood is minus infinity, and there is no factor.
    """
    # The transpose of a symmetric matrix is itself, in LAPACK's order.
    L, failed = lapack.dpotrf(K.T, lower=1, overwrite_a=1)
    if failed:
        return math.inf, np.zeros_like(z), None
    alpha, _ = lapack.dpotrs(L, z, lower=1)
    log_diagonal = float(np.log(L.diagonal()).sum())
    value = 0.5 * float(z @ alpha) + log_diagonal + 0.5 * len(z) * _LOG_2PI
    return value, alpha, L


def fit_length_scale(
    likelihood: LengthScaleLikelihood,
    bounds: tuple[float | Array, float | Array],
    starts: Sequence[Array],
) -> Array:
    """Return the length scales of highest posterior, one per group.

    Parameters
    ----------
    likelihood : LengthScaleLikelihood
        The function to maximise.
    bounds : (float, float) or pair of arrays of shape (n_groups,)
        Shortest and longest allowed length scales, in unit-cube coordinates, either for
        all groups or one pair of entries each.
    starts : list of arrays of shape (n_groups,)
        Starting length scales. Without data, the first is returned. The likelihood is
        flat where all length scales are short, and a climb would get stuck, so many
        starts are compared before a few of them are climbed.
    """
    if not len(likelihood.z):
        return np.clip(starts[0], *bounds)
    # For small integer types, the logarithm would have low precision.
    low, high = (np.log(bound, dtype=float) for bound in bounds)
    points = [np.clip(np.log(start), low, high) for start in starts]
    if len(points) > _N_CLIMBS:
        points = sorted(points, key=likelihood.value)[:_N_CLIMBS]
    best: Any = None
    for point in points:
        result = minimize(
            likelihood,
            point,
            jac=True,
            method="L-BFGS-B",
            bounds=[*zip(*np.broadcast_arrays(low, high, point)[:2], strict=True)],
            options={"maxiter": _MAX_ITER, "gtol": _GTOL, "ftol": _FTOL},
        )
        if best is None or result.fun < best.fun:
            best = result
    # The bounds of the logarithms may have rounding errors.
    return np.clip(np.exp(best.x), *bounds)


def longest_tied(
    likelihood: LengthScaleLikelihood, theta: Array, others: Sequence[Array]
) -> Array:
    """Return the longest of `others` that is as likely as `theta`, or `theta`."""
    least = likelihood.value(np.log(theta)) + _TIE
    ties = (
        other
        for other in sorted(others, key=np.sum, reverse=True)
        if (other >= _LONGER * theta).all() and likelihood.value(np.log(other)) <= least
    )
    return next(ties, theta)


#: Range of noise deviations to search, in deviations of the model's prior. With lower
#: limits, ripples and steps of an objective would be mistaken for noise and smoothed
#: away.
BOUNDS = (0.5, 1.0)
#: Start of the climb. Length scales start at the first number or more.
_START_THETA, _START_NOISE = 0.3, 0.6
#: A climb gains a few nats. It is skipped if its start falls short by more than this.
_CLIMB = 4.0


def strong_noise(
    likelihood: LengthScaleLikelihood,
    theta: Array,
    bounds: tuple[float, float],
    evidence: float,
    start: tuple[Array, float] | None = None,
) -> tuple[Array, float] | None:
    """Return length scales and noise that are far more probable; see `Models`.

    The likelihood must fit the noise; its own noise is the assumed noise.
    """
    if likelihood.noise >= BOUNDS[0] or not len(likelihood.z):
        return None
    most = likelihood.value(np.log([*theta, likelihood.noise])) - evidence
    point = np.array([*np.maximum(theta, _START_THETA), _START_NOISE])
    if start is not None:
        point = np.array([*start[0], start[1]])
    elif likelihood.value(np.log(point)) > most + _CLIMB:
        return None
    low, high = np.full((2, len(point)), np.reshape(bounds, (2, 1)))
    low[-1], high[-1] = BOUNDS
    point = fit_length_scale(likelihood, (low, high), [point])
    if likelihood.value(np.log(point)) > most:
        return None
    return point[:-1], float(point[-1])
