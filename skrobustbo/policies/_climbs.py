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
#: So many times the gain asked of a level is asked of a climb from the best point, and
#: none of other climbs.
_BEST = 10.0
#: What is just outside the box counts for what the box has reached.
_MARGIN = 1.15


class Query(NamedTuple):
    """A point, the posterior that chose it, and the improvement that it expects.

    `asked` times the gain asked of a level is asked of this point.
    """

    x: Array
    posterior: Posterior
    gain: float
    asked: float = 1.0


class Top(NamedTuple):
    """A told point to climb from, half the side of its box, whether it is the best."""

    row: int
    radius: float
    is_best: bool

    def climb(self, models: Models, argmax: Argmax, kernel: Kernel) -> Query:
        """Return the point of the box with the largest expected improvement."""
        posterior = models[model_of_box(kernel, models, self.radius)]
        told, x = posterior.X[: posterior.n_told], posterior.X[self.row]
        inside = distances(told, x[None, :])[:, 0] <= _MARGIN * self.radius
        reached = float(posterior.told_means[inside].max())
        at = argmax.within(LogEI(posterior, reached), x, self.radius)
        gain, asked = expected_gain(posterior, at, reached), self.is_best * _BEST
        return Query(at, posterior, gain, asked)


def model_of_box(kernel: Kernel, models: Models, radius: float) -> Candidate:
    """Return the model of a climb: its length scales are half the side of the box."""
    theta = np.full(len(models.groups), radius)
    return length_scale_candidate(kernel, models.spread(theta), theta, label="climb")


def largest_radius(spacing: float) -> float:
    """Return half the side of the largest box, by the distance of the points."""
    return _BOX * spacing


def tops(posterior: Posterior, spacing: float, d: int) -> Iterator[Top]:
    """Yield the told points to climb from, the highest that stand out most first.

    They stand out, no point within `spacing`, the mean distance of the points planned,
    is better, and their box is not full. The best point need not stand out, but then
    comes last; and its box is halved when it is full.
    """
    n = posterior.n_told
    means, residuals = posterior.told_means, posterior.residuals
    apart = distances(posterior.X[:n], posterior.X)
    near, best = apart[:, :n] <= spacing, int(np.argmax(means))
    highest = means >= np.where(near, means, -math.inf).max(axis=1)
    radius = largest_radius(spacing)
    full = (apart <= radius).sum(axis=1) > _FULL * d
    chosen = highest & ~full & (residuals >= _STANDS_OUT)
    order = np.argsort(-(means + residuals), kind="stable")
    rows = order[chosen[order]].tolist()
    for row in rows if chosen[best] else [*rows, best]:
        if row == best:
            yield from best_top(posterior, spacing, d)
        else:
            yield Top(row, radius, False)


def best_top(posterior: Posterior, spacing: float, d: int) -> Iterator[Top]:
    """Yield the best point, with the largest box that is not full, if there is one."""
    best = int(np.argmax(posterior.told_means))
    apart = distances(posterior.X[best][None, :], posterior.X)[0]
    for halvings in range(_HALVINGS + 1):
        radius = largest_radius(spacing) / 2**halvings
        if (apart <= radius).sum() <= _FULL * d:
            yield Top(best, radius, True)
            return


def expected_gain(posterior: Posterior, x: Array, reached: float) -> float:
    """Return the expected improvement of one point on a height."""
    return float(EI(posterior, reached)(x[None, :])[0])
