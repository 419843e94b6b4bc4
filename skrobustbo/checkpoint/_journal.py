"""Journal that records the steps of a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np

from skrobustbo._names import be, count
from skrobustbo._trials import Done, Evaluation, FoldId, FoldResult
from skrobustbo.checkpoint import _events as events
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._fingerprint import (
    Parts,
    changes,
    compare_versions,
    difference,
    versions_here,
)
from skrobustbo.checkpoint._lock import CheckpointError, locked
from skrobustbo.checkpoint._reader import Contents, contents_of


class Journal:
    """Stores the steps of a search, and replays them when the search is resumed.

    Without a path, the journal is kept in memory. Its methods must be called in the
    order in which they are defined. If `begin` has not been called, only the splits are
    stored.

    Parameters
    ----------
    path : str, default=None
        Path of the file, which the caller must lock.
    retry_failed : bool, default=False
        Whether to refit folds that failed in an earlier run.

    Attributes
    ----------
    path : str or None
        Path of the file, or None if the journal is in memory.
    n_read_of : dict of int to int
        Number of folds of each candidate that were read instead of fitted.
    n_read_failed : int
        Number of failed folds that were read from a file.
    retries : bool
        Whether failed or lost folds are fitted again.
    changed : list of str
        Descriptions of the settings that differ from the previous call.
    resumed : str or None
        Summary of the file when this run began, or None for a new search.
    shape : (int, int or None) or None
        Numbers of rows and columns of the data, or None if the search has not set them.

    Raises
    ------
    CheckpointError
        If the file is damaged, belongs to another search, or cannot be written. Any
        method may raise this error.
    """

    def __init__(self, path: str | None = None, *, retry_failed: bool = False) -> None:
        self.path, self._retry_failed = path, retry_failed
        self.changed: Sequence[str] = ()
        self.resumed: str | None = None
        self.shape: tuple[int, int | None] | None = None
        self.n_read_of: dict[int, int] = {}
        self.n_read_failed = 0
        self.retries = False
        #: None before the first event.
        self._log: store.ListStore | store.FileStore | None = None
        if path is not None and store.exists(path):
            self._log = store.FileStore(path)
        self._known = Contents()
        self._is_noting = False
        self._n_replayed = self._n_turns = 0
        self._has_written = self._has_warned = False

    @property
    def identity(self) -> str:
        """Identifier of the search, which stays the same when the search is resumed.

        It is empty before `open`.
        """
        return "" if self._log is None else f"{self._log.number:016x}"

    @property
    def described(self) -> Parts:
        """Description of the search from its first run; empty before `begin`."""
        return self._known.started.search

    @property
    def horizon(self) -> int | None:
        """Number of candidates planned in the first run, or None for a new search."""
        return None if self._log is None else self._log.read("header")[0].horizon

    @property
    def n_asked(self) -> tuple[int, int]:
        """Numbers of rounds and candidates proposed so far."""
        return len(self._known.rounds), self._known.n_asked

    @property
    def read(self) -> list[str]:
        """Descriptions of what was read from a file; empty if nothing was read."""
        n_folds = sum(self.n_read_of.values())
        if self.path is None or not n_folds:
            return []
        n_candidates = sum(n > 0 for n in self.n_read_of.values())
        of = f"of {count(n_candidates, 'candidate')} from the checkpoint"
        failed = f", {self.n_read_failed} of them failed" if self.n_read_failed else ""
        return [f"{count(n_folds, 'fold')} {of}{failed}", *self.changed]

    def begin(
        self,
        describe: Callable[[], dict[str, dict[str, str]]],
        *,
        seed: int,
        n_iter: int,
        drawn: bool,
        outline: Callable[[], dict[str, Any]] = dict,
        call: Callable[[], Mapping[str, str]] = dict,
    ) -> tuple[int, int]:
        """Begin a run, and return the seed and the horizon that the first run set.

        Parameters
        ----------
        describe : callable
            Returns the description of this search.
        seed, n_iter : int
            The seed and the number of candidates of this run.
        drawn : bool
            Whether the seed was drawn at random rather than set by the user.
        outline : callable
            Returns the summary for readers of the file.
        call : callable
            Returns descriptions of the settings that may change between calls.
        """
        is_in_file = self.path is not None
        with warnings.catch_warnings():
            if not is_in_file:  # the warning only concerns functions in a file
                warnings.simplefilter("ignore")
            parts = describe()
        self._is_noting, self._has_written = True, False
        self._n_replayed, self.n_read_of = 0, {}
        if self._log is not None:
            self._known = contents_of(self._log)
        else:
            texts = (outline(), versions_here()) if is_in_file else ({}, {})
            self._known = Contents(events.Started(parts, seed, int(n_iter), *texts))
        started, calls = self._known.started, self._known.runs
        seeds = None if drawn else (started.seed, seed)
        other = difference(started.search, parts, seeds)
        if other is not None:
            raise self._other_search(other)
        calls.append(events.begun(len(calls), n_iter, call() if is_in_file else {}))
        before, this = calls[-2:][0], calls[-1]
        self.changed = changes(before.settings, this.settings)
        if self._log is not None:
            self._check_call(n_iter)
        return started.seed, started.horizon

    def _other_search(self, other: str) -> ValueError:
        if self.path is None:
            return ValueError(
                "The settings of RobustBayesSearchCV must be the same for resume as "
                f"for fit, but {other}: set it back, or call fit with previous= to "
                "reuse this search."
            )
        return CheckpointError(
            f"The checkpoint {self.path!r} belongs to another search, because {other}: "
            "repeat the call that wrote it, or give another path."
        )

    def _check_call(self, n_iter: int) -> None:
        """Raise an error if this call cannot resume the search.

        Warn if package versions have changed.
        """
        n_candidates, started = self._known.n_asked, self._known.started
        # Evaluations with part of a resource can exceed n_iter.
        if n_candidates > n_iter and started.settings.get("resource", "None") == "None":
            raise CheckpointError(
                "The 'n_iter' of RobustBayesSearchCV must be at least "
                f"{n_candidates}, the number of candidates in the checkpoint "
                f"{self.path!r}. Got {n_iter} instead; raise it, or give another path."
            )
        compare_versions(str(self.path), started.versions)

    def open(
        self,
        draw: Callable[[], list[tuple[Any, Any]]],
        *,
        n_samples: int,
        n_open: int | None = 1,
        **form: Any,
    ) -> list[tuple[Any, Any]]:
        """Start the file or check its folds, and return the splits of the first run.

        Parameters
        ----------
        draw : callable
            Returns the splits; called only in the first run.
        n_samples : int
            Number of rows to split.
        n_open : int or None, default=1
            Number of final rounds that may have missing folds, or None for any number.
        **form : dict
            Form of the folds: `metrics`, `train` and `n_classes` as in `FoldForm`.
        """
        known, goes_on = self._known, self._log is not None
        if self._log is not None:
            events.require(known.started.n_samples == n_samples, "its n_samples")
            bodies = self._log.read("split")
            events.require(len(bodies) == known.started.n_splits, "splits are missing")
            splits = [events.read_split(body, n_samples) for body in bodies]
        else:
            splits = draw()
            known.started = replace(
                known.started, n_splits=len(splits), n_samples=int(n_samples)
            )
            bodies = [events.write_split(split) for split in splits]
            run = known.runs[-1:]
            tables = {"header": [known.started], "split": bodies, "run": run}
            if self.path is None:
                self._log = store.ListStore(tables)
            else:
                self._log = store.create(self.path, tables)
            self._has_written = True
        if isinstance(self._log, store.FileStore):
            n_rows = [len(np.arange(n_samples)[test]) for _, test in splits]
            self._log.form = events.FoldForm(**form, n_rows=n_rows)
            if goes_on:
                self._check_folds(self._log.form, n_open)
                self._take_up()
        return splits

    def _check_folds(self, form: events.FoldForm, n_open: int | None) -> None:
        """Raise Malformed if folds are invalid or missing.

        Folds may be missing only in the last `n_open` rounds.
        """
        known = self._known
        for event in known.done:
            form.check(event)
        if n_open is None:
            return
        complete = sum(map(len, known.rounds[:-n_open]))
        there = sum(len(known.folds.get(n, {})) for n in range(complete))
        there += sum(candidate < complete for candidate, _ in known.lost)
        expected = complete * known.started.n_splits
        events.require(there == expected, "folds are missing")

    def _take_up(self) -> None:
        """Summarise the content of the file, and drop the folds to be fitted again."""
        known, folds = self._known, self._known.done
        self._n_turns = max((fold.turn for _, fold in folds), default=0)
        failed = {key for key, fold in folds if fold.has_failed}
        again = failed if self._retry_failed else set()
        held = f"{count(known.n_asked, 'candidate')}, {count(len(folds), 'fold')}"
        held += f", {len(failed)} of them failed" if failed else ""
        held += f" and {be(len(again))} fitted again" if again else ""
        if known.lost:
            held += f", {len(known.lost)} more were not stored and are fitted again"
        resumed = f"Resumed from the checkpoint {self.path!r}: {held}"
        self.resumed = "; ".join([resumed, *self.changed])
        for candidate, split in again:
            del known.folds[candidate][split]
        self.retries = bool(again or known.lost)

    def next_round(self, source: Any) -> list[Evaluation]:
        """Return the next candidates, starting with the stored ones."""
        rounds, trials = self._known.rounds, list[Evaluation]()
        if self._n_replayed < len(rounds):
            try:
                trials = source.resume(rounds[self._n_replayed])
            except (LookupError, OverflowError, TypeError, ValueError) as error:
                if self.path is None:
                    raise
                raise store.damaged(self.path, "a candidate") from error
            self._n_replayed += bool(trials)  # otherwise the round is requested again
            return trials
        trials = source.next_round()
        if trials and self._is_noting:
            self._note(source, trials)
            self._n_replayed = len(rounds)
        return trials

    def _note(self, source: Any, trials: Sequence[Evaluation]) -> None:
        """Store new candidates; if this fails, store no further candidates."""
        rounds = self._known.rounds
        try:
            noted = [replace(a, round=len(rounds)) for a in source.records(trials)]
            for asked in noted:
                source.read(asked)
            self._add("candidate", noted)
        except CheckpointError:
            raise
        except Exception as error:  # values of the user may raise anything
            self._is_noting = False
            self._warn("candidate", error, "continues from the previous candidate")
            return
        rounds.append(noted)

    def _warn(self, what: str, error: Exception, then: str) -> None:
        """Warn once about a failed write, or raise the error if there is no file."""
        if self.path is None:
            raise error
        if self._has_warned:
            return
        self._has_warned = True
        warnings.warn(
            f"A {what} could not be written to the checkpoint {self.path!r} ({error}): "
            f"the search continues, and a later call {then}.",
            stacklevel=2,
        )

    def folds_of(self, candidate: int) -> list[Done]:
        splits = self._known.folds.get(candidate, {})
        self.n_read_of[candidate] = len(splits)
        if self.path is not None:
            self.n_read_failed += sum(fold.has_failed for fold in splits.values())
        return [((candidate, split), splits[split]) for split in sorted(splits)]

    def record(self, key: FoldId, result: FoldResult, *, in_turn: bool = False) -> None:
        """Store the result of a fold, so that the fold is not fitted again.

        If `in_turn` is true, also store the position of the result, because the search
        depends on the order in which folds finish.
        """
        # As long as candidates are stored, all of them are.
        if not self._is_noting and key[0] >= self._known.n_asked:
            return
        if in_turn:
            self._n_turns += 1
            result = replace(result, turn=self._n_turns)
        try:
            self._add("fold", [(key, result)])
        except CheckpointError:
            raise
        except Exception as error:  # values of the user may raise anything
            self._warn("result of a fold", error, "fits the fold again")
            self._add("fold", [(key, None)])

    def over(self, trial: Evaluation) -> None:
        """Record that a candidate has ended, if it has missing folds."""
        known, number = self._known, trial.number
        is_short = len(trial.folds) < known.started.n_splits
        if is_short and number < known.n_asked and number not in known.over:
            known.over.add(number)
            self._add("over", [number])

    def _add(self, kind: str, new: list[Any]) -> None:
        """Store events, preceded by this call if it has not been stored yet."""
        assert self._log is not None
        if not self._has_written:
            self._write_call()
        self._log.add(kind, new)

    def _write_call(self) -> None:
        """Store this call, ignoring errors such as a full disk."""
        self._has_written = True
        with suppress(CheckpointError, events.Malformed):
            self._add("run", self._known.runs[-1:])

    def end(self, reason: str) -> None:
        """Store why this run ended, unless the run only read existing results."""
        # If candidates are not stored, readers must see an unfinished search.
        if self._is_noting:
            self._end(reason)

    def fail(self) -> None:
        """Record that this run ended with an error, if it has written anything."""
        if self._has_written:
            self._end("error")

    def _end(self, reason: str) -> None:
        *earlier, call = self._known.runs
        self._known.runs[-1] = replace(call, ended=events.now(), reason=reason)
        if self._has_written or earlier[-1].told != self._known.runs[-1].told:
            self._write_call()

    def close(self) -> None:
        if isinstance(self._log, store.FileStore):
            self._log.close()


@contextmanager
def open_journal(path: Any, *, retry_failed: bool = False) -> Iterator[Journal]:
    """Return a context manager that locks and opens the journal at a path."""
    name = store.real_path(path)  # use one lock for all names of a file
    store.exists(name)  # check before creating any file beside it
    with locked(name), closing(Journal(name, retry_failed=retry_failed)) as journal:
        try:
            yield journal
        except BaseException as error:
            journal.fail()
            if isinstance(error, events.Malformed):
                raise store.damaged(name, str(error)) from error
            raise
