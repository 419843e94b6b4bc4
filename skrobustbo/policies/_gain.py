"""A computable bound on the maximum information gain."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

Array = NDArray[np.float64]

#: Greedy selection reaches at least this share of the maximum, a submodular function's.
GREEDY_SHARE = 1 - 1 / math.e


def greedy_gain(kernel: Kernel, points: Array, n: int, noise: float) -> float:
    """Return the information gain of `n` points chosen greedily, 1/2 log|I + K/s**2|.

    The next point is the one of largest posterior variance, by a pivoted Cholesky
    decomposition of K + s**2 I. Noise makes a point worth observing again, so a chosen
    one may be chosen again.

    Parameters
    ----------
    kernel : Kernel
        Covariance on encoded points.
    points : array of shape (m, n_columns)
        The finite set to choose from.
    n : int
        Number of choices.
    noise : float
        Standard deviation s of the noise.
    """
    variance = np.array(kernel.diag(points), dtype=float)
    rows = np.empty((n, len(points)))  # row i: covariance with choice i, whitened
    gain = 0.0
    for i in range(n):
        chosen = int(np.argmax(variance))
        pivot = variance[chosen] + noise**2
        gain += 0.5 * math.log(pivot / noise**2)
        covariance = kernel(points[chosen : chosen + 1], points)[0]
        covariance -= rows[:i, chosen] @ rows[:i]
        rows[i] = covariance / math.sqrt(pivot)
        variance = np.maximum(variance - rows[i] ** 2, 0.0)
    return gain


def bound_gain(kernel: Kernel, points: Array, n: int, noise: float) -> float:
    """Return an upper bound on the maximum information gain of `n` of `points`.

    The gain of n points is submodular, so the greedy choice reaches at least 1 - 1/e of
    the maximum. For points that only sample a space it is an estimate of the space's.

    Parameters
    ----------
    kernel : Kernel
        Covariance on encoded points.
    points : array of shape (m, n_columns)
        The finite set.
    n : int
        Number of observations, of which several may be of one point.
    noise : float
        Standard deviation of the noise.
    """
    return greedy_gain(kernel, points, n, noise) / GREEDY_SHARE
