"""Functions of distance: how far from the points seen, and no further than a box.

The distance of two encoded points is that of the column in which they differ most, and
at most 1. So two unordered choices are apart by the same whatever their codes are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from skrobustbo._arrays import Array, Indices
from skrobustbo.acquisition._functions import Acquisition, reach_of
from skrobustbo.space import Space

#: In the search for the farthest point: points kept, steps around each, and how far
#: they lead, in units of the distance reached.
_KEPT, _STEPS, _SHARES = 8, 16, (0.3, 0.1, 0.03, 0.01)
#: What a function loses at a point that is outside of a box by its half side.
_STEEP = 500.0


def distances(X: Array, Y: Array) -> Array:
    """Return the distances of all rows of `X` from all rows of `Y`, at most 1."""
    return np.minimum(cdist(X, Y, "chebyshev"), 1.0)


@dataclass(frozen=True, eq=False)
class Uncovered:
    """Distance from the nearest point seen, or twice that from the nearest border.

    The border counts twice: a point on it covers no more than half of what it would
    cover in the middle.

    Parameters
    ----------
    seen : array of shape (n, n_columns)
        The points.
    continuous : array of int
        The columns that have a border.
    """

    seen: Array
    continuous: Indices

    def __call__(self, Z: Array) -> Array:
        """Return the values at points of shape (m, n_columns)."""
        nearest = distances(Z, self.seen).min(axis=1, initial=1.0)
        border = np.minimum(Z, 1 - Z)[:, self.continuous].min(axis=1, initial=1.0)
        return np.minimum(nearest, 2 * border)

    def ascend(self, X: Array, domain: Space, rng: np.random.Generator) -> Array:
        """Return the best of some points, and feasible ones further up around them.

        A distance has edges, on which gradients are of no use: ever smaller steps come
        closer to the top for less.
        """
        for share in _SHARES:
            values = self(X)
            best = X[np.argsort(-values, kind="stable")[:_KEPT]]
            around, reach = np.repeat(best, _STEPS, axis=0), share * values.max()
            steps = reach * rng.uniform(-1, 1, (len(around), len(self.continuous)))
            moved = np.clip(around[:, self.continuous] + steps, 0.0, 1.0)
            around[:, self.continuous] = moved
            around = domain.snap(around)
            X = np.concatenate([best, around[domain.allows(around)]])
        return X


@dataclass(frozen=True, eq=False)
class Within:
    """A function that falls off steeply outside of a box.

    Parameters
    ----------
    acq : Acquisition
        The function.
    centre : array of shape (n_columns,)
        The middle of the box.
    radius : float
        Half its side.
    """

    acq: Acquisition
    centre: Array
    radius: float

    @property
    def length_scales(self) -> Array:
        """Distance over which the function varies."""
        return reach_of(self.acq)

    def __call__(self, Z: Array) -> Array:
        """Return the values at points of shape (m, n_columns)."""
        return self.acq(Z) - self._loss(self._excess(Z))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the values and their gradient in x."""
        values, slopes = self.acq.with_gradient(Z)
        excess = self._excess(Z)
        inwards = -2 * _STEEP * excess * np.sign(Z - self.centre) / self.radius
        return values - self._loss(excess), slopes + inwards

    @staticmethod
    def _loss(excess: Array) -> Array:
        return _STEEP * (excess**2).sum(axis=1)

    def _excess(self, Z: Array) -> Array:
        """Return how far each coordinate is outside, in units of the radius."""
        return np.maximum(np.abs(Z - self.centre) / self.radius - 1, 0.0)
