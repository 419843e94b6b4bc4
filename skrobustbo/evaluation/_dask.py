"""What joblib's Dask backend lacks where workers die.

- A task that takes down one worker after the other is given up by Dask. The backend
  (joblib 1.4 to 1.6) keeps the error in the future that it returned when the task was
  sent, but does not call back, so that `joblib.Parallel` waits for ever. (What a task
  raises itself comes back as a result.)
- While a single worker is left, `joblib.Parallel` runs tasks in the calling process; a
  fold that kills its process would take the search down with it.
- Tasks of a call that was broken off stay on the cluster. They may go on killing
  workers, and with them a fold that is not to blame.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any

from joblib import Parallel

Callback = Callable[[Any], Any]
_MARK = "_skrobustbo_mended"


def mend(parallel: Parallel) -> None:
    """Make joblib's Dask backend, if it is in use, fit to lose workers.

    The backend belongs to the user's `parallel_config` and serves one pool after the
    other: it is mended once.
    """
    backend = parallel._backend
    if not _is_dask(backend) or hasattr(backend, _MARK):
        return
    name = "submit" if hasattr(backend, "submit") else "apply_async"  # joblib < 1.5
    setattr(backend, name, partial(_send, getattr(backend, name)))
    backend.effective_n_jobs = partial(_never_one, backend.effective_n_jobs)
    setattr(backend, _MARK, True)


def take_back(parallel: Parallel) -> None:
    """Cancel what a call that was broken off has left on a Dask cluster."""
    backend = parallel._backend
    if _is_dask(backend):
        backend.client.cancel(list(backend._results))


def gives_up(error: Exception) -> bool:
    """Tell whether Dask gives up a task, which has taken several workers down."""
    return _is_a("KilledWorker", error)


def _is_dask(backend: Any) -> bool:
    return _is_a("DaskDistributedBackend", backend)


def _is_a(name: str, what: Any) -> bool:
    """Tell by the name of the class, as Dask need not be there."""
    return type(what).__name__ == name


def _never_one(count: Callable[[int | None], int], n_jobs: int | None) -> int:
    """Return the number of threads of a cluster, but two for one."""
    counted = count(n_jobs)
    return max(2, counted) if counted else 0


def _send(
    submit: Callable[..., Future[Any]], task: Any, callback: Callback | None = None
) -> Future[Any]:
    """Send a task whose callback hears of an error in place of a result, too."""
    future = submit(task, callback=callback)
    if callback is not None:
        future.add_done_callback(partial(_tell, callback))
    return future


def _tell(callback: Callback, future: Future[Any]) -> None:
    error = future.exception()
    if error is not None:
        callback(error)
