"""Predictions along one or two parameters through a point."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._scales import Scale

Array = NDArray[np.float64]

#: Places along one parameter, along each of two, and in spaces without slices.
_LINE, _MAP, _POINTS = 121, 41, 256


@dataclass(frozen=True)
class Slice:
    """The posterior along one or two parameters.

    Attributes
    ----------
    names : tuple of str
        The parameters.
    positions : tuple of array
        Values along each; categories by their index.
    mean, std : array of shape (n,) or (n, m)
        Posterior mean and deviation, in units of the values; nan where the space has no
        such point.
    connected : bool
        False where the space has hardly a point that differs in one parameter alone
        (a table of points): those are then any points of the space.
    """

    names: tuple[str, ...]
    positions: tuple[Array, ...]
    mean: Array
    std: Array
    connected: bool = True


def slices_of(
    optimizer: Any,
    params: Mapping[str, Any],
    asked: Sequence[tuple[str, ...]],
    scales: Mapping[str, Scale],
    trials: Sequence[Mapping[str, Any]],
) -> list[Slice]:
    """Return the slices through `params`, all predicted at once."""
    plans = [_plan(optimizer.space, params, names, trials) for names in asked]
    flat = [point for points, _, _ in plans for point in points if point is not None]
    mean, std = optimizer.predict(flat, return_std=True)
    slices, start = [], 0
    for names, (points, shape, connected) in zip(asked, plans, strict=True):
        known = np.array([point is not None for point in points])
        end = start + int(known.sum())
        surfaces = []
        for predicted in (mean, std):
            surface = np.full(len(points), math.nan)
            surface[known] = np.asarray(predicted)[start:end]
            surfaces.append(surface.reshape(shape))
        at = _positions(optimizer.space, names, scales, points, shape, connected)
        slices.append(Slice(names, at, surfaces[0], surfaces[1], connected))
        start = end
    return slices


def _plan(
    space: Any,
    params: Mapping[str, Any],
    names: tuple[str, ...],
    trials: Sequence[Mapping[str, Any]],
) -> tuple[list[Any], tuple[int, ...], bool]:
    """Return the points of a slice, None for infeasible ones, and its shape."""
    grids = [_grid(space.dimensions[name], len(names)) for name in names]
    points = [
        {**params, **dict(zip(names, values, strict=True))}
        for values in itertools.product(*grids)
    ]
    feasible = [point if _inside(space, point) else None for point in points]
    shape = tuple(len(grid) for grid in grids)
    if len(names) == 2 or sum(p is not None for p in feasible) > 0.5 * len(points):
        return feasible, shape, True
    extra = [*map(dict, trials), *space.sample(_POINTS, random_state=0)]
    found = {space.encode(p).tobytes(): p for p in extra if names[0] in p}
    return list(found.values()), (len(found),), False


def _grid(dimension: Any, n_names: int) -> list[Any]:
    """Return values that cover a parameter's range, at most as many as are drawn."""
    if dimension.size <= _MAP:
        values = dimension.decode(dimension.table())
        return sorted(values) if not hasattr(dimension, "choices") else values
    n = _LINE if n_names == 1 else _MAP
    rows = dimension.snap(np.linspace(0.0, 1.0, n)[:, None])
    return list(dict.fromkeys(dimension.decode(rows)))


def _inside(space: Any, point: Mapping[str, Any]) -> bool:
    try:
        space.encode(point)
    except ValueError:
        return False
    return True


def _positions(
    space: Any,
    names: tuple[str, ...],
    scales: Mapping[str, Scale],
    points: Sequence[Any],
    shape: tuple[int, ...],
    connected: bool,
) -> tuple[Array, ...]:
    if not connected:
        return (scales[names[0]].positions(points),)
    grids = [_grid(space.dimensions[name], len(names)) for name in names]
    return tuple(
        scales[name].positions({name: value} for value in grid)
        for name, grid in zip(names, grids, strict=True)
    )
