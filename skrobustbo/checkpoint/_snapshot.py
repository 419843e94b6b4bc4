"""Copy a checkpoint without locks, even while a search is writing to it.

A running search holds SQLite's exclusive lock. This lock keeps other programs out and
avoids shared memory, which some drives do not support. A reader therefore bypasses
SQLite. It first copies the database and then the log, a file whose name ends in `-wal`.

Between two resets of the log, SQLite only appends to it, and the log contains
everything that is written to the database. The two copies are therefore like files
after a crash, from which SQLite can recover. If a page of the database was copied only
in part, the log contains the complete page. If the log is reset during the copy, the
numbers at its start change, and the copy is repeated.

With shared locks, SQLite could read the database during writes, but this is not safe
here. If the process of the search copies its own files, for example in a callback that
makes backups, it loses its locks. The next reader then shrinks the shared memory, and
the search crashes with a bus error. After the search has finished, readers would also
leave files next to the database.

The process of the search must read the file differently. On POSIX systems, a process
loses all its locks on a file when it closes any descriptor of the file, even one that
was used only for reading. The file is therefore read through a descriptor that stays
open as long as the database.
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
#: Length of the log's header.
_LOG_HEAD = 32
#: Number of copy attempts, and seconds between them.
_TRIES, _PAUSE = 20, 0.05


@contextmanager
def snapshot(path: str) -> Iterator[str]:
    """Return a context manager that yields the path of a temporary copy.

    Raises
    ------
    CheckpointError
        If the checkpoint is missing or cannot be copied.
    """
    try:
        # Readable only by the owner, like the checkpoint.
        with tempfile.TemporaryDirectory(prefix="skrobustbo-") as folder:
            copy = os.path.join(folder, "copy")
            _take(path, copy)
            yield copy
    except FileNotFoundError as error:
        raise missing(path) from error
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {path!r} could not be copied for reading "
            f"({error.strerror or error}): make sure that it is readable and that "
            "there is space for temporary files."
        ) from error


def missing(path: str) -> CheckpointError:
    """Return the error for a missing checkpoint."""
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
    """Return a value that changes if copies of the two files may not match."""
    status = os.stat(path)
    log = (begin_of(path, path + _LOG) or b"")[:_LOG_HEAD]
    # Without a log, everything is written to the database at once.
    times = () if log else (status.st_mtime_ns, status.st_size)
    return log, status.st_dev, status.st_ino, *times


# Database files open in this process --------------------------------------------------

#: Device and inode of a file.
Key = tuple[int, int]

#: Descriptors of the database files open in this process.
_held: dict[Key, int] = {}
_lock = Lock()


def hold(path: str) -> Key:
    """Open and keep a descriptor of a file, and return the key to release it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    key = _key(os.fstat(descriptor))
    with _lock:
        _held[key] = descriptor
    return key


def release(key: Key) -> None:
    """Close the descriptor of a file after its database is closed."""
    with _lock:
        os.close(_held.pop(key))


@contextmanager
def opened(path: str, *, writing: bool = False) -> Iterator[BinaryIO]:
    """Return a context manager that opens a file for reading.

    Parameters
    ----------
    path : str
        Path of the file.
    writing : bool, default=False
        Whether the file must also be writable.

    Raises
    ------
    OSError
        If the file cannot be opened.
    """
    with _lock:  # its database must not be closed in the meantime
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
