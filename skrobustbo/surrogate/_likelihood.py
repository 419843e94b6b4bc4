"""Fits of length scales, noise and output variance by penalised likelihood."""

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
    """Log posterior of the length scales as a function of their logarithms.

    Parameters
    ----------
    kernel : Kernel
        Base kernel. Its length scales are multiplied by the fitted length scales.
    X : array of shape (n, n_columns)
        Encoded points.
    z : array of shape (n,)
        Targets in the model's units.
    noise : float
        Standard deviation of the noise, in the units of `z`.
    groups : list of integer arrays
        Groups of columns that share a length scale.
    prior : Prior
        Prior of the length scales.
    fits_noise : bool, default=False
        Whether to fit the noise as well. Its logarithm is then the last coordinate and
        has a flat prior, and `noise` is only used as a reference by `strong_noise`.
    fits_variance : bool, default=False
        Whether to fit the output variance as well. The logarithm of this factor on the
        kernel is then appended as another coordinate with a flat prior.
    modulation : array of shape (n, n), optional
        Factors on the entries of the kernel matrix, such as a time kernel.
    errors : array of shape (n,), optional
        Error variance of each target, in addition to the noise variance.
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
        """Return the points scaled by the length scales, and their distances."""
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
        """Multiply kernel values or slopes by the modulation and the variance."""
        if self.modulation is not None:
            K = K * self.modulation
        return K * variance if self.fits_variance else K

    def _add_noise(self, K: Array, noise: float) -> None:
        diagonal = K.reshape(-1)[:: len(K) + 1]
        diagonal += noise**2
        if self.errors is not None:
            diagonal += self.errors

    def __call__(self, point: Array) -> tuple[float, Array]:
        """Return the negative log posterior and its gradient."""
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
        """Whether the noise or the output variance is fitted."""
        return self.fits_noise or self.fits_variance

    def _slopes_of_sizes(
        self, alpha: Array, precisions: Array, noise: float
    ) -> list[float]:
        """Return the derivatives with respect to the fitted logarithms of the sizes."""
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
        """Return the negative log posterior."""
        return self._value(point) - self.prior.log_density(self._split(point)[0])[0]

    def log_density(self, log_theta: Array) -> float:
        """Return the unnormalised log posterior density with respect to log theta.

        Samplers use this density, which includes the prior density of log theta. Fits
        use the prior density with the usual mode instead.
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
    """Divide points by a kernel's length scales, and set nominal columns to 0."""
    if not isinstance(kernel, NominalKernel):
        return X / kernel.length_scale
    units = X / kernel.kernel.length_scale
    units[:, kernel.columns] = 0.0
    return units


def _solve(K: Array, z: Array) -> tuple[float, Array, Array | None]:
    """Return the negative log likelihood, K^-1 z and the factor of K.

    K is overwritten. If K is singular, the results are infinity, zeros and None.
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
    """Return the length scales with the highest posterior density, one per group.

    Parameters
    ----------
    likelihood : LengthScaleLikelihood
        The function to maximise.
    bounds : (float, float) or pair of arrays of shape (n_groups,)
        Lower and upper bounds on the length scales, in unit-cube coordinates. Each
        bound is a scalar for all groups or an array with one entry per group.
    starts : list of arrays of shape (n_groups,)
        Initial length scales. The optimisation starts from the best few of them,
        because it would get stuck where all length scales are short and the likelihood
        is flat. Without data, the first one is returned.
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
    """Return the longest length scales in `others` that are as likely as `theta`.

    If there are none, return `theta`.
    """
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
    """Return length scales and noise if strong noise is far more probable.

    The likelihood must have ``fits_noise=True``. See `Models.strong_noise`.
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
