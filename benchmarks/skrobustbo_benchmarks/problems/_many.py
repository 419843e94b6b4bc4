"""Many parameters, of which all matter, or only a few."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skrobustbo.space import Space
from skrobustbo_benchmarks._names import unknown_name
from skrobustbo_benchmarks.problems._base import Problem, at_least
from skrobustbo_benchmarks.problems._synthetic import (
    VALLEYS,
    hartmann6,
    numbered,
    valley,
)

#: Sets the stream of the places of what matters apart from other uses of a seed.
_STREAM = 0x3A


@dataclass(frozen=True)
class _Padded:
    """A problem's objective as a function of its parameters and of idle ones."""

    problem: Problem
    places: tuple[str, ...]

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the value at `params`."""
        given = (params[place] for place in self.places)
        return self.problem.func(
            dict(zip(self.problem.space.names, given, strict=True))
        )


def many(
    function: str = "ackley", d: int = 20, relevant: int | None = None, seed: int = 0
) -> Problem:
    """Return a function of many parameters, of which all matter or only a few.

    The functions are those of `ackley5`, `levy4`, `rosenbrock4` and `hartmann6`, in
    `relevant` of `d` dimensions. The others change nothing, and all have the range of
    the first one that matters. Noise-free.

    Parameters
    ----------
    function : {"ackley", "levy", "rosenbrock", "hartmann6"}, default="ackley"
        The function.
    d : int, default=20
        Number of parameters.
    relevant : int or None, default=None
        How many of them matter; None: all. Of `hartmann6` it is always six.
    seed : int, default=0
        Which of them matter. `sample_function` gives other choices.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If a setting is out of range, or `function` is none of the names.
    """
    d = at_least("d", d, 2)
    default = _relevant(function, d)
    n = at_least("relevant", default if relevant is None else relevant, 2)
    if n > d or (function == "hartmann6" and n != 6):
        raise ValueError(
            "The 'relevant' setting of 'many' must be at most d, and 6 for "
            f"'hartmann6'. Got relevant={n} with d={d}."
        )
    inner = hartmann6() if function == "hartmann6" else valley(function, n)
    names, places = numbered(d), _places(d, n, at_least("seed", seed, 0))
    best = list((inner.optimum_params or {}).values())
    return Problem(
        name="many",
        space=Space(dict.fromkeys(names, inner.space.dimensions["x1"])),
        func=_Padded(inner, places),
        source=f"{inner.source}; {n} of {d} parameters matter",
        optimum=inner.optimum,
        optimum_params=dict.fromkeys(names, best[0])
        | dict(zip(places, best, strict=True)),
        sample_function=partial(many, function, d, n),
    )


def _relevant(function: str, d: int) -> int:
    """Return how many parameters of a function matter if nobody says."""
    if function not in (*VALLEYS, "hartmann6"):
        known = [*VALLEYS, "hartmann6"]
        raise unknown_name("function of the problem 'many'", function, known)
    return 6 if function == "hartmann6" else d


def _places(d: int, n: int, seed: int) -> tuple[str, ...]:
    """Return the names of those that matter, in the order of the function."""
    rng, names = np.random.default_rng([_STREAM, seed]), numbered(d)
    return tuple(names[i] for i in sorted(rng.permutation(d)[:n]))
