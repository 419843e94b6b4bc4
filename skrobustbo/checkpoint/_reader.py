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
from skrobustbo.checkpoint._beside import lock_holder
from skrobustbo.checkpoint._header import read_header
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
    rounds : list of list of dict
        The candidates, round by round, in the order asked: ``params``, with choices by
        their index, ``model_label``, ``model_mean`` and ``model_std``.
    folds : dict
        Results by the number of the candidate and of the split.
    runs : list of dict
        The calls of `fit` that wrote it, at least one: ``started``, ``ended`` (seconds
        since the epoch), ``n_iter``, ``reason``, ``pid`` and ``machine``. What has not
        ended, or was killed, has None for its end and the reason.
    is_running : bool or None
        Whether the search goes on; None if that cannot be told here.
    """

    path: str
    header: Mapping[str, Any]
    rounds: Sequence[Sequence[Mapping[str, Any]]]
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
    with snapshot(name) as copy, closing(store.Store(copy, called=name)) as file:
        try:
            header = read_header(file)
            past = runs.read_runs(file)
            rounds = _read_rounds(file)
            folds = _read_folds(file, sum(map(len, rounds)), header["n_splits"])
        except records.Malformed as error:
            raise store.damaged(name, str(error)) from error
    is_running = runs.is_alive(past[-1], lock_holder(name))
    return Contents(name, header, rounds, folds, past, is_running)


def _read_rounds(file: store.Store) -> list[list[dict[str, Any]]]:
    rows = file.rows("candidate", _MOST, records.MAX_BODY)
    numbers = [number for number, _ in rows]
    records.require(numbers == list(range(len(rows))), "candidates are missing")
    return records.read_rounds([body for _, body in rows])


def _read_folds(
    file: store.Store, n_candidates: int, n_splits: int
) -> dict[FoldId, FoldResult]:
    most = n_candidates * n_splits
    rows = file.rows("fold", most, records.MAX_PREDICTED)
    records.require(all(0 <= number < most for number, _ in rows), "unknown folds")
    folds = {divmod(number, n_splits): records.read_fold(body) for number, body in rows}
    if folds:
        train = "train_scores" in next(iter(folds.values()))
        records.check_folds(list(folds.values()), None, train=train)
    return folds
