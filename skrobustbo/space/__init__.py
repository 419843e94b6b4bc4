"""Search spaces: parameters, their values, and the unit cube they are encoded in."""

from skrobustbo.space import _branched, _points  # noqa: F401 (they register themselves)
from skrobustbo.space._categorical import Categorical
from skrobustbo.space._cube import Constraint
from skrobustbo.space._dimensions import Integer, Real
from skrobustbo.space._parse import as_dimension as as_dimension
from skrobustbo.space._space import Space
from skrobustbo.space._space import constants as constants
from skrobustbo.space._values import (
    distinct,
    fresh,
    from_json,
    have_order,
    is_finite,
    is_listing,
    is_number,
    plain,
    same,
    to_json,
)

__all__ = [
    "Categorical",
    "Constraint",
    "Integer",
    "Real",
    "Space",
    "distinct",
    "fresh",
    "from_json",
    "have_order",
    "is_finite",
    "is_listing",
    "is_number",
    "plain",
    "same",
    "to_json",
]
