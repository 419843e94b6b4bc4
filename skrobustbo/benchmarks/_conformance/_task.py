"""A search to be built, described without regard to who builds it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from skrobustbo.benchmarks._conformance._outcome import UnmetError


class Floats(NamedTuple):
    """Real numbers from `low` to `high`."""

    low: float
    high: float
    log: bool = False


class Ints(NamedTuple):
    """Whole numbers from `low` to `high`, both included."""

    low: int
    high: int


class Choice(NamedTuple):
    """One of several values, without order."""

    values: tuple[Any, ...]


Dimension = Floats | Ints | Choice
NeutralSpace = Mapping[str, Dimension]


@dataclass(frozen=True)
class Task:
    """A search to be built.

    Parameters
    ----------
    estimator : estimator
        What is tuned.
    space : dict or list of dict
        In neutral form.
    n_iter : int
        Candidates, as nearly as the search lets one say it.
    defaults : dict
        Settings passed on where the search has a parameter of the name.
    settings : dict
        Settings that the search must have; UnmetError says which it lacks.
    """

    estimator: Any
    space: NeutralSpace | list[NeutralSpace]
    n_iter: int
    defaults: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def each(
    space: NeutralSpace | Sequence[NeutralSpace], convert: Callable[[Dimension], Any]
) -> Any:
    """Return the space, or each of a list, with its dimensions converted."""
    if isinstance(space, Mapping):
        return {name: convert(dimension) for name, dimension in space.items()}
    return [each(one, convert) for one in space]


def made(search: Any, task: Task, *args: Any, **own: Any) -> Any:
    """Return the search with its own arguments and what it knows of the settings."""
    known = check_known(search, task)
    optional = {name: v for name, v in task.defaults.items() if name in known}
    return search(task.estimator, *args, **{**optional, **own, **task.settings})


def check_known(search: Any, task: Task) -> set[str]:
    """Return the names of a search's parameters; raise if a needed one is missing."""
    known = parameters(search)
    for name in task.settings:
        if name not in known:
            raise UnmetError(f"has no parameter {name!r}")
    return known


def parameters(search: Any) -> set[str]:
    """Return the names that a search's constructor takes."""
    signature = inspect.signature(search.__init__).parameters
    names = set(signature)
    if any(p.kind is p.VAR_KEYWORD for p in signature.values()):
        names |= set(inspect.signature(search.__mro__[1].__init__).parameters)
    return names - {"self"}
