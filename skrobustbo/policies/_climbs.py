"""Climbing from single points that stand out, by models of their surroundings.

A narrow peak shows as a point that is higher than the others let expect, long before it
is the best one. A model of the whole space takes it for an accident. So a climb has a
model of its own: with short length scales, within a box around the point, and by what
the box alone would gain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.acquisition import EI, LogEI
from skrobustbo.acquisition._distance import distances
from skrobustbo.policies._interface import Argmax, Array
from skrobustbo.policies._models import length_scale_candidate
from skrobustbo.surrogate import Candidate, Models, Posterior

#: How far a point must be above its prediction from the others, in deviations.
_STANDS_OUT = 0.05
#: Half the side of the box, in units of the mean distance of the points planned.
_BOX = 0.6
#: A box is full with so many points in it for each parameter.
_FULL = 3
#: How often the box of the best point is halved when it is full.
_HALVINGS = 4


class Query(NamedTuple):
    """A point, the posterior that chose it, and the improvement that it expects.

    A free one takes its turn whatever it expects.
    """

    x: Array
    posterior: Posterior
    gain: float
    free: bool = False


class Top(NamedTuple):
    """A told point to climb from, half the side of its box, and whether it is free.

    A climb from the best point competes with the other levels, others are free.
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
        return Query(at, posterior, expected_gain(posterior, at, reached), self.free)


def model_of_box(kernel: Kernel, models: Models, radius: float) -> Candidate:
    """Return the model of a climb: its length scales are half the side of the box."""
    theta = np.full(len(models.groups), radius)
    return length_scale_candidate(kernel, models.spread(theta), theta, label="climb")


def radius_of_box(spacing: float) -> float:
    """Return half the side of a box, by the distance of the points planned."""
    return _BOX * spacing


def tops(
    posterior: Posterior, spacing: float, d: int, only_best: bool = False
) -> Iterator[Top]:
    """Yield the told points to climb from, the highest that stand out most first.

    They stand out, no point within `spacing`, the mean distance of the points planned,
    is better, and their box is not full. The best point need not stand out, but then
    comes last; and its box is halved when it is full.
    """
    best = int(np.argmax(posterior.told_means))
    rows = [] if only_best else _standing_out(posterior, spacing)
    for row in dict.fromkeys([*rows, best]):
        apart = distances(posterior.X[row][None, :], posterior.X)[0]
        halvings = range(_HALVINGS + 1 if row == best else 1)
        radii = (radius_of_box(spacing) / 2**halving for halving in halvings)
        with_room = (r for r in radii if (apart <= r).sum() <= _FULL * d)
        if radius := next(with_room, None):
            yield Top(row, radius, free=row != best)


def _standing_out(posterior: Posterior, spacing: float) -> list[int]:
    """Return the rows of points that stand out and have no better one nearby."""
    means, residuals = posterior.told_means, posterior.residuals
    told = posterior.X[: posterior.n_told]
    near = distances(told, told) <= spacing
    highest = means >= np.where(near, means, -math.inf).max(axis=1)
    order = np.argsort(-(means + residuals), kind="stable")
    rows: list[int] = order[(highest & (residuals >= _STANDS_OUT))[order]].tolist()
    return rows


def expected_gain(posterior: Posterior, x: Array, reached: float) -> float:
    """Return the expected improvement of one point on a height."""
    return float(EI(posterior, reached)(x[None, :])[0])
