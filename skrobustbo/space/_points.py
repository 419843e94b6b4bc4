"""Finite sets of points: tables, pools, the arms of a bandit."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from skrobustbo._names import shown
from skrobustbo.space._categorical import Categorical
from skrobustbo.space._cube import Cube, Params, Predicate, checked_name
from skrobustbo.space._dimensions import MIN_GAP, Dimension, Rows
from skrobustbo.space._space import Space
from skrobustbo.space._values import distinct, have_order, plain, same, to_json

#: Distances computed at once.
_MOST_DISTANCES = 2**22


class PointSpace(Space, kind="points"):
    """The space of `Space.from_points`: one table of encoded rows over all columns."""

    is_pool = True

    def __init__(self, points: Sequence[Mapping[str, Any]]):
        given = _checked_points(points)
        seen = {name: _seen_dimension([p[name] for p in given]) for name in given[0]}
        Cube.__init__(self, seen)
        rows = np.array([super(PointSpace, self).encode(point) for point in given])
        first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
        self.points = [given[i] for i in first]
        self._rows = rows[first]

    def __repr__(self) -> str:
        return f"Space.from_points(<{len(self.points)} points of {self.names}>)"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PointSpace)
            and self.names == other.names
            and same(self.points, other.points)
        )

    __hash__ = None

    @property
    def size(self) -> float:
        return len(self.points)

    def encode(self, params: Mapping[str, Any]) -> Rows:
        row = super().encode(params)
        if not (self._rows == row).all(axis=1).any():
            raise ValueError(
                f"Expected one of the space's {len(self.points)} points, got "
                f"{shown(dict(params))}; change a value or add it to the points."
            )
        return row

    def _nearest(self, X: Rows) -> NDArray[np.intp]:
        size = max(1, _MOST_DISTANCES // max(1, len(self._rows)))
        blocks = [X[i : i + size] for i in range(0, len(X), size)]
        none = np.empty(0, dtype=np.intp)
        return np.concatenate([none, *(self._distances(b).argmin(1) for b in blocks)])

    def _distances(self, X: Rows) -> Rows:
        """Return the distances to all points; different choices are 1 apart."""
        if not len(self.nominal):
            return cdist(X, self._rows)
        others = np.setdiff1d(np.arange(self.n_columns), self.nominal)
        squares = cdist(X[:, others], self._rows[:, others], "sqeuclidean")
        for c in self.nominal:
            squares += X[:, c, None] != self._rows[:, c]
        return squares

    def decode_many(self, X: Rows) -> list[Params]:
        return [dict(self.points[i]) for i in self._nearest(X)]

    def snap(self, X: Rows) -> Rows:
        return self._rows[self._nearest(X)]

    def within(self, *predicates: Predicate) -> Self:
        """Return the same space with only those of its points that are feasible."""
        kept = [i for i, p in enumerate(self.points) if all(f(p) for f in predicates)]
        region = copy.copy(self)
        region.points = [self.points[i] for i in kept]
        region._rows = self._rows[kept]
        return region

    @property
    def n_uniform(self) -> int:
        return 1

    def from_uniform(self, U: Rows) -> Rows:
        n = len(self.points)
        return self._rows[np.minimum((U[:, 0] * n).astype(np.intp), n - 1)]

    def enumerate(self) -> Rows:
        return self._rows.copy()

    @property
    def indices(self) -> NDArray[np.intp]:
        return np.arange(len(self._rows))

    def at(self, indices: NDArray[np.intp]) -> Rows:
        return self._rows[indices]

    @property
    def climbed(self) -> NDArray[np.intp]:
        """No column is climbed: only the points themselves are feasible."""
        return np.empty(0, dtype=np.intp)

    @property
    def swept(self) -> list[tuple[NDArray[np.intp], Rows]]:
        """All columns at once, with the points' encoded rows."""
        return [(np.arange(self.n_columns), self._rows)]

    def to_dict(self) -> dict[str, Any]:
        values = [[k, [to_json(p[k]) for p in self.points]] for k in self.dimensions]
        return {"points": values}


def _checked_points(points: Sequence[Mapping[str, Any]]) -> list[Params]:
    listed = isinstance(points, Iterable) and getattr(points, "ndim", 1) > 0
    if not listed or isinstance(points, Mapping):
        raise ValueError(
            f"Expected a list of params dicts, got {shown(points)}; write a list."
        )
    plained = []
    for point in points:
        if not isinstance(point, Mapping):
            raise ValueError(
                f"Expected every point to be a params dict, got {shown(point)}; of a "
                "DataFrame, give df.to_dict('records')."
            )
        plained.append({checked_name(k): plain(v) for k, v in point.items()})
    if not plained or not plained[0]:
        raise ValueError(
            "Expected at least one point with at least one parameter, got none; give "
            "a list of params dicts."
        )
    for point in plained:
        if point.keys() != plained[0].keys():
            raise ValueError(
                f"Expected every point to have the parameters {list(plained[0])}, got "
                f"{shown(point)}; give every point the same ones."
            )
    return plained


def _seen_dimension(values: list[Any]) -> Dimension:
    """Return a dimension over exactly the values seen, numbers placed by value."""
    choices = distinct(values)
    if have_order(choices):
        return _Levels(sorted(choices))
    return Categorical(choices)


class _Levels(Categorical):
    """Numbers in ascending order, placed by value rather than by rank."""

    def __init__(self, values: list[float]):
        super().__init__(values, ordered=True)

    @cached_property
    def _table(self) -> Rows:
        # Halves keep the span finite, whatever the values.
        half = np.asarray(self.choices, dtype=float) / 2
        unit = (half - half[0]) / (half[-1] - half[0] or 1.0)
        gaps = np.diff(unit)
        if np.any(gaps < MIN_GAP):  # too close to be told apart by their value
            unit = np.cumsum([0.0, *np.maximum(gaps, MIN_GAP)])
            unit /= unit[-1]
        return unit[:, None][:, : self.n_columns]

    def _indices(self, rows: Rows) -> NDArray[np.intp]:
        return self._nearest(rows)
