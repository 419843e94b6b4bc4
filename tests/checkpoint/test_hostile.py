"""Files that are not checkpoints, no longer checkpoints, or malicious."""

import base64
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import tracemalloc
import warnings
import zlib
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris

from skrobustbo import Categorical, Real, RobustBayesSearchCV, load_checkpoint
from skrobustbo._trials import SINGLE, FoldResult
from skrobustbo.checkpoint import CheckpointError
from skrobustbo.checkpoint._events import (
    Asked,
    FoldForm,
    Malformed,
    dumps,
    in_rounds,
    loads,
    max_split,
    read_fold,
    read_split,
    write_fold,
    write_split,
)
from skrobustbo.checkpoint._lock import LOCK, NEW
from skrobustbo.checkpoint._store import (
    APPLICATION_ID,
    TABLES,
    VERSION,
    FileStore,
    _digest,
)
from skrobustbo.watching import main

X, y = load_iris(return_X_y=True)


class Fake(BaseEstimator):
    fits = 0

    def __init__(self, a=0.0, b="x"):
        self.a = a
        self.b = b

    def fit(self, X, y=None):
        Fake.fits += 1
        return self

    def score(self, X, y=None):
        return -(self.a**2) + len(self.b)


def make(path, n_iter=6, **settings):
    space = {"a": Real(-1, 1), "b": Categorical(["x", "yy", "z"])}
    given = {"cv": 3, "random_state": 0, "refit": False, **settings}
    return RobustBayesSearchCV(Fake(), space, n_iter=n_iter, checkpoint=path, **given)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "search.ckpt"
    make(path).fit(X, y)
    return path


@pytest.fixture
def path(original, tmp_path):
    copy = tmp_path / "search.ckpt"
    shutil.copy(original, copy)
    Fake.fits = 0
    return copy


def refused(path, match, n_iter=6):
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(CheckpointError, match=match) as error:
        make(path, n_iter).fit(X, y)
    assert "\n" not in str(error.value)
    assert Fake.fits == 0
    if before is not None:
        assert path.read_bytes() == before


# Other files --------------------------------------------------------------------------


def test_not_a_database(path):
    for content in (b"hello", b"x" * 5000, b"SQLite format 3\0", b"\0"):
        path.write_bytes(content)
        refused(path, "is not a checkpoint: give another path")


def test_a_database_of_another_application(path):
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE fold (number, body, digest)")
        db.commit()
    refused(path, "a database of another application")


def test_another_format(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    refused(path, rf"has format {VERSION + 1}, and this version reads format {VERSION}")


def test_places_that_hold_no_file(tmp_path):
    Fake.fits = 0
    refused(tmp_path, "is not a file")
    refused(tmp_path / "no" / "search.ckpt", "cannot be locked .*No such file")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "is not a file")


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="no users")
def test_a_file_that_may_not_be_written_to(path):
    root = os.geteuid() == 0
    for folder in (path.parent, *path.parent.parents[:2]):
        if root:
            folder.chmod(0o755)
    path.chmod(0o444)
    Path(f"{path}{LOCK}").touch()
    Path(f"{path}{LOCK}").chmod(0o666)
    if root:
        os.seteuid(65534)
    try:
        with pytest.raises(CheckpointError, match=r"cannot be (opened|locked)"):
            make(path).fit(X, y)
    finally:
        if root:
            os.seteuid(0)


def test_an_empty_file_is_filled(tmp_path):
    path = tmp_path / "search.ckpt"
    path.touch()
    (tmp_path / f"search.ckpt{NEW}").touch()  # of a killed run
    make(path).fit(X, y)
    Fake.fits = 0
    make(path).fit(X, y)
    assert Fake.fits == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "search.ckpt",
        f"search.ckpt{LOCK}",
    ]


def test_open_in_another_program(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(CheckpointError, match="open in another program"):
            make(path).fit(X, y)


# Damage -------------------------------------------------------------------------------


def test_truncated(path):
    whole = path.read_bytes()
    for size in (99, 100, 1000, 4096, len(whole) // 2, len(whole) - 4096):
        path.write_bytes(whole[:size])
        with pytest.raises(CheckpointError):
            make(path).fit(X, y)
        assert Fake.fits == 0


@pytest.mark.parametrize("n", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_flipped_bits_are_found_or_harmless(n, path):
    """Whatever bit is flipped: the file is refused, or nothing changes."""
    whole = path.read_bytes()
    expected = make(path).fit(X, y).cv_results_
    rng, n_refused = random.Random(n), 0
    for _ in range(n):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        Path(f"{path}-wal").unlink(missing_ok=True)
        try:
            found = make(path).fit(X, y).cv_results_
        except CheckpointError:
            n_refused += 1
            continue
        for key in ("params", "mean_test_score", "mean_fit_time", "model_mean"):
            np.testing.assert_array_equal(found[key], expected[key])
    assert Fake.fits == 0
    assert n_refused > n / 8


def test_flipped_bits_of_the_schema_are_found_or_harmless(path):
    """Names may be read as bytes, which cannot be compared with texts."""
    whole = path.read_bytes()
    names = [whole.index(f"table{name}".encode()) for name in TABLES]
    refused = 0
    for i in (name - k for name in names for k in range(1, 13)):
        data = bytearray(whole)
        data[i] ^= 1
        path.write_bytes(data)
        try:
            FileStore(str(path)).close()
        except CheckpointError:
            refused += 1
    assert refused > 6 * len(names)


# Contents -----------------------------------------------------------------------------


def change(path, table, number, edit):
    """Replace the body of a row, with a matching digest."""
    with closing(sqlite3.connect(path)) as db:
        (file_number,) = db.execute("SELECT number FROM header").fetchone()
        number = file_number if table == "header" else number
        query = f"SELECT body FROM {table} WHERE number = ?"
        (body,) = db.execute(query, [number]).fetchone()
        body = edit(body)
        db.execute(
            f"UPDATE {table} SET body = ?, digest = ? WHERE number = ?",
            [body, _digest(file_number, table, number, body), number],
        )
        db.commit()


def edited(**changes):
    return lambda body: json.dumps({**json.loads(body), **changes})


# Texts with control characters for terminals ------------------------------------------

LOUD = "\x1b[2J\u202e"


def texts(value, place=()):
    """Yield the places in a JSON value that hold a text, or might."""
    if isinstance(value, str | None):
        yield place
    elif isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            yield from texts(item, (*place, key))


def shout(place):
    """Return a function that puts a text at a place in a row."""

    def edit(body):
        record = inside = json.loads(body)
        for key in place[:-1]:
            inside = inside[key]
        inside[place[-1]] = LOUD
        return json.dumps(record)

    return edit


def said_of(path):
    """Yield all messages about a file, in all uses of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for act in (
            lambda: make(path, 7, verbose=1).fit(X, y).report(),
            lambda: make(None, 3, previous=path).fit(X, y).report(),
            lambda: repr(load_checkpoint(path).versions),
            lambda: str(main(["watch", str(path), "--once"])),
        ):
            try:
                yield act()
            except ValueError as error:
                yield str(error)
    yield from (str(w.message) for w in caught)


@pytest.mark.parametrize("table", [name for name in TABLES if name != "over"])
def test_nothing_in_a_file_reaches_the_terminal_as_it_is(table, original, path, capsys):
    with closing(sqlite3.connect(path)) as db:
        # Of several rows about the same thing, the last one counts.
        query = f"SELECT number, body FROM {table} ORDER BY number DESC"
        number, body = db.execute(query).fetchone()
    places = list(texts(json.loads(body)))
    assert places
    for place in places:
        shutil.copy(original, path)
        change(path, table, number, shout(place))
        said = "".join(said_of(path)) + capsys.readouterr().out
        assert not set(LOUD[:1] + LOUD[-1:]) & set(said), place


def test_names_of_tables_are_escaped(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA writable_schema = ON")
        row = "table", LOUD, LOUD, 3, f'CREATE TABLE "{LOUD}" (a'
        db.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
        db.commit()
    with pytest.raises(CheckpointError, match="malformed") as error:
        make(path).fit(X, y)
    assert str(error.value).isprintable()


PARAMS = {"a": 0.5, "b": 1}
SAID = {"label": "initial", "mean": 0.5, "std": 0.5}
BAD_CANDIDATES = [
    {"params": {"a": 0.5}},
    {"params": {"a": 7.0, "b": 1}},
    {"params": {"a": 0.5, "b": 3}},
    {"params": {"a": 0.5, "b": -1}},
    {"params": {"a": 0.5, "b": "1"}},
    {"params": {"a": 0.5, "b": 1.5}},
    {"params": {"a": 0.5, "b": True}},
    {"params": {"a": 0.5, "b": 10**30}},
    {"params": {"a": "0.5", "b": 1}},
    {"params": {"a": {"$float": "nan"}, "b": 1}},
    {"params": {"a": [], "b": 1}},
    {"params": {"a": 0.5, "b": 1, "c": 2}},
    {"params": [1, 2]},
    {"params": None},
    {"params": "'; DROP TABLE fold; --"},
    {"branch": 1},
    {"branch": -1},
    {"branch": False},
    {"resource": "1"},
    {"resource": True},
    {"said": {**SAID, "label": 3}},
    {"said": {**SAID, "label": None}},
    {"said": {**SAID, "mean": "0"}},
    {"said": {**SAID, "mean": None}},
    {"said": {**SAID, "std": [1]}},
    {"said": {**SAID, "extra": 1}},
    {"said": [1]},
    {"said": {}},
    {"extra": 1},
    {"round": -1},
    {"round": 77},
    {"round": "0"},
    {"round": None},
]


@pytest.mark.parametrize("changes", BAD_CANDIDATES, ids=str)
def test_candidates_are_checked(changes, path):
    change(path, "candidate", 5, edited(**changes))
    refused(path, "is damaged")


BAD_FOLDS = [
    {"test_scores": "high"},
    {"test_scores": None},
    {"test_scores": [1]},
    {"test_scores": {}},
    {"test_scores": {"a": 1.0}},
    {"test_scores": {SINGLE: "high"}},
    {"test_scores": {SINGLE: 10**400}},
    {"train_scores": {SINGLE: 1.0}},
    {"fit_time": -1.0},
    {"fit_time": "inf"},
    {"fit_time": None},
    {"n_test_samples": -1},
    {"n_test_samples": 1.5},
    {"n_test_samples": True},
    {"n_test_samples": 2**60},
    {"fit_error": 3},
    {"more": 1},
]


@pytest.mark.parametrize("changes", BAD_FOLDS, ids=str)
def test_folds_are_checked(changes, path):
    change(path, "fold", 2, edited(**changes))
    refused(path, "is damaged")


TEXTS = ["", "[]", "{", "NaN", "{}", "[" * 100_000, '{"a": NaN}', "1" * 5000, "\ud800"]


@pytest.mark.parametrize("table", ["header", "split", "candidate", "fold"])
@pytest.mark.parametrize("text", TEXTS[:-1], ids=lambda text: text[:10])
def test_rows_are_json_objects(table, text, path):
    change(path, table, 0, lambda body: text)
    refused(path, "is damaged")


BAD_HEADERS = [
    {"seed": -1},
    {"seed": 2**40},
    {"seed": 1.5},
    {"seed": True},
    {"horizon": 0},
    {"horizon": "9"},
    {"n_splits": 10**12},
    {"n_splits": 2},
    {"n_samples": 149},
    {"versions": {"numpy": 3}},
    {"versions": None},
    {"search": {"data": 3}},
    {"search": []},
    {"more": 1},
]


@pytest.mark.parametrize("changes", BAD_HEADERS, ids=str)
def test_the_header_is_checked(changes, path):
    change(path, "header", 0, edited(**changes))
    refused(path, "is damaged")


def test_what_a_header_says_is_shown_as_text(path):
    def nasty(body):
        header = json.loads(body)
        header["search"]["estimator"]["a"] = "\x1b[2J\n" * 1000
        return json.dumps(header)

    change(path, "header", 0, nasty)
    refused(path, r"the estimator parameter a was \\x1b\[2J\\n.*\.\.\. and is now 0.0")


BAD_RUNS = [
    {"settings": 3},
    {"settings": {"n_iter": 6}},
    {"started": "now"},
    {"ended": -1.0},
    {"more": 1},
]


@pytest.mark.parametrize("changes", BAD_RUNS, ids=str)
def test_the_runs_are_checked(changes, path):
    change(path, "run", 0, edited(**changes))
    refused(path, "is damaged")


def test_what_a_call_was_is_shown_as_text(path, capsys):
    settings = {"n_iter": "\x1b[2J\n" * 1000, "max_time": "None"}
    change(path, "run", 1, edited(settings=settings))  # the end of the call
    make(path, verbose=1).fit(X, y)
    (line,) = [p for p in capsys.readouterr().out.splitlines() if "Resumed" in p]
    assert "; n_iter was \\x1b[2J\\n" in line
    assert line.endswith("... and is now 6")
    assert len(line) < 500 + len(str(path))


def test_other_versions_are_warned_of(path):
    versions = {"numpy": "0.1", "elsewhere": "3"}
    change(path, "header", 0, edited(versions=versions))
    with pytest.warns(UserWarning, match=r"other versions \(numpy was 0.1 and "):
        make(path).fit(X, y)
    assert Fake.fits == 0


STATEMENTS = [
    "DELETE FROM fold WHERE number = 3",
    "DELETE FROM candidate WHERE number = 3",
    "DELETE FROM split WHERE number = 1",
    "DELETE FROM header",
    "DROP TABLE fold",
    "INSERT INTO fold SELECT 5000, body, digest FROM fold WHERE number = 0",
    "INSERT INTO header SELECT 1, body, digest FROM header",
    "UPDATE fold SET number = -1 WHERE number = 17",
    "UPDATE fold SET body = CAST(body AS BLOB) WHERE number = 1",
    "UPDATE fold SET body = zeroblob(100) WHERE number = 1",
    "UPDATE fold SET digest = 0",
    "UPDATE fold SET body = 7",
    "UPDATE fold SET body = printf('%.*c', 9000000, 'x')",
    "CREATE TABLE more (a)",
    "CREATE INDEX i ON fold (body)",
    "CREATE TRIGGER t AFTER INSERT ON fold BEGIN DELETE FROM fold; END",
    "CREATE VIEW v AS SELECT load_extension('x')",
    "ALTER TABLE fold ADD COLUMN more",
    "CREATE TABLE more (a UNIQUE)",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_other_tables_and_rows(statement, path):
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        db.commit()
    refused(path, "is damaged")


def test_a_view_in_place_of_a_table(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE fold RENAME TO f")
        db.execute("CREATE VIEW fold AS SELECT number, body, digest FROM f")
        db.commit()
    refused(path, "is damaged .*tables differ")


# Rows by themselves -------------------------------------------------------------------


def test_splits_round_trip():
    rng = np.random.default_rng(0)
    for rows in (rng.permutation(90), np.arange(-5, 90), [3, 3, 1], np.array([], int)):
        train, test = read_split(write_split((rows, [0])), 100)
        np.testing.assert_array_equal(train, rows)
        np.testing.assert_array_equal(test, [0])
    mask = rng.uniform(size=100) < 0.5
    train, _ = read_split(write_split((mask, ~mask)), 100)
    np.testing.assert_array_equal(train, mask)
    assert train.dtype == bool


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": [10**12]},
        {"shape": [9]},
        {"shape": [-1]},
        {"shape": []},
        {"shape": [2, 5]},
        {"shape": [1] * 99},
        {"shape": 10},
        {"data": "???"},
        {"data": "AAAA"},
        {"data": 3},
        {"type": "object"},
        {"type": "bool"},
        {"more": 1},
    ],
    ids=str,
)
def test_splits_are_checked(changes):
    record = json.loads(write_split((np.arange(10), np.arange(3))))
    record["train"] |= changes
    with pytest.raises(Malformed):
        read_split(json.dumps(record), 100)


def test_rows_outside_the_data_and_bombs():
    for rows in ([100], [-101], [2**62, 2**62]):
        with pytest.raises(Malformed):
            read_split(write_split((rows, [0])), 100)
    for mask in (np.ones(99, bool), np.ones(101, bool)):
        with pytest.raises(Malformed):
            read_split(write_split((mask, [0])), 100)
    bomb = json.loads(write_split(([0], [0])))
    packed = zlib.compress(bytes(8 * 10**7), 9)
    bomb["train"]["data"] = base64.b64encode(packed).decode()
    assert len(json.dumps(bomb)) < max_split(100)
    for announced in (10, 10**7):
        bomb["train"]["shape"] = [announced]
        tracemalloc.start()
        with pytest.raises(Malformed):
            read_split(json.dumps(bomb), 100)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 10**6


@pytest.mark.parametrize("place", ["body", "digest", "definition"])
@pytest.mark.parametrize("text", ["x" * 10**7, "{}\0" + "x" * 10**7], ids=["", "NUL"])
def test_huge_texts_are_refused_before_they_are_read(text, place, path):
    """SQL's length() stops at the first NUL."""
    with closing(sqlite3.connect(path)) as db:
        if place == "definition":
            columns = "number INTEGER PRIMARY KEY, body TEXT, digest TEXT"
            comment = text.replace("\0", " ")
            db.execute(f"CREATE TABLE other ({columns}) /* {comment} */")
        else:
            db.execute(f"UPDATE fold SET {place} = ? WHERE number = 3", [text])
        db.commit()
    for read in (lambda: make(path).fit(X, y), lambda: load_checkpoint(path)):
        tracemalloc.start()
        with pytest.raises(CheckpointError, match="is damaged"):
            read()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 5 * 10**6
    assert Fake.fits == 0


def test_numbers_round_trip():
    for value in (0.1, 1, True, 5e-324, np.float64(0.1), np.float32(0.1), np.int64(3)):
        found = loads(dumps({"": value}))[""]
        assert found == value
        assert type(found) in (bool, int, float)
    for value in (np.nan, np.inf, -np.inf):
        np.testing.assert_equal(loads(dumps({"": [value]}))[""], [value])


def test_folds_round_trip_and_have_one_form():
    good = FoldResult(
        test_scores={"a": 1.0, "b": np.nan},
        train_scores={"a": 1, "b": -np.inf},
        n_test_samples=3,
        fit_time=0.5,
    )
    key, found = read_fold(write_fold(((4, 1), good)))
    assert key == (4, 1)
    np.testing.assert_equal(vars(found), vars(good))
    assert read_fold(write_fold(((4, 1), None))) == ((4, 1), None)
    alone = {SINGLE: 0.0}
    failed = FoldResult(alone, alone, fit_error="E" * 200_000, fit_time=0.5)
    folds = [read_fold(write_fold(((0, 0), fold))) for fold in (good, failed)]
    assert sorted(len(fold.fit_error or "") for _, fold in folds) == [0, 100_000]
    for order in (folds, folds[::-1]):
        form = FoldForm(None, train=True)
        for fold in order:
            form.check(fold)
    FoldForm(["b", "a"], train=True).check(folds[0])
    for metrics, train in ((None, False), (["a", "b"], True), ([], True)):
        form = FoldForm(metrics, train=train)
        with pytest.raises(Malformed):
            [form.check(fold) for fold in folds]
    form = FoldForm(None, train=None)
    form.check(folds[0])
    for other in ({"a": 1.0}, {"a": 1.0, "c": 1.0}):
        with pytest.raises(Malformed, match="metrics"):
            form.check(((0, 0), replace(good, test_scores=other)))


def test_rounds():
    said = {"label": "told", "mean": -np.inf, "std": 0.5}

    def asked(*rounds):
        return [Asked(0, {"a": 0.5}, None, said, round=k) for k in rounds]

    found = asked(0, 0, 1, 2, 2)
    assert in_rounds(found) == [found[:2], found[2:3], found[3:]]
    assert in_rounds([]) == []
    for bad in ([1], [0, 2], [0, 1, 0], [0, 2, 1]):
        with pytest.raises(Malformed, match="round"):
            in_rounds(asked(*bad))


# A full disk --------------------------------------------------------------------------

FULL = """
import resource, sys
sys.path.insert(0, {folder!r})
import test_hostile as t
from skrobustbo.checkpoint import CheckpointError
resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))
try:
    t.make({path!r}, n_iter=30, **{settings!r}).fit(t.X, t.y)
except CheckpointError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on files")
@pytest.mark.parametrize(
    ("size", "settings"),
    [
        pytest.param(3000, {}, marks=pytest.mark.slow),
        (29_000, {}),
        pytest.param(120_000, {}, marks=pytest.mark.slow),
        pytest.param(
            29_000,
            {"schedule": "window", "batch_size": 3, "racing": "confident"},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            29_000, {"schedule": "free", "batch_size": 3}, marks=pytest.mark.slow
        ),
    ],
)
def test_a_full_disk_says_so_and_loses_nothing(size, settings, tmp_path):
    path = tmp_path / "search.ckpt"
    here = Path(__file__)
    parts = {"folder": str(here.parent), "path": str(path)}
    code = FULL.format(**parts, size=size, settings=settings)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(here.parents[2])},
    )
    assert "could not be written" in done.stdout, done.stderr
    assert "make sure that the folder is writable and has space" in done.stdout
    Fake.fits = 0
    found = make(path, n_iter=30, **settings).fit(X, y)
    n_fits, Fake.fits = Fake.fits, 0
    expected = make(None, n_iter=30, **settings).fit(X, y)
    assert (n_fits == Fake.fits) == (size == 3000)
    assert found.cv_results_["params"] == expected.cv_results_["params"]


def test_our_marks():
    assert APPLICATION_ID.to_bytes(4, "big") == b"skrb"
