"""From what a user writes for a parameter to a dimension."""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Any

import numpy as np

from skrobustbo.space._dimensions import Categorical, Dimension, Integer, Real
from skrobustbo.space._distributions import from_dict as frozen_from_dict
from skrobustbo.space._distributions import from_frozen, is_frozen
from skrobustbo.space._values import from_json, is_number, plain, same


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
        _refuse_ambiguous(value)
        return _from_sequence(value)
    except ValueError as error:
        raise ValueError(f"Parameter {name!r}: {error}.") from None


def _refuse_ambiguous(value: Any) -> None:
    if isinstance(value, tuple):
        text = ", ".join(repr(plain(item)) for item in value)
        raise ValueError(
            f"the tuple {value!r} may mean a range or a choice; write Real({text}) or "
            f"Integer({text}) for a range, [{text}] for a choice among its values"
        )
    if isinstance(value, str | bytes):
        raise ValueError(
            f"the string {value!r} may mean one value or its letters; write "
            f"[{value!r}] for a constant, a list of strings for a choice"
        )
    if isinstance(value, dict | set | frozenset):
        raise ValueError(
            f"expected a list of values in a definite order, got the "
            f"{type(value).__name__} {value!r}; write a list"
        )
    if not (isinstance(value, Iterable) and isinstance(value, Sized)):
        raise ValueError(
            f"expected a Real, Integer or Categorical, a list of values or a frozen "
            f"scipy.stats distribution, got {value!r}; write [{value!r}] for a constant"
        )


def _from_sequence(values: Any) -> Categorical:
    """Return the choice among a sequence's values; numbers are ordered by rank."""
    distinct: list[Any] = []
    numeric = all(is_number(plain(value)) for value in values)
    # Sorted neighbours suffice for numbers: a long grid must not cost k**2 compares.
    for value in sorted(map(plain, values)) if numeric else map(plain, values):
        if not any(same(value, other) for other in distinct[-1 if numeric else 0 :]):
            distinct.append(value)
    if not distinct:
        raise ValueError(
            "expected at least one value, got an empty sequence; add a value or drop "
            "the parameter"
        )
    if numeric and not np.isfinite(distinct).all():
        return Categorical(distinct)  # nan and inf have no rank among the others
    return Categorical(distinct, ordered=numeric)


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
