"""Where an estimate that grows with the function class reaches its reference."""

from __future__ import annotations

import math
from collections.abc import Callable

#: Ratio of the bracket.
_BRACKET = 1.5


def first_crossing(
    regret: Callable[[float], float],
    target: float,
    low: float,
    ceiling: float,
    precision: float,
) -> float:
    """Return the first h >= low at which the estimate reaches the target.

    A geometric bracket, then bisection: the estimate need not be monotone. If it stays
    below up to the ceiling, the ceiling is returned. `precision` is relative.
    """
    if regret(low) >= target:
        return low
    high = min(low * _BRACKET, ceiling)
    while regret(high) < target:
        if high >= ceiling:
            return ceiling
        low, high = high, min(high * _BRACKET, ceiling)
    while high > low * (1 + precision):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if regret(middle) >= target else (middle, high)
    return high
