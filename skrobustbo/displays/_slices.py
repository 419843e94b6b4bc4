"""Slices of the posterior along one or two parameters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrobustbo.displays._base import Array, space_of
from skrobustbo.displays._scales import Scale

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
    branch: int | None,
) -> list[Slice]:
    """Return the slices through `params`, all predicted at once."""
    space = space_of(optimizer, branch)
    plans = [_plan(space, params, names, scales, trials) for names in asked]
    points = [point for each, *_ in plans for point in each]
    known = np.array([point is not None for point in points])
    surfaces = np.full((2, len(points)), math.nan)
    flat = [point for point in points if point is not None]
    surfaces[:, known] = optimizer.predict(flat, return_std=True)
    parts = np.split(surfaces, np.cumsum([len(each) for each, *_ in plans]), axis=1)
    slices = []
    for names, (_, at, connected), part in zip(asked, plans, parts, strict=False):
        mean, std = part.reshape(2, *map(len, at))
        slices.append(Slice(names, at, mean, std, connected))
    return slices


def _plan(
    space: Any,
    params: Mapping[str, Any],
    names: tuple[str, ...],
    scales: Mapping[str, Scale],
    trials: Sequence[Mapping[str, Any]],
) -> tuple[list[Any], tuple[Array, ...], bool]:
    """Return the points of a slice, None for infeasible ones, and their places."""
    grids = [_grid(space.dimensions[name], len(names)) for name in names]
    points = [
        {**params, **dict(zip(names, values, strict=True))}
        for values in itertools.product(*grids)
    ]
    feasible = [point if space.contains(point) else None for point in points]
    if len(names) == 2 or sum(p is not None for p in feasible) > 0.5 * len(points):
        pairs = zip(names, grids, strict=True)
        at = [scales[name].positions({name: v} for v in grid) for name, grid in pairs]
        return feasible, tuple(at), True
    extra = [*map(dict, trials), *space.sample(_POINTS, random_state=0)]
    found = {space.encode(p).tobytes(): p for p in extra if names[0] in p}
    others = list(found.values())
    return others, (scales[names[0]].positions(others),), False


def _grid(dimension: Any, n_names: int) -> list[Any]:
    """Return values that cover a parameter's range, at most as many as are drawn."""
    if dimension.size <= _MAP:
        values = dimension.decode(dimension.table())
        return sorted(values) if not hasattr(dimension, "choices") else values
    n = _LINE if n_names == 1 else _MAP
    rows = dimension.snap(np.linspace(0.0, 1.0, n)[:, None])
    return list(dict.fromkeys(dimension.decode(rows)))
