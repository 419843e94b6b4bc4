"""The journal of a search, which records its steps."""

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
    """Stores the steps of a search, and replays them to the call that resumes it.

    Without a path, the journal stays in memory. Call the methods in the order in which
    they are defined. Before `begin`, only the splits are stored.

    Parameters
    ----------
    path : str, default=None
        The file, locked by the caller.
    retry_failed : bool, default=False
        Whether to fit failed folds in the file again.

    Attributes
    ----------
    path : str or None
        The file, if any.
    n_read_of : dict of int to int
        Number of folds of each candidate read so far instead of fitted.
    n_read_failed : int
        Number of failed folds among them, in a file.
    retries : bool
        Whether failed folds are fitted again.
    changed : list of str
        Describes the settings that differ from the previous call.
    resumed : str or None
        Content of the file when this run began, if any.
    shape : (int, int or None) or None
        Rows and columns of the data, if the search has stored them.

    Raises
    ------
    CheckpointError
        Here and in every method, if the file is damaged, belongs to another search, or
        cannot be written.
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
        """Identifies the search, in this call and in calls that resume it.

        Empty before `open`.
        """
        return "" if self._log is None else f"{self._log.number:016x}"

    @property
    def described(self) -> Parts:
        """The description of the search by its first run; empty before `begin`."""
        return self._known.started.search

    @property
    def horizon(self) -> int | None:
        """The number of candidates of the first run; None if this is the first run."""
        return None if self._log is None else self._log.read("header")[0].horizon

    @property
    def n_asked(self) -> tuple[int, int]:
        """Numbers of rounds and of candidates proposed so far."""
        return len(self._known.rounds), self._known.n_asked

    @property
    def read(self) -> list[str]:
        """Description of what was read from a file; empty if there is no file."""
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
        """Return the seed and horizon of the search, as set by the first run.

        Parameters
        ----------
        describe : callable
            Returns the description of this search.
        seed, n_iter : int
            The seed and the number of candidates of this run.
        drawn : bool
            Whether the seed was drawn rather than chosen.
        outline : callable
            Returns the part of the search that readers see.
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
        """Raise an error if this call cannot resume; warn of different versions."""
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
        """Return the splits of the first run, and check its folds or start the file.

        Parameters
        ----------
        draw : callable
            Returns the splits, in the first run.
        n_samples : int
            Number of rows to split.
        n_open : int or None, default=1
            Number of final rounds that may lack folds; None for any number.
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
        """Raise Malformed for invalid or missing folds.

        Only the last `n_open` rounds may lack folds.
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
        """Describe the content of the file, and drop folds to be fitted again."""
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
        """Return the next candidates, starting with those on record."""
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
        """Store new candidates; if that fails, write nothing more."""
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
        """Warn once of a failed write; raise an error if the journal is in memory."""
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
        """Store the result of a fold, so that it is never fitted again.

        If `in_turn` is true, store the position too when the search depends on which
        fold came first.
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
        """Record that a candidate has ended if it lacks folds."""
        known, number = self._known, trial.number
        is_short = len(trial.folds) < known.started.n_splits
        if is_short and number < known.n_asked and number not in known.over:
            known.over.add(number)
            self._add("over", [number])

    def _add(self, kind: str, new: list[Any]) -> None:
        """Store events; before the first one, store this call."""
        assert self._log is not None
        if not self._has_written:
            self._write_call()
        self._log.add(kind, new)

    def _write_call(self) -> None:
        """Write this call, if possible; the disk may be full.

        Nothing depends on this. A refused call writes nothing.
        """
        self._has_written = True
        with suppress(CheckpointError, events.Malformed):
            self._add("run", self._known.runs[-1:])

    def end(self, reason: str) -> None:
        """Store why this run ended, unless it only read existing results."""
        # If candidates are not stored, readers must see an unfinished search.
        if self._is_noting:
            self._end(reason)

    def fail(self) -> None:
        """Record that this run ended with an error if it has written anything."""
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
    """Return a context with the journal at a path, which it keeps locked."""
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
