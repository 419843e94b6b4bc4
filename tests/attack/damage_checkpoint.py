"""A damaged or forged checkpoint is refused, or has no effect.

    python tests/attack/damage_checkpoint.py [--n N] [--seed S] [--jobs J] [--case ...]

Damage: flipped bits, truncated files, lost or exchanged pages in the file or its
journal, rows from another checkpoint of the same form, journals of a deleted file. The
search ends as if uninterrupted, or a CheckpointError says why not. Only forged scores
with correct digests are believed, as the page on security says.
"""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import command
import numpy as np
from cases import Rng, pick
from mutate_state import mutate
from sklearn.base import BaseEstimator
from sklearn.exceptions import FitFailedWarning

sys.path.append(str(Path(__file__).parents[1] / "checkpoint"))

from test_hostile import change

from skrobustbo import Categorical, Real, RobustBayesSearchCV
from skrobustbo.checkpoint import CheckpointError

X, y = np.arange(60.0).reshape(30, 2), np.arange(30) % 2
TABLES = ["header", "split", "candidate", "fold"]
SPACE = {"a": Real(-1, 1), "b": Categorical(["x", "yy", "z"])}
N_ITER, PAGE = 6, 4096


class Fake(BaseEstimator):
    """Scores a known function; another one when another file is to be written."""

    #: An offset on scores: code, which a checkpoint does not know.
    other = 0.0
    #: What to do at a fit.
    at_fit: Callable[[], None] | None = None

    def __init__(self, a: float = 0.0, b: str = "x") -> None:
        self.a = a
        self.b = b

    def fit(self, X: Any, y: Any = None) -> Fake:
        if Fake.at_fit is not None:
            Fake.at_fit()
        self.offset_ = X.mean() / 100
        return self

    def score(self, X: Any, y: Any = None) -> float:
        other = Fake.other * np.sin(9 * self.a)
        return -(self.a**2) + len(self.b) + self.offset_ + other


def table(path: Path | None, data: Any = X) -> dict[str, str]:
    """Run the search; return its table without times."""
    search = RobustBayesSearchCV(
        Fake(),
        SPACE,
        n_iter=N_ITER,
        cv=3,
        random_state=0,
        refit=False,
        checkpoint=path,
    )
    results = search.fit(data, y).cv_results_
    return {key: repr(results[key]) for key in results if "time" not in key}


def copied(folder: Path, to: Path) -> None:
    """Copy a checkpoint and the files beside it; the lock is irrelevant."""
    to.mkdir(exist_ok=True)
    for file in folder.glob("search.ckpt*"):
        if file.suffix != ".lock":
            shutil.copy(file, to / file.name)


@functools.cache
def written(other: float, n_fits: int | None) -> Path:
    """Return a folder with the checkpoint of a search, finished or killed at a fit."""
    path = _folder() / f"{other} {n_fits}"
    path.mkdir()
    work, fits = path / "work", iter(range(1, 1000))
    work.mkdir()

    def keep() -> None:
        if next(fits) == n_fits:
            copied(work, path)

    Fake.other, Fake.at_fit = other, None if n_fits is None else keep
    table(work / "search.ckpt")
    Fake.other, Fake.at_fit = 0.0, None
    if n_fits is None:
        copied(work, path)
    return path


@functools.cache
def _folder() -> Path:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder)
    return Path(folder)


@functools.cache
def unbroken(other: bool = False) -> dict[str, str]:
    return table(None, X[::-1] if other else X)


# Damage: each function takes the path of a checkpoint and damages it ------------------


def some_file(rng: Rng, path: Path) -> Path:
    """Return the file or its journal."""
    return pick(rng, [f for f in (path, Path(f"{path}-wal")) if f.exists()])


def flip(rng: Rng, path: Path) -> None:
    file = some_file(rng, path)
    data = bytearray(file.read_bytes())
    for _ in range(int(rng.integers(1, 9))):
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    file.write_bytes(data)


def cut(rng: Rng, path: Path) -> None:
    file = some_file(rng, path)
    data = file.read_bytes()
    file.write_bytes(data[: int(rng.integers(1, len(data)))])


def lose_page(rng: Rng, path: Path) -> None:
    file = some_file(rng, path)
    data = bytearray(file.read_bytes())
    start = int(rng.integers(-(-len(data) // PAGE))) * PAGE
    data[start : start + PAGE] = bytes(len(data[start : start + PAGE]))
    file.write_bytes(data)


def exchange_pages(rng: Rng, path: Path) -> None:
    data = path.read_bytes()
    pages = [data[i : i + PAGE] for i in range(0, len(data), PAGE)]
    i, k = rng.integers(1, len(pages), size=2)
    pages[i], pages[k] = pages[k], pages[i]
    path.write_bytes(b"".join(pages))


def append(rng: Rng, path: Path) -> None:
    file = some_file(rng, path)
    file.write_bytes(file.read_bytes() + rng.bytes(int(rng.integers(1, 9000))))


def foreign_rows(rng: Rng, path: Path) -> None:
    """Copy rows with their digests from the same search with other scores."""
    source = written(0.5, None) / "search.ckpt"
    name = pick(rng, ["candidate", "fold", "fold", "fold"])
    with (
        closing(sqlite3.connect(path)) as db,
        closing(sqlite3.connect(source)) as from_,
    ):
        rows = from_.execute(f"SELECT number, body, digest FROM {name}").fetchall()
        here = [n for (n,) in db.execute(f"SELECT number FROM {name}")]
        rows = [row for row in rows if row[0] in here]
        for i in rng.permutation(len(rows))[: int(rng.integers(1, len(rows) + 1))]:
            db.execute(f"INSERT OR REPLACE INTO {name} VALUES (?, ?, ?)", rows[i])
        db.commit()


def foreign_journal(rng: Rng, path: Path) -> None:
    """Put the journal of another file beside this one."""
    shutil.copy(written(0.5, 9) / "search.ckpt-wal", f"{path}-wal")


def forged(rng: Rng, path: Path) -> None:
    """Change a row and give it a matching digest."""
    name = pick(rng, TABLES)
    with closing(sqlite3.connect(path)) as db:
        numbers = [n for (n,) in db.execute(f"SELECT number FROM {name}")]

    def edit(body: str) -> str:
        return json.dumps(mutate(rng, json.loads(body))[0])

    change(path, name, pick(rng, numbers), edit)


def gone(rng: Rng, path: Path) -> None:
    """Delete the file but not the files beside it."""
    path.unlink()


DAMAGE = {
    each.__name__: each
    for each in (
        flip,
        cut,
        lose_page,
        exchange_pages,
        append,
        foreign_rows,
        foreign_journal,
        forged,
        gone,
    )
}


def check(case: str) -> list[command.Step]:
    """Damage one checkpoint in one way, and run the search with it."""
    kind, seed = case.split(":")
    rng, start = np.random.default_rng(int(seed)), time.perf_counter()
    n_fits = pick(rng, [None, 5, 9, 14])
    if kind == "gone":
        n_fits = n_fits or 9
    other = kind == "gone" and bool(rng.random() < 0.7)
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        for of in (UserWarning, FitFailedWarning):  # of forged content
            warnings.simplefilter("ignore", of)
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="sklearn")
        copied(written(0.0, n_fits), Path(folder))
        path = Path(folder) / "search.ckpt"
        DAMAGE[kind](rng, path)
        try:
            found = table(path, X[::-1] if other else X)
        except CheckpointError:
            assert kind != "gone", "a journal without a file is no checkpoint"
        else:
            expected = unbroken(other)
            differing = [key for key in expected if found.get(key) != expected[key]]
            assert kind == "forged" or not differing, f"believed: {differing}"
    return [(time.perf_counter() - start, f"{kind}, killed at fit {n_fits}")]


def cases(n: int, seed: int) -> list[str]:
    """Return `n` cases, cycling through the kinds of damage."""
    return [f"{[*DAMAGE][i % len(DAMAGE)]}:{seed + i}" for i in range(n)]


if __name__ == "__main__":
    sys.exit(command.main(__file__, __doc__, check, cases))
