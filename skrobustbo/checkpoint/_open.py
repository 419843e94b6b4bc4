"""Opening the journal of a search in a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from skrobustbo.checkpoint import _store as store
from skrobustbo.checkpoint._journal import FileJournal
from skrobustbo.checkpoint._lock import locked


@contextmanager
def open_journal(path: Any, *, retry_failed: bool = False) -> Iterator[FileJournal]:
    """Return a context that gives the journal at a path, locked until it ends.

    Parameters
    ----------
    path : str or path
        The file.
    retry_failed : bool, default=False
        Whether folds that failed are fitted again.
    """
    name = store.real_path(path)  # one lock for all names of a file
    store.exists(name)  # looked at before anything is put beside it
    with locked(name), closing(FileJournal(name, retry_failed=retry_failed)) as journal:
        try:
            yield journal
        except BaseException:
            journal.fail()
            raise
