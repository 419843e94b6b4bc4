"""Running folds in worker processes that can be ended one by one."""

from __future__ import annotations

import math
import multiprocessing
import time
import warnings
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self

import joblib
import sklearn
from joblib import effective_n_jobs, parallel_config
from joblib.externals.loky.backend import reduction
from joblib.externals.loky.process_executor import ProcessPoolExecutor
from joblib.parallel import ThreadingBackend, get_active_backend
from threadpoolctl import threadpool_limits

from skrobustbo.evaluation._folds import (
    LIVES,
    Fold,
    FoldResult,
    Job,
    Key,
    death,
    leaves_cores,
)
from skrobustbo.evaluation._signals import signals_held
from skrobustbo.evaluation._stops import Stops

#: The backends of joblib whose workers are processes on this machine; "sequential" is
#: what is inside their jobs.
_LOCAL = ("LokyBackend", "MultiprocessingBackend", "SequentialBackend")


class TimedPool:
    """Worker processes of which each fits one fold at a time, for a limited time.

    Every worker is a pool of its own, so that ending it concerns no other fold; it is
    sent the data once, when it starts.

    Parameters
    ----------
    job : Job
        What all folds share.
    n_jobs : int or None
        As joblib has it; also a single job gets a process.
    seconds : float
        What a fold may take, scoring included.
    stops : Stops
        Says whether another fold may be started.

    Attributes
    ----------
    n_workers : int
        Folds that run side by side.

    Raises
    ------
    ValueError
        If workers are not to be processes on this machine.
    """

    def __init__(
        self, job: Job, n_jobs: int | None, seconds: float, stops: Stops
    ) -> None:
        _check_local()
        self._job, self._seconds, self._stops = job, seconds, stops
        self.n_workers = int(effective_n_jobs(n_jobs))
        self._workers: list[_Worker] = []
        self._deaths: dict[Key, int] = {}

    def __enter__(self) -> Self:
        settings = (
            self._job,
            leaves_cores(self.n_workers),
            sklearn.get_config(),
            list(warnings.filters),
        )
        parcel = bytes(reduction.dumps(settings))
        self._workers = [_Worker(parcel) for _ in range(self.n_workers)]
        return self

    def __exit__(self, *error: Any) -> None:
        for worker in self._workers:
            worker.end()

    def run(self, folds: Sequence[Fold]) -> Generator[tuple[Key, FoldResult]]:
        """Fit folds and give the result of each as soon as it is there.

        A fold that takes too long counts as failed. One whose worker dies is fitted
        again; if it happens twice, it counts as failed, and what is left of its
        candidate with it. Folds that must not be started any more are left out.
        """
        waiting = deque(folds)
        while self._send(waiting):
            self._wait(for_start=bool(waiting))
            for worker in self._workers:
                yield from self._received(worker, waiting)

    def _send(self, waiting: deque[Fold]) -> bool:
        """Give folds to idle workers; tell whether there is anything to wait for."""
        for worker in self._workers:
            if waiting and worker.is_ready():
                if not self._stops.admits(waiting[0].candidate):
                    waiting.clear()
                else:
                    worker.start(waiting.popleft(), self._seconds)
        return bool(waiting) or any(worker.fold for worker in self._workers)

    def _wait(self, *, for_start: bool) -> None:
        """Wait until a worker has something to say, or is late."""
        busy = [w for w in self._workers if w.fold is not None or for_start]
        end = min(worker.end_time for worker in busy)
        timeout = None if end == math.inf else max(0.0, end - time.monotonic())
        futures = [worker.future for worker in busy if worker.future is not None]
        wait(futures, timeout=timeout, return_when=FIRST_COMPLETED)

    def _received(
        self, worker: _Worker, waiting: deque[Fold]
    ) -> Iterator[tuple[Key, FoldResult]]:
        """Give what comes of the fold of a worker, if anything."""
        fold, future = worker.fold, worker.future
        if fold is None or future is None:
            return
        if future.done():
            try:
                key, result, seconds = worker.take()
            except BrokenProcessPool:
                worker.end()
                yield from self._died(fold, waiting)
            else:
                self._stops.note(seconds)
                yield key, result
        elif worker.end_time <= time.monotonic():
            worker.end()
            self._stops.note(self._seconds)
            yield fold.key, self._late(fold)

    def _late(self, fold: Fold) -> FoldResult:
        reason = f"The fold took longer than fit_timeout={self._seconds!r} s."
        if self._job.settings["error_score"] == "raise":
            raise TimeoutError(f"{reason[:-1]} with {fold.params}.")
        return self._job.failed(fold, reason)

    def _died(
        self, fold: Fold, waiting: deque[Fold]
    ) -> Iterator[tuple[Key, FoldResult]]:
        """Put a fold back; if it has lost its lives, fail the rest of its candidate."""
        self._deaths[fold.key] = self._deaths.get(fold.key, 0) + 1
        if self._deaths[fold.key] < LIVES:
            waiting.appendleft(fold)
            return
        if self._job.settings["error_score"] == "raise":
            raise BrokenProcessPool(death(fold))
        rest = [other for other in waiting if other.candidate == fold.candidate]
        for other in rest:
            waiting.remove(other)
        for other in [fold, *rest]:
            yield other.key, self._job.failed(other, death(fold))


class _Worker:
    """A pool of one process.

    Attributes
    ----------
    fold : Fold or None
        What it is fitting.
    future : Future or None
        What it is busy with: a fold, or getting ready for one.
    end_time : float
        When the fold has to be over, on the monotonic clock.
    """

    def __init__(self, parcel: bytes) -> None:
        self._parcel = parcel
        self._executor: Any = None
        self._failed_starts = 0
        self.fold: Fold | None = None
        self.future: Future[Any] | None = None
        self.end_time = math.inf

    def is_ready(self) -> bool:
        """Tell whether a fold can be started at once; see to it that it soon can be."""
        if self._executor is None:
            self._launch()
        if self.future is None:
            return True
        if self.fold is not None or not self.future.done():
            return False
        try:
            self.future.result()
        except BrokenProcessPool:
            self._failed_starts += 1
            if self._failed_starts == LIVES:
                raise
            self.end()
            return False
        self._failed_starts, self.future = 0, None
        return True

    def _launch(self) -> None:
        # Getting ready is no part of a fold, which starts when that is done. After its
        # first task a worker of loky looks to its memory, so there is a second one.
        with signals_held():
            self._executor = ProcessPoolExecutor(
                1, initializer=_prepare, initargs=(self._parcel,)
            )
            self._executor.submit(_warm_up)
            self.future = self._executor.submit(_warm_up)

    def start(self, fold: Fold, seconds: float) -> None:
        """Start a fold."""
        self.fold, self.end_time = fold, time.monotonic() + seconds
        self.future = self._executor.submit(_fit, fold)

    def take(self) -> Any:
        """Return what came of the fold, which is done."""
        future, self.future, self.fold = self.future, None, None
        self.end_time = math.inf
        return future.result() if future is not None else None

    def end(self) -> None:
        """End the process at once, whatever it does."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
        self._executor = self.fold = self.future = None
        self.end_time = math.inf


def _check_local() -> None:
    """Raise if the workers are not processes that we can start and end."""
    backend, _ = get_active_backend()
    name = type(backend).__name__
    # Inside the jobs of others, threads are what is left to joblib, not a choice.
    if name not in _LOCAL and not backend.nesting_level:
        raise ValueError(
            "The 'fit_timeout' of RobustBayesSearchCV must be None unless folds run in "
            f"processes on this machine. Got it with the {name} of joblib instead; "
            "leave that out, or pass fit_timeout=None."
        )
    if multiprocessing.current_process().daemon:
        raise ValueError(
            "The 'fit_timeout' of RobustBayesSearchCV must be None inside a daemonic "
            "process, which must not start others. Use the 'loky' backend there."
        )


# In the worker ------------------------------------------------------------------------

_settings: tuple[Any, ...] = ()


def _prepare(parcel: bytes) -> None:
    """Unpack what all folds share, once, and take on the settings of the session."""
    global _settings
    job, nested, config, filters = reduction.loads(parcel)
    _settings = (job, nested)
    sklearn.set_config(**config)
    warnings.resetwarnings()
    warnings.filters.extend(filters)  # type: ignore[attr-defined] # it is a list


def _warm_up() -> None:
    """Look for the thread pools of libraries, which takes its time at first."""
    with threadpool_limits(limits=1):
        pass


def _fit(fold: Fold) -> tuple[Key, FoldResult, float]:
    """Fit a fold as a job of joblib would."""
    job, nested = _settings
    call, args, kwargs = job.call(fold, nested=nested, delayed=joblib.delayed)
    with parallel_config(backend=ThreadingBackend(nesting_level=1)):
        result: tuple[Key, FoldResult, float] = call(*args, **kwargs)
    return result
