"""What models are made from: points, their values, and units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from skrobustbo.surrogate._posterior import ReferencePoints

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class View:
    """The points that models see, with their values in the units of the models.

    Parameters
    ----------
    X : array of shape (n, n_columns)
        Told points, encoded.
    z : array of shape (n,)
        Their targets in the units that the model sees.
    X_pending : array of shape (p, n_columns), optional
        Points asked and not yet told.
    shift, scale : float
        A value y of the objective is ``(y - shift) / scale`` to the model.
    groups : list of integer arrays, optional
        Encoded columns of each parameter that varies (default: all are of one).
    values : array of shape (n,), optional
        The told values themselves, nan where there is none; `z` if not given.
    reference_points : ReferencePoints, optional
        The feasible points, or a sample of them, for bounds of the information gain.
    ball : callable, optional
        Radius, metric and units to the function from points to their perturbations.
    n_elsewhere : int, default=0
        Points of other branches, told or pending: they use up the horizon as well.
    start : int, default=0
        Told points before the first of `X`.
    now : float, optional
        The time of the point to be chosen, if the last column of the points is time.
    """

    X: Array
    z: Array
    X_pending: Array | None = None
    shift: float = 0.0
    scale: float = 1.0
    groups: Sequence[Indices] | None = None
    values: Array | None = None
    reference_points: ReferencePoints | None = None
    ball: Callable[..., Callable[[Array], Array]] | None = None
    n_elsewhere: int = 0
    start: int = 0
    now: float | None = None

    @property
    def told(self) -> Array:
        """The told values themselves."""
        return self.z if self.values is None else self.values

    @property
    def pending(self) -> Array:
        """The pending points, if there are none an array without rows."""
        return self.X[:0] if self.X_pending is None else self.X_pending

    def since(self, start: int) -> Self:
        """Return the view without the first `start` told points."""
        return replace(
            self,
            X=self.X[start:],
            z=self.z[start:],
            values=self.told[start:],
            start=self.start + start,
        )

    def timed(self) -> Self:
        """Return the view with a last column of time, one unit for each point."""
        rows = np.concatenate([self.X, self.pending])
        times = 1.0 + self.start + np.arange(len(rows))
        rows, n = np.column_stack([rows, times]), len(self.X)
        now = float(self.start + len(rows) + 1)
        return replace(self, X=rows[:n], X_pending=rows[n:], now=now)
