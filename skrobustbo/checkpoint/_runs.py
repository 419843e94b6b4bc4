"""The runs of a search: the calls of `fit` that a checkpoint was written by."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
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
_MAX_RUNS, _MAX_RUN = 1_000_000, 1_000_000
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
    nothing.

    Parameters
    ----------
    n_iter : int
        Candidates planned.
    settings : dict of str to str
        Descriptions of the settings that may change from run to run.
    earlier : list of dict
        The runs before.

    Attributes
    ----------
    changes : list of str
        Which settings differ from those of the run before, in words.
    """

    def __init__(
        self, n_iter: int, settings: Mapping[str, str], earlier: Sequence[Run]
    ) -> None:
        self._number, self._last = len(earlier), earlier[-1] if earlier else {}
        self.changes = changes(self._last.get("settings", {}), settings)
        self._run: Run = {
            "started": _now(),
            "pid": os.getpid(),
            "machine": _machine(),
            "n_iter": int(n_iter),
            "settings": dict(settings),
            "ended": None,
            "reason": None,
        }

    def end(self, reason: str) -> None:
        """Note why the run ended."""
        self._run |= {"ended": _now(), "reason": reason}

    @property
    def is_other(self) -> bool:
        """Whether there is more to tell of it than of the run before."""
        return any(self._last.get(name) != self._run[name] for name in _TOLD)

    def row(self) -> store.Row:
        """Return the row of the run."""
        body = records.dumps(self._run)
        read_run(body)  # raises unless it can be read
        return self._number, body

    def write(self, file: store.Store) -> None:
        """Write the run, or say nothing where that is impossible, on a full disk say.

        Nothing that is done depends on it.
        """
        with suppress(CheckpointError, records.Malformed):
            file.add("run", [self.row()], replace=True)


def read_run(body: str) -> Run:
    """Return the run of a row; Malformed if it is none."""
    run = records.loads(body)
    records.check_parts(run, _RUN, "a run")
    has_ended, has_reason = run["ended"] is not None, run["reason"] is not None
    records.require(has_ended == has_reason, "the end of a run")
    return run


def read_runs(file: store.Store) -> list[Run]:
    """Return the runs of a checkpoint, the first one first."""
    bodies = file.bodies("run", _MAX_RUNS, _MAX_RUN)
    records.require(bool(bodies), "runs")
    return [read_run(body) for body in bodies]


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
