"""What kinds of values a policy's settings may have: read off their annotations."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

#: Beyond, squares and products no longer fit into floats.
_LARGEST = 1e100


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, float | np.floating):
        size = abs(float(value))
        return size in (0.0, math.inf) or 1 / _LARGEST <= size <= _LARGEST
    return isinstance(value, int | np.integer) and abs(int(value)) <= 2**53


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and _is_number(value)


def _lists(value: Any, holds: Callable[[Any], bool]) -> bool:
    text = isinstance(value, str | bytes | bytearray | Mapping | set | frozenset)
    several = isinstance(value, Iterable) and isinstance(value, Sized) and not text
    return several and getattr(value, "ndim", 1) == 1 and all(map(holds, value))


#: Of each annotation: the test, and what a message calls it.
_KINDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "bool": (lambda v: isinstance(v, bool | np.bool_), "True or False"),
    "int": (_is_count, "an integer"),
    "float": (_is_number, "a number"),
    "str": (lambda v: isinstance(v, str), "a name"),
    "None": (lambda v: v is None, "None"),
    "Kernel": (lambda v: isinstance(v, Kernel), "a kernel of scikit-learn's kind"),
    "Prior": (lambda v: hasattr(v, "log_density"), "a prior, such as a GammaPrior"),
    "Callable": (callable, "a callable"),
    "Growth": (lambda v: _is_number(v) or callable(v), "a number or a callable"),
    "Sequence[float]": (lambda v: _lists(v, _is_number), "a list of numbers"),
    "Sequence[int]": (lambda v: _lists(v, _is_count), "a list of integers"),
    "Mapping[str, float]": (lambda v: isinstance(v, Mapping), "a dict of numbers"),
    "tuple[float, float]": (
        lambda v: _lists(v, _is_number) and len(v) == 2,
        "a pair of numbers",
    ),
}
#: "or", but not inside brackets.
_OR = re.compile(r" \| (?![^\[]*\])")


def _head(part: str) -> str:
    return "Callable" if part.startswith("Callable[") else part


def check_kinds(policy: Any) -> None:
    """Raise a ValueError that names a setting whose value is of none of its kinds.

    Annotations of kinds that are not in the table are left to the policy's own checks.
    """
    for field in fields(policy):
        parts = [_head(part) for part in _OR.split(str(field.type))]
        known = [_KINDS[part] for part in parts if part in _KINDS]
        if not field.init or len(known) < len(parts):
            continue
        value = getattr(policy, field.name)
        if not any(holds(value) for holds, _ in known):
            *most, last = [name for _, name in known]
            expected = f"{', '.join(most)} or {last}" if most else last
            raise ValueError(
                f"The '{field.name}' of {type(policy).__name__} must be {expected}. "
                f"Got {value!r} instead."
            )
