"""Handle errors in computations that run after the last fold of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from traceback import format_exception_only
from warnings import warn

from skrobustbo._text import clipped

#: Returns a context in which the computation of a named result may fail.
Attempt = Callable[[str], AbstractContextManager[None]]


@contextmanager
def softly() -> Iterator[Attempt]:
    """Yield a context manager for computations, and issue one warning for all errors.

    An exception ends only its own computation. Ctrl-C is not caught.
    """
    failed: dict[str, list[str]] = {}

    @contextmanager
    def attempt(what: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # no exception may lose the search
            failed.setdefault(cause_of(error), []).append(what)

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
