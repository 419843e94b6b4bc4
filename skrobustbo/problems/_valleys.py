"""Three classics with their maximum zero: Ackley, Levy, Rosenbrock.

The domain is [-5, 10]^d for all three, which Rosenbrock's function has by custom, so
that no optimum is in the middle. All are **maximised**, and noise-free.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from skrobustbo.problems._base import OfVector, Problem
from skrobustbo.space import Real, Space

Vector = NDArray[np.float64]
Formula = Callable[[Vector], float]


def _ackley(x: Vector) -> float:
    bowl = math.exp(-0.2 * math.sqrt(np.mean(x**2)))
    ripple = math.exp(np.mean(np.cos(2 * math.pi * x)))
    # In this order 20 - 20 and e - e leave no rounding at the optimum.
    return (20 * bowl - 20) + (ripple - math.e)


def ackley5() -> Problem:
    """Return Ackley's function in five dimensions, negated: ripples around a pit.

    f(x) = 20 exp(-0.2 sqrt(sum_i x_i^2 / d)) + exp(sum_i cos(2 pi x_i) / d) - 20 - e on
    [-5, 10]^5. Noise-free.

    The optimum 0 at the origin is exact: both exponentials have their largest values
    there, 1 and e. The domain is not the original [-32.768, 32.768]^5, on which the
    function is flat almost everywhere and the middle of the domain is the optimum.

    Notes
    -----
    Ackley, "A Connectionist Machine for Genetic Hillclimbing", 1987; Baeck, Hammel and
    Schwefel 1997 for more than two dimensions.
    """
    return _ackley_in(5)


def ackley20() -> Problem:
    """Return Ackley's function in twenty dimensions, negated; otherwise `ackley5`."""
    return _ackley_in(20)


def _ackley_in(d: int) -> Problem:
    return _problem(f"ackley{d}", d, _ackley, 0.0, "Ackley's function, negated (1987)")


def _levy(x: Vector) -> float:
    w = 1 + (x - 1) / 4
    first = math.sin(math.pi * w[0]) ** 2
    inner = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)
    return -float(first + np.sum(inner) + last)


def levy4() -> Problem:
    """Return Levy's function in four dimensions, negated: waves in a bowl.

    f(x) = -sin(pi w_1)^2 - sum_(i < d) (w_i - 1)^2 (1 + 10 sin(pi w_i + 1)^2)
    - (w_d - 1)^2 (1 + sin(2 pi w_d)^2) with w_i = 1 + (x_i - 1) / 4 on [-5, 10]^4.
    Noise-free.

    The optimum 0 at x = (1, ..., 1) is exact: no term is positive, and all vanish
    there.

    Notes
    -----
    Levy and Montalvo, "The tunneling algorithm for the global minimization of
    functions", SIAM Journal on Scientific and Statistical Computing 6, 1985, in the
    form of Laguna and Marti 2005, whose domain is [-10, 10]^d.
    """
    return _levy_in(4)


def levy20() -> Problem:
    """Return Levy's function in twenty dimensions, negated; otherwise `levy4`."""
    return _levy_in(20)


def _levy_in(d: int) -> Problem:
    return _problem(f"levy{d}", d, _levy, 1.0, "Levy's function, negated (1985)")


def _rosenbrock(x: Vector) -> float:
    valley = 100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2
    return -math.log1p(float(np.sum(valley))) / math.log(10)


def rosenbrock4() -> Problem:
    """Return the logarithm of Rosenbrock's function in four dimensions, negated.

    f(x) = -log10(1 + r(x)) with r(x) = sum_(i < d) (100 (x_(i+1) - x_i^2)^2
    + (1 - x_i)^2) on [-5, 10]^4: a curved valley. Noise-free. The values of r span six
    orders of magnitude; the logarithm lets differences within the valley be seen.

    The optimum 0 at x = (1, ..., 1) is exact: r is a sum of squares that all vanish
    there.

    Notes
    -----
    Rosenbrock, "An automatic method for finding the greatest or least value of a
    function", The Computer Journal 3, 1960.
    """
    return _rosenbrock_in(4)


def rosenbrock20() -> Problem:
    """Return the logarithm of Rosenbrock's function in twenty dimensions, negated.

    Otherwise it is `rosenbrock4`.
    """
    return _rosenbrock_in(20)


def _rosenbrock_in(d: int) -> Problem:
    source = "-log10(1 + Rosenbrock's function) (1960)"
    return _problem(f"rosenbrock{d}", d, _rosenbrock, 1.0, source)


def _problem(name: str, d: int, formula: Formula, best: float, source: str) -> Problem:
    names = tuple(f"x{i}" for i in range(1, d + 1))
    return Problem(
        name=name,
        space=Space({key: Real(-5.0, 10.0) for key in names}),
        func=OfVector(formula, names),
        source=f"{source} on [-5, 10]^{d}",
        optimum=0.0,
        optimum_params=dict.fromkeys(names, best),
    )
