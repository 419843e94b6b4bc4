"""Cache for the regressors of candidate models, and selection of their rows.

The memory and time that a factor needs grow with the square of the number of rows. With
more than `MOST_ROWS` told points, a model therefore uses only a subset of them. It
contains the points with the highest values, points that cover the space, and all points
told since the last selection. A new selection is made after every `REFRESH` points, and
factors grow row by row in between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._arrays import Array, Indices
from skrobustbo.kernels import with_nominal
from skrobustbo.surrogate._gpr import IncrementalGPR
from skrobustbo.surrogate._posterior import Candidate

#: Up to this number of told points, all of them are used.
MOST_ROWS = 2048
#: Number of told points between two selections.
REFRESH = 256
#: Maximum number of told points in the likelihood of length scales.
MOST_FITTED = 1024
#: Share of the rows that are selected by value.
_BEST = 0.25
#: Maximum number of factors, and of their floats (128 MiB) unless there are only a few
#: factors. The least recently used factor is dropped first, and rebuilt exactly if
#: needed. If length scales are estimated at every step, most are never needed again.
_MAX_FACTORS, _MAX_NUMBERS, _FEW_FACTORS = 32, 2**24, 4
_LEAST = 1e-6
_NO_COLUMNS = np.empty(0, dtype=np.intp)


def chosen_at(n: int) -> int:
    """Return the number of told points at the last selection, 0 if there was none."""
    return 0 if n <= MOST_ROWS else n - 1 - (n - 1 - MOST_ROWS) % REFRESH


def latest_rows(n: int) -> Indices:
    """Return the indices of the latest rows for a model of a changing objective."""
    first = max(0, chosen_at(n) - (MOST_ROWS - REFRESH))
    return np.arange(first, n, dtype=np.intp)


def fitted_rows(n: int) -> slice:
    """Return a slice of evenly spaced rows to limit the cost of the likelihood."""
    return slice(None, None, max(1, -(-n // MOST_FITTED)))


def spread_out(
    X: Array, values: Array, size: int, nominal: Indices = _NO_COLUMNS
) -> Indices:
    """Return the indices of `size` rows that have high values or cover the space.

    The rows with the highest values are selected first. Then the row that is farthest
    from all selected rows is added repeatedly.
    """
    known = np.where(np.isfinite(values), values, -np.inf)
    order = np.argsort(-known, kind="stable")
    chosen = list(order[: int(_BEST * size)])
    # Squared distances to the nearest chosen row; chosen rows are below all others.
    gaps = np.full(len(X), np.inf)
    for i in chosen:
        _narrow(gaps, X, i, nominal)
    while len(chosen) < size:
        i = int(np.argmax(gaps))
        chosen.append(i)
        _narrow(gaps, X, i, nominal)
    return np.sort(np.array(chosen, dtype=np.intp))


def _narrow(gaps: Array, X: Array, i: int, nominal: Indices) -> None:
    difference = X - X[i]
    difference[:, nominal] = difference[:, nominal] != 0
    np.minimum(gaps, np.einsum("ij,ij->i", difference, difference), out=gaps)
    gaps[i] = -1.0


class FactorCache:
    """Cache with one regressor for each candidate model.

    The cache stores the factor of K + noise**2 I, which depends only on the points, the
    kernel and the noise. The factor remains valid if the scale of the targets changes,
    which happens at every step.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise, in the model's units, for candidates that do
        not specify it. Values below 1e-6 are raised to 1e-6, because the matrix would
        otherwise be singular in double precision.
    nominal : array of int, optional
        Indices of the columns whose values are only compared for equality.
    """

    def __init__(self, noise: float, nominal: Indices = _NO_COLUMNS) -> None:
        self.noise = max(float(noise), _LEAST)
        self.nominal = nominal
        self._empty()

    def _empty(self) -> None:
        self._held: OrderedDict[object, tuple[IncrementalGPR, int]] = OrderedDict()
        self._chosen: dict[Hashable, tuple[int, Indices]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # The stored factors are large and can be rebuilt exactly.
        return {"noise": self.noise, "nominal": self.nominal}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._empty()

    def regressor(
        self, candidate: Candidate, X: Array, n_told: int, view: object = None
    ) -> IncrementalGPR:
        """Return the regressor of a candidate after updating it to the points `X`.

        The points after the first `n_told` are pending. The regressor has no targets.
        `view` identifies a sequence of points to which new points are only appended.
        """
        key = (candidate.key, view)
        held, valid = self._held.pop(key, (None, 0))
        if held is None:
            held = self.new(candidate, X.shape[1])
        # Points that were pending last time may have been told in another order.
        self._held[key] = held._hold(X, n_told, valid), n_told
        while self._full:
            self._held.popitem(last=False)
        return held

    def new(
        self, candidate: Candidate, n_columns: int, weights: float | Array = 1.0
    ) -> IncrementalGPR:
        """Return a new regressor of the candidate without any rows.

        The noise variance is divided by `weights`, either a scalar or one weight per
        row.
        """
        kernel = self.kernel_of(candidate.kernel, n_columns)
        variance = self.noise_of(candidate) ** 2 / weights
        return IncrementalGPR._empty(kernel, variance, n_columns)

    def active_rows(self, X: Array, values: Array, view: Hashable) -> Indices:
        """Return the sorted indices of the told points that a model uses.

        The values must be in units of the objective, with nan for failures. The model's
        units change at every step, and the selection must not depend on them.
        """
        old = chosen_at(len(X))
        if not old:
            return np.arange(len(X), dtype=np.intp)
        if view not in self._chosen or self._chosen[view][0] != old:
            size = MOST_ROWS - REFRESH
            kept = spread_out(X[:old], values[:old], size, self.nominal)
            self._chosen[view] = old, kept
        return np.concatenate([self._chosen[view][1], np.arange(old, len(X))])

    def noise_of(self, candidate: Candidate) -> float:
        """Return the standard deviation of a candidate's noise."""
        return self.noise if candidate.noise is None else max(candidate.noise, _LEAST)

    def kernel_of(self, kernel: Kernel, n_columns: int) -> Kernel:
        """Return a kernel that compares nominal columns only for equality."""
        return with_nominal(kernel, self.nominal, n_columns)

    @property
    def _full(self) -> bool:
        """Whether the cache contains too many factors or uses too much memory."""
        n = len(self._held)
        held = sum(gpr._factor.capacity for gpr, _ in self._held.values())
        return n > _MAX_FACTORS or (n > _FEW_FACTORS and held > _MAX_NUMBERS)
