"""Validation of single arguments."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skrobustbo._names import wrong

#: Counts up to this one are exact as floats.
LARGEST_COUNT = 2**53
_SEEDS = 2**31 - 1


def about(where: str, error: ValueError) -> ValueError:
    """Return a copy of an error with the name of the argument in the message."""
    text = str(error)
    return ValueError(f"In {where}, {text[:1].lower()}{text[1:]}")


def checked_count(name: str, value: Any, owner: str, least: int = 1) -> int:
    """Check that an argument is an integer of at least `least` and return it."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not least <= value <= LARGEST_COUNT:
        raise wrong(name, owner, f"an integer from {least} to 2**53", value)
    return int(value)


def optional_count(name: str, value: Any, owner: str) -> int | None:
    """Check that an argument is a positive integer or None and return it."""
    return None if value is None else checked_count(name, value, owner)


def checked_flag(name: str, value: Any, owner: str) -> bool:
    """Check that an argument is a boolean and return it."""
    if not isinstance(value, bool | np.bool_):
        raise wrong(name, owner, "True or False", value)
    return bool(value)


def checked_callable(name: str, value: Any, owner: str, takes: str) -> None:
    """Check that an argument is callable."""
    if not callable(value):
        raise wrong(name, owner, f"a callable that takes {takes}", value)


def checked_probability(name: str, value: Any, owner: str) -> float:
    """Check that an argument is a float between 0 and 1 and return it."""
    if not isinstance(value, float | np.floating) or not 0 < value < 1:
        raise wrong(name, owner, "between 0 and 1", value)
    return float(value)


def drawn_seed(random_state: Any, owner: str) -> int:
    """Check a `random_state` and return a seed drawn from it."""
    try:
        return int(check_random_state(random_state).randint(_SEEDS))
    except (TypeError, ValueError):
        known = "an integer from 0 to 2**32 - 1, a numpy.random.RandomState or None"
        raise wrong("random_state", owner, known, random_state) from None


def is_finite(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return isinstance(value, Real) and math.isfinite(value)


def require_positive(owner: Any, *names: str) -> None:
    """Check that attributes of an object are positive and finite."""
    for name in names:
        value = getattr(owner, name)
        require(is_finite(value) and value > 0, owner, name, "positive and finite")


def require(holds: Any, owner: Any, name: str, expected: str) -> None:
    """Raise a ValueError about an attribute unless a condition is true."""
    if not holds:
        raise wrong(name, type(owner).__name__, expected, getattr(owner, name))
