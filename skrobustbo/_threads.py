"""Few threads in libraries, for as long as any thread of this process asks for it.

Most BLAS libraries have one number of threads for the whole process. Where two threads
each set it and put it back, the one that ends last may put back what the other had set.
So it is kept who asks for how many: the fewest count, and the last of them puts back
what was there before the first.
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
    """To how many threads the libraries are held, and what is to be put back.

    Attributes
    ----------
    limits : list of int
        One for each who holds them.
    before : dict of str to (LibController, int)
        By file, the libraries and their numbers of threads before.
    lock : Lock
        Held while any of this changes.
    """

    def __init__(self) -> None:
        self.limits: list[int] = []
        self.before: dict[str, tuple[Any, int]] = {}
        self.renew_lock()

    def renew_lock(self) -> None:
        """Take a lock that nobody has: in a forked child, who had it is not there."""
        self.lock = Lock()

    def take(self, libraries: Sequence[Any], n_threads: int) -> None:
        """Hold libraries to some threads; a later caller may know of more of them."""
        with self.lock:
            self.limits.append(n_threads)
            least = min(self.limits)
            for library in libraries:
                number = library.num_threads
                self.before.setdefault(library.filepath, (library, number))
                if number != least:
                    _set(library, least)

    def give_back(self, n_threads: int) -> None:
        """Let the others have their threads, or put back what was there before."""
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
    """Set the number of threads of a library, from any thread.

    threadpoolctl from 3.8 on lets only the first thread that sets one set any again,
    and ignores the others. Here it is under a lock, and counted.
    """
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(n_threads)
    free(force=True)


_held = _Held()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_held.renew_lock)

#: The number of modules for which libraries were looked for last, and those found.
_known: tuple[int, Sequence[Any], Sequence[Any]] = (0, (), ())


def _libraries() -> tuple[Sequence[Any], Sequence[Any]]:
    """Return what sets the threads of each library loaded so far.

    First those with one number for the process, then those with one for each thread.
    Looking for them takes longer than a cheap fold, so they are looked for again only
    when there are other modules: libraries are loaded by those.
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
    """Run the body with a number of threads in each BLAS library that is loaded.

    With `openmp`, OpenMP has as many.
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
    """Return whether each thread of the process has a number of threads of its own."""
    if library.user_api == "openmp":
        return True
    layer = getattr(library, "threading_layer", None)
    return bool(library.internal_api == "openblas" and layer == "openmp")
