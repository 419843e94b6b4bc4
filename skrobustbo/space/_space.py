"""The search space: params dicts to points of the unit cube and back."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrobustbo._arguments import checked_count, drawn_seed
from skrobustbo._names import did_you_mean
from skrobustbo._sobol import sobol
from skrobustbo.space._ball import Perturb, ball
from skrobustbo.space._constraint import Answers, Mask
from skrobustbo.space._dimensions import Dimension, Real, Rows, on_grid
from skrobustbo.space._parse import as_dimension, dimension_from_dict
from skrobustbo.space._values import from_json

Params = dict[str, Any]
Predicate = Callable[[Params], bool]

#: Finite spaces up to this size are counted point by point under constraints.
COUNTED = 2**16
_BLOCK = 2**13


class Space:
    """A set of parameters, each with its values.

    Parameters
    ----------
    param_space : dict of str to dimension, or list of such dicts
        For each parameter a `Real`, `Integer` or `Categorical`; a sequence, whose
        values are the only ones ever tried; a frozen `scipy.stats` distribution, whose
        support is the range and whose shape is the scale of distances; or a dimension
        of scikit-optimize or a distribution of Optuna. The dicts of a list are the
        branches of one space: a point belongs to the first that contains it.

    Attributes
    ----------
    dimensions : dict of str to dimension
        The parameters in the order given.
    branches : list of Space
        The spaces of which this one is the union; itself alone for a single dict.
    n_columns : int
        Columns of an encoded point, all in [0, 1].
    size : float
        Number of feasible points, `inf` where a parameter is continuous.

    Raises
    ------
    ValueError
        If the space is empty or a value is not understood; the message names the
        parameter and says what to write instead.

    Examples
    --------
    >>> from skrobustbo import Integer, Real, Space
    >>> space = Space({"C": Real(1e-2, 1e2, log=True), "degree": Integer(1, 3)})
    >>> space.encode({"C": 1.0, "degree": 3})
    array([0.5, 1. ])
    >>> space.decode([1.0, 0.0])
    {'C': 100.0, 'degree': 1}
    """

    #: Whether the points are a list of given ones.
    is_pool = False
    #: Which points are feasible; None where all are.
    _answers: Answers | None = None

    def __new__(cls, param_space: Any = None) -> Space:
        """Return an object for one dict, or of the subclass for a list of several."""
        if cls is Space and _several(param_space):
            from skrobustbo.space._branched import BranchedSpace

            return object.__new__(BranchedSpace)
        return object.__new__(cls)

    def __init__(self, param_space: Mapping[str, Any] | Sequence[Mapping[str, Any]]):
        if isinstance(param_space, list | tuple) and len(param_space) == 1:
            param_space = param_space[0]
        self.dimensions: dict[str, Dimension] = {
            checked_name(name): as_dimension(name, value)
            for name, value in checked_dict(param_space).items()
        }
        self._set_columns()

    def _set_columns(self) -> None:
        widths = [dimension.n_columns for dimension in self.dimensions.values()]
        ends = list(itertools.accumulate(widths, initial=0))
        self._columns = {
            name: np.arange(start, start + width)
            for name, start, width in zip(self.dimensions, ends, widths, strict=False)
        }
        # A space of constants still has a point: it lies at 0 of one idle column.
        self.n_columns = max(1, ends[-1])

    @classmethod
    def from_points(cls, points: Sequence[Mapping[str, Any]]) -> Space:
        """Return the space of exactly the given points.

        A table of experiments, a pool of materials, the arms of a bandit: nothing
        else is ever proposed. Numbers are placed by their value, evenly scaled over
        the range seen; all else is an unordered choice. Repeated points count once.

        Parameters
        ----------
        points : list of dict
            The points, all with the same parameters.

        Returns
        -------
        space : Space

        Examples
        --------
        >>> from skrobustbo import Space
        >>> Space.from_points([{"arm": 1}, {"arm": 2}, {"arm": 4}]).size
        3
        """
        from skrobustbo.space._points import PointSpace

        return PointSpace(points)

    @property
    def branches(self) -> list[Space]:
        """The spaces of which this one is the union."""
        return [self]

    @property
    def owned(self) -> list[Space]:
        """The branches without the points that an earlier one contains."""
        return [self]

    def owner(self, params: Mapping[str, Any]) -> int:
        """Return the index of the first branch that contains a params dict.

        Raises
        ------
        ValueError
            If none does.
        """
        return self.place(params)[0]

    def place(self, params: Mapping[str, Any]) -> tuple[int, Rows]:
        """Return the index of a params dict's `owner`, and its row as encoded there."""
        return 0, self.encode(params)

    def __repr__(self) -> str:
        inner = ", ".join(f"{k!r}: {v!r}" for k, v in self.dimensions.items())
        return f"Space({{{inner}}})"

    def __eq__(self, other: object) -> bool:
        # The order counts: it is the order of the encoded columns.
        return (
            isinstance(other, Space)
            and type(self) is type(other)
            and list(self.dimensions.items()) == list(other.dimensions.items())
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def size(self) -> float:
        """Number of feasible points; under constraints, beyond 65,536, a bound on it.

        Counting them would ask the constraint for each.
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
        """Return the encoded columns of a parameter (none for a constant)."""
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
        """Return the encoded point of a params dict, shape (n_columns,).

        Raises
        ------
        ValueError
            If a parameter is missing, unknown, or its value is outside the space.
        """
        self._check_names(checked_params(params))
        row = np.zeros(self.n_columns)
        for name, dimension in self.dimensions.items():
            try:
                row[self._columns[name]] = dimension.encode(params[name])
            except ValueError as error:
                raise ValueError(
                    f"Parameter {name!r} is outside the space: {error}, got "
                    f"{params[name]!r}; change the value or widen the space."
                ) from None
        return row

    def decode(self, x: ArrayLike) -> Params:
        """Return the params dict of an encoded point, shape (n_columns,)."""
        row = _floats(x)
        if row.shape != (self.n_columns,):
            raise ValueError(
                f"Expected an encoded point of shape ({self.n_columns},), got "
                f"{row.shape}; use decode_many for several points."
            )
        return self.decode_many(row[None, :])[0]

    def decode_many(self, X: Rows) -> list[Params]:
        """Return the params dicts of encoded points, shape (n, n_columns)."""
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
        """Return the feasible points nearest to `X`, shape (n, n_columns)."""
        snapped = np.zeros(X.shape)
        columns, _, steps = self._reals
        snapped[:, columns] = on_grid(X[:, columns], steps)
        for columns, _, dimension in self._others:
            snapped[:, columns] = dimension.snap(X[:, columns])
        return snapped

    @cached_property
    def _reals(self) -> tuple[list[int], list[int], Rows]:
        """Columns, uniform numbers and steps of the ranges, all served at once."""
        found = {
            i: (int(self._columns[name][0]), dimension.steps)
            for i, (name, dimension) in enumerate(self.dimensions.items())
            if isinstance(dimension, Real)
        }
        columns = [column for column, _ in found.values()]
        return columns, [*found], np.array([steps for _, steps in found.values()])

    @cached_property
    def _others(self) -> list[tuple[Any, int, Dimension]]:
        """Columns, uniform number and dimension of the other parameters."""
        return [
            (self._columns[name], i, dimension)
            for i, (name, dimension) in enumerate(self.dimensions.items())
            if not isinstance(dimension, Real)
        ]

    # Sampling and enumerating --------------------------------------------------------

    @property
    def n_uniform(self) -> int:
        """Uniform numbers that one random point takes."""
        return len(self.dimensions)

    def from_uniform(self, U: Rows) -> Rows:
        """Return the points, shape (n, n_columns), of uniform (n, n_uniform) draws."""
        X = np.zeros((len(U), self.n_columns))
        columns, draws, steps = self._reals
        X[:, columns] = on_grid(U[:, draws], steps)
        for columns, i, dimension in self._others:
            X[:, columns] = dimension.from_uniform(U[:, i])
        return X

    def sample(self, n: int, random_state: Any = None) -> list[Params]:
        """Return `n` points of a scrambled Sobol sequence, snapped to the space.

        Parameters
        ----------
        n : int
            Number of points. Points of a small finite space may come repeatedly.
        random_state : int, RandomState or None, default=None
            Seeds the scrambling.

        Returns
        -------
        params : list of dict
        """
        n = checked_count("n", n, "Space.sample", least=0)
        seed = drawn_seed(random_state, "Space.sample")
        return self.decode_many(self.from_uniform(sobol(n, self.n_uniform, seed)))

    def enumerate(self) -> Rows:
        """Return all feasible points of a finite space, shape (size, n_columns)."""
        if not math.isfinite(self._size):
            raise ValueError(
                "Expected a finite space, got one with a continuous range."
            )
        return self.at(self.indices)

    @property
    def indices(self) -> NDArray[np.intp]:
        """Numbers of the feasible points of a finite space, for `at`."""
        return self._feasible if self.constrained else np.arange(int(self._size))

    @cached_property
    def _feasible(self) -> NDArray[np.intp]:
        """The numbers of the points that satisfy the constraints."""
        every = np.arange(int(self._size))
        blocks = [every[i : i + _BLOCK] for i in range(0, len(every), _BLOCK)]
        return np.concatenate([block[self.allows(self.at(block))] for block in blocks])

    def at(self, indices: NDArray[np.intp]) -> Rows:
        """Return points of a finite space by their numbers, shape (n, n_columns)."""
        # Constants have no column, and NumPy allows no grid of very many axes.
        varying = [d for d in self.dimensions.values() if d.size > 1]
        tables = [d.table() for d in varying] or [np.zeros((1, 1))]
        grid = np.unravel_index(indices, [len(table) for table in tables])
        rows = [table[index] for table, index in zip(tables, grid, strict=True)]
        return np.concatenate(rows, axis=1)

    # Constraints ---------------------------------------------------------------------

    def within(self, *predicates: Predicate) -> Self:
        """Return the same space with only those points feasible for which all hold.

        Parameters
        ----------
        *predicates : callable
            Each takes a params dict and returns True or False.
        """
        region = copy.copy(self)
        before = () if self._answers is None else self._answers.predicates
        region._answers = Answers((*before, *predicates), self.decode_many)
        vars(region).pop("_feasible", None)
        return region

    @property
    def constrained(self) -> bool:
        """Whether points have to be asked for being feasible."""
        return self._answers is not None

    def allows(self, X: Rows) -> Mask:
        """Return which of the points, shape (n, n_columns), satisfy the constraints."""
        if self._answers is None:
            return np.ones(len(X), dtype=bool)
        return self._answers(X)

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Tell whether a params dict is a point of the space, constraints aside."""
        try:
            self.encode(params)
        except ValueError:
            return False
        return True

    # What the acquisition maximiser and the policies need ----------------------------

    @property
    def climbed(self) -> NDArray[np.intp]:
        """Columns to climb by gradient."""
        found = [self._columns[k] for k, v in self.dimensions.items() if v.climbable]
        return np.concatenate([np.empty(0, dtype=np.intp), *found])

    @cached_property
    def nominal(self) -> NDArray[np.intp]:
        """Columns that hold codes of many choices, which are equal or not."""
        found = [self._columns[k] for k, v in self.dimensions.items() if v.nominal]
        return np.concatenate([np.empty(0, dtype=np.intp), *found])

    @property
    def swept(self) -> list[tuple[NDArray[np.intp], Rows]]:
        """Columns and table of encoded rows of each parameter to sweep."""
        return [
            (self._columns[name], dimension.table())
            for name, dimension in self.dimensions.items()
            if not dimension.climbable and dimension.size > 1
        ]

    @cached_property
    def groups(self) -> list[NDArray[np.intp]]:
        """Encoded columns of each parameter that varies, in order."""
        varying = [columns for columns in self._columns.values() if len(columns)]
        return varying or [np.zeros(1, dtype=np.intp)]

    def ball(
        self,
        eps: float | Mapping[str, float],
        metric: str = "max",
        units: str = "cube",
    ) -> Perturb:
        """Return the function from points to their feasible perturbations.

        Unordered choices are not perturbed. Pools, and finite spaces of up to 4,096
        points, have their neighbours looked up; elsewhere the perturbations are the
        point itself, the ends of the axes, corners and a few points between, drawn
        inward to feasible values, always the same ones.

        Parameters
        ----------
        eps : float or dict of str to float
            Radius, or one for each parameter to be perturbed.
        metric : {"max", "l2"}, default="max"
            Whether every parameter may move by its radius, or all together.
        units : {"cube", "user"}, default="cube"
            Whether radii are in unit-cube coordinates or the parameters' own units.

        Returns
        -------
        perturb : callable
            Encoded points, shape (m, n_columns), to perturbed ones, shape
            (m, k, n_columns), the point itself first.

        Raises
        ------
        ValueError
            If a name is unknown or its values have no order.

        Examples
        --------
        >>> from skrobustbo import Integer, Space
        >>> space = Space({"n": Integer(0, 10)})
        >>> space.ball(0.1)(space.encode({"n": 3})[None, :]).ravel()
        array([0.3, 0.2, 0.3, 0.4])
        """
        return ball(self, eps, metric, units)

    # JSON ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the space in JSON types.

        Raises
        ------
        TypeError
            If a choice is an object that JSON cannot hold, such as an estimator.
        """
        # A list: the order of the columns must survive a writer that sorts keys.
        return {"dimensions": [[k, v.to_dict()] for k, v in self.dimensions.items()]}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Space:
        """Return the space that `to_dict` wrote."""
        if "points" in state:
            names = [name for name, _ in state["points"]]
            columns = [[from_json(v) for v in values] for _, values in state["points"]]
            rows = zip(*columns, strict=True)
            return cls.from_points([dict(zip(names, r, strict=True)) for r in rows])
        if "branches" in state:
            from skrobustbo.space._branched import BranchedSpace

            return BranchedSpace([cls.from_dict(s) for s in state["branches"]])
        return cls({k: dimension_from_dict(v) for k, v in state["dimensions"]})

    def params_to_json(self, params: Params) -> dict[str, Any]:
        """Return a params dict in JSON types; choices by their index."""
        return {k: self.dimensions[k].value_to_json(v) for k, v in params.items()}

    def params_from_json(self, state: Mapping[str, Any]) -> Params:
        """Return the params dict that `params_to_json` wrote."""
        self._check_names(checked_params(state))
        return {k: v.value_from_json(state[k]) for k, v in self.dimensions.items()}


def checked_dict(param_space: Any) -> Mapping[str, Any]:
    """Return a dict of parameters as it is; ValueError for anything else."""
    if not isinstance(param_space, Mapping):
        raise ValueError(
            f"Expected a dict from parameter names to their values, got "
            f"{param_space!r}; write one, such as {{'C': Real(1e-3, 1e3, log=True)}}."
        )
    if not param_space:
        raise ValueError(
            "Expected at least one parameter to search, got an empty dict; add one, "
            "such as {'C': Real(1e-3, 1e3, log=True)}."
        )
    return param_space


def checked_params(params: Any) -> Mapping[str, Any]:
    """Return a params dict as it is; ValueError for anything else."""
    if not isinstance(params, Mapping):
        raise ValueError(
            f"Expected a dict of parameters, got {params!r}; write one, such as "
            "{'C': 1.0}."
        )
    return params


def _floats(x: Any) -> Rows:
    """Return encoded coordinates as an array; ValueError unless they are numbers."""
    try:
        row = np.asarray(x, dtype=float)
    except (TypeError, ValueError, OverflowError):
        row = np.array(np.nan)
    if np.isnan(row).any():
        raise ValueError(
            f"Expected the coordinates of an encoded point, got {x!r}; give numbers "
            "from 0 to 1."
        )
    return row


def _several(param_space: Any) -> bool:
    return isinstance(param_space, list | tuple) and len(param_space) > 1


def checked_name(name: Any) -> str:
    """Return the name of a parameter as it is; ValueError unless it is a string."""
    if not isinstance(name, str):
        raise ValueError(
            f"Expected parameter names to be strings, got {name!r}; write it in quotes."
        )
    return name
