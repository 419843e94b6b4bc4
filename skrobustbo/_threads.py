"""Limits on the number of threads of BLAS and OpenMP libraries.

Most BLAS libraries use a single number of threads for the whole process. If two threads
set and restore this number, the second one may restore the number set by the first one.
All active limits are therefore recorded. The smallest limit applies, and the original
number is restored when the last limit is released.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class _Held:
    """Active limits, and the numbers of threads to restore.

    Attributes
    ----------
    limits : list of int
        One limit for each block of code that is running with limited threads.
    before : dict of str to (LibController, int)
        Libraries by file, with their original numbers of threads.
    lock : Lock
        Lock that is acquired while the other attributes are changed.
    """

    def __init__(self) -> None:
        self.limits: list[int] = []
        self.before: dict[str, tuple[Any, int]] = {}
        self.renew_lock()

    def renew_lock(self) -> None:
        """Replace the lock.

        This is necessary in a forked child process, where the old lock is never
        released.
        """
        self.lock = Lock()

    def take(self, libraries: Sequence[Any], n_threads: int) -> None:
        """Limit the number of threads of the given libraries."""
        with self.lock:
            self.limits.append(n_threads)
            least = min(self.limits)
            for library in libraries:
                number = library.num_threads
                self.before.setdefault(library.filepath, (library, number))
                if number != least:
                    _set(library, least)

    def give_back(self, n_threads: int) -> None:
        """Release a limit and apply the next smallest one or the original numbers."""
        with self.lock:
            self.limits.remove(n_threads)
            least = min(self.limits, default=math.inf)
            if least > n_threads:
                for library, before in self.before.values():
                    number = int(least) if self.limits else before
                    if library.num_threads != number:
                        _set(library, number)
            if not self.limits:
                self.before.clear()


def _set(library: Any, n_threads: int) -> None:
    """Set the number of threads of a library from any thread.

    Since version 3.8, threadpoolctl only allows the first thread that sets the number
    to change it again. This restriction is removed here, because a lock and the
    recorded limits prevent conflicts between threads.
    """
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(n_threads)
    free(force=True)


_held = _Held()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_held.renew_lock)

#: The number of modules at the last search for libraries, and the libraries found.
_known: tuple[int, Sequence[Any], Sequence[Any]] = (0, (), ())


def _libraries() -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the controllers of all loaded libraries.

    The first sequence contains libraries with one number of threads for the whole
    process, and the second one contains libraries with a separate number for each
    thread. The search for libraries is slow, so it is only repeated after new modules
    were imported.
    """
    global _known
    n_modules = len(sys.modules)
    if _known[0] != n_modules:
        found = ThreadpoolController().lib_controllers
        own = [one for one in found if _is_openmp(one)]
        _known = n_modules, [one for one in found if one not in own], own
    return _known[1:]


@contextmanager
def limited_threads(n_threads: int = 1, *, openmp: bool = False) -> Iterator[None]:
    """Limit the number of threads of each loaded BLAS library in a ``with`` block.

    If `openmp` is True, the limit also applies to OpenMP.
    """
    shared, own = _libraries()
    if not openmp:
        own = [one for one in own if one.user_api == "blas"]
    before = [(library, library.num_threads) for library in own]
    _held.take(shared, n_threads)
    try:
        for library in own:
            library.set_num_threads(n_threads)
        yield
    finally:
        for library, number in before:
            library.set_num_threads(number)
        _held.give_back(n_threads)


def _is_openmp(library: Any) -> bool:
    """Return whether a library has a separate setting for each thread."""
    if library.user_api == "openmp":
        return True
    layer = getattr(library, "threading_layer", None)
    return bool(library.internal_api == "openblas" and layer == "openmp")
