"""The regressors of candidate models, up to date when asked for, and their rows.

A factor takes memory and time in proportion to the square of its rows. So beyond
`MOST_ROWS` told points a model sees a part of them: those of highest value, where
precision matters, then those that leave the least of the space uncovered, and all that
came since these were chosen. They are chosen again when `REFRESH` more have come, so
that factors grow by rows in between.
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

#: Told points up to this number are all seen.
MOST_ROWS = 2048
#: Told points between two choices.
REFRESH = 256
#: Told points that the likelihood of length scales is computed from, at most.
MOST_FITTED = 1024
#: Share of the chosen that is chosen for its values.
_BEST = 0.25
#: Factors kept, and the numbers that they may hold in all (128 MiB) unless they are
#: few; the one used longest ago goes first (and is rebuilt bit by bit). Where length
#: scales are estimated again at every step, most will never be asked for again.
_MAX_FACTORS, _MAX_NUMBERS, _FEW_FACTORS = 32, 2**24, 4
_LEAST = 1e-6
_NO_COLUMNS = np.empty(0, dtype=np.intp)


def chosen_at(n: int) -> int:
    """Return how many of `n` told points there were at the latest choice (0: none)."""
    return 0 if n <= MOST_ROWS else n - 1 - (n - 1 - MOST_ROWS) % REFRESH


def latest_rows(n: int) -> Indices:
    """Return the rows that a model of a changing objective sees: the latest."""
    first = max(0, chosen_at(n) - (MOST_ROWS - REFRESH))
    return np.arange(first, n, dtype=np.intp)


def fitted_rows(n: int) -> slice:
    """Return every so-manieth of `n` rows, for a likelihood at a bounded cost."""
    return slice(None, None, max(1, -(-n // MOST_FITTED)))


def spread_out(
    X: Array, values: Array, size: int, nominal: Indices = _NO_COLUMNS
) -> Indices:
    """Return `size` rows: the best, then always the one farthest from those chosen."""
    known = np.where(np.isfinite(values), values, -np.inf)
    order = np.argsort(-known, kind="stable")
    chosen = list(order[: int(_BEST * size)])
    # Squared distances to the nearest chosen row, those of chosen rows below all.
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
    """Regressors, one per candidate, over the same growing rows.

    What they keep is the factor of K + noise**2 I, which is built from the points, the
    kernel and the noise only: targets change scale at every step, and a factor must
    outlive that.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise, in the units that the model sees, of candidates
        that have none of their own. Below 1e-6 it counts as 1e-6: double precision
        tells no smaller one from singular matrices.
    nominal : array of int, optional
        Columns in which points are equal or not.
    """

    def __init__(self, noise: float, nominal: Indices = _NO_COLUMNS) -> None:
        self.noise = max(float(noise), _LEAST)
        self.nominal = nominal
        self._empty()

    def _empty(self) -> None:
        self._held: OrderedDict[object, tuple[IncrementalGPR, int]] = OrderedDict()
        self._chosen: dict[Hashable, tuple[int, Indices]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # What is kept is large, and is built again bit by bit.
        return {"noise": self.noise, "nominal": self.nominal}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._empty()

    def regressor(
        self, candidate: Candidate, X: Array, n_told: int, view: object = None
    ) -> IncrementalGPR:
        """Return the candidate's regressor over `X`, whose last rows may be pending.

        It has no targets of its own. `view` names the rows: those of one view only ever
        grow.
        """
        key = (candidate.key, view)
        held, valid = self._held.pop(key, (None, 0))
        if held is None:
            held = self.new(candidate, X.shape[1])
        # What was pending last time may have been told since in another order.
        self._held[key] = held._hold(X, n_told, valid), n_told
        while self._full:
            self._held.popitem(last=False)
        return held

    def new(
        self, candidate: Candidate, n_columns: int, weights: float | Array = 1.0
    ) -> IncrementalGPR:
        """Return a regressor of the candidate without any rows.

        `weights` divide the variance of the noise, that of all rows or of each.
        """
        kernel = self.kernel_of(candidate.kernel, n_columns)
        variance = self.noise_of(candidate) ** 2 / weights
        return IncrementalGPR._empty(kernel, variance, n_columns)

    def active_rows(self, X: Array, values: Array, view: Hashable) -> Indices:
        """Return the rows of the told points that a model sees, in their order.

        Values enter as they were told, nan where there is none: in the units of the
        model they change at every step, and the choice must not.
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
        """Return a kernel on rows of `n_columns` that knows which are nominal."""
        return with_nominal(kernel, self.nominal, n_columns)

    @property
    def _full(self) -> bool:
        """Whether there are too many factors, or too large ones."""
        n = len(self._held)
        held = sum(gpr._factor.capacity for gpr, _ in self._held.values())
        return n > _MAX_FACTORS or (n > _FEW_FACTORS and held > _MAX_NUMBERS)
