"""Values as users write them: plain Python types, equality, and JSON."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Iterable, Mapping, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FLOAT, _TUPLE = "$float", "$tuple"


def plain(value: Any) -> Any:
    """Return NumPy scalars, also in lists and tuples, as the Python values they hold.

    All else is returned as it is, dates too: Python's are less precise.
    """
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        return value.item()
    return value


def is_number(value: Any) -> bool:
    """Return whether a plain value is a real number (booleans are not)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Return whether a plain value is a real number within the range of floats."""
    return is_number(value) and abs(value) <= sys.float_info.max


def is_listing(value: Any) -> bool:
    """Return whether a value lists others in a definite order, as a list does."""
    other = isinstance(value, str | bytes | Mapping | set | frozenset)
    several = isinstance(value, Iterable) and isinstance(value, Sized)
    return several and not other and getattr(value, "ndim", 1) == 1


def same(a: Any, b: Any) -> bool:
    """Return whether two values stand for the same choice.

    Numbers are compared by value but never equal a boolean; arrays element by
    element; estimators by their class and parameters, so that a clone is the choice
    it was cloned from.
    """
    a, b = plain(a), plain(b)
    if a is b:
        return True
    if is_number(a) and is_number(b):
        return bool(a == b) or bool(a != a and b != b)  # nan is nan
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return bool(np.array_equal(a, b))
    if isinstance(a, Mapping):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "get_params") and not isinstance(a, type):
        return same(a.get_params(deep=False), b.get_params(deep=False))
    try:
        return bool(a == b)
    except Exception:  # an __eq__ that is not a yes or a no: not the same choice
        return False


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return the values in plain types and each once, in the order given."""
    found: list[Any] = []
    alike: dict[Hashable, list[Any]] = {}
    for value in map(plain, values):
        others = alike.setdefault(key_of(value), [])
        if not any(same(value, other) for other in others):
            others.append(value)
            found.append(value)
    return found


def key_of(value: Any) -> Hashable:
    """Return a key that is equal for values that are the `same`, and rarely else."""
    value = plain(value)
    kind = type(value)
    if is_number(value):
        return "number", hash(value) if value == value else "nan"
    if isinstance(value, np.ndarray):
        return kind, value.shape, _first_numbers(value)
    if isinstance(value, Mapping):
        return kind, frozenset((key, key_of(item)) for key, item in value.items())
    if isinstance(value, list | tuple):
        return kind, tuple(map(key_of, value))
    if hasattr(value, "get_params") and not isinstance(value, type):
        return kind, key_of(value.get_params(deep=False))
    if isinstance(value, np.generic):  # dates, whose hash may depend on their unit
        return (kind,)
    try:
        return kind, hash(value)
    except Exception:
        return (kind,)


def _first_numbers(array: NDArray[Any]) -> tuple[float, ...]:
    if array.dtype.kind not in "biuf":
        return ()
    return tuple(np.nan_to_num(array.ravel()[:8].astype(float)).tolist())


def to_json(value: Any) -> Any:
    """Return `value` in JSON types that `from_json` turns back into its equal.

    Raises
    ------
    TypeError
        For anything but None, booleans, numbers, strings, and lists and tuples of
        those.
    """
    value = plain(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_FLOAT: str(value)}
    if isinstance(value, tuple):
        return {_TUPLE: [to_json(item) for item in value]}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    raise TypeError(
        f"Expected a number, a string, a boolean, None or a list of those to write as "
        f"JSON, got {value!r}; pass the object again when the state is read back."
    )


def from_json(value: Any) -> Any:
    """Return the value that `to_json` wrote."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {_FLOAT}:
            return float(value[_FLOAT])
        if set(value) == {_TUPLE}:
            return tuple(from_json(item) for item in value[_TUPLE])
        raise ValueError(f"Expected a value written by to_dict, got {value!r}.")
    return value
