"""Problems that change in time: ``func(params, t)`` with t = 1, 2, ...

Notation: t the number of the evaluation, epsilon the rate of change, f_t the function
at t, k_theta(x, x') = exp(-|x - x'|^2 / (2 theta^2)).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.gaussian_process.kernels import RBF

from skrobustbo.space import Real, Space
from skrobustbo.surrogate import Candidate
from skrobustbo_benchmarks.problems._base import Array, Params, Problem, at_least
from skrobustbo_benchmarks.problems._gaussian import (
    Basis,
    Expansion,
    highest_peaks,
    maximum,
)

THETA = 0.2

#: Sets the stream of the functions apart from other uses of a seed.
_STREAM = 0x7C

# -- a Gaussian process that drifts ---------------------------------------------------


class DriftingDraw:
    """The functions f_t = sqrt(1 - epsilon) f_(t-1) + sqrt(epsilon) g_t on [0, 1]^2.

    f_1 = g_1, and the g_t are independent draws of the Gaussian process. Each is
    phi(x1)' Z phi(x2) with the basis of the kernel's space and a matrix Z of standard
    normal numbers, which depends on `seed` and t alone; f_t is a matrix of that form
    too, whose recursion is followed from the last t asked for, or from 1 if that is
    passed already. Memory is one matrix, and the values depend on nothing but the
    arguments.
    """

    def __init__(self, epsilon: float, seed: int):
        self.epsilon = epsilon
        self.seed = seed
        self.basis = Basis(THETA)
        # One tuple, swapped whole, so that threads may share the object.
        self._last: tuple[int, Array] = 1, self._normal(1)

    def _normal(self, t: int) -> Array:
        rng = np.random.default_rng([_STREAM, self.seed, t])
        return rng.standard_normal((self.basis.size, self.basis.size))

    def matrix(self, t: int) -> Array:
        """Return the matrix of f_t."""
        last, z = self._last
        if at_least("t", t, 1) < last:
            last, z = 1, self._normal(1)
        keep, renew = math.sqrt(1 - self.epsilon), math.sqrt(self.epsilon)
        for step in range(last + 1, t + 1):
            z = keep * z + renew * self._normal(step)
        self._last = t, z
        return z

    def __call__(self, params: Mapping[str, Any], t: int) -> float:
        """Return f_t at the point x1, x2."""
        left, right = self.basis([params["x1"], params["x2"]])
        return float(left @ self.matrix(t) @ right)

    def on_grid(self, line: Array, t: int) -> Array:
        """Return f_t on the grid of x1 and x2 in `line`, shape (len(line),) * 2."""
        phi = self.basis(line)
        values: Array = phi @ self.matrix(t) @ phi.T
        return values

    def grid_maximum(self, line: tuple[float, ...], t: int) -> tuple[float, Params]:
        """Return the maximum of f_t on a grid, by looking at all its points."""
        values = self.on_grid(np.array(line), t)
        i, j = np.unravel_index(np.argmax(values), values.shape)
        params = {"x1": line[i], "x2": line[j]}
        return self(params, t), params

    def square_maximum(self, t: int) -> tuple[float, Params]:
        """Return the maximum of f_t on the square: peaks of a grid, then climbed.

        The grid is spaced by theta / 8, so that no peak escapes it.
        """
        line = np.linspace(0.0, 1.0, 41)
        values = self.on_grid(line, t)
        i, j = np.unravel_index(highest_peaks(values, 3), values.shape)
        starts = np.column_stack([line[i], line[j]])
        # The starts stay in the race, as an ascent may end below one by rounding.
        points = [*starts, *(self._climb(start, t) for start in starts)]
        found: list[Params] = [{"x1": float(x[0]), "x2": float(x[1])} for x in points]
        values_found = [self(params, t) for params in found]
        best = int(np.argmax(values_found))
        return values_found[best], found[best]

    def _climb(self, start: Array, t: int) -> Array:
        z = self.matrix(t)

        def downhill(x: Array) -> tuple[float, Array]:
            left, right = self.basis(x)
            d_left, d_right = self.basis.derivative(x)
            slopes = np.array([d_left @ z @ right, left @ z @ d_right])
            return -float(left @ z @ right), -slopes

        found = minimize(
            downhill,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1.0)] * 2,
            options={"ftol": 1e-15, "gtol": 1e-9},
        )
        return np.asarray(found.x)


def tv_within_model(
    seed: int = 0, *, epsilon: float = 0.03, n_grid: int | None = None
) -> Problem:
    """Return a Gaussian process draw that drifts into others, 2-d, noisy.

    f_t = sqrt(1 - epsilon) f_(t-1) + sqrt(epsilon) g_t on [0, 1]^2, f_1 = g_1, with
    independent draws g_t of the Gaussian process with kernel k(x, x') = exp(-|x -
    x'|^2 / (2 theta^2)), theta = 0.2. So the covariance of f_s(x) and f_t(x') is
    (1 - epsilon)^(|s - t| / 2) k(x, x'). Gaussian noise of variance 0.02; 400 steps
    are a run, and more can be asked for.

    The functions are sums over an orthonormal basis of the kernel's space with normal
    coefficients: exact draws on the whole square, to rounding, without a grid. A step
    costs the same at all t as long as t does not go back.

    Parameters
    ----------
    seed : int, default=0
        Which functions. `sample_function` gives the others.
    epsilon : float, default=0.03
        Rate of change, from 0 (none) to 1 (a new function at each step). The source
        has 0.01, 0.03 and 0.05.
    n_grid : int or None, default=None
        If given, the domain is the grid of that many values of each parameter, ends
        included: the same functions on a finite set. With 15, whose maxima lie 0.02
        below those on the square in the mean, a step of a policy is cheap.

    Returns
    -------
    Problem
        With one candidate, the true kernel of the points (not of time). The optimum at
        t is the best of a grid of 41 x 41 points and its three highest peaks, climbed
        by gradient; with `n_grid`, the best of all points.

    Raises
    ------
    ValueError
        If a setting is out of its range.

    Notes
    -----
    Brunzema, von Rohr, Solowjow and Trimpe, "Event-triggered time-varying Bayesian
    optimization", TMLR 2025, Table 1 and appendix A.1, after Bogunovic, Scarlett and
    Cevher, "Time-varying Gaussian process bandit optimization", AISTATS 2016. The
    source does not say how the functions were sampled, nor how a run starts.
    """
    if not 0 <= epsilon <= 1:
        raise ValueError(
            "The 'epsilon' setting of 'tv-within-model' must be from 0 to 1. Got "
            f"{epsilon!r} instead."
        )
    functions = DriftingDraw(float(epsilon), at_least("seed", seed, 0))
    space, optimum_over_time = _domain(functions, n_grid)
    return Problem(
        name="tv-within-model",
        space=space,
        func=functions,
        source=f"a Gaussian process draw (seed {seed}) on [0, 1]^2 that drifts at rate "
        f"{epsilon:g} (Brunzema et al. 2025, Table 1)",
        noise_std=math.sqrt(0.02),
        candidates=[Candidate(RBF(THETA), label=f"theta={THETA:g}")],
        true_candidate=0,
        sample_function=partial(tv_within_model, epsilon=epsilon, n_grid=n_grid),
        horizon=400,
        optimum_over_time=optimum_over_time,
    )


def _domain(
    functions: DriftingDraw, n_grid: int | None
) -> tuple[Space, Callable[[int], tuple[float, Params]]]:
    if n_grid is None:
        square = Space({"x1": Real(0.0, 1.0), "x2": Real(0.0, 1.0)})
        return square, functions.square_maximum
    line = tuple(np.linspace(0.0, 1.0, at_least("n_grid", n_grid, 2)).tolist())
    grid = Space.from_points([{"x1": a, "x2": b} for a in line for b in line])
    return grid, partial(functions.grid_maximum, line)


# -- functions of one parameter that change by rule -----------------------------------

_HORIZON = 500


class Abrupt:
    """Functions that follow one another, the next from each of the `changes` on."""

    def __init__(self, functions: list[Expansion], changes: list[int]):
        self.functions = functions
        self.changes = changes
        self._maxima = [maximum(function) for function in functions]

    def _phase(self, t: int) -> int:
        return bisect_right(self.changes, at_least("t", t, 1))

    def __call__(self, params: Mapping[str, Any], t: int) -> float:
        """Return the value at `params` in the phase of t."""
        return float(self.functions[self._phase(t)](params["x"]))

    def optimum(self, t: int) -> tuple[float, Params]:
        """Return the largest value in the phase of t, and where it is reached."""
        value, x = self._maxima[self._phase(t)]
        return value, {"x": x}


def abrupt_change() -> Problem:
    """Return a hill beside a hollow that change places at t = 100 and 200, 1-d, noisy.

    f_t(x) = k(x, a) - k(x, b) on [0, 1], k(x, x') = exp(-(x - x')^2 / (2 theta^2)) with
    theta = 0.2; (a, b) is (0.2, 0.8) up to t = 99, (0.8, 0.2) from t = 100 and (0.5,
    0.8) from t = 200. So after each change a hollow lies where the maximum was.
    Gaussian noise of variance 0.01; 500 steps are a run.

    The optima, 0.989, 0.989 and 0.760 and beside the hills, are the best of a grid of
    2001 points and its highest peaks, refined by Brent's method.

    Returns
    -------
    Problem
        With one candidate, the true kernel with the norm bound sqrt(2).

    Notes
    -----
    Brunzema, von Rohr, Solowjow and Trimpe, "Event-triggered time-varying Bayesian
    optimization", TMLR 2025, appendix B, Figure 5 (a), after Deng, Zhou, Kim, Tewari,
    Gupta and Shroff, "Weighted Gaussian process bandits for non-stationary
    environments", AISTATS 2022.

    A **reconstruction**: the source states one dimension, the times of the changes, the
    kernel and the horizon, and refers to the second paper's code for the functions. Of
    its two statements on the noise this is Table 8's; the text has variance 0.1.
    """
    places = [(0.2, 0.8), (0.8, 0.2), (0.5, 0.8)]
    weights = np.array([1.0, -1.0])
    functions = [Expansion(np.array(pair), weights, THETA) for pair in places]
    abrupt = Abrupt(functions, changes=[100, 200])
    return _by_rule(
        "abrupt-change",
        abrupt,
        "a hill and a hollow on [0, 1] that change places at t = 100 and 200 "
        "(after Brunzema et al. 2025, app. B)",
        math.sqrt(2),
        abrupt.optimum,
    )


def _centre(t: int) -> float:
    """Return where the hill of `slow_change` is: from 0.3 to 0.7 over the horizon."""
    travelled = (min(at_least("t", t, 1), _HORIZON) - 1) / (_HORIZON - 1)
    return 0.3 + 0.4 * travelled


def _hill(params: Mapping[str, Any], t: int) -> float:
    return math.exp(-0.5 * ((params["x"] - _centre(t)) / THETA) ** 2)


def _top(t: int) -> tuple[float, Params]:
    return 1.0, {"x": _centre(t)}


def slow_change() -> Problem:
    """Return a hill that wanders from x = 0.3 to x = 0.7, 1-d, noisy.

    f_t(x) = exp(-(x - c_t)^2 / (2 theta^2)) on [0, 1] with theta = 0.2 and c_t = 0.3 +
    0.4 (t - 1) / 499, which rests from t = 500 on. Its norm in the space of the kernel
    of length scale theta is 1 at all t, and the path of the functions there is 2 long.
    Gaussian noise of variance 0.01; 500 steps are a run.

    The optimum is 1 at x = c_t.

    Returns
    -------
    Problem
        With one candidate, the true kernel with the norm bound 1.

    Notes
    -----
    Brunzema, von Rohr, Solowjow and Trimpe, "Event-triggered time-varying Bayesian
    optimization", TMLR 2025, appendix B, Figure 5 (b), after Deng, Zhou, Kim, Tewari,
    Gupta and Shroff, "Weighted Gaussian process bandits for non-stationary
    environments", AISTATS 2022.

    A **reconstruction**: the source states one dimension, the kernel, the horizon and
    that the change is slow and small, and refers to the second paper's code for the
    functions. Of its two statements on the noise this is Table 8's; the text has
    variance 0.1.
    """
    return _by_rule(
        "slow-change",
        _hill,
        "a hill on [0, 1] that moves from 0.3 to 0.7 in 500 steps (after "
        "Brunzema et al. 2025, app. B)",
        1.0,
        _top,
    )


def _by_rule(
    name: str,
    func: Callable[..., float],
    source: str,
    norm_bound: float,
    optimum: Callable[[int], tuple[float, Params]],
) -> Problem:
    return Problem(
        name=name,
        space=Space({"x": Real(0.0, 1.0)}),
        func=func,
        source=source,
        noise_std=0.1,
        candidates=[
            Candidate(RBF(THETA), norm_bound=norm_bound, label=f"theta={THETA:g}")
        ],
        true_candidate=0,
        horizon=_HORIZON,
        optimum_over_time=optimum,
    )
