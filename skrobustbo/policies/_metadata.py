"""What metadata hold: a policy reads those of points under way, also from a file."""

from __future__ import annotations

from typing import TypedDict

from skrobustbo._forms import Count


class Named(TypedDict):
    """What every metadata has: the name of the model that chose the point."""

    label: str


class Predicted(Named):
    """The metadata of a policy that predicts the value, in objective units."""

    mean: float
    std: float


class Credited(Predicted):
    """The metadata of a policy that credits the query to one of its candidates."""

    candidate: Count
    width: float


class QueryBound(TypedDict):
    """What a model promised of a query, in objective units."""

    query: Count
    candidate: Count
    mean: float
    width: float
