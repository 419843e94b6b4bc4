"""Reading a checkpoint without the search that wrote it, while it runs or after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from skrobustbo._trials import FoldId, FoldResult
from skrobustbo.checkpoint import _records as records
from skrobustbo.checkpoint import _runs as runs
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._header import read_header
from skrobustbo.checkpoint._lock import is_locked
from skrobustbo.checkpoint._snapshot import snapshot

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
        ``search`` (descriptions of all that is compared), ``outline`` (see
        `check_outline`), ``seed``, ``horizon``, ``versions``, ``n_splits`` and
        ``n_samples``.
    rounds : list of list of Asked
        The candidates, round by round, in the order asked.
    folds : dict
        Results by the number of the candidate and of the split, without those that
        could not be written.
    runs : list of dict
        The calls of `fit` that wrote it, at least one: ``started``, ``ended`` (seconds
        since the epoch), ``n_iter``, ``reason``, ``pid`` and ``machine``. What has not
        ended, or was killed, has None for its end and the reason.
    is_running : bool or None
        Whether the search goes on; None if that cannot be told here.
    """

    path: str
    header: Mapping[str, Any]
    rounds: Sequence[Sequence[records.Asked]]
    folds: Mapping[FoldId, FoldResult]
    runs: Sequence[Mapping[str, Any]]
    is_running: bool | None


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
    # Asked first: a search that ends while it is read has not been killed.
    is_held = is_locked(name)
    with snapshot(name) as copy, closing(store.Store(copy, called=name)) as file:
        try:
            header = read_header(file)
            past = runs.read_runs(file)
            rounds = read_rounds(file)
            n_candidates, n_splits = sum(map(len, rounds)), header["n_splits"]
            found = read_folds(file, _form(header), n_candidates, n_splits)
        except records.Malformed as error:
            raise store.damaged(name, str(error)) from error
    folds = {key: fold for key, fold in found.items() if fold is not None}
    is_running = runs.is_alive(past[-1], is_held)
    return Contents(name, header, rounds, folds, past, is_running)


def _form(header: Mapping[str, Any]) -> records.FoldReader:
    """Return what reads folds of which the metrics are not known."""
    predicts = "honest_score" in header["search"].get("settings", {})
    return records.FoldReader(None, train=None, n_classes=0 if predicts else None)


def read_rounds(file: store.Store) -> list[list[records.Asked]]:
    """Return the candidates of a checkpoint, round by round, in the order asked."""
    rows = file.rows("candidate", _MOST, records.MAX_BODY)
    numbers = [number for number, _ in rows]
    records.require(numbers == list(range(len(rows))), "candidates are missing")
    return records.read_rounds([body for _, body in rows])


def read_folds(
    file: store.Store, form: records.FoldReader, n_candidates: int, n_splits: int
) -> dict[FoldId, FoldResult | None]:
    """Return the folds of a checkpoint; None for those that could not be written."""
    most = n_candidates * n_splits
    rows = file.rows("fold", most, form.longest)
    records.require(all(0 <= number < most for number, _ in rows), "unknown folds")
    keys = [divmod(number, n_splits) for number, _ in rows]
    bodies = [body for _, body in rows]
    return {k: form.read(body, k[1]) for k, body in zip(keys, bodies, strict=True)}
