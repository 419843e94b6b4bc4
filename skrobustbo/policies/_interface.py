"""The interface of policies: the problem, the maximiser, the history, metadata."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict

from skrobustbo._arrays import Array as Array
from skrobustbo._arrays import Indices
from skrobustbo.acquisition import Maximizer


class Named(TypedDict):
    """Fields shared by all metadata: the name of the model that chose the point."""

    label: str


class Predicted(Named):
    """Metadata of a policy that predicts the value, in units of the objective."""

    mean: float
    std: float


Metadata = dict[str, Any]
#: Metadata of the pending points.
Pending = Sequence[Metadata]
#: The maximiser of acquisition functions.
Argmax = Maximizer
#: What `suggest` returns: an encoded point and its metadata.
Proposal = tuple[Array, Metadata]


class Told(Protocol):
    """The history, as a policy sees it."""

    @property
    def values(self) -> Array:
        """Raw values of the told points; nan for failures."""

    @property
    def chosen(self) -> Indices:
        """Mask of the told points that the policy chose, in the order told."""


@dataclass(frozen=True)
class Setup:
    """Facts about the problem that a policy receives when it starts.

    Parameters
    ----------
    n_parameters : int
        Number of parameters that vary: the dimension d in the papers.
    horizon : int or None
        Total number of planned evaluations, if known.
    n_points : int or None
        Number of feasible points; None if there are infinitely many.
    n_columns : int or None
        Number of columns of an encoded point, if known.
    """

    n_parameters: int
    horizon: int | None = None
    n_points: int | None = None
    n_columns: int | None = None

    @property
    def diameter(self) -> float:
        """Diameter of the unit cube."""
        return math.sqrt(self.n_parameters)
