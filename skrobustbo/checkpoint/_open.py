"""Opening the journal of a search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._journal import Journal, NoJournal
from skrobustbo.checkpoint._lock import locked


@contextmanager
def open_journal(path: Any, *, retry_failed: bool = False) -> Iterator[NoJournal]:
    """Return a context that gives the journal at a path, locked until it ends.

    Parameters
    ----------
    path : str, path or None
        The file; None for a journal that keeps nothing.
    retry_failed : bool, default=False
        Whether folds that failed are fitted again.
    """
    if path is None:
        yield NoJournal()
        return
    name = store.real_path(path)  # one lock for all names of a file
    store.exists(name)  # looked at before anything is put beside it
    with locked(name), closing(Journal(name, retry_failed=retry_failed)) as journal:
        try:
            yield journal
        except BaseException:
            journal.fail()
            raise
