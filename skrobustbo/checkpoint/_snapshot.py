"""A copy of a checkpoint, also of one that a search is writing, taken without locks.

The search holds SQLite's exclusive lock for as long as it runs. That keeps other
programs out and lets the database do without shared memory, which not every drive has.
A reader therefore asks SQLite for nothing. It copies the database first and then its
log, the file that ends in `-wal`.

Between two resets of the log, SQLite only appends to it, and writes nothing to the
database that is not in the log. The two copies are then what a crash would leave,
and SQLite recovers from that: a page of the database that was copied half way is in the
log as a whole. If the log was reset meanwhile, which changes the numbers at its
beginning, the copy is taken again.

Shared locks are no way out, although SQLite can read beside a writer with them. A
search whose process copies its own files, as a callback that backs them up does, loses
its locks; the next reader then shortens the memory that the two share, and the search
dies of a bus error. And what has only read a finished file leaves files beside it.

The process of the search reads its own file in a way of its own. On POSIX systems a
process loses all its locks on a file as soon as it closes the file, through whichever
descriptor, even one that was only read from. Such a file is therefore read through a
descriptor that stays open as long as the database does.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any, BinaryIO

from skrobustbo.checkpoint._lock import CheckpointError, NotBegun, begin_of

_LOG = "-wal"
#: Length of what the log begins with.
_LOG_HEAD = 32
#: How often a copy is tried, and the seconds between.
_TRIES, _PAUSE = 20, 0.05


@contextmanager
def snapshot(path: str) -> Iterator[str]:
    """Return a context that gives the path of a copy, which is removed at its end.

    Parameters
    ----------
    path : str
        The checkpoint.

    Raises
    ------
    CheckpointError
        If there is no checkpoint any more, or it cannot be copied.
    """
    try:
        # Readable by the owner only, as the checkpoint is.
        with tempfile.TemporaryDirectory(prefix="skrobustbo-") as folder:
            copy = os.path.join(folder, "copy")
            _take(path, copy)
            yield copy
    except FileNotFoundError as error:
        raise missing(path) from error
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {path!r} could not be copied for reading "
            f"({error.strerror or error}): see to it that it may be read and that "
            "there is space for temporary files."
        ) from error


def missing(path: str) -> CheckpointError:
    """Return the error for a path at which there is no checkpoint."""
    folder = os.path.dirname(path)
    kind = NotBegun if os.path.isdir(folder) else CheckpointError
    return kind(
        f"There is no checkpoint at {path!r}: check the path, or start the search."
    )


def _take(path: str, copy: str) -> None:
    for _ in range(_TRIES):
        before = _state(path)
        with opened(path) as file, open(copy, "wb") as target:
            shutil.copyfileobj(file, target)
        with (
            open(copy + _LOG, "wb") as target,
            suppress(FileNotFoundError),
            open(path + _LOG, "rb") as file,
        ):
            shutil.copyfileobj(file, target)
        if _state(path) == before:
            return
        time.sleep(_PAUSE)
    raise CheckpointError(
        f"The checkpoint {path!r} changes faster than it can be read: try again later."
    )


def _state(path: str) -> tuple[Any, ...]:
    """Return what stays the same while copies of the two files belong together."""
    status = os.stat(path)
    log = (begin_of(path, path + _LOG) or b"")[:_LOG_HEAD]
    # Without a log, all that is written goes to the database at once.
    times = () if log else (status.st_mtime_ns, status.st_size)
    return log, status.st_dev, status.st_ino, *times


# Files that this process has open as databases ----------------------------------------

#: The device and the number of a file.
Key = tuple[int, int]

#: Descriptors of the files that this process has open as databases.
_held: dict[Key, int] = {}
_lock = Lock()


def hold(path: str) -> Key:
    """Keep a descriptor of a file for reading it; return what releases it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    key = _key(os.fstat(descriptor))
    with _lock:
        _held[key] = descriptor
    return key


def release(key: Key) -> None:
    """Close the descriptor of a file, once its database is closed."""
    with _lock:
        os.close(_held.pop(key))


@contextmanager
def opened(path: str, *, writing: bool = False) -> Iterator[BinaryIO]:
    """Return a context that gives a file to be read, from its beginning.

    Parameters
    ----------
    path : str
        The file.
    writing : bool, default=False
        Whether it must be possible to open it for writing as well.

    Raises
    ------
    OSError
        If it cannot be opened.
    """
    with _lock:  # its database may not be closed meanwhile
        held = _held.get(_key(os.stat(path)))
        if held is not None:
            with open(held, "rb", closefd=False) as file:
                file.seek(0)
                yield file
            return
    with open(path, "r+b" if writing else "rb") as file:
        yield file


def _key(status: os.stat_result) -> Key:
    return status.st_dev, status.st_ino
