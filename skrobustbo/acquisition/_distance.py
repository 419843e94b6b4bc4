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
        nearest = distances(Z, self.seen).min(axis=1, initial=1.0)
        border = 2 * self._to_border(Z).min(axis=1, initial=1.0)
        values: Array = np.minimum(nearest, border)
        return values

    def _to_border(self, Z: Array) -> Array:
        border: Array = np.minimum(Z, 1 - Z)[:, self.continuous]
        return border

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the values and the slopes: away from what is nearest."""
        values, slopes, rows = self(Z), np.zeros_like(Z), np.arange(len(Z))
        if len(self.seen):
            away = Z - self.seen[distances(Z, self.seen).argmin(axis=1)]
            column = np.abs(away).argmax(axis=1)
            slopes[rows, column] = np.sign(away[rows, column])
        if len(self.continuous):
            border = self._to_border(Z)
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
        values: Array = self.acq(Z) - _STEEP * (self._excess(Z) ** 2).sum(axis=1)
        return values

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the values and their gradient in x."""
        values, slopes = self.acq.with_gradient(Z)
        excess = self._excess(Z)
        inwards = -2 * _STEEP * excess * np.sign(Z - self.centre) / self.radius
        return values - _STEEP * (excess**2).sum(axis=1), slopes + inwards

    def _excess(self, Z: Array) -> Array:
        """Return how far each coordinate is outside, in units of the radius."""
        return np.maximum(np.abs(Z - self.centre) / self.radius - 1, 0.0)
