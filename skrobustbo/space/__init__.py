"""Search spaces: parameters, their values, and their encoding in the unit cube."""

from skrobustbo.space._cube import Constraint
from skrobustbo.space._dimensions import Categorical, Integer, Real
from skrobustbo.space._parse import as_dimension as as_dimension
from skrobustbo.space._space import Space
from skrobustbo.space._space import constants as constants
from skrobustbo.space._values import distinct as distinct
from skrobustbo.space._values import fresh as fresh
from skrobustbo.space._values import from_json as from_json
from skrobustbo.space._values import have_order as have_order
from skrobustbo.space._values import is_finite as is_finite
from skrobustbo.space._values import is_listing as is_listing
from skrobustbo.space._values import is_number as is_number
from skrobustbo.space._values import plain as plain
from skrobustbo.space._values import same as same
from skrobustbo.space._values import to_json as to_json

__all__ = [
    "Categorical",
    "Constraint",
    "Integer",
    "Real",
    "Space",
]
