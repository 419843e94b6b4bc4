"""Estimates of a model's hyperparameters from the told points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.surrogate._factor_cache import FactorCache
from skrobustbo.surrogate._likelihood import (
    LengthScaleLikelihood,
    fit_length_scale,
    longest_tied,
    strong_noise,
)
from skrobustbo.surrogate._posterior import Candidate
from skrobustbo.surrogate._priors import Prior
from skrobustbo.surrogate._sampling import slice_sample

Array = NDArray[np.float64]

#: Points that an estimate at every step looks at.
_MOST_AT_EACH_STEP = 300
Indices = NDArray[np.intp]


class Fits:
    """What `Models` says of the hyperparameters: the most probable ones, and draws."""

    X: Array
    z: Array
    shift: float
    scale: float
    groups: list[Indices]
    _cache: FactorCache
    _rng: np.random.Generator | Callable[[], np.random.Generator] | None

    @property
    def noise(self) -> float:
        """Standard deviation of the noise, in the units that the model sees."""
        return self._cache.noise

    @cached_property
    def rng(self) -> np.random.Generator:
        """Source of the draws of `sample`, which few policies need."""
        if callable(self._rng):
            return self._rng()
        return np.random.default_rng(0) if self._rng is None else self._rng

    @property
    def n(self) -> int:
        """Number of told points."""
        return len(self.X)

    def fit(
        self,
        kernel: Kernel,
        prior: Prior,
        bounds: tuple[float | Array, float | Array],
        starts: Sequence[float | Array],
        *,
        per_parameter: bool = False,
        ties: str | None = None,
    ) -> Array:
        """Return the length scales of highest posterior given the told points.

        Parameters
        ----------
        kernel : Kernel
            The kernel at length scale 1.
        prior : Prior
            Prior of each length scale.
        bounds : (float, float) or pair of arrays of shape (n_parameters,) or (1,)
            Shortest and longest length scale allowed, the same for all or one each.
        starts : list of float or array
            Length scales to start from.
        per_parameter : bool, default=False
            One length scale per parameter instead of one for all.
        ties : {"longest"} or None, default=None
            "longest": where a start half as long again is as likely, that one.

        Returns
        -------
        theta : array of shape (n_parameters,) or (1,)
            In unit-cube coordinates.
        """
        likelihood = self._likelihood(kernel, prior, per_parameter)
        shaped = _shaped(starts, likelihood)
        theta = fit_length_scale(likelihood, bounds, shaped)
        if ties is None or not self.n:
            return theta
        return longest_tied(likelihood, theta, shaped)

    def fit_with_variance(
        self,
        kernel: Kernel,
        prior: Prior,
        bounds: Sequence[tuple[float, float]],
        start: tuple[Array, float],
        time: Kernel | None = None,
    ) -> tuple[Array, float]:
        """Return the length scales and the output variance of highest posterior.

        It is meant for every step: at most 300 of the told points, evenly spaced in
        the order told, are looked at.

        Parameters
        ----------
        kernel : Kernel
            The kernel at length scale 1 and variance 1.
        prior : Prior
            Prior of each length scale; that of the variance is flat.
        bounds : [(float, float), (float, float)]
            Shortest and longest length scale allowed, least and greatest variance.
        start : (array of shape (n_parameters,), float)
            Length scales and a variance to start from.
        time : Kernel, optional
            A kernel in time that multiplies the one in space, where the models are
            those over points and time.

        Returns
        -------
        theta : array of shape (n_parameters,)
            In unit-cube coordinates.
        variance : float
            Of the model's units squared.
        """
        (X, z), errors = self._fitted, self._fitted_errors
        every = max(1, -(-len(z) // _MOST_AT_EACH_STEP))
        X, z = X[::every], z[::every]
        errors = None if errors is None else errors[::every]
        modulation = None if time is None else time(X)
        space = X if time is None else X[:, :-1]
        likelihood = self._likelihood(
            *(kernel, prior, True),
            data=(space, z),
            errors=errors,
            fits_variance=True,
            modulation=modulation,
        )
        low, high = np.repeat(np.transpose(bounds), [len(self.groups), 1], axis=1)
        found = fit_length_scale(likelihood, (low, high), [np.append(*start)])
        return found[:-1], float(found[-1])

    def sample(
        self,
        kernel: Kernel,
        prior: Prior,
        bounds: tuple[float, float],
        starts: Sequence[float | Array],
        n: int,
        *,
        burn_in: int = 0,
        thin: int = 1,
        per_parameter: bool = False,
    ) -> Array:
        """Return draws from the posterior of the length scales given the told points.

        Slice sampling of their logarithms, with `rng`.

        Parameters
        ----------
        kernel : Kernel
            The kernel at length scale 1.
        prior : Prior
            Prior of each length scale.
        bounds : (float, float)
            Shortest and longest length scale allowed.
        starts : list of float or array
            Length scales; the chain starts from those of highest posterior.
        n : int
            Number of draws.
        burn_in, thin : int
            Sweeps before the first draw, and for each draw.
        per_parameter : bool, default=False
            One length scale per parameter instead of one for all.

        Returns
        -------
        thetas : array of shape (n, n_parameters) or (n, 1)
            In unit-cube coordinates; a chain goes on from the last one.
        """
        likelihood = self._likelihood(kernel, prior, per_parameter)
        points = [np.log(np.clip(s, *bounds)) for s in _shaped(starts, likelihood)]
        draws = slice_sample(
            likelihood.log_density,
            max(points, key=likelihood.log_density) if len(points) > 1 else points[0],
            n,
            rng=self.rng,
            bounds=(math.log(bounds[0]), math.log(bounds[1])),
            burn_in=burn_in,
            thin=thin,
        )
        return np.clip(np.exp(draws), *bounds)

    def strong_noise(
        self,
        kernel: Kernel,
        prior: Prior,
        bounds: tuple[float, float],
        theta: Array,
        evidence: float,
        start: tuple[Array, float] | None = None,
    ) -> tuple[Array, float] | None:
        """Return length scales and noise, if the values told seem to be mostly noise.

        Parameters
        ----------
        kernel, prior, bounds
            As for `fit`.
        theta : array of shape (n_parameters,)
            What `fit` returned, one length scale per parameter.
        evidence : float
            Nats of log posterior by which they must be ahead of `theta` and `noise`.
        start : (array of shape (n_parameters,), float), optional
            An earlier result to begin with.

        Returns
        -------
        found : (array of shape (n_parameters,), float) or None
            Noise of at least half a deviation of the prior.
        """
        likelihood = self._likelihood(kernel, prior, True, fits_noise=True)
        return strong_noise(likelihood, theta, bounds, evidence, start)

    def _likelihood(
        self,
        kernel: Kernel,
        prior: Prior,
        per_parameter: bool,
        data: tuple[Array, Array] | None = None,
        **fitted: Any,
    ) -> LengthScaleLikelihood:
        """Return the likelihood given `data`, else all that there are."""
        groups = self.groups if per_parameter else [np.concatenate(self.groups)]
        X, z = self._fitted if data is None else data
        fitted.setdefault("errors", self._fitted_errors)
        kernel = self._cache.kernel_of(kernel, X.shape[1])
        return LengthScaleLikelihood(
            kernel, X, z, noise=self.noise, groups=groups, prior=prior, **fitted
        )

    @property
    def _fitted(self) -> tuple[Array, Array]:
        """The told points, and their targets, that hyperparameters are fitted to."""
        raise NotImplementedError

    @property
    def _fitted_errors(self) -> Array | None:
        """Variance of the own error of each of those values, in units of the model."""
        raise NotImplementedError

    def fit_value(
        self,
        model: Callable[[float], Candidate],
        bounds: tuple[float, float],
        start: float,
    ) -> float:
        """Return a positive hyperparameter of highest likelihood on the told points.

        Brent's bounded search in its logarithm, no further than a factor e**2 from
        where it starts: one that is repeated as values come in follows a maximum.

        Parameters
        ----------
        model : callable
            Value of the hyperparameter to candidate.
        bounds : (float, float)
            Least and greatest value allowed.
        start : float
            An earlier estimate.

        Returns
        -------
        value : float
        """
        around, reach = math.log(start), 2.0
        result = minimize_scalar(
            lambda log_value: -self._evidence(model(math.exp(log_value))),
            bounds=(
                max(math.log(bounds[0]), around - reach),
                min(math.log(bounds[1]), around + reach),
            ),
            method="bounded",
            options={"xatol": 0.02},
        )
        return math.exp(float(result.x))

    def _evidence(self, candidate: Candidate) -> float:
        X, z = self._fitted
        mean = self._mean(candidate)
        targets = z if mean is None else z - mean(X)
        weights: float | Array = 1.0
        if (errors := self._fitted_errors) is not None:
            variance = self._cache.noise_of(candidate) ** 2
            weights = variance / (variance + errors)
        regressor = self._cache.new(candidate, X.shape[1], weights)._refactor(X)
        return regressor._given(targets).log_marginal_likelihood_value_

    def _mean(self, candidate: Candidate) -> Callable[[Array], Array] | None:
        mean = candidate.mean
        if mean is None:
            return None
        return lambda X: (np.asarray(mean(X), dtype=float) - self.shift) / self.scale


def _shaped(
    starts: Sequence[float | Array], likelihood: LengthScaleLikelihood
) -> list[Array]:
    """Return each start as one length scale per group."""
    k = len(likelihood.groups)
    return [np.broadcast_to(start, k).astype(float) for start in starts]
