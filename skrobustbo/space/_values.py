"""Conversion of users' values to plain Python types and JSON, and comparison."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from copy import deepcopy
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._names import shown

_FLOAT, _TUPLE = "$float", "$tuple"
#: NumPy's numbers and their Python types.
_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
#: Immutable types.
_FIXED = (bool, int, float, str, bytes, type(None))


def plain(value: Any) -> Any:
    """Convert NumPy scalars, including those in lists and tuples, to Python values.

    All other values are returned unchanged, including NumPy dates, because Python's
    dates are less precise.
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
    """Return whether a plain value is a real number and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Return whether a plain value is a real number within the range of floats."""
    return is_number(value) and abs(value) <= sys.float_info.max


def is_listing(value: Any) -> bool:
    """Return whether a value is an ordered collection, such as a list."""
    other = isinstance(value, str | bytes | Mapping | set | frozenset)
    several = isinstance(value, Iterable) and isinstance(value, Sized)
    return several and not other and getattr(value, "ndim", 1) == 1


def same(a: Any, b: Any, *, typed: bool = True) -> bool:
    """Return whether two values are the same choice.

    The values must be equal and of the same type, because 1 and 1.0 have different
    meanings for many estimators. Containers and arrays are compared element by element,
    and estimators are compared by class and parameters, so a clone equals its original.

    Parameters
    ----------
    a, b : object
    typed : bool, default=True
        Whether an integer differs from an equal float. Booleans always differ from
        numbers.
    """
    a, b = plain(a), plain(b)
    if a is b:
        return True
    if is_number(a) and is_number(b):
        equal = bool(a == b) or bool(a != a and b != b)  # nan is nan
        return equal and (type(a) is type(b) or not typed)
    if type(a) is not type(b):
        return False
    alike = partial(same, typed=typed)
    if isinstance(a, np.ndarray):
        return _same_arrays(a, b, typed)
    if isinstance(a, Mapping | set | frozenset):
        if set(a) != set(b):
            return False
        keys = {key: key for key in b}  # found by an equal key of any type
        if not all(alike(key, keys[key]) for key in a):
            return False
        return not isinstance(a, Mapping) or all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple | deque):
        return len(a) == len(b) and all(map(alike, a, b))
    if hasattr(a, "get_params") and not isinstance(a, type):
        return alike(a.get_params(deep=False), b.get_params(deep=False))
    try:
        equal = bool(a == b)
    except Exception:  # __eq__ gave no yes or no: not the same choice
        return False
    if equal and is_dataclass(a) and not isinstance(a, type):
        names = [field.name for field in fields(a) if field.compare]
        return all(alike(getattr(a, name), getattr(b, name)) for name in names)
    return equal


def _same_arrays(a: NDArray[Any], b: NDArray[Any], typed: bool) -> bool:
    if a.shape != b.shape:
        return False
    kinds = [_KINDS.get(array.dtype.kind, "object") for array in (a, b)]
    if "object" in kinds:
        items = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
        return all(same(one, other, typed=typed) for one, other in items)
    numbers = "bool" not in kinds and not typed
    nan = not {"bool", "int"} & set(kinds)
    alike = numbers or kinds[0] == kinds[1]
    return alike and bool(np.array_equal(a, b, equal_nan=nan))


def have_order(values: Sequence[Any]) -> bool:
    """Return whether all values are finite numbers and there are no duplicates."""
    return all(map(is_finite, values)) and len(set(values)) == len(values)


def fresh(params: Mapping[str, Any], *, equal: bool = True) -> dict[str, Any]:
    """Return a params dict with copies of the values, which are safe to modify.

    Parameters
    ----------
    params : dict
    equal : bool, default=True
        Whether to keep the original if the value is an estimator or if its copy would
        not be the `same`.
    """
    return {name: _copy(value, equal) for name, value in params.items()}


def _copy(value: Any, equal: bool) -> Any:
    if type(value) in _FIXED or (equal and hasattr(value, "get_params")):
        return value
    try:
        copy = deepcopy(value)
        return copy if not equal or same(copy, value) else value
    except Exception:  # locks, open files and other objects that cannot be copied
        return value


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return the distinct values in plain Python types, in their original order."""
    found: list[Any] = []
    alike: dict[Hashable, list[Any]] = {}
    for value in map(plain, values):
        others = alike.setdefault(key_of(value), [])
        if not any(same(value, other) for other in others):
            others.append(value)
            found.append(value)
    return found


def key_of(value: Any) -> Hashable:
    """Return a hashable key that is the same for equal values and rarely for others."""
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
    if isinstance(value, np.generic):  # dates: their hash may depend on their unit
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
    """Convert a value to JSON types, from which `from_json` restores an equal value.

    Raises
    ------
    TypeError
        If the value is anything except None, a boolean, a number, a string, or a list
        or tuple of these.
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
        f"JSON, got {shown(value)}; pass the object again when the state is read back."
    )


def from_json(value: Any) -> Any:
    """Restore a value from the output of `to_json`."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {_FLOAT}:
            return float(value[_FLOAT])
        if set(value) == {_TUPLE}:
            return tuple(from_json(item) for item in value[_TUPLE])
        raise ValueError(f"Expected a value written by to_dict, got {value!r}.")
    return value
