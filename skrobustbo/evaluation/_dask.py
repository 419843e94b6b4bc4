"""Fit folds on a Dask cluster, with each fold assigned to one worker.

joblib lets Dask decide where a fold runs and whether it runs again. If a fold kills its
worker, Dask sends it to another worker, and also blames the folds that were waiting on
the dead worker. joblib gives up after ten seconds without workers. Here, each fold is
pinned to one worker, and the scheduler reports which worker died.
"""

from __future__ import annotations

import faulthandler
import math
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import nullcontext, suppress
from typing import Any, Self

from joblib import parallel_config

from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._folds import Fold, Job
from skrobustbo.evaluation._stops import Stops
from skrobustbo.evaluation._workers import (
    STARTS,
    FoldLateError,
    FoldLostError,
    Outcome,
    Shared,
    WorkerDiedError,
    WorkerPool,
    leaves_cores,
    n_dispatched,
    warm_up,
)

#: Number of seconds that a cluster may be without workers.
PATIENCE = 60.0
#: Seconds between two checks of the workers.
POLL = 0.2
#: Task settings that override those of `parallel_config`.
_OURS = ("workers", "allow_other_workers", "retries", "key", "pure")
#: Response from a worker other than the intended one.
_REPLACED = "another worker received the fold"


def _is_a(name: str, what: Any) -> bool:
    """Return whether the class of an object has the given name.

    The class itself cannot be imported, because Dask may not be installed.
    """
    return type(what).__name__ == name


def is_dask(backend: Any) -> bool:
    """Return whether a joblib backend is the Dask backend."""
    return _is_a("DaskDistributedBackend", backend)


class DaskPool(WorkerPool):
    """Pool of all worker threads in a Dask cluster.

    Workers may join at any time. With a time limit for folds, a worker fits one fold at
    a time. Each thread receives at most one fold at a time, regardless of
    `pre_dispatch`.
    """

    pause = POLL

    def __init__(
        self, job: Job, backend: Any, stops: Stops, pre_dispatch: int | str
    ) -> None:
        super().__init__(job, stops)
        self._backend, self._client = backend, backend.client
        self._pre_dispatch = pre_dispatch
        self._patience = max(PATIENCE, backend.wait_for_workers_timeout or 0.0)
        given = backend.submit_kwargs
        self._settings = {k: v for k, v in given.items() if k not in _OURS}
        self._allowed = given.get("workers")
        self._places: list[_Place] = []
        self._data: Any = None
        self._call: Any = None
        self._failed_starts = 0
        self._empty_since: float | None = None

    def __enter__(self) -> Self:
        import dask

        self._next_look = -math.inf
        while not (there := self._there()):
            time.sleep(POLL)
        self.n_workers = sum(map(self._n_slots, there.values()))
        self._job.nested = leaves_cores(self.n_workers)
        self._shared = Shared(self._job)
        # A local cluster gives up on a worker that is away for this long after its
        # death, although it may be restarting.
        self._kept = dask.config.set({"distributed.deploy.lost-worker-timeout": "1d"})
        return self

    def __exit__(self, *error: Any) -> None:
        for place in self._places:
            place.lose()
        self._data = self._call = None
        self._kept.__exit__(*error)

    def run(
        self, waiting: deque[Fold], needs: Callable[[Fold], bool] | None = None
    ) -> Generator[Outcome]:
        """Fit the waiting folds and yield their results.

        If the search itself is a Dask task, it does not block a worker thread.
        """
        with self._backend.retrieval_context():
            yield from super().run(waiting, needs)

    # Workers --------------------------------------------------------------------------

    def _n_slots(self, n_threads: int) -> int:
        return n_threads if self._seconds == math.inf else min(1, n_threads)

    def _there(self) -> dict[str, int]:
        """Return the number of threads of each worker.

        Raise a TimeoutError if there has been no worker for too long.
        """
        there: dict[str, int] = self._client.ncores(self._allowed)
        now = time.monotonic()
        if there:
            self._empty_since = self._call = None
            return there
        self._empty_since = self._empty_since or now
        if now - self._empty_since > self._patience:
            raise TimeoutError(
                f"The Dask cluster has had no worker for {self._patience:g} s, but a "
                "search needs at least one; start workers and call fit again. With a "
                "checkpoint, the search resumes where it stopped."
            )
        # An adaptive cluster starts workers only when it has tasks.
        self._call = self._call or self._client.submit(nothing, pure=False)
        return there

    def _look(self) -> None:
        """Update the list of workers and their state."""
        if time.monotonic() < self._next_look:
            return
        there = self._there()
        for place in self._places:
            if place.address not in there:
                place.lose()
            self._check_start(place)
        self._places = [p for p in self._places if not p.is_lost or p.n_busy]
        known = {place.address for place in self._places if not place.is_lost}
        for address, n_threads in there.items():
            if address not in known:
                self._enrol(address, self._n_slots(n_threads))
        slots = [slot for place in self._places for slot in place.slots]
        n = n_dispatched(self._pre_dispatch, len(slots))
        self._workers = [s for i, s in enumerate(slots) if i < n or s.fold]
        self._next_look = time.monotonic() + POLL

    def _enrol(self, address: str, n_slots: int) -> None:
        try:
            if self._data is None:
                self._data = self._client.scatter(
                    self._shared, workers=[address], hash=False
                )
        except (KeyError, OSError, TimeoutError):  # the worker has just died
            return
        settings = {**self._settings, "workers": [address]}
        self._places.append(
            _Place(self._client, address, n_slots, self._data, settings)
        )

    def _check_start(self, place: _Place) -> None:
        """Record whether a worker has started or died, and raise any other error."""
        if place.is_known:
            return
        error = place.trouble()
        if error is None and not place.is_lost:
            if place.process is not None:
                place.is_known, self._failed_starts = True, 0
                self._check_process(place.process)
            return
        if place.is_lost or _is_a("KilledWorker", error):
            self._failed_starts += 1
        elif isinstance(error, CancelledError):  # lost with another worker
            self._data = None
        elif error is not None:
            raise error
        place.is_known = True
        place.lose()
        if self._failed_starts >= STARTS * self.n_workers:
            raise RuntimeError(
                f"The Dask workers died {self._failed_starts} times in a row before "
                "one of them was ready for a fold; check their logs."
            )

    def _check_process(self, process: tuple[str, int]) -> None:
        """Raise a ValueError if stopping a late fold would end this process."""
        if self._seconds < math.inf and process == _this_process():
            raise ValueError(
                "The 'fit_timeout' of RobustBayesSearchCV must be None unless folds "
                "run in processes that can be killed. Got it with Dask workers that "
                "are threads of this process; start the cluster with processes=True."
            )


class _Place:
    """A worker of the cluster, with slots for folds.

    Attributes
    ----------
    is_lost : bool
        Whether the worker has left the cluster.
    was_alone : bool
        Whether the worker was running a single fold when it was lost.
    is_known : bool
        Whether the outcome of the worker's start has been recorded.
    process : tuple or None
        Host name and process ID, or None until the worker is ready.
    """

    def __init__(
        self,
        client: Any,
        address: str,
        n_slots: int,
        data: Any,
        settings: dict[str, Any],
    ) -> None:
        self.client, self.address, self.settings = client, address, settings
        self.is_lost = self.is_known = self.is_reserved = False
        self.was_alone = False
        # The worker's own copy, because copies on other workers are lost with them.
        self.shared = client.submit(hold, data, pure=False, **settings)
        self.start = _Task(self, prepare, self.shared)
        self.process: tuple[str, int] | None = None
        self.slots = [_DaskSlot(self) for _ in range(n_slots)]

    @property
    def n_busy(self) -> int:
        """Number of folds whose results have not been collected."""
        return sum(slot.fold is not None for slot in self.slots)

    def trouble(self) -> BaseException | None:
        """Return the error that occurred when the worker started, or None."""
        future = self.start.future
        if not future.done():
            return None
        if (error := future.exception()) is None:
            self.process = future.result()
        return error

    def lose(self) -> None:
        """Give up the worker and mark its unfinished folds as lost."""
        if self.is_lost:
            return
        self.is_lost = True
        tasks = [slot.task for slot in self.slots if slot.task is not None]
        tasks = [task for task in tasks if not task.has_result()]
        self.was_alone = len(tasks) == 1
        for task in tasks:
            task.settle(error=WorkerDiedError())
        left = [task.there for task in [*tasks, self.start]]
        if self.client.status == "running":
            self.client.cancel([*left, self.shared])


class _DaskSlot:
    """A worker thread that fits one fold at a time."""

    end_time = math.inf

    def __init__(self, place: _Place) -> None:
        self._place = place
        self.fold: Fold | None = None
        self.task: _Task | None = None

    @property
    def future(self) -> Future[Any] | None:
        """The future of the current fold, or of the worker's start."""
        if self.task is not None:
            return self.task.future
        start = self._place.start.future
        return None if start.done() else start

    def is_ready(self, *, alone: bool) -> bool:
        """Return whether a fold can start now.

        If `alone` is true, no other fold may run in the same process.
        """
        place = self._place
        if place.is_lost or place.process is None or self.fold is not None:
            return False
        return not place.n_busy or not (alone or place.is_reserved)

    def start(self, fold: Fold, seconds: float, *, alone: bool) -> None:
        place = self._place
        self.fold, place.is_reserved = fold, alone
        self._late_time = time.monotonic() + seconds
        self.task = _Task(place, fit, place.shared, place.process, fold, seconds)

    def is_done(self) -> bool:
        return self.task is not None and self.task.future.done()

    def take(self) -> tuple[FoldId, RawResult, float]:
        assert self.task is not None
        try:
            result = self.task.future.result()
            if isinstance(result, str) and result == _REPLACED:
                raise WorkerDiedError
        except (WorkerDiedError, CancelledError) as error:
            raise self._loss(error) from None
        except Exception as error:
            if not _is_a("KilledWorker", error):
                raise
            raise self._loss(error) from None
        finally:
            self.task = self.fold = None
        if isinstance(result, BaseException):
            raise result
        return result

    def _loss(self, error: Exception) -> Exception:
        """Return the error that explains why a fold has no result.

        Dask also cancels a fold when the worker that stores its data is lost.
        """
        place = self._place
        lives = isinstance(error, CancelledError)
        # The scheduler is asked last.
        lives = lives and not place.is_lost and place.address in place.client.ncores()
        place.lose()
        if lives:
            return FoldLostError()
        late = self._late_time <= time.monotonic()
        return FoldLateError() if late else WorkerDiedError(alone=place.was_alone)


class _Task:
    """A task for a particular worker."""

    def __init__(self, place: _Place, function: Callable[..., Any], *args: Any) -> None:
        client = place.client
        self.future: Future[Any] = Future()
        self.there = client.submit(function, *args, pure=False, **place.settings)
        client.loop.add_callback(self._fetch, client)

    async def _fetch(self, client: Any) -> None:
        try:
            result = await client.gather(self.there, asynchronous=True)
        except BaseException as error:
            self.settle(error=error)
        else:
            self.settle(result)

    def has_result(self) -> bool:
        """Return whether the fold has finished, with or without an error."""
        if not self.future.done():
            return False
        error = self.future.exception()
        return not (isinstance(error, CancelledError) or _is_a("KilledWorker", error))

    def settle(self, result: Any = None, error: BaseException | None = None) -> None:
        """Set the outcome of the task unless it already has one."""
        with suppress(InvalidStateError):
            if error is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(error)


# On the worker ------------------------------------------------------------------------

# Dask shows the names of these functions, for example in its dashboard.


def nothing() -> None:
    """Do nothing, but make an adaptive cluster start a worker."""


def hold(shared: Shared) -> Shared:
    return shared


def _this_process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def prepare(shared: Shared) -> tuple[str, int]:
    warm_up()
    return _this_process()


def fit(shared: Shared, process: tuple[str, int], fold: Fold, seconds: float) -> Any:
    """Fit a fold, or return `_REPLACED` if it was meant for another process.

    If a new worker has the same address as a dead one, Dask sends the fold again.
    """
    if process != _this_process():
        return _REPLACED
    inside = parallel_config(backend="dask") if shared.job.nested else nullcontext()
    try:
        with inside, _Alarm(seconds):
            return shared.fit(fold)
    except (SystemExit, KeyboardInterrupt) as error:  # would end the worker
        return error


class _Alarm:
    """Context manager that ends the process after a time limit.

    It works even if other code holds the interpreter lock.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        if self._seconds < math.inf:
            self._file = open(os.devnull, "w")  # open while the alarm is set
            faulthandler.dump_traceback_later(self._seconds, exit=True, file=self._file)

    def __exit__(self, *error: Any) -> None:
        if self._seconds < math.inf:
            faulthandler.cancel_dump_traceback_later()
            self._file.close()
