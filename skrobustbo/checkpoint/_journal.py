"""The journal of a search: what it has done so far, and what it does from now on."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from skrobustbo._names import be, count
from skrobustbo._trials import Done, Evaluation, FoldId, FoldResult
from skrobustbo.checkpoint import _records as records
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._fingerprint import (
    Parts,
    changes,
    compare_versions,
    difference,
    versions_here,
)
from skrobustbo.checkpoint._lock import CheckpointError, locked
from skrobustbo.checkpoint._reader import contents_of


class Journal:
    """Keeps what a search does, and gives it back to the call that goes on.

    Without a path it is kept in memory, otherwise in a file. The methods are to be
    called in the order in which they stand here. Before `begin`, nothing is kept but
    the splits.

    Parameters
    ----------
    path : str, default=None
        The file, locked by the caller.
    retry_failed : bool, default=False
        Whether folds in the file that failed are not given back, but fitted and written
        again.

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

    Raises
    ------
    CheckpointError
        Here and in every method: if the file is not in order, is of another search, or
        cannot be written.
    """

    # Of a file only.
    _store: store.Store
    _reader: records.FoldReader

    def __init__(self, path: str | None = None, *, retry_failed: bool = False) -> None:
        self.path, self._retry_failed = path, retry_failed
        self.changed: Sequence[str] = ()
        self.resumed: str | None = None
        self.shape: tuple[int, int | None] | None = None
        self.n_read_of: dict[int, int] = {}
        self.n_read_failed = 0
        self._identity = secrets.token_hex(8)
        self._header: dict[str, Any] = {}
        self._splits: list[str] = []
        self._rounds: list[list[records.Asked]] = []
        #: The finished folds of each candidate, by split. Keys are no tuples, as skops
        #: writes JSON.
        self._folds: dict[int, dict[int, FoldResult]] = {}
        self._is_noting = False
        self._n_replayed = self._n_turns = 0
        self._calls: list[records.FitCall] = []
        #: Folds that could not be written, and all that are fitted again.
        self._lost: Collection[FoldId] = ()
        self._again: Collection[FoldId] = ()
        self._has_written = self._has_warned = False
        self._has_file = False
        if path is not None and store.exists(path):
            self._store, self._has_file = store.Store(path), True

    @property
    def identity(self) -> str:
        """What tells the search from others, in this call and in those that resume.

        That of a file is its number, which it keeps for ever.
        """
        return f"{self._store.number:016x}" if self._has_file else self._identity

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

    @property
    def retries(self) -> bool:
        """Whether there are folds that failed and are fitted again."""
        return bool(self._again)

    def begin(
        self,
        describe: Callable[[], Parts],
        *,
        seed: int,
        n_iter: int,
        drawn: bool,
        outline: Callable[[], records.Outline] = dict,
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
            if self.path is None:  # the warning is about functions in a file
                warnings.simplefilter("ignore")
            parts = describe()
        self._is_noting = True
        self._n_replayed, self.n_read_of = 0, {}
        if self._has_file:
            self._read()
        if not self._header:
            self._header = {"search": parts, "seed": seed, "horizon": int(n_iter)}
            if self.path is not None:
                self._header |= {"versions": versions_here(), "outline": outline()}
        before = self._header["seed"]
        other = difference(self.described, parts, None if drawn else (before, seed))
        if other is not None:
            raise self._other_search(other)
        if self.path is not None:
            self._calls.append(records.begun(n_iter, call()))
            settings = [each.settings for each in self._calls[-2:]]
            self.changed = changes(settings[0], settings[-1])
        if self._has_file:
            self._check_call(n_iter)
        return before, self._header["horizon"]

    def _read(self) -> None:
        """Take over what is in the file."""
        found = contents_of(self._store)
        self._header, self._rounds = found.header, found.rounds
        self._folds, self._lost, self._calls = found.folds, found.lost, found.runs

    def _other_search(self, other: str) -> ValueError:
        if self.path is None:
            return ValueError(
                "The settings of RobustBayesSearchCV must be those of fit when resume "
                f"is called, and {other}: set it back, or call fit, with previous= to "
                "make use of this search."
            )
        return CheckpointError(
            f"The checkpoint {self.path!r} belongs to another search, because {other}: "
            "repeat the call that wrote it, or give another path."
        )

    def _check_call(self, n_iter: int) -> None:
        """Raise if this call cannot go on from the file; warn of other versions."""
        _, n_candidates = self.n_asked
        # Evaluations with a part of a resource are more than n_iter.
        resource = self.described.get("settings", {}).get("resource", "None")
        if n_candidates > n_iter and resource == "None":
            raise CheckpointError(
                "The 'n_iter' of RobustBayesSearchCV must be at least "
                f"{n_candidates}, the number of candidates in the checkpoint "
                f"{self.path!r}. Got {n_iter} instead; raise it, or give another path."
            )
        compare_versions(self._store.path, self._header["versions"])

    def open(
        self,
        draw: Callable[[], list[tuple[Any, Any]]],
        *,
        n_samples: int,
        n_open: int | None = 1,
        **form: Any,
    ) -> list[tuple[Any, Any]]:
        """Return the splits of the first run; check its folds, or start the file.

        Parameters
        ----------
        draw : callable
            Returns the splits, if this is the first run.
        n_samples : int
            Number of rows to be split.
        n_open : int or None, default=1
            Rounds, the last ones, whose folds need not all be there; None for any.
        **form : dict
            What the folds look like: `metrics`, `train` and `n_classes` of a
            `FoldReader`.
        """
        goes_on = self._has_file
        if goes_on:
            self._splits = self._read_splits(n_samples)
        if self._splits:
            splits = [records.read_split(body, n_samples) for body in self._splits]
        else:
            splits = draw()
            self._header |= {"n_splits": len(splits), "n_samples": int(n_samples)}
            self._splits = [records.write_split(split) for split in splits]
        if self.path is not None:
            n_rows = [len(np.arange(n_samples)[test]) for _, test in splits]
            self._reader = records.FoldReader(**form, n_rows=n_rows)
        if goes_on:
            self._check_folds(n_open)
            self._take_up()
        elif self.path is not None:
            self._start(self.path)
        return splits

    def _start(self, path: str) -> None:
        try:
            header, run = records.dumps(self._header), records.write_run(self._calls[0])
            # What the file begins with must be readable.
            records.read_header(header)
            records.require(len(self._splits) <= records.MAX_SPLITS, "too many splits")
            for body in self._splits:
                records.read_split(body, self._header["n_samples"])
        except Exception as error:  # whatever a value of the user's raises
            raise CheckpointError(
                f"The checkpoint {path!r} cannot hold this search ({error}): "
                "leave out 'checkpoint'."
            ) from error
        splits = list(enumerate(self._splits))
        store.create(path, header, {"split": splits, "run": [(0, run)]})
        self._store = store.Store(path)
        self._has_file = self._has_written = True

    def _read_splits(self, n_samples: int) -> list[str]:
        records.require(self._header["n_samples"] == n_samples, "its n_samples")
        longest = records.max_split(n_samples)
        bodies = self._store.bodies("split", records.MAX_SPLITS, longest)
        records.require(len(bodies) == self._header["n_splits"], "splits are missing")
        return bodies

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
        expected = complete * self._header["n_splits"]
        records.require(there == expected, "folds are missing")

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
        self._again = {*again, *self._lost}

    def next_round(self, source: Any) -> list[Evaluation]:
        """Return the next candidates: those noted, then new ones, which are noted."""
        trials: list[Evaluation]
        if self._n_replayed < len(self._rounds):
            try:
                trials = source.resume(self._rounds[self._n_replayed])
            except (LookupError, OverflowError, TypeError, ValueError) as error:
                if self.path is None:
                    raise
                raise store.damaged(self.path, "a candidate") from error
            self._n_replayed += bool(trials)  # else the round is asked for again
            return trials
        trials = source.next_round()
        if trials and self._is_noting:
            self._note(source, trials)
            self._n_replayed = len(self._rounds)
        return trials

    def _note(self, source: Any, trials: Sequence[Evaluation]) -> None:
        """Keep new candidates; where they cannot be written, nothing more is."""
        if self.path is None:
            self._rounds.append(source.records(trials))
            return
        n_rounds, n_candidates = self.n_asked
        try:
            noted = source.records(trials)
            bodies = [records.write_candidate(n_rounds, asked) for asked in noted]
            for body in bodies:  # which says what a policy of the user's says
                source.read(records.read_candidate(body)[1])
        except Exception as error:  # whatever a value of the user's raises
            self._is_noting = False
            self._warn("candidate", error, "goes on from the candidate before")
            return
        self._add("candidate", list(enumerate(bodies, n_candidates)))
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
        splits = self._folds.get(candidate, {})
        self.n_read_of[candidate] = len(splits)
        if self.path is not None:
            self.n_read_failed += sum(fold.has_failed for fold in splits.values())
        return [((candidate, split), splits[split]) for split in sorted(splits)]

    def record(self, key: FoldId, result: FoldResult, *, in_turn: bool = False) -> None:
        """Keep the result of a fold: from now on it is never fitted again.

        With `in_turn` its turn is kept, too: that of folds of which the search depends
        on which came first.
        """
        candidate, split = key
        # As long as candidates are noted, every one is.
        if not self._is_noting and candidate >= self.n_asked[1]:
            return
        if in_turn:
            self._n_turns += 1
            result = replace(result, turn=self._n_turns)
        if self.path is None:
            self._folds.setdefault(candidate, {})[split] = result
            return
        try:
            body = self._reader.written(result, split)
        except Exception as error:  # whatever a value of the user's raises
            self._warn("result of a fold", error, "fits the fold again")
            body = records.LOST
        number = candidate * self._header["n_splits"] + split
        self._add("fold", [(number, body)], replace=key in self._again)

    def _add(self, table: str, rows: list[store.Row], *, replace: bool = False) -> None:
        """Write rows, and before the first of them this call."""
        if not self._has_written:
            self._write_call()
        self._store.add(table, rows, replace=replace)

    def _write_call(self) -> None:
        """Write this call, or nothing where that is impossible, on a full disk say.

        Nothing that is done depends on it. A call that is refused writes nothing.
        """
        self._has_written = True
        with suppress(CheckpointError, records.Malformed):
            row = len(self._calls) - 1, records.write_run(self._calls[-1])
            self._store.add("run", [row], replace=True)

    def end(self, reason: str) -> None:
        """Keep why this run ended, unless it has only read what is there already."""
        # Where candidates are not noted, the search is not over for readers.
        if self._has_file and self._is_noting:
            self._end(reason)

    def fail(self) -> None:
        """Write that this run ended with an error, if it has written anything."""
        if self._has_written:
            self._end("error")

    def _end(self, reason: str) -> None:
        *earlier, call = self._calls
        self._calls[-1] = replace(call, ended=records.now(), reason=reason)
        if self._has_written or earlier[-1].told != self._calls[-1].told:
            self._write_call()

    def close(self) -> None:
        """Close the file."""
        if self._has_file:
            self._store.close()


@contextmanager
def open_journal(path: Any, *, retry_failed: bool = False) -> Iterator[Journal]:
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
    with locked(name), closing(Journal(name, retry_failed=retry_failed)) as journal:
        try:
            yield journal
        except BaseException as error:
            journal.fail()
            if isinstance(error, records.Malformed):
                raise store.damaged(name, str(error)) from error
            raise
