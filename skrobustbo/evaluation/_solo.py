"""Workers that each fit one fold at a time, so that it is known what kills them."""

from __future__ import annotations

import math
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import sklearn

from skrobustbo._names import shown
from skrobustbo._threads import limited_threads
from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._folds import LIVES, Fold, Work, death
from skrobustbo.evaluation._stops import Stops

#: A fold, and its result or what it raised.
Outcome = tuple[FoldId, RawResult | Exception]


@dataclass
class Shared:
    """What a worker has to know: what all folds share, and the session's settings."""

    job: Work
    config: dict[str, Any] = field(default_factory=sklearn.get_config)
    filters: list[Any] = field(default_factory=lambda: list(warnings.filters))

    def set_filters(self) -> None:
        """Put the session's filters in the place of those for warnings."""
        warnings.resetwarnings()
        warnings.filters.extend(self.filters)  # type: ignore[attr-defined] # it is a list


def warm_up() -> None:
    """Look for the thread pools of libraries, which takes its time at first."""
    with limited_threads(openmp=True):
        pass


class WorkerDiedError(Exception):
    """The process of a worker died while it fitted a fold.

    Parameters
    ----------
    alone : bool, default=True
        Whether there was no other fold in the process.
    """

    def __init__(self, alone: bool = True) -> None:
        super().__init__()
        self.alone = alone


class FoldLostError(Exception):
    """A fold has no result, and that is not its fault."""


class FoldLateError(Exception):
    """A fold took longer than it may."""


class SoloWorker(Protocol):
    """What fits one fold at a time.

    Attributes
    ----------
    fold : Fold or None
        What it is fitting.
    future : Future or None
        What it is busy with: a fold, or getting ready for one.
    end_time : float
        When it has to be looked to, on the monotonic clock, if nothing comes before.
    """

    fold: Fold | None

    @property
    def future(self) -> Future[Any] | None: ...

    @property
    def end_time(self) -> float: ...

    def is_ready(self, *, alone: bool) -> bool:
        """Return whether a fold can be started at once; see to it that it soon can be.

        With `alone`, no other fold may be in the same process meanwhile.
        """

    def start(self, fold: Fold, seconds: float, *, alone: bool) -> None:
        """Start a fold."""

    def is_done(self) -> bool:
        """Return whether something came of the fold."""

    def take(self) -> tuple[FoldId, RawResult, float]:
        """Return what came of the fold, or raise one of the errors above."""


class WorkerPool:
    """Workers that each fit one fold at a time; used as a context.

    Parameters
    ----------
    job : Work
        What all folds share.
    seconds : float
        What a fold may take, scoring included.
    stops : Stops
        Says whether another fold may be started.

    Attributes
    ----------
    n_workers : int
        Folds that run side by side.
    """

    n_workers: int
    #: Seconds after which the workers are looked to at the latest.
    pause = math.inf

    def __init__(self, job: Work, seconds: float, stops: Stops) -> None:
        self._job, self._seconds, self._stops = job, seconds, stops
        self._workers: Sequence[SoloWorker] = []
        self._deaths: dict[FoldId, int] = {}  # of suspects, with no other fold about
        self._guilty: dict[int, str] = {}  # candidates, and why
        self._needs: Callable[[Fold], bool] | None = None

    def run(
        self, waiting: deque[Fold], needs: Callable[[Fold], bool] | None = None
    ) -> Generator[Outcome]:
        """Fit the folds that wait and give the result of each as soon as it is there.

        Between two results, folds may be added and taken away. A fold that takes too
        long counts as failed. One whose worker dies is fitted again; if it happens
        twice with no other fold in the process, it counts as failed, and what is left
        of its candidate with it. With ``error_score="raise"``, an error stands for the
        result of such a fold, and of one that raises: the caller knows whether it is
        still needed. Folds that must not be started any more are left out, and so is
        one whose worker is gone if `needs` says that its candidate is over by then.
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
        """See to the workers; the place of what a kind of pool does besides."""

    def _send(self, waiting: deque[Fold]) -> bool:
        """Give folds to idle workers; return whether there is anything to wait for."""
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
        """Return the next fold to start: of a suspected candidate, one at a time.

        Its other folds would most likely take down a worker each.
        """
        under_way = {worker.fold.candidate for worker in self._workers if worker.fold}
        held = under_way & {candidate for candidate, _ in self._deaths}
        return next((fold for fold in waiting if fold.candidate not in held), None)

    def _wait(self, *, for_start: bool) -> None:
        """Wait until a worker has something to say, or is late."""
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
        """Give what comes of the fold of a worker, if anything."""
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
        except Exception as error:  # of the fit itself
            yield fold.key, error
        else:
            self._deaths.pop(key, None)
            self._stops.note(seconds)
            yield key, result

    @staticmethod
    def _take_away(candidate: int, waiting: deque[Fold]) -> list[Fold]:
        """Take the folds of a candidate from those that wait, and return them."""
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
        """Put a fold back; if it has lost its lives, fail the rest of its candidate."""
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
