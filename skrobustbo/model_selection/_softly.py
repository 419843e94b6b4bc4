"""Handle errors in computations that run after the last fold of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import format_exception_only
from typing import Protocol, TypeVar
from warnings import warn

from skrobustbo._text import clipped

T = TypeVar("T")


class Attempt(Protocol):
    """Compute a named result, or return `otherwise` if the computation fails."""

    def __call__(self, what: str, compute: Callable[[], T], otherwise: T) -> T: ...


@contextmanager
def softly() -> Iterator[Attempt]:
    """Yield a function that runs computations, and issue one warning for all errors.

    An exception affects only the result of its own computation. Ctrl-C is not caught.
    """
    failed: dict[str, list[str]] = {}

    def attempt(what: str, compute: Callable[[], T], otherwise: T) -> T:
        try:
            return compute()
        except Exception as error:  # no exception may lose the search
            failed.setdefault(cause_of(error), []).append(what)
            return otherwise

    yield attempt
    if failed:
        told = [f"{' and '.join(what)} ({cause})" for cause, what in failed.items()]
        warn(
            f"RobustBayesSearchCV could not compute {'; '.join(told)}. All other "
            "results of the search are intact.",
            stacklevel=4,
        )


def cause_of(error: BaseException) -> str:
    """Return the type and first line of an exception and of its causes."""
    line = "".join(format_exception_only(error)).split("\n")[0]
    cause = error.__cause__
    return clipped(line, 200) + (f", from {cause_of(cause)}" if cause else "")
