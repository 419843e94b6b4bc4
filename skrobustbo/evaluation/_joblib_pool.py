"""Pool of joblib workers that receive one fold at a time.

`joblib.Parallel` takes its tasks from an iterator, which cannot wait for the result of
an earlier task. Folds are therefore submitted directly to the backend, as `Parallel`
itself does.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, InvalidStateError, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import Any, Self

from joblib import Parallel, effective_n_jobs
from joblib.parallel import BatchedCalls

from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._folds import Fold, Work
from skrobustbo.evaluation._stops import Stops, signals_held
from skrobustbo.evaluation._workers import (
    STARTS,
    Outcome,
    Shared,
    WorkerDiedError,
    WorkerPool,
    leaves_cores,
    n_dispatched,
    warm_up,
)

#: Seconds that workers may take to accept the last fold before they are killed.
_SECONDS_TO_ACCEPT = 10.0


class JoblibPool(WorkerPool):
    """Pool of joblib workers.

    A single job runs in the current process. Otherwise, `pre_dispatch` is the number of
    folds that are submitted at the same time, which is at most two per worker. The
    default is one per worker, so that no fold waits while a more urgent one is added.
    """

    def __init__(
        self,
        job: Work,
        n_jobs: int | None,
        stops: Stops,
        pre_dispatch: int | str = "n_jobs",
    ) -> None:
        super().__init__(job, stops)
        self._n_jobs = n_jobs
        self.n_workers = int(effective_n_jobs(n_jobs))
        job.nested = leaves_cores(self.n_workers)
        n = min(2 * self.n_workers, n_dispatched(pre_dispatch, self.n_workers))
        self._workers: list[_Slot] = [_Slot(self) for _ in range(n)]

    def __enter__(self) -> Self:
        self._shared = Shared(self._job)
        self._start()
        return self

    def _start(self) -> None:
        with signals_held():  # some workers start here
            self._parallel = Parallel(n_jobs=self._n_jobs).__enter__()
        self._backend = self._parallel._backend
        # The current number of jobs, which a surrounding `parallel_config` may set.
        self._inline = self._backend.effective_n_jobs(self.n_workers) == 1
        if hasattr(self._backend, "start_call"):
            self._backend.start_call()

    def run(
        self, waiting: deque[Fold], needs: Callable[[Fold], bool] | None = None
    ) -> Generator[Outcome]:
        if not self._inline:
            yield from super().run(waiting, needs)
            return
        while waiting:
            fold = waiting.popleft()
            if self._stops.admits(fold.candidate):
                key, result, seconds = self._job.fit(fold)
                self._stops.note(seconds)
                yield key, result

    def __exit__(self, *error: Any) -> None:
        if any(slot.fold for slot in self._workers):
            self._wait_for_acceptance()
            self._backend.abort_everything(ensure_ready=False)
        self._stop()

    def _wait_for_acceptance(self) -> None:
        """Wait until the backend has taken every task out of its queue.

        If loky kills its workers earlier, it deletes a task but leaves the task's
        number in the queue. One of its threads then prints a KeyError.
        """
        end = time.monotonic() + _SECONDS_TO_ACCEPT
        for slot in self._workers:
            task = slot.task
            if not hasattr(task, "running"):  # no future: another backend
                continue
            while not (task.running() or task.done()):
                if time.monotonic() > end:
                    return
                time.sleep(0.001)

    def _stop(self) -> None:
        if hasattr(self._backend, "stop_call"):
            self._backend.stop_call()
        self._parallel.__exit__(None, None, None)

    def submit(
        self, function: Callable[..., Any], *args: Any
    ) -> tuple[Future[Any], Any]:
        """Submit a call and return its future and the backend's task."""
        future: Future[Any] = Future()
        if self._inline:  # a single worker is left
            future.set_result(function(*args))
            return future, None
        backend = self._backend
        call = BatchedCalls([(function, args, {})], backend.get_nested_backend())
        executor: Any = getattr(backend, "_workers", None)
        if hasattr(executor, "_temp_folder_manager"):  # loky stores large arrays there
            executor._temp_folder_manager.set_current_context(self._parallel._id)
        # The older name, up to joblib 1.4.
        submit = getattr(backend, "submit", None) or backend.apply_async
        try:
            with signals_held():  # workers start with the first task
                if backend.supports_retrieve_callback:
                    retrieve = backend.retrieve_result_callback
                    task = submit(call, callback=partial(_settle, future, retrieve))
                else:
                    task = submit(call)
                    Thread(target=_settle, args=(future, task.get), daemon=True).start()
        except Exception as error:  # the workers died while idle
            if not is_loss(error):
                raise
            future.set_exception(error)
            task = None
        return future, task

    def finished(self) -> Iterator[tuple[FoldId, RawResult]]:
        """Yield the available results without waiting for more."""
        for slot in self._workers:
            future = slot.future
            if future is not None and future.done() and future.exception() is None:
                key, result, _ = slot.take()
                yield key, result

    def wake(self) -> None:
        """Wait for the workers, so that no fold is blamed for an earlier death."""
        for _ in range(STARTS):
            ready = [self.submit(warm_up)[0] for _ in range(self.n_workers)]
            wait(ready)
            if not any(map(_is_lost, ready)):
                return
            self._restart()

    def lose(self) -> None:
        """Replace the workers after one has died, and give up unfinished folds."""
        for slot in self._workers:
            if slot.fold and not slot.has_result():
                slot.give_up()
        self._restart()

    def _restart(self) -> None:
        self._stop()
        self._start()


class _Slot:
    """A slot in which one fold runs at a time."""

    end_time = math.inf

    def __init__(self, pool: JoblibPool) -> None:
        self._pool = pool
        self.fold: Fold | None = None
        self.future: Future[Any] | None = None
        self.task: Any = None
        self.alone = False

    def is_ready(self, *, alone: bool) -> bool:
        """Return whether a fold can start now."""
        busy = [slot for slot in self._pool._workers if slot.fold is not None]
        alone = alone or any(slot.alone for slot in busy)
        return self.fold is None and not (busy and alone)

    def start(self, fold: Fold, seconds: float, *, alone: bool) -> None:
        if alone:
            self._pool.wake()
        shared = replace(self._pool._shared, job=self._pool._job.alone(fold))
        self.future, self.task = self._pool.submit(shared.fit, fold)
        self.fold, self.alone = fold, alone

    def is_done(self) -> bool:
        return self.future is not None and self.future.done()

    def has_result(self) -> bool:
        """Return whether the fold has finished without losing its worker."""
        return self.is_done() and not _is_lost(self.future)

    def give_up(self) -> None:
        """Set the error of a fold whose worker has died."""
        self.future = Future()
        self.future.set_exception(WorkerDiedError(self.alone))

    def take(self) -> tuple[FoldId, RawResult, float]:
        if not self.has_result():
            self._pool.lose()
        assert self.future is not None
        future, self.fold, self.future = self.future, None, None
        return future.result()


def is_loss(error: BaseException | None) -> bool:
    """Return whether an error means that a worker process died.

    Ray's error is recognised by its class name, because Ray may not be installed.
    """
    names = {cls.__name__ for cls in type(error).__mro__}
    return isinstance(error, BrokenProcessPool) or "RayActorError" in names


def _is_lost(future: Future[Any] | None) -> bool:
    return future is not None and future.done() and is_loss(future.exception())


def _settle(future: Future[Any], retrieve: Callable[..., list[Any]], *out: Any) -> None:
    """Copy the outcome of a backend task to its future.

    The backend may call this function in any thread.
    """
    # The fold may have been given up in the meantime.
    with suppress(InvalidStateError):
        try:
            (result,) = retrieve(*out)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
