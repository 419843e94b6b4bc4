"""Climbs: local searches with local models, around points that stand out.

A narrow peak first appears as a point that is higher than other points predict, long
before it is the best one. A model of the whole space treats it as a coincidence. A
climb therefore has its own model with short length scales, and searches a box around
the point for an improvement over the values in the box.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.acquisition import EI, LogEI, distances
from skrobustbo.policies._interface import Argmax, Array
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

    If `free`, it takes the turn regardless of its expected improvement.
    """

    x: Array
    candidate: Candidate
    gain: float
    free: bool = False


class Top(NamedTuple):
    """A told point to climb from, half the side of its box, and whether it is free.

    A climb from the best point competes with the other levels; other climbs are free.
    """

    row: int
    radius: float
    free: bool

    def climb(self, models: Models, argmax: Argmax, kernel: Kernel) -> Query:
        """Return the point of the box with the largest expected improvement."""
        posterior = models[model_of_box(kernel, models, self.radius)]
        told, x = posterior.X[: posterior.n_told], posterior.X[self.row]
        inside = distances(told, x[None, :])[:, 0] <= self.radius
        reached = float(posterior.told_means[inside].max())
        at = argmax.within(LogEI(posterior, reached), x, self.radius)
        gain = expected_gain(posterior, at, reached)
        return Query(at, posterior.candidate, gain, self.free)


def model_of_box(kernel: Kernel, models: Models, radius: float) -> Candidate:
    """Return a climb's model, whose length scales are half the side of its box."""
    theta = np.full(len(models.groups), radius)
    return length_scale_candidate(kernel, models.spread(theta), theta, label="climb")


def radius_of_box(spacing: float) -> float:
    """Return half the side of a box, from the mean distance of the planned points."""
    return _BOX * spacing


def points_of_box(d: int) -> int:
    """Return how many points fill a box: about the number of turns of a climb."""
    return _FULL * d


def tops(
    posterior: Posterior, radius: float, d: int, only_best: bool = False
) -> Iterator[Top]:
    """Yield the told points to climb from, the most outstanding first.

    A point stands out if it is higher than all other points in its box and higher than
    the points outside the box predict. A climb starts there if the box is not full. The
    best point does not need to stand out. It comes last, and its box is halved when
    full.
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
    """Return whether a box is full, from the distances of all points in each column.

    A box with more than `enough` points is full if, in each column, one of them is
    farther from the centre than half the radius. Otherwise it needs twice as many, so
    that a climb along a face of the space can also move away from the face.
    """
    inside = apart[apart.max(axis=1) <= radius]
    if len(inside) <= enough or len(inside) > 2 * enough:
        return len(inside) > enough
    return bool((inside.max(axis=0) > radius / 2).all())


def _standing_out(posterior: Posterior, radius: float) -> list[int]:
    """Return the rows of points that stand out, starting with the clearest."""
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

    If the weight of a point is 1 / (number of points in its box), its rank measures the
    share of the space with lower values. A point slightly above a wide plain has a high
    rank, even if some hills are much higher.
    """
    _, level = np.unique(np.round(z, _DECIMALS), return_inverse=True)
    mass = np.bincount(level, weights)
    shares: Array = ((np.cumsum(mass) - mass / 2) / mass.sum())[level]
    return (shares - 0.5) * math.sqrt(12)


def expected_gain(posterior: Posterior, x: Array, reached: float) -> float:
    """Return the expected improvement of a point over a value."""
    return float(EI(posterior, reached)(x[None, :])[0])
