"""Kernels of a scaled distance, and support for nominal columns.

A nominal column contains codes of unordered choices. A kernel treats it like a one-hot
encoding in which two different choices have distance 1. In kernels with a closed form,
the squared distance for length scales l is::

    r**2 = sum over other columns of (x_j - x'_j)**2 / l_j**2
         + sum over nominal columns of [x_c != x'_c] / l_c**2

For other kernels, nominal columns are one-hot encoded, with one column for each choice
that occurs in the points.
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
#: Kernels that nominal columns do not affect.
_LEFT_ALONE = (
    ConstantKernel,
    WhiteKernel,
    EmpiricalKernel,
    ForgettingKernel,
    WienerKernel,
)


def smoothness(kernel: Kernel) -> float | None:
    """Return the smoothness parameter nu of a kernel.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel.

    Returns
    -------
    nu : float or None
        The `nu` of a Matern kernel, inf for an RBF kernel, None for other kernels.
    """
    if type(kernel) is NominalKernel:  # isinstance would be slow: an abstract class
        kernel = kernel.kernel
    if isinstance(kernel, Matern):
        return float(kernel.nu)
    return math.inf if isinstance(kernel, RBF) else None


def radial(kernel: Kernel, r: Array) -> tuple[Array, Array] | None:
    """Return k(r) and h(r) = -k'(r) / r of a kernel with a closed form.

    In scaled coordinates, the gradient of k with respect to z is h(r) (x - z).

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel.
    r : array
        Distances in units of the length scale.

    Returns
    -------
    k, h : arrays of the shape of `r`
        A single None is returned for kernels without a closed form.
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
    """Kernel that treats some columns as nominal.

    Parameters
    ----------
    kernel : Kernel
        A kernel that depends on differences or inner products and wraps no other
        kernel. It has one length scale for all columns or one per column.
    columns : array of int
        Indices of the nominal columns. Their values are positive codes, or 0 for no
        choice.
    """

    def __init__(self, kernel: Kernel, columns: Indices) -> None:
        self.kernel = kernel
        self.columns = columns

    @property
    def closed(self) -> bool:
        """Whether the kernel has a closed form."""
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
        """Return the diagonal of the kernel matrix, shape (n,)."""
        X = np.atleast_2d(X)
        inner, one_hot, _ = self.expanded(X[:0])  # all choices are equivalent
        return inner.diag(one_hot(X))

    def is_stationary(self) -> bool:
        return bool(self.kernel.is_stationary())

    def expanded(self, seen: Array) -> tuple[Kernel, Callable[[Array], Array], Indices]:
        """Return the kernel for one-hot encoded points, and their encoder.

        Each choice that occurs in `seen` has its own column, and all other choices
        share one column. The indices of the columns that are not nominal are also
        returned. These columns come first in the encoded points.
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
    """Return an indicator column for each code and one for all other codes."""
    own = values[:, None] == codes
    rest = (values > 0) & ~own.any(axis=1)
    return np.column_stack([own, rest]) * math.sqrt(0.5)


def scaled(kernel: Kernel, Z: Array, X: Array) -> tuple[Array, Array, Array, Array]:
    """Return the length scales, the scaled points and the distances between them.

    The kernel must be RBF or Matern, with or without nominal columns. Nominal columns
    are set to 0 in the scaled points, because the kernel has no slope along them.
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
    """Return a mask of shape (m, n) of the pairs of values that differ."""
    return z[:, None] != x


def with_nominal(kernel: Kernel, columns: Indices, n_columns: int) -> Kernel:
    """Return a kernel that treats the given columns as nominal."""
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
