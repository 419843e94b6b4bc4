"""What runs on the workers of a Dask cluster."""

from __future__ import annotations

import faulthandler
import math
import os
import socket
import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import joblib
import sklearn
from joblib import parallel_config
from threadpoolctl import threadpool_limits

from skrobustbo.evaluation._folds import Fold, Job

#: What a worker says that is not the one that was sent the fold.
REPLACED = "the worker is not the one that was sent the fold"


@dataclass
class Shared:
    """What all folds share, and the settings of the session."""

    job: Job
    nested: bool
    config: dict[str, Any]
    filters: list[Any]


def nothing() -> None:
    """Give a cluster that adapts a reason to start a worker."""


def hold(shared: Shared) -> Shared:
    return shared


def this_process() -> tuple[str, int]:
    return socket.gethostname(), os.getpid()


def prepare(shared: Shared) -> tuple[str, int]:
    """Look for the thread pools of libraries, which takes its time at first."""
    with threadpool_limits(limits=1):
        return this_process()


def fit(shared: Shared, process: tuple[str, int], fold: Fold, seconds: float) -> Any:
    """Fit a fold as a job of joblib would, unless it is the second time.

    Dask sends it again to a worker that comes back at the same address.
    """
    if process != this_process():
        return REPLACED
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
