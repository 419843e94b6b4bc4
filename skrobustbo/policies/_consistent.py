"""What a state that is read back has to fit, in annotations of states and metadata."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from skrobustbo._forms import Consistent, Count, Positive
from skrobustbo.policies._interface import Predicted, Setup


@dataclass(frozen=True)
class Resumed:
    """What a state that was read back, and metadata, have to fit: see `Consistent`."""

    policy: Any
    state: Any
    setup: Setup
    n_told: int


#: The dimension of the problem.
Dimension = Annotated[Count, Consistent(lambda d, at: d == at.setup.n_parameters)]
#: The number of planned evaluations.
Horizon = Annotated[Count | None, Consistent(lambda n, at: n == at.setup.horizon)]
#: A number of values told.
CountTold = Annotated[Count, Consistent(lambda n, at: n <= at.n_told)]
#: The position of a value in the history.
IndexTold = Annotated[Count, Consistent(lambda i, at: i < at.n_told)]
#: The position of one of the candidates of a policy.
Index = Annotated[Count, Consistent(lambda i, at: i < at.policy.n_introduced(at.state))]


def _fit_anisotropic(theta: list[float], at: Resumed) -> bool:
    return len(theta) == (at.setup.n_parameters if at.policy.anisotropic else 1)


#: One length scale, or with `anisotropic` one for each parameter.
LengthScales = Annotated[list[Positive], Consistent(_fit_anisotropic)]
#: What stands where there is no estimate yet.
NoEstimate = Annotated[list[Positive], lambda theta: not theta]


class Credited(Predicted):
    """The metadata of a policy that credits the query to one of its candidates."""

    candidate: Index
    width: float
