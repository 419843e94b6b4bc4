"""Ctrl-C and SIGTERM during a search: the first finishes it, the second aborts it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: Handlers that searches have taken the place of, the outermost search's first.
_replaced: list[tuple[signal.Signals, Any]] = []


def _give_back(n_kept: int = 0) -> None:
    """Put handlers of before in their place again, all but the first so many."""
    while len(_replaced) > n_kept:
        signal.signal(*_replaced.pop())


# A forked worker has to die of what its pool sends to end it. Its handler cannot see to
# that: a signal noted just before the worker waits for work would wake it no more.
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_give_back)


class Interruption:
    """Whether a search has been asked to finish.

    While it is watched for, the first signal raises a KeyboardInterrupt where folds are
    waited for and is kept in mind elsewhere; the second raises one anywhere.

    Parameters
    ----------
    wanted : bool
        Whether signals are to be watched for at all. They are not, either, in a search
        that runs inside another one or outside the main thread.
    """

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._n_signals = 0
        self._raising = False

    def __bool__(self) -> bool:
        """Tell whether a signal has come."""
        return self._n_signals > 0

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Handle signals; the handlers of before come back whatever happens."""
        if not (self._wanted and _is_outermost()):
            yield
            return
        n_replaced = len(_replaced)
        try:
            for number in _SIGNALS:
                self._replace(number)
            yield
        finally:
            _give_back(n_replaced)

    def _replace(self, number: signal.Signals) -> None:
        handler = signal.getsignal(number)
        # Who ignores signals (nohup) still does; None stands for one set from C.
        if handler not in (signal.SIG_IGN, None):
            _replaced.append((number, handler))
            signal.signal(number, self._handle)

    def _handle(self, number: int, frame: Any) -> None:
        self._n_signals += 1
        if self._raising or self._n_signals > 1:
            raise KeyboardInterrupt

    def guard(self, results: Generator[T]) -> Iterator[T]:
        """Give results until a signal comes; what is under way then is given up.

        Between two results, signals wait, so that what is done with one is completed.
        """
        try:
            while True:
                with self._may_raise():
                    result = next(results, None)
                if self or result is None:  # or somebody below has caught the signal
                    return
                yield result
        except KeyboardInterrupt:
            if self._n_signals != 1:
                raise
        finally:
            _close(results)

    @contextmanager
    def _may_raise(self) -> Iterator[None]:
        self._raising = True
        try:
            if self:  # a signal that came just before
                raise KeyboardInterrupt
            yield
        finally:
            self._raising = False


def _is_outermost() -> bool:
    """Tell whether this is the main thread of a process of its own, not inside jobs."""
    if threading.current_thread() is not threading.main_thread():
        return False
    return multiprocessing.parent_process() is None and not _inside_jobs()


def _inside_jobs() -> bool:
    """Tell whether joblib is running us, as it does in `cross_val_score`.

    With a single job it does so in the main thread and leaves no other trace.
    """
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") == "joblib.parallel":
            return True
        frame = frame.f_back
    return False


def _close(results: Generator[Any]) -> None:
    """Give up what is left, without joblib's advice on how not to."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*still being processed")
        results.close()


@contextmanager
def signals_held() -> Iterator[None]:
    """Keep Ctrl-C for later, and for good from processes that are started inside.

    A terminal sends it to workers as well, which then die with a traceback each.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
