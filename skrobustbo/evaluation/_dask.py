"""Running folds on a Dask cluster, each in a thread that is known.

joblib's own way there leaves it to Dask where a fold runs and where it runs again. Dask
gives a fold that kills its workers one after the other, blames what waited beside it,
and joblib gives up when no worker is left for ten seconds. Here a fold is pinned to one
worker, and who dies is known by what the scheduler says of its workers.
"""

from __future__ import annotations

import faulthandler
import math
import os
import socket
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Self

import joblib
import sklearn
from joblib import parallel_config
from joblib._utils import eval_expr
from threadpoolctl import threadpool_limits

from skrobustbo.evaluation._folds import (
    STARTS,
    Fold,
    FoldResult,
    Job,
    Key,
    leaves_cores,
)
from skrobustbo.evaluation._solo import (
    FoldLateError,
    FoldLostError,
    SoloPool,
    WorkerDiedError,
)
from skrobustbo.evaluation._stops import Stops

#: Seconds that a cluster may be without any worker.
PATIENCE = 60.0
#: Seconds between two looks at which workers there are.
POLL = 0.2
#: What is ours to say of a task, whatever `parallel_config` says of tasks.
_OURS = ("workers", "allow_other_workers", "retries", "key", "pure")
_REPLACED = "the worker is not the one that was sent the fold"


def is_dask(backend: Any) -> bool:
    """Tell whether folds go to Dask, which need not be installed."""
    return _is_a("DaskDistributedBackend", backend)


def _is_a(name: str, what: Any) -> bool:
    return type(what).__name__ == name


class DaskPool(SoloPool):
    """The threads of the workers of a cluster, those that join later included.

    With a time limit for folds, a worker fits one at a time, whatever its threads.

    Parameters
    ----------
    job : Job
        What all folds share.
    backend : DaskDistributedBackend
        joblib's, which knows the client.
    seconds : float
        What a fold may take, scoring included.
    pre_dispatch : int or str
        As joblib has it; at most a fold for each thread is sent, however large it is.
    stops : Stops
        Says whether another fold may be started.
    """

    pause = POLL

    def __init__(
        self,
        job: Job,
        backend: Any,
        seconds: float,
        pre_dispatch: int | str,
        stops: Stops,
    ) -> None:
        super().__init__(job, seconds, stops)
        self._backend, self._client = backend, backend.client
        self._pre_dispatch = "all" if stops.on_time else pre_dispatch
        self._patience = max(PATIENCE, backend.wait_for_workers_timeout or 0.0)
        given = backend.submit_kwargs
        self._settings = {k: v for k, v in given.items() if k not in _OURS}
        self._allowed = given.get("workers")
        self._places: list[_Place] = []
        self._data: Any = None
        self._call: Any = None
        self._failed_starts = 0

    def __enter__(self) -> Self:
        import dask

        self._seen = time.monotonic()
        self._next_look = -math.inf
        while not (there := self._there()):
            time.sleep(POLL)
        self.n_workers = sum(map(self._n_slots, there.values()))
        self._shared = _Shared(
            self._job,
            leaves_cores(self.n_workers),
            sklearn.get_config(),
            list(warnings.filters),
        )
        # A cluster of this process gives up for ever a worker that is not there so long
        # after a death, though it may be starting again then.
        self._kept = dask.config.set({"distributed.deploy.lost-worker-timeout": "1d"})
        return self

    def __exit__(self, *error: Any) -> None:
        for place in self._places:
            place.lose()
        self._data = self._call = None
        self._kept.__exit__(*error)

    def run(self, folds: Sequence[Fold]) -> Generator[tuple[Key, FoldResult]]:
        """Fit folds, without taking up a thread if this is itself a task."""
        with self._backend.retrieval_context():
            yield from super().run(folds)

    # The workers ----------------------------------------------------------------------

    def _n_slots(self, n_threads: int) -> int:
        return n_threads if self._seconds == math.inf else min(1, n_threads)

    def _there(self) -> dict[str, int]:
        """Return the workers and their threads; TimeoutError if none for too long."""
        there: dict[str, int] = self._client.ncores(self._allowed)
        now = time.monotonic()
        if there:
            self._seen, self._call = now, None
            return there
        if now - self._seen > self._patience:
            raise TimeoutError(
                f"The Dask cluster has had no worker for {self._patience:g} s, where a "
                "search needs at least one; start workers and call fit again, which "
                "goes on where it was if it has a checkpoint."
            )
        # A cluster that adapts starts workers only where there is a task for them.
        self._call = self._call or self._client.submit(_nothing, pure=False)
        return there

    def _look(self) -> None:
        """Take note of workers that came, went, or got ready."""
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
        n = self._at_once(len(slots))
        self._workers = [s for i, s in enumerate(slots) if i < n or s.fold]
        self._next_look = time.monotonic() + POLL

    def _at_once(self, n_slots: int) -> int:
        if self._pre_dispatch == "all":
            return n_slots
        given = str(self._pre_dispatch).replace("n_jobs", str(n_slots))
        return max(1, int(eval_expr(given)))

    def _enrol(self, address: str, n_slots: int) -> None:
        try:
            if self._data is None:
                self._data = self._client.scatter(
                    self._shared, workers=[address], hash=False
                )
        except (OSError, TimeoutError):  # it has just died
            return
        settings = {**self._settings, "workers": [address]}
        self._places.append(
            _Place(self._client, address, n_slots, self._data, settings)
        )

    def _check_start(self, place: _Place) -> None:
        """Count workers that die before they are ready; raise any other error."""
        if place.is_known:
            return
        error = place.trouble()
        if error is None and not place.is_lost:
            if place.process is not None:
                place.is_known, self._failed_starts = True, 0
                self._check_process(place.process)
            return
        if isinstance(error, CancelledError):  # the data went with a worker
            self._data = None
        elif error is not None and not _is_a("KilledWorker", error):
            raise error
        place.is_known = True
        place.lose()
        self._failed_starts += 1
        if self._failed_starts == STARTS:
            raise RuntimeError(
                f"The Dask workers died {STARTS} times in turn before they were ready "
                "for a fold, where one has to get ready; see what their logs say."
            )

    def _check_process(self, process: tuple[str, int]) -> None:
        """Raise if a fold that is late would take this process down."""
        if self._seconds < math.inf and process == _process():
            raise ValueError(
                "The 'fit_timeout' of RobustBayesSearchCV must be None unless folds "
                "run in processes that can be ended. Got it with Dask workers that are "
                "threads of this process; start the cluster with processes=True."
            )


class _Place:
    """A worker of the cluster, with as many slots as it has threads for folds.

    Attributes
    ----------
    is_lost : bool
        Whether it is there no more.
    was_alone : bool
        Whether a single fold was under way when it was lost.
    is_known : bool
        Whether it has been taken note of how its start went.
    process : tuple or None
        The name of its machine and its process id; None before it is ready.
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
        # The worker's own copy: others come and go, and with them their copies.
        self.shared = client.submit(_hold, data, pure=False, **settings)
        self.start = _Task(self, _prepare, self.shared)
        self.process: tuple[str, int] | None = None
        self.slots = [_Slot(self) for _ in range(n_slots)]

    @property
    def n_busy(self) -> int:
        """The number of its folds of which the result has not been taken."""
        return sum(slot.fold is not None for slot in self.slots)

    def trouble(self) -> BaseException | None:
        """Return what kept it from getting ready, if anything."""
        future = self.start.future
        if not future.done():
            return None
        if (error := future.exception()) is None:
            self.process = future.result()
        return error

    def is_gone(self) -> bool:
        """Tell whether the scheduler knows the worker no more."""
        return self.address not in self.client.ncores()

    def lose(self) -> None:
        """Give up the worker and its folds, of which any may have killed it."""
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


class _Slot:
    """A thread of a worker.

    Attributes
    ----------
    fold : Fold or None
        What it is fitting.
    end_time : float
        Never; the worker ends itself when a fold is late.
    """

    end_time = math.inf

    def __init__(self, place: _Place) -> None:
        self._place = place
        self.fold: Fold | None = None
        self.task: _Task | None = None

    @property
    def future(self) -> Future[Any] | None:
        """What it is busy with: a fold, or getting ready for one."""
        if self.task is not None:
            return self.task.future
        start = self._place.start.future
        return None if start.done() else start

    def is_ready(self, *, alone: bool) -> bool:
        """Tell whether a fold can be started at once.

        With `alone`, no other fold may be in the same process meanwhile.
        """
        place = self._place
        if place.is_lost or place.process is None or self.fold is not None:
            return False
        return not place.n_busy or not (alone or place.is_reserved)

    def start(self, fold: Fold, seconds: float, *, alone: bool) -> None:
        """Start a fold."""
        place = self._place
        self.fold, place.is_reserved = fold, alone
        self._late_time = time.monotonic() + seconds
        self.task = _Task(place, _fit, place.shared, place.process, fold, seconds)

    def is_done(self) -> bool:
        """Tell whether something came of the fold."""
        return self.task is not None and self.task.future.done()

    def take(self) -> tuple[Key, FoldResult, float]:
        """Return what came of the fold."""
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
        taken: tuple[Key, FoldResult, float] = result
        return taken

    def _loss(self, error: Exception) -> Exception:
        """Return what to say of a fold that has no result.

        Dask cancels it, too, if the data were lost with its worker.
        """
        place = self._place
        cancelled = isinstance(error, CancelledError)
        died = place.is_lost or not cancelled or place.is_gone()
        place.lose()
        if not died:
            return FoldLostError()
        late = self._late_time <= time.monotonic()
        return FoldLateError() if late else WorkerDiedError(alone=place.was_alone)


class _Task:
    """A task of one worker.

    Attributes
    ----------
    there : distributed.Future
        The task.
    future : Future
        What came of it, fetched as soon as it is there.
    """

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
        """Tell whether the fold came to its end, if only by an error."""
        if not self.future.done():
            return False
        error = self.future.exception()
        return not (isinstance(error, CancelledError) or _is_a("KilledWorker", error))

    def settle(self, result: Any = None, error: BaseException | None = None) -> None:
        """Say what came of the task, unless it has been said."""
        try:
            if error is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(error)
        except InvalidStateError:
            pass


# On the cluster -----------------------------------------------------------------------


@dataclass
class _Shared:
    """What all folds share, and the settings of the session."""

    job: Job
    nested: bool
    config: dict[str, Any]
    filters: list[Any]


def _nothing() -> None:
    """Give a cluster that adapts a reason to start a worker."""


def _hold(shared: _Shared) -> _Shared:
    return shared


def _process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def _prepare(shared: _Shared) -> tuple[str, int]:
    """Look for the thread pools of libraries, which takes its time at first."""
    with threadpool_limits(limits=1):
        return _process()


def _fit(shared: _Shared, process: tuple[str, int], fold: Fold, seconds: float) -> Any:
    """Fit a fold as a job of joblib would, unless it is the second time.

    Dask sends it again to a worker that comes back at the same address.
    """
    if process != _process():
        return _REPLACED
    call, args, kwargs = shared.job.call(
        fold, nested=shared.nested, delayed=joblib.delayed
    )
    inside = parallel_config(backend="dask") if shared.nested else nullcontext()
    with sklearn.config_context(**shared.config), warnings.catch_warnings(), inside:
        warnings.resetwarnings()
        warnings.filters.extend(shared.filters)  # type: ignore[attr-defined] # a list
        try:
            with _Alarm(seconds):
                return call(*args, **kwargs)
        except (SystemExit, KeyboardInterrupt) as error:  # would end the worker
            return error


class _Alarm:
    """Ends the process after some time, even if it holds the interpreter's lock."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        if self._seconds < math.inf:
            self._file = open(os.devnull, "w")  # as long as it is set
            faulthandler.dump_traceback_later(self._seconds, exit=True, file=self._file)

    def __exit__(self, *error: Any) -> None:
        if self._seconds < math.inf:
            faulthandler.cancel_dump_traceback_later()
            self._file.close()
