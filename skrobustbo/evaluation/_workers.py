"""Waiting for workers to come back, so that a search never takes their place."""

from __future__ import annotations

import time
from concurrent.futures.process import BrokenProcessPool

from joblib import effective_n_jobs

#: Seconds that lost workers have to come back.
PATIENCE = 60.0


def wait_for_workers(n_jobs: int | None) -> None:
    """Wait, after a loss, until there are two workers.

    Where a cluster has a single one left, joblib fits in this process instead. A fold
    that kills its process would take the search down.

    Parameters
    ----------
    n_jobs : int or None
        As joblib has it.

    Raises
    ------
    BrokenProcessPool
        If the workers do not come back.
    """
    deadline = time.monotonic() + PATIENCE
    while _n_workers(n_jobs) < 2:
        if time.monotonic() > deadline:
            raise BrokenProcessPool(
                "Workers died, and there must be two of them for the search to go on: "
                f"they did not come back within {PATIENCE:g} seconds. Give the cluster "
                "more workers, or workers that are started again."
            )
        time.sleep(0.1)


def _n_workers(n_jobs: int | None) -> int:
    try:
        # A cluster counts its own workers for every n_jobs but 1.
        return int(max(effective_n_jobs(n_jobs), effective_n_jobs(None)))
    except TimeoutError:  # Dask's, where there has been no worker for a while
        return 0
