"""Annotations for checking a restored state and its metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from skrobustbo._forms import Consistent, Count, Positive
from skrobustbo.policies._interface import Predicted, Setup


@dataclass(frozen=True)
class Resumed:
    """Context for checking a restored state and its metadata; see `Consistent`."""

    policy: Any
    state: Any
    setup: Setup
    n_told: int


#: The dimension of the problem.
Dimension = Annotated[Count, Consistent(lambda d, at: d == at.setup.n_parameters)]
#: The number of planned evaluations.
Horizon = Annotated[Count | None, Consistent(lambda n, at: n == at.setup.horizon)]
#: A number of told values.
CountTold = Annotated[Count, Consistent(lambda n, at: n <= at.n_told)]
#: The history position of a value.
IndexTold = Annotated[Count, Consistent(lambda i, at: i < at.n_told)]
#: The position of a candidate of the policy.
Index = Annotated[Count, Consistent(lambda i, at: i < at.policy.n_introduced(at.state))]


def _fit_anisotropic(theta: list[float], at: Resumed) -> bool:
    return len(theta) == (at.setup.n_parameters if at.policy.anisotropic else 1)


#: One length scale, or one per parameter with `anisotropic`.
LengthScales = Annotated[list[Positive], Consistent(_fit_anisotropic)]
#: The placeholder before the first estimate.
NoEstimate = Annotated[list[Positive], lambda theta: not theta]


class Credited(Predicted):
    """Metadata of policies that assign each query to one of their candidates."""

    candidate: Index
    width: float
