"""Dimensions of scikit-optimize and Optuna, known by module, name and attributes.

Neither package is imported: what a user hands over says itself what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from skrobustbo.space._categorical import Categorical
from skrobustbo.space._dimensions import Dimension, Integer, Real
from skrobustbo.space._values import distinct, plain

#: Values of a stepped range are listed up to this many.
_MOST_STEPS = 100_000


def is_foreign(value: Any) -> bool:
    """Tell whether a value is a dimension of scikit-optimize or Optuna."""
    return _reader(value) is not None


def from_foreign(value: Any) -> Dimension:
    """Return the dimension that one of scikit-optimize or Optuna stands for.

    Raises
    ------
    ValueError
        If it has no counterpart; the message says what to write instead.
    """
    reader = _reader(value)
    if reader is None:
        raise ValueError(f"expected a dimension of another package, got {value!r}")
    try:
        return reader(value)
    except AttributeError as error:
        raise ValueError(
            f"{value!r} lacks what a {type(value).__name__} has ({error}); use Real, "
            "Integer or Categorical"
        ) from None


def _reader(value: Any) -> Callable[[Any], Dimension] | None:
    """Return the function for a value's class or one that it derives from."""
    for cls in type(value).__mro__:
        package = str(cls.__module__).partition(".")[0]
        reader = _READERS.get((package, cls.__name__))
        if reader is not None:
            return reader
    return None


def _number(cls: type[Real] | type[Integer], low: Any, high: Any, log: bool) -> Any:
    """Return the range, a constant where it holds a single number."""
    low, high = plain(low), plain(high)
    return Categorical([low]) if low == high else cls(low, high, log=log)


def _skopt_number(cls: type[Real] | type[Integer], value: Any) -> Any:
    if value.prior not in ("uniform", "log-uniform"):
        raise ValueError(f"{value!r} has an unknown prior; use Real or Integer")
    return _number(cls, value.low, value.high, value.prior == "log-uniform")


def _skopt_categorical(value: Any) -> Dimension:
    # Categories that scikit-optimize places on one axis are ordered, as listed there:
    # "identity" keeps numbers as they are, the others sort.
    choices = distinct(value.categories)
    transform = getattr(value, "transform_", getattr(value, "transform", "onehot"))
    if transform not in ("identity", "label", "normalize"):
        return Categorical(choices)
    try:
        return Categorical(sorted(choices), ordered=True)
    except TypeError:  # without an order
        return Categorical(choices)


def _optuna_float(value: Any) -> Any:
    step = getattr(value, "step", None)
    if step is None or value.low == value.high:
        return _number(Real, value.low, value.high, bool(value.log))
    return _stepped(value, float(step))


def _optuna_int(value: Any) -> Any:
    step = getattr(value, "step", 1)
    if step == 1 or value.low == value.high:
        return _number(Integer, value.low, value.high, bool(value.log))
    return _stepped(value, int(step))


def _stepped(value: Any, step: Any) -> Dimension:
    """Return the ordered table low, low + step, ... as far as high."""
    low, high = plain(value.low), plain(value.high)
    n = 1 + math.floor((high - low) / step + 1e-8)
    if n > _MOST_STEPS:
        raise ValueError(f"{value!r} has more than {_MOST_STEPS} steps; leave it out")
    if isinstance(step, int) and isinstance(low, int):
        return Categorical([low + i * step for i in range(n)], ordered=True)
    # The decimals that the user wrote: 0.1 + 2 * 0.1 is 0.3, not 0.30000000000000004.
    digits = 15 - max(0, math.ceil(math.log10(max(abs(low), abs(high), step))))
    places = [float(np.round(low + i * step, max(digits, 0))) for i in range(n)]
    return Categorical([min(place, float(high)) for place in places], ordered=True)


def _optuna_categorical(value: Any) -> Any:
    return Categorical(distinct(value.choices))


_READERS: dict[tuple[str, str], Callable[[Any], Dimension]] = {
    ("skopt", "Real"): partial(_skopt_number, Real),
    ("skopt", "Integer"): partial(_skopt_number, Integer),
    ("skopt", "Categorical"): _skopt_categorical,
    ("optuna", "FloatDistribution"): _optuna_float,
    ("optuna", "IntDistribution"): _optuna_int,
    ("optuna", "CategoricalDistribution"): _optuna_categorical,
}
