"""Choose the workers that fit the folds of a search."""

from __future__ import annotations

import math
from typing import Any

from joblib.parallel import get_active_backend

from skrobustbo.evaluation._dask import DaskPool, is_dask
from skrobustbo.evaluation._folds import Job
from skrobustbo.evaluation._inner_threads import limit_of
from skrobustbo.evaluation._joblib_pool import JoblibPool
from skrobustbo.evaluation._plan import Schedule
from skrobustbo.evaluation._stops import Stops
from skrobustbo.evaluation._timed import TimedPool
from skrobustbo.evaluation._workers import WorkerPool


def pool_of(job: Job, search: Any, stops: Stops, schedule: Schedule) -> WorkerPool:
    """Return the pool of workers for a search."""
    n_jobs, timeout = search.n_jobs, stops.fit_timeout
    backend, _ = get_active_backend()
    job.n_threads = limit_of(backend)
    pre_dispatch = "n_jobs" if stops.on_time else search.pre_dispatch
    if is_dask(backend):
        seconds = math.inf if timeout is None else timeout
        return DaskPool(job, backend, seconds, pre_dispatch, stops)
    if timeout is not None:
        return TimedPool(job, n_jobs, timeout, stops)
    if schedule.is_live:
        pre_dispatch = "n_jobs"
    return JoblibPool(job, n_jobs, stops, pre_dispatch)
