"""Read the history of a search from memory or from a file."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from skrobustbo._trials import Done, FoldId, FoldResult
from skrobustbo.checkpoint import _events as events
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._lock import is_locked
from skrobustbo.checkpoint._snapshot import missing, snapshot


@dataclass
class Contents:
    """History of a search, as recorded in its journal.

    It is validated as far as possible without the search.

    Attributes
    ----------
    started : Started
        The start of the search.
    rounds : list of list of Asked
        Candidates of each round, in the order in which they were proposed.
    folds : dict of int to dict
        Fold results of each candidate, by split.
    lost : set of (int, int)
        Folds whose results could not be written.
    over : set of int
        Candidates that ended with missing folds.
    runs : list of FitCall
        Calls to `fit`. There is at least one if the search has started.
    path : str
        Path of the file if the history was read by `read_contents`.
    is_running : bool or None
        Whether the search is running, or None if this is unknown.
    """

    started: events.Started = field(default_factory=events.Started)
    rounds: list[list[events.Asked]] = field(default_factory=list)
    folds: dict[int, dict[int, FoldResult]] = field(default_factory=dict)
    lost: set[FoldId] = field(default_factory=set)
    over: set[int] = field(default_factory=set)
    runs: list[events.FitCall] = field(default_factory=list)
    path: str = ""
    is_running: bool | None = None

    @property
    def done(self) -> list[Done]:
        return [
            ((candidate, split), fold)
            for candidate, splits in self.folds.items()
            for split, fold in splits.items()
        ]

    @property
    def n_asked(self) -> int:
        return sum(map(len, self.rounds))


def read_contents(path: Any) -> Contents:
    """Return the content of a checkpoint, without locking or changing it.

    Raises
    ------
    CheckpointError
        If the checkpoint is missing, is damaged, or was written by another version.
    """
    name = store.real_path(path)
    if not store.exists(name, writing=False):
        raise missing(name)
    # Check this first: a search that ends while we read was not killed.
    is_held = is_locked(name)
    with snapshot(name) as copy, closing(store.FileStore(copy, called=name)) as file:
        try:
            found = contents_of(file)
        except events.Malformed as error:
            raise store.damaged(name, str(error)) from error
    found.path, found.is_running = name, events.is_alive(found.runs[-1], is_held)
    return found


def contents_of(log: store.ListStore | store.FileStore) -> Contents:
    """Return the history of a search from the events in a store.

    Raises
    ------
    Malformed
        If an event is invalid.
    """
    (started,) = log.read("header")
    calls = {call.number: call for call in log.read("run")}
    events.require(bool(calls) and list(calls) == list(range(len(calls))), "runs")
    rounds = events.in_rounds(log.read("candidate"))
    found = Contents(started, rounds, runs=list(calls.values()))
    measured = dict(log.read("fold"))  # the last one of each fold
    n_candidates = found.n_asked
    for (candidate, split), fold in measured.items():
        is_known = candidate < n_candidates and split < started.n_splits
        events.require(is_known, "unknown folds")
        if fold is not None:
            found.folds.setdefault(candidate, {})[split] = fold
    found.lost = {key for key, fold in measured.items() if fold is None}
    found.over = set(log.read("over"))
    events.require(all(number < n_candidates for number in found.over), "what is over")
    return found
