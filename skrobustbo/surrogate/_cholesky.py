"""Lower Cholesky factor that supports adding and removing rows.

A factor with n rows is stored in the leading block of a larger column-major buffer.
Appending a row therefore only requires one triangular solve in O(n**2) time, and the
factor is not copied.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from skrobustbo._arrays import Array

#: Numerical errors of a model, for example if a kernel is not positive definite.
NUMERICAL = (np.linalg.LinAlgError, ArithmeticError)
#: Relative pivots up to the first number are rounding errors and are raised to the
#: second. Raising them only to the first would magnify the errors of later rows.
_LOST, _LIFTED = 1e-13, 1e-8


class CholeskyFactor:
    """Lower Cholesky factor L of a positive definite matrix K = L L^T.

    With duplicate points or very little noise, a pivot may be lost to rounding errors.
    Such a pivot is raised, as if its row had more noise, so K may be singular up to
    about 1e-15 on the diagonal.
    """

    def __init__(self) -> None:
        self.n = 0
        self._buffer = np.zeros((8, 8), order="F")
        # Leading rows of the buffer that other objects use, so they must not change.
        self._lent: float = 0

    @classmethod
    def of(cls, L: Array) -> CholeskyFactor:
        """Create a factor from a lower triangular matrix of shape (n, n)."""
        factor = cls()
        factor._reserve(len(L))
        factor._buffer[: len(L), : len(L)] = L
        factor.n = len(L)
        return factor

    def held(self) -> CholeskyFactor:
        """Return a snapshot of the factor that later changes do not affect.

        The rows are only copied when one of the two factors would overwrite shared
        rows.
        """
        twin = CholeskyFactor.__new__(CholeskyFactor)
        twin.n, twin._buffer, twin._lent = self.n, self._buffer, math.inf
        self._lent = max(self._lent, self.n)
        return twin

    @property
    def lower(self) -> Array:
        """The factor as a view of shape (n, n), valid until the next change."""
        return self._buffer[: self.n, : self.n]

    @property
    def capacity(self) -> int:
        """Number of floats that fit into the buffer."""
        return self._buffer.size

    def _reserve(self, n: int) -> None:
        """Make room for `n` rows and make the unused rows writable."""
        capacity = len(self._buffer)
        if n > capacity or self.n < self._lent:
            capacity = max(n, capacity * 3 // 2) if n > capacity else capacity
            own = np.zeros((capacity, capacity), order="F")
            own[: self.n, : self.n] = self.lower
            self._buffer, self._lent = own, 0

    def restart(self, K: Array) -> None:
        """Compute the factor of a new matrix of shape (n, n)."""
        n = len(K)
        L, failed = lapack.dpotrf(K, lower=1, clean=1)
        self.n = 0
        self._reserve(n)
        if not failed and (L.diagonal() ** 2 > _LOST * K.diagonal()).all():
            self._buffer[:n, :n] = L
            self.n = n
            return
        for i in range(n):  # row by row, raising pivots that were lost to rounding
            self.append(K[i, :i], K[i, i])

    def append(self, row: Array, diagonal: float) -> None:
        """Append a row of K, given its off-diagonal entries and its diagonal entry.

        Raises
        ------
        numpy.linalg.LinAlgError
            If K is clearly not positive definite.
        """
        n = self.n
        self._reserve(n + 1)
        solved = self.solve(row) if n else row
        pivot = diagonal - float(solved @ solved)
        if not pivot > -diagonal:  # nan is not
            raise np.linalg.LinAlgError(
                "Expected a positive definite kernel, got one that is not positive "
                "definite on these points (ExpSineSquared is one in a single column "
                "only); change the kernel or raise the noise."
            )
        self._buffer[n, :n] = solved
        lost = pivot <= _LOST * diagonal
        self._buffer[n, n] = math.sqrt(_LIFTED * diagonal if lost else pivot)
        self.n = n + 1

    def truncate(self, n: int) -> None:
        """Remove all rows except the first `n`."""
        self.n = min(n, self.n)

    def solve(self, B: Array, *, transposed: bool = False) -> Array:
        """Return L^-1 B, or L^-T B if `transposed`, for B of shape (n,) or (n, m)."""
        if not self.n:
            return np.array(B)
        # Whole columns of the buffer: LAPACK skips the spare rows without a copy.
        columns = self._buffer[:, : self.n]
        x, _ = lapack.dtrtrs(
            columns, B.reshape(self.n, -1), lower=1, trans=int(transposed)
        )
        return x.reshape(B.shape)

    def log_diagonal(self, n: int | None = None) -> float:
        """Return the sum of log L_ii over the first `n` rows, by default all rows."""
        return float(np.log(self.lower.diagonal()[:n]).sum())

    def log_density(self, w: Array) -> float:
        """Return the log density of the targets L w under the distribution N(0, L L^T).

        If `w` has fewer entries than the factor has rows, only the first targets are
        used.
        """
        n = len(w)
        constant = 0.5 * n * math.log(2 * math.pi)
        return float(-0.5 * (w @ w) - self.log_diagonal(n) - constant)
