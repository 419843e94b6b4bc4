"""Store events in memory or in an SQLite database.

A file has one table for each kind of event. Its rows are numbered consecutively and
have digests. The header row contains a random number that identifies the file. This
number is part of every digest, so that rows from other files are rejected.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

from skrobustbo._names import printable
from skrobustbo.checkpoint import _events as events
from skrobustbo.checkpoint._lock import (
    NEW,
    CheckpointError,
    begin_of,
    check_beside,
    foreign,
    remove_beside,
)
from skrobustbo.checkpoint._snapshot import Key, hold, opened, release

#: Events by kind; each kind is a table in the file.
Tables = dict[str, list[Any]]

#: "skrb": distinguishes our files from those of other applications.
APPLICATION_ID = 0x736B7262
#: Raise this number if an older version would misread the file.
VERSION = 7
TABLES = ("header", "split", "candidate", "fold", "over", "run")
_COLUMNS = "number INTEGER PRIMARY KEY, body TEXT NOT NULL, digest TEXT NOT NULL"
_SCHEMA = {name: f"CREATE TABLE {name} ({_COLUMNS})" for name in TABLES}
#: Identifies a file as ours.
_FIRST = f"""
BEGIN;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
{"; ".join(_SCHEMA.values())};
COMMIT;
"""

#: Maximum bytes of a row besides its body, or of a table definition; and SQLite's
#: limit.
_LONG, _LONGEST = 1000, 1_000_000_000
#: Only the owner may read and write the file. SQLite's files beside it inherit this.
_MODE = 0o600

# Exclusive: nobody else reads, so WAL needs no shared memory and works on network
# drives. Normal: a commit survives a crash but not a power cut, which may lose the last
# folds but never the file.
_SETTINGS = """
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA mmap_size = 0;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA synchronous = NORMAL;
"""


def real_path(path: Any) -> str:
    """Return the canonical path of a file, or raise an error if it is invalid."""
    name = os.fsdecode(path)
    if not name or "\0" in name:
        raise CheckpointError(
            f"The checkpoint {name!r} is not the name of a file: give the path of one."
        )
    return os.path.realpath(name)


def exists(path: str, *, writing: bool = True) -> bool:
    """Return whether there is a checkpoint at `path`.

    An empty file does not count as a checkpoint. Files of other programs are never
    changed.

    Parameters
    ----------
    path : str
        Path of the file.
    writing : bool, default=True
        Whether the caller will write to the file.

    Raises
    ------
    CheckpointError
        If the path, or a file next to it, belongs to another program, or if the file
        cannot be opened.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise CheckpointError(
                f"The checkpoint {path!r} is not a file: give the path of a file."
            )
        with opened(path, writing=writing) as file:
            head = file.read(100)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {path!r} cannot be opened for "
            f"{'writing' if writing else 'reading'} ({error.strerror or error}): "
            "change its permissions or give another path."
        ) from error
    if head:
        _check_head(path, head)
        check_beside(path)
    return bool(head)


def _check_head(path: str, head: bytes) -> None:
    if not _is_database(head):
        raise CheckpointError(f"The file {path!r} is not a checkpoint{_INSTEAD}")
    if not _is_ours(head):
        raise CheckpointError(
            f"The file {path!r} is a database of another application, not a "
            f"checkpoint{_INSTEAD}"
        )
    version = int.from_bytes(head[60:64], "big")
    if version != VERSION:
        raise CheckpointError(
            f"The checkpoint {path!r} has format {version}, and this version reads "
            f"format {VERSION}: use the version that wrote it, or give another path."
        )


def _is_database(head: bytes) -> bool:
    return head.startswith(b"SQLite format 3\0") and len(head) == 100


def _is_ours(head: bytes) -> bool:
    return _is_database(head) and int.from_bytes(head[68:72], "big") == APPLICATION_ID


_INSTEAD = ": give another path, and leave this one to its owner."


def damaged(path: str, what: str) -> CheckpointError:
    """Return the error for a damaged file."""
    return CheckpointError(
        f"The checkpoint {path!r} is damaged ({printable(what)}): restore it from a "
        "copy, or give another path to start again."
    )


class ListStore:
    """Stores events in memory.

    Parameters
    ----------
    tables : dict of list
        First events of a search: its start, its splits and the first call to `fit`.

    Attributes
    ----------
    number : int
        Random number that identifies the store.
    """

    def __init__(self, tables: Tables) -> None:
        self.number = secrets.randbits(63)
        self._tables: Tables = {kind: [] for kind in TABLES} | tables

    def read(self, kind: str) -> list[Any]:
        return self._tables[kind]

    def add(self, kind: str, new: Sequence[Any]) -> None:
        """Append events of the given kind."""
        self._tables[kind] += new


#: Writer, reader and maximum row length for each kind of event; the form limits folds,
#: and the reader limits splits.
_KINDS: dict[str, tuple[Callable[[Any], str], Callable[[str], Any], int]] = {
    "header": (events.write, events.read_started, 64_000_000),
    "split": (str, str, events.MAX_PREDICTED),
    "candidate": (events.write, events.read_candidate, events.MAX_BODY),
    "fold": (events.write_fold, events.read_fold, events.MAX_PREDICTED),
    "over": (events.write_over, events.read_over, 1_000),
    "run": (events.write, events.read_call, 1_000_000),
}


class FileStore:
    """Stores events in a file.

    Parameters
    ----------
    path : str
        Path of an existing checkpoint.
    called : str, default=None
        Name of the file in error messages. If None, its path is used.

    Attributes
    ----------
    number : int
        Random number that identifies the file.
    form : FoldForm
        The common form of the folds, as far as it is known.

    Raises
    ------
    CheckpointError
        If the database is damaged.
    """

    def __init__(self, path: str, called: str | None = None) -> None:
        self.path = called or path
        with self._reading():
            self._db = sqlite3.connect(path, isolation_level=None, timeout=5.0)
        self._held: Key | None = None
        self.form = events.FoldForm(None, train=None)
        try:
            self._check()
            self._held = hold(path)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Convert SQLite errors into a CheckpointError."""
        try:
            yield
        except (sqlite3.Error, UnicodeError) as error:  # a name may not be text
            if "locked" in str(error):
                raise CheckpointError(
                    f"The checkpoint {self.path!r} is open in another program: close "
                    "it there first."
                ) from error
            raise damaged(self.path, str(error)) from error

    def _check(self) -> None:
        with self._reading():
            # Read no longer text before the tables are checked.
            self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONG)
            self._db.executescript(_SETTINGS)
            marks = "application_id", "user_version"
            found = [self._one(f"PRAGMA {mark}") for mark in marks]
            self._require(found == [APPLICATION_ID, VERSION], "its header")
            schema = "SELECT type, name, sql FROM sqlite_master LIMIT 100"
            found = self._db.execute(schema).fetchall()
            self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
            tables = {("table", name, sql) for name, sql in _SCHEMA.items()}
            are_ours = len(found) == len(tables) and set(found) == tables
            self._require(are_ours, "its tables differ")
            verdict = self._one("PRAGMA integrity_check(1)")
            self._require(verdict == "ok", str(verdict))
            mode = self._one("PRAGMA journal_mode = WAL")
            self._require(mode == "wal", "its journal mode")
            headers = self._db.execute("SELECT number FROM header LIMIT 2").fetchall()
            self._require(len(headers) == 1, "its header")
            self.number = int(headers[0][0])

    def _require(self, condition: bool, what: str) -> None:
        if not condition:
            raise damaged(self.path, what)

    def _one(self, query: str) -> Any:
        (value,) = self._db.execute(query).fetchone()
        return value

    def read(self, kind: str) -> list[Any]:
        """Return all events of a kind in order, after checking that they are intact.

        Raises
        ------
        CheckpointError
            If a row has been changed, is missing or is too long.
        Malformed
            If an event is invalid.
        """
        _, read, longest = _KINDS[kind]
        longest = self.form.longest if kind == "fold" else longest
        with self._reading():
            # SQLite refuses a longer row without reading it. Its function length()
            # would not help, because it stops at the first NUL.
            limit = min(longest + _LONG, _LONGEST)
            self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit)
            try:
                rows = self._db.execute(
                    f"SELECT number, body, digest FROM {kind} ORDER BY number"
                ).fetchall()
            finally:
                self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        first = self.number if kind == "header" else 0
        for expected, (number, body, digest) in enumerate(rows, first):
            self._require(number == expected, f"{kind}s are missing")
            written = _digest(self.number, kind, number, body)
            is_intact = isinstance(body, str) and digest == written
            self._require(is_intact, f"row {number} of its table {kind}")
        found = [read(body) for _, body, _ in rows]
        if kind == "header":
            self.form = found[0].form
        elif kind == "fold":
            for event in found:
                self.form.check(event)
        return found

    def add(self, kind: str, new: Sequence[Any]) -> None:
        """Append all the events, or none of them if an error occurs.

        Raises
        ------
        CheckpointError
            If the events cannot be written, for example on a full disk.
        Exception
            Any exception raised by a value of the user, or Malformed for an event that
            a reader would reject.
        """
        bodies = [_written(kind, event) for event in new]
        if kind == "fold":  # a search checks the other tables itself
            for body, event in zip(bodies, new, strict=True):
                events.require(len(body) <= self.form.longest, "the length of a fold")
                self.form.check(event)
        try:
            query = f"SELECT max(number) FROM {kind}"
            (last,) = self._db.execute(query).fetchone()
            first = 0 if last is None else last + 1
            _insert(self._db, self.number, {kind: enumerate(bodies, first)})
        except sqlite3.Error as error:
            raise _unwritten(self.path, error) from error

    def close(self) -> None:
        """Close the file, and leave unmerged changes in the log next to it."""
        # On a full disk, the log beside the file holds all changes.
        with suppress(sqlite3.Error):
            self._db.close()
        if self._held is not None:
            release(self._held)


def create(path: str, tables: Tables) -> FileStore:
    """Create a checkpoint atomically and return it.

    Raises
    ------
    CheckpointError
        If the file cannot be written, or if files of other programs are in the way.
    """
    try:
        rows = {kind: [_written(kind, e) for e in new] for kind, new in tables.items()}
        for body in tables["split"]:
            events.read_split(body, tables["header"][0].n_samples)
    except Exception as error:  # values of the user may raise anything
        raise CheckpointError(
            f"The checkpoint {path!r} cannot hold this search ({error}): "
            "leave out 'checkpoint'."
        ) from error
    new, number = path + NEW, secrets.randbelow(2**63)
    try:
        # A log that outlived an earlier file would be replayed into this one.
        remove_beside(path)
        _remove_leftover(path, new)
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE))
        with closing(sqlite3.connect(new, isolation_level=None)) as db:
            db.executescript(_SETTINGS + _FIRST)
            numbered = {kind: enumerate(bodies) for kind, bodies in rows.items()}
            numbered["header"] = enumerate(rows["header"], number)
            _insert(db, number, numbered)
            db.execute("PRAGMA journal_mode = WAL")
        os.replace(new, path)
    except (sqlite3.Error, OSError) as error:
        raise _unwritten(path, error) from error
    return FileStore(path)


def _remove_leftover(path: str, new: str) -> None:
    """Remove an incomplete file that was left by a killed run."""
    head = begin_of(path, new)
    if head and not _is_ours(head):
        raise foreign(path, new)
    if head is not None:
        os.remove(new)
    remove_beside(new)


def _written(kind: str, event: Any) -> str:
    """Return the row for an event, after checking that it can be read."""
    write, read, longest = _KINDS[kind]
    body = write(event)
    events.require(len(body) <= longest, f"the length of a {kind}")
    if kind != "fold":  # it may hold metadata from the user's policy
        read(body)
    return body


def _insert(
    db: sqlite3.Connection,
    file_number: int,
    tables: Mapping[str, Iterable[tuple[int, str]]],
) -> None:
    """Insert numbered rows in one transaction."""
    db.execute("BEGIN IMMEDIATE")
    with db:  # which ends the transaction in any case
        for kind, rows in tables.items():
            digested = [
                (n, body, _digest(file_number, kind, n, body)) for n, body in rows
            ]
            db.executemany(f"INSERT INTO {kind} VALUES (?, ?, ?)", digested)


def _unwritten(path: str, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"The checkpoint {path!r} could not be written ({error}): make sure that the "
        "folder is writable and has space, then repeat the call; it resumes after the "
        "last stored fold."
    )


def _digest(file_number: int, table: str, number: Any, body: Any) -> str:
    text = f"{file_number} {table} {number} {body}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()
