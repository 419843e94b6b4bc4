"""Waiting for workers to come back, so that a search never takes their place."""

from __future__ import annotations

import time

from joblib import effective_n_jobs

#: Seconds that lost workers have to come back.
PATIENCE = 60.0


def count_workers(n_jobs: int | None) -> int:
    """Return the number of workers there are at present.

    A cluster counts its own for every `n_jobs` but 1.
    """
    try:
        return int(max(effective_n_jobs(n_jobs), effective_n_jobs(None)))
    except TimeoutError:  # Dask's, where there has been no worker for a while
        return 0


def has_workers(n_jobs: int | None, *, expected: bool) -> bool:
    """Tell whether folds run in workers, if need be after some time.

    Where there is a single worker, as there may be while a cluster replaces another
    that died, joblib fits in this process instead: a fold that kills its process would
    take the search down.

    Parameters
    ----------
    n_jobs : int or None
        As joblib has it.
    expected : bool
        Whether there have been two workers or more before, and so will be.
    """
    deadline = time.monotonic() + (PATIENCE if expected else 0.0)
    while count_workers(n_jobs) < 2:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.1)
    return True
