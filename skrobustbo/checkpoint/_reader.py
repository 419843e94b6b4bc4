"""Reading a checkpoint without the search that wrote it, while it runs or after."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from skrobustbo._trials import FoldId, FoldResult
from skrobustbo.checkpoint import _records as records
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._lock import is_locked
from skrobustbo.checkpoint._snapshot import missing, snapshot

#: Candidates that a checkpoint may have.
_MOST = 2**31


@dataclass(frozen=True)
class Contents:
    """What is in a checkpoint, checked as far as that goes without the search.

    Attributes
    ----------
    path : str
        The file.
    header : dict
        ``search`` (descriptions of all that is compared), ``outline`` (what
        readers are shown), ``seed``, ``horizon``, ``versions``, ``n_splits`` and
        ``n_samples``.
    rounds : list of list of Asked
        The candidates, round by round, in the order asked.
    folds : dict of int to dict
        The results of each candidate by split.
    lost : set of (int, int)
        Folds whose results could not be written.
    runs : list of FitCall
        The calls of `fit` that wrote it, at least one.
    is_running : bool or None
        Whether the search goes on; None if that cannot be told here.
    """

    path: str
    header: dict[str, Any]
    rounds: list[list[records.Asked]]
    folds: dict[int, dict[int, FoldResult]]
    lost: set[FoldId]
    runs: list[records.FitCall]
    is_running: bool | None

    @property
    def n_folds(self) -> int:
        """Number of results."""
        return sum(map(len, self.folds.values()))


def read_contents(path: Any) -> Contents:
    """Return what is in a checkpoint; nothing is locked or changed.

    Parameters
    ----------
    path : str or path
        The file. A search may be writing it.

    Raises
    ------
    CheckpointError
        If there is no checkpoint, or it is damaged or of another version.
    """
    name = store.real_path(path)
    if not store.exists(name, writing=False):
        raise missing(name)
    # Asked first: a search that ends while it is read has not been killed.
    is_held = is_locked(name)
    with snapshot(name) as copy, closing(store.Store(copy, called=name)) as file:
        try:
            return contents_of(file, is_held)
        except records.Malformed as error:
            raise store.damaged(name, str(error)) from error


def contents_of(file: store.Store, is_held: bool | None = None) -> Contents:
    """Return what is in an open checkpoint, of which the lock is held or not.

    Raises
    ------
    Malformed
        If a row is not what it should be.
    """
    ((_, body),) = file.rows("header", 1, records.MAX_HEADER)
    header = records.read_header(body)
    calls = file.bodies("run", records.MAX_RUNS, records.MAX_RUN)
    runs = [records.read_run(body) for body in calls]
    records.require(bool(runs), "runs")
    candidates = file.bodies("candidate", _MOST, records.MAX_BODY)
    rounds = records.read_rounds(candidates)
    folds, lost = _read_folds(file, header, len(candidates))
    is_running = records.is_alive(runs[-1], is_held)
    return Contents(file.path, header, rounds, folds, lost, runs, is_running)


def _read_folds(
    file: store.Store, header: dict[str, Any], n_candidates: int
) -> tuple[dict[int, dict[int, FoldResult]], set[FoldId]]:
    """Return the results, and of which folds they could not be written."""
    n_splits = header["n_splits"]
    most = n_candidates * n_splits
    predicts = "honest_score" in header["search"].get("settings", {})
    reader = records.FoldReader(None, train=None, n_classes=0 if predicts else None)
    folds: dict[int, dict[int, FoldResult]] = {}
    lost = set()
    for number, body in file.rows("fold", most, reader.longest):
        records.require(0 <= number < most, "unknown folds")
        candidate, split = divmod(number, n_splits)
        fold = reader.read(body, split)
        if fold is None:
            lost.add((candidate, split))
        else:
            folds.setdefault(candidate, {})[split] = fold
    return folds, lost
