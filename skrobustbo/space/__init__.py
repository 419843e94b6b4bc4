"""Search spaces: parameters, their values, and the unit cube they are encoded in."""

from skrobustbo.space._dimensions import Categorical, Integer, Real
from skrobustbo.space._space import Space

__all__ = ["Categorical", "Integer", "Real", "Space"]
