"""The search space, which maps params dicts to points in the unit cube and back.

A `Space` is defined by one dict of parameters. Its subclasses are `BranchedSpace`, the
union of several spaces, and `PointSpace`, a list of points.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from skrobustbo._arguments import checked_count, drawn_seed
from skrobustbo._names import shown
from skrobustbo._sobol import design
from skrobustbo.space._ball import Perturb, ball
from skrobustbo.space._cube import (
    COUNTED,
    Cube,
    Params,
    Predicate,
    checked_name,
    checked_params,
)
from skrobustbo.space._dimensions import MIN_GAP, Categorical, Dimension, Rows
from skrobustbo.space._parse import as_dimension, dimension_from_dict
from skrobustbo.space._values import (
    distinct,
    from_json,
    have_order,
    plain,
    same,
    to_json,
)

#: Encoding of a point's branch: one column per branch, as for a choice.
_MARK = math.sqrt(0.5)
#: Number of distances to compute at once.
_MOST_DISTANCES = 2**22


class Space(Cube):
    """A set of parameters and their possible values.

    Parameters
    ----------
    param_space : dict of str to dimension, or list of such dicts
        The dimension of each parameter: a `Real`, `Integer` or `Categorical`, a
        sequence of the values to try, a distribution, or a dimension from
        scikit-optimize, Optuna or skrub. A distribution from `scipy.stats` must be
        frozen. The support of a distribution is the range of the parameter, and its
        shape determines how distances are measured. A list of dicts defines the
        branches of one space. A point belongs to the first branch that contains it.

    Attributes
    ----------
    dimensions : dict of str to dimension
        The parameters, in their original order.
    branches : list of Space
        The spaces whose union is this space. For a single dict, the list contains only
        the space itself.
    n_columns : int
        Number of columns of an encoded point. All columns are in [0, 1].
    size : float
        Number of feasible points, or `inf` if a parameter is continuous.

    Raises
    ------
    ValueError
        If the space is empty or a value is invalid.

    Examples
    --------
    >>> from skrobustbo import Integer, Real, Space
    >>> space = Space({"C": Real(1e-2, 1e2, log=True), "degree": Integer(1, 3)})
    >>> space.encode({"C": 1.0, "degree": 3})
    array([0.5, 1. ])
    >>> space.decode([1.0, 0.0])
    {'C': 100.0, 'degree': 1}
    """

    def __new__(cls, param_space: Any = None) -> Space:
        """Create a `Space`, or a `BranchedSpace` if there are several dicts."""
        several = isinstance(param_space, list | tuple) and len(param_space) > 1
        return object.__new__(BranchedSpace if cls is Space and several else cls)

    def __init__(self, param_space: Mapping[str, Any] | Sequence[Mapping[str, Any]]):
        if isinstance(param_space, list | tuple) and len(param_space) == 1:
            param_space = param_space[0]
        given = _checked_dict(param_space).items()
        super().__init__({checked_name(k): as_dimension(k, v) for k, v in given})

    @classmethod
    def from_points(cls, points: Sequence[Mapping[str, Any]]) -> Space:
        """Return a space that contains exactly the given points.

        Use it for a table of experiments, a pool of materials or the arms of a bandit.
        No other points are ever proposed. Numbers are scaled linearly over their range,
        and all other values are unordered choices. Duplicate points count once.

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
        return PointSpace(points)

    @property
    def branches(self) -> list[Space]:
        """The spaces whose union is this space."""
        return [self]

    @property
    def owned(self) -> list[Space]:
        """The branches, each without the points that an earlier branch contains."""
        return [self]

    def owner(self, params: Mapping[str, Any]) -> int:
        """Return the index of the first branch that contains a params dict.

        Raises
        ------
        ValueError
            If no branch contains the params dict.
        """
        return self.place(params)[0]

    def place(self, params: Mapping[str, Any]) -> tuple[int, Rows]:
        """Return the branch index of a params dict, and its encoding in that branch."""
        return 0, self.encode(params)

    def __repr__(self) -> str:
        inner = ", ".join(f"{k!r}: {v!r}" for k, v in self.dimensions.items())
        return f"Space({{{inner}}})"

    def __eq__(self, other: object) -> bool:
        # The order matters: it determines the encoded columns.
        return (
            isinstance(other, Space)
            and type(self) is type(other)
            and list(self.dimensions.items()) == list(other.dimensions.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def decode(self, x: ArrayLike) -> Params:
        """Decode a point of shape (n_columns,) to a params dict."""
        row = _floats(x)
        if row.shape != (self.n_columns,):
            raise ValueError(
                f"Expected an encoded point of shape ({self.n_columns},), got "
                f"{row.shape}; use decode_many for several points."
            )
        return self.decode_many(row[None, :])[0]

    def sample(self, n: int, random_state: Any = None) -> list[Params]:
        """Return `n` points that cover the space.

        Samples of up to 32 points form a Latin hypercube in which no two parameters are
        confounded: their upper and lower halves, or their two choices, occur in several
        combinations. This requires at least 7 points and at most 35 parameters. Larger
        samples form a scrambled Sobol sequence.

        Parameters
        ----------
        n : int
            Number of points. In a small finite space, points may be repeated.
        random_state : int, RandomState or None, default=None
            Random seed.

        Returns
        -------
        params : list of dict
        """
        n = checked_count("n", n, "Space.sample", least=0)
        rng = np.random.default_rng(drawn_seed(random_state, "Space.sample"))
        return self.decode_many(self.from_uniform(design(n, self.n_uniform, rng)))

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Return whether a params dict is in the space, ignoring constraints."""
        try:
            self.encode(params)
        except ValueError:
            return False
        return True

    def has(self, params: Mapping[str, Any]) -> bool:
        """Return whether a params dict is in the space, with exactly matching types."""
        return self.contains(params) and same(self.own(params), dict(params))

    def ball(
        self, eps: float | Mapping[str, float], metric: str = "max", units: str = "cube"
    ) -> Perturb:
        """Return a function that maps points to their feasible perturbations.

        Unordered choices are not perturbed. In spaces created by `from_points` and in
        finite spaces of up to 4,096 points, the perturbations are all points within the
        radius, or a selection of 64 if there are more. Other spaces use a fixed set of
        perturbations: the point itself, the ends of the axes, corners and a few points
        in between. Infeasible perturbations are moved inwards until they are feasible.

        Parameters
        ----------
        eps : float or dict of str to float
            The radius of the ball, or a radius for each perturbed parameter.
        metric : {"max", "l2"}, default="max"
            If "max", every parameter may change by its radius. If "l2", the radius
            limits the Euclidean distance.
        units : {"cube", "user"}, default="cube"
            Whether the radii are in unit-cube coordinates or in the units of the
            parameters.

        Returns
        -------
        perturb : callable
            Function that maps encoded points, shape (m, n_columns), to perturbed
            points, shape (m, k, n_columns). The original point comes first.

        Raises
        ------
        ValueError
            If a parameter in `eps` is unknown or its values are not ordered.

        Examples
        --------
        >>> from skrobustbo import Integer, Space
        >>> space = Space({"n": Integer(0, 10)})
        >>> space.ball(0.1)(space.encode({"n": 3})[None, :]).ravel()
        array([0.3, 0.2, 0.3, 0.4])
        """
        return ball(self, eps, metric, units)

    def to_dict(self) -> dict[str, Any]:
        """Return the space as a dict of JSON types.

        Raises
        ------
        TypeError
            If a choice is an object that JSON cannot store, such as an estimator.
        """
        # A list keeps the order of the columns even if a writer sorts keys.
        return {"dimensions": [[k, v.to_dict()] for k, v in self.dimensions.items()]}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Space:
        """Restore a space from the output of `to_dict`."""
        if "points" in state:
            names = [name for name, _ in state["points"]]
            columns = [[from_json(v) for v in values] for _, values in state["points"]]
            rows = zip(*columns, strict=True)
            return cls.from_points([dict(zip(names, r, strict=True)) for r in rows])
        if "branches" in state:
            return BranchedSpace([cls.from_dict(s) for s in state["branches"]])
        return cls({k: dimension_from_dict(v) for k, v in state["dimensions"]})

    def params_to_json(self, params: Params) -> dict[str, Any]:
        """Convert a params dict to JSON types, with choices stored by index."""
        return {k: self.dimensions[k].value_to_json(v) for k, v in params.items()}

    def params_from_json(self, state: Mapping[str, Any]) -> Params:
        """Restore a params dict from the output of `params_to_json`."""
        self._check_names(checked_params(state))
        return {k: v.value_from_json(state[k]) for k, v in self.dimensions.items()}


def constants(branch: Space) -> Params:
    """Return the constant parameters of a branch and their values."""
    choices = {n: [*getattr(d, "choices", ())] for n, d in branch.dimensions.items()}
    return {name: values[0] for name, values in choices.items() if len(values) == 1}


def _checked_dict(param_space: Any) -> Mapping[str, Any]:
    """Return a dict of parameters unchanged, or raise ValueError if it is invalid."""
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


def _floats(x: Any) -> Rows:
    """Return encoded coordinates as an array, or raise ValueError if not numeric."""
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


# Several branches ---------------------------------------------------------------------


class BranchedSpace(Space):
    """Space that is defined by a list of dicts; see `Space`.

    An encoded point starts with one column per branch, which identify the branch of the
    point. The columns of every branch follow, and those of other branches are 0. A
    point in several branches belongs only to the first of them.
    """

    def __init__(self, param_space: Sequence[Mapping[str, Any] | Space]) -> None:
        self._branches = [
            given if isinstance(given, Space) else Space(given) for given in param_space
        ]
        for branch in self._branches:
            if isinstance(branch, BranchedSpace):
                raise ValueError(
                    "Expected the branches of a space to be dicts, got a space of "
                    "several branches among them; give all of them in one list."
                )
        k = len(self._branches)
        ends = np.cumsum([k, *(branch.n_columns for branch in self._branches)])
        self._blocks = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
        self.n_columns = int(ends[-1])
        pairs = list(zip(self._branches, self._blocks, strict=True))
        self._columns = {
            name: np.concatenate(
                [block[b.columns(name)] for b, block in pairs if name in b.dimensions]
            )
            for name in self.dimensions
        }

    @property
    def branches(self) -> list[Space]:
        return list(self._branches)

    @cached_property
    def dimensions(self) -> dict[str, Dimension]:  # type: ignore[override]
        """All parameters, each as defined in the first branch that contains it."""
        found: dict[str, Dimension] = {}
        for branch in self._branches:
            for name, dimension in branch.dimensions.items():
                found.setdefault(name, dimension)
        return found

    def __repr__(self) -> str:
        inner = ", ".join(
            repr(branch).removeprefix("Space(").removesuffix(")")
            for branch in self._branches
        )
        return f"Space([{inner}])"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BranchedSpace) and self._branches == other._branches

    __hash__ = None

    @cached_property
    def owned(self) -> list[Space]:
        found: list[Space] = []
        for i, branch in enumerate(self._branches):
            shared = [b for b in self._branches[:i] if _overlap(branch, b)]
            found.append(branch.within(partial(_outside, shared)) if shared else branch)
        return found

    @property
    def size(self) -> float:
        """Number of points, or an upper bound if large branches overlap."""
        return sum(branch.size for branch in self.owned)

    def place(self, params: Mapping[str, Any]) -> tuple[int, Rows]:
        errors: list[ValueError] = []
        equal: tuple[int, Rows] | None = None
        checked_params(params)
        for i, branch in enumerate(self._branches):
            try:
                row = branch.encode(params)
            except ValueError as error:
                if branch.dimensions.keys() == dict(params).keys():
                    errors.append(error)
            else:
                if same(branch.own(params), dict(params)):
                    return i, row
                equal = equal or (i, row)  # unless a later branch has the exact types
        if equal is not None:
            return equal
        if len(errors) == 1:  # the others have different parameters
            raise errors[0]
        names = "; ".join(str(branch.names) for branch in self._branches)
        raise ValueError(
            f"Expected a point of one of the {len(self._branches)} branches, of "
            f"parameters {names}, got {shown(dict(params))}; change a value or widen "
            "a branch."
        )

    def own(self, params: Mapping[str, Any]) -> Params:
        return self._branches[self.owner(params)].own(params)

    # Encoding ------------------------------------------------------------------------

    def encode(self, params: Mapping[str, Any]) -> Rows:
        i, row = self.place(params)
        return self._joined(i, row[None, :])[0]

    def _joined(self, i: int, X: Rows) -> Rows:
        joined = np.zeros((len(X), self.n_columns))
        joined[:, i] = _MARK
        joined[:, self._blocks[i]] = X
        return joined

    def _parts(self, X: Rows) -> list[tuple[int, NDArray[np.intp]]]:
        """Return the branches that occur in `X`, each with the indices of its rows."""
        of = np.argmax(X[:, : len(self._branches)], axis=1)
        return [(int(i), np.flatnonzero(of == i)) for i in np.unique(of)]

    def decode_many(self, X: Rows) -> list[Params]:
        found: dict[int, Params] = {}
        for i, rows in self._parts(X):
            decoded = self._branches[i].decode_many(X[np.ix_(rows, self._blocks[i])])
            found.update(zip(rows.tolist(), decoded, strict=True))
        return [found[row] for row in range(len(X))]

    def snap(self, X: Rows) -> Rows:
        snapped = np.zeros(X.shape)
        for i, rows in self._parts(X):
            inner = self._branches[i].snap(X[np.ix_(rows, self._blocks[i])])
            snapped[rows] = self._joined(i, inner)
        return snapped

    # Sampling and enumerating --------------------------------------------------------

    @property
    def n_uniform(self) -> int:
        """Number of uniform draws per random point, one of which selects the branch."""
        return 1 + max(branch.n_uniform for branch in self._branches)

    def from_uniform(self, U: Rows) -> Rows:
        k = len(self._branches)
        of = np.minimum((U[:, 0] * k).astype(np.intp), k - 1)
        X = np.zeros((len(U), self.n_columns))
        for i, branch in enumerate(self._branches):
            rows = np.flatnonzero(of == i)
            inner = branch.from_uniform(U[rows, 1 : 1 + branch.n_uniform])
            X[rows] = self._joined(i, inner)
            # A shared point belongs to the first branch that contains it.
            if len(rows) and self.owned[i] is not branch:
                X[rows] = [self.encode(params) for params in self.decode_many(X[rows])]
        return X

    def enumerate(self) -> Rows:
        parts = [branch.enumerate() for branch in self.owned]
        return np.concatenate([self._joined(i, X) for i, X in enumerate(parts)])

    # Not defined for several branches: ask a branch ----------------------------------

    def _ask_a_branch(self, *_: Any) -> Any:
        raise TypeError(
            "A space of several branches has no such property of its own; ask one of "
            "its 'branches'."
        )

    climbed = nominal = swept = groups = property(_ask_a_branch)
    ball = _ask_a_branch  # type: ignore[assignment]

    # JSON ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        return {"branches": [branch.to_dict() for branch in self._branches]}

    def params_to_json(self, params: Params) -> dict[str, Any]:
        i = self.owner(params)
        return {"$branch": i, "params": self._branches[i].params_to_json(params)}

    def params_from_json(self, state: Mapping[str, Any]) -> Params:
        return self._branches[int(state["$branch"])].params_from_json(state["params"])


def _outside(spaces: Sequence[Space], params: Params) -> bool:
    """Return whether a point with these value types is outside all given spaces."""
    return not any(space.has(params) for space in spaces)


def _overlap(a: Space, b: Space) -> bool:
    """Return whether two spaces may have points in common."""
    if a.dimensions.keys() != b.dimensions.keys():
        return False
    return all(_meet(a.dimensions[name], b.dimensions[name]) for name in a.names)


def _meet(a: Dimension, b: Dimension) -> bool:
    if a.size > b.size:
        a, b = b, a
    if a.size > COUNTED:
        return True
    return any(b.has(value) for value in a.decode(a.table()))


# Finite sets of points: tables, pools, the arms of a bandit ---------------------------


class PointSpace(Space):
    """Space that `Space.from_points` creates from a list of points."""

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
        """Return the distances to all points, squared if there are nominal columns.

        Different choices in a nominal column have distance 1.
        """
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
        """Return a copy of the space, restricted to points that satisfy predicates."""
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
        """An empty array, because only the points themselves are feasible."""
        return np.empty(0, dtype=np.intp)

    @property
    def swept(self) -> list[tuple[NDArray[np.intp], Rows]]:
        """All columns together, with the encoded rows of the points."""
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
    """Return a dimension with exactly the given values, spacing numbers by value."""
    choices = distinct(values)
    if have_order(choices):
        return _Levels(sorted(choices))
    return Categorical(choices)


class _Levels(Categorical):
    """Ordered choice among numbers that are spaced by value instead of rank."""

    def __init__(self, values: list[float]):
        super().__init__(values, ordered=True)

    @cached_property
    def _table(self) -> Rows:
        # Halves keep the span finite for any values.
        half = np.asarray(self.choices, dtype=float) / 2
        unit = (half - half[0]) / (half[-1] - half[0] or 1.0)
        gaps = np.diff(unit)
        if np.any(gaps < MIN_GAP):  # too close to distinguish by value
            unit = np.cumsum([0.0, *np.maximum(gaps, MIN_GAP)])
            unit /= unit[-1]
        return unit[:, None][:, : self.n_columns]

    def _indices(self, rows: Rows) -> NDArray[np.intp]:
        return self._nearest(rows)
