"""Many unordered choices beside a few numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from skrobustbo.space import Categorical, Real, Space
from skrobustbo_benchmarks.problems._base import Array, Problem, at_least
from skrobustbo_benchmarks.problems._synthetic import numbered

#: Sets the stream of the effects apart from other uses of a seed.
_STREAM = 0xCA
#: Deviation of the effect of two choices together, that of one alone being 1.
_TOGETHER = 0.5
#: What a number loses by being off by the whole of its range.
_STEEP = 8.0


@dataclass(frozen=True, eq=False)
class _Choices:
    """The objective: effects of choices, and bowls around places of their own.

    Parameters
    ----------
    effects : array of shape (k, ..., k)
        Value of each combination of choices where all numbers are right.
    right : array of shape (k, n_numbers)
        The best numbers, by the first choice.
    """

    effects: Array
    right: Array

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the value at `params`."""
        c = tuple(int(params[name][1:]) for name in _choices(self.effects.ndim))
        numbers = numbered(self.right.shape[1])
        off = np.array([params[name] for name in numbers]) - self.right[c[0]]
        return float(self.effects[c] - _STEEP * (off**2).sum())


def choices(
    n_choices: int = 3, k: int = 6, n_numbers: int = 2, seed: int = 0
) -> Problem:
    """Return a function of unordered choices and numbers, drawn by the seed.

    f(c, x) = sum_i a_i(c_i) + sum_{i<j} b_ij(c_i, c_j) - 8 |x - m(c_1)|^2, with a
    standard normal, b normal of deviation 0.5, and m uniform in the cube: which numbers
    are best depends on the first choice. Noise-free.

    Parameters
    ----------
    n_choices : int, default=3
        Number of categorical parameters.
    k : int, default=6
        Choices of each.
    n_numbers : int, default=2
        Number of continuous parameters, from 0 to 1; may be 0.
    seed : int, default=0
        Draws the effects. `sample_function` gives those of other seeds.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If a setting is out of range.
    """
    c, k = at_least("n_choices", n_choices, 1), at_least("k", k, 2)
    d = at_least("n_numbers", n_numbers, 0)
    rng = np.random.default_rng([_STREAM, at_least("seed", seed, 0)])
    effects = _effects(c, k, rng)
    func = _Choices(effects, rng.random((k, d)))
    best = np.unravel_index(int(effects.argmax()), effects.shape)
    named = dict(zip(_choices(c), (f"c{i}" for i in best), strict=True))
    right = dict(zip(numbered(d), func.right[best[0]].tolist(), strict=True))
    kinds = Categorical([f"c{i}" for i in range(k)])
    return Problem(
        name="choices",
        space=Space(
            dict.fromkeys(_choices(c), kinds)
            | dict.fromkeys(numbered(d), Real(0.0, 1.0))
        ),
        func=func,
        source=f"{c} choices of {k} with effects alone and in pairs, and {d} numbers "
        f"whose best values depend on the first choice (seed {seed})",
        optimum=float(effects.max()),
        optimum_params={**named, **right},
        sample_function=partial(choices, n_choices, k, n_numbers),
    )


def _effects(c: int, k: int, rng: np.random.Generator) -> Array:
    """Return the value of each combination of choices."""
    effects = np.zeros((k,) * c)
    for i in range(c):
        effects += _along(rng.standard_normal(k), (i,), c)
    for i, j in combinations(range(c), 2):
        effects += _along(_TOGETHER * rng.standard_normal((k, k)), (i, j), c)
    return effects


def _along(values: Array, axes: tuple[int, ...], c: int) -> Array:
    """Return the values with axes of length 1 for all but these of `c` axes."""
    others = tuple(axis for axis in range(c) if axis not in axes)
    return np.expand_dims(values, others)


def _choices(c: int) -> list[str]:
    return [f"choice{i + 1}" for i in range(c)]
