"""Types that are used in the interface of policies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

from skrobustbo._arrays import Array as Array
from skrobustbo._arrays import Indices
from skrobustbo.acquisition import Maximizer


class Named(TypedDict):
    """Metadata with the name of the model that chose the point."""

    label: str


class Predicted(Named):
    """Metadata with the predicted mean and standard deviation of the value.

    Both are in units of the objective.
    """

    mean: float
    std: float


Metadata = dict[str, Any]
#: Metadata of the pending points.
Pending = Sequence[Metadata]
#: The maximiser of acquisition functions.
Argmax = Maximizer
#: Return type of `suggest`: an encoded point and its metadata.
Proposal = tuple[Array, Metadata]


class Told(Protocol):
    """History of told values that is available to a policy."""

    @property
    def values(self) -> Array:
        """Raw values of the told points, with nan for failed evaluations."""

    @property
    def chosen(self) -> Indices:
        """Indices of the told points that were chosen by the policy."""


@dataclass(frozen=True)
class Setup:
    """Description of the problem that is passed to a policy at the start.

    Parameters
    ----------
    n_parameters : int
        Number of parameters that vary, which is the dimension d in the papers.
    horizon : int or None
        Total number of planned evaluations, or None if it is not known.
    n_points : int or None
        Number of feasible points, or None if there are infinitely many.
    n_columns : int or None
        Number of columns of an encoded point, or None if it is not known.
    """

    n_parameters: int
    horizon: int | None = None
    n_points: int | None = None
    n_columns: int | None = None

    @property
    def diameter(self) -> float:
        """Diameter of the unit cube."""
        return math.sqrt(self.n_parameters)
