"""A lock that the operating system takes back when its holder dies."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import weakref
from typing import Any, Self

from skrobustbo.checkpoint._beside import LOCK, begin_of, foreign
from skrobustbo.checkpoint._errors import CheckpointError

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: Any) -> None:
        # Far behind the text, which others may then read.
        file.seek(2**30)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)
else:
    import fcntl

    def _try_lock(file: Any) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_held: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """Exclusive use of a path, by a lock on the file beside it; used as a context.

    The lock belongs to the open file, not to its name: it ends with the process,
    however that ends, and the file left behind locks nothing.

    Parameters
    ----------
    path : str
        What is locked; the file beside it is called ``path + LOCK``.

    Raises
    ------
    CheckpointError
        On entering, if another process, or another search of this one, holds the lock,
        or a file of others is in the way.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Any = None

    def __enter__(self) -> Self:
        file = self._opened()
        try:
            _try_lock(file)
        except OSError as error:
            holder = _signature(file)
            file.close()
            by = f" (process {holder[1]})" if holder and holder[1] else ""
            raise CheckpointError(
                f"The checkpoint {self._path!r} is in use by another search{by}: "
                "wait for it to end, or give another path."
            ) from error
        if _signature(file) is None:
            file.close()
            raise foreign(self._path, self._path + LOCK)
        self._file = file
        _held.add(self)
        self._sign()
        return self

    def _opened(self) -> Any:
        """Return the file beside the path, made if there is none, its content kept."""
        name = self._path + LOCK
        begin_of(self._path, name)  # raises for what is no file
        try:
            return os.fdopen(os.open(name, os.O_RDWR | os.O_CREAT, 0o600), "r+")
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {self._path!r} cannot be locked "
                f"({error.strerror or error}): give a path in a folder that exists and "
                "may be written to."
            ) from error

    def _sign(self) -> None:
        """Write who holds the lock, for the message that others get."""
        with contextlib.suppress(OSError):  # a full disk: the lock holds all the same
            self._file.truncate(0)
            self._file.seek(0)
            self._file.write(f"skrobustbo {os.getpid()}\n")
            self._file.flush()

    def __exit__(self, *error: Any) -> None:
        self.drop()

    def drop(self) -> None:
        """Close the file, and with it the lock unless another process shares it."""
        file, self._file = self._file, None
        if file is not None:
            # On a full disk the signature may still wait to be written.
            with contextlib.suppress(OSError):
                file.close()


def _signature(file: Any) -> re.Match[str] | None:
    """Return what a lock file says of its holder; None if it is none of ours."""
    try:
        file.seek(0)
        return re.fullmatch(r"(?:skrobustbo (\d{1,10})\n)?", file.read(32))
    except (OSError, ValueError):
        return None


def _drop_all() -> None:
    """Let a forked child go without the locks, which would outlive the parent in it."""
    for lock in list(_held):
        lock.drop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)
