"""Reading a checkpoint that this process may have open, without losing its locks.

On POSIX systems a process loses all its locks on a file as soon as it closes the file,
through whichever descriptor, even one that was only read from. SQLite's lock on a
checkpoint that a search has open would be gone. Such a file is therefore read through a
descriptor that stays open as long as the database does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import BinaryIO

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
