"""Kernels that depend on a scaled distance, and nominal columns.

A `nominal` column holds a code for each of many unordered choices. A kernel treats it
like one column per choice, with distance 1 between choices: it only matters whether two
codes are equal. Only the choices of the points at hand count. In the closed forms, with
l the length scales::

    r**2 = sum over other columns of (x_j - x'_j)**2 / l_j**2
         + sum over nominal columns of [x_c != x'_c] / l_c**2

Other kernels get one column for each choice that occurs in the points.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Kernel,
    Matern,
    WhiteKernel,
)

from skrobustbo._arrays import Array, Indices
from skrobustbo.kernels._checks import checked_sets
from skrobustbo.kernels._empirical import EmpiricalKernel
from skrobustbo.kernels._structured import SubsetKernel
from skrobustbo.kernels._time import ForgettingKernel, WienerKernel

_KINK = 1e-8  # points within this distance count as equal
#: Kernels without a distance, or of a column that does not hold choices.
_LEFT_ALONE = (
    ConstantKernel,
    WhiteKernel,
    EmpiricalKernel,
    ForgettingKernel,
    WienerKernel,
)


def smoothness(kernel: Kernel) -> float | None:
    """Return nu of a Matern kernel (inf for RBF), None for any other kernel.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel.

    Returns
    -------
    nu : float or None
    """
    if type(kernel) is NominalKernel:  # isinstance would be slow: an abstract class
        kernel = kernel.kernel
    if isinstance(kernel, Matern):
        return float(kernel.nu)
    return math.inf if isinstance(kernel, RBF) else None


def radial(kernel: Kernel, r: Array) -> tuple[Array, Array] | None:
    """Return k(r) and h(r) of a stationary kernel that has a closed form.

    h(r) is -k'(r) / r, so the gradient in z is h(r) (x - z) in scaled coordinates.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel.
    r : array
        Distances in units of the length scale.

    Returns
    -------
    k, h : arrays of the shape of `r`
        (None, None) for kernels without a closed form.
    """
    nu = smoothness(kernel)
    if nu == math.inf:
        k = np.exp(-0.5 * r**2)
        return k, k.copy()
    if nu == 0.5:
        k = np.exp(-r)
        # At r = 0 the kernel has a kink with a central slope of zero. Near it, the
        # likelihood's gradient, a difference of products with h, would lose its
        # precision.
        return k, k / np.where(r > _KINK, r, np.inf)
    if nu == 1.5:
        decay = np.exp(-math.sqrt(3) * r)
        return (1 + math.sqrt(3) * r) * decay, 3 * decay
    if nu == 2.5:
        s = math.sqrt(5) * r
        decay = np.exp(-s)
        # In place: for a few hundred points, new memory costs more than arithmetic.
        k = s * s
        k /= 3
        s += 1
        k += s
        k *= decay
        h = s
        h *= decay
        h *= 5 / 3
        return k, h
    return None


class NominalKernel(Kernel):
    """A kernel that compares the values of some columns only for equality.

    Parameters
    ----------
    kernel : Kernel
        A kernel of differences or inner products that wraps no other kernel, with one
        length scale for all columns or one per column.
    columns : array of int
        The columns that hold positive codes; 0 means no choice.
    """

    def __init__(self, kernel: Kernel, columns: Indices) -> None:
        self.kernel = kernel
        self.columns = columns

    @property
    def closed(self) -> bool:
        """Whether `radial` has a closed form for the kernel."""
        return radial(self, np.zeros(1)) is not None

    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        X, Y = checked_sets(X, Y, eval_gradient)
        seen = X if Y is None else Y
        parts = radial(self, scaled(self, X, seen)[-1]) if self.closed else None
        if parts is not None:
            return parts[0]
        inner, one_hot, _ = self.expanded(seen)
        return inner(one_hot(X), None if Y is None else one_hot(Y))

    def diag(self, X: ArrayLike) -> Array:
        """Return k(x, x) of each row, shape (n,)."""
        X = np.atleast_2d(X)
        inner, one_hot, _ = self.expanded(X[:0])  # all choices are equivalent
        return inner.diag(one_hot(X))

    def is_stationary(self) -> bool:
        return bool(self.kernel.is_stationary())

    def expanded(self, seen: Array) -> tuple[Kernel, Callable[[Array], Array], Indices]:
        """Return the kernel on one-hot columns, their encoder, and other columns.

        The choices of the points `seen` have a column each, and all others share one.
        Other columns come first, followed by the columns of choices.
        """
        others = np.setdiff1d(np.arange(seen.shape[1]), self.columns)
        codes = [np.setdiff1d(seen[:, c], 0.0) for c in self.columns]
        widths = [len(own) + 1 for own in codes]
        owner = np.concatenate([others, np.repeat(self.columns, widths)])

        def one_hot(X: Array) -> Array:
            blocks = [
                _indicators(X[:, c], own)
                for c, own in zip(self.columns, codes, strict=True)
            ]
            return np.column_stack([X[:, others], *blocks])

        params = self.kernel.get_params(deep=False)
        if np.ndim(params.get("length_scale", 1.0)):
            params["length_scale"] = np.asarray(params["length_scale"])[owner]
        return type(self.kernel)(**params), one_hot, others


def _indicators(values: Array, codes: Array) -> Array:
    """Return a column for each code and one for all others, shape (n, k + 1)."""
    own = values[:, None] == codes
    rest = (values > 0) & ~own.any(axis=1)
    return np.column_stack([own, rest]) * math.sqrt(0.5)


def scaled(kernel: Kernel, Z: Array, X: Array) -> tuple[Array, Array, Array, Array]:
    """Return length scales, points in units of them, and distances of Z and X.

    The kernel is RBF or Matern, possibly with nominal columns. These are 0 in the
    points because they have no slope.
    """
    if type(kernel) is not NominalKernel:
        scale = np.asarray(kernel.length_scale, dtype=float)
        Z_scaled, X_scaled = Z / scale, X / scale
        return scale, Z_scaled, X_scaled, cdist(Z_scaled, X_scaled)
    scale = np.broadcast_to(kernel.kernel.length_scale, Z.shape[1:])
    Z_scaled, X_scaled = Z / scale, X / scale
    Z_scaled[:, kernel.columns] = X_scaled[:, kernel.columns] = 0.0
    squares = cdist(Z_scaled, X_scaled, "sqeuclidean")
    for c in kernel.columns:
        squares += differ(Z[:, c], X[:, c]) / scale[c] ** 2
    return scale, Z_scaled, X_scaled, np.sqrt(squares)


def differ(z: Array, x: Array) -> NDArray[np.bool_]:
    """Return where values of one column, (m,), differ from others, (n,), as (m, n)."""
    return z[:, None] != x


def with_nominal(kernel: Kernel, columns: Indices, n_columns: int) -> Kernel:
    """Return a kernel on `n_columns` columns, some of which are nominal."""
    if not len(columns) or isinstance(kernel, _LEFT_ALONE):
        return kernel
    if isinstance(kernel, SubsetKernel):
        dims = kernel.select(np.arange(n_columns))[0]
        inner = np.flatnonzero(np.isin(dims, columns))
        return SubsetKernel(with_nominal(kernel.kernel, inner, len(dims)), kernel.dims)
    params = kernel.get_params(deep=False)
    parts = {k: v for k, v in params.items() if isinstance(v, Kernel)}
    if not parts:
        return NominalKernel(kernel, columns)
    known = {k: with_nominal(v, columns, n_columns) for k, v in parts.items()}
    return type(kernel)(**{**params, **known})
