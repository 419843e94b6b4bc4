"""Gradients of kernels in their inputs, and length scales of any kernel.

scikit-learn's kernels give gradients in their hyperparameters only; climbing an
acquisition function needs them in x. For a stationary kernel k(r) of the scaled
distance r = |(x - x')/l|::

    dk/dx_j = -h(r) (x_j - x'_j) / l_j**2        h(r) = -k'(r) / r
    dk/dlog(l_j) = h(r) (x_j - x'_j)**2 / l_j**2

so one function h serves the climb and the likelihood fit.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Exponentiation,
    Kernel,
    Matern,
    Product,
    Sum,
    WhiteKernel,
)

Array = NDArray[np.float64]

_STEP = 1e-6  # of the unit cube, for central differences


def with_length_scale(kernel: Kernel, theta: ArrayLike) -> Kernel:
    """Return a copy of `kernel` with every length scale in it multiplied by `theta`.

    Parameters
    ----------
    kernel : Kernel
        A scikit-learn kernel; its own length scales are the ratios to keep.
    theta : float or array of shape (n_columns,)
        The factor, one for all encoded columns or one each. Kernels with a single
        length scale (`RationalQuadratic`, `ExpSineSquared`) take its geometric mean.
    """
    theta = np.asarray(theta, dtype=float)
    scaled: dict[str, Any] = {}
    for name, value in kernel.get_params().items():
        if name.rpartition("__")[2] == "length_scale":
            owner = kernel.get_params().get(name.rpartition("__")[0], kernel)
            many = isinstance(owner, RBF)  # Matern is one too
            factor = theta if many else math.exp(np.log(theta).mean())
            scaled[name] = value * factor
    return clone(kernel).set_params(**scaled)


def smoothness(kernel: Kernel) -> float | None:
    """Return nu of a Matern kernel (inf for RBF), None for any other kernel."""
    if isinstance(kernel, Matern):
        return float(kernel.nu)
    return math.inf if isinstance(kernel, RBF) else None


def radial(kernel: Kernel, r: Array) -> tuple[Array, Array] | None:
    """Return k(r) and h(r) of a single stationary kernel with a closed form.

    `r` is the scaled distance; None is returned for kernels without a closed form.
    """
    nu = smoothness(kernel)
    if nu == math.inf:
        k = np.exp(-0.5 * r**2)
        return k, k
    if nu == 0.5:
        k = np.exp(-r)
        # At r = 0 the kernel has a kink; its central slope there is zero.
        return k, k / np.where(r > 0, r, np.inf)
    if nu == 1.5:
        decay = np.exp(-math.sqrt(3) * r)
        return (1 + math.sqrt(3) * r) * decay, 3 * decay
    if nu == 2.5:
        s = math.sqrt(5) * r
        decay = np.exp(-s)
        # In place: at some hundred points fresh memory costs more than arithmetic.
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


@singledispatch
def kernel_and_gradient(kernel: Kernel, Z: Array, X: Array) -> tuple[Array, Array]:
    """Return k(Z, X), shape (m, n), and its gradient in Z, shape (m, n, n_columns).

    Exact for Matern with nu = 1/2, 3/2, 5/2, RBF, constants and white noise, and for
    sums, products and powers of those; central differences for any other kernel.
    """
    gradient = np.empty((len(Z), len(X), Z.shape[1]))
    for j in range(Z.shape[1]):
        step = np.zeros(Z.shape[1])
        step[j] = _STEP
        gradient[:, :, j] = (kernel(Z + step, X) - kernel(Z - step, X)) / (2 * _STEP)
    return kernel(Z, X), gradient


# Matern is a subclass of RBF, and so served by the same function.
@kernel_and_gradient.register
def _(kernel: RBF, Z: Array, X: Array) -> tuple[Array, Array]:
    scale = np.asarray(kernel.length_scale, dtype=float)
    Z_scaled, X_scaled = Z / scale, X / scale
    parts = radial(kernel, cdist(Z_scaled, X_scaled))
    if parts is None:
        return kernel_and_gradient.dispatch(object)(kernel, Z, X)
    k, h = parts
    gradient = (X_scaled - Z_scaled[:, None, :]) / scale
    gradient *= h[:, :, None]
    return k, gradient


@kernel_and_gradient.register(ConstantKernel)
@kernel_and_gradient.register(WhiteKernel)
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
    p = kernel.exponent
    # Far from the data k may underflow to zero, where a root has no finite slope.
    finite = (k != 0) | (p >= 1)
    slope = p * np.power(k, p - 1, out=np.zeros_like(k), where=finite)
    return k**p, slope[:, :, None] * d


def diag_gradient(kernel: Kernel, Z: Array) -> Array:
    """Return the gradient of k(z, z), shape (m, n_columns); zero if stationary."""
    gradient = np.zeros_like(Z)
    if not kernel.is_stationary():
        for j in range(Z.shape[1]):
            step = np.zeros(Z.shape[1])
            step[j] = _STEP
            gradient[:, j] = (kernel.diag(Z + step) - kernel.diag(Z - step)) / (
                2 * _STEP
            )
    return gradient
