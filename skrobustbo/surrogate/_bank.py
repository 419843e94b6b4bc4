"""The bank of candidate models: one factor each, brought up to date when asked for."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.kernels import radial
from skrobustbo.kernels._radial import with_nominal
from skrobustbo.surrogate._active import ActiveSet
from skrobustbo.surrogate._cholesky import CholeskyFactor
from skrobustbo.surrogate._posterior import Candidate

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Rows that are factored at once. Up to the last multiple the factor comes from one
#: Cholesky decomposition, beyond it row by row: its bits then depend on the rows alone,
#: not on when each was appended, and a resumed run equals the unbroken one exactly.
_CHUNK = 32
#: Factors kept, and the numbers that they may hold in all (128 MiB) unless they are
#: few; the one used longest ago goes first (and is rebuilt bit by bit). Where length
#: scales are estimated anew at every step, most will never be asked for again.
_MAX_FACTORS, _MAX_NUMBERS, _FEW_FACTORS = 32, 2**24, 4
_LEAST = 1e-6
_NO_COLUMNS = np.empty(0, dtype=np.intp)


class FactorBank:
    """Factors of K + noise**2 I, one per candidate, over the same growing rows.

    Factors are built from the points, the kernel and the noise only: targets change
    scale at every step, and a factor must outlive that.

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
        self._factors: OrderedDict[object, tuple[CholeskyFactor, int]] = OrderedDict()
        self.active = ActiveSet(self.nominal)

    def factor(
        self, candidate: Candidate, X: Array, n_told: int, view: object = None
    ) -> CholeskyFactor:
        """Return the candidate's factor over `X`, whose last rows may be pending.

        `view` names the rows: those of one view only ever grow.
        """
        key = (candidate.key, view)
        factor, valid = self._factors.pop(key, (CholeskyFactor(), 0))
        # What was pending last time may have been told since in another order.
        factor.truncate(min(valid, n_told))
        self._grow(factor, candidate, X, n_told)
        self._factors[key] = factor, n_told
        while self._full:
            self._factors.popitem(last=False)
        return factor

    def noise_of(self, candidate: Candidate) -> float:
        """Return the standard deviation of a candidate's noise."""
        return self.noise if candidate.noise is None else max(candidate.noise, _LEAST)

    def kernel_of(self, kernel: Kernel, n_columns: int) -> Kernel:
        """Return a kernel on rows of `n_columns` that knows which are nominal."""
        return with_nominal(kernel, self.nominal, n_columns)

    @property
    def _full(self) -> bool:
        """Whether there are too many factors, or too large ones."""
        n = len(self._factors)
        held = sum(factor.capacity for factor, _ in self._factors.values())
        return n > _MAX_FACTORS or (n > _FEW_FACTORS and held > _MAX_NUMBERS)

    def _grow(
        self, factor: CholeskyFactor, candidate: Candidate, X: Array, n_told: int
    ) -> None:
        kernel = self.kernel_of(candidate.kernel, X.shape[1])
        variance = self.noise_of(candidate) ** 2
        whole = n_told - n_told % _CHUNK
        if factor.n < whole:
            K = kernel(X[:whole])
            K[np.diag_indices_from(K)] += variance
            factor.restart(K)
        first = factor.n
        if first == len(X):
            return
        block = self._rows(kernel, X, first)
        diagonal = kernel.diag(X[first:]) + variance
        for i, row in enumerate(block):
            factor.append(row[: first + i], float(diagonal[i]))

    def _rows(self, kernel: Kernel, X: Array, first: int) -> Array:
        """Return the kernel's rows from `first` on, each as if it came alone.

        Kernels of scaled distances treat every entry by itself. What BLAS makes of a
        row depends on how many it is given: others get them one by one.
        """
        if radial(kernel, np.zeros(1)) is not None:
            block: Array = kernel(X[first:], X)
            return block
        rows = np.zeros((len(X) - first, len(X)))
        for i in range(first, len(X)):
            rows[i - first, : i + 1] = kernel(X[i : i + 1], X[: i + 1])[0]
        return rows
