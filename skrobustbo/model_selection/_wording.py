"""Values, errors and times as a reader wants them."""

from __future__ import annotations

import math
from typing import Any


def with_error(value: float, error: float, *, both: bool = True) -> str:
    """Return a value to the digits that its error allows, with it if `both`."""
    if not (math.isfinite(value) and 0 < error < math.inf):
        return f"{value:.5g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    if digits > 12 or abs(value) >= 1e9:
        return f"{value:.5g} ± {error:.2g}" if both else f"{value:.5g}"
    text = f"{value:.{digits}f}"
    return f"{text} ± {error:.{digits}f}" if both else text


def short(value: Any, most: int = 60) -> str:
    """Return a value of a parameter on one line."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return clipped(" ".join(repr(value).split()), most)


def clipped(text: str, most: int) -> str:
    """Return a text of at most so many characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def duration(seconds: float) -> str:
    """Return a time in a unit that suits it."""
    if not math.isfinite(seconds):
        return "an unknown time"
    if seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.3g} h"


def count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
