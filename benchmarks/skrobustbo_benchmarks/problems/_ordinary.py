"""Ordinary problems: families without a trap, shifted and rotated by their seeds.

Each family stands for a difficulty that tunings have. Where a family has its name from
the BBOB suite, its formula is the suite's without the small transformations that the
suite adds (Hansen, Finck, Ros and Auger, "Real-parameter black-box optimization
benchmarking 2009: noiseless functions definitions", INRIA RR-6829, 2009). The formulas
are minimised and never negative, and 0 at z = 0, which is the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skrobustbo.space import Integer, Real, Space
from skrobustbo_benchmarks._names import unknown_name
from skrobustbo_benchmarks.problems._base import Array, Problem, at_least
from skrobustbo_benchmarks.problems._synthetic import numbered

#: Sets the stream of these problems apart from other uses of a seed.
_STREAM = 0x0D
#: Coordinates go from -5 to 5, those of an optimum from -4 to 4.
_HALF, _INNER = 5.0, 4.0
#: Numbers of values of the parameters of a mixed space, in turn; 0: a range.
_VALUES = (0, 16, 4)
#: Seeds from this one on are for choosing, those before it for reporting.
FIRST_CHOOSING_SEED = 1000

#: A function of z, to be minimised.
Formula = Callable[[Array], float]


def _powers_of(base: float, d: int) -> Array:
    """Return the factors from 1 to `base`, equally spaced on a log scale."""
    factors: Array = base ** np.linspace(0.0, 1.0, d)
    return factors


# Families for choosing ----------------------------------------------------------------


def _powers(z: Array) -> float:
    """Separable: sum_i |z_i|^p_i, with p_i from 2 to 6."""
    return float(np.sum(np.abs(z) ** np.linspace(2.0, 6.0, len(z))))


def _rosenbrock(z: Array) -> float:
    """Ill-conditioned: Rosenbrock's curved valley (1960), its optimum at z = 0."""
    x = z + 1
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def _ellipsoid(z: Array, condition: float = 1e6) -> float:
    """Rotated, over six decades: sum_i c_i z_i^2, with c_i from 1 to 1e6 (f10)."""
    return float(_powers_of(condition, len(z)) @ z**2)


def _sector(z: Array) -> float:
    """Unimodal: sum_i (s_i z_i)^2, with s_i = 10 where z_i > 0, elsewhere 1 (f6)."""
    return float(np.sum((np.where(z > 0, 10.0, 1.0) * z) ** 2))


def _rastrigin(z: Array) -> float:
    """Multimodal with structure: sum_i z_i^2 + 10 (1 - cos 2 pi z_i) (f15)."""
    return float(np.sum(z**2 + 10 * (1 - np.cos(2 * math.pi * z))))


def _ackley(z: Array) -> float:
    """Multimodal with structure: Ackley's ripples around a pit (1987)."""
    bowl = math.exp(-0.2 * math.sqrt(np.mean(z**2)))
    ripple = math.exp(np.mean(np.cos(2 * math.pi * z)))
    return (20 - 20 * bowl) + (math.e - ripple)


@dataclass(frozen=True, eq=False)
class Peaks:
    """Multimodal with weak structure: Gallagher's Gaussian peaks, the best at z = 0.

    10 - max_k h_k exp(-(z - c_k)' A_k (z - c_k) / (2 d)) with 21 peaks (f21 and f22):
    h_1 = 10 and c_1 = 0, the others are 1.1 to 9.1 high and anywhere. A_k is diagonal,
    its values from a_k^-1/4 to a_k^1/4 in a random order, with a_1 = 1000 and the other
    a_k from 1 to 1000.
    """

    centres: Array
    heights: Array
    curvatures: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator, best: Array, n: int = 21) -> Peaks:
        """Return peaks whose best one is at `best` in the cube of the coordinates."""
        d = len(best)
        centres = rng.uniform(-_HALF, _HALF, (n, d)) - best
        centres[0] = 0.0
        heights = np.concatenate([[10.0], np.linspace(1.1, 9.1, n - 1)])
        spreads = np.concatenate([[1000.0], rng.permutation(_powers_of(1e3, n - 1))])
        axes = np.linspace(-0.25, 0.25, d) if d > 1 else np.zeros(1)
        orders = np.array([rng.permutation(axes) for _ in range(n)])
        return cls(centres, heights, spreads[:, None] ** orders)

    def __call__(self, z: Array) -> float:
        """Return the value at z."""
        squares = (self.curvatures * (z - self.centres) ** 2).mean(axis=1)
        return 10.0 - float(np.max(self.heights * np.exp(-0.5 * squares)))


def _steps(z: Array) -> float:
    """With steps: an ellipsoid (1 to 100) of rounded coordinates (f7).

    0.1 max(|z_1| / 10^4, sum_i c_i r_i^2). The r_i are the z_i, rounded to integers, or
    to tenths where |z_i| <= 1/2.
    """
    rounded = np.where(np.abs(z) > 0.5, np.round(z), np.round(10 * z) / 10)
    return 0.1 * max(abs(float(z[0])) / 1e4, _ellipsoid(rounded, 100.0))


# Families for reporting ---------------------------------------------------------------


def _sphere(z: Array) -> float:
    """Separable: sum_i z_i^2 (f1)."""
    return float(z @ z)


def _dixon(z: Array) -> float:
    """Ill-conditioned: a curved valley of Dixon and Price (1989).

    (x_1 - 1)^2 + sum_(i > 1) i (2 x_i^2 - x_(i-1))^2. It has its optimum where
    x_i = 2^-(1 - 2^(1 - i)), which is z = 0.
    """
    i = np.arange(1, len(z) + 1)
    x = z + 2.0 ** -(1 - 2.0 ** (1 - i))
    return float((x[0] - 1) ** 2 + i[1:] @ (2 * x[1:] ** 2 - x[:-1]) ** 2)


@dataclass(frozen=True, eq=False)
class Cigar:
    """Rotated, over six decades: the bent cigar, y_1^2 + 1e6 sum_(i > 1) y_i^2 (f12).

    y is z after z_i^(1 + sqrt(z_i) (i - 1) / (2 d - 2)) where z_i > 0, rotated again.
    """

    rotation: Array

    def __call__(self, z: Array) -> float:
        """Return the value at z."""
        power = 1 + 0.5 * np.linspace(0.0, 1.0, len(z)) * np.sqrt(np.maximum(z, 0.0))
        y = self.rotation @ np.where(z > 0, np.abs(z) ** power, z)
        return float(y[0] ** 2 + 1e6 * (y[1:] @ y[1:]))


def _ridge(z: Array) -> float:
    """Unimodal: a sharp ridge, z_1^2 + 100 |(z_2, ..., z_d)| (f13)."""
    return float(z[0] ** 2 + 100 * np.linalg.norm(z[1:]))


def _levy(z: Array) -> float:
    """Multimodal with structure: Levy's waves in a bowl (1985), w = 1 + z / 4."""
    w = 1 + z / 4
    first = math.sin(math.pi * w[0]) ** 2
    inner = (w[:-1] - 1) ** 2 * (1 + 10 * np.sin(math.pi * w[:-1] + 1) ** 2)
    last = (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2)
    return float(first + np.sum(inner) + last)


def _schaffer(z: Array) -> float:
    """Multimodal with structure: Schaffer's F7 of neighbouring coordinates (f17).

    The square of the mean over i of sqrt(s_i) (1 + sin(50 s_i^(1/5))^2), where s_i is
    the length of (z_i, z_(i+1)).
    """
    s = np.hypot(z[:-1], z[1:])
    return float(np.mean(np.sqrt(s) * (1 + np.sin(50 * s**0.2) ** 2)) ** 2)


@dataclass(frozen=True, eq=False)
class Funnels:
    """Multimodal with weak structure: Lunacek's function of two funnels (f24).

    min(|y|^2, d + s |y + 2.5 - m|^2) + 10 sum_i (1 - cos 2 pi (R y)_i). Here y is 2 z,
    mirrored so that the second funnel, which is wider, is in the cube as well;
    s = 1 - 1 / (2 sqrt(d + 20) - 8.2) and m = -sqrt((2.5^2 - 1) / s).
    """

    signs: Array
    rotation: Array

    def __call__(self, z: Array) -> float:
        """Return the value at z."""
        d, y = len(z), 2 * self.signs * z
        s = 1 - 1 / (2 * math.sqrt(d + 20) - 8.2)
        apart = y + 2.5 + math.sqrt((2.5**2 - 1) / s)
        ripples = 10 * float(np.sum(1 - np.cos(2 * math.pi * (self.rotation @ y))))
        return min(float(y @ y), d + s * float(apart @ apart)) + ripples


def _terraces(z: Array) -> float:
    """With steps: floor(4 sqrt(mean_i c_i z_i^2)), c_i from 1 to 10: flat terraces."""
    return float(math.floor(4 * math.sqrt(_ellipsoid(z, 10.0) / len(z))))


def _sums(z: Array) -> float:
    """Mixed integers: sum_i |z_1 + ... + z_i|, not separable (Schwefel 1981)."""
    return float(np.abs(np.cumsum(z)).sum())


@dataclass(frozen=True)
class Family:
    """A family: the difficulty, its formula, and how problems are drawn from it.

    Parameters
    ----------
    kind : str
        The difficulty.
    formula : callable
        z -> value, or, if it is `drawn`, ``formula(rng, best)`` -> such a function.
    drawn : bool
        Whether the formula itself is drawn by the seed.
    rotated : bool
        Whether z is the distance from the optimum rotated, or this distance.
    mixed : bool
        Whether most parameters are integers.
    """

    kind: str
    formula: Callable[..., Any]
    drawn: bool = False
    rotated: bool = True
    mixed: bool = False


def _cigar_of(rng: np.random.Generator, best: Array) -> Formula:
    return Cigar(_rotation(rng, len(best)))


def _funnels_of(rng: np.random.Generator, best: Array) -> Formula:
    return Funnels(np.where(best < 0, -1.0, 1.0), _rotation(rng, len(best)))


#: The families on which settings are chosen.
CHOOSING: dict[str, Family] = {
    "powers": Family("separable", _powers, rotated=False),
    "rosenbrock": Family("ill-conditioned", _rosenbrock),
    "ellipsoid": Family("rotated", _ellipsoid),
    "sector": Family("unimodal", _sector),
    "rastrigin": Family("structure", _rastrigin),
    "ackley": Family("structure", _ackley),
    "peaks": Family("weak structure", Peaks.drawn, drawn=True, rotated=False),
    "steps": Family("steps", _steps),
    "mixed-ellipsoid": Family(
        "mixed integers", partial(_ellipsoid, condition=100.0), mixed=True
    ),
}
#: The families on which results are reported.
REPORTING: dict[str, Family] = {
    "sphere": Family("separable", _sphere, rotated=False),
    "dixon": Family("ill-conditioned", _dixon),
    "cigar": Family("rotated", _cigar_of, drawn=True),
    "ridge": Family("unimodal", _ridge),
    "levy": Family("structure", _levy),
    "schaffer": Family("structure", _schaffer),
    "funnels": Family("weak structure", _funnels_of, drawn=True, rotated=False),
    "terraces": Family("steps", _terraces),
    "mixed-sums": Family("mixed integers", _sums, rotated=False, mixed=True),
}
FAMILIES = CHOOSING | REPORTING


@dataclass(frozen=True, eq=False)
class Ordinary:
    """The objective: minus the formula of a family, around the optimum `best`."""

    family: str
    formula: Formula
    best: Array
    rotation: Array
    steps: Array

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the value at `params`."""
        given = np.array([params[name] for name in numbered(len(self.best))])
        x = np.where(self.steps > 0, self.steps * given - _HALF, given)
        return -float(self.formula(self.rotation @ (x - self.best)))


def ordinary(family: str = "sphere", d: int = 2, seed: int = 0) -> Problem:
    """Return a problem of a family of ordinary ones, shifted and rotated by the seed.

    The coordinates x of the cube [-5, 5]^d have their optimum, of value 0, at a point
    drawn from [-4, 4]^d, and f(x) = -g(z), where z is the distance from the optimum,
    rotated at random in most of the families. In a mixed space, the parameters are, in
    turn, a range, 16 integers, and 4 integers, which lie equally spaced in the cube;
    the optimum is on this grid. Noise-free.

    Each kind of difficulty has families of its own for choosing and for reporting:

    ================  ==========================  =================================
    kind              for choosing                for reporting
    ================  ==========================  =================================
    separable         ``powers``                  ``sphere``
    ill-conditioned   ``rosenbrock``              ``dixon``
    rotated, 1 : 1e6  ``ellipsoid``               ``cigar``
    unimodal          ``sector``                  ``ridge``
    structure         ``rastrigin``, ``ackley``   ``levy``, ``schaffer``
    weak structure    ``peaks``                   ``funnels``
    steps             ``steps``                   ``terraces``
    mixed integers    ``mixed-ellipsoid``         ``mixed-sums``
    ================  ==========================  =================================

    Parameters
    ----------
    family : str, default="sphere"
        The family, one of those of the table.
    d : int, default=2
        Number of parameters, at least 2.
    seed : int, default=0
        Which problem. Seeds from 1000 on are for choosing. `sample_function` gives the
        others.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If a setting is out of range, or `family` is none of the names.
    """
    if family not in FAMILIES:
        raise unknown_name("family of the problem 'ordinary'", family, [*FAMILIES])
    made, d = FAMILIES[family], at_least("d", d, 2)
    rng = np.random.default_rng([_STREAM, at_least("seed", seed, 0), d])
    counts = np.array([_VALUES[i % 3] if made.mixed else 0 for i in range(d)])
    steps = np.where(counts > 0, 2 * _HALF / np.maximum(counts - 1, 1), 0.0)
    best = rng.uniform(-_INNER, _INNER, d)
    nearest = np.round((best + _HALF) / np.where(counts > 0, steps, 1.0))
    best = np.where(counts > 0, steps * nearest - _HALF, best)
    rotation = _rotation(rng, d) if made.rotated else np.eye(d)
    formula = made.formula(rng, best) if made.drawn else made.formula
    names = numbered(d)
    return Problem(
        name="ordinary",
        space=Space(
            {name: _dimension(n) for name, n in zip(names, counts, strict=True)}
        ),
        func=Ordinary(family, formula, best, rotation, steps),
        source=f"the family {family} ({made.kind}), shifted and rotated (seed {seed})",
        optimum=0.0,
        optimum_params={
            name: int(nearest[i]) if counts[i] else float(best[i])
            for i, name in enumerate(names)
        },
        sample_function=partial(ordinary, family, d),
    )


def _dimension(n_values: int) -> Integer | Real:
    return Integer(0, int(n_values) - 1) if n_values else Real(-_HALF, _HALF)


def _rotation(rng: np.random.Generator, d: int) -> Array:
    """Return a random orthogonal matrix, all equally likely."""
    q, r = np.linalg.qr(rng.standard_normal((d, d)))
    rotation: Array = q * np.sign(np.diag(r))
    return rotation
