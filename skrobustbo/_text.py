"""Formatting of values, errors and times."""

from __future__ import annotations

import math
from typing import Any

from skrobustbo._names import shown
from skrobustbo._trials import rounding

#: More seconds than any fold or search takes (centuries).
_FAR = 1e10


def with_error(value: float, error: float, *, both: bool = True) -> str:
    """Format a value with a precision that matches its error.

    The error is appended if `both` is True.
    """
    known = math.isfinite(value) and rounding(value) < error < math.inf
    if not known:
        return f"{value:.5g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    if digits > 12 or abs(value) >= 1e9:
        size = max(abs(value), error)
        telling = 2 + math.floor(math.log10(size)) - math.floor(math.log10(error))
        text = f"{value:.{max(5, telling)}g}"
        return f"{text} ± {error:.2g}" if both else text
    text = f"{value:.{digits}f}"
    return f"{text} ± {error:.{digits}f}" if both else text


def short(value: Any, most: int = 60) -> str:
    """Format a parameter value on one line."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return clipped(" ".join(shown(value).split()), most)


def setting(value: Any, most: int = 60) -> str:
    """Format a parameter value on one line, distinguishing 1.0 from 1."""
    text = short(value, most)
    whole = isinstance(value, float) and text.lstrip("-").isdigit()
    return f"{text}.0" if whole else text


def clipped(text: str, most: int) -> str:
    """Shorten text to at most `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def duration(seconds: float) -> str:
    """Format a duration in a suitable unit.

    >>> duration(0.021), duration(3.21), duration(75), duration(7384)
    ('21 ms', '3.21 s', '75 s', '2.05 h')
    >>> duration(float("nan"))  # of a fold that never came back
    'an unknown time'
    """
    if not seconds < _FAR:
        return "an unknown time"
    if 0 < seconds < 1:
        return f"{1000 * seconds:.3g} ms"
    if seconds < 120:
        return f"{seconds:.3g} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.3g} h"
