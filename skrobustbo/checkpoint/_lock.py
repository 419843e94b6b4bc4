"""The files beside a checkpoint: looked at first, and touched only if they are ours.

SQLite keeps what it has not merged yet in files beside a database, and takes whatever
bears such a name for its own: a log that outlived its database would be replayed into
the next one at that place, and a file of somebody else's overwritten.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: Any, *, shared: bool = False) -> None:
        # Far behind the text, which others may then read.
        file.seek(2**30)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)
else:
    import fcntl

    def _try_lock(file: Any, *, shared: bool = False) -> None:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(file, kind | fcntl.LOCK_NB)


#: How often a lock is tried, and the seconds between.
_TRIES, _PAUSE = 10, 0.02
#: What is locked while a search runs, and a checkpoint before it is complete.
LOCK, NEW = ".skrobustbo-lock", ".skrobustbo-new"
#: What SQLite's files begin with, by the end of their names. Those that it has not
#: begun to use, or is done with, begin with zeros.
_BEGINS = {
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-journal": (b"\xd9\xd5\x05\xf9", bytes(4)),
    "-shm": (struct.pack("=I", 3007000), bytes(4)),
}


class CheckpointError(ValueError):
    """A checkpoint that cannot be read, is of another search, or cannot be written."""


class NotBegun(CheckpointError):
    """There is no checkpoint yet at a path where one may be."""


def check_beside(path: str) -> None:
    """Raise a CheckpointError if SQLite would take a file of others for its own."""
    for ending, begins in _BEGINS.items():
        head = begin_of(path, path + ending)
        if head and not head.startswith(begins):
            raise foreign(path, path + ending)


def remove_beside(path: str) -> None:
    """Remove what SQLite has left beside a file that is not there any more.

    Raises
    ------
    CheckpointError
        If a file of others is there.
    OSError
        If a file cannot be removed.
    """
    check_beside(path)
    for ending in _BEGINS:
        with suppress(FileNotFoundError):
            os.remove(path + ending)


def begin_of(path: str, beside: str) -> bytes | None:
    """Return the first hundred bytes of a file beside `path`; None if there is none.

    Raises
    ------
    CheckpointError
        If something else than a file is there, or it cannot be read.
    """
    try:
        # A link may lead anywhere.
        if not stat.S_ISREG(os.lstat(beside).st_mode):
            raise foreign(path, beside)
        with open(beside, "rb") as file:
            return file.read(100)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(
            f"The file {beside!r}, which belongs to the checkpoint, cannot be read "
            f"({error.strerror or error}): change its permissions or give another path."
        ) from error


def foreign(path: str, beside: str) -> CheckpointError:
    """Return the error for a file of others that is in the way."""
    return CheckpointError(
        f"The file {beside!r} is none of ours, and in the way of the checkpoint "
        f"{path!r}: move it, or give another path."
    )


# The lock: the operating system takes it back when its holder dies ------------------

#: What the system says of a lock that another one holds.
_TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_SIGNATURE = re.compile(r"(?:skrobustbo ([0-9]{1,10})\n)?")
#: The open files of the locks held.
_held: set[Any] = set()


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold a path for ourselves, by a lock on the file beside it.

    The lock belongs to the open file, not to its name: it ends with the process,
    however that ends, and the file left behind locks nothing.

    Raises
    ------
    CheckpointError
        If another process, or another search of this one, holds the lock, or a file of
        others is in the way.
    """
    file = _opened(path)
    _held.add(file)
    try:
        _lock_in_time(path, file)
        if _signature(file) is None:
            raise foreign(path, path + LOCK)
        with suppress(OSError):  # a full disk: the lock holds all the same
            file.truncate(0)
            file.seek(0)
            file.write(f"skrobustbo {os.getpid()}\n")  # for the message to others
            file.flush()
        yield
    finally:
        _drop(file)


def _lock_in_time(path: str, file: Any) -> None:
    """Lock a file, which somebody may just be looking at."""
    for _ in range(_TRIES):
        with suppress(OSError):
            return _try_lock(file)
        time.sleep(_PAUSE)
    try:
        return _try_lock(file)
    except OSError as error:
        holder = _signature(file)
        by = f" (process {holder[1]})" if holder and holder[1] else ""
        raise CheckpointError(
            f"The checkpoint {path!r} is in use by another search{by}: wait for it to "
            "end, or give another path."
        ) from error


def is_locked(path: str) -> bool | None:
    """Return whether a search holds a path; None if that cannot be told.

    The lock itself is asked: the process that the file names may have ended, and
    another one have its number. Asking shares the lock for a moment. Others may ask at
    the same time, and whoever wants to hold it tries again.
    """
    begin_of(path, path + LOCK)  # raises for what is no file
    try:
        with open(path + LOCK, encoding="ascii") as file:
            if _signature(file) is not None:
                _try_lock(file, shared=True)
    except FileNotFoundError:
        return False
    except OSError as error:
        return True if error.errno in _TAKEN else None
    return False


def _opened(path: str) -> Any:
    """Return the file beside the path, made if there is none, its content kept."""
    begin_of(path, path + LOCK)  # raises for what is no file
    try:
        return os.fdopen(os.open(path + LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+")
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {path!r} cannot be locked ({error.strerror or error}): "
            "give a path in a folder that exists and may be written to."
        ) from error


def _signature(file: Any) -> re.Match[str] | None:
    """Return what a lock file says of its holder; None if it is none of ours."""
    try:
        file.seek(0)
        return _SIGNATURE.fullmatch(file.read(32))
    except (OSError, ValueError):
        return None


def _drop(file: Any) -> None:
    """Close a file, and with it the lock unless another process shares it."""
    _held.discard(file)
    # On a full disk the signature may still wait to be written.
    with suppress(OSError):
        file.close()


def _drop_all() -> None:
    """Let a forked child go without the locks, which would outlive the parent in it."""
    for file in list(_held):
        _drop(file)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)
