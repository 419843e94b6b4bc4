"""Tables and numbers as the reports write them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, n_left: int = 1
) -> str:
    """Return a markdown table; all columns but the first `n_left` are of numbers."""
    rule = ("---",) * n_left + ("---:",) * (len(header) - n_left)
    lines = [tuple(header), rule, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def number(value: float, form: str = ".3g") -> str:
    """Return a number, or a dash for nan."""
    return "-" if math.isnan(value) else format(value, form)
