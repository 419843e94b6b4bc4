"""Reading a checkpoint that this process may have open, without losing its locks.

On POSIX systems a process loses all its locks on a file as soon as it closes the file,
through whichever descriptor, even one that was only read from. SQLite's lock on a
checkpoint that a search has open would be gone. Such a file is therefore read through a
descriptor that stays open as long as the database does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

#: Returns so many bytes from a place on; fewer at the end of the file.
Read = Callable[[int, int], bytes]
_Key = tuple[int, int]

_held: dict[_Key, Held] = {}
_lock = Lock()
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)


class Held:
    """A descriptor of a file that this process has open as a database.

    Parameters
    ----------
    key : tuple of int
        The device and the number of the file.
    descriptor : int
        Its descriptor.
    """

    def __init__(self, key: _Key, descriptor: int) -> None:
        self.key, self.descriptor = key, descriptor

    def release(self) -> None:
        """Close the descriptor, once the database is closed."""
        with _lock:
            if _held.get(self.key) is self:
                del _held[self.key]
                os.close(self.descriptor)


def hold(path: str) -> Held:
    """Keep a descriptor of a file for reading it, until it is released."""
    descriptor = os.open(path, _FLAGS)
    held = Held(_key(os.fstat(descriptor)), descriptor)
    with _lock:
        _held[held.key] = held
    return held


@contextmanager
def opened(path: str, *, writing: bool = False) -> Iterator[Read]:
    """Return a context that gives what reads a file.

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
    with _lock:
        held = _held.get(_key(os.stat(path)))
        if held is not None:  # its database may not be closed meanwhile
            yield _reader(held.descriptor)
            return
    with open(path, "r+b" if writing else "rb") as file:
        yield _reader(file.fileno())


def _key(status: os.stat_result) -> _Key:
    return status.st_dev, status.st_ino


def _reader(descriptor: int) -> Read:
    def read(n: int, place: int) -> bytes:
        if hasattr(os, "pread"):
            return os.pread(descriptor, n, place)
        os.lseek(descriptor, place, os.SEEK_SET)
        return os.read(descriptor, n)

    return read
