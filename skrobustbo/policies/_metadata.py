"""What metadata hold: a policy reads those of points under way, also from a file."""

from __future__ import annotations

from typing import TypedDict

from skrobustbo._forms import Count, Positive


class Named(TypedDict):
    """What every metadata has: the name of the model that chose the point."""

    label: str


class Predicted(Named):
    """The metadata of a policy that predicts the value, in objective units."""

    mean: float
    std: float


class Estimated(Predicted):
    """The metadata of a policy that may estimate length scales and a variance."""

    estimate: list[Positive]


class Credited(Predicted):
    """The metadata of a policy that credits the query to one of its candidates."""

    candidate: Count
    width: float
