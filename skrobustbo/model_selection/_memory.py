"""The journal of a search without a checkpoint, in memory, for `resume`."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._sklearn_compat import num_samples
from skrobustbo._trials import FoldId, FoldResult, Trial
from skrobustbo.checkpoint import Asked, Done, NoJournal, Parts, difference

Rows = NDArray[Any]


class MemoryJournal(NoJournal):
    """A journal in memory, from which the next run reads the results of the last.

    Attributes
    ----------
    rounds : list of list of Asked
        The candidates asked, round by round, as the source writes them.
    shape : (int, int or None)
        Rows and columns of the data; None before the end of the first run.
    """

    def __init__(self) -> None:
        self._identity = secrets.token_hex(8)
        self.rounds: list[list[Asked]] = []
        self.n_read_of: dict[int, int] = {}
        self._n_replayed = 0
        self._begun: tuple[Parts, int, int] | None = None
        self.shape: tuple[int, int | None] | None = None
        self._splits: list[_Split] = []
        #: The finished folds of each candidate, by split. Keys are no tuples, as skops
        #: writes JSON.
        self._done: dict[int, dict[int, Done]] = {}
        self._n_turns = 0

    @property
    def identity(self) -> str:
        """A random number."""
        return self._identity

    @property
    def described(self) -> Parts:
        """What the first run described the search by."""
        return {} if self._begun is None else self._begun[0]

    @property
    def n_read(self) -> int:
        """Folds read from a file: none."""
        return 0

    @property
    def n_asked(self) -> tuple[int, int]:
        """Rounds that have been asked so far, and the candidates in them."""
        return len(self.rounds), sum(map(len, self.rounds))

    def start_resume(self, X: Any) -> None:
        """Begin another run; ValueError if the data have another shape than before."""
        now = shape_of(X)
        if now != self.shape:
            raise ValueError(
                "The 'X' of RobustBayesSearchCV.resume must be that of fit, with "
                f"{_shown(self.shape)}. Got {_shown(now)} instead; call fit for other "
                "data, with previous= to make use of this search."
            )
        self._n_replayed, self.n_read_of = 0, {}

    def begin(
        self,
        describe: Callable[[], Parts],
        *,
        seed: int,
        n_iter: int,
        drawn: bool,
        **more: Any,
    ) -> tuple[int, int]:
        """Return the seed and the horizon, which are those of the first run."""
        with warnings.catch_warnings():
            # The warning is about functions in a file, and there is none here.
            warnings.simplefilter("ignore")
            parts = describe()
        if self._begun is None:
            self._begun = parts, seed, n_iter
            return seed, n_iter
        before, first_seed, horizon = self._begun
        other = difference(before, parts, None if drawn else (first_seed, seed))
        if other is not None:
            raise ValueError(
                "The settings of RobustBayesSearchCV must be those of fit when resume "
                f"is called, and {other}: set it back, or call fit, with previous= to "
                "make use of this search."
            )
        return first_seed, horizon

    def open(
        self,
        draw: Callable[[], list[tuple[Any, Any]]],
        *,
        n_samples: int,
        **others: Any,
    ) -> list[tuple[Any, Any]]:
        """Return the splits of the first run."""
        if self._splits:
            return [split.rows() for split in self._splits]
        found = draw()
        self._splits = [_Split(*split, n_samples) for split in found]
        return found

    def note_data(self, X: Any) -> None:
        """Record the shape of the data."""
        self.shape = shape_of(X)

    def next_round(self, source: Any) -> list[Trial]:
        """Return the next round: those of the last run first, and then new ones."""
        trials: list[Trial]
        if self._n_replayed < len(self.rounds):
            trials = source.resume(self.rounds[self._n_replayed])
        else:
            trials = source.next_round()
            if trials:
                self.rounds.append(source.records(trials))
        self._n_replayed += bool(trials)
        return trials

    def folds_of(self, candidate: int) -> list[Done]:
        """Return the finished folds of a candidate."""
        splits = self._done.get(candidate, {})
        found = [splits[split] for split in sorted(splits)]
        self.n_read_of[candidate] = len(found)
        return found

    def record(self, key: FoldId, result: FoldResult, *, in_turn: bool = False) -> None:
        """Keep the result of a fold, and its position if the order matters."""
        candidate, split = key
        self._n_turns += in_turn
        kept = replace(result, turn=self._n_turns if in_turn else 0)
        self._done.setdefault(candidate, {})[split] = key, kept


def shape_of(X: Any) -> tuple[int, int | None]:
    """Return the number of rows and of columns, None where there are no columns."""
    shape: Sequence[int] = (
        np.shape(X[:1]) if isinstance(X, list) else getattr(X, "shape", ())
    )
    return num_samples(X), int(shape[1]) if len(shape) > 1 else None


def _shown(shape: tuple[int, int | None] | None) -> str:
    if shape is None:
        return "rows that are not known"
    n_rows, n_columns = shape
    return f"{n_rows} rows" + ("" if n_columns is None else f" of {n_columns} columns")


class _Split:
    """A split. Training rows are stored only if they are not simply all other rows."""

    def __init__(self, train: Any, test: Any, n_samples: int) -> None:
        self._n_samples, self._test = n_samples, test
        self._train = None if _are_the_rest(train, test, n_samples) else train

    def rows(self) -> tuple[Any, Any]:
        """Return the training and the test rows."""
        if self._train is not None:
            return self._train, self._test
        return _others(self._test, self._n_samples), self._test


def _others(test: Rows, n_samples: int) -> Rows:
    left = np.ones(n_samples, dtype=bool)
    left[test] = False
    return np.flatnonzero(left)


def _are_the_rest(train: Any, test: Any, n_samples: int) -> bool:
    both = isinstance(train, np.ndarray) and isinstance(test, np.ndarray)
    if not both or train.dtype != np.intp or test.dtype.kind != "i":
        return False
    return np.array_equal(train, _others(test, n_samples))
