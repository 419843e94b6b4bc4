"""What a policy sees of the surrogate: posteriors of models, fits, views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from skrobustbo.surrogate._active import chosen_at, fitted_rows, latest_rows
from skrobustbo.surrogate._bank import FactorBank
from skrobustbo.surrogate._cholesky import CholeskyFactor
from skrobustbo.surrogate._fits import Fits
from skrobustbo.surrogate._posterior import (
    Candidate,
    Ground,
    Posterior,
    PresentPosterior,
)

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


class Models(Fits):
    """What a policy sees of the surrogate during one `suggest`.

    ``models[candidate]`` is the candidate's posterior, its factor cached and grown row
    by row. A view is good until the next one is taken from the same bank. Where there
    are thousands of told points, a posterior is that of an active set of them.

    Parameters
    ----------
    bank : FactorBank
        The cached factors.
    X : array of shape (n, n_columns)
        Told points, encoded.
    z : array of shape (n,)
        Their targets in the units that the model sees.
    X_pending : array of shape (p, n_columns)
        Points asked and not yet told.
    shift, scale : float
        A value y of the objective is ``(y - shift) / scale`` to the model.
    groups : list of integer arrays
        Encoded columns of each parameter that varies.
    rng : numpy.random.Generator or callable, optional
        Source of the draws of `sample`, or a function that makes it when first needed.
    ground : Ground, optional
        The feasible points, or a sample of them, for bounds of the information gain.
    ball : callable, optional
        Radius, metric and units to the function from points to their perturbations.
    values : array of shape (n,), optional
        The told values themselves, nan where there is none; `z` if not given.
    n_elsewhere : int, default=0
        Points of other branches, told or pending: they use up the horizon as well.
    """

    def __init__(
        self,
        bank: FactorBank,
        X: Array,
        z: Array,
        *,
        X_pending: Array | None = None,
        shift: float = 0.0,
        scale: float = 1.0,
        groups: Sequence[NDArray[np.intp]] | None = None,
        rng: np.random.Generator | Callable[[], np.random.Generator] | None = None,
        ground: Ground | None = None,
        ball: Callable[..., Callable[[Array], Array]] | None = None,
        values: Array | None = None,
        n_elsewhere: int = 0,
    ) -> None:
        self.n_elsewhere = n_elsewhere
        self._bank, self.X, self.z = bank, X, z
        self.values = z if values is None else values
        self.ground, self._ball = ground, ball
        self._rng = rng
        self._start = 0
        self._now: float | None = None
        self.shift, self.scale = shift, scale
        self.groups = [np.arange(X.shape[1])] if groups is None else list(groups)
        pending = X[:0] if X_pending is None else X_pending
        self._rows = np.concatenate([X, pending])
        self._posteriors: dict[Candidate, Posterior] = {}

    def __getitem__(self, candidate: Candidate) -> Posterior:
        """Return the candidate's posterior."""
        if candidate not in self._posteriors:
            rows, n_told = self._seen, len(self._active)
            view = (self._start, self._now is not None, chosen_at(self.n))
            factor = self._bank.factor(candidate, rows, n_told, view)
            self._posteriors[candidate] = self._posterior(candidate, factor)
        return self._posteriors[candidate]

    @cached_property
    def _active(self) -> Indices:
        """Which of the told points posteriors go by."""
        if self._now is not None:
            return latest_rows(self.n)
        return self._bank.active.rows(self.X, self.values, self._start)

    @property
    def _fitted(self) -> tuple[Array, Array]:
        """The told points, and their targets, that hyperparameters are fitted to."""
        rows = self._active[fitted_rows(len(self._active))]
        return self.X[rows], self.z[rows]

    @cached_property
    def _seen(self) -> Array:
        """The told points that posteriors go by, then the pending ones."""
        return np.concatenate([self.X[self._active], self._rows[self.n :]])

    def _posterior(self, candidate: Candidate, factor: CholeskyFactor) -> Posterior:
        noise = self._bank.noise_of(candidate)
        kernel = self._kernel(candidate)
        settings = (candidate, self._seen, factor, self.z[self._active], noise)
        mean = self._mean(candidate)
        size = None if self.ground is None else self.ground.n_points
        if self._now is not None:
            present = PresentPosterior(*settings, mean, kernel, now=self._now)
            present.n_points = size
            return present
        posterior = Posterior(*settings, mean, kernel)
        posterior.ground, posterior.n_points = self.ground, size
        return posterior

    def at(self, candidate: Candidate) -> Posterior:
        """Return the posterior of a candidate to be looked at once: nothing is kept."""
        rows, n_told = self._seen, len(self._active)
        bank = FactorBank(self.noise, self._bank.nominal)
        factor = bank.factor(candidate, rows, n_told)
        return self._posterior(candidate, factor)

    def weighted(self, candidate: Candidate, weights: Array) -> Posterior:
        """Return the posterior with noise variance divided by a weight for each row.

        Parameters
        ----------
        candidate : Candidate
            The model.
        weights : array of shape (n,)
            Positive weights of the told points; pending ones have weight 1.
        """
        weights = weights[self._active]
        each = np.concatenate([weights, np.ones(len(self._seen) - len(weights))])
        K = self._kernel(candidate)(self._seen)
        K[np.diag_indices_from(K)] += self._bank.noise_of(candidate) ** 2 / each
        factor = CholeskyFactor()
        factor.restart(K)
        posterior = self._posterior(candidate, factor)
        posterior.log_weight = float(np.log(weights).sum())
        return posterior

    def since(self, start: int) -> Models:
        """Return the view over the told points from index `start` on.

        Event triggers and windows forget this way; nothing is deleted.
        """
        return self._view(self.X[start:], self._rows[start:], self.z[start:], start)

    def seen_as(self, z: Array, shift: float, scale: float) -> Models:
        """Return the view of the same points with other targets, in units of their own.

        A policy that shapes the values looks at them this way as they are.
        """
        view = self._view(self.X, self._rows, z, 0)
        view.shift, view.scale = shift, scale
        return view

    def timed(self) -> Models:
        """Return the view whose last column is time, seen from the present.

        The i-th value told belongs to time i, counted from 1; pending points follow,
        and the point to be chosen comes next. Kernels of this view see the time in the
        last column; its posteriors are asked at points without it, and answer for the
        present.
        """
        times = 1.0 + self._start + np.arange(len(self._rows))
        rows = np.column_stack([self._rows, times])
        view = self._view(rows[: self.n], rows, self.z, 0)
        view._now = float(self._start + len(rows) + 1)
        return view

    def _view(self, X: Array, rows: Array, z: Array, start: int) -> Models:
        view = Models(
            self._bank,
            X,
            z,
            X_pending=rows[len(X) :],
            shift=self.shift,
            scale=self.scale,
            groups=self.groups,
            rng=lambda: self.rng,
            ground=self.ground,
            ball=self._ball,
            values=self.values[len(self.z) - len(z) :],
            n_elsewhere=self.n_elsewhere,
        )
        view._start, view._now = self._start + start, self._now
        return view

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
        if self._ball is None:
            raise ValueError(
                "Expected models that know what perturbations are feasible, got some "
                "without; pass 'ball', such as the method of that name of a Space."
            )
        return self._ball(eps, metric, units)

    def spread(self, theta: Array) -> Array:
        """Return one length scale per encoded column from one per parameter."""
        columns = np.empty(self.X.shape[1])
        for group, value in zip(
            self.groups, np.broadcast_to(theta, len(self.groups)), strict=True
        ):
            columns[group] = value
        return columns
