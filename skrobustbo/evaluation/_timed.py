"""Running folds in worker processes that can be ended one by one."""

from __future__ import annotations

import math
import multiprocessing
import threading
import time
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Self

import sklearn
from joblib import effective_n_jobs, parallel_config
from joblib.externals.loky.backend import reduction
from joblib.externals.loky.process_executor import ProcessPoolExecutor
from joblib.parallel import ThreadingBackend, get_active_backend

from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._folds import LIVES, Fold, Job, leaves_cores
from skrobustbo.evaluation._solo import (
    FoldLateError,
    FoldLostError,
    Shared,
    WorkerDiedError,
    WorkerPool,
    warm_up,
)
from skrobustbo.evaluation._stops import Stops, signals_held

#: The backends of joblib whose workers are processes on this machine; "sequential" is
#: what is inside their jobs.
_LOCAL = ("LokyBackend", "MultiprocessingBackend", "SequentialBackend")


class TimedPool(WorkerPool):
    """Worker processes of this machine, of which each can be ended.

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

    Raises
    ------
    ValueError
        If workers are not to be processes on this machine.
    """

    def __init__(
        self, job: Job, n_jobs: int | None, seconds: float, stops: Stops
    ) -> None:
        _check_local()
        super().__init__(job, seconds, stops)
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
        """Let a spare process get ready once folds turn out to need one."""
        if self._processes.n_ended or any(worker.is_slow for worker in self._workers):
            self._processes.stand_by()


class _Process:
    """A pool of one process, with all that a fold needs.

    Attributes
    ----------
    ready : Future
        Done when it is ready for a fold.
    """

    def __init__(self, payload: bytes) -> None:
        # Getting ready is no part of a fold, which starts when that is done. After its
        # first task a worker of loky looks to its memory, so there is a second one.
        with signals_held():
            self.executor = ProcessPoolExecutor(
                1, initializer=_prepare, initargs=(payload,)
            )
            self.executor.submit(warm_up)
            self.ready: Future[Any] = self.executor.submit(warm_up)


class _Processes:
    """Where workers get their processes from.

    A process takes a second or two to start, most of it for imports. So as soon as one
    was ended, or is likely to be, a spare one gets ready beside the fits.

    Attributes
    ----------
    n_ended : int
        How many were ended while there was a fold in them.
    """

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._spare: _Process | None = None
        self._ending: list[threading.Thread] = []
        self.n_ended = 0

    def stand_by(self) -> None:
        """See to it that there is a spare process."""
        if self._spare is None:
            self._spare = _Process(self._payload)

    def take(self) -> _Process:
        """Return the spare process, or else a new one."""
        process, self._spare = self._spare or _Process(self._payload), None
        return process

    def end(self, process: _Process) -> None:
        """End a process at once, whatever it does, without waiting for its end."""
        shutdown = process.executor.shutdown
        settings = {"wait": True, "kill_workers": True}
        thread = threading.Thread(target=shutdown, kwargs=settings, daemon=True)
        thread.start()
        self._ending = [other for other in self._ending if other.is_alive()] + [thread]

    def close(self) -> None:
        """Wait until all that were ended are gone, the spare one included."""
        if self._spare is not None:
            self.end(self._spare)
        for thread in self._ending:
            thread.join()


class _Worker:
    """One of the workers, which outlives its processes.

    Attributes
    ----------
    fold : Fold or None
        What it is fitting.
    future : Future or None
        What it is busy with: a fold, or getting ready for one.
    end_time : float
        When it has to be looked to: a fold is over then, or, before, half of its time.
    """

    def __init__(self, processes: _Processes) -> None:
        self._processes = processes
        self._process: _Process | None = None
        self._failed_starts = 0
        self._last_time = self._half_time = math.inf
        self.fold: Fold | None = None
        self.future: Future[Any] | None = None

    @property
    def end_time(self) -> float:
        """When the fold is to be looked to next."""
        return self._last_time if self.is_slow else self._half_time

    @property
    def is_slow(self) -> bool:
        """Whether a fold has used up half of its time."""
        return self._half_time <= time.monotonic()

    def is_ready(self, *, alone: bool) -> bool:
        """Return whether a worker is free for a fold; if not, prepare one."""
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
        """Start a fold."""
        assert self._process is not None
        now = time.monotonic()
        self.fold, self._last_time = fold, now + seconds
        self._half_time = now + seconds / 2
        try:
            self.future = self._process.executor.submit(_fit, fold)
        except BrokenProcessPool:  # it died while it had nothing to do
            self.future = Future()
            self.future.set_exception(FoldLostError())

    def is_done(self) -> bool:
        """Return whether something came of the fold."""
        assert self.future is not None
        return self.future.done() or self._last_time <= time.monotonic()

    def take(self) -> tuple[FoldId, RawResult, float]:
        """Return what came of the fold."""
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
        """End the process at once, whatever it does."""
        if self._process is not None:
            self._processes.end(self._process)
        self._process = None
        self._forget()


def _check_local() -> None:
    """Raise if the workers are not processes that we can start and end."""
    backend, _ = get_active_backend()
    name = type(backend).__name__
    # Inside the jobs of others, threads are what is left to joblib, not a choice.
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
    """Unpack what all folds share, once, and take on the settings of the session."""
    global _shared
    _shared = reduction.loads(payload)
    sklearn.set_config(**_shared.config)
    _shared.set_filters()


def _fit(fold: Fold) -> tuple[FoldId, RawResult, float]:
    """Fit a fold as a job of joblib would."""
    with parallel_config(backend=ThreadingBackend(nesting_level=1)):
        return _shared.job.fit(fold)
