"""Acquisition functions made of others: over several models, over perturbations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from skrobustbo.acquisition._functions import Acquisition, reach_of

Array = NDArray[np.float64]

#: Coordinates of perturbations formed at once (32 MiB), and how many perturbations of a
#: point are reckoned with at least: those of a finite space differ in number.
_MOST, _USUAL = 2**22, 65


@dataclass(frozen=True)
class UnionMax:
    """The largest of several acquisition functions, point by point.

    The doubly optimistic choice: over points and candidate models in one sweep.

    Parameters
    ----------
    acqs : sequence of Acquisition
        At least one.
    """

    acqs: Sequence[Acquisition]

    @property
    def length_scales(self) -> Array:
        """Distance over which the largest value varies."""
        return _least_reach(self.acqs)

    def __call__(self, Z: Array) -> Array:
        """Return the largest value at points of shape (m, n_columns)."""
        return reduce(np.maximum, (acq(Z) for acq in self.acqs))

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the largest value and the gradient of the function that attains it."""
        values, gradients = zip(
            *(acq.with_gradient(Z) for acq in self.acqs), strict=True
        )
        top, rows = np.argmax(values, axis=0), np.arange(len(Z))
        return np.array(values)[top, rows], np.array(gradients)[top, rows]

    def attained_by(self, x: Array) -> int:
        """Return which function attains the largest value at a point, first of ties."""
        return int(np.argmax([acq(x[None, :])[0] for acq in self.acqs]))


@dataclass(frozen=True)
class WeightedSum:
    """A weighted sum of acquisition functions: their mean over a posterior of models.

    Parameters
    ----------
    acqs : sequence of Acquisition
        At least one.
    weights : array of shape (n_acqs,)
        Their weights.
    """

    acqs: Sequence[Acquisition]
    weights: Array

    @property
    def length_scales(self) -> Array:
        """Distance over which the sum varies."""
        return _least_reach(self.acqs)

    def __call__(self, Z: Array) -> Array:
        """Return the weighted sum at points of shape (m, n_columns)."""
        values: Array = self.weights @ np.array([acq(Z) for acq in self.acqs])
        return values

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the weighted sum and its gradient in x."""
        values, gradients = zip(
            *(acq.with_gradient(Z) for acq in self.acqs), strict=True
        )
        return self.weights @ np.array(values), np.einsum(
            "a,amj->mj", self.weights, np.array(gradients)
        )


@dataclass(frozen=True)
class WorstCase:
    """The smallest value of an acquisition function over perturbations of a point.

    Parameters
    ----------
    acq : Acquisition
        The function.
    ball : callable
        Points of shape (m, n_columns) to their feasible perturbations, shape
        (m, k, n_columns), the point itself among them.
    """

    acq: Acquisition
    ball: Callable[[Array], Array]

    @property
    def length_scales(self) -> Array:
        """Distance over which the smallest value varies."""
        return reach_of(self.acq)

    def __call__(self, Z: Array) -> Array:
        """Return the smallest value around points of shape (m, n_columns)."""
        values, size = np.empty(len(Z)), self._block(Z)
        for start in range(0, len(Z), size):
            around = self.ball(Z[start : start + size])
            values[start : start + size] = self._values(around).min(axis=1)
        return values

    def _values(self, around: Array) -> Array:
        m, k, d = around.shape
        values: Array = self.acq(around.reshape(m * k, d)).reshape(m, k)
        return values

    def _block(self, Z: Array) -> int:
        """Return how many points may have their perturbations formed at once."""
        m, d = Z.shape
        few = m * _USUAL * d <= _MOST
        k = _USUAL if few else max(_USUAL, self.ball(Z[:1]).shape[1])
        size: int = max(1, _MOST // (k * d))
        return size

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the smallest value and the gradient at the perturbation of it.

        By the envelope theorem: the worst perturbation moves with the point.
        """
        around = self.ball(Z)
        worst = self._values(around).argmin(axis=1)
        return self.acq.with_gradient(around[np.arange(len(Z)), worst])


def _least_reach(acqs: Sequence[Acquisition]) -> Array:
    return reduce(np.minimum, map(reach_of, acqs))
