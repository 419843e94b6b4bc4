"""The union of several spaces: conditional parameters, one estimator or another."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._names import shown
from skrobustbo.space._cube import COUNTED, Params, checked_params
from skrobustbo.space._dimensions import Dimension, Rows
from skrobustbo.space._space import Space
from skrobustbo.space._values import same

#: How a point says which branch it is of: one column each, as for a choice.
_MARK = math.sqrt(0.5)


class BranchedSpace(Space, kind="branches"):
    """The space of a list of dicts; see `Space`.

    An encoded point has one column for each branch, to tell which it is of, and then
    the columns of every branch, idle at 0 but for its own. A point that several
    branches contain is of the first of them, and of that one only.
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
        self._columns = {
            name: np.concatenate(
                [
                    block[branch.columns(name)]
                    for branch, block in zip(self._branches, self._blocks, strict=True)
                    if name in branch.dimensions
                ]
            )
            for name in self.dimensions
        }

    @property
    def branches(self) -> list[Space]:
        return list(self._branches)

    @cached_property
    def dimensions(self) -> dict[str, Dimension]:  # type: ignore[override]
        """All parameters, each as in the first branch that has it."""
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
        """Number of points; an upper bound where large branches overlap."""
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
                equal = equal or (i, row)  # unless a later one has the very types
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
        """Return the branches present in `X`, each with the rows that are of it."""
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
        """Uniform numbers that one random point takes: one of them draws the branch."""
        return 1 + max(branch.n_uniform for branch in self._branches)

    def from_uniform(self, U: Rows) -> Rows:
        k = len(self._branches)
        of = np.minimum((U[:, 0] * k).astype(np.intp), k - 1)
        X = np.zeros((len(U), self.n_columns))
        for i, branch in enumerate(self._branches):
            rows = np.flatnonzero(of == i)
            inner = branch.from_uniform(U[rows, 1 : 1 + branch.n_uniform])
            X[rows] = self._joined(i, inner)
            # A point that branches share is of the first of them.
            if len(rows) and self.owned[i] is not branch:
                X[rows] = [self.encode(params) for params in self.decode_many(X[rows])]
        return X

    def enumerate(self) -> Rows:
        parts = [branch.enumerate() for branch in self.owned]
        return np.concatenate([self._joined(i, X) for i, X in enumerate(parts)])

    # What is asked of a branch instead -----------------------------------------------

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
    """Return whether no one of some spaces has a point, of the very types."""
    return not any(space.has(params) for space in spaces)


def _overlap(a: Space, b: Space) -> bool:
    """Return whether two spaces may have points in common; yes, if in doubt."""
    if a.dimensions.keys() != b.dimensions.keys():
        return False
    return all(_meet(a.dimensions[name], b.dimensions[name]) for name in a.names)


def _meet(a: Dimension, b: Dimension) -> bool:
    if a.size > b.size:
        a, b = b, a
    if a.size > COUNTED:
        return True
    return any(b.has(value) for value in a.decode(a.table()))
