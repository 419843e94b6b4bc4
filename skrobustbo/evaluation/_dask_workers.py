"""Workers of a Dask cluster and the tasks that run on them."""

from __future__ import annotations

import faulthandler
import math
import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from contextlib import nullcontext
from typing import Any

from joblib import parallel_config

from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._folds import Fold
from skrobustbo.evaluation._workers import (
    FoldLateError,
    FoldLostError,
    Shared,
    WorkerDiedError,
    warm_up,
)

#: Response from a worker other than the intended one.
REPLACED = "another worker received the fold"


def is_a(name: str, what: Any) -> bool:
    """Return whether the class of an object has the given name.

    The class itself cannot be imported, because Dask may not be installed.
    """
    return type(what).__name__ == name


class Place:
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

    def __init__(self, place: Place) -> None:
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
            if isinstance(result, str) and result == REPLACED:
                raise WorkerDiedError
        except (WorkerDiedError, CancelledError) as error:
            raise self._loss(error) from None
        except Exception as error:
            if not is_a("KilledWorker", error):
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

    def __init__(self, place: Place, function: Callable[..., Any], *args: Any) -> None:
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
        return not (isinstance(error, CancelledError) or is_a("KilledWorker", error))

    def settle(self, result: Any = None, error: BaseException | None = None) -> None:
        """Set the outcome of the task unless it already has one."""
        try:
            if error is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(error)
        except InvalidStateError:
            pass


# On the worker ------------------------------------------------------------------------


def nothing() -> None:
    """Do nothing, but make an adaptive cluster start a worker."""


def hold(shared: Shared) -> Shared:
    return shared


def this_process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def prepare(shared: Shared) -> tuple[str, int]:
    warm_up()
    return this_process()


def fit(shared: Shared, process: tuple[str, int], fold: Fold, seconds: float) -> Any:
    """Fit a fold, or return `REPLACED` if it was meant for another process.

    If a new worker has the same address as a dead one, Dask sends the fold again.
    """
    if process != this_process():
        return REPLACED
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
