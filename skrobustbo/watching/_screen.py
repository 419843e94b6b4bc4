"""Show a search as plain text in a terminal, a file or a pipe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from skrobustbo.model_selection import LoadedSearch, limits
from skrobustbo.watching import _facts as facts

_HEIGHT, _WIDEST = 6, 60


def screen(found: LoadedSearch, width: int, height: int | None = None) -> str:
    """Return a search as text, in lines of at most `width` characters.

    If `height` is given, at most this number of lines is returned.
    """
    lines = [
        facts.title(found),
        facts.state(found),
        facts.counts(found),
        "",
        *_best(found),
        *_failures(found),
        *_latest(found),
        *_curve(found, width),
    ]
    return "".join(f"{line[:width].rstrip()}\n" for line in lines[:height])


def line(trial: Mapping[str, Any]) -> str:
    """Return a line of text that describes a candidate."""
    parts = facts.score_text(trial), facts.params_text(trial)
    return f"candidate {trial['number']}: {parts[0]}  {parts[1]}"


def _best(found: LoadedSearch) -> Iterator[str]:
    best = found.best
    if best is None:
        yield "Best      no candidate has a score yet"
        return
    score = facts.score_text(best)
    yield f"Best      {facts.score_name(found)} {score}, candidate {best['number']}"
    yield f"          {facts.params_text(best)}"


def _failures(found: LoadedSearch) -> Iterator[str]:
    for i, text in enumerate(facts.failures(found)):
        yield f"{'' if i else 'Failures':<10}{text}"


def _latest(found: LoadedSearch) -> Iterator[str]:
    rows = facts.rows(found)
    if not rows:
        return
    yield ""
    table = [facts.HEADS, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(3)]
    for row in table:
        numbers = [text.rjust(n) for text, n in zip(row, widths, strict=False)]
        yield "  ".join([*numbers, row[-1]])


# Curve --------------------------------------------------------------------------------


def _curve(found: LoadedSearch, width: int) -> Iterator[str]:
    scores, _ = facts.curve_data(found)
    if not any(map(math.isfinite, scores)):
        return
    yield ""
    yield f"{facts.score_name(found)}: each candidate (.), the best so far (#)"
    yield from curve(scores, min(_WIDEST, width - 12))


def curve(scores: Sequence[float], width: int) -> list[str]:
    """Return a text plot of the scores and the best score so far.

    Parameters
    ----------
    scores : list of float
        Scores of the candidates. At least one must be finite; the others are marked
        with an x at the bottom.
    width : int
        Number of columns, at least one.

    Examples
    --------
    >>> for line in curve([1.0, float("nan"), 3.0], 3):
    ...     print(line[9:])
    |  #
    |
    |
    |
    |
    |##
    +-x--
    """
    told = np.asarray(scores, dtype=float)
    n, width = len(told), max(1, width)
    low, high = limits(told, margin=0.0)
    cells = [[" "] * min(n, width) for _ in range(_HEIGHT)]
    foot = ["-"] * min(n, width)
    best = np.fmax.accumulate(told)
    places = [i * len(foot) // n for i in range(n)]
    for place, score in zip(places, told, strict=True):
        if math.isfinite(score):
            cells[_row(score, low, high)][place] = "."
        else:
            foot[place] = "x"
    for place, score in zip(places, best, strict=True):
        if math.isfinite(score):
            _put_best(cells, place, _row(score, low, high))
    # Labels are scores, so none of them exceeds the largest possible score.
    labels = {_HEIGHT - 1: f"{low:.4g}"} if np.nanmin(told) <= low else {}
    labels[_row(best[-1], low, high)] = f"{best[-1]:.4g}"
    lines = [
        f"{labels.get(i, ''):>8} |{''.join(row)}".rstrip()
        for i, row in enumerate(cells)
    ]
    return [*lines, f"{'':>8} +{''.join(foot)}-"]


def _row(score: float, low: float, high: float) -> int:
    share = (high - max(score, low)) / (high - low)
    return min(_HEIGHT - 1, max(0, int(share * _HEIGHT)))


def _put_best(cells: Sequence[list[str]], place: int, row: int) -> None:
    """Mark the best score so far; if a column has several, mark the latest."""
    for cell in cells:
        if cell[place] == "#":
            cell[place] = "."
    cells[row][place] = "#"
