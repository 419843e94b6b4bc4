"""Functions of distance: how far from the points seen, and no further than a box.

The distance of two encoded points is that of the column in which they differ most, and
at most 1. So two unordered choices are apart by the same whatever their codes are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from skrobustbo.acquisition._functions import Acquisition, reach_of

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: What a function loses at a point that is outside of a box by its half side.
_STEEP = 500.0


def distances(X: Array, Y: Array) -> Array:
    """Return the distances of all rows of `X` from all rows of `Y`, at most 1."""
    apart: Array = np.minimum(cdist(X, Y, "chebyshev"), 1.0)
    return apart


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
        return self._least(distances(Z, self.seen), self._to_border(Z))

    @staticmethod
    def _least(apart: Array, to_border: Array) -> Array:
        nearest = apart.min(axis=1, initial=1.0)
        values: Array = np.minimum(nearest, 2 * to_border.min(axis=1, initial=1.0))
        return values

    def _to_border(self, Z: Array) -> Array:
        border: Array = np.minimum(Z, 1 - Z)[:, self.continuous]
        return border

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the values and the slopes: away from what is nearest."""
        apart, border = distances(Z, self.seen), self._to_border(Z)
        values, slopes = self._least(apart, border), np.zeros_like(Z)
        if len(self.seen):
            rows, away = np.arange(len(Z)), Z - self.seen[apart.argmin(axis=1)]
            column = np.abs(away).argmax(axis=1)
            slopes[rows, column] = np.sign(away[rows, column])
        if len(self.continuous):
            held = np.flatnonzero(2 * border.min(axis=1) <= values)
            column = self.continuous[border[held].argmin(axis=1)]
            slopes[held] = 0.0
            slopes[held, column] = 2 * np.sign(0.5 - Z[held, column])
        return values, slopes


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
        loss: Array = _STEEP * (excess**2).sum(axis=1)
        return loss

    def _excess(self, Z: Array) -> Array:
        """Return how far each coordinate is outside, in units of the radius."""
        return np.maximum(np.abs(Z - self.centre) / self.radius - 1, 0.0)
