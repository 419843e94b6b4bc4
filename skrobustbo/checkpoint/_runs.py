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
from typing import Any

from skrobustbo.checkpoint import _records as records
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._compare import changes, is_parts
from skrobustbo.checkpoint._lock import CheckpointError

Run = dict[str, Any]

#: The latest time that a clock may show.
_LAST = 1e11
#: Runs that a checkpoint may have, and characters of one.
MAX_RUNS, MAX_RUN = 1_000_000, 1_000_000
_PARTS = {"started", "pid", "machine", "n_iter", "settings", "ended", "reason"}
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
    records.require(run.keys() == _PARTS, "the parts of a run")
    records.require(_is_time(run["started"]), "the start of a run")
    records.require(run["ended"] is None or _is_time(run["ended"]), "the end of a run")
    records.require(records.is_count(run["pid"], 2**31), "the process of a run")
    records.require(records.is_count(run["n_iter"]), "the n_iter of a run")
    records.require(isinstance(run["machine"], str), "the machine of a run")
    records.require(is_parts({"": run["settings"]}), "the settings of a run")
    reason = run["reason"]
    records.require(reason is None or isinstance(reason, str), "the end of a run")
    records.require((reason is None) == (run["ended"] is None), "the end of a run")
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


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LAST


def _machine() -> str:
    """Return what tells this machine from others: digests of its name and its start.

    Each alone may change: the name from one container to the next, the other when the
    machine starts again.
    """
    marks = [platform.node().encode()]
    with suppress(OSError):
        marks.append(Path("/proc/sys/kernel/random/boot_id").read_bytes())
    return " ".join(hashlib.blake2b(m, digest_size=8).hexdigest() for m in marks)
