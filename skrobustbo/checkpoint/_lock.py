"""Check and lock the files next to a checkpoint.

SQLite stores unmerged changes in files next to the database, and assumes that any file
with such a name belongs to it. If a log outlived its database, SQLite would replay the
log into the next database at the same path. SQLite would also overwrite files of other
programs.
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
        # Far beyond the text, so that others can read it.
        file.seek(2**30)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)
else:
    import fcntl

    def _try_lock(file: Any, *, shared: bool = False) -> None:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(file, kind | fcntl.LOCK_NB)


#: Number of attempts to lock, and seconds between them.
_TRIES, _PAUSE = 10, 0.02
#: Endings of the lock file of a running search, and of an incomplete checkpoint.
LOCK, NEW = ".skrobustbo-lock", ".skrobustbo-new"
#: First bytes of SQLite's files, by file ending. Unused or finished files begin with
#: zeros.
_BEGINS = {
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-journal": (b"\xd9\xd5\x05\xf9", bytes(4)),
    "-shm": (struct.pack("=I", 3007000), bytes(4)),
}


class CheckpointError(ValueError):
    """A checkpoint is unreadable, belongs to another search, or cannot be written."""


class NotBegun(CheckpointError):
    """There is no checkpoint at the path yet, although its folder exists."""


def check_beside(path: str) -> None:
    """Raise a CheckpointError if SQLite would overwrite another program's file."""
    for ending, begins in _BEGINS.items():
        head = begin_of(path, path + ending)
        if head and not head.startswith(begins):
            raise foreign(path, path + ending)


def remove_beside(path: str) -> None:
    """Remove the files that SQLite left next to a missing database.

    Raises
    ------
    CheckpointError
        If one of the files belongs to another program.
    OSError
        If a file cannot be removed.
    """
    check_beside(path)
    for ending in _BEGINS:
        with suppress(FileNotFoundError):
            os.remove(path + ending)


def begin_of(path: str, beside: str) -> bytes | None:
    """Return the first hundred bytes of `beside`, or None if it does not exist.

    Raises
    ------
    CheckpointError
        If `beside` is not a regular file or cannot be read.
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
    """Return the error for a file that belongs to another program."""
    return CheckpointError(
        f"The file {beside!r} is not ours, and in the way of the checkpoint {path!r}: "
        "move it, or give another path."
    )


# The lock: the operating system releases it when its holder dies ---------------------

#: System errors raised if another process holds a lock.
_TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_SIGNATURE = re.compile(r"(?:skrobustbo ([0-9]{1,10})\n)?")
#: The open files behind the locks that we hold.
_held: set[Any] = set()


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Lock a path by locking a file next to it.

    The lock belongs to the open file and not to its name. It is released when the
    process exits, so a leftover file has no effect.

    Raises
    ------
    CheckpointError
        If another search in this or another process holds the lock, or if the lock file
        belongs to another program.
    """
    file = _opened(path)
    _held.add(file)
    try:
        _lock_in_time(path, file)
        if _signature(file) is None:
            raise foreign(path, path + LOCK)
        with suppress(OSError):  # on a full disk, the lock still holds
            file.truncate(0)
            file.seek(0)
            file.write(f"skrobustbo {os.getpid()}\n")  # for others' error messages
            file.flush()
        yield
    finally:
        _drop(file)


def _lock_in_time(path: str, file: Any) -> None:
    """Lock a file, with retries because a reader may be testing the lock."""
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
    """Return whether a search holds the lock on a path, or None if unknown.

    The lock itself is tested, because the process named in the file may have ended and
    its ID may have been reused. The test briefly takes a shared lock. Several readers
    can test the lock at once, and a search that needs the lock tries again.
    """
    begin_of(path, path + LOCK)  # raises an error if it is not a file
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
    """Open the lock file next to a path, and create it if it does not exist."""
    begin_of(path, path + LOCK)  # raises an error if it is not a file
    try:
        return os.fdopen(os.open(path + LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+")
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {path!r} cannot be locked ({error.strerror or error}): "
            "give a path in an existing folder that you may write to."
        ) from error


def _signature(file: Any) -> re.Match[str] | None:
    """Return a match for the content of a lock file, or None for other files."""
    try:
        file.seek(0)
        return _SIGNATURE.fullmatch(file.read(32))
    except (OSError, ValueError):
        return None


def _drop(file: Any) -> None:
    """Close a file, which releases the lock unless another process shares it."""
    _held.discard(file)
    # On a full disk, the signature may not be written yet.
    with suppress(OSError):
        file.close()


def _drop_all() -> None:
    """Release all locks in a forked child, so that they do not outlive the parent."""
    for file in list(_held):
        _drop(file)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)
