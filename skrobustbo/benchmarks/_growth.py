"""The growth function of the length-scale balancing paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Growth:
    """The growth function g(t) = max(g0, t^a), 1 before the first query.

    Parameters
    ----------
    first : float
        g0.
    power : float
        a.
    """

    first: float
    power: float

    def __call__(self, t: int) -> float:
        """Return g(t)."""
        return 1.0 if t == 0 else max(self.first, t**self.power)
