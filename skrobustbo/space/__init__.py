"""Search spaces: parameters, their values, and the unit cube they are encoded in."""

from skrobustbo.space._categorical import Categorical
from skrobustbo.space._dimensions import Integer, Real
from skrobustbo.space._space import Space

__all__ = ["Categorical", "Integer", "Real", "Space"]
