"""Random cases for the attack: spaces, constraints and objectives.

A case is written ``policy:seed``, which determines everything.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.stats

from skrobustbo import Categorical, Integer, Real, Space, policies

Params = dict[str, Any]
Rng = np.random.Generator

NAMES = sorted(policies.available())
#: Choices of every kind that JSON can store.
CHOICES = [None, True, False, 0, 1, 0.5, -3, "a", "b", "", "é", (1, 2), (True, "x")]


def policy_cases(n: int, seed: int) -> list[str]:
    """Return `n` cases, cycling through the policies."""
    return [f"{NAMES[i % len(NAMES)]}:{seed + i}" for i in range(n)]


def drawn(case: str) -> tuple[str, Rng]:
    """Return the policy of a case, and the generator for everything else."""
    policy, seed = case.split(":")
    return policy, np.random.default_rng([int(seed), zlib.crc32(policy.encode())])


def pick(rng: Rng, options: Any) -> Any:
    """Return one of several options of any type."""
    return options[int(rng.integers(len(options)))]


def number(value: Any) -> float:
    """Return a number for any value: increasing for numbers, arbitrary for others."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return math.asinh(value)
    return zlib.crc32(repr(value).encode()) / 2**32


# Dimensions ---------------------------------------------------------------------------


def real(rng: Rng) -> Real:
    low = float(rng.uniform(-5, 5)) * 10.0 ** float(rng.integers(-3, 4))
    return Real(low, low + 10.0 ** float(rng.integers(-2, 5)))


def log_real(rng: Rng) -> Real:
    low = 10.0 ** float(rng.uniform(-6, 2))
    return Real(low, low * 10.0 ** float(rng.uniform(0.1, 6)), log=True)


def integer(rng: Rng) -> Integer:
    low = int(rng.integers(1, 20))
    width = int(10 ** rng.uniform(0, 4))
    return Integer(low, low + width, log=bool(rng.random() < 0.3))


def small_integer(rng: Rng) -> Integer:
    low = int(rng.integers(-3, 4))
    return Integer(low, low + int(rng.integers(1, 4)))


def choice(rng: Rng) -> Categorical:
    n = int(rng.integers(2, 8))
    chosen = [CHOICES[i] for i in rng.permutation(len(CHOICES))[:n]]
    return Categorical(chosen, ordered=bool(rng.random() < 0.3))


def large_choice(rng: Rng) -> Categorical:
    n = int(rng.integers(100, 400))
    return Categorical([f"c{i}" for i in range(n)], ordered=bool(rng.random() < 0.3))


def listed(rng: Rng) -> list[Any]:
    numbers = rng.integers(-50, 50, size=int(rng.integers(2, 6))).tolist()
    return pick(
        rng, [numbers, [x / 7 for x in numbers], ["u", "v", "w"], [True, False]]
    )


def constant(rng: Rng) -> list[Any]:
    return [pick(rng, CHOICES)]


LAWS = [
    lambda rng: scipy.stats.loguniform(1e-4, 10.0 ** float(rng.integers(-3, 3))),
    lambda rng: scipy.stats.uniform(float(rng.normal()), 2.0),
    lambda rng: scipy.stats.norm(float(rng.normal()), 3.0),
    lambda rng: scipy.stats.beta(0.5, float(rng.uniform(0.5, 5))),
    lambda rng: scipy.stats.gamma(float(rng.uniform(0.5, 5))),
    lambda rng: scipy.stats.randint(1, int(rng.integers(2, 300))),
    lambda rng: scipy.stats.poisson(float(rng.uniform(0.5, 20))),
    lambda rng: scipy.stats.binom(int(rng.integers(1, 30)), 0.3),
]


def law(rng: Rng) -> Any:
    return pick(rng, LAWS)(rng)


DISCRETE = [small_integer, choice, listed, constant]
ANY = [real, real, log_real, integer, law, *DISCRETE]


# Spaces -------------------------------------------------------------------------------


def branch(rng: Rng, kinds: list[Any], d: int) -> dict[str, Any]:
    dimensions = {f"p{i}": pick(rng, kinds)(rng) for i in range(d)}
    if d < 4 and kinds is ANY and rng.random() < 0.1:
        dimensions["p0"] = large_choice(rng)
    return dimensions


def plain(rng: Rng, most: int = 30) -> Space:
    return Space(branch(rng, ANY, int((most + 1) ** rng.random())))


def branched(rng: Rng, most: int = 4) -> Space:
    """Return two or three branches, distinguished by a name or by shared parameters."""
    parts = []
    for i in range(int(rng.integers(2, 4))):
        kinds = DISCRETE if rng.random() < 0.3 else ANY
        part = branch(rng, kinds, int(rng.integers(1, most + 1)))
        parts.append({**part, "kind": [i]} if rng.random() < 0.6 else part)
    return Space(parts)


def pool(rng: Rng, most: int = 60) -> Space:
    d, n = int(rng.integers(1, 5)), int(rng.integers(1, most))
    columns = [np.round(rng.normal(size=n), 2).tolist() for _ in range(d)]
    if rng.random() < 0.5:
        columns[0] = [pick(rng, ["a", "b", None, True]) for _ in range(n)]
    return Space.from_points(
        [{f"p{i}": column[k] for i, column in enumerate(columns)} for k in range(n)]
    )


def finite(rng: Rng) -> Space:
    """Return a space that is small enough to be used up."""
    if rng.random() < 0.3:
        return pool(rng, 15)
    if rng.random() < 0.3:
        small = [small_integer, listed, constant]
        return Space([branch(rng, small, 1) for _ in range(2)])
    return Space(branch(rng, DISCRETE, int(rng.integers(1, 3))))


def space_of(rng: Rng, most: int = 30) -> Space:
    kind = pick(rng, [partial(plain, most=most)] * 4 + [branched] * 2 + [pool, finite])
    return kind(rng)


# Constraints --------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """A constraint with a readable name for reports."""

    name: str
    holds: Callable[[Params], bool]

    def __call__(self, params: Params) -> bool:
        return self.holds(params)


def text(params: Params) -> str:
    return repr(sorted(params.items()))


def _share(n: int, params: Params) -> bool:
    """Allow one in `n` points, close together or not."""
    return zlib.crc32(text(params).encode()) % n == 0


def _most(params: Params) -> bool:
    return zlib.crc32(text(params).encode()) % 5 > 0


def _below(name: str, bound: float, params: Params) -> bool:
    return name not in params or number(params[name]) <= bound


def _near(name: str, value: float, params: Params) -> bool:
    return name not in params or abs(number(params[name]) - value) <= 1e-3


def _among(few: set[str], params: Params) -> bool:
    return text(params) in few


#: Constraints so narrow that most feasible points must be searched for.
RARE = ("equality", "few")


def constraint_of(rng: Rng, space: Space) -> tuple[Rule | None, list[Params]]:
    """Return a constraint or None, and points known to satisfy it."""
    seed = int(rng.integers(2**31))
    kind = pick(rng, [None] * 6 + ["loose", "tight", "half", "equality", "few"])
    points = space.sample(int(rng.integers(1, 8)), seed)
    name = pick(rng, sorted(points[0]))
    anchor = number(points[0][name])
    rules = {
        "loose": _most,
        "tight": partial(_share, 30),
        "half": partial(_below, name, anchor),
        "equality": partial(_near, name, anchor),
        "few": partial(_among, {text(point) for point in points}),
    }
    if kind is None:
        return None, points
    return Rule(kind, rules[kind]), [p for p in points if rules[kind](p)]


# Objectives ---------------------------------------------------------------------------


def smooth(params: Params, rng: Rng) -> float:
    return sum(math.sin(len(k) + 2 * number(v)) for k, v in params.items())


def sometimes_nan(params: Params, rng: Rng) -> float:
    failed = [math.nan, math.inf, -math.inf]
    return smooth(params, rng) if rng.random() < 0.7 else pick(rng, failed)


OBJECTIVES: dict[str, Callable[[Params, Rng], float]] = {
    "smooth": smooth,
    "small": lambda params, rng: 1e-9 * smooth(params, rng),
    "constant": lambda params, rng: 7.5,
    "nan": lambda params, rng: math.nan,
    "sometimes nan": sometimes_nan,
    "huge": lambda params, rng: pick(rng, [1e300, -1e300, 1.7e308, -1.7e308, 0.0]),
    "some huge": lambda params, rng: (
        smooth(params, rng) if rng.random() < 0.8 else pick(rng, [1e300, -1e300])
    ),
    "heavy": lambda params, rng: float(rng.standard_cauchy()) ** 3,
    "tied": lambda params, rng: float(round(smooth(params, rng))),
    "noise": lambda params, rng: float(rng.normal()),
    "tiny": lambda params, rng: pick(rng, [5e-324, -5e-324, 0.0, -0.0]),
}


def plain_text(value: Any) -> str:
    """Return JSON with sorted keys and names for non-finite numbers."""
    return json.dumps(value, sort_keys=True)
