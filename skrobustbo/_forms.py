"""Forms: types with the range of their values, for checking what is read back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
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

#: Beyond, squares and products no longer fit into floats.
_LARGEST = 1e100

#: A count, or an index: a whole number from 0 on.
Count = Annotated[int, lambda value: 0 <= value <= 2**53]
#: A finite number.
Finite = Annotated[float, math.isfinite]
#: A positive number, such as a length scale.
Positive = Annotated[float, lambda value: 1 / _LARGEST <= value <= _LARGEST]
#: A number that is not negative, such as a standard deviation that may be zero.
NotNegative = Annotated[float, lambda value: 0 <= value < math.inf]


def has_form(value: Any, form: Any) -> bool:
    """Return whether a value is of a type, down to the items of lists and dicts.

    Types other than those of JSON, and dicts of them, are not looked into.
    """
    if form is Any:
        return True
    if form in (bool, int, str, NoneType):
        return type(value) is form
    if form is float:
        return type(value) is float or (type(value) is int and abs(value) <= 2**53)
    origin, args = get_origin(form), get_args(form)
    if origin is Annotated:
        return has_form(value, args[0]) and all(holds(value) for holds in args[1:])
    if origin in (Union, UnionType):
        return any(has_form(value, part) for part in args)
    if origin is list:
        return isinstance(value, list) and all(has_form(v, args[0]) for v in value)
    if origin is dict:
        return isinstance(value, dict) and all(
            has_form(k, args[0]) and has_form(v, args[1]) for k, v in value.items()
        )
    return not is_typeddict(form) or has_items(value, form)


def has_items(value: Any, kind: Any) -> bool:
    """Return whether a dict has the items of a TypedDict, each of its form, or more."""
    forms = get_type_hints(kind, include_extras=True)
    return isinstance(value, Mapping) and all(
        name in value and has_form(value[name], form) for name, form in forms.items()
    )


def built(kind: Any, record: Mapping[str, Any], **others: Any) -> Any:
    """Return a dataclass made of the fields in a record, and of others.

    Raises
    ------
    ValueError
        If one is missing, one too many, or not of the form of its annotation.
    """
    wanted = {field.name for field in fields(kind)} - others.keys()
    if record.keys() != wanted:
        raise ValueError(f"a {kind.__name__} of {sorted(record)}, not {sorted(wanted)}")
    forms = get_type_hints(kind, include_extras=True)
    for name, value in record.items():
        if not has_form(value, forms[name]):
            raise ValueError(f"a {kind.__name__} whose {name} is {value!r}")
    return kind(**record, **others)
