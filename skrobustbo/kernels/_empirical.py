"""Kernel defined by a covariance matrix on a finite set of points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._arrays import Array, Indices
from skrobustbo.kernels._checks import checked_sets

#: Rounding tolerance for the entries of K, relative to the largest, and for points.
_K_TOLERANCE = 1e-8
_X_TOLERANCE = 1e-9


class EmpiricalKernel(Kernel):
    """Kernel defined by a covariance matrix on a finite set of points.

    Use it if the objective is defined on a few points with historical data, such as the
    temperature sensors in [1]_. The kernel is then the covariance of these data. The
    kernel has no hyperparameters.

    Parameters
    ----------
    K : array-like of shape (m, m)
        Symmetric positive semidefinite covariance matrix, in the squared units of the
        model's targets. The theoretical confidence bands require diagonal entries of at
        most 1.
    X : array-like of shape (m, n_columns), default=None
        Distinct points, in the order of the rows of `K`. If None, the points are the
        numbers 0, ..., m - 1 in a single column.

    Raises
    ------
    ValueError
        If the kernel is evaluated and `K` is not symmetric or not positive
        semidefinite, `X` does not match `K`, or a point is outside the set. Each array
        is checked only once, so pass a new array instead of modifying one in place.

    See Also
    --------
    SubsetKernel : Kernel on a subset of the columns.

    References
    ----------
    .. [1] P. Brunzema, A. von Rohr, F. Solowjow, S. Trimpe, "Event-triggered
       time-varying Bayesian optimization", appendix A.

    Examples
    --------
    >>> import numpy as np
    >>> from skrobustbo.kernels import EmpiricalKernel, ForgettingKernel, SubsetKernel
    >>> K = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> EmpiricalKernel(K)(np.array([[0], [1], [1]]))
    array([[1. , 0.8, 0.8],
           [0.8, 1. , 1. ],
           [0.8, 1. , 1. ]])

    Identify sensors by their location and add a column for time:

    >>> places = np.array([[0.1, 0.9], [0.4, 0.2]])
    >>> kernel = SubsetKernel(EmpiricalKernel(K, places), [0, 1]) * ForgettingKernel(0)
    >>> kernel(np.array([[0.1, 0.9, 1.0]]), np.array([[0.4, 0.2, 5.0]]))
    array([[0.8]])
    """

    def __init__(self, K: ArrayLike, X: ArrayLike | None = None) -> None:
        self.K = K
        self.X = X

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        X, Y = checked_sets(X, Y, eval_gradient)
        K, _ = self._table()
        rows = self._places(X)
        values = K[np.ix_(rows, rows if Y is None else self._places(Y))]
        return (values, np.empty((*values.shape, 0))) if eval_gradient else values

    def diag(self, X: ArrayLike) -> Array:
        """Return the diagonal of the kernel matrix, shape (n,)."""
        K, _ = self._table()
        return K.diagonal()[self._places(np.atleast_2d(X))]

    def is_stationary(self) -> bool:
        """Return False because the kernel is not stationary."""
        return False

    def _table(self) -> tuple[Array, KDTree]:
        """Return the covariance matrix and a search tree of the points.

        Both are cached until `K` or `X` is replaced, because validation takes as long
        as fitting a Gaussian process.
        """
        kept = getattr(self, "_kept", None)
        if kept is None or kept[0] is not self.K or kept[1] is not self.X:
            K = _checked_covariance(self.K)
            kept = self._kept = (self.K, self.X, K, _tree(self.X, len(K)))
        return kept[2], kept[3]

    def _places(self, X: NDArray[Any]) -> Indices:
        """Return the index of each row of `X` in the set of points."""
        _, tree = self._table()
        if X.shape[1] != tree.m:
            raise ValueError(
                f"Expected points of EmpiricalKernel with {tree.m} columns, got "
                f"{X.shape[1]}; name the columns of the set with SubsetKernel."
            )
        reach = _X_TOLERANCE * max(1.0, float(np.abs(tree.data).max()))
        _, places = tree.query(X, distance_upper_bound=reach)
        if (places == tree.n).any():
            stranger = X[np.argmax(places == tree.n)].tolist()
            raise ValueError(
                f"Expected points among the {tree.n} of EmpiricalKernel, got "
                f"{stranger}; give K and X for all points that may be asked for."
            )
        return np.asarray(places, dtype=np.intp)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, EmpiricalKernel)
            and _equal(self.K, other.K)
            and _equal(self.X, other.X)
        )

    def __repr__(self) -> str:
        return f"EmpiricalKernel(<{len(np.asarray(self.K))} points>)"


def _equal(a: ArrayLike | None, b: ArrayLike | None) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)


def _checked_covariance(given: ArrayLike) -> Array:
    """Validate a covariance matrix and return an exactly symmetric copy."""
    K: Array = np.asarray(given, dtype=float)
    strange = int((~np.isfinite(K)).sum())
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size or strange:
        raise ValueError(
            "Expected the K of EmpiricalKernel to be a square matrix of finite "
            f"numbers, got shape {K.shape}, {strange} entries not finite; give a row "
            "and a column for each point."
        )
    tolerance = _K_TOLERANCE * float(np.abs(K).max())
    gap = float(np.abs(K - K.T).max())
    if gap > tolerance:
        raise ValueError(
            "Expected the K of EmpiricalKernel to be symmetric, got entries across the "
            f"diagonal that differ by {gap:.3g}; use (K + K.T) / 2 if that is rounding."
        )
    K = (K + K.T) / 2
    lowest = _lowest_eigenvalue(K, tolerance)
    if lowest < -tolerance:
        raise ValueError(
            "Expected the K of EmpiricalKernel to be positive semidefinite, got a "
            f"smallest eigenvalue of {lowest:.3g}; estimate it from complete records, "
            f"or add {-lowest:.3g} to its diagonal."
        )
    return K


def _lowest_eigenvalue(K: Array, tolerance: float) -> float:
    """Return the smallest eigenvalue, or ``-tolerance`` if it is larger."""
    try:
        # Many times faster than computing eigenvalues, and sufficient for a valid
        # matrix.
        np.linalg.cholesky(K + tolerance * np.eye(len(K)))
    except np.linalg.LinAlgError:
        return float(np.linalg.eigvalsh(K)[0])
    return -tolerance


def _tree(X: ArrayLike | None, m: int) -> KDTree:
    """Validate the points and return a search tree of them."""
    points = np.arange(m)[:, None] if X is None else np.asarray(X, dtype=float)
    n_different = len(np.unique(points[np.isfinite(points).all(axis=-1)], axis=0))
    if points.ndim != 2 or not len(points) == n_different == m:
        raise ValueError(
            f"Expected the X of EmpiricalKernel to hold {m} different points, one for "
            f"each row of K, got shape {points.shape} with {n_different} different "
            "finite rows; match X to K."
        )
    return KDTree(points)
