"""The files beside a checkpoint: looked at first, and touched only if they are ours.

SQLite keeps what it has not merged yet in files beside a database, and takes whatever
bears such a name for its own: a log that outlived its database would be replayed into
the next one at that place, and a file of somebody else's overwritten.
"""

from __future__ import annotations

import os
import stat
import struct
from contextlib import suppress

from skrobustbo.checkpoint._errors import CheckpointError

#: What is locked while a search runs, and a checkpoint before it is complete.
LOCK, NEW = ".skrobustbo-lock", ".skrobustbo-new"
#: What SQLite's files begin with, by the end of their names. Those that it has not
#: begun to use, or is done with, begin with zeros.
_BEGINS = {
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-journal": (b"\xd9\xd5\x05\xf9", bytes(4)),
    "-shm": (struct.pack("=I", 3007000), bytes(4)),
}


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
