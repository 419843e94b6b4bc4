"""Objectives that can be evaluated with less than the full resource."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from skrobustbo.space import Real, Space
from skrobustbo_benchmarks._names import unknown_name
from skrobustbo_benchmarks.problems._base import Array, Problem, Resource, at_least
from skrobustbo_benchmarks.problems._synthetic import numbered

#: Sets the stream of the hills apart from other uses of a seed.
_STREAM = 0x1C
_N_HILLS = 6
#: The full resource, and the smallest amount of it.
_HIGH, _LOW = 81, 1
#: What is missing of the value at a ninth of the resource, on average.
_SLOW = 0.1
_KINDS = ("agreeing", "reversed", "unrelated")


@dataclass(frozen=True)
class AtFullResource:
    """An objective at the full amount of its resource (picklable)."""

    resource: Resource

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the value at `params`."""
        return self.resource.value(params, self.resource.high)


@dataclass(frozen=True, eq=False)
class _Hills:
    """The highest of several paraboloids; its largest value is the largest height."""

    heights: Array
    centres: Array
    width: float

    def __call__(self, x: Array) -> float:
        """Return the value at a point of the cube."""
        away = ((x - self.centres) ** 2).mean(axis=1)
        return float((self.heights - away / self.width**2).max())


@dataclass(frozen=True, eq=False)
class _Curves:
    """Learning curves: they rise to `full`, or below `threshold` to something else."""

    kind: str
    threshold: float
    full: _Hills
    other: _Hills

    def __call__(self, params: Mapping[str, Any], amount: float) -> float:
        """Return the value with an amount of the resource."""
        x = np.array([params[name] for name in numbered(self.full.centres.shape[1])])
        share = amount / _HIGH
        missing = _SLOW * (1 / math.sqrt(share) - 1) / 2
        # Points far from the origin learn up to three times as slowly as those at it.
        return self._limit(x, share) - missing * (0.5 + float(x.mean()))

    def _limit(self, x: Array, share: float) -> float:
        """Return what the curve at `x` seems to rise to, seen at this share."""
        if share >= self.threshold or self.kind == "agreeing":
            return self.full(x)
        return -self.full(x) if self.kind == "reversed" else self.other(x)


@dataclass(frozen=True)
class _Amount:
    """A cost that is the amount itself (picklable)."""

    def __call__(self, params: Mapping[str, Any], amount: float) -> float:
        return float(amount)


def learning_curves(
    d: int = 3, kind: str = "agreeing", threshold: float = 0.5, seed: int = 0
) -> Problem:
    """Return learning curves whose early values may mislead, drawn by the seed.

    At the full resource, 81 units, f(x) = max_i (h_i - |x - c_i|^2 / (d w^2)): six
    hills of heights between 0 and 1, the highest 1. With a share s of it, the value is
    f(x) - 0.05 (s^(-1/2) - 1) (0.5 + mean(x)), and the cost is the number of units. So
    it is if `kind` is ``"agreeing"``. Below the threshold, -f(x) takes the place of
    f(x) if the kind is ``"reversed"``, and the same sort of function with other hills
    if it is ``"unrelated"``. Noise-free.

    Parameters
    ----------
    d : int, default=3
        Number of parameters, all from 0 to 1.
    kind : {"agreeing", "reversed", "unrelated"}, default="agreeing"
        What the values below the threshold have to do with the full ones.
    threshold : float, default=0.5
        Share of the resource from which values agree; above 0, at most 1.
    seed : int, default=0
        Draws the hills. `sample_function` gives those of other seeds.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If a setting is out of range.
    """
    d = at_least("d", d, 1)
    if kind not in _KINDS:
        raise unknown_name("'kind' of 'learning-curves'", kind, _KINDS)
    if not 0 < threshold <= 1:
        raise ValueError(
            "'threshold' must be above 0 and at most 1, a share of the resource. Got "
            f"{threshold!r} instead."
        )
    rng = np.random.default_rng([_STREAM, at_least("seed", seed, 0)])
    full, other = _hills(d, rng), _hills(d, rng)
    curves = _Curves(kind, threshold, full, other)
    units = Resource(name="units", low=_LOW, high=_HIGH, value=curves, cost=_Amount())
    best = full.centres[full.heights.argmax()].tolist()
    return Problem(
        name="learning-curves",
        space=Space(dict.fromkeys(numbered(d), Real(0.0, 1.0))),
        func=AtFullResource(units),
        resource=units,
        source=f"six hills at the end of {kind} learning curves (seed {seed})",
        optimum=1.0,
        optimum_params=dict(zip(numbered(d), best, strict=True)),
        sample_function=partial(learning_curves, d, kind, threshold),
    )


def _hills(d: int, rng: np.random.Generator) -> _Hills:
    """Draw hills; the highest is 1, the others are between 0 and 0.9."""
    heights = np.append(1.0, 0.9 * rng.random(_N_HILLS - 1))
    return _Hills(heights, rng.random((_N_HILLS, d)), width=0.25)
