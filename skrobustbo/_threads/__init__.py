"""One BLAS thread for as long as any thread of this process asks for it.

Most BLAS libraries have one number of threads for the whole process. Where two threads
each set it and put it back, the one that ends last may put back what the other had set.
So it is counted how many ask for one thread, and the last of them puts back what was
there before the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class _Held:
    """How many hold the libraries to one thread, and what is to be put back.

    Attributes
    ----------
    n : int
        How many.
    before : dict of str to (LibController, int)
        By file, the libraries and their numbers of threads before.
    lock : Lock
        Held while any of this changes.
    """

    def __init__(self) -> None:
        self.n = 0
        self.before: dict[str, tuple[Any, int]] = {}
        self.renew_lock()

    def renew_lock(self) -> None:
        """Take a lock that nobody has: in a forked child, who had it is not there."""
        self.lock = Lock()

    def take(self, libraries: Sequence[Any]) -> None:
        """Hold libraries to one thread; a later caller may know of more of them."""
        with self.lock:
            for library in libraries:
                now = library, library.num_threads
                self.before.setdefault(library.filepath, now)
                _set(library, 1)
            self.n += 1

    def give_back(self) -> None:
        """Put back what was there before, if nobody else needs one thread."""
        with self.lock:
            self.n -= 1
            if not self.n:
                for library, n_threads in self.before.values():
                    _set(library, n_threads)
                self.before.clear()


def _set(library: Any, n_threads: int) -> None:
    """Set the number of threads of a library, from any thread.

    threadpoolctl from 3.8 on lets only the first thread that sets it set it again, and
    ignores the others. Here it is under a lock, and counted.
    """
    free = getattr(library, "clear_controlling_thread", lambda force: None)
    free(force=True)
    library.set_num_threads(n_threads)
    free(force=True)


_held = _Held()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_held.renew_lock)


@contextmanager
def one_thread(
    controller: ThreadpoolController, *, openmp: bool = False
) -> Iterator[None]:
    """Run the body with one thread in the BLAS libraries that a controller knows.

    With `openmp`, OpenMP has one as well.
    """
    known: Sequence[Any] = controller.lib_controllers
    own = [one for one in known if _is_openmp(one)]
    if not openmp:
        own = [one for one in own if one.user_api == "blas"]
    before = [(library, library.num_threads) for library in own]
    _held.take([one for one in known if not _is_openmp(one)])
    try:
        for library in own:
            library.set_num_threads(1)
        yield
    finally:
        for library, n_threads in before:
            library.set_num_threads(n_threads)
        _held.give_back()


def _is_openmp(library: Any) -> bool:
    """Return whether each thread of the process has a number of threads of its own."""
    if library.user_api == "openmp":
        return True
    layer = getattr(library, "threading_layer", None)
    return bool(library.internal_api == "openblas" and layer == "openmp")
