"""Feasible perturbations of a point, for adversarial robustness."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from skrobustbo._sobol import sobol
from skrobustbo.space._cube import Cube
from skrobustbo.space._dimensions import Categorical, Dimension, Rows
from skrobustbo.space._values import is_number

#: In pools, and in other finite spaces up to this size, all neighbours are looked up.
_LISTED = 4096
#: Number of points processed at once, because each may have thousands of neighbours.
_BLOCK = 256
#: Maximum number of neighbours per point in such a space, spread evenly by distance.
_MOST = 64
#: Up to this many ordered values are stored in a table.
_TABLE = 2**16
#: Number of points at which a continuous range is sampled.
_KNOTS = 4097
#: Number of space-filling offsets, in addition to the centre, axis ends and corners.
_INNER = 8
_TOLERANCE = 1e-9
#: Places different values of an unperturbed column far apart.
_FAR = 1e15

Perturb = Callable[[Rows], Rows]


@dataclass(frozen=True)
class _Axis:
    """A perturbed column, with its dimension and perturbation radius."""

    column: int
    dimension: Dimension
    radius: float
    user: bool

    @cached_property
    def table(self) -> Rows | None:
        """Encoded values in ascending order, or None if there are too many."""
        if self.dimension.size > _TABLE:
            return None
        return np.sort(self.dimension.table()[:, 0])

    @cached_property
    def _knots(self) -> tuple[Rows, Rows]:
        if self.table is None:
            places = self.dimension.snap(np.linspace(0, 1, _KNOTS)[:, None])[:, 0]
            places = np.unique(places)
        else:
            places = self.table
        return places, np.array(self.dimension.decode(places[:, None]), dtype=float)

    def coordinates(self, u: Rows) -> Rows:
        """Convert encoded values to coordinates in units of the radius."""
        if not self.user:
            return u / self.radius
        values: Rows = np.interp(u, *self._knots)
        return values / self.radius

    def moved(self, u: Rows, offsets: Rows) -> Rows:
        """Move each of m values by each of k offsets, and return an (m, k) array."""
        targets = u[:, None] + self.radius * offsets
        if self.user:
            places, values = self._knots
            around = np.interp(u, places, values)[:, None] + self.radius * offsets
            targets = np.interp(around, values, places)
        targets = np.where(offsets == 0, u[:, None], np.clip(targets, 0.0, 1.0))
        return targets if self.table is None else self._inward(u, targets)

    def _inward(self, u: Rows, targets: Rows) -> Rows:
        """Round each target to a value of the table between `u` and the target."""
        table = np.asarray(self.table)
        last = np.searchsorted(table, targets + _TOLERANCE, side="right") - 1
        first = np.searchsorted(table, targets - _TOLERANCE, side="left")
        top = len(table) - 1
        above = np.maximum(table[np.clip(last, 0, top)], u[:, None])
        below = np.minimum(table[np.clip(first, 0, top)], u[:, None])
        return np.where(targets >= u[:, None], above, below)


def ball(
    space: Cube, eps: float | Mapping[str, float], metric: str, units: str
) -> Perturb:
    """Return a function that maps points to their perturbations; see `Space.ball`."""
    axes = _axes(space, eps, user=units == "user")
    if not axes:
        return lambda X: X[:, None]
    if space.size <= _LISTED or space.is_pool:
        return _Neighbours(space, axes, np.inf if metric == "max" else 2.0)
    return _Offsets(space, axes, _offsets(len(axes), metric))


def _axes(space: Cube, eps: float | Mapping[str, float], user: bool) -> list[_Axis]:
    """Return the columns to perturb, excluding unordered choices."""
    if isinstance(eps, Mapping):
        radii = {name: float(radius) for name, radius in eps.items()}
        for name in radii:
            if not _perturbed(space, name, user):
                raise ValueError(
                    f"Expected radii of numeric parameters, got one for {name!r}; "
                    "leave it out of 'eps'."
                )
    else:
        names = [name for name in space.names if _perturbed(space, name, user)]
        radii = dict.fromkeys(names, float(eps))
    return [
        _Axis(int(space.columns(name)[0]), space.dimensions[name], radius, user)
        for name, radius in radii.items()
        if radius > 0
    ]


def _perturbed(space: Cube, name: str, user: bool) -> bool:
    columns, dimension = space.columns(name), space.dimensions[name]
    if len(columns) != 1:
        return False
    if not isinstance(dimension, Categorical):
        return True
    numeric = all(is_number(choice) for choice in dimension.choices)
    ascending = numeric and list(dimension.choices) == sorted(dimension.choices)
    return dimension.ordered and (ascending or not user)


def _offsets(p: int, metric: str) -> Rows:
    """Return k points of the unit ball in p dimensions, shape (k, p), centre first."""
    centre, ends = np.zeros((1, p)), np.concatenate([np.eye(p), -np.eye(p)])
    if p == 1:
        return np.concatenate([centre, ends, np.linspace(-0.75, 0.75, 6)[:, None]])
    inner = 2 * sobol(_INNER, p, seed=0) - 1
    if p <= 3:
        corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * p)).reshape(p, -1).T
    else:  # too many corners: points of the surface
        corners = inner / np.abs(inner).max(axis=1, keepdims=True)
    rest = np.concatenate([corners, inner])
    if metric == "l2":  # contracts the cube along its rays
        size = np.linalg.norm(rest, axis=1, keepdims=True)
        rest = rest * np.abs(rest).max(axis=1, keepdims=True) / size
    return np.concatenate([centre, ends, rest])


@dataclass(frozen=True)
class _Offsets:
    """Perturbations by fixed offsets, which are contracted to feasible values."""

    space: Cube
    axes: list[_Axis]
    offsets: Rows

    def __call__(self, X: Rows) -> Rows:
        moved = np.repeat(X[:, None], len(self.offsets), axis=1)
        for axis, offsets in zip(self.axes, self.offsets.T, strict=True):
            moved[:, :, axis.column] = axis.moved(X[:, axis.column], offsets)
        shape = moved.shape
        moved = self.space.snap(moved.reshape(-1, shape[2])).reshape(shape)
        if self.space.constrained:
            moved = self._allowed(X, moved)
        moved[:, 0] = X  # a climb passes through points between feasible ones
        return moved

    def _allowed(self, X: Rows, moved: Rows) -> Rows:
        """Move infeasible perturbations towards the centre until they are feasible."""
        shape = moved.shape
        centres = np.repeat(X[:, None], shape[1], axis=1).reshape(-1, shape[2])
        points = moved.reshape(-1, shape[2])
        for share in (0.5, 0.25, 0.0):
            bad = np.flatnonzero(~self.space.allows(points))
            nearer = centres[bad] + share * (points[bad] - centres[bad])
            points[bad] = self.space.snap(nearer) if share else centres[bad]
        return points.reshape(shape)


@dataclass(frozen=True)
class _Neighbours:
    """Perturbations to the neighbours of points in a finite space."""

    space: Cube
    axes: list[_Axis]
    norm: float

    @cached_property
    def _rows(self) -> Rows:
        return self.space.enumerate()

    @cached_property
    def _tree(self) -> Any:
        return cKDTree(self._coordinates(self._rows))

    def _coordinates(self, X: Rows) -> Rows:
        Z = X * _FAR
        for axis in self.axes:
            Z[:, axis.column] = axis.coordinates(X[:, axis.column])
        return Z

    def __call__(self, X: Rows) -> Rows:
        Z = self._coordinates(X)
        blocks = [Z[i : i + _BLOCK] for i in range(0, len(Z), _BLOCK)]
        chosen = [near for block in blocks for near in self._within_reach(block)]
        around = np.repeat(X[:, None], 1 + max(map(len, chosen)), axis=1)
        for i, near in enumerate(chosen):  # padded with the point itself
            around[i, 1 : 1 + len(near)] = self._rows[near]
        return around

    def _within_reach(self, Z: Rows) -> list[NDArray[np.intp]]:
        found = self._tree.query_ball_point(Z, 1 + _TOLERANCE, p=self.norm)
        return [
            self._spread(z, np.sort(np.array(near, dtype=np.intp)))
            for z, near in zip(Z, found, strict=True)
        ]

    def _spread(self, z: Rows, near: NDArray[np.intp]) -> NDArray[np.intp]:
        """Select a limited number of points, from the nearest to the farthest."""
        if len(near) <= _MOST:
            return near
        size = np.linalg.norm(self._tree.data[near] - z, ord=self.norm, axis=1)
        ranks = np.linspace(0, len(near) - 1, _MOST).round().astype(np.intp)
        return near[np.argsort(size, kind="stable")[ranks]]
