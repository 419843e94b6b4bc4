"""Pool of joblib workers that receive one fold at a time.

`joblib.Parallel` takes its tasks from an iterator, which cannot wait for the result of
an earlier task. Folds are therefore submitted directly to the backend, as `Parallel`
itself does.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

import sklearn
from joblib import Parallel, effective_n_jobs
from joblib.parallel import BatchedCalls

from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._folds import Fold, Work, is_loss, leaves_cores
from skrobustbo.evaluation._solo import Shared, WorkerDiedError, WorkerPool
from skrobustbo.evaluation._stops import Stops, signals_held

#: Seconds that workers may take to accept the last fold before they are killed.
_SECONDS_TO_ACCEPT = 10.0


class JoblibPool(WorkerPool):
    """Pool of joblib workers.

    A single job runs in the current process.

    Raises
    ------
    ValueError
        If the backend does not report finished tasks.
    """

    def __init__(self, job: Work, n_jobs: int | None, stops: Stops) -> None:
        super().__init__(job, math.inf, stops)
        self._n_jobs = n_jobs
        self.n_workers = int(effective_n_jobs(n_jobs))
        job.nested = leaves_cores(self.n_workers)
        self._workers: list[_Slot] = []

    def __enter__(self) -> Self:
        self._shared = Shared(self._job)
        self._start()
        self._workers = [_Slot(self) for _ in range(self.n_workers)]
        return self

    def _start(self) -> None:
        with signals_held():
            self._parallel = Parallel(n_jobs=self._n_jobs).__enter__()
        self._backend = self._parallel._backend
        # The current number of jobs, which a surrounding `parallel_config` may set.
        self._inline = self._backend.effective_n_jobs(self.n_workers) == 1
        if not (self._inline or self._backend.supports_retrieve_callback):
            self._stop()
            raise ValueError(
                "The joblib backend must report when a task is done, for any "
                "'schedule' but 'rounds' and for 'racing'. Got "
                f"{type(self._backend).__name__}, which does not; use another backend."
            )
        if hasattr(self._backend, "start_call"):
            self._backend.start_call()

    def __exit__(self, *error: Any) -> None:
        if any(slot.fold for slot in self._workers) and not self._inline:
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
        if not self._inline and hasattr(self._backend, "stop_call"):
            self._backend.stop_call()
        self._parallel.__exit__(None, None, None)

    def submit(self, fold: Fold) -> tuple[Future[Any], Any]:
        """Submit a fold and return its future and the backend's task."""
        future: Future[Any] = Future()
        if self._inline:
            future.set_result(self._job.fit(fold))
            return future, None
        backend = self._backend
        nested = backend.get_nested_backend()
        shared = replace(self._shared, job=self._job.alone(fold))
        call = BatchedCalls([(_fit, (shared, fold), {})], nested)
        executor: Any = getattr(backend, "_workers", None)
        if hasattr(executor, "_temp_folder_manager"):  # loky stores large arrays there
            executor._temp_folder_manager.set_current_context(self._parallel._id)
        try:
            # The older name, up to joblib 1.4.
            submit = getattr(backend, "submit", None) or backend.apply_async
            with signals_held():  # workers start with the first task
                task = submit(call, callback=partial(_settle, future, backend))
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

    def lose(self) -> None:
        """Replace the workers after one has died, and give up unfinished folds."""
        lost = [slot for slot in self._workers if slot.fold and not slot.has_result()]
        for slot in lost:
            slot.give_up(WorkerDiedError(alone=len(lost) == 1))
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
        self.future, self.task = self._pool.submit(fold)
        self.fold, self.alone = fold, alone

    def is_done(self) -> bool:
        return self.future is not None and self.future.done()

    def has_result(self) -> bool:
        """Return whether the fold has finished without losing its worker."""
        if self.future is None or not self.future.done():
            return False
        error = self.future.exception()
        return not (isinstance(error, Exception) and is_loss(error))

    def give_up(self, error: Exception) -> None:
        """Set the error of a fold whose worker has died."""
        self.future = Future()
        self.future.set_exception(error)

    def take(self) -> tuple[FoldId, RawResult, float]:
        if not self.has_result():
            self._pool.lose()
        assert self.future is not None
        future, self.fold, self.future = self.future, None, None
        return future.result()


def _settle(future: Future[Any], backend: Any, out: Any) -> None:
    """Copy the outcome of a backend task to its future.

    The backend may call this function in any thread.
    """
    try:
        (result,) = backend.retrieve_result_callback(out)
    except BaseException as error:
        _unless_given_up(future.set_exception, error)
    else:
        _unless_given_up(future.set_result, result)


def _unless_given_up(say: Callable[[Any], None], what: Any) -> None:
    with suppress(InvalidStateError):
        say(what)


# In the worker ------------------------------------------------------------------------


def _fit(shared: Shared, fold: Fold) -> tuple[FoldId, RawResult, float]:
    """Fit a fold with the settings and warning filters of the main process."""
    with sklearn.config_context(**shared.config), warnings.catch_warnings():
        shared.set_filters()
        return shared.job.fit(fold)
