"""The cache of candidate models: one regressor each, up to date when asked for."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.kernels._radial import with_nominal
from skrobustbo.surrogate._active import ActiveSet
from skrobustbo.surrogate._gpr import IncrementalGPR
from skrobustbo.surrogate._posterior import Candidate

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Factors kept, and the numbers that they may hold in all (128 MiB) unless they are
#: few; the one used longest ago goes first (and is rebuilt bit by bit). Where length
#: scales are estimated again at every step, most will never be asked for again.
_MAX_FACTORS, _MAX_NUMBERS, _FEW_FACTORS = 32, 2**24, 4
_LEAST = 1e-6
_NO_COLUMNS = np.empty(0, dtype=np.intp)


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
        self._held: OrderedDict[object, tuple[IncrementalGPR, int]] = OrderedDict()
        self.active = ActiveSet(self.nominal)

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
