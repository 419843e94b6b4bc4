"""The files beside a checkpoint, which we check first and change only if ours.

SQLite keeps unmerged changes in files beside a database, and treats any file with such
a name as its own. It would replay a log that outlived its database into the next
database there, and would overwrite another program's file.
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
    """There is no checkpoint at a valid path."""


def check_beside(path: str) -> None:
    """Raise a CheckpointError if SQLite would overwrite another program's file."""
    for ending, begins in _BEGINS.items():
        head = begin_of(path, path + ending)
        if head and not head.startswith(begins):
            raise foreign(path, path + ending)


def remove_beside(path: str) -> None:
    """Remove SQLite's leftovers beside a missing database.

    Raises
    ------
    CheckpointError
        If another program's file is in the way.
    OSError
        If a file cannot be removed.
    """
    check_beside(path)
    for ending in _BEGINS:
        with suppress(FileNotFoundError):
            os.remove(path + ending)


def begin_of(path: str, beside: str) -> bytes | None:
    """Return the first hundred bytes of a file beside `path`, if any.

    Raises
    ------
    CheckpointError
        If it is not a file or cannot be read.
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
    """Return the error for another program's file that is in the way."""
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
    """Hold a path exclusively by locking a file beside it.

    The lock belongs to the open file, not to its name. It is released when the process
    exits, and a leftover file locks nothing.

    Raises
    ------
    CheckpointError
        If another process, or another search in this process, holds the lock, or
        another program's file is in the way.
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
    """Lock a file; retry, because a reader may be testing the lock."""
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
    """Return whether a search holds a path; None if unknown.

    This tests the lock itself, because the process named in the file may have ended,
    and its number may have been reused. The test shares the lock for a moment. Several
    readers can test at once, and a search that wants the lock retries.
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
    """Open the file beside the path, creating it if needed and keeping its content."""
    begin_of(path, path + LOCK)  # raises an error if it is not a file
    try:
        return os.fdopen(os.open(path + LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+")
    except OSError as error:
        raise CheckpointError(
            f"The checkpoint {path!r} cannot be locked ({error.strerror or error}): "
            "give a path in an existing folder that you may write to."
        ) from error


def _signature(file: Any) -> re.Match[str] | None:
    """Return the process named in a lock file; None for other files."""
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
    """Release the locks in a forked child, in which they would outlive the parent."""
    for file in list(_held):
        _drop(file)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)
