"""The journal of a search: what it has done so far, and what it does from now on."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Protocol

from skrobustbo._trials import FoldResult, Trial
from skrobustbo.checkpoint import _records as records
from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._compare import Parts, difference, is_parts
from skrobustbo.checkpoint._errors import CheckpointError
from skrobustbo.checkpoint._lock import Lock
from skrobustbo.checkpoint._versions import compare_versions, versions_here

Key = tuple[int, int]  # candidate and split
Record = dict[str, Any]

#: Splits, and characters of the header, that a checkpoint may have.
_MAX_SPLITS, _MAX_HEADER = 1_000_000, 64_000_000


class Source(Protocol):
    """Where candidates come from, as far as a journal needs to know."""

    def next_round(self) -> list[Trial]:
        """Return the candidates to evaluate side by side; none when it is over."""
        ...

    def records(self, trials: Sequence[Trial]) -> list[Record]:
        """Return what to note of the candidates of the latest round, in JSON types."""
        ...

    def resume(self, noted: Sequence[Record]) -> list[Trial]:
        """Return the candidates noted by an earlier run, asked once more."""
        ...


class NoJournal:
    """Keeps nothing: stands in where no checkpoint is wanted.

    Attributes
    ----------
    path : str or None
        The file.
    n_read, n_read_failed : int
        Folds given back so far instead of being fitted, and those that failed.
    retries : bool
        Whether there are folds that failed and are fitted again.
    """

    path: str | None = None
    n_read = n_read_failed = 0
    retries = False

    def begin(
        self, describe: Callable[[], Parts], *, seed: int, n_iter: int, drawn: bool
    ) -> tuple[int, int]:
        """Return the seed and the horizon to search with."""
        return seed, n_iter

    def splits(
        self,
        draw: Callable[[], list[tuple[Any, Any]]],
        *,
        n_samples: int,
        metrics: Sequence[str] | None,
        train: bool,
    ) -> list[tuple[Any, Any]]:
        """Return the splits of the search."""
        return draw()

    def next_round(self, source: Any) -> list[Trial]:
        """Return the candidates to evaluate next; none when it is over."""
        trials: list[Trial] = source.next_round()
        return trials

    def done(self, first: int, n: int) -> dict[Key, FoldResult]:
        """Return the finished folds of `n` candidates from the number `first` on."""
        return {}

    def record(self, key: Key, result: FoldResult) -> None:
        """Keep the result of a fold."""


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
        self._rounds: list[list[Record]] = []
        self._n_rounds = self._n_candidates = 0
        self._done: dict[Key, FoldResult] = {}
        self._again: set[Key] = set()

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
        self, describe: Callable[[], Parts], *, seed: int, n_iter: int, drawn: bool
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
        """
        parts = describe()
        if self._store is None:
            self._header = {"search": parts, "seed": seed, "horizon": n_iter}
            self._header["versions"] = versions_here()
            return seed, n_iter
        self._header = header = self._read_header(self._store)
        other = difference(header["search"], parts)
        if other is None and not drawn and seed != header["seed"]:
            other = f"the setting random_state was {header['seed']} and is now {seed}"
        if other is not None:
            raise CheckpointError(
                f"The checkpoint {self.path!r} is of another search, as {other}: "
                "repeat the call that wrote it, or give another path."
            )
        self._read_rounds(self._store, n_iter)
        compare_versions(self.path, header["versions"])
        return header["seed"], header["horizon"]

    def _read_header(self, file: store.Store) -> dict[str, Any]:
        rows = file.rows("header", 1, _MAX_HEADER)
        with self._reading():
            records.require(len(rows) == 1, "its header")
            header = records.loads(rows[0][1])
            parts = {"search", "seed", "horizon", "versions", "n_splits", "n_samples"}
            records.require(header.keys() == parts, "its header")
            records.require(is_parts(header["search"]), "its header")
            records.require(is_parts({"": header["versions"]}), "its header")
            records.require(records.is_count(header["seed"], 2**32 - 1), "its seed")
            for name in ("horizon", "n_splits", "n_samples"):
                count = header[name]
                records.require(records.is_count(count) and count > 0, f"its {name}")
        return header

    def _read_rounds(self, file: store.Store, n_iter: int) -> None:
        rows = file.rows("candidate", 2**31, records.MAX_BODY)
        if len(rows) > n_iter:
            raise CheckpointError(
                f"The 'n_iter' of RobustBayesSearchCV must be at least {len(rows)}, as "
                f"the checkpoint {self.path!r} has so many candidates. Got {n_iter} "
                "instead; raise it, or give another path."
            )
        with self._reading():
            numbers = [number for number, _ in rows]
            records.require(numbers == list(range(len(rows))), "candidates are missing")
            self._rounds = records.read_rounds([body for _, body in rows])
        self._n_rounds, self._n_candidates = len(self._rounds), len(rows)

    def splits(
        self,
        draw: Callable[[], list[tuple[Any, Any]]],
        *,
        n_samples: int,
        metrics: Sequence[str] | None,
        train: bool,
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
        """
        if self._store is None:
            splits = draw()
            self._header |= {"n_splits": len(splits), "n_samples": n_samples}
            self._start(splits)
            return splits
        found = self._read_splits(self._store, n_samples)
        self._read_folds(self._store, records.Form(metrics, train))
        return found

    def _start(self, splits: list[tuple[Any, Any]]) -> None:
        rows = [(i, records.write_split(split)) for i, split in enumerate(splits)]
        store.create(self.path, records.dumps(self._header), {"split": rows})
        self._store = store.Store(self.path)

    def _read_splits(self, file: store.Store, n_samples: int) -> list[tuple[Any, Any]]:
        # A row number takes eleven characters at most; some splitters repeat rows.
        rows = file.rows("split", _MAX_SPLITS, 1000 * n_samples + 10_000)
        with self._reading():
            whole = [n for n, _ in rows] == list(range(len(rows)))
            whole = whole and len(rows) == self._header["n_splits"]
            records.require(whole, "splits are missing")
            records.require(self._header["n_samples"] == n_samples, "its n_samples")
            return [records.read_split(body, n_samples) for _, body in rows]

    def _read_folds(self, file: store.Store, form: records.Form) -> None:
        n_splits = self._header["n_splits"]
        most = self._n_candidates * n_splits
        rows = file.rows("fold", most, records.MAX_BODY)
        with self._reading():
            records.require(all(0 <= n < most for n, _ in rows), "unknown folds")
            self._done = {
                divmod(n, n_splits): records.read_fold(body) for n, body in rows
            }
            form.check(list(self._done.values()))
            if self._retry_failed:
                self._again = {k for k, fold in self._done.items() if has_failed(fold)}
                self.retries = bool(self._again)
            last = len(self._rounds[-1]) if self._rounds else 0
            complete = (self._n_candidates - last) * n_splits
            numbers = [n for n, _ in rows if n < complete]
            records.require(len(numbers) == complete, "folds are missing")

    def next_round(self, source: Any) -> list[Trial]:
        """Return the next candidates: those noted, then new ones, which are noted."""
        if self._rounds:
            with self._reading():
                return self._resumed(source, self._rounds.pop(0))
        trials: list[Trial] = source.next_round()
        rows = [
            (i, records.write_candidate(self._n_rounds, record))
            for i, record in enumerate(source.records(trials), self._n_candidates)
        ]
        if rows:
            self._file.add("candidate", rows)
        self._n_rounds += 1
        self._n_candidates += len(rows)
        return trials

    @staticmethod
    def _resumed(source: Source, noted: list[Record]) -> list[Trial]:
        try:
            return source.resume(noted)
        except (ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            raise records.Malformed("a candidate") from error

    def done(self, first: int, n: int) -> dict[Key, FoldResult]:
        """Return the finished folds of `n` candidates from the number `first` on."""
        keys = ((i, k) for i in range(first, first + n) for k in range(self._n_splits))
        found = {
            key: self._done.pop(key)
            for key in keys
            if key in self._done and key not in self._again
        }
        self.n_read += len(found)
        self.n_read_failed += sum(map(has_failed, found.values()))
        return found

    def record(self, key: Key, result: FoldResult) -> None:
        """Write the result of a fold: from now on it is never fitted again."""
        candidate, split = key
        row = candidate * self._n_splits + split, records.write_fold(result)
        self._file.add("fold", [row], replace=key in self._again)

    @property
    def _n_splits(self) -> int:
        return int(self._header["n_splits"])

    @property
    def _file(self) -> store.Store:
        if self._store is None:
            raise RuntimeError("Expected the splits to be set before the first fold.")
        return self._store


def has_failed(fold: FoldResult) -> bool:
    """Tell whether a fold has raised, or has a score that is no number."""
    scores = fold["test_scores"]
    each = scores.values() if isinstance(scores, dict) else [scores]
    return bool(fold["fit_error"]) or not all(map(math.isfinite, each))


def open_journal(
    path: Any, *, retry_failed: bool = False
) -> AbstractContextManager[NoJournal]:
    """Return a context that gives the journal at a path, locked until it ends.

    Parameters
    ----------
    path : str, path or None
        The file; None for a journal that keeps nothing.
    retry_failed : bool, default=False
        Whether folds that failed are fitted again.
    """
    if path is None:
        return nullcontext(NoJournal())
    return _opened(path, retry_failed)


@contextmanager
def _opened(path: Any, retry_failed: bool) -> Iterator[Journal]:
    # One lock for all names of a file.
    name = os.fsdecode(path)
    if not name or "\0" in name:
        raise CheckpointError(
            f"The checkpoint {name!r} is not the name of a file: give the path of one."
        )
    name = os.path.realpath(name)
    store.exists(name)  # looked at before anything is put beside it
    with Lock(name):
        journal = Journal(name, retry_failed=retry_failed)
        try:
            yield journal
        finally:
            journal.close()
