"""Functions of the space of the Gaussian kernel, and draws of its process.

Notation of this file: k(x, x') = exp(-|x - x'|^2 / (2 theta^2)) with length scale
theta, on the unit interval (and, as a product, on the unit square); u = (x - 1/2) /
theta. The kernel is the sum over n of phi_n(x) phi_n(x') with

    phi_n(x) = exp(-u^2 / 2) u^n / sqrt(n!),

and these functions are orthonormal in the kernel's space. So sum_n z_n phi_n with
independent standard normal z_n is a draw of the Gaussian process on the whole interval:
no grid, no factor of a nearly singular matrix, no jitter. What N terms leave out of the
variance at u is P(M >= N) for a Poisson variable M of mean u^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular
from scipy.ndimage import maximum_filter
from scipy.optimize import minimize_scalar
from scipy.stats import poisson
from sklearn.gaussian_process.kernels import RBF

from skrobustbo.space import Real, Space
from skrobustbo.surrogate import Candidate
from skrobustbo_benchmarks.problems._base import (
    Array,
    Problem,
    at_least,
    uniform_design,
)
from skrobustbo_benchmarks.problems._synthetic import berkenkamp

#: Share of the variance of a draw that may be missing anywhere: the rounding of a sum.
_LEFT_OUT = 1e-16


def gaussian_kernel(x: ArrayLike, centres: ArrayLike, theta: float) -> Array:
    """Return k(x, c) for all pairs, shape ``x.shape + centres.shape``."""
    gaps = np.subtract.outer(np.asarray(x, float), np.asarray(centres, float))
    return np.asarray(np.exp(-0.5 * (gaps / theta) ** 2))


# -- sums of kernels ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Expansion:
    """The function sum_i w_i k(x, c_i), w and c of shape (n,), of one variable."""

    centres: Array
    weights: Array
    theta: float

    def __call__(self, x: ArrayLike) -> Array:
        """Return the values at `x`, an array of any shape."""
        values: Array = gaussian_kernel(x, self.centres, self.theta) @ self.weights
        return values

    @property
    def norm(self) -> float:
        """The norm in the kernel's space, sqrt(w' K w)."""
        return math.sqrt(self.weights @ self(self.centres))

    def scaled_to(self, norm: float) -> Expansion:
        """Return the multiple of the function that has the given norm."""
        factor = norm / self.norm
        return Expansion(self.centres, factor * self.weights, self.theta)


def interpolant(centres: ArrayLike, values: ArrayLike, theta: float) -> Expansion:
    """Return the expansion of least norm through `values` at `centres`."""
    points = np.asarray(centres, float)
    kernel = gaussian_kernel(points, points, theta)
    weights = np.linalg.solve(kernel, np.asarray(values, float))
    return Expansion(points, weights, theta)


def drawn_interpolant(
    centres: ArrayLike, theta: float, rng: np.random.Generator
) -> Expansion:
    """Return the interpolant of a draw of the process at `centres`.

    With K = L L' and standard normal z the values of the draw are L z. The weights
    that interpolate them, K^-1 L z = L'^-1 z, take one triangular solve, which loses
    half the digits that a solve with K would.
    """
    points = np.asarray(centres, float)
    factor = np.linalg.cholesky(gaussian_kernel(points, points, theta))
    z = rng.standard_normal(len(points))
    weights = solve_triangular(factor, z, lower=True, trans="T")
    return Expansion(points, weights, theta)


# -- draws of the process -------------------------------------------------------------


@dataclass(frozen=True)
class Basis:
    """The functions phi_n of the unit interval that matter."""

    theta: float

    @cached_property
    def size(self) -> int:
        """Number N of functions, enough for the ends of the interval."""
        return int(poisson.isf(_LEFT_OUT, (0.5 / self.theta) ** 2)) + 1

    @cached_property
    def _roots(self) -> Array:
        return np.sqrt(np.arange(1, self.size))

    def __call__(self, x: ArrayLike) -> Array:
        """Return phi_n(x), shape ``x.shape + (size,)``."""
        u = (np.asarray(x, float)[..., None] - 0.5) / self.theta
        # Products of ratios: u^n and n! by themselves would overflow.
        powers = np.cumprod(u / self._roots, axis=-1)
        ones = np.ones_like(u)
        return np.asarray(np.exp(-0.5 * u**2) * np.concatenate([ones, powers], axis=-1))

    def derivative(self, x: ArrayLike) -> Array:
        """Return phi_n'(x), shape ``x.shape + (size,)``."""
        u = (np.asarray(x, float)[..., None] - 0.5) / self.theta
        phi = self(x)
        slopes = -u * phi
        slopes[..., 1:] += self._roots * phi[..., :-1]
        return np.asarray(slopes / self.theta)


@dataclass(frozen=True, eq=False)
class Draw:
    """A draw of the process on the unit interval: a basis and its coefficients."""

    basis: Basis
    z: Array

    def __call__(self, x: ArrayLike) -> Array:
        """Return the values at `x`, an array of any shape."""
        return np.asarray(self.basis(x) @ self.z)


# -- functions of one parameter -------------------------------------------------------


@dataclass(frozen=True)
class OfNumber:
    """A formula of x, of any shape, as an objective of one number (picklable)."""

    formula: Callable[[ArrayLike], Array]

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the value at `params`."""
        return float(self.formula(params["x"]))


def maximum(func: Callable[[ArrayLike], Array]) -> tuple[float, float]:
    """Return the largest value of `func` on [0, 1] and where it is: (value, x).

    The three highest peaks of a grid are refined by Brent's method between their
    neighbours. The grid must be fine enough to show every peak.
    """
    grid = np.linspace(0.0, 1.0, 2001)
    values = func(grid)
    start = int(np.argmax(values))
    best = float(values[start]), float(grid[start])
    for i in highest_peaks(values, 3):
        ends = grid[max(i - 1, 0)], grid[min(i + 1, 2000)]
        found = minimize_scalar(
            lambda x: -float(func(x)),
            bounds=ends,
            method="bounded",
            options={"xatol": 1e-10},
        )
        best = max(best, (-float(found.fun), float(found.x)))
    return best


def highest_peaks(values: Array, n: int) -> NDArray[np.intp]:
    """Return the flat indices of the `n` highest local maxima of values on a grid."""
    above_neighbours = values == maximum_filter(values, size=3, mode="nearest")
    peaks = np.flatnonzero(above_neighbours)
    order = np.argsort(-values.ravel()[peaks], kind="stable")
    return peaks[order[:n]]


# -- the problem ----------------------------------------------------------------------

THETA = 0.1
#: Spaced by theta / 2: what an interpolant misses of a draw between two of them has a
#: deviation below 0.003, and the kernel matrix (condition 2e7) leaves nine digits.
CENTRES = np.linspace(0.0, 1.0, 21)

#: Sets the stream of the functions apart from other uses of a seed.
_STREAM = 0x5F


def rkhs(seed: int | None = None) -> Problem:
    """Return a function of known norm in the space of a Gaussian kernel, 1-d.

    On [0, 1] with the kernel k(x, x') = exp(-(x - x')^2 / (2 theta^2)), theta = 0.1.
    Noise-free, two uniform initial points.

    Without a seed it is the first experiment of its source: a function of norm 2,
    almost linear but for the bump that holds the maximum. A run is stuck if its best
    value ends below 1.1 times that of the right end.

    With a seed it is the second: the values of a draw of the Gaussian process at 21
    points, interpolated by the kernel and scaled to norm 4. `sample_function` gives
    these.

    Parameters
    ----------
    seed : int or None, default=None
        Which of the random functions; None gives the example function.

    Returns
    -------
    Problem
        With one candidate, the true kernel and norm. The optimum is the best of a grid
        of 2001 points and its three highest peaks, refined by Brent's method.

    Raises
    ------
    ValueError
        If `seed` is negative.

    Notes
    -----
    Berkenkamp, Schoellig and Krause, "No-regret Bayesian optimization with unknown
    hyperparameters", JMLR 20, 2019, section 5.1.

    The example function is a **reconstruction**. The source shows it (Figures 1 and 2)
    and states theta, the norm and the look, but no formula; here it interpolates the
    values of the problem ``"berkenkamp"`` at 21 points and is scaled to the norm. The
    number of points of the draws is ours too, and so is the absence of noise: the
    source states neither.
    """
    stuck_below = None
    if seed is None:
        norm, what = 2.0, "an almost linear function with a bump"
        shape = [berkenkamp().func({"x": x}) for x in CENTRES]
        function = interpolant(CENTRES, shape, THETA).scaled_to(norm)
        stuck_below = 1.1 * float(function(1.0))
    else:
        norm, what = 4.0, f"an interpolated Gaussian process draw (seed {seed})"
        rng = np.random.default_rng([_STREAM, at_least("seed", seed, 0)])
        function = drawn_interpolant(CENTRES, THETA, rng).scaled_to(norm)
    space = Space({"x": Real(0.0, 1.0)})
    optimum, x = maximum(function)
    return Problem(
        name="rkhs",
        space=space,
        func=OfNumber(function),
        source=f"{what} of norm {norm:g} in the space of the Gaussian kernel of length "
        f"scale {THETA:g} on [0, 1] (Berkenkamp et al. 2019, sec. 5.1)",
        optimum=optimum,
        optimum_params={"x": x},
        stuck_below=stuck_below,
        n_initial=2,
        initial_design=partial(uniform_design, space),
        candidates=[Candidate(RBF(THETA), norm_bound=norm, label=f"theta={THETA:g}")],
        true_candidate=0,
        sample_function=rkhs,
    )
