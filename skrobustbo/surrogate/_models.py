"""Surrogate models for policies, and views of the points to which they are fitted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._arrays import Array, Indices
from skrobustbo.surrogate._factor_cache import (
    FactorCache,
    chosen_at,
    fitted_rows,
    latest_rows,
)
from skrobustbo.surrogate._gpr import IncrementalGPR
from skrobustbo.surrogate._likelihood import (
    LengthScaleLikelihood,
    fit_length_scale,
    longest_tied,
    strong_noise,
)
from skrobustbo.surrogate._posterior import (
    Candidate,
    Posterior,
    PresentPosterior,
    ReferencePoints,
)
from skrobustbo.surrogate._priors import Prior
from skrobustbo.surrogate._sampling import slice_sample

#: Points, their targets and, if any, the variance of each target's error.
Data = tuple[Array, Array, Array | None]

#: A value without information, in the model's units.
_LARGEST_ERROR = 1e50
#: Number of points used by an estimate that is repeated at every step.
_MOST_AT_EACH_STEP = 300


@dataclass(frozen=True, eq=False)
class View:
    """Points and values to which models are fitted.

    Parameters
    ----------
    X : array of shape (n, n_columns)
        Told points in encoded form.
    z : array of shape (n,)
        Targets of the told points, in the model's units.
    X_pending : array of shape (p, n_columns), optional
        Points that have been asked but not yet told.
    shift, scale : float
        The model converts an objective value y to the target ``(y - shift) / scale``.
    has_unit : bool, default=True
        Whether `scale` was determined from the values or the settings.
    groups : list of integer arrays, optional
        Encoded columns of each parameter that varies. By default, all columns belong to
        one parameter.
    values : array of shape (n,), optional
        Told values, with nan for failures. By default, these are the targets `z`.
    reference_points : ReferencePoints, optional
        All feasible points or a sample of them, used to bound the information gain.
    ball : callable, optional
        Function that takes a radius, a metric and units. It returns a function that
        maps points to their perturbations.
    n_elsewhere : int, default=0
        Number of other points that count towards the horizon: forgotten points, and
        told or pending points in other branches.
    horizon : int, optional
        Expected number of evaluations, if known.
    start : int, default=0
        Number of told points that precede the points in `X`.
    now : float, optional
        Time of the next point, if the last column of the points contains the time.
    value_stds : array of shape (n,), optional
        Standard deviation of the error of each told value, in units of the objective.
        These errors are added to the model's noise.
    """

    X: Array
    z: Array
    X_pending: Array | None = None
    shift: float = 0.0
    scale: float = 1.0
    has_unit: bool = True
    groups: Sequence[Indices] | None = None
    values: Array | None = None
    reference_points: ReferencePoints | None = None
    ball: Callable[..., Callable[[Array], Array]] | None = None
    n_elsewhere: int = 0
    horizon: int | None = None
    start: int = 0
    now: float | None = None
    value_stds: Array | None = None

    @property
    def told(self) -> Array:
        """The told values, with nan for failures."""
        return self.z if self.values is None else self.values

    @property
    def pending(self) -> Array:
        """The pending points, or an array without rows if there are none."""
        return self.X[:0] if self.X_pending is None else self.X_pending

    def since(self, start: int) -> Self:
        """Return the view without the first `start` told points."""
        return replace(
            self,
            X=self.X[start:],
            z=self.z[start:],
            values=self.told[start:],
            start=self.start + start,
            value_stds=None if self.value_stds is None else self.value_stds[start:],
        )

    def timed(self) -> Self:
        """Return the view with time as an additional last column.

        The times are the numbers of the points, counted from 1.
        """
        rows = np.concatenate([self.X, self.pending])
        times = 1.0 + self.start + np.arange(len(rows))
        rows, n = np.column_stack([rows, times]), len(self.X)
        now = float(self.start + len(rows) + 1)
        return replace(self, X=rows[:n], X_pending=rows[n:], now=now)


class Models:
    """Surrogate models that a policy uses during one call of `suggest`.

    ``models[candidate]`` is the posterior of a candidate model. The cache stores the
    factor of its regressor and extends it row by row. If there are thousands of told
    points, a posterior uses a subset of them.

    Parameters
    ----------
    cache : FactorCache
        Cache for the regressors of the candidates.
    view : View
        The points and their values. Its attributes `X`, `z`, `values`, `shift`,
        `scale`, `groups`, `n_elsewhere` and `horizon` are also attributes of the
        models.
    rng : numpy.random.Generator or callable, optional
        Random number generator for `sample`, or a function that creates one.
    """

    def __init__(
        self,
        cache: FactorCache,
        view: View,
        rng: np.random.Generator | Callable[[], np.random.Generator] | None = None,
    ) -> None:
        self._cache, self._view, self._rng = cache, view, rng
        self.X, self.z, self.values = view.X, view.z, view.told
        self.shift, self.scale = view.shift, view.scale
        self.groups = list(view.groups or [np.arange(self.X.shape[1])])
        self.n_elsewhere, self.horizon = view.n_elsewhere, view.horizon
        self._posteriors: dict[Candidate, Posterior] = {}

    @property
    def noise(self) -> float:
        """Standard deviation of the noise, in the model's units."""
        return self._cache.noise

    @cached_property
    def rng(self) -> np.random.Generator:
        """Random number generator for `sample`, created on first use."""
        if callable(self._rng):
            return self._rng()
        return np.random.default_rng(0) if self._rng is None else self._rng

    @property
    def n(self) -> int:
        """Number of told points."""
        return len(self.X)

    @property
    def unit(self) -> float:
        """The scale of the values, or nan while all values are equal.

        While all values are equal, the scale of later differences is unknown.
        """
        return self.scale if self._view.has_unit else math.nan

    @property
    def best(self) -> float:
        """The largest target among the fully measured values.

        If no value is fully measured, this is the largest of all targets.
        """
        stds = self._view.value_stds
        if stds is None:
            return float(self.z.max())
        measured = self.z[(stds == 0) & np.isfinite(self.values)]
        return float((measured if len(measured) else self.z).max())

    def __getitem__(self, candidate: Candidate) -> Posterior:
        """Return the posterior of a candidate."""
        if candidate not in self._posteriors:
            rows, n_told = self._seen, len(self._active)
            timed = self._view.now is not None
            name = (self._view.start, timed, chosen_at(self.n))
            if self._errors is not None:
                posterior = self.at(candidate)
            else:
                regressor = self._cache.regressor(candidate, rows, n_told, name)
                posterior = self._posterior(candidate, regressor)
            self._posteriors[candidate] = posterior
        return self._posteriors[candidate]

    @cached_property
    def _errors(self) -> Array | None:
        """Error variance of each active value, in the squared units of the model."""
        stds = self._view.value_stds
        if stds is None:
            return None
        # Squares of larger errors would overflow.
        return np.minimum(stds[self._active] / self.scale, _LARGEST_ERROR) ** 2

    @cached_property
    def _active(self) -> Indices:
        """Indices of the told points that posteriors use."""
        if self._view.now is not None:
            return latest_rows(self.n)
        return self._cache.active_rows(self.X, self.values, self._view.start)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Mask of the targets that belong to measured values rather than failures."""
        return np.isfinite(self.values[self._active])

    @property
    def _fitted(self) -> Data:
        """The points, targets and error variances for fitting hyperparameters."""
        some = fitted_rows(len(self._active))
        rows = self._active[some]
        errors = None if self._errors is None else self._errors[some]
        return self.X[rows], self.z[rows], errors

    @cached_property
    def _seen(self) -> Array:
        """The told points that posteriors use, followed by the pending points."""
        return np.concatenate([self.X[self._active], self._view.pending])

    def _posterior(
        self, candidate: Candidate, regressor: IncrementalGPR, log_weight: float = 0.0
    ) -> Posterior:
        z, mean = self.z[self._active], self._mean(candidate)
        n_told, noise = len(z), self._cache.noise_of(candidate)
        if mean is not None:
            z = z - mean(regressor.X_train_[:n_told])
        given, points = regressor._given(z), self._view.reference_points
        parts = candidate, given, n_told, noise, mean, points, log_weight
        if self._view.now is not None:
            return PresentPosterior(*parts, now=self._view.now)
        return Posterior(*parts)

    def at(self, candidate: Candidate) -> Posterior:
        """Return the posterior of a candidate without caching it."""
        if self._errors is not None:
            return self.weighted(candidate, np.ones(self.n))
        regressor = self._cache.new(candidate, self.X.shape[1])
        regressor._hold(self._seen, len(self._active))
        return self._posterior(candidate, regressor)

    def weighted(self, candidate: Candidate, weights: Array) -> Posterior:
        """Return the posterior with weighted noise variances.

        Parameters
        ----------
        candidate : Candidate
            The candidate model.
        weights : array of shape (n,)
            Positive weights by which the noise variances of the told points are
            divided. Pending points have weight 1. The error variances of the values are
            added after the division.
        """
        weights = weights[self._active]
        if self._errors is not None:
            variance = self._cache.noise_of(candidate) ** 2
            weights = variance / (variance / weights + self._errors)
        each = np.concatenate([weights, np.ones(len(self._seen) - len(weights))])
        regressor = self._cache.new(candidate, self.X.shape[1], each)
        regressor._refactor(self._seen)
        return self._posterior(candidate, regressor, float(np.log(weights).sum()))

    def since(self, start: int) -> Models:
        """Return models of the told points from index `start` on.

        Policies with event triggers or windows use it to forget data. No data are
        deleted.
        """
        return self._of(self._view.since(start))

    def seen_as(self, z: Array, slopes: Array) -> Models:
        """Return models of the same points with different targets.

        Parameters
        ----------
        z : array of shape (n,)
            The new targets.
        slopes : array of shape (n,)
            Derivatives of the targets with respect to the values, used to scale the
            errors.
        """
        stds = self._view.value_stds
        if stds is not None:
            stds = stds * slopes * self.scale
        return self._of(replace(self._view, z=z, value_stds=stds))

    def with_errors(self, std: float) -> Models:
        """Return models in which every value has an additional error.

        `std` is the standard deviation of the error, in units of the objective.
        """
        before = self._view.value_stds
        stds = np.hypot(np.zeros(self.n) if before is None else before, std)
        return self._of(replace(self._view, value_stds=stds))

    def timed(self) -> Models:
        """Return models over points and time that predict for the present.

        The i-th told point has time i, counted from 1. The pending points and the next
        point have the subsequent times. The kernels of these models find the time in
        the last column of the points. The posteriors take points without time and
        predict for the time of the next point.
        """
        return self._of(self._view.timed())

    def _of(self, view: View) -> Models:
        return Models(self._cache, view, lambda: self.rng)

    def ball(
        self, eps: float | Mapping[str, float], metric: str, units: str
    ) -> Callable[[Array], Array]:
        """Return a function that computes the feasible perturbations of points.

        Parameters
        ----------
        eps : float or dict of str to float
            Radius, or one radius for each perturbed parameter.
        metric : {"max", "l2"}
            Metric for distances over several parameters.
        units : {"cube", "user"}
            Units of the radius.

        Returns
        -------
        perturb : callable
            Function that maps points of shape (m, n_columns) to perturbed points of
            shape (m, k, n_columns).
        """
        if self._view.ball is None:
            raise ValueError(
                "Expected models that know the feasible perturbations, got models "
                "without them; pass 'ball', such as the method Space.ball."
            )
        return self._view.ball(eps, metric, units)

    def spread(self, theta: Array) -> Array:
        """Expand length scales of parameters to length scales of encoded columns."""
        columns = np.empty(self.X.shape[1])
        each = np.broadcast_to(theta, len(self.groups))
        for group, value in zip(self.groups, each, strict=True):
            columns[group] = value
        return columns

    # Hyperparameters: most probable values and draws ----------------------------------

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
        """Return the most probable length scales given the told points.

        Parameters
        ----------
        kernel : Kernel
            Kernel with a length scale of 1.
        prior : Prior
            Prior of each length scale.
        bounds : (float, float) or pair of arrays of shape (n_parameters,) or (1,)
            Lower and upper bounds on the length scales. Each bound is a scalar or an
            array with one entry per length scale.
        starts : list of float or array
            Initial length scales.
        per_parameter : bool, default=False
            Whether to use one length scale per parameter instead of one for all.
        ties : {"longest"} or None, default=None
            If "longest", prefer initial length scales that are equally likely and at
            least 1.5 times as long.

        Returns
        -------
        theta : array of shape (n_parameters,) or (1,)
            Length scales in unit-cube coordinates.
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
        """Return the most probable length scales and output variance.

        The fit is fast enough to be repeated at every step, because it uses at most 300
        of the told points, evenly spaced in the order in which they were told.

        Parameters
        ----------
        kernel : Kernel
            Kernel with a length scale of 1 and a variance of 1.
        prior : Prior
            Prior of each length scale. The variance has a flat prior.
        bounds : [(float, float), (float, float)]
            Bounds on the length scales, followed by bounds on the variance.
        start : (array of shape (n_parameters,), float)
            Initial length scales and variance.
        time : Kernel, optional
            Time kernel by which `kernel` is multiplied in models over points and time.

        Returns
        -------
        theta : array of shape (n_parameters,)
            Length scales in unit-cube coordinates.
        variance : float
            Output variance in the squared units of the model.
        """
        X, z, errors = self._fitted
        every = max(1, -(-len(z) // _MOST_AT_EACH_STEP))
        X, z = X[::every], z[::every]
        errors = None if errors is None else errors[::every]
        modulation = None if time is None else time(X)
        data = X if time is None else X[:, :-1], z, errors
        likelihood = self._likelihood(
            *(kernel, prior, True, data), fits_variance=True, modulation=modulation
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
        """Draw length scales from their posterior given the told points.

        The logarithms of the length scales are drawn by slice sampling with `rng`.

        Parameters
        ----------
        kernel : Kernel
            Kernel with a length scale of 1.
        prior : Prior
            Prior of each length scale.
        bounds : (float, float)
            Lower and upper bound on the length scales.
        starts : list of float or array
            Initial length scales. The chain starts from the most probable ones.
        n : int
            Number of draws.
        burn_in, thin : int
            Number of additional sweeps before the first draw, and number of sweeps per
            draw.
        per_parameter : bool, default=False
            Whether to use one length scale per parameter instead of one for all.

        Returns
        -------
        thetas : array of shape (n, n_parameters) or (n, 1)
            Length scales in unit-cube coordinates. The last draw can be used to
            continue the chain.
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
        """Return length scales and noise if the told values seem to be mostly noise.

        Parameters
        ----------
        kernel, prior, bounds
            Same as in `fit`.
        theta : array of shape (n_parameters,)
            Length scales returned by `fit`, one per parameter.
        evidence : float
            Required improvement in log posterior over `theta` and `noise`, in nats.
        start : (array of shape (n_parameters,), float), optional
            Earlier result from which the fit starts.

        Returns
        -------
        found : (array of shape (n_parameters,), float) or None
            Length scales and standard deviation of the noise. None if there is no
            evidence for noise of at least half a standard deviation of the prior.
        """
        likelihood = self._likelihood(kernel, prior, True, fits_noise=True)
        return strong_noise(likelihood, theta, bounds, evidence, start)

    def _likelihood(
        self,
        kernel: Kernel,
        prior: Prior,
        per_parameter: bool,
        data: Data | None = None,
        **fitted: Any,
    ) -> LengthScaleLikelihood:
        """Return the likelihood given `data`, by default the told points."""
        groups = self.groups if per_parameter else [np.concatenate(self.groups)]
        X, z, errors = self._fitted if data is None else data
        fitted |= {"noise": self.noise, "groups": groups, "errors": errors}
        kernel = self._cache.kernel_of(kernel, X.shape[1])
        return LengthScaleLikelihood(kernel, X, z, prior=prior, **fitted)

    def fit_value(
        self,
        model: Callable[[float], Candidate],
        bounds: tuple[float, float],
        start: float,
    ) -> float:
        """Return the most likely value of a positive hyperparameter.

        Brent's bounded method searches the logarithm within a factor of e**2 of
        `start`, so repeated fits follow a maximum as new values arrive.

        Parameters
        ----------
        model : callable
            Function that maps a value of the hyperparameter to a candidate.
        bounds : (float, float)
            Smallest and largest allowed value.
        start : float
            Earlier estimate.

        Returns
        -------
        value : float
        """
        around, reach = math.log(start), 2.0
        least, most = map(math.log, bounds)
        result = minimize_scalar(
            lambda log_value: -self._evidence(model(math.exp(log_value))),
            bounds=(max(least, around - reach), min(most, around + reach)),
            method="bounded",
            options={"xatol": 0.02},
        )
        return math.exp(float(result.x))

    def _evidence(self, candidate: Candidate) -> float:
        X, z, errors = self._fitted
        mean = self._mean(candidate)
        targets = z if mean is None else z - mean(X)
        weights: float | Array = 1.0
        if errors is not None:
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
    """Expand each start to one length scale per group."""
    k = len(likelihood.groups)
    return [np.broadcast_to(start, k).astype(float) for start in starts]
