"""Gradients of kernels with respect to their inputs, and their length scales.

The kernels of scikit-learn only compute gradients with respect to their
hyperparameters, but maximising an acquisition function also requires gradients with
respect to x. A stationary kernel k(r) of the scaled distance ``r = |(x-x')/l|`` has the
gradients::

    dk/dx_j = -h(r) (x_j - x'_j) / l_j**2        h(r) = -k'(r) / r
    dk/dlog(l_j) = h(r) (x_j - x'_j)**2 / l_j**2

Both gradients therefore use the same function h.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    Kernel,
    KernelOperator,
    Product,
    Sum,
    WhiteKernel,
)

from skrobustbo._arrays import Array
from skrobustbo.kernels._empirical import EmpiricalKernel
from skrobustbo.kernels._radial import NominalKernel, radial, scaled
from skrobustbo.kernels._structured import AdditiveKernel, SubsetKernel
from skrobustbo.kernels._time import ForgettingKernel, WienerKernel

_STEP = 1e-6  # of the unit cube, for central differences


def with_length_scale(kernel: Kernel, theta: ArrayLike) -> Kernel:
    """Return a copy of `kernel` with every length scale multiplied by `theta`.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel.
    theta : float or array of shape (n_columns,)
        A single factor for all encoded columns, or one factor per column. A
        `SubsetKernel` uses only the factors of its own columns. Kernels with a single
        length scale (`RationalQuadratic`, `ExpSineSquared`) use the geometric mean of
        the factors.

    Returns
    -------
    kernel : Kernel

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from skrobustbo.kernels import with_length_scale
    >>> with_length_scale(Matern(length_scale=0.5, nu=2.5), 0.5)
    Matern(length_scale=0.25, nu=2.5)
    """
    copy = clone(kernel)
    _stretch(copy, np.asarray(theta, dtype=float))
    return copy


def _stretch(kernel: Kernel, theta: Array) -> None:
    """Multiply the length scales of a kernel by `theta` in place."""
    if isinstance(kernel, SubsetKernel) and theta.ndim:
        theta = kernel.select(theta)[0]
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            _stretch(value, theta)
        elif name == "length_scale":
            many = isinstance(kernel, RBF)  # includes Matern
            factor = theta if many else math.exp(np.log(theta).mean())
            kernel.set_params(length_scale=value * factor)


def length_scales(kernel: Kernel, n_columns: int) -> Array:
    """Return the length scale of each column, with inf for columns that have none.

    For sums and products of two kernels, return the shorter length scale.
    """
    scales = np.full(n_columns, np.inf)
    if isinstance(kernel, RBF):  # includes Matern
        scales[:] = kernel.length_scale
    elif isinstance(kernel, KernelOperator):
        one, other = (length_scales(k, n_columns) for k in (kernel.k1, kernel.k2))
        scales = np.minimum(one, other)
    elif isinstance(kernel, SubsetKernel):
        seen = kernel.select(np.arange(n_columns))[0]
        scales[seen] = length_scales(kernel.kernel, len(seen))
    elif isinstance(kernel, Exponentiation | AdditiveKernel | NominalKernel):
        scales = length_scales(kernel.kernel, n_columns)
    return scales


def by_differences(function: Callable[[Array], Array], Z: Array) -> Array:
    """Return the gradient of a function at points `Z` by central differences.

    The last axis of the result contains the partial derivatives.
    """
    steps = _STEP * np.eye(Z.shape[1])
    slopes = [(function(Z + s) - function(Z - s)) / (2 * _STEP) for s in steps]
    return np.stack(slopes, axis=-1)


@singledispatch
def kernel_and_gradient(kernel: Kernel, Z: Array, X: Array) -> tuple[Array, Array]:
    """Return the kernel matrix k(Z, X) and its gradient with respect to `Z`.

    The gradient is exact for Matern kernels with nu = 1/2, 3/2 or 5/2, for RBF,
    constant, white noise and time kernels, and for sums, products, powers, subsets and
    additive decompositions of these kernels. It is zero for an `EmpiricalKernel`. For
    all other kernels, it is computed by central differences.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel.
    Z : array of shape (m, n_columns)
        Points at which to compute the gradient.
    X : array of shape (n, n_columns)
        Second set of points.

    Returns
    -------
    k : array of shape (m, n)
    gradient : array of shape (m, n, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skrobustbo.kernels import kernel_and_gradient
    >>> k, slope = kernel_and_gradient(RBF(), np.array([[0.0]]), np.array([[1.0]]))
    >>> bool(np.isclose(slope[0, 0, 0], k[0, 0]))
    True
    """
    return kernel(Z, X), by_differences(lambda points: kernel(points, X), Z)


# Matern is a subclass of RBF, so the same function handles it.
@kernel_and_gradient.register
def _(kernel: RBF, Z: Array, X: Array) -> tuple[Array, Array]:
    scale, Z_scaled, X_scaled, r = scaled(kernel, Z, X)
    parts = radial(kernel, r)
    if parts is None:
        return kernel_and_gradient.dispatch(object)(kernel, Z, X)
    k, h = parts
    gradient = (X_scaled - Z_scaled[:, None, :]) / scale
    gradient *= h[:, :, None]
    return k, gradient


@kernel_and_gradient.register
def _(kernel: NominalKernel, Z: Array, X: Array) -> tuple[Array, Array]:
    if kernel.closed:
        return kernel_and_gradient.dispatch(RBF)(kernel, Z, X)
    inner, one_hot, others = kernel.expanded(X)
    k, slopes = kernel_and_gradient(inner, one_hot(Z), one_hot(X))
    gradient = np.zeros((*k.shape, Z.shape[1]))
    gradient[:, :, others] = slopes[:, :, : len(others)]
    return k, gradient


def kernel_and_slopes(
    kernel: Kernel, Z: Array, X: Array
) -> tuple[Array, Callable[[Array], Array]]:
    """Return k(Z, X) and a function that computes weighted sums of its gradient.

    The function takes weights of shape (m, n) or (1, n), multiplies the gradient by
    them and sums the products over X. The result has shape (m, n_columns). For kernels
    of a scaled distance, the full gradient is never computed.
    """
    if isinstance(kernel, RBF) or (isinstance(kernel, NominalKernel) and kernel.closed):
        scale, Z_scaled, X_scaled, r = scaled(kernel, Z, X)
        parts = radial(kernel, r)
        if parts is not None:
            k, h = parts

            def weighed(weights: Array) -> Array:
                W = weights * h
                total = W.sum(axis=1)[:, None]
                return (W @ X_scaled - total * Z_scaled) / scale

            return k, weighed
    k, gradient = kernel_and_gradient(kernel, Z, X)
    return k, lambda weights: np.einsum("mn,mnj->mj", weights, gradient)


@kernel_and_gradient.register(ConstantKernel)
@kernel_and_gradient.register(WhiteKernel)
@kernel_and_gradient.register(EmpiricalKernel)
def _(kernel: Kernel, Z: Array, X: Array) -> tuple[Array, Array]:
    k: Array = kernel(Z, X)
    return k, np.zeros((*k.shape, Z.shape[1]))


@kernel_and_gradient.register
def _(kernel: Sum, Z: Array, X: Array) -> tuple[Array, Array]:
    k1, d1 = kernel_and_gradient(kernel.k1, Z, X)
    k2, d2 = kernel_and_gradient(kernel.k2, Z, X)
    return k1 + k2, d1 + d2


@kernel_and_gradient.register
def _(kernel: Product, Z: Array, X: Array) -> tuple[Array, Array]:
    k1, d1 = kernel_and_gradient(kernel.k1, Z, X)
    k2, d2 = kernel_and_gradient(kernel.k2, Z, X)
    return k1 * k2, d1 * k2[:, :, None] + d2 * k1[:, :, None]


@kernel_and_gradient.register
def _(kernel: Exponentiation, Z: Array, X: Array) -> tuple[Array, Array]:
    k, d = kernel_and_gradient(kernel.kernel, Z, X)
    return k**kernel.exponent, _power_slope(kernel, k)[:, :, None] * d


def _power_slope(kernel: Exponentiation, k: Array) -> Array:
    """Return the derivative of k**p with respect to k."""
    p = kernel.exponent
    # Far from the data, k may underflow to zero, where a root has infinite slope.
    finite = (k != 0) | (p >= 1)
    return p * np.power(k, p - 1, out=np.zeros_like(k), where=finite)


@kernel_and_gradient.register
def _(kernel: SubsetKernel, Z: Array, X: Array) -> tuple[Array, Array]:
    k, inner = kernel_and_gradient(kernel.kernel, kernel.select(Z), kernel.select(X))
    gradient = np.zeros((*k.shape, Z.shape[1]))
    gradient[:, :, list(kernel.dims)] = inner
    return k, gradient


@kernel_and_gradient.register
def _(kernel: AdditiveKernel, Z: Array, X: Array) -> tuple[Array, Array]:
    masks = kernel.masks(Z.shape[1])
    k, gradient = np.zeros((len(Z), len(X))), np.zeros((len(Z), len(X), Z.shape[1]))
    for mask in masks:
        copy, inner = kernel_and_gradient(
            kernel.kernel, np.where(mask, Z, 0.0), np.where(mask, X, 0.0)
        )
        k += copy
        gradient += inner * mask
    return k / len(masks), gradient / len(masks)


@kernel_and_gradient.register
def _(kernel: ForgettingKernel, Z: Array, X: Array) -> tuple[Array, Array]:
    k: Array = kernel(Z, X)
    gradient = np.zeros((*k.shape, Z.shape[1]))
    # At equal times, the kernel has a kink with a central slope of zero.
    direction = np.sign(kernel.times(Z)[:, None] - kernel.times(X))
    gradient[:, :, kernel.column] = -kernel.decay * direction * k
    return k, gradient


@kernel_and_gradient.register
def _(kernel: WienerKernel, Z: Array, X: Array) -> tuple[Array, Array]:
    k: Array = kernel(Z, X)
    gradient = np.zeros((*k.shape, Z.shape[1]))
    # At equal times, min(i, j) has a kink with a central slope of one half.
    before = np.heaviside(kernel.times(X) - kernel.times(Z)[:, None], 0.5)
    gradient[:, :, kernel.column] = kernel.variance * before
    return k, gradient


@singledispatch
def diag_gradient(kernel: Kernel, Z: Array) -> Array:
    """Return the gradient of k(z, z) with respect to z.

    The gradient is zero if the kernel is stationary.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel.
    Z : array of shape (m, n_columns)
        Points at which to compute the gradient.

    Returns
    -------
    gradient : array of shape (m, n_columns)
    """
    if kernel.is_stationary():
        return np.zeros_like(Z)
    return by_differences(kernel.diag, Z)


# Composite kernels combine the gradients of their parts, because central differences
# would evaluate an EmpiricalKernel or a WienerKernel outside its domain.
@diag_gradient.register
def _(kernel: Sum, Z: Array) -> Array:
    return diag_gradient(kernel.k1, Z) + diag_gradient(kernel.k2, Z)


@diag_gradient.register
def _(kernel: Product, Z: Array) -> Array:
    d1, d2 = diag_gradient(kernel.k1, Z), diag_gradient(kernel.k2, Z)
    return d1 * kernel.k2.diag(Z)[:, None] + d2 * kernel.k1.diag(Z)[:, None]


@diag_gradient.register
def _(kernel: Exponentiation, Z: Array) -> Array:
    slope = _power_slope(kernel, kernel.kernel.diag(Z))
    return slope[:, None] * diag_gradient(kernel.kernel, Z)


@diag_gradient.register
def _(kernel: SubsetKernel, Z: Array) -> Array:
    gradient = np.zeros_like(Z)
    gradient[:, list(kernel.dims)] = diag_gradient(kernel.kernel, kernel.select(Z))
    return gradient


@diag_gradient.register
def _(kernel: AdditiveKernel, Z: Array) -> Array:
    masks = kernel.masks(Z.shape[1])
    gradient = np.zeros_like(Z)
    for mask in masks:
        gradient += mask * diag_gradient(kernel.kernel, np.where(mask, Z, 0.0))
    return gradient / len(masks)


@diag_gradient.register
def _(kernel: EmpiricalKernel, Z: Array) -> Array:
    return np.zeros_like(Z)


@diag_gradient.register
def _(kernel: WienerKernel, Z: Array) -> Array:
    gradient = np.zeros_like(Z)
    gradient[:, kernel.column] = kernel.variance
    return gradient
