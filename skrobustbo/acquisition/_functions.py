"""Acquisition functions: value and gradient on a posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Belief(Protocol):
    """What an acquisition function needs of a posterior."""

    @property
    def length_scales(self) -> Array:
        """Distance over which it varies in each column, shape (n_columns,)."""
        ...

    def predict(self, Z: Array) -> tuple[Array, Array]:
        """Return mean and deviation at points, both of shape (m,)."""
        ...

    def gradient(self, Z: Array) -> tuple[Array, Array, Array, Array]:
        """Return mean, deviation, and the gradients of both, at points."""
        ...


class Acquisition(Protocol):
    """A function of encoded points to be maximised.

    One that knows over which distance it varies says so in an attribute
    `length_scales`, of shape (n_columns,). Climbs then take fewer steps.
    """

    def __call__(self, Z: Array) -> Array:
        """Return the values at points of shape (m, n_columns)."""
        ...

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the values, shape (m,), and gradients, shape (m, n_columns)."""
        ...


def reach_of(acq: Acquisition) -> Array:
    """Return the distance over which a function varies: the cube's if it is silent."""
    length_scales: Array = getattr(acq, "length_scales", np.ones(1))
    return length_scales


@dataclass(frozen=True)
class OfPosterior:
    """What functions of one posterior share: it, and over which distance they vary."""

    posterior: Belief

    @property
    def length_scales(self) -> Array:
        """Distance over which the function varies: that of the posterior."""
        return self.posterior.length_scales


@dataclass(frozen=True)
class UCB(OfPosterior):
    """Upper confidence bound, mu(x) + beta sigma(x).

    Parameters
    ----------
    posterior : Belief
        Where mean and deviation come from.
    beta : float
        Width of the band in deviations; 0 gives the posterior mean, a negative number
        the lower confidence bound.
    """

    beta: float

    def __call__(self, Z: Array) -> Array:
        """Return the bound at points of shape (m, n_columns)."""
        mu, sigma = self.posterior.predict(Z)
        return mu + self.beta * sigma

    def with_gradient(self, Z: Array) -> tuple[Array, Array]:
        """Return the bound and its gradient in x."""
        mu, sigma, d_mu, d_sigma = self.posterior.gradient(Z)
        return mu + self.beta * sigma, d_mu + self.beta * d_sigma


class SpaceExhausted(Exception):
    """Every point of the search space has been proposed."""
