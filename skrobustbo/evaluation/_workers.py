"""Workers that fit one fold at a time.

If a worker dies, it is therefore known which fold it was fitting.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import sklearn
from joblib import cpu_count
from joblib._utils import eval_expr

from skrobustbo._names import shown
from skrobustbo._threads import limited_threads
from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._folds import Fold, Work
from skrobustbo.evaluation._stops import Stops

#: Number of times that a fold may kill its worker while running alone before it fails.
LIVES = 2
#: Number of times that idle workers may die before they get a fold anyway.
STARTS = 10
#: A fold, and its result or exception.
Outcome = tuple[FoldId, RawResult | Exception]


@dataclass
class Shared:
    """Data and settings that are sent to every worker."""

    job: Work
    config: dict[str, Any] = field(default_factory=sklearn.get_config)
    filters: list[Any] = field(default_factory=lambda: list(warnings.filters))

    def fit(self, fold: Fold) -> tuple[FoldId, RawResult, float]:
        """Fit a fold with the settings and warning filters of the main process."""
        with sklearn.config_context(**self.config), warnings.catch_warnings():
            warnings.resetwarnings()
            warnings.filters.extend(self.filters)  # type: ignore[attr-defined] # a list
            return self.job.fit(fold)


def warm_up() -> None:
    """Detect the thread pools of libraries, which is slow the first time."""
    with limited_threads(openmp=True):
        pass


def leaves_cores(n_workers: int) -> bool:
    """Return whether the workers leave cores for parallel jobs inside folds.

    If the workers use every core, such jobs would only slow them down.
    """
    return bool(n_workers < max(2, cpu_count()))


def n_dispatched(pre_dispatch: int | str, n_workers: int) -> int:
    """Return the number of folds that may be submitted at the same time."""
    if pre_dispatch == "all":
        return sys.maxsize
    given = str(pre_dispatch).replace("n_jobs", str(n_workers))
    return max(1, int(eval_expr(given)))


class WorkerDiedError(Exception):
    """A worker process died while it was fitting a fold.

    Parameters
    ----------
    alone : bool, default=True
        Whether no other fold was running in the process.
    """

    def __init__(self, alone: bool = True) -> None:
        super().__init__()
        self.alone = alone


class FoldLostError(Exception):
    """The result of a fold was lost, although the fold did not fail."""


class FoldLateError(Exception):
    """A fold exceeded its time limit."""


class SoloWorker(Protocol):
    """Interface of a worker that fits one fold at a time.

    Attributes
    ----------
    fold : Fold or None
        The fold that the worker is fitting, or None if it is idle.
    future : Future or None
        The future of the current fold, or of the worker's start.
    end_time : float
        Time by which to check the fold again, on the monotonic clock.
    """

    fold: Fold | None

    @property
    def future(self) -> Future[Any] | None: ...

    @property
    def end_time(self) -> float: ...

    def is_ready(self, *, alone: bool) -> bool:
        """Return whether a fold can start now; if not, prepare the worker.

        If `alone` is true, no other fold may run in the same process.
        """

    def start(self, fold: Fold, seconds: float, *, alone: bool) -> None:
        """Start fitting a fold."""

    def is_done(self) -> bool:
        """Return whether the outcome of the fold is available."""

    def take(self) -> tuple[FoldId, RawResult, float]:
        """Return the result of the fold, or raise the error that prevented it."""


def death(fold: Fold) -> str:
    """Return the error message for a fold that kills its workers."""
    return (
        f"The worker process died {LIVES} times or more while it fitted "
        f"{shown(fold.params)}, perhaps because it ran out of memory."
    )


class WorkerPool:
    """Pool of workers that fit one fold at a time, used as a context manager.

    Attributes
    ----------
    n_workers : int
        Number of folds that run in parallel.
    """

    n_workers: int
    #: Longest time between two checks of the workers, in seconds.
    pause = math.inf

    def __init__(self, job: Work, stops: Stops) -> None:
        self._job, self._stops, self._seconds = job, stops, stops.fit_timeout
        self._workers: Sequence[SoloWorker] = []
        self._deaths: dict[FoldId, int] = {}  # deaths of suspects running alone
        self._guilty: dict[int, str] = {}  # candidates, and why
        self._needs: Callable[[Fold], bool] | None = None

    def run(
        self, waiting: deque[Fold], needs: Callable[[Fold], bool] | None = None
    ) -> Generator[Outcome]:
        """Fit the waiting folds and yield each result as soon as it is available.

        The caller may add and remove folds between two results. A fold that exceeds its
        time limit counts as failed. If a worker dies, its fold is fitted again. If a
        fold kills its worker twice while no other fold is running in the process, it
        counts as failed, and so do the remaining folds of its candidate. With
        ``error_score="raise"``, the result of a failed fold is an exception, because
        only the caller can tell whether the fold is still needed. Folds that must not
        start any more are skipped. A lost fold is also skipped if `needs` returns False
        for it.
        """
        self._needs = needs
        while self._send(waiting):
            self._wait(for_start=bool(waiting))
            for worker in self._workers:
                yield from self._received(worker, waiting)

    def __enter__(self) -> Self:
        raise NotImplementedError

    def __exit__(self, *error: Any) -> None:
        raise NotImplementedError

    def _look(self) -> None:
        """Update the state of the workers; subclasses may override this method."""

    def _send(self, waiting: deque[Fold]) -> bool:
        """Start folds on idle workers; return whether any are waiting or running."""
        self._look()
        for worker in self._workers:
            while (fold := self._next(waiting)) is not None:
                alone = fold.key in self._deaths
                if not worker.is_ready(alone=alone):
                    break
                if self._stops.admits(fold.candidate):
                    waiting.remove(fold)
                    worker.start(fold, self._seconds, alone=alone)
                    break
                self._take_away(fold.candidate, waiting)
        return bool(waiting) or any(worker.fold for worker in self._workers)

    def _next(self, waiting: deque[Fold]) -> Fold | None:
        """Return the next fold to start, or None.

        If a fold has killed its worker, the folds of its candidate run one at a time,
        because each of them would probably kill a worker too.
        """
        under_way = {worker.fold.candidate for worker in self._workers if worker.fold}
        held = under_way & {candidate for candidate, _ in self._deaths}
        return next((fold for fold in waiting if fold.candidate not in held), None)

    def _wait(self, *, for_start: bool) -> None:
        """Wait until a fold has finished or must be checked."""
        busy = [w for w in self._workers if w.fold is not None or for_start]
        end = min((worker.end_time for worker in busy), default=math.inf)
        timeout = min(self.pause, max(0.0, end - time.monotonic()))
        futures = {worker.future for worker in busy if worker.future is not None}
        if futures:
            limit = None if timeout == math.inf else timeout
            wait(futures, timeout=limit, return_when=FIRST_COMPLETED)
        else:
            time.sleep(timeout)

    def _received(self, worker: SoloWorker, waiting: deque[Fold]) -> Iterator[Outcome]:
        """Yield the outcome of a worker's fold, if it is available."""
        fold = worker.fold
        if fold is None or not worker.is_done():
            return
        try:
            key, result, seconds = worker.take()
        except (WorkerDiedError, FoldLostError) as error:
            yield from self._lost(fold, waiting, error)
        except FoldLateError:
            self._stops.note(self._seconds)
            yield fold.key, self._late(fold)
        except Exception as error:  # raised by the fit itself
            yield fold.key, error
        else:
            self._deaths.pop(key, None)
            self._stops.note(seconds)
            yield key, result

    @staticmethod
    def _take_away(candidate: int, waiting: deque[Fold]) -> list[Fold]:
        """Remove a candidate's folds from the waiting folds and return them."""
        taken = [fold for fold in waiting if fold.candidate == candidate]
        for fold in taken:
            waiting.remove(fold)
        return taken

    def _late(self, fold: Fold) -> RawResult | Exception:
        reason = f"The fold took longer than fit_timeout={self._seconds!r} s."
        if self._job.settings["error_score"] == "raise":
            return TimeoutError(f"{reason[:-1]} with {shown(fold.params)}.")
        return self._job.failed(fold, reason)

    def _lost(
        self, fold: Fold, waiting: deque[Fold], error: WorkerDiedError | FoldLostError
    ) -> Iterator[Outcome]:
        """Queue a lost fold again, or fail its candidate after too many deaths."""
        if self._needs is not None and not self._needs(fold):
            self._deaths.pop(fold.key, None)
            return
        if isinstance(error, WorkerDiedError):
            self._deaths[fold.key] = self._deaths.get(fold.key, 0) + error.alone
        is_fatal = self._deaths.get(fold.key, 0) >= LIVES
        if not is_fatal and fold.candidate not in self._guilty:
            waiting.appendleft(fold)
            return
        if self._job.settings["error_score"] == "raise":
            yield fold.key, BrokenProcessPool(death(fold))
            return
        reason = self._guilty.setdefault(fold.candidate, death(fold))
        rest = self._take_away(fold.candidate, waiting)
        for other in [fold, *rest]:
            self._deaths.pop(other.key, None)
            yield other.key, self._job.failed(other, reason)
