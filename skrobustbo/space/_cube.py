"""The unit cube in which the values of several parameters are encoded."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skrobustbo._names import did_you_mean, shown
from skrobustbo.space._dimensions import Dimension, Real, Rows, on_grid

Params = dict[str, Any]
Mask = NDArray[np.bool_]

#: Maximum number of cached answers.
_KEPT = 2**18


class Constraint:
    """A predicate on params dicts whose return values are validated."""

    def __init__(self, predicate: Callable[[Params], Any]) -> None:
        if not callable(predicate):
            raise ValueError(
                "The 'constraints' of a search must be a callable that takes a params "
                f"dict and returns True or False. Got {predicate!r} instead; several "
                "constraints are one callable, such as lambda p: a(p) and b(p)."
            )
        self.predicate = predicate

    def __call__(self, params: Mapping[str, Any]) -> bool:
        """Return whether a params dict is feasible, or raise ValueError."""
        try:
            answer = self.predicate(dict(params))
        except Exception as error:
            raise ValueError(
                "The 'constraints' of a search must answer for every point of the "
                f"space. Got {error!r} at {shown(dict(params))}; let it return True "
                "or False there too."
            ) from error
        if not isinstance(answer, bool | np.bool_):
            raise ValueError(
                "The 'constraints' of a search must return True or False. Got "
                f"{answer!r} at {shown(dict(params))} instead; write bool(...) around "
                "it."
            )
        return bool(answer)


class Answers:
    """Cached results of predicates for encoded points."""

    def __init__(
        self, predicates: Sequence[Callable[[Params], bool]], space: Cube
    ) -> None:
        # Keep the space, not its method: skops cannot read methods of a base class.
        self.predicates, self._space = tuple(predicates), space
        self._known: dict[bytes, bool] = {}

    def __call__(self, X: Rows) -> Mask:
        """Return a mask of the rows of `X` that satisfy all predicates."""
        # A point with many columns is stored as a digest.
        keys = [blake2b(x.tobytes(), digest_size=16).digest() for x in X]
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        rows = list(new.values())
        asked = self._space.decode_many(X[rows]) if rows else []
        if len(self._known) + len(new) > _KEPT:
            self._known = {key: self._known[key] for key in keys if key not in new}
        for key, params in zip(new, asked, strict=True):
            self._known[key] = all(predicate(params) for predicate in self.predicates)
        return np.array([self._known[key] for key in keys], dtype=bool)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_known": {}}


Predicate = Callable[[Params], bool]

#: With constraints, finite spaces up to this size are counted by testing every point.
COUNTED = 2**16
_BLOCK = 2**13


class Cube:
    """Encoding of the points of a `Space` as rows, with constraints on the points.

    Parameters
    ----------
    dimensions : dict of str to dimension
        The parameters, in the order of their columns.
    """

    #: Whether the points are a given list.
    is_pool = False
    #: Feasibility of the points; None if all are feasible.
    _answers: Answers | None = None

    def __init__(self, dimensions: dict[str, Dimension]) -> None:
        self.dimensions = dimensions
        widths = [dimension.n_columns for dimension in dimensions.values()]
        ends = list(itertools.accumulate(widths, initial=0))
        self._columns = {
            name: np.arange(start, start + width)
            for name, start, width in zip(dimensions, ends, widths, strict=False)
        }
        # A space of constants still has one point, at 0 in one unused column.
        self.n_columns = max(1, ends[-1])

    @property
    def size(self) -> float:
        """Number of feasible points, or an upper bound for large constrained spaces.

        For spaces of more than 65,536 points, counting would call the constraint too
        often.
        """
        size = self._size
        return len(self._feasible) if self.constrained and size <= COUNTED else size

    @property
    def _size(self) -> float:
        return math.prod(dimension.size for dimension in self.dimensions.values())

    @property
    def names(self) -> list[str]:
        """Names of the parameters, in order."""
        return list(self.dimensions)

    def columns(self, name: str) -> NDArray[np.intp]:
        """Return the column indices of a parameter; a constant has no columns."""
        self._check_names([checked_name(name)], complete=False)
        return self._columns[name]

    def _check_names(self, names: Any, *, complete: bool = True) -> None:
        for name in names:
            if name not in self._columns:
                hint = did_you_mean(str(name), self._columns)
                raise ValueError(
                    f"Expected the parameters {self.names}, got {name!r}; "
                    f"{hint or 'leave it out.'}"
                )
        missing = [name for name in self._columns if complete and name not in names]
        if missing:
            raise ValueError(
                f"Expected the parameters {self.names}, got none for {missing}; give "
                "every parameter a value."
            )

    # Encoding ------------------------------------------------------------------------

    def encode(self, params: Mapping[str, Any]) -> Rows:
        """Encode a params dict as a point of shape (n_columns,).

        Raises
        ------
        ValueError
            If a parameter is missing or unknown, or if a value is outside the space.
        """
        self._check_names(checked_params(params))
        row = np.zeros(self.n_columns)
        for name, dimension in self.dimensions.items():
            try:
                row[self._columns[name]] = dimension.encode(params[name])
            except ValueError as error:
                raise ValueError(
                    f"Parameter {name!r} is outside the space: {error}, got "
                    f"{shown(params[name])}; change the value or widen the space."
                ) from None
        return row

    def own(self, params: Mapping[str, Any]) -> Params:
        """Return a params dict with each value converted to its parameter's type.

        For an `Integer`, whole floats become integers; for a `Real`, integers become
        floats. A value that equals a choice is replaced by that choice.
        """
        return {name: self.dimensions[name].own(v) for name, v in params.items()}

    def decode_many(self, X: Rows) -> list[Params]:
        """Decode points of shape (n, n_columns) to params dicts."""
        X = self.snap(X)
        values = [
            dimension.decode(X[:, self._columns[name]])
            for name, dimension in self.dimensions.items()
        ]
        return [
            dict(zip(self.dimensions, row, strict=True))
            for row in zip(*values, strict=True)
        ]

    def snap(self, X: Rows) -> Rows:
        """Round each row of `X` to the nearest point of the space."""
        snapped = np.zeros(X.shape)
        columns, _, steps = self._reals
        snapped[:, columns] = on_grid(X[:, columns], steps)
        for columns, _, dimension in self._others:
            snapped[:, columns] = dimension.snap(X[:, columns])
        return snapped

    @cached_property
    def _reals(self) -> tuple[list[int], list[int], Rows]:
        """Columns, positions and grid steps of all `Real` parameters, as vectors."""
        found = {
            i: (int(self._columns[name][0]), dimension.steps)
            for i, (name, dimension) in enumerate(self.dimensions.items())
            if isinstance(dimension, Real)
        }
        columns = [column for column, _ in found.values()]
        return columns, [*found], np.array([steps for _, steps in found.values()])

    @cached_property
    def _others(self) -> list[tuple[Any, int, Dimension]]:
        """Columns, position and dimension of each parameter that is not a `Real`."""
        return [
            (self._columns[name], i, dimension)
            for i, (name, dimension) in enumerate(self.dimensions.items())
            if not isinstance(dimension, Real)
        ]

    # Drawing and enumerating ----------------------------------------------------------

    @property
    def n_uniform(self) -> int:
        """Number of uniform random numbers needed for one random point."""
        return len(self.dimensions)

    def from_uniform(self, U: Rows) -> Rows:
        """Convert uniform draws of shape (n, n_uniform) to n points of the space."""
        X = np.zeros((len(U), self.n_columns))
        columns, draws, steps = self._reals
        X[:, columns] = on_grid(U[:, draws], steps)
        for columns, i, dimension in self._others:
            X[:, columns] = dimension.from_uniform(U[:, i])
        return X

    def enumerate(self) -> Rows:
        """Return all feasible points of a finite space, shape (size, n_columns)."""
        if not math.isfinite(self._size):
            raise ValueError(
                "Expected a finite space, got one with a continuous range."
            )
        return self.at(self.indices)

    @property
    def indices(self) -> NDArray[np.intp]:
        """Indices of the feasible points of a finite space, for use with `at`."""
        return self._feasible if self.constrained else np.arange(int(self._size))

    @cached_property
    def _feasible(self) -> NDArray[np.intp]:
        """Indices of the points that satisfy the constraints."""
        every = np.arange(int(self._size))
        blocks = [every[i : i + _BLOCK] for i in range(0, len(every), _BLOCK)]
        return np.concatenate([block[self.allows(self.at(block))] for block in blocks])

    def at(self, indices: NDArray[np.intp]) -> Rows:
        """Return the points of a finite space at the given indices."""
        # Constants have no column, and NumPy limits the number of axes of a grid.
        varying = [d for d in self.dimensions.values() if d.size > 1]
        tables = [d.table() for d in varying] or [np.zeros((1, 1))]
        grid = np.unravel_index(indices, [len(table) for table in tables])
        rows = [table[index] for table, index in zip(tables, grid, strict=True)]
        return np.concatenate(rows, axis=1)

    # Constraints ---------------------------------------------------------------------

    def within(self, *predicates: Predicate) -> Self:
        """Return a copy of the space, restricted to points that satisfy all predicates.

        Parameters
        ----------
        *predicates : callable
            Functions that take a params dict and return True or False.
        """
        region = copy.copy(self)
        before = () if self._answers is None else self._answers.predicates
        region._answers = Answers((*before, *predicates), self)
        vars(region).pop("_feasible", None)
        return region

    @property
    def constrained(self) -> bool:
        """Whether the points must satisfy constraints."""
        return self._answers is not None

    def allows(self, X: Rows) -> Mask:
        """Return a mask of the rows of `X` that satisfy the constraints."""
        if self._answers is None:
            return np.ones(len(X), dtype=bool)
        return self._answers(X)

    # For the acquisition maximiser and the policies -----------------------------------

    @property
    def climbed(self) -> NDArray[np.intp]:
        """Indices of the columns that are optimised by gradient ascent."""
        found = [self._columns[k] for k, v in self.dimensions.items() if v.climbable]
        return np.concatenate([np.empty(0, dtype=np.intp), *found])

    @cached_property
    def nominal(self) -> NDArray[np.intp]:
        """Indices of the columns that contain codes of many unordered choices."""
        found = [self._columns[k] for k, v in self.dimensions.items() if v.nominal]
        return np.concatenate([np.empty(0, dtype=np.intp), *found])

    @property
    def swept(self) -> list[tuple[NDArray[np.intp], Rows]]:
        """Columns and encoded values of each parameter searched exhaustively."""
        return [
            (self._columns[name], dimension.table())
            for name, dimension in self.dimensions.items()
            if not dimension.climbable and dimension.size > 1
        ]

    @cached_property
    def groups(self) -> list[NDArray[np.intp]]:
        """Column indices of each parameter that is not constant, in order."""
        varying = [columns for columns in self._columns.values() if len(columns)]
        return varying or [np.zeros(1, dtype=np.intp)]


def checked_params(params: Any) -> Mapping[str, Any]:
    """Return a params dict unchanged, or raise ValueError if it is not a dict."""
    if not isinstance(params, Mapping):
        raise ValueError(
            f"Expected a dict of parameters, got {shown(params)}; write one, such as "
            "{'C': 1.0}."
        )
    return params


def checked_name(name: Any) -> str:
    """Return a parameter name unchanged, or raise ValueError if it is not a string."""
    if not isinstance(name, str):
        raise ValueError(
            f"Expected parameter names to be strings, got {name!r}; write it in quotes."
        )
    return name
