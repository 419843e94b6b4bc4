"""Local searches, called climbs, around points with unexpectedly high values.

A narrow peak first shows up as a point whose value is higher than predicted from the
other points, long before it is the best point. A model of the whole space attributes
this value to chance. A climb therefore uses its own model with short length scales. It
searches a box around the point for an improvement over the values in the box.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.acquisition import EI, LogEI, distances
from skrobustbo.policies._base import Argmax, Array
from skrobustbo.policies._models import length_scale_candidate
from skrobustbo.surrogate import Candidate, Models, Posterior

#: Half the side of the box, in units of the planned points' mean distance.
_BOX = 0.4
#: A box with this many points per parameter is full if they surround its centre.
_FULL = 2
#: Number of times that a full box around the best point may be halved.
_HALVINGS = 4
#: Decimals for comparing values, because a function may be almost flat.
_DECIMALS = 6


class Query(NamedTuple):
    """A point, the model that chose it, and its expected improvement.

    If `free` is True, the point is accepted regardless of its expected improvement.
    """

    x: Array
    candidate: Candidate
    gain: float
    free: bool = False


class Top(NamedTuple):
    """Starting point of a climb, half the side of its box, and whether it is free.

    A climb from the best point competes with the other levels. All other climbs are
    accepted regardless of their expected improvement.
    """

    row: int
    radius: float
    free: bool

    def climb(self, models: Models, argmax: Argmax, kernel: Kernel) -> Query:
        """Return the point in the box with the largest expected improvement."""
        posterior = models[model_of_box(kernel, models, self.radius)]
        told, x = posterior.X[: posterior.n_told], posterior.X[self.row]
        inside = distances(told, x[None, :])[:, 0] <= self.radius
        reached = float(posterior.told_means[inside].max())
        at = argmax.within(LogEI(posterior, reached), x, self.radius)
        gain = expected_gain(posterior, at, reached)
        return Query(at, posterior.candidate, gain, self.free)


def model_of_box(kernel: Kernel, models: Models, radius: float) -> Candidate:
    """Return the model of a climb, whose length scales are half the side of its box."""
    theta = np.full(len(models.groups), radius)
    return length_scale_candidate(kernel, models.spread(theta), theta, label="climb")


def radius_of_box(spacing: float) -> float:
    """Return half the side of a box, given the mean distance between planned points."""
    return _BOX * spacing


def points_of_box(d: int) -> int:
    """Return the number of points that fill a box, about the length of a climb."""
    return _FULL * d


def tops(
    posterior: Posterior, radius: float, d: int, only_best: bool = False
) -> Iterator[Top]:
    """Yield the starting points of climbs, beginning with the most prominent one.

    A point stands out if its value is higher than the values of all other points in its
    box and higher than predicted from the points outside the box. A climb starts from
    such a point if its box is not full. The best point is considered last, even if it
    does not stand out, and its box is halved up to four times while it is full.
    """
    best = int(np.argmax(posterior.told_means))
    rows = [] if only_best else _standing_out(posterior, radius)
    for row in [*(row for row in rows if row != best), best]:
        apart = np.minimum(np.abs(posterior.X - posterior.X[row]), 1.0)
        halvings = range(_HALVINGS + 1 if row == best else 1)
        radii = (radius / 2**halving for halving in halvings)
        with_room = (r for r in radii if not _is_full(apart, r, points_of_box(d)))
        if half := next(with_room, None):
            yield Top(row, half, free=row != best)


def _is_full(apart: Array, radius: float, enough: int) -> bool:
    """Return whether a box is full, given the distances of all points in each column.

    A box with more than `enough` points is full if, in every column, at least one of
    its points is farther than half the radius from the centre. Otherwise, it is full if
    it contains more than twice as many points. This allows a climb along the boundary
    of the space to move away from the boundary.
    """
    inside = apart[apart.max(axis=1) <= radius]
    if len(inside) <= enough or len(inside) > 2 * enough:
        return len(inside) > enough
    return bool((inside.max(axis=0) > radius / 2).all())


def _standing_out(posterior: Posterior, radius: float) -> list[int]:
    """Return the rows of the points that stand out, the most prominent one first."""
    told, z = posterior.X[: posterior.n_told], posterior.told_targets
    near = distances(told, told) <= radius
    highest = np.flatnonzero(z >= np.where(near, z, -math.inf).max(axis=1))
    # Ranks spread the low values, while the values themselves spread the high ones.
    ranked = posterior.of_targets(z + ranks(z, 1 / near.sum(axis=1)))
    boxes = [np.flatnonzero(near[row]) for row in highest]
    of_boxes = zip(highest, boxes, ranked.residuals(boxes), strict=True)
    above = {int(row): float(r[box == row][0]) for row, box, r in of_boxes}
    return sorted((row for row in above if above[row] > 0), key=lambda row: -above[row])


def ranks(z: Array, weights: Array) -> Array:
    """Return the weighted ranks of values, scaled to a standard deviation of 1.

    If the weight of each point is the reciprocal of the number of points in its box,
    the rank of a point measures the share of the space with lower values. A point
    slightly above a large flat region has a high rank, even if there are much higher
    peaks.
    """
    _, level = np.unique(np.round(z, _DECIMALS), return_inverse=True)
    mass = np.bincount(level, weights)
    shares: Array = ((np.cumsum(mass) - mass / 2) / mass.sum())[level]
    return (shares - 0.5) * math.sqrt(12)


def expected_gain(posterior: Posterior, x: Array, reached: float) -> float:
    """Return the expected improvement of the point `x` over the value `reached`."""
    return float(EI(posterior, reached)(x[None, :])[0])
