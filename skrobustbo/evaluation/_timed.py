"""Fit folds in worker processes that can be stopped individually."""

from __future__ import annotations

import math
import multiprocessing
import threading
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self

from joblib import effective_n_jobs, parallel_config
from joblib.externals.loky.backend import reduction
from joblib.externals.loky.process_executor import ProcessPoolExecutor
from joblib.parallel import ThreadingBackend, get_active_backend

from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._folds import Fold, Job
from skrobustbo.evaluation._stops import Stops, signals_held
from skrobustbo.evaluation._workers import (
    LIVES,
    FoldLateError,
    FoldLostError,
    Shared,
    WorkerDiedError,
    WorkerPool,
    leaves_cores,
    warm_up,
)

#: joblib backends whose workers are processes on this machine; inside their jobs,
#: joblib uses "sequential".
_LOCAL = ("LokyBackend", "MultiprocessingBackend", "SequentialBackend")


class TimedPool(WorkerPool):
    """Pool of local worker processes that can be stopped individually.

    Each worker is a separate process pool, so stopping it does not affect other folds.
    A worker receives the data once, when it starts.

    Raises
    ------
    ValueError
        If worker processes cannot be started on this machine.
    """

    def __init__(self, job: Job, n_jobs: int | None, stops: Stops) -> None:
        _check_local()
        super().__init__(job, stops)
        self._workers: list[_Worker] = []
        self.n_workers = int(effective_n_jobs(n_jobs))

    def __enter__(self) -> Self:
        self._job.nested = leaves_cores(self.n_workers)
        self._processes = _Processes(bytes(reduction.dumps(Shared(self._job))))
        self._workers = [_Worker(self._processes) for _ in range(self.n_workers)]
        return self

    def __exit__(self, *error: Any) -> None:
        for worker in self._workers:
            worker.end()
        self._processes.close()

    def _look(self) -> None:
        """Start a spare process once a fold turns out to be slow."""
        if self._processes.n_ended or any(worker.is_slow for worker in self._workers):
            self._processes.stand_by()


class _Process:
    """A pool with a single process, which has received the shared data."""

    def __init__(self, payload: bytes) -> None:
        # A fold starts only after the process is ready. A second task is needed because
        # a loky worker checks its memory after the first one.
        with signals_held():
            self.executor = ProcessPoolExecutor(
                1, initializer=_prepare, initargs=(payload,)
            )
            self.executor.submit(warm_up)
            self.ready: Future[Any] = self.executor.submit(warm_up)


class _Processes:
    """Provides processes for workers.

    A process takes a second or two to start, mostly because of imports. Once a process
    has been stopped, or will probably be stopped, a spare process is therefore started
    in the background.
    """

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._spare: _Process | None = None
        self._ending: list[threading.Thread] = []
        self.n_ended = 0

    def stand_by(self) -> None:
        """Ensure that there is a spare process."""
        if self._spare is None:
            self._spare = _Process(self._payload)

    def take(self) -> _Process:
        """Return the spare process if there is one, or else a new process."""
        process, self._spare = self._spare or _Process(self._payload), None
        return process

    def end(self, process: _Process) -> None:
        """Stop a process without waiting for it to exit."""
        shutdown = process.executor.shutdown
        settings = {"wait": True, "kill_workers": True}
        thread = threading.Thread(target=shutdown, kwargs=settings, daemon=True)
        thread.start()
        self._ending = [other for other in self._ending if other.is_alive()] + [thread]

    def close(self) -> None:
        """Stop the spare process, and wait until all stopped processes have exited."""
        if self._spare is not None:
            self.end(self._spare)
        for thread in self._ending:
            thread.join()


class _Worker:
    """A worker that replaces its process after a failure."""

    def __init__(self, processes: _Processes) -> None:
        self._processes = processes
        self._process: _Process | None = None
        self._failed_starts = 0
        self._last_time = self._half_time = math.inf
        self.fold: Fold | None = None
        self.future: Future[Any] | None = None

    @property
    def end_time(self) -> float:
        """Time at which to check the fold next."""
        return self._last_time if self.is_slow else self._half_time

    @property
    def is_slow(self) -> bool:
        """Whether the fold has used half of its time limit."""
        return self._half_time <= time.monotonic()

    def is_ready(self, *, alone: bool) -> bool:
        """Return whether a fold can start now; if not, prepare the worker."""
        if self._process is None:
            self._process = self._processes.take()
            self.future = self._process.ready
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

    def start(self, fold: Fold, seconds: float, *, alone: bool) -> None:
        assert self._process is not None
        now = time.monotonic()
        self.fold, self._last_time = fold, now + seconds
        self._half_time = now + seconds / 2
        try:
            self.future = self._process.executor.submit(_fit, fold)
        except BrokenProcessPool:  # the process died while idle
            self.future = Future()
            self.future.set_exception(FoldLostError())

    def is_done(self) -> bool:
        assert self.future is not None
        return self.future.done() or self._last_time <= time.monotonic()

    def take(self) -> tuple[FoldId, RawResult, float]:
        assert self.future is not None
        future = self.future
        self._forget()
        if not future.done():
            self._give_up()
            raise FoldLateError
        try:
            result: tuple[FoldId, RawResult, float] = future.result()
        except FoldLostError:
            self.end()
            raise
        except BrokenProcessPool:
            self._give_up()
            raise WorkerDiedError from None
        return result

    def _give_up(self) -> None:
        self._processes.n_ended += 1
        self.end()

    def _forget(self) -> None:
        self.fold = self.future = None
        self._last_time = self._half_time = math.inf

    def end(self) -> None:
        if self._process is not None:
            self._processes.end(self._process)
        self._process = None
        self._forget()


def _check_local() -> None:
    """Raise a ValueError if worker processes cannot be started on this machine."""
    backend, _ = get_active_backend()
    name = type(backend).__name__
    # Inside other jobs, joblib can only use threads, whatever the user chose.
    if name not in _LOCAL and not backend.nesting_level:
        raise ValueError(
            "The 'fit_timeout' of RobustBayesSearchCV must be None unless folds run in "
            "processes on this machine or on Dask workers, because others cannot be "
            f"killed. Got it with the {name} of joblib instead; use another backend, "
            "or pass fit_timeout=None."
        )
    if multiprocessing.current_process().daemon:
        raise ValueError(
            "The 'fit_timeout' of RobustBayesSearchCV must be None inside a daemonic "
            "process, which must not start others. Use the 'loky' backend there."
        )


# In the worker ------------------------------------------------------------------------

_shared: Shared


def _prepare(payload: bytes) -> None:
    """Load the shared data once."""
    global _shared
    _shared = reduction.loads(payload)


def _fit(fold: Fold) -> tuple[FoldId, RawResult, float]:
    """Fit a fold in the same way as a joblib task."""
    with parallel_config(backend=ThreadingBackend(nesting_level=1)):
        return _shared.fit(fold)
