"""Closed-form problems: two traps for likelihood fits and six classics.

Each factory returns a new `Problem`; all of them are **maximised**. The optima were
found by solving for a zero of the gradient to machine precision from the published
maximiser, and are checked in the tests against dense samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from skrobustbo.space import Real, Space
from skrobustbo_benchmarks.problems._base import (
    Array,
    OfVector,
    Params,
    Problem,
    design_seed,
)

_HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_SCALES = np.array(
    [
        [10.0, 3.0, 17.0, 3.5, 1.7, 8.0],
        [0.05, 10.0, 17.0, 0.1, 8.0, 14.0],
        [3.0, 3.5, 1.7, 10.0, 17.0, 8.0],
        [17.0, 8.0, 0.05, 10.0, 0.1, 14.0],
    ]
)
_HARTMANN_CENTRES = np.array(
    [
        [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886],
        [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
        [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650],
        [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381],
    ]
)


def _berkenkamp(x: Array) -> float:
    density = math.exp(-0.5 * ((x[0] - 0.2) / 0.08) ** 2)
    density /= 0.08 * math.sqrt(2 * math.pi)
    return float(0.6 * x[0] + density / 8)


def berkenkamp() -> Problem:
    """Return a slope with a narrow peak at its low end, 1-d.

    f(x) = 0.6 x + N(x; 0.2, 0.08) / 8 on [0, 1], N the normal density. Seen from the
    right it is a straight line, so a likelihood fit believes in a long length scale and
    stays at the right end, f(1) = 0.6, for good. Noise-free, three initial points.

    The optimum is the zero of the derivative in [0.2, 0.25].

    Notes
    -----
    Berkenkamp, Schoellig and Krause, "No-regret Bayesian optimization with unknown
    hyperparameters", JMLR 20, 2019. The formula is that of the code of Ziomek, Adachi
    and Osborne, "Bayesian optimisation with unknown hyperparameters: regret bounds
    logarithmically closer to optimal", 2024; a later paper of the same authors prints
    0.8 N(x; 0.2, 0.08), which would peak at 4.11.
    """
    return Problem(
        name="berkenkamp",
        space=Space({"x": Real(0.0, 1.0)}),
        func=OfVector(_berkenkamp, ("x",)),
        source="f(x) = 0.6 x + N(x; 0.2, 0.08) / 8 on [0, 1] (Berkenkamp et al. 2019)",
        optimum=0.7451981532422828,
        optimum_params={"x": 0.20617869024055846},
        stuck_below=0.61,
        n_initial=3,
    )


def berkenkamp_trap() -> Problem:
    """Return `berkenkamp` from starts that hide the peak.

    The initial points are three uniform draws from [0.5, 1], where what is left of the
    peak is below 0.001. A run is stuck if its best value ends below 0.61, little more
    than the right end's.
    """
    return replace(
        berkenkamp(), name="berkenkamp-trap", initial_design=_uniform_in_right_half
    )


def _uniform_in_right_half(seed: int, n: int) -> list[Params]:
    draws = np.random.default_rng(design_seed(seed)).uniform(0.5, 1.0, size=n)
    space = berkenkamp().space
    return [space.decode(space.encode({"x": float(x)})) for x in draws]


def _wang_trap(x: Array) -> float:
    broad = math.exp(-0.5 * ((x[0] - 0.1) / 0.1) ** 2)
    narrow = math.exp(-0.5 * ((x[0] - 0.9) / 0.01) ** 2)
    return 2 * broad + 4 * narrow


def wang_trap() -> Problem:
    """Return a broad hill beside a needle twice as high, 1-d, noisy.

    f(x) = 2 k(0.1, x; 0.1) + 4 k(0.9, x; 0.01) on [0, 1] with the squared-exponential
    k(a, x; l) = exp(-(x - a)^2 / (2 l^2)); Gaussian noise of deviation 0.01. A run has
    found the needle if its best value is above 3.5, and is stuck on the hill (2.0)
    otherwise.

    The optimum is 4 at x = 0.9, where the hill adds 2.5e-14.

    Notes
    -----
    Wang and de Freitas, "Theoretical analysis of Bayesian optimisation with unknown
    Gaussian process hyper-parameters", 2014, Figure 1.
    """
    return Problem(
        name="wang-trap",
        space=Space({"x": Real(0.0, 1.0)}),
        func=OfVector(_wang_trap, ("x",)),
        source="f(x) = 2 SE(x; 0.1, 0.1) + 4 SE(x; 0.9, 0.01) on [0, 1], noise of "
        "deviation 0.01 (Wang and de Freitas 2014)",
        optimum=4.0 + 2 * math.exp(-32),
        optimum_params={"x": 0.9},
        noise_std=0.01,
        stuck_below=3.5,
    )


def _michalewicz(x: Array) -> float:
    index = np.arange(1, len(x) + 1)
    return float(np.sum(np.sin(x) * np.sin(index * x**2 / np.pi) ** 20))


def michalewicz5() -> Problem:
    """Return Michalewicz's function in five dimensions: valleys, ridges and plains.

    f(x) = sum_i sin(x_i) sin(i x_i^2 / pi)^(2 m) with m = 10 on [0, pi]^5 (radians).
    Noise-free; the negative of the function that is usually minimised.

    The function is a sum over coordinates; the optimum 4.687658 is the sum of the five
    maxima, each the zero of the derivative beside the best of a dense grid.

    Notes
    -----
    Michalewicz, "Genetic Algorithms + Data Structures = Evolution Programs", 1992.
    """
    best = (
        2.2029055201726093,
        1.5707963267948966,
        1.2849915705529242,
        1.9230584698663624,
        1.7204697725658415,
    )
    return Problem(
        name="michalewicz5",
        space=_box(dict.fromkeys(numbered(5), (0.0, math.pi))),
        func=OfVector(_michalewicz, numbered(5)),
        source="f(x) = sum_i sin(x_i) sin(i x_i^2 / pi)^20 on [0, pi]^5 "
        "(Michalewicz 1992)",
        optimum=4.687658179088146,
        optimum_params=dict(zip(numbered(5), best, strict=True)),
    )


def _branin(x: Array) -> float:
    valley = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    ripple = 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0])
    return -float(valley**2 + ripple + 10)


def branin() -> Problem:
    """Return Branin's function, negated: three equal maxima, 2-d.

    f(x) = -(x2 - 5.1 x1^2 / (4 pi^2) + 5 x1 / pi - 6)^2 - 10 (1 - 1 / (8 pi)) cos(x1)
    - 10 on x1 in [-5, 10], x2 in [0, 15]. Noise-free.

    The optimum -10 / (8 pi) = -0.397887 is exact: the square vanishes where the cosine
    is -1, at (-pi, 12.275), (pi, 2.275) and (3 pi, 2.475).

    Notes
    -----
    Dixon and Szego, "Towards Global Optimisation 2", 1978.
    """
    return Problem(
        name="branin",
        space=_box({"x1": (-5.0, 10.0), "x2": (0.0, 15.0)}),
        func=OfVector(_branin, ("x1", "x2")),
        source="Branin's function, negated, on [-5, 10] x [0, 15] (Dixon, Szego 1978)",
        optimum=-10 / (8 * math.pi),
        optimum_params={"x1": math.pi, "x2": 2.275},
    )


def branin_noisy() -> Problem:
    """Return `branin` under noise of deviation 25, half of the function's own."""
    return _noisy(branin(), 25.0)


def _hartmann6(x: Array) -> float:
    distances = np.sum(_HARTMANN_SCALES * (x - _HARTMANN_CENTRES) ** 2, axis=1)
    return float(_HARTMANN_WEIGHTS @ np.exp(-distances))


def hartmann6() -> Problem:
    """Return Hartmann's function of six variables: four bumps of unequal widths.

    f(x) = sum_i a_i exp(-sum_j A_ij (x_j - P_ij)^2) on [0, 1]^6. Noise-free; the
    negative of the function that is usually minimised.

    The optimum 3.322368 is the zero of the gradient beside the published maximiser.

    Notes
    -----
    Dixon and Szego, "Towards Global Optimisation 2", 1978.
    """
    best = (
        0.20168951100670543,
        0.15001069182345797,
        0.47687397422189703,
        0.2753324304940561,
        0.31165161660011326,
        0.6573005340656204,
    )
    return Problem(
        name="hartmann6",
        space=_box(dict.fromkeys(numbered(6), (0.0, 1.0))),
        func=OfVector(_hartmann6, numbered(6)),
        source="Hartmann's function of six variables on [0, 1]^6 (Dixon, Szego 1978)",
        optimum=3.322368011415515,
        optimum_params=dict(zip(numbered(6), best, strict=True)),
    )


def hartmann6_noisy() -> Problem:
    """Return `hartmann6` under noise of deviation 0.2, half of the function's own."""
    return _noisy(hartmann6(), 0.2)


# -- Ackley, Levy, Rosenbrock ---------------------------------------------------------
#
# The domain is [-5, 10]^d for all three, which Rosenbrock's function has by custom, so
# that no optimum is in the middle. All are noise-free, and their maximum is zero.


def _ackley(x: Array) -> float:
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
    return valley("ackley", 5)


def ackley20() -> Problem:
    """Return Ackley's function in twenty dimensions, negated; otherwise `ackley5`."""
    return valley("ackley", 20)


def _levy(x: Array) -> float:
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
    return valley("levy", 4)


def levy20() -> Problem:
    """Return Levy's function in twenty dimensions, negated; otherwise `levy4`."""
    return valley("levy", 20)


def _rosenbrock(x: Array) -> float:
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
    return valley("rosenbrock", 4)


def rosenbrock20() -> Problem:
    """Return the logarithm of Rosenbrock's function in twenty dimensions, negated.

    Otherwise it is `rosenbrock4`.
    """
    return valley("rosenbrock", 20)


#: The formula of each, the place of its maximum on every axis, and its source.
VALLEYS: dict[str, tuple[Callable[[Array], float], float, str]] = {
    "ackley": (_ackley, 0.0, "Ackley's function, negated (1987)"),
    "levy": (_levy, 1.0, "Levy's function, negated (1985)"),
    "rosenbrock": (_rosenbrock, 1.0, "-log10(1 + Rosenbrock's function) (1960)"),
}


def valley(name: str, d: int) -> Problem:
    """Return one of `VALLEYS` in `d` dimensions."""
    formula, best, source = VALLEYS[name]
    return Problem(
        name=f"{name}{d}",
        space=_box(dict.fromkeys(numbered(d), (-5.0, 10.0))),
        func=OfVector(formula, numbered(d)),
        source=f"{source} on [-5, 10]^{d}",
        optimum=0.0,
        optimum_params=dict.fromkeys(numbered(d), best),
    )


# -- shared ---------------------------------------------------------------------------


def _noisy(problem: Problem, noise_std: float) -> Problem:
    source = f"{problem.source}, noise of deviation {noise_std:g} added"
    name = f"{problem.name}-noisy"
    return replace(problem, name=name, source=source, noise_std=noise_std)


def numbered(n: int) -> tuple[str, ...]:
    """Return the names x1 to xn."""
    return tuple(f"x{i}" for i in range(1, n + 1))


def _box(bounds: dict[str, tuple[float, float]]) -> Space:
    return Space({name: Real(low, high) for name, (low, high) in bounds.items()})
