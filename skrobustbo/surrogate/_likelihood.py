"""Fitting length scales, and noise, by (penalised) marginal likelihood.

A prior has two densities, and they differ. `log_density` is what a fit maximises: its
peak is the prior's usual mode, that of theta for a Gamma law, that of log theta (the
median) for a log-normal one. `log_density_of_log` is what a sampler of log theta needs:
the density with respect to log theta, which for a density p of theta is theta p(theta).
A peak moves with the variable in which it is sought; a law does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.kernels import radial, with_length_scale
from skrobustbo.kernels._radial import NominalKernel, differ

Array = NDArray[np.float64]

_LOG_2PI = math.log(2 * math.pi)
_STEP = 1e-5
#: A climb ends where no logarithm of a length scale promises more than so many nats per
#: unit: data tell no more of it, and further digits would cost a third of the calls.
_GTOL, _FTOL = 1e-2, 1e-6
#: Climbs, from the starts of highest posterior, and iterations of each.
_N_CLIMBS, _MAX_ITER = 2, 50


class Prior(Protocol):
    """What the likelihood fit and the sampler need of a prior."""

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return the log density (up to a constant) and its gradient in log theta."""
        ...

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return the log density with respect to log theta (up to a constant)."""
        ...


@dataclass(frozen=True)
class LogNormalPrior:
    """Log-normal prior: log theta is Gaussian.

    Parameters
    ----------
    median : float, default=0.7
        Median length scale, in unit-cube coordinates.
    sigma : float, default=1.5
        Standard deviation of log theta.

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

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return the log density of log theta (up to a constant) and its gradient."""
        z = (log_theta - math.log(self.median)) / self.sigma
        return -0.5 * float(z @ z), -z / self.sigma

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return the log density with respect to log theta: `log_density` is that."""
        return self.log_density(log_theta)[0]


@dataclass(frozen=True)
class GammaPrior:
    """Gamma prior on theta, the fully Bayesian baseline of the papers.

    Parameters
    ----------
    shape : float, default=3.0
        Shape of the law.
    rate : float, default=6.0
        Rate, per unit of the unit cube; the mode is ``(shape - 1) / rate``.

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

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return the log density of theta (up to a constant), gradient in log theta."""
        theta = np.exp(log_theta)
        value = (self.shape - 1) * log_theta - self.rate * theta
        return float(value.sum()), (self.shape - 1) - self.rate * theta

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return the log density with respect to log theta.

        That of theta, times theta for each of them: d theta = theta d log theta.
        """
        return self.log_density(log_theta)[0] + float(log_theta.sum())


@dataclass(frozen=True)
class FlatPrior:
    """No preference: the estimate is the maximum likelihood one."""

    def log_density(self, log_theta: Array) -> tuple[float, Array]:
        """Return zero and a zero gradient."""
        return 0.0, np.zeros_like(log_theta)

    def log_density_of_log(self, log_theta: Array) -> float:
        """Return zero: a sampler sees the uniform law of log theta in its bounds."""
        return 0.0


class LengthScaleLikelihood:
    """Log posterior of length scales given data, as a function of their logarithms.

    Parameters
    ----------
    kernel : Kernel
        The kernel at length scale 1 (its own length scales are multiplied).
    X : array of shape (n, n_columns)
        Encoded points.
    z : array of shape (n,)
        Targets in the units that the model sees.
    noise : float
        Standard deviation of the noise, in the units of `z`.
    groups : list of integer arrays
        Columns that share one length scale; there are as many length scales as groups.
    prior : Prior
        Penalty on the logarithms.
    fits_noise : bool, default=False
        Whether the noise is fitted as well: its logarithm is then the last coordinate,
        under a flat prior, and `noise` is only what is assumed elsewhere.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Array,
        z: Array,
        *,
        noise: float,
        groups: Sequence[NDArray[np.intp]],
        prior: Prior,
        fits_noise: bool = False,
    ) -> None:
        self.kernel, self.X, self.z = kernel, X, z
        self.noise, self.groups, self.prior = noise, groups, prior
        self.fits_noise = fits_noise
        self._owner = np.zeros(X.shape[1], dtype=np.intp)
        for i, columns in enumerate(groups):
            self._owner[columns] = i
        closed = radial(kernel, np.zeros(1)) is not None
        self._scaled = _in_own_units(kernel, X) if closed else None
        #: Squared distances in each nominal column of the closed forms.
        self._apart: dict[int, Array] = {}
        if closed and isinstance(kernel, NominalKernel):
            scales = np.broadcast_to(kernel.kernel.length_scale, X.shape[1:])
            self._apart = {
                c: differ(X[:, c], X[:, c]) / scales[c] ** 2 for c in kernel.columns
            }

    def columns(self, log_theta: Array) -> Array:
        """Return the length scale of each encoded column, shape (n_columns,)."""
        theta: Array = np.exp(log_theta)[self._owner]
        return theta

    def _distances(self, log_theta: Array) -> tuple[Array, Array]:
        """Return the points in units of the length scales, and their distances."""
        scales = self.columns(log_theta)
        X: Array = self._scaled / scales  # type: ignore[operator] # see __init__
        if not self._apart:
            return X, cdist(X, X)
        squares = cdist(X, X, "sqeuclidean")
        for c, apart in self._apart.items():
            squares += apart / scales[c] ** 2
        return X, np.sqrt(squares)

    def _split(self, point: Array) -> tuple[Array, float]:
        """Return the logarithms of the length scales, and the noise."""
        if self.fits_noise:
            return point[:-1], math.exp(point[-1])
        return point, self.noise

    def __call__(self, point: Array) -> tuple[float, Array]:
        """Return minus the log posterior and its gradient."""
        if self._scaled is None:
            return self._by_differences(point)
        log_theta, noise = self._split(point)
        X, r = self._distances(log_theta)
        K, h = radial(self.kernel, r)  # type: ignore[misc] # see __init__
        K.flat[:: len(K) + 1] += noise**2  # the diagonal
        value, alpha, L = _solve(K, self.z)
        if L is None:
            return self._penalised(point, value, np.zeros(len(point)))
        # d(-log p)/dlog(l_j) = -1/2 sum_ab G_ab (x_aj - x_bj)^2, the scaled distances,
        # G = (alpha alpha^T - K^-1) h. LAPACK gives one half of K^-1: it counts twice,
        # and the diagonal, where distances are zero, not at all.
        half_inverse, _ = lapack.dpotri(L, lower=1, overwrite_c=1)
        # d(-log p)/dlog(noise) = -noise^2 tr(alpha alpha^T - K^-1)
        spare = float(alpha @ alpha - half_inverse.trace()) if self.fits_noise else 0.0
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
        slopes += [-(noise**2) * spare] if self.fits_noise else []
        return self._penalised(point, value, np.array(slopes))

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

        Up to a constant. The prior enters by its density of log theta, while calls
        maximise with the one of its usual mode.
        """
        return self.prior.log_density_of_log(log_theta) - self._value(log_theta)

    def _value(self, point: Array) -> float:
        log_theta, noise = self._split(point)
        if self._scaled is None:
            K = with_length_scale(self.kernel, self.columns(log_theta))(self.X)
        else:
            _, r = self._distances(log_theta)
            K, _ = radial(self.kernel, r)  # type: ignore[misc] # see __init__
        K.flat[:: len(K) + 1] += noise**2  # the diagonal
        return _solve(K, self.z)[0]

    def _by_differences(self, point: Array) -> tuple[float, Array]:
        steps = _STEP * np.eye(len(point))
        values = [(self._value(point + e), self._value(point - e)) for e in steps]
        slopes = np.array([up - down for up, down in values]) / (2 * _STEP)
        slopes[~np.isfinite(slopes)] = 0.0  # where K is singular
        return self._penalised(point, self._value(point), slopes)


def _in_own_units(kernel: Kernel, X: Array) -> Array:
    """Return points in units of a kernel's length scales, nominal columns at 0."""
    if not isinstance(kernel, NominalKernel):
        units: Array = X / kernel.length_scale
        return units
    units = X / kernel.kernel.length_scale
    units[:, kernel.columns] = 0.0
    return units


def _solve(K: Array, z: Array) -> tuple[float, Array, Array | None]:
    """Return minus the log likelihood, K^-1 z and K's factor; K is overwritten.

    Where K is singular the likelihood is minus infinite, and there is no factor.
    """
    # The transpose of a symmetric matrix is itself, in the order that LAPACK reads.
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
    """Return the length scales, one per group, of highest posterior.

    Parameters
    ----------
    likelihood : LengthScaleLikelihood
        The function to maximise.
    bounds : (float, float) or pair of arrays of shape (n_groups,)
        Shortest and longest length scale allowed, in unit-cube coordinates: the same
        for all, or one each.
    starts : list of arrays of shape (n_groups,)
        Length scales to start from. Without any data the first is returned. Where all
        length scales are short the likelihood is flat, and a climb that lands there
        stays: many starts are compared before a few are climbed.
    """
    if not len(likelihood.z):
        first: Array = np.clip(starts[0], *bounds)
        return first
    # Of small integer types the logarithm would be one of few digits.
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
    # The logarithms' bounds may be off by a rounding error.
    theta: Array = np.clip(np.exp(best.x), *bounds)
    return theta


#: Deviations of the noise that are looked for, in those of the model's prior. Below,
#: ripples and steps of an objective would be taken for noise, and smoothed away.
BOUNDS = (0.5, 1.0)
#: Where the climb begins: length scales are no shorter than the first number.
_START_THETA, _START_NOISE = 0.3, 0.6
#: A climb gains a few nats. Where its start lacks more than that, it is not made.
_CLIMB = 4.0


def strong_noise(
    likelihood: LengthScaleLikelihood,
    theta: Array,
    bounds: tuple[float, float],
    evidence: float,
    start: tuple[Array, float] | None = None,
) -> tuple[Array, float] | None:
    """Return length scales and noise that are far more probable; see `Fits`.

    The likelihood is one that fits the noise; its own is the one assumed.
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
