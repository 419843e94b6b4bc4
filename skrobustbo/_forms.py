"""Annotated types for validating restored data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

#: Squares and products of larger numbers would overflow.
_LARGEST = 1e100


@dataclass(frozen=True)
class Consistent:
    """Annotation of a value that must be consistent with other data.

    Parameters
    ----------
    fits : callable
        Function that takes the value and the other data, and returns whether they are
        consistent.
    """

    fits: Callable[[Any, Any], bool]

    def __call__(self, value: Any, at: Any) -> bool:
        """Return whether a value is consistent with `at`, or True if `at` is None."""
        return at is None or self.fits(value, at)


#: A count or an index: a nonnegative integer.
Count = Annotated[int, lambda value: 0 <= value <= 2**53]
#: A finite number.
Finite = Annotated[float, math.isfinite]
#: A positive number, such as a length scale.
Positive = Annotated[float, lambda value: 1 / _LARGEST <= value <= _LARGEST]
#: A nonnegative number, such as a standard deviation that may be zero.
NotNegative = Annotated[float, lambda value: 0 <= value < math.inf]


def has_form(value: Any, form: Any, at: Any = None) -> bool:
    """Return whether a value has a given type, including the items of lists and dicts.

    Types that do not exist in JSON are not inspected. `at` contains the data for
    checking values that are annotated with `Consistent`. These checks are skipped if it
    is None.
    """
    if form is Any:
        return True
    if form in (bool, int, str, NoneType):
        return type(value) is form
    if form is float:
        return type(value) is float or (type(value) is int and abs(value) <= 2**53)
    origin, args = get_origin(form), get_args(form)
    if origin is Annotated:
        return has_form(value, args[0], at) and all(
            holds(value, at) if isinstance(holds, Consistent) else holds(value)
            for holds in args[1:]
        )
    if origin in (Union, UnionType):
        return any(has_form(value, part, at) for part in args)
    if origin is list:
        return isinstance(value, list) and all(has_form(v, args[0], at) for v in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            has_form(k, args[0], at) and has_form(v, args[1], at)
            for k, v in value.items()
        )
    return not is_typeddict(form) or has_items(value, form, at)


def has_items(value: Any, kind: Any, at: Any = None) -> bool:
    """Return whether a dict has the required items of a TypedDict, with valid types."""
    return (
        isinstance(value, Mapping)
        and kind.__required_keys__ <= value.keys()
        and all(
            has_form(value[name], form, at)
            for name, form in _forms_of(kind).items()
            if name in value
        )
    )


def has_fields(value: Any, at: Any) -> bool:
    """Return whether each field of a dataclass has the type of its annotation."""
    kind: Any = type(value)
    forms = _forms_of(kind)
    return all(
        has_form(getattr(value, each.name), forms[each.name], at)
        for each in fields(kind)
    )


def has_some(record: Any, names: Iterable[str], kind: Any, at: Any) -> bool:
    """Return whether a dict has the named fields of a dataclass, with valid types."""
    forms = _forms_of(kind)
    return all(
        name in record and has_form(record[name], forms[name], at) for name in names
    )


@cache
def _forms_of(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def built(kind: Any, record: Mapping[str, Any], **others: Any) -> Any:
    """Create a dataclass instance from the fields of a record.

    Raises
    ------
    ValueError
        If a field is missing or unknown, or does not have its annotated type.
    """
    wanted = {field.name for field in fields(kind)} - others.keys()
    if record.keys() != wanted:
        raise ValueError(f"a {kind.__name__} of {sorted(record)}, not {sorted(wanted)}")
    forms = _forms_of(kind)
    for name, value in record.items():
        if not has_form(value, forms[name]):
            raise ValueError(f"a {kind.__name__} whose {name} is {value!r}")
    return kind(**record, **others)
