"""The runs of a search: the calls of `fit` that a checkpoint was written by."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

from skrobustbo._forms import Count
from skrobustbo.checkpoint import _records as records
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._compare import changes
from skrobustbo.checkpoint._lock import CheckpointError

Run = dict[str, Any]

#: The latest time that a clock may show.
_LAST = 1e11
#: Runs that a checkpoint may have, and characters of one.
MAX_RUNS, MAX_RUN = 1_000_000, 1_000_000
_TIME = Annotated[float, lambda seconds: 0 <= seconds <= _LAST]
_RUN = {
    "started": _TIME,
    "pid": Annotated[int, lambda pid: 0 <= pid <= 2**31],
    "machine": str,
    "n_iter": Count,
    "settings": dict[str, str],
    "ended": _TIME | None,
    "reason": str | None,
}
#: What is noted of a run only if it differs from the run before.
_TOLD = ("n_iter", "settings", "reason")


class FitCall:
    """The run of this process, noted in a checkpoint.

    It is written when the run first writes anything, so that a refused call changes
    nothing. Nothing that is done depends on it, so that it fails silently, on a full
    disk for example.

    Parameters
    ----------
    n_iter : int, default=0
        Candidates planned.
    settings : dict of str to str, default={}
        Descriptions of the settings that may change from run to run.

    Attributes
    ----------
    earlier : list of dict
        The runs before.
    is_begun : bool
        Whether the run is in the file.
    """

    def __init__(
        self, n_iter: int = 0, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.earlier: list[Run] = []
        self.is_begun = False
        self._run: Run = {
            "started": _now(),
            "pid": os.getpid(),
            "machine": _machine(),
            "n_iter": int(n_iter),
            "settings": dict(settings),
            "ended": None,
            "reason": None,
        }

    @property
    def changes(self) -> list[str]:
        """Which settings differ from those of the run before, in words."""
        before = self.earlier[-1]["settings"] if self.earlier else {}
        return changes(before, self._run["settings"])

    def row(self) -> store.Row:
        """Return the row of the run for a file that is about to be written."""
        self.is_begun = True
        return len(self.earlier), records.dumps(self._run)

    def begin(self, file: store.Store) -> None:
        """Write the run, unless it is there."""
        if not self.is_begun:
            self._write(file)

    def end(self, file: store.Store, reason: str) -> None:
        """Write why the run ended, unless it has only read what is there already."""
        self._run |= {"ended": _now(), "reason": reason}
        last = {} if self.is_begun or not self.earlier else self.earlier[-1]
        if any(last.get(name) != self._run[name] for name in _TOLD):
            self._write(file)

    def _write(self, file: store.Store) -> None:
        row = self.row()
        with suppress(CheckpointError, records.Malformed):
            read_run(row[1])
            file.add("run", [row], replace=True)


def read_run(body: str) -> Run:
    """Return the run of a row; Malformed if it is none."""
    run = records.loads(body)
    records.check_parts(run, _RUN, "a run")
    records.require(
        (run["reason"] is None) == (run["ended"] is None), "the end of a run"
    )
    return run


def read_runs(file: store.Store) -> list[Run]:
    """Return the runs of a checkpoint, the first one first."""
    rows = file.rows("run", MAX_RUNS, MAX_RUN)
    numbers = [number for number, _ in rows]
    records.require(numbers == list(range(len(rows))) and bool(rows), "runs")
    return [read_run(body) for _, body in rows]


def is_alive(run: Run, is_held: bool | None) -> bool | None:
    """Return whether a search goes on; None if that cannot be told.

    Parameters
    ----------
    run : dict
        The last run.
    is_held : bool or None
        Whether the lock of the checkpoint is held; None if that cannot be told.
    """
    if is_held or run["ended"] is not None:
        return bool(is_held)  # even if it has ended: another one may have begun
    # The locks of other machines need not show here.
    is_here = bool(set(run["machine"].split()) & set(_machine().split()))
    return False if is_held is False and is_here else None


def _now() -> float:
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
