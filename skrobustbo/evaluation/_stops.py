"""Stop a search early when time runs out or a signal arrives."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import statistics
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from skrobustbo._names import count

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: Signal handlers that searches replaced, the outermost search's first.
_replaced: list[tuple[signal.Signals, Any]] = []

#: Number of recent folds used to estimate the duration of a fold.
_RECENT = 25
#: Number of candidates that a call must finish before its pace counts.
_FEWEST = 5
#: Shortest duration of a fold, because a clock may show no time for fast ones.
_LEAST_SECONDS = 1e-9


def _give_back(n_kept: int = 0) -> None:
    """Restore the earlier signal handlers, except for the first `n_kept`."""
    while len(_replaced) > n_kept:
        signal.signal(*_replaced.pop())


# A forked worker must die when its pool sends a signal. The handler could not ensure
# that: a signal noted just before the worker waits for work would not wake it.
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_give_back)


class Stops:
    """Decides which folds may start, and records why a search ended early.

    The clock starts when the object is created.

    Parameters
    ----------
    max_time : float, default=None
        Time limit for the search in seconds. A candidate starts only if it is expected
        to finish in time, based on the median duration of recent folds. A candidate
        that is already running continues until the limit.
    fit_timeout : float, default=None
        Time limit for each fold in seconds.
    interruptible : bool, default=False
        Whether the first Ctrl-C or SIGTERM ends the search without an error.

    Attributes
    ----------
    fit_timeout : float
        Time limit for each fold; infinite if there is none.
    reason : str
        "max_time", "interrupted", or "" if the search has not ended early.
    """

    def __init__(
        self,
        max_time: float | None = None,
        fit_timeout: float | None = None,
        *,
        interruptible: bool = False,
    ) -> None:
        self.max_time = max_time
        self.fit_timeout = math.inf if fit_timeout is None else _waitable(fit_timeout)
        seconds = math.inf if max_time is None else _waitable(max_time)
        self._end = time.monotonic() + seconds
        self._interruptible = interruptible
        self._n_signals, self._raising = 0, False
        self._is_term = False
        self._out_of_time = False
        self._begun: set[int] = set()
        self._seconds: deque[float] = deque(maxlen=_RECENT)
        self._folds_in_turn = 1
        self._asked, self._choosing = math.nan, 0.0
        #: At each request: number of finished candidates, their evaluations, and
        #: seconds left.
        self._noted: list[tuple[int, float, float]] = []

    @property
    def reason(self) -> str:
        """Why the search ended early, or "" if it did not."""
        if self._n_signals:
            return "interrupted"
        return "max_time" if self._out_of_time else ""

    @property
    def on_time(self) -> bool:
        """Whether there is a time limit."""
        return self.max_time is not None

    def plan(self, n_splits: int, n_workers: int) -> None:
        """Compute how many folds of a candidate run one after another."""
        self._folds_in_turn = math.ceil(n_splits / n_workers)

    # Signals --------------------------------------------------------------------------

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Handle signals in a context, and restore the earlier handlers at its end.

        While the search waits for folds, the first signal raises a KeyboardInterrupt.
        At other times, the first signal is only recorded. The second signal always
        raises a KeyboardInterrupt. After a SIGTERM, the KeyboardInterrupt is replaced
        by a SystemExit, which shows no traceback. Signals are not handled in a nested
        search or outside the main thread.
        """
        if not (self._interruptible and _is_outermost()):
            yield
            return
        n_replaced = len(_replaced)
        try:
            for number in _SIGNALS:
                self._replace(number)
            yield
        except KeyboardInterrupt:
            if self._is_term:
                raise SystemExit(128 + signal.SIGTERM) from None
            raise
        finally:
            _give_back(n_replaced)

    def _replace(self, number: signal.Signals) -> None:
        handler = signal.getsignal(number)
        # Ignored signals (nohup) stay ignored; None means that C code set the handler.
        if handler not in (signal.SIG_IGN, None):
            _replaced.append((number, handler))
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: Any) -> None:
        self._n_signals += 1
        self._is_term = number == signal.SIGTERM
        if self._raising or self._n_signals > 1:
            raise KeyboardInterrupt

    def guard(self, results: Generator[T]) -> Iterator[T]:
        """Yield results until a signal arrives, then abandon the running folds.

        The first signal does not interrupt the processing of a result.
        """
        try:
            while True:
                self._raising = True
                if self._n_signals:  # a signal that came just before
                    raise KeyboardInterrupt
                result = next(results, None)
                self._raising = False
                # Code further down may have caught the signal.
                if self._n_signals or result is None:
                    return
                yield result
        except KeyboardInterrupt:
            if self._n_signals != 1:
                raise
        finally:
            self._raising = False
            results.close()

    # Time -----------------------------------------------------------------------------

    def over(self) -> bool:
        """Return whether to stop instead of starting another candidate."""
        self._asked = time.monotonic()
        # At the end, the models predict the candidates' scores once more.
        needs = self._candidate_seconds() + 2 * self._choosing
        self._out_of_time |= self.seconds_left <= needs
        return bool(self.reason)

    def admits(self, candidate: int) -> bool:
        """Return whether a fold of a candidate may start now."""
        if not math.isnan(self._asked):  # the first fold of a round
            self._choosing = time.monotonic() - self._asked
            self._asked = math.nan
        begun = candidate in self._begun
        late = self.seconds_left <= (0.0 if begun else self._candidate_seconds())
        self._out_of_time |= late
        # A candidate in progress may have enough time even if a new one would not.
        if late or self._n_signals or (self._out_of_time and not begun):
            return False
        self._begun.add(candidate)
        return True

    def note(self, seconds: float) -> None:
        """Record how long a fold took."""
        self._seconds.append(seconds)

    def expected(self, n_told: int, n_done: float) -> float | None:
        """Return the total number of evaluations for which there is time.

        Call this method before each request. The result is infinite if there is no time
        limit, and None if the number is still unknown. The speed is measured over the
        second half of the candidates in this run, because the first fits may be slow,
        for example while a worker starts.

        Parameters
        ----------
        n_told : int
            Number of finished candidates so far.
        n_done : float
            Number of evaluations of these candidates, in units of a full evaluation.
        """
        if self.max_time is None:
            return math.inf
        left = self.seconds_left
        self._noted.append((n_told, n_done, left))
        first = self._noted[0][0]
        if n_told - first < _FEWEST:
            return None
        half = (first + n_told) / 2
        earlier = (noted for noted in reversed(self._noted) if noted[0] <= half)
        _, n_before, left_before = next(earlier)
        each = max(left_before - left, _LEAST_SECONDS) / (n_done - n_before)
        # Do not start a candidate that would end only just in time.
        return math.ceil(n_done + left / each) - 1

    @property
    def seconds_left(self) -> float:
        """Seconds until the time limit; very large if there is no limit."""
        return self._end - time.monotonic()

    def _candidate_seconds(self) -> float:
        """Return the expected duration of a candidate, or 0 if it is unknown."""
        if not self._seconds:
            return 0.0
        return self._folds_in_turn * statistics.median(self._seconds)

    # The end --------------------------------------------------------------------------

    def nothing_finished(self) -> BaseException | None:
        """Return the error to raise if no candidate was finished."""
        if self._n_signals:
            return KeyboardInterrupt()
        if not self._out_of_time:
            return None
        return TimeoutError(
            f"No candidate was finished within max_time={self.max_time!r} s; raise "
            "'max_time', or make the fits faster."
        )

    def warn(self, n_done: int, n_planned: int) -> None:
        if self._n_signals:
            warnings.warn(
                f"The search was interrupted after {n_done} of "
                f"{count(n_planned, 'candidate')} and continues with the best of "
                "these; interrupt again to abort.",
                UserWarning,
                stacklevel=6,
            )


def _waitable(seconds: float) -> float:
    """Return a number of seconds, limited to the longest supported timeout."""
    return seconds if seconds < threading.TIMEOUT_MAX else threading.TIMEOUT_MAX


def _is_outermost() -> bool:
    """Return whether this code runs in the main thread and outside any job."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and multiprocessing.parent_process() is None and not _inside_jobs()


def _inside_jobs() -> bool:
    """Return whether joblib or a pool runs this code, as in `cross_val_score`.

    A single job runs in the main thread, so only the call stack shows the job.
    """
    pools = ("joblib.parallel", f"{__package__}._joblib_pool")
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") in pools:
            return True
        frame = frame.f_back
    return False


@contextmanager
def signals_held() -> Iterator[None]:
    """Delay Ctrl-C, and block it in processes that start in the meantime.

    A terminal also sends the signal to the workers, which would print a traceback and
    exit.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
