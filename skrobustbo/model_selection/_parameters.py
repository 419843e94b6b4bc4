"""Find out which parameters an estimator accepts, and what their values are.

A parameter is valid if `set_params` of a clone accepts it, even if `get_params` does
not list it. If the parameter belongs to a searched component, it must be accepted for
every value of this component.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any

import numpy as np
from sklearn.base import clone

from skrobustbo._names import did_you_mean, slip_of
from skrobustbo._sklearn_compat import has_params, nested_params
from skrobustbo._text import short
from skrobustbo.space import Space, constants, distinct

Params = dict[str, Any]
Given = Mapping[str, Any]
#: Names, with all combinations of values for the components that they belong to.
Placed = tuple[list[str], list[Params]]

#: Stack level of warnings: the line that calls `fit`.
_TO_FIT = 6
#: Coordinates in the unit cube at which parameters are tried: low, high and middle.
_PLACES = 0.0, 1.0, 0.5
#: A docstring section up to the next one, and the names at the start of its lines.
_SECTION = re.compile(r"^Parameters\n-{3,}\n(.*?)(?=^\S.*\n-{3,}$|\Z)", re.M | re.S)
_STARS = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
_ENTRY = re.compile(r"^(\w+(?: *, *\w+)*) *(?::|$)", re.M)


@dataclass(frozen=True)
class Refusal:
    """Information about a parameter that `set_params` rejected.

    Attributes
    ----------
    name : str
        Name of the rejected parameter.
    above : dict
        Searched components that contain the parameter, innermost last, with the values
        for which the parameter was rejected.
    owner : estimator or other value
        Value of the innermost component, or the estimator if `above` is empty.
    error : Exception
        The exception raised by `set_params`.
    always : bool
        Whether the parameter is rejected for all values of the components.
    valid : dict
        Listed and documented parameters with their values; None if a value is unknown.
    """

    name: str
    above: Params
    owner: Any
    error: Exception
    always: bool
    valid: Params

    @property
    def says(self) -> str:
        """Error message of `set_params` as a full sentence."""
        kind, text = type(self.error).__name__, str(self.error)
        if getattr(self.error, "name", None) == "set_params":
            for above in _prefixes(self.name):
                if above in self.valid and not has_params(self.valid[above]):
                    value = short(self.valid[above])
                    return f"The value of {above!r}, {value}, has no parameters."
        if not isinstance(self.error, ValueError) or not text:
            text = f"{kind}: {text}" if text else kind
        return f"Its set_params says: {text}{'' if text[-1] in '.?!' else '.'}"


def check_names(space: Space, estimator: Any) -> None:
    """Raise a ValueError if the estimator does not accept a parameter of the space.

    A parameter of a searched component must be valid for all values of the component.
    If an object cannot be cloned, the error from `clone` is raised.

    Warns
    -----
    UserWarning
        If a parameter is accepted but seems to be a misspelling of another parameter.
    """
    for branch in space.branches:
        for value in chain.from_iterable(_choices(branch, n) for n in branch.names):
            if has_params(value):
                clone(value)
        refusal = first_refusal(estimator, branch)
        if refusal is not None:
            raise _invalid(refusal)
    for slip in slips(estimator, space).values():
        warnings.warn(f"In 'param_space', {slip}", stacklevel=_TO_FIT)


def _invalid(refusal: Refusal) -> ValueError:
    name, kind, above = refusal.name, _kind(refusal.owner), refusal.above
    if refusal.always:
        known = name in refusal.valid
        hint = "" if known else did_you_mean(name, refusal.valid)
        return ValueError(
            f"Invalid parameter {name!r} in 'param_space' for {kind}"
            f"{'; ' + hint if hint else '.'} {refusal.says}"
        )
    component = list(above)[-1]
    inner = name.removeprefix(f"{component}__")
    verb = "refuses" if name in refusal.valid else "has no"
    return ValueError(
        f"Invalid parameter {name!r} in 'param_space': {kind}, a value of "
        f"{component!r}, {verb} {inner!r}. Write a list of dicts, one for each kind of "
        f"value, with the parameters of that kind. {refusal.says}"
    )


def first_refusal(
    estimator: Any, branch: Space, extra: Given | None = None
) -> Refusal | None:
    """Return the first parameter that the estimator rejects, or None.

    Parameters
    ----------
    estimator : estimator
        The estimator to check. Neither the estimator nor the space is modified.
    branch : Space
        Branch of the space to check.
    extra : dict, default=None
        Additional parameters with their values. If given, only these are checked.
    """
    extra = extra or {}
    points = _points(branch)
    one = {**points[0], **extra}
    for names, settings in _placed(extra or branch.names, branch):
        refused: dict[str, list[tuple[Params, Exception]]] = {}
        for above in settings:
            # Success with one set of values is enough, as `set_params` may depend on
            # the values.
            together = ({**point, **extra, **above} for point in points)
            if any(_error(estimator, params) is None for params in together):
                continue
            for name in names:
                error = _error(estimator, {**above, name: one[name]})
                if error is not None:
                    refused.setdefault(name, []).append((above, error))
        for name, found in refused.items():
            above, error = found[0]
            listed = with_settings(estimator.get_params(deep=True), above)
            owner = [estimator, *above.values()][-1]
            valid = {**_all_documented(estimator, listed), **listed}
            always = len(found) == len(settings)
            return Refusal(name, above, owner, error, always, valid)
    return None


def slips(
    estimator: Any, space: Space, extra: Given | None = None, also: Iterable[str] = ()
) -> dict[str, str]:
    """Return warnings about accepted parameters that seem to be misspelt.

    These parameters are not documented and not listed by `get_params`, but their names
    are similar to a valid parameter or to a name in `also`.
    """
    found = {}
    for name, known in _situations(estimator, space, extra):
        if name in known:
            continue
        owner, prefix = _owner(name, known, estimator)
        valid = {*owner.get_params(deep=True), *_documented(owner)}
        near = slip_of(name.removeprefix(prefix), valid | set(() if prefix else also))
        if near is not None:
            found[name] = (
                f"{_kind(owner)} takes {name!r}, but neither lists nor documents it; "
                f"did you mean {prefix + near!r}?"
            )
    return found


def with_settings(listed: Given, given: Given) -> Params:
    """Return the parameters that `get_params` would list after a call of `set_params`.

    If a component is set, its parameters come from its new value.
    """
    found = dict(listed)
    for name in sorted(given, key=lambda n: _depth(n, _named(n, given[n]))):
        before, parts = found.get(name), {name: given[name]}
        gone = [*_named(name, before), *([name] if has_params(before) else [])]
        found = {k: v for k, v in found.items() if not _is_of(k, gone)}
        parts |= _named(name, given[name])
        found |= parts | nested_params(parts)
    return found


def settings_in(branch: Space, listed: Given, given: Given) -> Params:
    """Return the estimator's parameters after setting those of a branch."""
    return with_settings(listed, {**constants(branch), **given})


def present_values(estimator: Any, space: Space, name: str) -> list[Any]:
    """Return the current values of a parameter for all values of its component.

    A value is None if it is unknown.
    """
    return distinct(s.get(name) for _, s in _situations(estimator, space, [name]))


def placeholder(estimator: Any, space: Space) -> str | None:
    """Return the name of a searched step that has no estimator yet, or None.

    An estimator with such a step is only a template that cannot be fitted.
    """
    listed = estimator.get_params(deep=True)
    for step, value in (p for n, v in listed.items() for p in _named(n, v).items()):
        choices = [
            c for b in space.branches if step in b.names for c in _choices(b, step)
        ]
        if choices and not has_params(value) and all(map(has_params, choices)):
            return step
    return None


def _situations(
    estimator: Any, space: Space, names: Iterable[str] | None = None
) -> Iterator[tuple[str, Params]]:
    """Yield each parameter name with all the settings in which it can occur."""
    listed = estimator.get_params(deep=True)
    for branch in space.branches:
        for group, values in _placed(names or branch.names, branch):
            for above in values:
                settings = with_settings(listed, above)
                yield from ((name, settings) for name in group)


def _placed(names: Iterable[str], branch: Space) -> Iterator[Placed]:
    """Yield groups of names with all values of the components that contain them."""
    groups: dict[tuple[str, ...], list[str]] = {}
    named = {
        n: [p for v in _choices(branch, n) for p in _named(n, v)] for n in branch.names
    }
    outermost_first = sorted(named, key=lambda n: _depth(n, named[n]))
    for name in names:
        others = (n for n in outermost_first if n != name)
        above = tuple(n for n in others if _is_of(name, [n, *named[n]]))
        groups.setdefault(above, []).append(name)
    table = getattr(branch, "points", None)
    for above in sorted(groups, key=len):
        if table is None:
            one = _points(branch)[0]
            rows = list(product(*(_choices(branch, n) or [one[n]] for n in above)))
        else:
            rows = distinct(tuple(point[n] for n in above) for point in table)
        yield groups[above], [dict(zip(above, row, strict=True)) for row in rows]


def _named(name: str, value: Any) -> Params:
    """Return the components in a list such as `steps` and their values."""
    owner = "".join(name.rpartition("__")[:2])
    items = value if isinstance(value, list | tuple) else ()
    pairs = [item for item in items if isinstance(item, tuple) and len(item) > 1]
    return {f"{owner}{p[0]}": p[1] for p in pairs if isinstance(p[0], str)}


def _depth(name: str, named: Collection[str]) -> tuple[int, bool]:
    """Return a sort key that places components after those that may contain them."""
    return name.count("__"), not named


def _is_of(name: str, components: Iterable[str]) -> bool:
    """Return whether a name is one of the components or belongs to one of them."""
    return any(f"{name}__".startswith(f"{component}__") for component in components)


def _choices(branch: Space, name: str) -> Sequence[Any]:
    """Return the choices of a parameter, or an empty tuple if it is numeric."""
    return getattr(branch.dimensions[name], "choices", ())


def _points(branch: Space) -> list[Params]:
    places = np.outer(_PLACES, np.ones(branch.n_uniform))
    return branch.decode_many(branch.from_uniform(places))


def _error(estimator: Any, params: Mapping[str, Any]) -> Exception | None:
    """Return the exception raised by `set_params` of a clone, or None."""
    copy = clone(estimator)
    values = {name: clone(value, safe=False) for name, value in params.items()}
    try:
        copy.set_params(**values)
    except Exception as error:  # any exception is a rejection
        return error
    return None


def _owner(name: str, listed: Mapping[str, Any], estimator: Any) -> tuple[Any, str]:
    """Return the object that receives a parameter, and the prefix of its name."""
    for above in _prefixes(name):
        if has_params(listed.get(above)):
            return listed[above], f"{above}__"
    return estimator, ""


def _prefixes(name: str) -> list[str]:
    """Return the components that a nested name may belong to, innermost first."""
    return [name[: match.start()] for match in re.finditer("__", name)][::-1]


def _documented(owner: Any) -> set[str]:
    """Return the parameters named in the signatures and docstrings of a class."""
    found: set[str] = set()
    for cls in type(owner).__mro__[:-1]:
        try:
            signature = inspect.signature(vars(cls).get("__init__", lambda self: None))
            found |= {
                p.name for p in signature.parameters.values() if p.kind not in _STARS
            }
        except (TypeError, ValueError):  # not written in Python
            pass
        section = _SECTION.search(inspect.cleandoc(cls.__doc__ or ""))
        entries = _ENTRY.findall(section[1]) if section else []
        found |= {name.strip() for entry in entries for name in entry.split(",")}
    return found - {"self"}


def _all_documented(estimator: Any, listed: Mapping[str, Any]) -> Params:
    """Return the documented parameters of an estimator and its components."""
    inside = {f"{name}__": v for name, v in listed.items() if has_params(v)}
    owners = {"": estimator, **inside}
    return {f"{k}{name}": None for k, v in owners.items() for name in _documented(v)}


def _kind(value: Any) -> str:
    return type(value).__name__ if has_params(value) else short(value)
