"""The runs of a search: the calls of `fit` that a checkpoint was written by."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from skrobustbo._forms import Count
from skrobustbo.checkpoint import _records as records

#: The latest time that a clock may show.
_LAST = 1e11
#: Runs that a checkpoint may have, and characters of one.
MAX_RUNS, MAX_RUN = 1_000_000, 1_000_000
_Time = Annotated[float, lambda seconds: 0 <= seconds <= _LAST]
_Pid = Annotated[int, lambda pid: 0 <= pid <= 2**31]


@dataclass(frozen=True)
class FitCall:
    """A call of `fit`.

    Attributes
    ----------
    started, ended : float
        Seconds since the epoch; None if it has not ended, or was killed.
    pid : int
        The number of its process.
    machine : str
        What tells the machine from others.
    n_iter : int
        Candidates planned.
    settings : dict of str to str
        Descriptions of the settings that may change from call to call.
    reason : str or None
        Why it ended.
    """

    started: _Time
    pid: _Pid
    machine: str
    n_iter: Count
    settings: dict[str, str]
    ended: _Time | None = None
    reason: str | None = None

    @property
    def told(self) -> tuple[Any, ...]:
        """What is written of a call that only read the file, if it differs."""
        return self.n_iter, self.settings, self.reason


_FORMS = get_type_hints(FitCall, include_extras=True)


def begun(n_iter: int, settings: Mapping[str, str]) -> FitCall:
    """Return the call of `fit` that begins here and now."""
    return FitCall(now(), os.getpid(), _machine(), int(n_iter), dict(settings))


def write_run(run: FitCall) -> str:
    """Return the row of a run; Malformed if it could not be read."""
    body = records.dumps(vars(run))
    read_run(body)
    return body


def read_run(body: str) -> FitCall:
    """Return the run of a row; Malformed if it is none."""
    record = records.loads(body)
    records.check_parts(record, _FORMS, "a run")
    run = FitCall(**record)
    has_ended = run.ended is not None
    records.require((run.reason is not None) == has_ended, "the end of a run")
    return run


def is_alive(run: FitCall, is_held: bool | None) -> bool | None:
    """Return whether a search goes on; None if that cannot be told.

    Parameters
    ----------
    run : FitCall
        The last run.
    is_held : bool or None
        Whether the lock of the checkpoint is held; None if that cannot be told.
    """
    if is_held or run.ended is not None:
        return bool(is_held)  # even if it has ended: another one may have begun
    # The locks of other machines need not show here.
    is_here = bool(set(run.machine.split()) & set(_machine().split()))
    return False if is_held is False and is_here else None


def now() -> float:
    """Return the seconds since the epoch, even of a clock that is far off."""
    return min(max(0.0, time.time()), _LAST)


def _machine() -> str:
    """Return what tells this machine from others: digests of its name and its start.

    Each alone may change: the name from one container to the next, the other when the
    machine starts again.
    """
    marks = [platform.node().encode()]
    with suppress(OSError):
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_bytes())
    return " ".join(hashlib.blake2b(m, digest_size=8).hexdigest() for m in marks)
