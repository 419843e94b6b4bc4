"""How a policy's settings are declared, documented and checked."""

from __future__ import annotations

import inspect
import math
import re
from dataclasses import dataclass, field
from typing import Any, TypeVar, dataclass_transform

Class = TypeVar("Class")

#: The entries of a section of a docstring: "name : type" and the lines indented below.
_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : .*(?:\n(?:    .*)?)*", flags=re.MULTILINE)
_SECTION = re.compile(r"^Parameters\n-+\n(?:(?!\n\n\S.*\n-+\n)[\s\S])*", re.MULTILINE)
_PLACE = re.compile(r"^\{(\w+)\}$", flags=re.MULTILINE)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def settings(cls: type[Class]) -> type[Class]:
    """Make the constructor of a policy from its annotated attributes.

    Settings are inherited. A subclass that redeclares one changes its default; with
    ``field(kw_only=False)`` it may be given by position; with ``field(init=False)`` it
    is a constant and no setting any more. What belongs to the class and never was a
    setting is a ``ClassVar``. Nothing but the attributes is generated: representation,
    copies and equality are those of scikit-learn's estimators.

    A setting's documentation stands where it is declared. In the docstring of a
    subclass a line ``{name}`` under "Parameters" stands for the entry of that setting,
    and a line ``{inherited}`` for all that have none of their own there.
    """
    doc = cls.__doc__
    made = dataclass(kw_only=True, repr=False, eq=False, match_args=False)(cls)
    made.__doc__ = doc and _filled(made, inspect.cleandoc(doc))  # None under -OO
    return made


def _filled(cls: type, doc: str) -> str:
    """Return the docstring with the entries of inherited settings in their places."""
    places, own = _PLACE.findall(doc), _entries(doc)
    inherited = _inherited(cls, {name for names in own for name in names.split(", ")})
    named = {name: inherited.pop(name) for name in places if name in inherited}
    named["inherited"] = "\n".join(inherited.values())
    return _PLACE.sub(lambda place: named[place[1]], doc)


def _entries(doc: str) -> dict[str, str]:
    """Return the entries under "Parameters" by their names."""
    section = _SECTION.search(doc)
    found = _ENTRY.finditer(section[0]) if section else ()
    return {entry[1]: entry[0].rstrip() for entry in found}


def _inherited(cls: type, own: set[str]) -> dict[str, str]:
    """Return the entries of the bases for the settings not in `own`."""
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


def require_positive(policy: Any, *names: str) -> None:
    """Raise a ValueError that names a setting, unless it is positive and finite."""
    for name in names:
        holds = 0 < getattr(policy, name) < math.inf
        require(holds, policy, name, "positive and finite")


def require(holds: Any, policy: Any, name: str, expected: str) -> None:
    """Raise a ValueError that names a setting, unless a condition on it holds."""
    if not holds:
        raise ValueError(
            f"The '{name}' of {type(policy).__name__} must be {expected}. Got "
            f"{getattr(policy, name)!r} instead."
        )
