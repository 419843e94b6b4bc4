"""Traps of any dimension: a broad rise that shows, and a narrow, higher peak.

Each is drawn by its seed. On the unit cube,

    f(x) = max(b(x), H exp(-|x - c|^2 / (2 w^2))),

where the background b is 0.02 to 1 and of one of five kinds, the height H is 1.5 to 2,
and the width w is such that the peak stands above the background in a given share of
the cube: its basin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.space import Real, Space
from skrobustbo_benchmarks._names import unknown_name
from skrobustbo_benchmarks._starts import starts
from skrobustbo_benchmarks.problems._base import (
    Array,
    Params,
    Problem,
    at_least,
    design_seed,
)
from skrobustbo_benchmarks.problems._synthetic import numbered

#: Sets the stream of the traps apart from other uses of a seed.
_STREAM = 0x7A
#: Points by which the basin's share of the cube is measured.
_MEASURED = 2**13
#: A run is stuck unless it ends within this share of the difference of heights.
_WITHIN = 0.05
#: What lies apart is apart by this share of the cube's diagonal, at least.
_APART = 0.3
#: The lowest background: a peak that stood above nothing could not be seen at its rim.
_FLOOR = 0.02
#: Points of the sequence that a start which hides the basin looks through.
_LOOKED_THROUGH = 4096

Background = Callable[[Array], Array]


def _bell(apart: Array, width: Array | float) -> Array:
    """Return a Gaussian hill of height 1 at these distances from its centre."""
    return np.asarray(np.exp(-0.5 * (apart / width) ** 2))


@dataclass(frozen=True, eq=False)
class Hills:
    """The highest of some Gaussian hills: heights and widths by the rows of centres."""

    centres: Array
    heights: Array
    widths: Array

    def __call__(self, X: Array) -> Array:
        """Return the values at the rows of `X`."""
        apart = np.linalg.norm(X[:, None] - self.centres, axis=2)
        highest: Array = (self.heights * _bell(apart, self.widths)).max(axis=1)
        return highest


@dataclass(frozen=True, eq=False)
class Plateau:
    """Flat ground of height 1 around a centre, with an edge, and flat ground below."""

    centre: Array
    radius: float
    edge: float

    def __call__(self, X: Array) -> Array:
        """Return the values at the rows of `X`."""
        apart = np.linalg.norm(X - self.centre, axis=1)
        return np.asarray(0.5 - 0.5 * np.tanh((apart - self.radius) / self.edge))


@dataclass(frozen=True, eq=False)
class Slope:
    """A plane that rises from 0 to 1 over the cube."""

    direction: Array

    def __call__(self, X: Array) -> Array:
        """Return the values at the rows of `X`."""
        low = np.minimum(self.direction, 0.0).sum()
        return np.asarray((X @ self.direction - low) / np.abs(self.direction).sum())


@dataclass(frozen=True, eq=False)
class Ridge:
    """A ridge through a point, which rises along its direction, a unit vector."""

    point: Array
    direction: Array
    width: float

    def __call__(self, X: Array) -> Array:
        """Return the values at the rows of `X`."""
        offset = X - self.point
        along = offset @ self.direction
        aside = np.linalg.norm(offset - along[:, None] * self.direction, axis=1)
        rise = np.clip(0.8 + 0.2 * along / math.sqrt(X.shape[1]), 0.0, 1.0)
        return rise * _bell(aside, self.width)


def _above_floor(rise: Array) -> Array:
    return _FLOOR + (1 - _FLOOR) * rise


@dataclass(frozen=True, eq=False)
class Trap:
    """The objective: a background, and the peak."""

    kind: str
    rise: Background
    centre: Array
    height: float
    width: float

    def background(self, X: Array) -> Array:
        """Return the values without the peak at the rows of `X`."""
        return _above_floor(self.rise(X))

    def peak(self, X: Array) -> Array:
        """Return the height of the peak alone at the rows of `X`."""
        return self.height * _bell(np.linalg.norm(X - self.centre, axis=1), self.width)

    def enters(self, X: Array) -> NDArray[np.bool_]:
        """Return whether the rows of `X` are in the basin of the peak."""
        return np.asarray(self.peak(X) > self.background(X))

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the value at `params`."""
        X = np.array([[params[name] for name in numbered(len(self.centre))]])
        return float(np.maximum(self.background(X), self.peak(X))[0])


def _far_from(c: Array, rng: np.random.Generator) -> Array:
    """Return a uniform point that is apart from `c`."""
    while True:
        x = rng.random(len(c))
        if np.linalg.norm(x - c) >= _APART * math.sqrt(len(c)):
            return x


def _hill(c: Array, rng: np.random.Generator, n: int = 1) -> Background:
    centres = np.array([_far_from(c, rng) for _ in range(n)])
    heights = np.concatenate([[1.0], rng.uniform(0.5, 1.0, n - 1)])
    return Hills(centres, heights, rng.uniform(0.2, 0.35, n) * math.sqrt(len(c) / 2))


def _hills(c: Array, rng: np.random.Generator) -> Background:
    return _hill(c, rng, n=int(rng.integers(3, 7)))


def _plateau(c: Array, rng: np.random.Generator) -> Background:
    centre = _far_from(c, rng)
    radius = rng.uniform(0.4, 0.7) * float(np.linalg.norm(centre - c))
    return Plateau(centre, radius, rng.uniform(0.05, 0.15))


def _slope(c: Array, rng: np.random.Generator) -> Background:
    return Slope(_far_from(c, rng) - c)


def _ridge(c: Array, rng: np.random.Generator) -> Background:
    while True:
        point, direction = rng.random(len(c)), rng.standard_normal(len(c))
        direction /= np.linalg.norm(direction)
        offset = c - point
        aside = offset - (offset @ direction) * direction
        if np.linalg.norm(aside) >= _APART * math.sqrt(len(c)) / 2:
            return Ridge(point, direction, rng.uniform(0.1, 0.2))


#: How the background of each kind is drawn, for a peak at c.
KINDS: dict[str, Callable[[Array, np.random.Generator], Background]] = {
    "hill": _hill,
    "plateau": _plateau,
    "slope": _slope,
    "hills": _hills,
    "ridge": _ridge,
}


def trap(
    d: int = 2,
    share: float = 0.1,
    kind: str | None = None,
    seed: int = 0,
    hidden: bool = True,
) -> Problem:
    """Return a broad rise and a higher, narrow peak apart from it, of any dimension.

    On the unit cube, f(x) = max(b(x), H exp(-|x - c|^2 / (2 w^2))). The peak has its
    centre c anywhere, height H from 1.5 to 2, and a width w such that it stands above
    the background b in the given share of the cube, its basin. The background is 0.02
    to 1 and, by kind,

    - "hill": a Gaussian hill of deviation 0.2 to 0.35 times sqrt(d / 2);
    - "hills": the highest of three to six of those, one of height 1;
    - "plateau": a flat top with a smooth edge;
    - "slope": a plane that rises away from the peak;
    - "ridge": a ridge that passes by and rises along its way, from two dimensions.

    Centres are apart by 0.3 of the cube's diagonal or more. Noise-free. A run is stuck
    if it ends more than a twentieth of H - 1 below H.

    Parameters
    ----------
    d : int, default=2
        Number of parameters.
    share : float, default=0.1
        Share of the cube that the basin of the peak takes.
    kind : {"hill", "hills", "plateau", "slope", "ridge"} or None, default=None
        The background; None draws it with the function.
    seed : int, default=0
        Which function. `sample_function` gives the others.
    hidden : bool, default=True
        Whether no point of the initial design is in the basin.

    Returns
    -------
    Problem
        Its `func` tells by `enters` which points of the cube are in the basin, and has
        its `kind`.

    Raises
    ------
    ValueError
        If a setting is out of range, or `kind` is none of the names.
    """
    if kind is not None and kind not in KINDS:
        raise unknown_name("kind of the problem 'trap'", kind, sorted(KINDS))
    least = 2 if kind == "ridge" else 1
    rng = np.random.default_rng(
        [_STREAM, at_least("seed", seed, 0), at_least("d", d, least)]
    )
    # Drawn even if it is given: a seed has one peak whatever the kind.
    drawn = rng.choice([name for name in KINDS if d > 1 or name != "ridge"])
    made = kind or str(drawn)
    if not 0 < share < 1:
        raise ValueError(
            f"The 'share' setting of 'trap' must be between 0 and 1. Got {share!r}."
        )
    centre, height = rng.random(d), float(rng.uniform(1.5, 2.0))
    rise, space = KINDS[made](centre, rng), _cube(d)
    func = Trap(made, rise, centre, height, _width(rise, centre, height, share))
    return Problem(
        name="trap",
        space=space,
        func=func,
        source=f"a peak of height {height:.3g} beside a {made} of height 1 on the unit "
        f"cube, its basin {share:g} of it (seed {seed})",
        optimum=height,
        optimum_params=dict(zip(space.names, centre.tolist(), strict=True)),
        stuck_below=height - _WITHIN * (height - 1),
        initial_design=partial(_outside, func, space) if hidden else None,
        sample_function=partial(_of_seed, d, share, kind, hidden),
    )


def _of_seed(
    d: int, share: float, kind: str | None, hidden: bool, seed: int
) -> Problem:
    return trap(d, share, kind, seed, hidden)


def _width(rise: Background, centre: Array, height: float, share: float) -> float:
    """Return the width with which the peak stands above the background in `share`."""
    X = _measuring_points(len(centre))
    apart = np.linalg.norm(X - centre, axis=1)
    # The peak is the higher one at a point from this width on.
    widths = apart / np.sqrt(2 * np.log(height / _above_floor(rise(X))))
    return float(np.quantile(widths, share))


def _cube(d: int) -> Space:
    return Space(dict.fromkeys(numbered(d), Real(0.0, 1.0)))


@lru_cache
def _measuring_points(d: int) -> Array:
    """Return the points that shares are measured by, the same for all traps."""
    return _rows(starts(_cube(d), _MEASURED, 0))


def _outside(trap: Trap, space: Space, seed: int, n: int) -> list[Params]:
    """Return the first points of a Sobol sequence that are not in the basin."""
    params = starts(space, _LOOKED_THROUGH, design_seed(seed))
    inside = trap.enters(_rows(params))
    return [p for p, enters in zip(params, inside, strict=True) if not enters][:n]


def _rows(params: Sequence[Mapping[str, Any]]) -> Array:
    return np.array([list(p.values()) for p in params])
