"""Posterior of a candidate model: mean, standard deviation and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.linalg.lapack import dtrtri
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._arrays import Array, Indices
from skrobustbo._names import wrong
from skrobustbo.kernels import (
    by_differences,
    diag_gradient,
    kernel_and_slopes,
    length_scales,
)
from skrobustbo.surrogate._cholesky import CholeskyFactor
from skrobustbo.surrogate._gpr import IncrementalGPR

#: Number of covariances per block of a prediction. Larger blocks exceed the processor's
#: cache, and the operating system allocates each of their temporary arrays anew.
_BLOCK = 2**15
_MIN_VARIANCE = 1e-20
#: Added to the variances of joint draws, because close points have a singular
#: covariance.
_JITTER = 1e-8


@dataclass(frozen=True, eq=False)
class Candidate:
    """Candidate model of the objective.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel on encoded points, with k(x, x) <= 1.
    mean : callable, optional
        Prior mean. It maps encoded points of shape (n, n_columns) to values of shape
        (n,) in units of the objective. The model is fitted to ``y - mean(X)``.
    norm_bound : float, default=1.0
        Bound on the norm of the objective in the function space of the kernel.
    label : str, optional
        Name in histories and plots. By default, this is ``str(kernel)``.
    noise : float, optional
        Standard deviation of the noise, in the model's units. By default, the noise of
        the policy is used.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from skrobustbo import Candidate
    >>> Candidate(Matern(length_scale=0.2, nu=2.5)).label
    'Matern(length_scale=0.2, nu=2.5)'
    """

    kernel: Kernel
    mean: Callable[[Array], Array] | None = None
    norm_bound: float = 1.0
    label: str = ""
    noise: float | None = None

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", str(self.kernel))
        if self.noise is not None and not 0 < self.noise < math.inf:
            raise wrong("noise", "a Candidate", "a positive number or None", self.noise)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Key of the factor in the cache, which contains the kernel and the noise."""
        return (*_frozen_params(self.kernel), self.noise)


def _frozen_params(kernel: Kernel) -> tuple[Any, ...]:
    params = kernel.get_params(deep=False)
    return (type(kernel), *((k, _frozen(v)) for k, v in sorted(params.items())))


def _frozen(value: Any) -> Any:
    if isinstance(value, Kernel):
        return _frozen_params(value)
    if isinstance(value, np.ndarray):
        return (value.shape, value.tobytes())
    if isinstance(value, dict):
        return tuple((k, _frozen(v)) for k, v in sorted(value.items()))
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


@dataclass(frozen=True, eq=False)
class ReferencePoints:
    """Feasible points of the search space of a model.

    Attributes
    ----------
    points : array of shape (m, n_columns)
        All feasible points, or a fixed sample of them if there are too many.
    n_points : int or None
        Number of feasible points, or None if there are infinitely many.
    """

    points: Array
    n_points: int | None = None


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior of a candidate model, in the model's units.

    The posterior is computed from the factor and weights of a scikit-learn regressor.
    The last rows may be pending points, which reduce the standard deviation without
    changing the mean.

    Parameters
    ----------
    candidate : Candidate
        The candidate model.
    regressor : IncrementalGPR
        Gaussian process of the candidate, fitted to the told points followed by the
        pending points. The prior mean is subtracted from the targets of the told
        points.
    n_told : int
        Number of told points.
    noise : float
        Standard deviation of the noise, in units of the targets.
    mean : callable, optional
        Prior mean, in units of the targets.
    space : ReferencePoints, optional
        All feasible points or a sample of them, if known.
    log_weight : float, default=0.0
        Sum of the logarithms of the weights by which the noise variances are divided.
    """

    candidate: Candidate
    regressor: IncrementalGPR
    n_told: int
    noise: float
    mean: Callable[[Array], Array] | None = None
    space: ReferencePoints | None = None
    log_weight: float = 0.0

    @property
    def reference_points(self) -> ReferencePoints | None:
        """All feasible points or a sample of them, if known."""
        return self.space

    @property
    def n_points(self) -> int | None:
        """Number of feasible points, or None if there are infinitely many."""
        return None if self.space is None else self.space.n_points

    # Cached because every prediction uses them.

    @cached_property
    def X(self) -> Array:
        """Told points followed by pending points, shape (n + p, n_columns)."""
        return self.regressor.X_train_

    @cached_property
    def kernel(self) -> Kernel:
        """The candidate's kernel, which may treat some columns as nominal."""
        return self.regressor.kernel_

    @cached_property
    def _factor(self) -> CholeskyFactor:
        return self.regressor._factor

    @cached_property
    def _w(self) -> Array:
        return self.regressor._whitened

    @cached_property
    def _alpha(self) -> Array:
        return self.regressor.alpha_

    @property
    def length_scales(self) -> Array:
        """Length scale of each column, with inf for columns that have none."""
        return length_scales(self.kernel, self.X.shape[1])

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Return the mean and standard deviation at `Z`, both of shape (m,)."""
        mu, sigma = np.empty(len(Z)), np.empty(len(Z))
        size = max(32, _BLOCK // (len(self.X) + 1))
        for start in range(0, len(Z), size):
            block = slice(start, start + size)
            mu[block], sigma[block] = self._predict_block(Z[block])
        return mu, sigma

    def _predict_block(self, Z: Array) -> tuple[Array, Array]:
        kernel = self.kernel
        # k(Z, X)^T has the column order in which the factor solves.
        K = kernel(Z, self.X).T if len(self.X) else np.empty((0, len(Z)))
        V = self._factor.solve(K)
        mu = self._w @ V
        variance = kernel.diag(Z) - np.einsum("ij,ij->j", V, V)
        return self._shifted(mu, Z), np.sqrt(np.maximum(variance, _MIN_VARIANCE))

    def draws(self, Z: Array, normals: Array) -> Array:
        """Draw joint samples of the noise-free values at `Z`, shape (m, k).

        `normals` contains independent standard normal numbers of the same shape.
        """
        V = self._factor.solve(self.kernel(Z, self.X).T)
        covariance = self.kernel(Z) - V.T @ V
        covariance[np.diag_indices(len(Z))] += _JITTER
        mu = self._shifted(self._w @ V, Z)
        return mu[:, None] + np.linalg.cholesky(covariance) @ normals

    def _shifted(self, mu: Array, Z: Array) -> Array:
        return mu if self.mean is None else mu + self.mean(Z)

    @property
    def told_means(self) -> Array:
        """Posterior means at the told points, shape (n_told,).

        They are computed as z - D alpha, which equals K alpha for noise variances D and
        alpha = (K + D)^-1 z, so no new prediction is needed.
        """
        n, variance = self.n_told, self.regressor.alpha
        noise = variance[:n] if isinstance(variance, np.ndarray) else variance
        means = self.regressor.y_train_[:n] - noise * self._alpha[:n]
        return self._shifted(means, self.X[:n])

    @property
    def told_targets(self) -> Array:
        """Targets of the told points minus the prior mean, shape (n_told,)."""
        return self.regressor.y_train_[: self.n_told]

    def of_targets(self, z: Array) -> Self:
        """Return the posterior given the same points with different targets."""
        return replace(self, regressor=self.regressor._given(z), mean=None)

    def residuals(self, blocks: Sequence[Indices]) -> list[Array]:
        """Return the leave-one-block-out residuals of the told points.

        The residuals of a block B are (K^-1_BB)^-1 alpha_B, where alpha = K^-1 z and K
        includes the noise. Rasmussen and Williams (2006, section 5.4.2) give the
        formula for a single point.

        Parameters
        ----------
        blocks : sequence of integer arrays
            Indices of the told points in each block.

        Returns
        -------
        residuals : list of arrays
            Residuals of each block, in the order of `blocks`.
        """
        n = self.n_told
        inverse, _ = dtrtri(self._factor.lower[:n, :n], lower=1)
        alpha = self._alpha[:n]
        return [
            np.linalg.solve(inverse[:, rows].T @ inverse[:, rows], alpha[rows])
            for rows in blocks
        ]

    @property
    def left_out_errors(self) -> Array:
        """Leave-one-out errors divided by their standard deviations, shape (n_told,).

        They are computed as alpha_i / sqrt(K^-1_ii), where alpha = K^-1 z and K
        includes the noise (Rasmussen and Williams 2006, section 5.4.2).
        """
        n = self.n_told
        inverse, _ = dtrtri(self._factor.lower[:n, :n], lower=1)
        precision = np.einsum("ij,ij->j", inverse, inverse)
        return self._alpha[:n] / np.sqrt(precision)

    def told_deviation(self, x: Array) -> float:
        """Return the standard deviation at a point, ignoring pending points.

        Elimination tests use the sum of these standard deviations, because confidence
        bands are based on observed values.
        """
        kernel, Z = self.kernel, x[None, :]
        if not self.n_told:
            return math.sqrt(float(kernel.diag(Z)[0]))
        v = self._factor.solve(kernel(self.X, Z)[:, 0])[: self.n_told]
        variance = float(kernel.diag(Z)[0] - v @ v)
        return math.sqrt(max(variance, _MIN_VARIANCE))

    def gradient(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """Return the mean, the standard deviation and their gradients at points.

        Parameters
        ----------
        Z : array of shape (m, n_columns)
            Points, feasible or infeasible.

        Returns
        -------
        mu, sigma : arrays of shape (m,)
        d_mu, d_sigma : arrays of shape (m, n_columns)
        """
        kernel = self.kernel
        K, weighed = kernel_and_slopes(kernel, Z, self.X)
        V = self._factor.solve(K.T)
        variance = kernel.diag(Z) - np.einsum("ij,ij->j", V, V)
        sigma = np.sqrt(np.maximum(variance, _MIN_VARIANCE))
        C = self._factor.solve(V, transposed=True)
        d_variance = diag_gradient(kernel, Z) - 2 * weighed(C.T)
        d_mu = weighed(self._alpha[None, :])
        if self.mean is not None:
            d_mu += by_differences(self.mean, Z)
        mu = self._shifted(self._w @ V, Z)
        return mu, sigma, d_mu, d_variance / (2 * sigma[:, None])

    @property
    def log_marginal_likelihood(self) -> float:
        """Log marginal likelihood of the told targets."""
        return self._factor.log_density(self._w[: self.n_told])

    @property
    def information_gain(self) -> float:
        """Information gain of the told points, 1/2 log|I + K / noise**2|."""
        n = self.n_told
        log_noise = n * math.log(self.noise) - 0.5 * self.log_weight
        return self._factor.log_diagonal(n) - log_noise

    @property
    def output_scale(self) -> float:
        """Maximum likelihood estimate of a common factor on all standard deviations.

        If the covariance of the told targets is v**2 (K + noise**2 I), the estimate is
        v**2 = z^T (K + noise**2 I)^-1 z / n. The factor v does not change the posterior
        mean.
        """
        n = self.n_told
        return math.sqrt(float(self._w @ self._w) / n) if n else 1.0


@dataclass(frozen=True, eq=False)
class PresentPosterior(Posterior):
    """Posterior over points and time that predicts for a fixed time."""

    now: float = field(kw_only=True)

    @property
    def reference_points(self) -> None:
        """None, because the reference points contain no time."""
        return None

    @property
    def length_scales(self) -> Array:
        """Length scale of each column except time."""
        return super().length_scales[:-1]

    def _at_present(self, Z: Array) -> Array:
        return np.column_stack([Z, np.full(len(Z), self.now)])

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Return the current mean and standard deviation at `Z`."""
        return super().predict(self._at_present(Z))

    def told_deviation(self, x: Array) -> float:
        """Return the current standard deviation at a point, ignoring pending points."""
        return super().told_deviation(np.append(x, self.now))

    def gradient(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """Return the current mean and standard deviation, and their gradients."""
        mu, sigma, d_mu, d_sigma = super().gradient(self._at_present(Z))
        return mu, sigma, d_mu[:, :-1], d_sigma[:, :-1]
