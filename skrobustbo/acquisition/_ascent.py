"""Projected BFGS in the unit cube from several starting points at once.

The climbs are independent but share function calls, because a call for four points
takes little more time than a call for one. Each climb has its own approximation of the
inverse Hessian and its own step length, so slow climbs do not delay the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._arrays import Array

Flags = NDArray[np.bool_]
#: Maps points of shape (k, d) to values, shape (k,), and gradients, shape (k, d).
Function = Callable[[Array], tuple[Array, Array]]

#: Maximum number of calls to the function. Most points finish after a dozen.
_MAX_CALLS = 20
#: Length of the first step, in units of the length scales.
_FIRST = 0.3
#: Share of the linear prediction that a step must gain (Armijo's condition).
_SUFFICIENT = 1e-4
#: A climb ends when a step is shorter than this in every coordinate.
_SHORTEST = 1e-7
#: Factor on the next step if the function is convex along a step.
_LONGER = 4.0
#: A climb is abandoned if this many times the gain predicted for its last step would
#: not bring it level with the highest climb.
_HOPE = 10.0
#: A step shows no curvature if the slope along it falls by less than this share.
_LEAST_CURVATURE = 1e-4
#: With more columns than this, climbs leave out fixed columns, because the size of
#: their matrices grows quadratically.
_WIDE = 256


def ascend(
    function: Function, X: Array, length_scales: Array, tolerance: float
) -> Array:
    """Climb from each starting point and return the end points.

    The function value at an end point is never lower than at the starting point.

    Parameters
    ----------
    function : callable
        Function to maximise. It returns values and gradients.
    X : array of shape (k, d)
        Starting points in the unit cube.
    length_scales : array of shape (d,)
        Distance over which the function varies in each coordinate, 0 for fixed
        coordinates. It determines the initial approximation of the inverse Hessian.
    tolerance : float
        A climb ends when the increase in one step is not larger than this value.

    Returns
    -------
    ends : array of shape (k, d)
    """
    ends, live = X.copy(), np.arange(len(X))
    moved: Any = np.flatnonzero(length_scales) if X.shape[1] > _WIDE else slice(None)
    metric, x = length_scales[moved] ** 2, X[:, moved]

    def whole(x: Array) -> Array:
        points = X[live]
        points[:, moved] = x
        return points

    def of_wide(x: Array) -> tuple[Array, Array]:
        values, gradients = function(whole(x))
        return values, gradients[:, moved]

    climbed = of_wide if X.shape[1] > _WIDE else function
    values, gradients = climbed(x)
    live = np.flatnonzero(np.isfinite(values) & np.isfinite(gradients).all(axis=1))
    climbs = _Climbs.begin(x[live], values[live], gradients[live], metric)
    for _ in range(_MAX_CALLS - 1):
        if not len(live):
            break
        done = climbs.step(climbed, metric, tolerance)
        ends[live] = climbs.x if climbed is function else whole(climbs.x)
        if done.any():
            live, climbs = live[~done], climbs.rows(~done)
    return ends


def _times(H: Array, v: Array) -> Array:
    """Return the products of k matrices and k vectors."""
    return (H @ v[:, :, None])[:, :, 0]


def _dot(v: Array, w: Array) -> Array:
    """Return the dot products of k pairs of vectors."""
    return np.add.reduce(v * w, axis=1)


@dataclass
class _Climbs:
    """State of several simultaneous climbs.

    Attributes
    ----------
    x, value, slope : arrays of shape (k, d), (k,) and (k, d)
        Current points, function values and gradients.
    H : array of shape (k, d, d)
        Approximate inverses of the negative Hessian.
    length : array of shape (k, 1)
        Fraction of the full step to try next.
    fresh : array of bool, shape (k,)
        Whether H is still the initial approximation.
    """

    x: Array
    value: Array
    slope: Array
    H: Array
    length: Array
    fresh: Flags

    @classmethod
    def begin(cls, x: Array, value: Array, slope: Array, metric: Array) -> _Climbs:
        """Start climbs with a first step of fixed length, in length scales."""
        steepness = np.sqrt(slope**2 @ metric)
        factor = _FIRST / np.where(steepness > 0, steepness, 1.0)
        H, k = factor[:, None, None] * np.diag(metric), len(x)
        return cls(x, value, slope, H, np.ones((k, 1)), np.ones(k, bool))

    def rows(self, kept: Flags) -> _Climbs:
        return _Climbs(*(getattr(self, field.name)[kept] for field in fields(self)))

    def step(self, function: Function, metric: Array, tolerance: float) -> Flags:
        """Try one step of each climb and return a mask of the climbs that ended."""
        trial = np.minimum(np.maximum(self.x + self.length * self._way(), 0.0), 1.0)
        value, slope = function(trial)
        step, bend = trial - self.x, self.slope - slope
        promise, gain = _dot(self.slope, step), value - self.value
        up = gain >= _SUFFICIENT * promise  # nan is not
        self._learn(step, bend, up, promise, metric)
        if up.all():
            self.x, self.value, self.slope = trial, value, slope
            self.length = np.ones((len(up), 1))
        else:
            self._shorten(promise, gain, up)
            self.x = np.where(up[:, None], trial, self.x)
            self.value = np.where(up, value, self.value)
            self.slope = np.where(up[:, None], slope, self.slope)
        done: Flags = up & (gain <= tolerance)
        done |= np.abs(step).max(axis=1) < _SHORTEST
        done |= self.value + _HOPE * promise < self.value.max()
        return done

    def _way(self) -> Array:
        """Return the quasi-Newton steps, which follow active bounds.

        Coordinates at an active bound stay fixed. The submatrix of H for the other
        coordinates is positive definite, so the step goes uphill (Bertsekas 1982).
        """
        held = (self.x <= 0) & (self.slope < 0) | (self.x >= 1) & (self.slope > 0)
        if not held.any():
            return _times(self.H, self.slope)
        way = _times(self.H, np.where(held, 0.0, self.slope))
        way[held] = 0.0
        return way

    def _learn(
        self, step: Array, bend: Array, up: Flags, promise: Array, metric: Array
    ) -> None:
        """Update H by the BFGS formula after uphill steps."""
        curvature = _dot(step, bend)
        concave = up & (curvature > _LEAST_CURVATURE * promise)
        if self.fresh.any():
            self._rescale(curvature, bend, self.fresh & concave, metric)
        share = concave / np.where(concave, curvature, 1.0)
        turned = _times(self.H, bend)
        half = 0.5 + 0.5 * share * _dot(bend, turned)
        left = (half[:, None] * step - turned) * share[:, None]
        outer = left[:, :, None] * step[:, None, :]
        self.H = self.H + outer + outer.transpose(0, 2, 1)
        if not concave.all():
            self.H[up & ~concave] *= _LONGER

    def _rescale(self, curvature: Array, bend: Array, rows: Flags, m: Array) -> None:
        """Scale the initial approximation of H according to the first step."""
        if rows.any():
            factor = curvature[rows] / (bend[rows] ** 2 @ m)
            self.H[rows] = factor[:, None, None] * np.diag(m)
            self.fresh = self.fresh & ~rows

    def _shorten(self, promise: Array, gain: Array, up: Flags) -> None:
        """Shorten failed steps to the top of a parabola and reset the others."""
        excess = np.where(up | np.isnan(gain), np.inf, promise - gain)
        top = 0.5 * promise / excess
        shorter = self.length * np.minimum(np.maximum(top, 0.1), 0.5)[:, None]
        self.length = np.where(up[:, None], 1.0, shorter)
