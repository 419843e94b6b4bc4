"""Conversion of user input to dimensions, including dimensions from other packages.

Dimensions from scikit-optimize, Optuna and skrub are recognised by module, name and
attributes, so these packages are never imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from skrobustbo._names import entry_of_class, shown
from skrobustbo.space._dimensions import Categorical, Dimension, Integer, Real
from skrobustbo.space._distributions import as_frozen, from_frozen, is_frozen, is_law
from skrobustbo.space._distributions import from_dict as frozen_from_dict
from skrobustbo.space._values import (
    distinct,
    from_json,
    have_order,
    is_finite,
    is_listing,
    is_number,
    plain,
)

#: A stepped range is listed if it has at most this many values.
_MOST_STEPS = 100_000


def _from_foreign(reader: Callable[[Any], Dimension], value: Any) -> Dimension:
    """Convert a dimension of another package."""
    try:
        return reader(value)
    except AttributeError as error:
        raise ValueError(
            f"{value!r} lacks what a {type(value).__name__} has ({error}); use Real, "
            "Integer or Categorical"
        ) from None


def _number(cls: type[Real] | type[Integer], low: Any, high: Any, log: bool) -> Any:
    """Return a range, or a constant if both ends are equal."""
    low, high = plain(low), plain(high)
    return Categorical([low]) if low == high else cls(low, high, log=log)


def _skopt_number(cls: type[Real] | type[Integer], value: Any) -> Any:
    if value.prior not in ("uniform", "log-uniform"):
        raise ValueError(f"{value!r} has an unknown prior; use Real or Integer")
    return _number(cls, value.low, value.high, value.prior == "log-uniform")


def _skopt_categorical(value: Any) -> Dimension:
    # Categories that scikit-optimize places on one axis are ordered: "identity" keeps
    # the order of numbers, and other transforms sort.
    choices = distinct(value.categories)
    transform = getattr(value, "transform_", getattr(value, "transform", "onehot"))
    equal = all(map(is_number, choices)) and not have_order(choices)
    if equal or transform not in ("identity", "label", "normalize"):
        return Categorical(choices)
    try:
        return Categorical(sorted(choices), ordered=True)
    except TypeError:  # without an order
        return Categorical(choices)


def _optuna_number(cls: type[Real] | type[Integer], value: Any) -> Any:
    finest = 1 if cls is Integer else None
    step: Any = getattr(value, "step", finest)
    if step == finest or value.low == value.high:
        return _number(cls, value.low, value.high, bool(value.log))
    return _stepped(value, int(step) if cls is Integer else float(step))


def _stepped(value: Any, step: Any) -> Dimension:
    """Return an ordered choice among low, low + step, ... up to high."""
    low, high = plain(value.low), plain(value.high)
    n = 1 + math.floor((high - low) / step + 1e-8)
    if n > _MOST_STEPS:
        raise ValueError(f"{value!r} has more than {_MOST_STEPS} steps; leave it out")
    if isinstance(step, int) and isinstance(low, int):
        return Categorical([low + i * step for i in range(n)], ordered=True)
    # In decimals, as the user wrote them: 0.1 + 2 * 0.1 is 0.3, not
    # 0.30000000000000004.
    digits = 15 - max(0, math.ceil(math.log10(max(abs(low), abs(high), step))))
    places = [float(np.round(low + i * step, max(digits, 0))) for i in range(n)]
    return Categorical([min(place, float(high)) for place in places], ordered=True)


_READERS: dict[tuple[str, str], Callable[[Any], Dimension]] = {
    ("skopt", "Real"): partial(_skopt_number, Real),
    ("skopt", "Integer"): partial(_skopt_number, Integer),
    ("skopt", "Categorical"): _skopt_categorical,
    ("optuna", "FloatDistribution"): partial(_optuna_number, Real),
    ("optuna", "IntDistribution"): partial(_optuna_number, Integer),
    ("optuna", "CategoricalDistribution"): lambda v: Categorical(distinct(v.choices)),
    ("skrub", "NumericChoice"): lambda v: _number(
        Integer if v.to_int else Real, v.low, v.high, bool(v.log)
    ),
    ("skrub", "DiscretizedNumericChoice"): lambda v: _from_sequence(v.grid),
    ("skrub", "Choice"): lambda v: _from_sequence(v.outcomes),
}


def as_dimension(name: str, value: Any) -> Dimension:
    """Convert a user's value to a dimension.

    Raises
    ------
    ValueError
        If the value is invalid. The message names the parameter and the possible
        meanings of the value.
    """
    if isinstance(value, Dimension):
        return value
    try:
        reader = entry_of_class(value, _READERS)
        if reader is not None:
            return _from_foreign(reader, value)
        if is_law(value):
            value = as_frozen(value)
        if is_frozen(value):
            return from_frozen(value)
        _refuse_ambiguous(value)
        return _from_sequence(value)
    except ValueError as error:
        message = str(error).removesuffix(".")
        raise ValueError(f"Parameter {name!r}: {message}.") from None


def _refuse_ambiguous(value: Any) -> None:
    values = list(plain(value)) if isinstance(value, tuple) else []
    if isinstance(value, tuple) and (not values or any(map(is_number, values))):
        raise ValueError(
            f"the tuple {shown(value)} may mean a range or a choice; write "
            f"{_ranges(values)} for a range, {shown(values)} for a choice among its "
            "values"
        )
    if isinstance(value, str | bytes | bytearray):
        raise ValueError(
            f"the string {value!r} may mean one value or its letters; write "
            f"[{value!r}] for a constant, a list of strings for a choice"
        )
    if isinstance(value, Mapping | set | frozenset):
        raise ValueError(
            f"expected a list of values in a definite order, got the "
            f"{type(value).__name__} {shown(value)}; write a list"
        )
    if isinstance(value, Iterator):
        raise ValueError(
            f"expected values that can be read more than once, got {value!r}; write "
            "list(...) around it"
        )
    if getattr(value, "ndim", 0) > 1:
        raise ValueError(
            f"expected a one-dimensional array of values, got one of shape "
            f"{value.shape}; write a list of what is to be chosen from"
        )
    if not is_listing(value):
        raise ValueError(
            f"expected a Real, Integer or Categorical, a list of values or a frozen "
            f"scipy.stats distribution, got {shown(value)}; write [{shown(value)}] for "
            "a constant"
        )


def _ranges(values: list[Any]) -> str:
    """Return the code of the range that a tuple may represent.

    In scikit-optimize, the third item of a tuple is the prior, and a tuple of integers
    represents a range of integers.
    """
    ends, rest = values[:2], values[2:]
    pair = len(ends) == 2 and all(map(is_finite, ends)) and ends[0] < ends[1]
    if not pair or (rest and not isinstance(rest[0], str)):
        return "Real(low, high) or Integer(low, high)"
    log = ", log=True" if rest and "log" in rest[0] and ends[0] > 0 else ""
    texts = [f"{cls}({ends[0]!r}, {ends[1]!r}{log})" for cls in ("Real", "Integer")]
    whole = all(float(end).is_integer() for end in ends)
    return " or ".join(texts if whole else texts[:1])


def _from_sequence(values: Any) -> Categorical:
    """Return a choice among the values of a sequence, in which numbers are ordered."""
    choices = distinct(values)
    if not choices:
        raise ValueError(
            "expected at least one value, got an empty sequence; add a value or drop "
            "the parameter"
        )
    if have_order(choices):
        return Categorical(sorted(choices), ordered=True)
    return Categorical(choices)  # nan and inf have no position among other numbers


def dimension_from_dict(state: dict[str, Any]) -> Dimension:
    kind = state["type"]
    if kind in ("Real", "Integer"):
        cls = Real if kind == "Real" else Integer
        hard = state.get("hard", False)
        return cls(state["low"], state["high"], log=bool(state["log"]), hard=hard)
    if kind == "Categorical":
        choices = [from_json(choice) for choice in state["choices"]]
        return Categorical(choices, ordered=bool(state["ordered"]))
    if kind == "frozen":
        return frozen_from_dict(state)
    raise ValueError(f"Expected the type of a dimension, got {kind!r}.")
