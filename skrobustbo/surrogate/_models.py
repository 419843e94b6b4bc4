"""What a policy sees of the surrogate: views of the points, and models of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skrobustbo.surrogate._factor_cache import (
    FactorCache,
    chosen_at,
    fitted_rows,
    latest_rows,
)
from skrobustbo.surrogate._fits import Fits
from skrobustbo.surrogate._gpr import IncrementalGPR
from skrobustbo.surrogate._posterior import (
    Candidate,
    Posterior,
    PresentPosterior,
    ReferencePoints,
)

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Of a value, in units of the model: it says nothing.
_LARGEST_ERROR = 1e50


@dataclass(frozen=True, eq=False)
class View:
    """The points that models see, with their values in the units of the models.

    Parameters
    ----------
    X : array of shape (n, n_columns)
        Told points, encoded.
    z : array of shape (n,)
        Their targets in the units that the model sees.
    X_pending : array of shape (p, n_columns), optional
        Points asked but not yet told.
    shift, scale : float
        A value y of the objective is ``(y - shift) / scale`` to the model.
    has_unit : bool, default=True
        Whether `scale` is one that the values, or the settings, have told.
    groups : list of integer arrays, optional
        Encoded columns of each parameter that varies (default: all are of one).
    values : array of shape (n,), optional
        The told values themselves, nan where there is none; `z` if not given.
    reference_points : ReferencePoints, optional
        The feasible points, or a sample of them, for bounds of the information gain.
    ball : callable, optional
        Maps radius, metric and units to the function from points to perturbations.
    n_elsewhere : int, default=0
        Number of points of other branches, told or pending, and of those that are
        forgotten. They also count towards the horizon.
    start : int, default=0
        Number of told points before the first one of `X`.
    now : float, optional
        The time of the point to be chosen, if the last column of the points is time.
    value_stds : array of shape (n,), optional
        Standard deviations of the told values' own errors, in units of the objective,
        if there are any: noise of each row in addition to that of the model.
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
    start: int = 0
    now: float | None = None
    value_stds: Array | None = None

    @property
    def told(self) -> Array:
        """The told values themselves."""
        return self.z if self.values is None else self.values

    @property
    def pending(self) -> Array:
        """The pending points, if there are none an array without rows."""
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
        """Return the view with a last column of time, one unit for each point."""
        rows = np.concatenate([self.X, self.pending])
        times = 1.0 + self.start + np.arange(len(rows))
        rows, n = np.column_stack([rows, times]), len(self.X)
        now = float(self.start + len(rows) + 1)
        return replace(self, X=rows[:n], X_pending=rows[n:], now=now)


class Models(Fits):
    """What a policy sees of the surrogate during one `suggest`.

    ``models[candidate]`` is the candidate's posterior. The cache keeps the factor of
    its regressor and extends it row by row. With thousands of told points, a posterior
    uses an active set of them.

    Parameters
    ----------
    cache : FactorCache
        The regressors.
    view : View
        The points, their values and their units. Its `X`, `z`, `values`, `shift`,
        `scale`, `groups` and `n_elsewhere` are attributes of the models as well.
    rng : numpy.random.Generator or callable, optional
        Random generator for `sample`, or a function that makes it when first needed.
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
        self.groups = [np.arange(self.X.shape[1])]
        if view.groups is not None:
            self.groups = list(view.groups)
        self.n_elsewhere = view.n_elsewhere
        self._posteriors: dict[Candidate, Posterior] = {}

    @property
    def unit(self) -> float:
        """The scale, for widths that are kept; nan while all values are equal.

        Nothing tells then in which unit a later value will differ from the prediction.
        """
        return self.scale if self._view.has_unit else math.nan

    @property
    def best(self) -> float:
        """The best target of a value that was measured in full.

        Where there is no such value, it is the best target of all.
        """
        stds = self._view.value_stds
        if stds is None:
            return float(self.z.max())
        measured = self.z[(stds == 0) & np.isfinite(self.values)]
        return float((measured if len(measured) else self.z).max())

    def __getitem__(self, candidate: Candidate) -> Posterior:
        """Return the candidate's posterior."""
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
        """Variance of each active value's own error, in units of the model."""
        stds = self._view.value_stds
        if stds is None:
            return None
        # Beyond the largest error, squares overflow.
        return np.minimum(stds[self._active] / self.scale, _LARGEST_ERROR) ** 2

    @cached_property
    def _active(self) -> Indices:
        """Which of the told points posteriors go by."""
        if self._view.now is not None:
            return latest_rows(self.n)
        return self._cache.active_rows(self.X, self.values, self._view.start)

    @property
    def measured(self) -> NDArray[np.bool_]:
        """Which targets of posteriors are of values that are numbers, not failures."""
        return np.isfinite(self.values[self._active])

    @property
    def _fitted(self) -> tuple[Array, Array]:
        """The told points, and their targets, that hyperparameters are fitted to."""
        rows = self._active[self._fitted_rows]
        return self.X[rows], self.z[rows]

    @property
    def _fitted_rows(self) -> slice:
        return fitted_rows(len(self._active))

    @property
    def _fitted_errors(self) -> Array | None:
        """Variance of the own error of each value that is fitted to."""
        return None if self._errors is None else self._errors[self._fitted_rows]

    @cached_property
    def _seen(self) -> Array:
        """The told points that posteriors go by, then the pending ones."""
        return np.concatenate([self.X[self._active], self._view.pending])

    def _posterior(
        self, candidate: Candidate, regressor: IncrementalGPR, log_weight: float = 0.0
    ) -> Posterior:
        z, mean = self.z[self._active], self._mean(candidate)
        n_told, noise = len(z), self._cache.noise_of(candidate)
        if mean is not None:
            z = z - mean(regressor.X_train_[:n_told])
        parts = (
            candidate,
            regressor._given(z),
            n_told,
            noise,
            mean,
            self._view.reference_points,
        )
        if self._view.now is not None:
            return PresentPosterior(*parts, log_weight, now=self._view.now)
        return Posterior(*parts, log_weight)

    def at(self, candidate: Candidate) -> Posterior:
        """Return the posterior of a candidate to be looked at once: nothing is kept."""
        if self._errors is not None:
            return self.weighted(candidate, np.ones(self.n))
        regressor = self._cache.new(candidate, self.X.shape[1])
        regressor._hold(self._seen, len(self._active))
        return self._posterior(candidate, regressor)

    def weighted(self, candidate: Candidate, weights: Array) -> Posterior:
        """Return the posterior with noise variance divided by a weight for each row.

        Parameters
        ----------
        candidate : Candidate
            The model.
        weights : array of shape (n,)
            Positive weights of the told points; pending ones have weight 1. The errors
            of the values themselves are added.
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
        """Return the models of the told points from index `start` on.

        Event triggers and windows forget this way; nothing is deleted.
        """
        return self._of(self._view.since(start))

    def seen_as(self, z: Array, shift: float, scale: float) -> Models:
        """Return the models of the same points with other targets, in their own units.

        A policy that transforms the values uses this to see the original ones.
        """
        view = replace(self._view, z=z, shift=shift, scale=scale, has_unit=True)
        return self._of(view)

    def timed(self) -> Models:
        """Return the models over points and time, seen from the present.

        The i-th value told belongs to time i, counted from 1. Pending points follow,
        then the point to be chosen. Kernels of these models see the time in the last
        column. Their posteriors take points without it, and predict for the present.
        """
        return self._of(self._view.timed())

    def _of(self, view: View) -> Models:
        return Models(self._cache, view, lambda: self.rng)

    def ball(
        self, eps: float | Mapping[str, float], metric: str, units: str
    ) -> Callable[[Array], Array]:
        """Return the function from points to their feasible perturbations.

        Parameters
        ----------
        eps : float or dict of str to float
            Radius, or one for each parameter to be perturbed.
        metric : {"max", "l2"}
            How distances over several parameters are measured.
        units : {"cube", "user"}
            Units of the radius.

        Returns
        -------
        perturb : callable
            Points of shape (m, n_columns) to perturbed ones, shape (m, k, n_columns).
        """
        if self._view.ball is None:
            raise ValueError(
                "Expected models that know the feasible perturbations, got models "
                "without them; pass 'ball', such as the method Space.ball."
            )
        return self._view.ball(eps, metric, units)

    def spread(self, theta: Array) -> Array:
        """Return one length scale per encoded column from one per parameter."""
        columns = np.empty(self.X.shape[1])
        for group, value in zip(
            self.groups, np.broadcast_to(theta, len(self.groups)), strict=True
        ):
            columns[group] = value
        return columns
