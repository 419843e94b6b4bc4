"""What may end a search before its candidates are used up: time and signals."""

from __future__ import annotations

import math
import statistics
import threading
import time
import warnings
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

from skrobustbo.evaluation._signals import Interruption

T = TypeVar("T")

#: Folds that the estimate of how long one takes looks back on.
_RECENT = 25


class Stops:
    """Decides which folds are still started, and notes why a search ended early.

    The clock runs from the construction on.

    Parameters
    ----------
    max_time : float, default=None
        Seconds for the search. A candidate is started only if, going by the median of
        recent folds, it will be finished by then; one that is under way goes on until
        then.
    fit_timeout : float, default=None
        Seconds for one fold.
    interruptible : bool, default=False
        Whether the first Ctrl-C or SIGTERM finishes the search.

    Attributes
    ----------
    reason : str
        "max_time", "interrupted", or "" while nothing has ended the search.
    """

    def __init__(
        self,
        max_time: float | None = None,
        fit_timeout: float | None = None,
        *,
        interruptible: bool = False,
    ) -> None:
        self.max_time = max_time
        self.fit_timeout = None if fit_timeout is None else _waitable(fit_timeout)
        seconds = math.inf if max_time is None else _waitable(max_time)
        self._end = time.monotonic() + seconds
        self._interruption = Interruption(interruptible)
        self._out_of_time = False
        self._begun: set[int] = set()
        self._seconds: deque[float] = deque(maxlen=_RECENT)
        self._folds_in_turn = 1
        self._asked, self._choosing = math.nan, 0.0

    @property
    def reason(self) -> str:
        """Why the search ended early, "" if nothing has ended it."""
        if self._interruption:
            return "interrupted"
        return "max_time" if self._out_of_time else ""

    @property
    def on_time(self) -> bool:
        """Whether there is a clock to look at."""
        return self.max_time is not None

    def plan(self, n_splits: int, n_workers: int) -> None:
        """Take note of how many folds of a candidate run one after the other."""
        self._folds_in_turn = math.ceil(n_splits / n_workers)

    # Signals --------------------------------------------------------------------------

    def watched(self) -> AbstractContextManager[None]:
        """Return a context in which signals end the search."""
        return self._interruption.watched()

    def guard(self, results: Generator[T]) -> Iterator[T]:
        """Give the results of folds until a signal comes."""
        return self._interruption.guard(results)

    # Time -----------------------------------------------------------------------------

    def over(self) -> bool:
        """Tell whether it is no use to choose another candidate."""
        self._asked = time.monotonic()
        # What models know of the candidates is asked once more in the end.
        needs = self._candidate_seconds() + 2 * self._choosing
        self._out_of_time |= self._left() <= needs
        return bool(self.reason)

    def admits(self, candidate: int) -> bool:
        """Tell whether a fold of a candidate may be started now."""
        if not math.isnan(self._asked):  # the first fold of a round
            self._choosing = time.monotonic() - self._asked
            self._asked = math.nan
        needs = 0.0 if candidate in self._begun else self._candidate_seconds()
        self._out_of_time |= self._left() <= needs
        if self.reason:
            return False
        self._begun.add(candidate)
        return True

    def note(self, seconds: float) -> None:
        """Take note of how long a fold took."""
        self._seconds.append(seconds)

    def _left(self) -> float:
        return self._end - time.monotonic()

    def _candidate_seconds(self) -> float:
        """Return how long a candidate will take, 0 if nothing is known yet."""
        if not self._seconds:
            return 0.0
        return self._folds_in_turn * statistics.median(self._seconds)

    # The end --------------------------------------------------------------------------

    def nothing_finished(self) -> BaseException | None:
        """Return what to raise if the search ended without any candidate finished."""
        if self._interruption:
            return KeyboardInterrupt()
        if not self._out_of_time:
            return None
        return TimeoutError(
            f"No candidate was finished within max_time={self.max_time!r} s; raise "
            "'max_time', or make the fits faster."
        )

    def warn(self, n_done: int, n_planned: int) -> None:
        """Warn of an interruption."""
        if self._interruption:
            warnings.warn(
                f"The search was interrupted after {n_done} of {n_planned} candidates "
                "and goes on with the best of these; interrupt again to abort.",
                UserWarning,
                stacklevel=5,
            )


def _waitable(seconds: float) -> float:
    """Return as many seconds as can be waited for at most: some centuries."""
    return seconds if seconds < threading.TIMEOUT_MAX else threading.TIMEOUT_MAX
