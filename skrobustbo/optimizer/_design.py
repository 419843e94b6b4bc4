"""The initial design for one space, a pool of feasible points, and random streams."""

from __future__ import annotations

import math
from enum import IntEnum
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from skrobustbo._sobol import MOST_DESIGNED, design, sobol
from skrobustbo.acquisition import neighbours
from skrobustbo.space import Space

Array = NDArray[np.float64]

#: Initial and maximum number of points tested for feasibility.
_FIRST, _MOST = 256, 2**16
#: Number of feasible points wanted, and rounds of searching near those found first.
_POOL, _ROUNDS = 256, 16


class Purpose(IntEnum):
    """Purpose of a random number stream."""

    #: Points of the initial design and candidates of the maximiser.
    POINTS = 0
    #: Starts and draws of the likelihood fits.
    MODELS = 1
    #: Draws from the models, to estimate the remaining gain.
    DRAWS = 2


def stream(
    seed: int, branch: int, ask: int, purpose: Purpose = Purpose.POINTS
) -> np.random.Generator:
    """Return the random number stream for one purpose.

    Equal arguments give equal streams, so no generator state has to be stored.
    Different branches and different seeds never share a stream.
    """
    return np.random.default_rng([seed, ask, purpose, branch])


class Design:
    """Feasible points that cover a space.

    The first `n_planned` points form a space-filling design; the others come from a
    scrambled Sobol sequence. If feasible points are rare, the search for them continues
    near the known ones. The feasible points form a pool of starting points for the
    maximiser. All randomness comes from the seed.

    Attributes
    ----------
    n_planned : int
        Number of points in the space-filling design. It is set before the first point
        is requested.
    """

    def __init__(self, space: Space, seed: int, branch: int = 0) -> None:
        self.space, self._stream = space, partial(stream, seed, branch)
        self._known = np.empty((0, space.n_columns))
        self._found = np.empty((0, space.n_columns))
        self._n_drawn = self.n_planned = 0

    def add_known(self, x: Array) -> None:
        self._known = np.concatenate([self._known, x[None, :]])

    def __getitem__(self, position: int) -> Array:
        """Return the feasible point at a position, or raise IndexError."""
        if not self.space.constrained:
            U = self._uniform(position + 1)
            return self.space.from_uniform(U)[-1]
        if not len(self.pool):  # so that it starts with the sequence
            raise IndexError("no feasible point")
        self._find(position + 1)
        return self._found[position]

    def _uniform(self, n: int) -> Array:
        """Return the first `n` points of the sequence in the unit cube."""
        U = sobol(n, self.space.n_uniform, self._stream(0))
        if self.n_planned <= MOST_DESIGNED:
            U[: self.n_planned] = self._planned[:n]
        return U

    @cached_property
    def _planned(self) -> Array:
        return design(self.n_planned, self.space.n_uniform, self._stream(0))

    def _find(self, n: int) -> None:
        """Extend the sequence until it has `n` feasible points or gets too long."""
        while len(self._found) < n and self._n_drawn < _MOST:
            total = max(_FIRST, 2 * self._n_drawn)
            U = self._uniform(total)[self._n_drawn :]
            X = self.space.from_uniform(U)
            self._found = np.concatenate([self._found, X[self.space.allows(X)]])
            self._n_drawn = total

    @property
    def n_tried(self) -> int:
        """Number of points that were tested for feasibility to create the pool."""
        sizes = [dimension.size for dimension in self.space.dimensions.values()]
        return int(math.prod(sizes)) if self._listed else self._n_drawn

    @property
    def _listed(self) -> bool:
        """Whether the space is small enough for the pool to contain all its points."""
        return self.space.size <= _POOL

    @cached_property
    def pool(self) -> Array:
        """Array of distinct feasible points, shape (p, n_columns), possibly empty."""
        if self._listed:
            return self.space.enumerate()
        self._find(1 if len(self._known) else _POOL)
        pool = _distinct(np.concatenate([self._known, self._found[:_POOL]]))
        rng = self._stream(len(self._known))
        for _ in range(_ROUNDS if len(pool) else 0):
            if len(pool) >= _POOL:
                break
            X = pool[rng.integers(len(pool), size=_POOL)]
            X = neighbours(self.space, X, rng)
            pool = _distinct(np.concatenate([pool, X[self.space.allows(X)]]))
        return pool[:_POOL]


def _distinct(X: Array) -> Array:
    """Return the distinct rows, in order of first appearance."""
    first = np.sort(np.unique(X, axis=0, return_index=True)[1])
    return X[first]
