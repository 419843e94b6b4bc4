"""Slice sampling from a density that is known up to a constant (Neal 2003)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from skrobustbo._arrays import Array

Line = Callable[[float], float]

#: Initial length of an interval and of each step out. One interval often covers two
#: peaks that are closer together than this.
_WIDTH = 2.0


def slice_sample(
    log_density: Callable[[Array], float],
    start: Array,
    n: int,
    *,
    rng: np.random.Generator,
    bounds: tuple[float, float] = (-math.inf, math.inf),
    burn_in: int = 0,
    thin: int = 1,
) -> Array:
    """Draw samples from a density with a Markov chain that leaves it invariant.

    Each sweep updates the coordinates of the state in turn. An update draws a level
    below the density at the current state. Starting from the state, it steps out to
    find an interval that covers the slice above this level. It then draws points from
    the interval and shrinks it towards the state after each point outside the slice
    (Neal, Slice sampling, Annals of Statistics 2003, figures 3 and 5). No step size
    needs to be tuned, because an interval that is initially too short or too long only
    increases the number of function calls.

    Parameters
    ----------
    log_density : callable
        Function that takes an array of shape (k,) and returns the log density up to a
        constant. nan is treated as -inf.
    start : array of shape (k,)
        Initial state of the chain.
    n : int
        Number of draws.
    rng : numpy.random.Generator
        Random number generator.
    bounds : (float, float), default=(-inf, inf)
        Bounds of every coordinate. The density is zero outside them.
    burn_in : int, default=0
        Number of additional sweeps before the first draw.
    thin : int, default=1
        Number of sweeps per draw.

    Returns
    -------
    draws : array of shape (n, k)
        The last draw can be used to continue the chain.
    """
    x = np.clip(np.asarray(start, dtype=float), *bounds)
    value = _number(log_density(x))
    draws = np.empty((n, len(x)))
    for sweep in range(1, burn_in + n * thin + 1):
        for i, direction in enumerate(np.eye(len(x))):
            line = _along(log_density, x, direction)
            # Rounding may have moved the state slightly outside the bounds.
            back, ahead = bounds[0] - float(x[i]), bounds[1] - float(x[i])
            reach = min(back, 0.0), max(ahead, 0.0)
            s, value = _updated(line, value, reach, rng)
            x = x + s * direction
        drawn, rest = divmod(sweep - burn_in, thin)
        if drawn > 0 and not rest:
            draws[drawn - 1] = x
    return np.clip(draws, *bounds)


def _along(log_density: Callable[[Array], float], x: Array, direction: Array) -> Line:
    return lambda s: _number(log_density(x + s * direction))


def _number(value: float) -> float:
    return -math.inf if math.isnan(value) else float(value)


def _updated(
    line: Line, value: float, reach: tuple[float, float], rng: np.random.Generator
) -> tuple[float, float]:
    """Return the position of the next state on the line, and its log density.

    The current state is at position 0 and has the log density `value`.
    """
    level = value - rng.standard_exponential()
    left, right = _stepped_out(line, level, reach, rng)
    while True:
        s = left + (right - left) * rng.random()
        found = line(s)
        # Not strictly above, so that the chain can leave a state of density zero.
        if found >= level:
            return s, found
        # The state itself is above the level, so this ends.
        left, right = (s, right) if s < 0 else (left, s)


def _stepped_out(
    line: Line, level: float, reach: tuple[float, float], rng: np.random.Generator
) -> tuple[float, float]:
    """Extend an interval around 0 until both ends are low enough or out of reach."""
    left = -_WIDTH * rng.random()
    right = left + _WIDTH
    while left > reach[0] and line(left) > level:
        left -= _WIDTH
    while right < reach[1] and line(right) > level:
        right += _WIDTH
    return max(left, reach[0]), min(right, reach[1])
