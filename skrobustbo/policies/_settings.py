"""Declaration, documentation and validation of the settings of policies."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sized
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._names import wrong
from skrobustbo.surrogate import Candidate

#: Annotations of settings with a limited range; see the table below.
PositiveInt = int
Power = float
Share = float

#: Squares and products of larger numbers would overflow.
_LARGEST = 1e100
#: Exponents of t that do not overflow for any horizon.
_STEEPEST = 20


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    if isinstance(value, float | np.floating):
        size = abs(float(value))
        return size in (0.0, math.inf) or 1 / _LARGEST <= size <= _LARGEST
    return isinstance(value, int | np.integer) and abs(int(value)) <= 2**53


def _is_count(value: Any) -> bool:
    return isinstance(value, int | np.integer) and _is_number(value)


def _is_positive(value: Any) -> bool:
    return _is_number(value) and 0 < value < math.inf


def _is_not_negative(value: Any) -> bool:
    return _is_number(value) and 0 <= value < math.inf


def _lists(value: Any, holds: Callable[[Any], bool]) -> bool:
    text = isinstance(value, str | bytes | bytearray | Mapping | set | frozenset)
    several = isinstance(value, Iterable) and isinstance(value, Sized) and not text
    return several and getattr(value, "ndim", 1) == 1 and all(map(holds, value))


#: A test for a value, and the name of valid values in messages.
Kind = tuple[Callable[[Any], bool], str]
#: The kind of each annotation.
_KINDS: dict[str, Kind] = {
    "bool": (lambda v: isinstance(v, bool | np.bool_), "True or False"),
    "int": (_is_count, "an integer"),
    "Count": (lambda v: _is_count(v) and v >= 0, "an integer >= 0"),
    "PositiveInt": (lambda v: _is_count(v) and v > 0, "a positive integer"),
    "float": (_is_number, "a number"),
    "Positive": (_is_positive, "a positive, finite number"),
    "NotNegative": (_is_not_negative, "a finite number >= 0"),
    "Share": (lambda v: _is_number(v) and 0 < v < 1, "a number between 0 and 1"),
    "Power": (
        lambda v: _is_number(v) and 0 <= v <= _STEEPEST,
        f"a number from 0 to {_STEEPEST}",
    ),
    "str": (lambda v: isinstance(v, str), "a name"),
    "None": (lambda v: v is None, "None"),
    "Kernel": (lambda v: isinstance(v, Kernel), "a kernel of scikit-learn's kind"),
    "Prior": (lambda v: hasattr(v, "log_density"), "a prior, such as a GammaPrior"),
    "Callable": (callable, "a callable"),
    "Growth": (lambda v: _is_number(v) or callable(v), "a number or a callable"),
    "Sequence[float]": (lambda v: _lists(v, _is_number), "a list of numbers"),
    "Sequence[int]": (lambda v: _lists(v, _is_count), "a list of integers"),
    "Sequence[Positive]": (lambda v: _lists(v, _is_positive), "a list of such numbers"),
    "Mapping[str, NotNegative]": (
        lambda v: isinstance(v, Mapping) and all(map(_is_not_negative, v.values())),
        "a dict of such numbers",
    ),
    "Given": (
        lambda v: (
            isinstance(v, list | tuple)
            and len(v) > 0
            and all(isinstance(each, Kernel | Candidate) for each in v)
        ),
        "a list of one or more kernels or Candidate objects",
    ),
    "tuple[float, float]": (
        lambda v: _lists(v, _is_number) and len(v) == 2,
        "a pair of numbers",
    ),
}
#: An "or" outside brackets.
_OR = re.compile(r" \| (?![^\[]*\])")


def _kinds(annotation: str) -> list[Kind | None]:
    """Return the kinds that an annotation allows, with None for unknown kinds."""
    kinds: list[Kind | None] = []
    for part in _OR.split(annotation):
        head, _, rest = part.partition("[")
        if head == "Literal":
            kinds += [_name(choice) for choice in ast.literal_eval(f"[{rest}")]
        else:
            kinds.append(_KINDS.get(head if head == "Callable" else part))
    return kinds


def _name(name: Any) -> Kind:
    return lambda v: isinstance(v, type(name)) and v == name, repr(name)


def check_kinds(policy: Any) -> None:
    """Raise a ValueError if the value of a setting is of the wrong kind.

    Settings with unknown annotations must be checked by the policy itself.
    """
    for setting in fields(policy):
        kinds = _kinds(str(setting.type))
        known = [kind for kind in kinds if kind is not None]
        if not setting.init or len(known) < len(kinds):
            continue
        value = getattr(policy, setting.name)
        if not any(holds(value) for holds, _ in known):
            *most, last = [name for _, name in known]
            expected = f"{', '.join(most)} or {last}" if most else last
            raise wrong(setting.name, type(policy).__name__, expected, value)


Class = TypeVar("Class")

#: Entries of a docstring section: "name : type" and the indented lines below.
_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : .*(?:\n(?:    .*)?)*", flags=re.MULTILINE)
_SECTION = re.compile(r"^Parameters\n-+\n(?:(?!\n\n\S.*\n-+\n)[\s\S])*", re.MULTILINE)
_PLACE = re.compile(r"^\{(\w+)\}$", flags=re.MULTILINE)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def settings(cls: type[Class]) -> type[Class]:
    """Create the constructor of a policy from its annotated attributes.

    The annotations are also used by `check_kinds` to validate values. Settings are
    inherited by subclasses. A subclass may redeclare a setting to change its default,
    to make it a positional argument with ``field(kw_only=False)``, or to make it a
    constant with ``field(init=False)``. Annotated class attributes that are not
    settings must be declared as ``ClassVar``. Only the constructor is generated. The
    representation, copying and comparison of policies are inherited from scikit-learn's
    `BaseEstimator`.

    Each setting is documented in the class that declares it. In the "Parameters"
    section of a subclass, the line ``{name}`` is replaced by the entry of the setting,
    and the line ``{inherited}`` is replaced by all other entries.
    """
    doc = cls.__doc__
    made = dataclass(kw_only=True, repr=False, eq=False, match_args=False)(cls)
    made.__doc__ = doc and _filled(made, inspect.cleandoc(doc))  # None under -OO
    return made


def _filled(cls: type, doc: str) -> str:
    """Return the docstring with the entries of inherited settings filled in."""
    places, own = _PLACE.findall(doc), _entries(doc)
    inherited = _inherited(cls, {name for names in own for name in names.split(", ")})
    named = {name: inherited.pop(name) for name in places if name in inherited}
    named["inherited"] = "\n".join(inherited.values())
    return _PLACE.sub(lambda place: named[place[1]], doc)


def _entries(doc: str) -> dict[str, str]:
    """Return the entries of the "Parameters" section by name."""
    section = _SECTION.search(doc)
    found = _ENTRY.finditer(section[0]) if section else ()
    return {entry[1]: entry[0].rstrip() for entry in found}


def _inherited(cls: type, own: set[str]) -> dict[str, str]:
    """Return the inherited entries of the settings that are not in `own`."""
    defaults = {
        name: parameter.default
        for name, parameter in inspect.signature(cls).parameters.items()
        if name not in own
    }
    entries: dict[str, str] = {}
    for base in cls.__mro__[1:]:
        for names, entry in _entries(base.__doc__ or "").items():
            if set(names.split(", ")) <= defaults.keys():
                values = [_written(defaults[name]) for name in names.split(", ")]
                heading, *text = entry.split("\n")
                heading = heading.split("default=")[0] + f"default={', '.join(values)}"
                entries.setdefault(names, "\n".join([heading, *text]))
    return entries


def _written(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)
