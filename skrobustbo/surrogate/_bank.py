"""The bank of candidate models: one factor each, brought up to date when asked for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.surrogate._cholesky import CholeskyFactor
from skrobustbo.surrogate._likelihood import LengthScaleLikelihood, fit_length_scale
from skrobustbo.surrogate._posterior import Candidate, Posterior
from skrobustbo.surrogate._priors import Prior

Array = NDArray[np.float64]

#: Rows that are factored at once. Up to the last multiple the factor comes from one
#: Cholesky decomposition, beyond it row by row: its bits then depend on the rows alone,
#: not on when each was appended, and a resumed run equals the unbroken one exactly.
_CHUNK = 32
#: Factors kept; the one used longest ago goes first (and is rebuilt bit by bit).
_MAX_FACTORS = 32
_MIN_NOISE = 1e-6


class FactorBank:
    """Factors of K + noise**2 I, one per kernel, over the same growing rows.

    Factors are built from the points and the kernel only: targets change scale at
    every step, and a factor must outlive that.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise, in the units that the model sees. Below 1e-6 it
        counts as 1e-6: double precision tells no smaller one from singular matrices.
    """

    def __init__(self, noise: float) -> None:
        self.noise = max(noise, _MIN_NOISE)
        self._factors: OrderedDict[object, tuple[CholeskyFactor, int]] = OrderedDict()

    def factor(self, candidate: Candidate, X: Array, n_told: int) -> CholeskyFactor:
        """Return the candidate's factor over `X`, whose last rows may be pending."""
        factor, valid = self._factors.pop(candidate.key, (CholeskyFactor(), 0))
        # What was pending last time may have been told since in another order.
        factor.truncate(min(valid, n_told))
        self._grow(factor, candidate.kernel, X, n_told)
        self._factors[candidate.key] = factor, n_told
        if len(self._factors) > _MAX_FACTORS:
            self._factors.popitem(last=False)
        return factor

    def _grow(
        self, factor: CholeskyFactor, kernel: Kernel, X: Array, n_told: int
    ) -> None:
        whole = n_told - n_told % _CHUNK
        if factor.n < whole:
            K = kernel(X[:whole])
            K[np.diag_indices_from(K)] += self.noise**2
            factor.restart(K)
        for i in range(factor.n, len(X)):
            # One by one: what BLAS makes of a row depends on how many it is given.
            x = X[i : i + 1]
            row, variance = kernel(x, X[: i + 1])[0, :i], kernel.diag(x)[0]
            factor.append(row, float(variance) + self.noise**2)


class Models:
    """What a policy sees of the surrogate during one `suggest`.

    ``models[candidate]`` is the candidate's posterior, its factor cached and grown row
    by row. A view is good until the next one is taken from the same bank.

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
    ) -> None:
        self._bank, self.X, self.z = bank, X, z
        self.shift, self.scale = shift, scale
        self.groups = [np.arange(X.shape[1])] if groups is None else list(groups)
        pending = X[:0] if X_pending is None else X_pending
        self._rows = np.concatenate([X, pending])
        self._posteriors: dict[Candidate, Posterior] = {}

    @property
    def noise(self) -> float:
        """Standard deviation of the noise, in the units that the model sees."""
        return self._bank.noise

    @property
    def n(self) -> int:
        """Number of told points."""
        return len(self.X)

    def __getitem__(self, candidate: Candidate) -> Posterior:
        """Return the candidate's posterior."""
        if candidate not in self._posteriors:
            factor = self._bank.factor(candidate, self._rows, self.n)
            self._posteriors[candidate] = Posterior(
                candidate, self._rows, factor, self.z, self.noise, self._mean(candidate)
            )
        return self._posteriors[candidate]

    def _mean(self, candidate: Candidate) -> Callable[[Array], Array] | None:
        mean = candidate.mean
        if mean is None:
            return None
        return lambda X: (np.asarray(mean(X), dtype=float) - self.shift) / self.scale

    def fit(
        self,
        kernel: Kernel,
        prior: Prior,
        bounds: tuple[float, float],
        starts: Sequence[float | Array],
        *,
        per_parameter: bool = False,
    ) -> Array:
        """Return the length scales of highest posterior given the told points.

        Parameters
        ----------
        kernel : Kernel
            The kernel at length scale 1.
        prior : Prior
            Prior of each length scale.
        bounds : (float, float)
            Shortest and longest length scale allowed.
        starts : list of float or array
            Length scales to start from.
        per_parameter : bool, default=False
            One length scale per parameter instead of one for all.

        Returns
        -------
        theta : array of shape (n_parameters,) or (1,)
            In unit-cube coordinates.
        """
        groups = self.groups if per_parameter else [np.concatenate(self.groups)]
        likelihood = LengthScaleLikelihood(
            kernel, self.X, self.z, noise=self.noise, groups=groups, prior=prior
        )
        shaped = [np.broadcast_to(start, len(groups)).astype(float) for start in starts]
        return fit_length_scale(likelihood, bounds, shaped)

    def spread(self, theta: Array) -> Array:
        """Return one length scale per encoded column from one per parameter."""
        columns = np.empty(self.X.shape[1])
        for group, value in zip(
            self.groups, np.broadcast_to(theta, len(self.groups)), strict=True
        ):
            columns[group] = value
        return columns
