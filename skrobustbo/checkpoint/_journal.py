"""The journal of a search: what it has done so far, and what it does from now on."""

from __future__ import annotations

import math
import secrets
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from skrobustbo._names import be, count
from skrobustbo._trials import Done, Evaluation, FoldId, FoldResult
from skrobustbo.checkpoint import _records as records
from skrobustbo.checkpoint import _runs as runs
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._compare import (
    Parts,
    compare_versions,
    difference,
    versions_here,
)
from skrobustbo.checkpoint._header import Outline, parse_header
from skrobustbo.checkpoint._lock import CheckpointError, locked
from skrobustbo.checkpoint._reader import contents_of

#: Splits that a checkpoint may have.
_MAX_SPLITS = 1_000_000


class Journal:
    """Keeps in memory what a search does, and gives it back to the call that goes on.

    The methods are to be called in the order in which they stand here. Before `begin`,
    it keeps nothing but the splits.

    Attributes
    ----------
    path : str or None
        The file; None if there is none.
    n_read_of : dict of int to int
        Folds of each candidate given back so far instead of being fitted.
    n_read_failed : int
        Those of them that failed, of a file.
    retries : bool
        Whether there are folds that failed and are fitted again.
    changed : list of str
        Which settings differ from those of the call before, in words.
    resumed : str or None
        What the file held when this run began; None if there was none.
    shape : (int, int or None) or None
        Rows and columns of the data, where the search has noted them.
    """

    path: str | None = None
    changed: Sequence[str] = ()
    resumed: str | None = None
    n_read_failed = 0
    retries = False
    shape: tuple[int, int | None] | None = None

    def __init__(self) -> None:
        self._identity = secrets.token_hex(8)
        self._header: dict[str, Any] = {}
        self._splits: list[str] = []
        self._rounds: list[list[records.Asked]] = []
        #: The finished folds of each candidate, by split. Keys are no tuples, as skops
        #: writes JSON.
        self._folds: dict[int, dict[int, FoldResult]] = {}
        self._is_noting = False
        self._n_replayed = self._n_turns = 0
        self.n_read_of: dict[int, int] = {}

    @property
    def identity(self) -> str:
        """What tells the search from others, in this call and in those that resume."""
        return self._identity

    @property
    def described(self) -> Parts:
        """What the first run described the search by; nothing before `begin`."""
        return self._header.get("search", {})

    @property
    def n_asked(self) -> tuple[int, int]:
        """Rounds that have been asked so far, and the candidates in them."""
        return len(self._rounds), sum(map(len, self._rounds))

    @property
    def n_read(self) -> int:
        """Folds given back so far that were in a file."""
        return 0 if self.path is None else sum(self.n_read_of.values())

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
            Returns what those are shown of the search who only read a file.
        call : callable
            Returns descriptions of the settings that may change from call to call.
        """
        with warnings.catch_warnings():
            # The warning is about functions in a file, and there is none here.
            warnings.simplefilter("ignore")
            parts = describe()
        self._is_noting = True
        self._n_replayed, self.n_read_of = 0, {}
        if not self._header:
            self._header = {"search": parts, "seed": seed, "horizon": int(n_iter)}
        before = self._header["seed"]
        other = difference(self.described, parts, None if drawn else (before, seed))
        if other is not None:
            raise self._other_search(other)
        return before, self._header["horizon"]

    def _other_search(self, other: str) -> ValueError:
        return ValueError(
            "The settings of RobustBayesSearchCV must be those of fit when resume is "
            f"called, and {other}: set it back, or call fit, with previous= to make "
            "use of this search."
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
        """Return the splits of the first run.

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
        if self._splits:
            return [records.read_split(body, n_samples) for body in self._splits]
        found = draw()
        self._header |= {"n_splits": len(found), "n_samples": int(n_samples)}
        self._splits = [records.write_split(split) for split in found]
        return found

    def next_round(self, source: Any) -> list[Evaluation]:
        """Return the next candidates: those noted, then new ones, which are noted."""
        trials: list[Evaluation]
        if self._n_replayed < len(self._rounds):
            trials = self._replayed(source, self._rounds[self._n_replayed])
            self._n_replayed += bool(trials)  # else the round is asked for again
            return trials
        trials = source.next_round()
        if trials and self._is_noting:
            self._note(source, trials)
            self._n_replayed = len(self._rounds)
        return trials

    def _replayed(
        self, source: Any, noted: Sequence[records.Asked]
    ) -> list[Evaluation]:
        return source.resume(noted)

    def _note(self, source: Any, trials: Sequence[Evaluation]) -> None:
        self._rounds.append(source.records(trials))

    def folds_of(self, candidate: int) -> list[Done]:
        """Return the finished folds of a candidate."""
        splits = self._folds.get(candidate, {})
        self.n_read_of[candidate] = len(splits)
        return [((candidate, split), splits[split]) for split in sorted(splits)]

    def record(self, key: FoldId, result: FoldResult, *, in_turn: bool = False) -> None:
        """Keep the result of a fold: from now on it is never fitted again.

        With `in_turn` its turn is kept, too: that of folds of which the search depends
        on which came first.
        """
        # As long as candidates are noted, every one is.
        if not self._is_noting and key[0] >= self.n_asked[1]:
            return
        if in_turn:
            self._n_turns += 1
            result = replace(result, turn=self._n_turns)
        self._keep(key, result)

    def _keep(self, key: FoldId, result: FoldResult) -> None:
        candidate, split = key
        self._folds.setdefault(candidate, {})[split] = result

    def end(self, reason: str) -> None:
        """Keep why this run ended."""


class FileJournal(Journal):
    """Keeps what a search does in a file, too, and begins with what is in it already.

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
        super().__init__()
        self.path, self._retry_failed = path, retry_failed
        self._store = store.Store(path) if store.exists(path) else None
        self._run = runs.FitCall()
        self._reader = records.FoldReader(None, train=None)
        #: Folds that could not be written, and all that are fitted again.
        self._lost: set[FoldId] = set()
        self._again: set[FoldId] = set()
        self._has_warned = False

    @property
    def identity(self) -> str:
        """The number of the file, which it keeps for ever."""
        return f"{self._file.number:016x}"

    def fail(self) -> None:
        """Write that this run ended with an error, if it has written anything."""
        if self._store is not None and self._run.is_begun:
            self._run.end(self._store, "error")

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
        n_iter: int,
        outline: Callable[[], Outline] = dict,
        call: Callable[[], Mapping[str, str]] = dict,
        **seeds: Any,
    ) -> tuple[int, int]:
        """Return the seed and the horizon to search with: those of the first run."""
        self._run = runs.FitCall(n_iter, call())
        parts = describe()
        if self._store is not None:
            found = contents_of(self._store)
            self._header, self._rounds = found.header, found.rounds
            self._folds, self._lost = found.folds, found.lost
            self._run.earlier = found.runs
        begun = super().begin(lambda: parts, n_iter=n_iter, **seeds)
        if self._store is None:
            self._header |= {"versions": versions_here(), "outline": outline()}
            return begun
        # Evaluations with a part of a resource are more than n_iter.
        resource = parts.get("settings", {}).get("resource", "None")
        most = n_iter if resource == "None" else math.inf
        _, n_candidates = self.n_asked
        if n_candidates > most:
            raise CheckpointError(
                "The 'n_iter' of RobustBayesSearchCV must be at least "
                f"{n_candidates}, the number of candidates in the checkpoint "
                f"{self.path!r}. Got {most} instead; raise it, or give another path."
            )
        compare_versions(self.path, self._header["versions"])
        self.changed = self._run.changes
        return begun

    def _other_search(self, other: str) -> ValueError:
        return CheckpointError(
            f"The checkpoint {self.path!r} belongs to another search, because {other}: "
            "repeat the call that wrote it, or give another path."
        )

    def open(
        self,
        draw: Callable[[], list[tuple[Any, Any]]],
        *,
        n_samples: int,
        n_open: int | None = 1,
        **form: Any,
    ) -> list[tuple[Any, Any]]:
        """Return the splits of the first run; check its folds, or start the file."""
        is_new = self._store is None
        with self._reading():
            if not is_new:
                self._splits = self._read_splits(n_samples)
            found = super().open(draw, n_samples=n_samples, **form)
        if is_new:
            self._start()
        n_rows = [len(np.arange(n_samples)[test]) for _, test in found]
        self._reader = records.FoldReader(**form, n_rows=n_rows)
        if not is_new:
            with self._reading():
                self._check_folds(n_open)
            self._take_up()
        return found

    def _start(self) -> None:
        try:
            header = records.dumps(self._header)
            run = self._run.row()
            self._check_start(header, run)
        except Exception as error:  # whatever a value of the user's raises
            raise CheckpointError(
                f"The checkpoint {self.path!r} cannot hold this search ({error}): "
                "leave out 'checkpoint'."
            ) from error
        rows = {"split": list(enumerate(self._splits)), "run": [run]}
        store.create(self.path, header, rows)
        self._store = store.Store(self.path)

    def _check_start(self, header: str, run: store.Row) -> None:
        """Raise Malformed unless what a new file begins with can be read."""
        n_samples = parse_header(header)["n_samples"]
        records.require(len(self._splits) <= _MAX_SPLITS, "too many splits")
        for body in self._splits:
            records.require(len(body) <= records.max_split(n_samples), "a long split")
            records.read_split(body, n_samples)
        runs.read_run(run[1])

    def _read_splits(self, n_samples: int) -> list[str]:
        records.require(self._header["n_samples"] == n_samples, "its n_samples")
        rows = self._file.rows("split", _MAX_SPLITS, records.max_split(n_samples))
        whole = [n for n, _ in rows] == list(range(len(rows)))
        whole = whole and len(rows) == self._n_splits
        records.require(whole, "splits are missing")
        return [body for _, body in rows]

    def _check_folds(self, n_open: int | None) -> None:
        """Raise Malformed for other folds, or if some are missing.

        Those of the last `n_open` rounds may be.
        """
        for splits in self._folds.values():
            for split, fold in splits.items():
                self._reader.check(fold, split)
        if n_open is None:
            return
        complete = sum(map(len, self._rounds[:-n_open]))
        there = sum(len(self._folds.get(n, {})) for n in range(complete))
        there += sum(candidate < complete for candidate, _ in self._lost)
        records.require(there == complete * self._n_splits, "folds are missing")

    def _take_up(self) -> None:
        """Say what the file holds, and leave out what is fitted again."""
        folds = [
            ((candidate, split), fold)
            for candidate, splits in self._folds.items()
            for split, fold in splits.items()
        ]
        self._n_turns = max((fold.turn for _, fold in folds), default=0)
        failed = {key for key, fold in folds if fold.has_failed}
        again = failed if self._retry_failed else set()
        held = f"{count(self.n_asked[1], 'candidate')}, {count(len(folds), 'fold')}"
        held += f", {len(failed)} of them failed" if failed else ""
        held += f" and {be(len(again))} fitted again" if again else ""
        if self._lost:
            held += f", {len(self._lost)} more were not written and are fitted again"
        resumed = f"Resumed from the checkpoint {self.path!r}: {held}"
        self.resumed = "; ".join([resumed, *self.changed])
        for candidate, split in again:
            del self._folds[candidate][split]
        self._again = again | self._lost
        self.retries = bool(self._again)

    def _replayed(
        self, source: Any, noted: Sequence[records.Asked]
    ) -> list[Evaluation]:
        try:
            return super()._replayed(source, noted)
        except (LookupError, OverflowError, TypeError, ValueError) as error:
            raise store.damaged(self.path, "a candidate") from error

    def _note(self, source: Any, trials: Sequence[Evaluation]) -> None:
        """Write new candidates; where that is impossible, nothing more is written."""
        n_rounds, n_candidates = self.n_asked
        try:
            noted = source.records(trials)
            bodies = [records.write_candidate(n_rounds, asked) for asked in noted]
            for body in bodies:
                source.read(records.read_candidate(body)[1])
        except Exception as error:  # whatever a value of the user's raises
            self._is_noting = False
            self._warn("candidate", error, "goes on from the candidate before")
            return
        self._run.begin(self._file)
        self._file.add("candidate", enumerate(bodies, n_candidates))
        self._rounds.append(noted)

    def _warn(self, what: str, error: Exception, then: str) -> None:
        """Warn once that something could not be written."""
        if self._has_warned:
            return
        self._has_warned = True
        warnings.warn(
            f"A {what} could not be written to the checkpoint {self.path!r} ({error}): "
            f"the search continues, and a later call {then}.",
            stacklevel=2,
        )

    def folds_of(self, candidate: int) -> list[Done]:
        """Return the finished folds of a candidate."""
        found = super().folds_of(candidate)
        self.n_read_failed += sum(result.has_failed for _, result in found)
        return found

    def _keep(self, key: FoldId, result: FoldResult) -> None:
        """Write the result of a fold, once it has been read as it will be later."""
        candidate, split = key
        try:
            body = records.write_fold(result)
            self._reader.read(body, split)
        except Exception as error:  # whatever a value of the user's raises
            self._warn("result of a fold", error, "fits the fold again")
            body = records.LOST
        self._run.begin(self._file)
        row = candidate * self._n_splits + split, body
        self._file.add("fold", [row], replace=key in self._again)

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


@contextmanager
def open_journal(path: Any, *, retry_failed: bool = False) -> Iterator[FileJournal]:
    """Return a context that gives the journal at a path, locked until it ends.

    Parameters
    ----------
    path : str or path
        The file.
    retry_failed : bool, default=False
        Whether folds that failed are fitted again.
    """
    name = store.real_path(path)  # one lock for all names of a file
    store.exists(name)  # looked at before anything is put beside it
    with locked(name), closing(FileJournal(name, retry_failed=retry_failed)) as journal:
        try:
            yield journal
        except BaseException:
            journal.fail()
            raise
