"""Fit folds on a Dask cluster, with each fold assigned to one worker.

joblib lets Dask decide where a fold runs and whether it runs again. If a fold kills its
worker, Dask sends it to another worker, and also blames the folds that were waiting on
the dead worker. joblib gives up after ten seconds without workers. Here, each fold is
pinned to one worker, and the scheduler reports which worker died.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from typing import Any, Self

from skrobustbo.evaluation._dask_workers import Place, is_a, nothing, this_process
from skrobustbo.evaluation._folds import Fold, Job
from skrobustbo.evaluation._stops import Stops
from skrobustbo.evaluation._workers import (
    STARTS,
    Outcome,
    Shared,
    WorkerPool,
    leaves_cores,
    n_dispatched,
)

#: Number of seconds that a cluster may be without workers.
PATIENCE = 60.0
#: Seconds between two checks of the workers.
POLL = 0.2
#: Task settings that override those of `parallel_config`.
_OURS = ("workers", "allow_other_workers", "retries", "key", "pure")


def is_dask(backend: Any) -> bool:
    """Return whether a joblib backend is the Dask backend."""
    return is_a("DaskDistributedBackend", backend)


class DaskPool(WorkerPool):
    """Pool of all worker threads in a Dask cluster.

    Workers may join at any time. With a time limit for folds, a worker fits one fold at
    a time. Each thread receives at most one fold at a time, regardless of
    `pre_dispatch`.
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
        self._pre_dispatch = pre_dispatch
        self._patience = max(PATIENCE, backend.wait_for_workers_timeout or 0.0)
        given = backend.submit_kwargs
        self._settings = {k: v for k, v in given.items() if k not in _OURS}
        self._allowed = given.get("workers")
        self._places: list[Place] = []
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
        self._places.append(Place(self._client, address, n_slots, self._data, settings))

    def _check_start(self, place: Place) -> None:
        """Record whether a worker has started or died, and raise any other error."""
        if place.is_known:
            return
        error = place.trouble()
        if error is None and not place.is_lost:
            if place.process is not None:
                place.is_known, self._failed_starts = True, 0
                self._check_process(place.process)
            return
        if place.is_lost or is_a("KilledWorker", error):
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
        if self._seconds < math.inf and process == this_process():
            raise ValueError(
                "The 'fit_timeout' of RobustBayesSearchCV must be None unless folds "
                "run in processes that can be killed. Got it with Dask workers that "
                "are threads of this process; start the cluster with processes=True."
            )
