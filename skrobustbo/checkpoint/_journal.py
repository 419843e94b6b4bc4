"""The journal of a search: what it has done so far, and what it does from now on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from warnings import warn

import numpy as np

from skrobustbo._trials import FoldId, FoldResult, Trial
from skrobustbo.checkpoint import _records as records
from skrobustbo.checkpoint import _runs as runs
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._compare import (
    Parts,
    compare_versions,
    difference,
    resumption,
    versions_here,
)
from skrobustbo.checkpoint._header import Outline, parse_header, read_header
from skrobustbo.checkpoint._lock import CheckpointError
from skrobustbo.checkpoint._reader import read_folds, read_rounds

#: A finished fold, and its result.
Done = tuple[FoldId, FoldResult]

#: Splits that a checkpoint may have.
_MAX_SPLITS = 1_000_000


class NoJournal:
    """Keeps nothing: stands in where no checkpoint is wanted.

    Attributes
    ----------
    path : str or None
        The file.
    n_read_of : dict of int to int
        Folds of each candidate given back so far instead of being fitted.
    n_read_failed : int
        Those of them that failed.
    retries : bool
        Whether there are folds that failed and are fitted again.
    changed : list of str
        Which settings differ from those of the call before, in words.
    resumed : str or None
        What the file held when this run began; None if there was none.
    """

    path: str | None = None
    changed: Sequence[str] = ()
    resumed: str | None = None
    n_read_failed = 0
    n_read_of: Mapping[int, int] = MappingProxyType({})
    retries = False

    @property
    def described(self) -> Parts:
        """What the first run described the search by."""
        return {}

    @property
    def identity(self) -> str:
        """What tells the search from others, in this call and in those that resume."""
        return ""

    @property
    def n_read(self) -> int:
        """Folds given back so far."""
        return sum(self.n_read_of.values())

    @property
    def n_asked(self) -> tuple[int, int]:
        """Rounds that have been asked so far, and the candidates in them."""
        return 0, 0

    def begin(
        self,
        describe: Callable[[], Parts],
        *,
        seed: int,
        n_iter: int,
        drawn: bool,
        outline: Callable[[], Outline] = dict,
        call: Callable[[], Mapping[str, str]] = dict,
    ) -> tuple[int, int]:
        """Return the seed and the horizon to search with."""
        return seed, n_iter

    def open(
        self,
        draw: Callable[[], list[tuple[Any, Any]]],
        *,
        n_samples: int,
        metrics: Sequence[str] | None,
        train: bool,
        n_open: int | None = 1,
        n_classes: int | None = None,
    ) -> list[tuple[Any, Any]]:
        """Return the splits of the search."""
        return draw()

    def next_round(self, source: Any) -> list[Trial]:
        """Return the candidates to evaluate next; none when it is over."""
        trials: list[Trial] = source.next_round()
        return trials

    def folds_of(self, candidate: int) -> list[Done]:
        """Return the finished folds of a candidate."""
        return []

    def record(self, key: FoldId, result: FoldResult, *, in_turn: bool = False) -> None:
        """Keep the result of a fold."""

    def end(self, reason: str) -> None:
        """Keep why this run ended."""


class Journal(NoJournal):
    """Keeps what a search does in a file, and gives back what is in it already.

    The methods are to be called in the order in which they stand here.

    Parameters
    ----------
    path : str
        The file, locked by the caller.
    retry_failed : bool, default=False
        Whether folds that failed are not given back, but fitted and written again.

    Raises
    ------
    CheckpointError
        Here and in every method: if the file is not in order, is of another search, or
        cannot be written.
    """

    path: str

    def __init__(self, path: str, *, retry_failed: bool = False) -> None:
        self.path, self._retry_failed = path, retry_failed
        self._store = store.Store(path) if store.exists(path) else None
        self._header: dict[str, Any] = {}
        self._rounds: list[list[records.Asked]] = []
        self._run = runs.FitCall()
        self._n_rounds = self._n_candidates = 0
        self._folds = records.FoldReader(None, train=None)
        self._done: dict[FoldId, FoldResult] = {}
        self._lost: set[FoldId] = set()
        self._is_noting = self._has_warned = False
        self._n_turns = 0
        self._again: set[FoldId] = set()
        self.n_read_of: dict[int, int] = {}

    @property
    def described(self) -> Parts:
        """What the first run described the search by."""
        found: Parts = self._header["search"]
        return found

    @property
    def identity(self) -> str:
        """The number of the file, which it keeps for ever."""
        return f"{self._file.number:016x}"

    def fail(self) -> None:
        """Write that this run ended with an error, if it has written anything."""
        if self._store is not None and self._run.is_begun:
            self._run.end(self._store, "error")

    @property
    def n_asked(self) -> tuple[int, int]:
        """Rounds that have been asked so far, and the candidates in them."""
        return self._n_rounds, self._n_candidates

    def close(self) -> None:
        """Close the file."""
        if self._store is not None:
            self._store.close()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except records.Malformed as error:
            raise store.damaged(self.path, str(error)) from error

    def begin(
        self,
        describe: Callable[[], Parts],
        *,
        seed: int,
        n_iter: int,
        drawn: bool,
        outline: Callable[[], Outline] = dict,
        call: Callable[[], Mapping[str, str]] = dict,
    ) -> tuple[int, int]:
        """Return the seed and the horizon to search with: those of the first run.

        Parameters
        ----------
        describe : callable
            Returns what tells this search from others.
        seed, n_iter : int
            What this run would search with.
        drawn : bool
            Whether the seed was drawn rather than chosen.
        outline : callable
            Returns what those are shown of the search who only read the file.
        call : callable
            Returns descriptions of the settings that may change from call to call.
        """
        self._run = runs.FitCall(n_iter, call())
        parts = describe()
        if self._store is None:
            self._header = {"search": parts, "seed": seed, "horizon": int(n_iter)}
            self._header |= {"versions": versions_here(), "outline": outline()}
            return seed, n_iter
        with self._reading():
            self._header = header = read_header(self._store)
            self._run.earlier = runs.read_runs(self._store)
        seeds = None if drawn else (header["seed"], seed)
        other = difference(header["search"], parts, seeds)
        if other is not None:
            raise CheckpointError(
                f"The checkpoint {self.path!r} belongs to another search, because "
                f"{other}: repeat the call that wrote it, or give another path."
            )
        # Evaluations with a part of a resource are more than n_iter.
        most = math.inf if "resource" in parts.get("settings", {}) else n_iter
        self._read_rounds(self._store, most)
        compare_versions(self.path, header["versions"])
        self.changed = self._run.changes
        return header["seed"], header["horizon"]

    def _read_rounds(self, file: store.Store, most: float) -> None:
        with self._reading():
            self._rounds = read_rounds(file)
        self._n_rounds = len(self._rounds)
        self._n_candidates = sum(map(len, self._rounds))
        if self._n_candidates > most:
            raise CheckpointError(
                "The 'n_iter' of RobustBayesSearchCV must be at least "
                f"{self._n_candidates}, the number of candidates in the checkpoint "
                f"{self.path!r}. Got {most} instead; raise it, or give another path."
            )

    def open(
        self,
        draw: Callable[[], list[tuple[Any, Any]]],
        *,
        n_samples: int,
        metrics: Sequence[str] | None,
        train: bool,
        n_open: int | None = 1,
        n_classes: int | None = None,
    ) -> list[tuple[Any, Any]]:
        """Return the splits of the first run; read its folds, or start the file.

        Parameters
        ----------
        draw : callable
            Returns the splits, if this is the first run.
        n_samples : int
            Number of rows to be split.
        metrics : list of str or None
            Names of the metrics, none if there is a single one; None if that is not
            known before the first fit.
        train : bool
            Whether folds have training scores.
        n_open : int or None, default=1
            Rounds, the last ones, whose folds need not all be there; None for any.
        n_classes : int or None, default=None
            Number of classes where folds have predictions, 0 for a regressor; None
            where they have none.
        """
        is_new = self._store is None
        if is_new:
            found = draw()
            self._header |= {"n_splits": len(found), "n_samples": int(n_samples)}
            self._start(found)
        else:
            found = self._read_splits(self._file, n_samples)
        self._is_noting = True
        n_rows = [len(np.arange(n_samples)[test]) for _, test in found]
        self._folds = records.FoldReader(
            metrics, train=train, n_classes=n_classes, n_rows=n_rows
        )
        self._read_folds(self._file)
        if n_open is not None:
            self._check_complete(n_open)
        if not is_new:
            self._take_up()
        return found

    def _take_up(self) -> None:
        """Say what the file holds."""
        n_failed = sum(fold.has_failed for fold in self._done.values())
        counts = self._n_candidates, len(self._done), n_failed
        again = bool(self._again - self._lost)
        lost = len(self._lost)
        self.resumed = resumption(
            self.path, *counts, self.changed, again=again, n_lost=lost
        )

    def _start(self, splits: list[tuple[Any, Any]]) -> None:
        try:
            header = records.dumps(self._header)
            rows = [(i, records.write_split(split)) for i, split in enumerate(splits)]
            run = self._run.row()
            self._check_start(header, rows, run)
        except Exception as error:  # whatever a value of the user's raises
            raise CheckpointError(
                f"The checkpoint {self.path!r} cannot hold this search ({error}): "
                "leave out 'checkpoint'."
            ) from error
        store.create(self.path, header, {"split": rows, "run": [run]})
        self._store = store.Store(self.path)

    def _check_start(
        self, header: str, splits: Sequence[store.Row], run: store.Row
    ) -> None:
        """Raise Malformed unless what a new file begins with can be read."""
        n_samples = parse_header(header)["n_samples"]
        records.require(len(splits) <= _MAX_SPLITS, "too many splits")
        for _, body in splits:
            records.require(len(body) <= records.max_split(n_samples), "a long split")
            records.read_split(body, n_samples)
        runs.read_run(run[1])

    def _read_splits(self, file: store.Store, n_samples: int) -> list[tuple[Any, Any]]:
        with self._reading():
            records.require(self._header["n_samples"] == n_samples, "its n_samples")
            rows = file.rows("split", _MAX_SPLITS, records.max_split(n_samples))
            whole = [n for n, _ in rows] == list(range(len(rows)))
            whole = whole and len(rows) == self._header["n_splits"]
            records.require(whole, "splits are missing")
            return [records.read_split(body, n_samples) for _, body in rows]

    def _read_folds(self, file: store.Store) -> None:
        with self._reading():
            found = read_folds(file, self._folds, self._n_candidates, self._n_splits)
        self._done = {key: fold for key, fold in found.items() if fold is not None}
        self._lost = found.keys() - self._done.keys()
        self._again = set(self._lost)
        if self._retry_failed:
            self._again |= {k for k, fold in self._done.items() if fold.has_failed}
        self.retries = bool(self._again)
        self._n_turns = max((fold.turn for fold in self._done.values()), default=0)

    def _check_complete(self, n_open: int) -> None:
        """Raise if folds are missing of what a later round could not do without."""
        last = sum(map(len, self._rounds[-n_open:]))
        complete = self._n_candidates - last
        keys = self._done.keys() | self._lost
        there = sum(candidate < complete for candidate, _ in keys)
        with self._reading():
            records.require(there == complete * self._n_splits, "folds are missing")

    def next_round(self, source: Any) -> list[Trial]:
        """Return the next candidates: those noted, then new ones, which are noted."""
        trials: list[Trial]
        if self._rounds:
            try:
                trials = source.resume(self._rounds[0])
            except (LookupError, OverflowError, TypeError, ValueError) as error:
                raise store.damaged(self.path, "a candidate") from error
            if trials:  # else the round is asked for again
                del self._rounds[0]
            return trials
        trials = source.next_round()
        if trials and self._is_noting:
            self._note(source, trials)
        return trials

    def _note(self, source: Any, trials: Sequence[Trial]) -> None:
        """Write new candidates; where that is impossible, nothing more is written."""
        try:
            bodies = [
                records.write_candidate(self._n_rounds, asked)
                for asked in source.records(trials)
            ]
            for body in bodies:
                source.read(records.read_candidate(body)[1])
        except Exception as error:  # whatever a value of the user's raises
            self._is_noting = False
            self._warn("candidate", error, "goes on from the candidate before")
            return
        self._run.begin(self._file)
        self._file.add("candidate", enumerate(bodies, self._n_candidates))
        self._n_rounds += 1
        self._n_candidates += len(bodies)

    def _warn(self, what: str, error: Exception, then: str) -> None:
        """Warn once that something could not be written."""
        if self._has_warned:
            return
        self._has_warned = True
        warn(
            f"A {what} could not be written to the checkpoint {self.path!r} ({error}): "
            f"the search continues, and a later call {then}.",
            stacklevel=2,
        )

    def folds_of(self, candidate: int) -> list[Done]:
        """Return the finished folds of a candidate."""
        keys = ((candidate, split) for split in range(self._n_splits))
        found = [
            (key, self._done.pop(key))
            for key in keys
            if key in self._done and key not in self._again
        ]
        self.n_read_of[candidate] = len(found)
        self.n_read_failed += sum(result.has_failed for _, result in found)
        return found

    def record(self, key: FoldId, result: FoldResult, *, in_turn: bool = False) -> None:
        """Write the result of a fold: from now on it is never fitted again.

        With `in_turn` its turn is written, too: that of folds of which the search
        depends on which came first.
        """
        candidate, split = key
        if candidate >= self._n_candidates:  # not written either
            return
        self._n_turns += in_turn
        result = replace(result, turn=self._n_turns if in_turn else 0)
        row = candidate * self._n_splits + split, self._written(result, split)
        self._run.begin(self._file)
        self._file.add("fold", [row], replace=key in self._again)

    def _written(self, result: FoldResult, split: int) -> str:
        """Return the row of a fold, once it has been read as it will be later."""
        try:
            body = records.write_fold(result)
            self._folds.read(body, split)
        except Exception as error:  # whatever a value of the user's raises
            self._warn("result of a fold", error, "fits the fold again")
            return records.LOST
        return body

    def end(self, reason: str) -> None:
        """Write why this run ended, unless it has only read what is there already."""
        if self._is_noting:  # else the search is not over for those who read the file
            self._run.end(self._file, reason)

    @property
    def _n_splits(self) -> int:
        return int(self._header["n_splits"])

    @property
    def _file(self) -> store.Store:
        if self._store is None:
            raise RuntimeError("Expected the splits to be set before the first fold.")
        return self._store
