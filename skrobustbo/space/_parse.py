"""From what a user writes for a parameter to a dimension."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skrobustbo.space._categorical import Categorical
from skrobustbo.space._dimensions import Dimension, Integer, Real
from skrobustbo.space._distributions import from_dict as frozen_from_dict
from skrobustbo.space._distributions import from_frozen, is_frozen
from skrobustbo.space._foreign import from_foreign, is_foreign
from skrobustbo.space._values import distinct, from_json, is_finite, is_listing, plain


def as_dimension(name: str, value: Any) -> Dimension:
    """Return the dimension that a user's value stands for.

    Raises
    ------
    ValueError
        If the value is none of those of the public interface; the message names the
        parameter and the possible readings.
    """
    if isinstance(value, Dimension):
        return value
    try:
        if is_frozen(value):
            return from_frozen(value)
        if is_foreign(value):
            return from_foreign(value)
        _refuse_ambiguous(value)
        return _from_sequence(value)
    except ValueError as error:
        message = str(error).removesuffix(".")
        raise ValueError(f"Parameter {name!r}: {message}.") from None


def _refuse_ambiguous(value: Any) -> None:
    if isinstance(value, tuple):
        values = [plain(item) for item in value]
        pair = len(values) == 2 and all(map(is_finite, values))
        ends = f"{values[0]!r}, {values[1]!r}" if pair else "low, high"
        whole = not pair or all(float(item).is_integer() for item in values)
        integer = f" or Integer({ends})" if whole else ""
        raise ValueError(
            f"the tuple {value!r} may mean a range or a choice; write Real({ends})"
            f"{integer} for a range, {values!r} for a choice among its values"
        )
    if isinstance(value, str | bytes | bytearray):
        raise ValueError(
            f"the string {value!r} may mean one value or its letters; write "
            f"[{value!r}] for a constant, a list of strings for a choice"
        )
    if isinstance(value, Mapping | set | frozenset):
        raise ValueError(
            f"expected a list of values in a definite order, got the "
            f"{type(value).__name__} {value!r}; write a list"
        )
    if isinstance(value, Iterator):
        raise ValueError(
            f"expected values that can be read again, got {value!r}; write list(...) "
            "around it"
        )
    if getattr(value, "ndim", 0) > 1:
        raise ValueError(
            f"expected a one-dimensional array of values, got one of shape "
            f"{value.shape}; write a list of what is to be chosen from"
        )
    if hasattr(value, "ppf"):
        raise ValueError(
            f"expected a frozen distribution, got {getattr(value, 'name', value)} "
            "without its parameters; call it with them"
        )
    if not is_listing(value):
        raise ValueError(
            f"expected a Real, Integer or Categorical, a list of values or a frozen "
            f"scipy.stats distribution, got {value!r}; write [{value!r}] for a constant"
        )


def _from_sequence(values: Any) -> Categorical:
    """Return the choice among a sequence's values; numbers are ordered by rank."""
    choices = distinct(values)
    if not choices:
        raise ValueError(
            "expected at least one value, got an empty sequence; add a value or drop "
            "the parameter"
        )
    if all(map(is_finite, choices)):
        return Categorical(sorted(choices), ordered=True)
    return Categorical(choices)  # nan and inf have no place among the other numbers


def dimension_from_dict(state: dict[str, Any]) -> Dimension:
    """Return the dimension that its `to_dict` wrote."""
    kind = state["type"]
    if kind in ("Real", "Integer"):
        cls = Real if kind == "Real" else Integer
        return cls(state["low"], state["high"], log=bool(state["log"]))
    if kind == "Categorical":
        choices = [from_json(choice) for choice in state["choices"]]
        return Categorical(choices, ordered=bool(state["ordered"]))
    if kind == "frozen":
        return frozen_from_dict(state)
    raise ValueError(f"Expected the type of a dimension, got {kind!r}.")
