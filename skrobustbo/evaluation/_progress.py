"""Print the progress of a search on a single line if `verbose=1`."""

from __future__ import annotations

import math
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, Self

from skrobustbo._names import count, printable
from skrobustbo._text import duration
from skrobustbo.checkpoint import Journal
from skrobustbo.evaluation._sources import Source
from skrobustbo.evaluation._stops import Stops

#: Seconds between updates, which replace each other in a terminal and are new lines
#: elsewhere.
_TERMINAL, _ELSEWHERE = 0.1, 10.0
#: Time limits longer than this, in seconds, count as no limit.
_FAR = 1e9


def announce(n_splits: int, source: Source, journal: Journal) -> None:
    """Print the planned number of fits and a summary of the checkpoint."""
    n, most = source.n_planned, "at most " if source.schedule.racing else ""
    if source.resource is not None:
        full = count(n, "full evaluation")
        print(f"Fitting {count(n_splits, 'fold')}, with the resource of {full}")
    else:
        print(
            f"Fitting {count(n_splits, 'fold')} for each of {count(n, 'candidate')}, "
            f"totalling {most}{count(n_splits * n, 'fit')}"
        )
    if journal.resumed is not None:
        print(journal.resumed)


def counter(what: str, verbose: int) -> Callable[[int, int], None]:
    """Return a function that prints the progress every ten seconds."""
    shown = time.monotonic()

    def tell(n_done: int, n: int) -> None:
        nonlocal shown
        now = time.monotonic()
        if verbose > 0 and now - shown >= _ELSEWHERE:
            shown = now
            print(f"{n_done} of {n} {what}", flush=True)

    return tell


class Progress:
    """Progress line of a search, used as a context manager.

    In a terminal, the line is updated in place. Otherwise, a new line is printed every
    ten seconds and at the end. With `verbose=2` or more, scikit-learn's messages about
    each fold replace the progress line.
    """

    def __init__(self, search: Any, source: Source, stops: Stops) -> None:
        self._is_on, self._scoring = search.verbose == 1, search.scoring
        self._source, self._stops = source, stops
        isatty = getattr(sys.stdout, "isatty", None)
        self._is_terminal = isatty is not None and bool(isatty())
        self._start = self._shown = time.monotonic()
        self._first: tuple[float, int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._is_on:
            seconds = round(time.monotonic() - self._start)
            self._write(f"{self._so_far()}, {duration(seconds)}", end="\n")

    def begin(self) -> None:
        """Start the clock at the first call, after stored results have been read."""
        if self._first is None:
            self._first = time.monotonic(), len(self._source.trials)
            self._shown = -math.inf if self._is_terminal else self._first[0]
            self.show()

    def show(self) -> None:
        """Print the progress, unless it has just been printed."""
        now = time.monotonic()
        interval = _TERMINAL if self._is_terminal else _ELSEWHERE
        if self._is_on and now - self._shown >= interval:
            self._shown = now
            # If the search may end at any moment, a time estimate would be misleading.
            parts = [self._so_far(), self._source.near or self._left(now)]
            end = "" if self._is_terminal else "\n"
            self._write(", ".join(filter(None, parts)), end)

    def _write(self, line: str, end: str) -> None:
        if self._is_terminal:  # a wrapped line could not be replaced
            width = shutil.get_terminal_size().columns - 1
            line = "\r" + line[:width].ljust(width)
        print(line, end=end, flush=True)

    def _so_far(self) -> str:
        source = self._source
        best = source.progress().get("best_score")
        name = source.metric
        if name is None:
            name = self._scoring if isinstance(self._scoring, str) else "score"
        name = printable(name)
        score = f"no {name} yet" if best is None else f"best {name} {best:.5g}"
        planned = count(source.n_planned, "candidate")
        return f"{len(source.trials)} of {planned}, {score}"

    def _left(self, now: float) -> str:
        """Return a text with the estimated remaining time."""
        begun, n_known = self._first or (now, 0)
        n_done, limit = len(self._source.trials), self._stops.seconds_left
        seconds = math.inf
        if n_done > n_known:
            each = (now - begun) / (n_done - n_known)
            seconds = each * (self._source.n_planned - n_done)
        ends = "" if seconds < limit else " (max_time)"
        seconds = max(0.0, min(seconds, limit))
        if seconds >= _FAR:
            return ""
        return f"about {duration(round(seconds))} left{ends}"
