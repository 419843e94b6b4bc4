"""A lock that the operating system takes back when its holder dies."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import weakref
from typing import Any, Self

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
        What is locked; the file beside it is called ``path + ".lock"``.

    Raises
    ------
    CheckpointError
        On entering, if another process, or another search of this one, holds the lock.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file: Any = None

    def __enter__(self) -> Self:
        try:
            file = open(self._path + ".lock", "a+", encoding="utf-8")
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint {self._path!r} cannot be locked "
                f"({error.strerror or error}): give a path in a folder that exists and "
                "may be written to."
            ) from error
        try:
            _try_lock(file)
        except OSError as error:
            holder = _holder(file)
            file.close()
            raise CheckpointError(
                f"The checkpoint {self._path!r} is in use by another search{holder}: "
                "wait for it to end, or give another path."
            ) from error
        self._file = file
        _held.add(self)
        self._sign()
        return self

    def _sign(self) -> None:
        """Write who holds the lock, for the message that others get."""
        with contextlib.suppress(OSError):  # a full disk: the lock holds all the same
            self._file.truncate(0)
            self._file.write(f"{os.getpid()}\n")
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


def _holder(file: Any) -> str:
    try:
        file.seek(0)
        found = re.fullmatch(r"(\d{1,10})\n", file.read(16))
    except (OSError, ValueError):
        return ""
    return f" (process {found[1]})" if found else ""


def _drop_all() -> None:
    """Let a forked child go without the locks, which would outlive the parent in it."""
    for lock in list(_held):
        lock.drop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drop_all)
