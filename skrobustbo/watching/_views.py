"""Show a search as plain text, or as a web page that reloads itself without scripts."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from skrobustbo._names import count, printable
from skrobustbo._text import clipped, duration
from skrobustbo.model_selection import (
    ENDS,
    LoadedSearch,
    last_initial,
    limits,
    svg_curve,
)

#: Maximum characters of a text, such as a choice, and of a failure's cause.
_LONG, _CAUSE = 60, 200
#: Statuses of candidates without a full score, and statuses that are counted.
_PARTIAL = ("stopped", "partial")
_KINDS = ("failed", *_PARTIAL)
#: Number of latest candidates to show, and of most frequent causes of failures.
_LATEST, _CAUSES = 6, 2
#: Number of lines of a text curve, and the maximum number of its columns.
_HEIGHT, _WIDEST = 6, 60

#: Names of the columns in the table of the latest candidates.
_HEADS = ("candidate", "score", "fit time", "parameters")
#: First line of every page.
BEGINS = "<!DOCTYPE html>\n"
_STYLE = (
    "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
    "color-scheme:light dark}td,th{padding:.15em .8em;text-align:right}"
    "td:last-child,th:last-child{text-align:left}"
)


# Facts --------------------------------------------------------------------------------


def _clean(value: Any, most: int = _LONG) -> str:
    """Return a value as a short printable text on one line.

    Text from a file may contain terminal control characters.
    """
    if isinstance(value, float):
        return f"{value:.5g}"
    return clipped(printable(str(value)), most)


def _heading(found: LoadedSearch) -> tuple[str, str, str]:
    """Return the title, the state and the counts of a search."""
    title = f"Search of {_clean(found.estimator)}, policy {_clean(found.policy)}"
    return title, _state(found), counts(found)


def _state(found: LoadedSearch) -> str:
    """Return a text that says whether the search is running or why it ended."""
    spent = duration(found.running_time)
    if found.status == "running":
        return f"Running for {spent}"
    if found.status == "finished":
        reason = str(found.stop_reason)
        why = ENDS.get(reason, _clean(reason))
        return f"Finished: {why}; the last call took {spent}"
    if found.status is None:
        return f"Begun {spent} ago on another machine: it is unknown whether it runs"
    how = "Ended with an error" if found.stop_reason else "Its process has ended"
    return f"{how}: repeat the call to resume"


def counts(found: LoadedSearch) -> str:
    """Return a text with the numbers of candidates and folds."""
    number = Counter(trial["status"] for trial in found.trials)
    n = len(found.trials)
    # With a resource, n_iter counts full evaluations, so there are more evaluations in
    # all.
    in_parts = number["partial"] > 0
    planned = count(found.n_iter, "candidate")
    parts = [
        count(n, "evaluation") if in_parts else f"{n} of {planned}",
        count(found.n_folds, "fold"),
        *[f"{number[kind]} {kind}" for kind in _KINDS if number[kind]],
    ]
    if found.n_unfinished:
        parts.append(f"{found.n_unfinished} not finished")
    return ", ".join(parts)


def _score_name(found: LoadedSearch) -> str:
    return _clean(found.metric or "score")


def _params(trial: Mapping[str, Any]) -> str:
    """Return the parameters of a candidate on one line."""
    parts = [f"{_clean(k)}={_clean(v)}" for k, v in trial["params"].items()]
    return ", ".join(parts)


def _score(trial: Mapping[str, Any]) -> str:
    """Return the score of a candidate as text, or its status if it has no score."""
    score = trial["score"]
    return f"{score:.5g}" if math.isfinite(score) else str(trial["status"])


def _rows(found: LoadedSearch) -> list[tuple[str, str, str, str]]:
    """Return the number, score, fit time and parameters of the latest candidates."""
    return [
        (str(t["number"]), _score(t), duration(t["fit_time"]), _params(t))
        for t in list(found.trials)[-_LATEST:]
    ]


def _failures(found: LoadedSearch) -> list[str]:
    """Return the most frequent causes of failures, with their counts."""
    causes = Counter(trial["failure"] for trial in found.trials if trial["failure"])
    most = causes.most_common(_CAUSES)
    return [f"{n} x {_clean(cause, _CAUSE)}" for cause, n in most]


def _full(found: LoadedSearch) -> list[Mapping[str, Any]]:
    """Return the candidates with a full score, and those that failed."""
    return [trial for trial in found.trials if trial["status"] not in _PARTIAL]


# Text ---------------------------------------------------------------------------------


def line(trial: Mapping[str, Any]) -> str:
    """Return a line of text that describes a candidate."""
    return f"candidate {trial['number']}: {_score(trial)}  {_params(trial)}"


def screen(found: LoadedSearch, width: int, height: int | None = None) -> str:
    """Return a search as text, in lines of at most `width` characters.

    If `height` is given, at most this number of lines is returned.
    """
    lines = [*_heading(found), "", *_lines(found, width)]
    return "".join(f"{text[:width].rstrip()}\n" for text in lines[:height])


def _lines(found: LoadedSearch, width: int) -> Iterator[str]:
    """Yield the best candidate, the failures, the latest candidates and the curve."""
    best = found.best
    if best is None:
        yield "Best      no candidate has a score yet"
    else:
        score = f"{_score_name(found)} {_score(best)}"
        yield f"Best      {score}, candidate {best['number']}"
        yield f"          {_params(best)}"
    for i, text in enumerate(_failures(found)):
        yield f"{'' if i else 'Failures':<10}{text}"
    if rows := _rows(found):
        yield ""
        table = [_HEADS, *rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for *numbers, params in table:
            cells = [text.rjust(n) for text, n in zip(numbers, widths, strict=False)]
            yield "  ".join([*cells, params])
    scores = [trial["score"] for trial in _full(found)]
    if any(map(math.isfinite, scores)):
        yield ""
        yield f"{_score_name(found)}: each candidate (.), the best so far (#)"
        yield from text_curve(scores, min(_WIDEST, width - 12))


def text_curve(scores: Sequence[float], width: int) -> list[str]:
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
    >>> for line in text_curve([1.0, float("nan"), 3.0], 3):
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
    n_columns = min(len(told), max(1, width))
    low, high = limits(told, margin=0.0)

    def row(score: float) -> int:
        share = (high - max(score, low)) / (high - low)
        return min(_HEIGHT - 1, max(0, int(share * _HEIGHT)))

    cells = [[" "] * n_columns for _ in range(_HEIGHT)]
    foot = ["-"] * n_columns
    best = np.fmax.accumulate(told)
    places = [i * n_columns // len(told) for i in range(len(told))]
    for place, score in zip(places, told, strict=True):
        if math.isfinite(score):
            cells[row(score)][place] = "."
        else:
            foot[place] = "x"
    for place, score in zip(places, best, strict=True):
        if math.isfinite(score):
            for line in cells:  # a column shows the latest best score only
                line[place] = line[place].replace("#", ".")
            cells[row(score)][place] = "#"
    # Labels are scores, so none of them exceeds the largest possible score.
    labels = {_HEIGHT - 1: f"{low:.4g}"} if np.nanmin(told) <= low else {}
    labels[row(best[-1])] = f"{best[-1]:.4g}"
    lines = [
        f"{labels.get(i, ''):>8} |{''.join(line)}".rstrip()
        for i, line in enumerate(cells)
    ]
    return [*lines, f"{'':>8} +{''.join(foot)}-"]


# Page ---------------------------------------------------------------------------------


def page(found: LoadedSearch, interval: float, *, last: bool) -> str:
    """Return a search as a web page, which is loaded again unless it is the last."""
    seconds = max(1, round(interval))
    refresh = "" if last else f'<meta http-equiv="refresh" content="{seconds}"/>\n'
    title, state, n = map(html.escape, _heading(found))
    rows = "\n".join(_row("td", row) for row in _rows(found))
    return (
        f'{BEGINS}<html lang="en">\n<head>\n<meta charset="utf-8"/>\n{refresh}'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n<p>{state}</p>\n<p>{n}</p>\n"
        f"{''.join(_blocks(found))}<h2>Latest candidates</h2>\n"
        f"<table>\n{_row('th', _HEADS)}\n{rows}\n</table>\n</body>\n</html>\n"
    )


def _blocks(found: LoadedSearch) -> Iterator[str]:
    """Yield the best candidate, the curve and the failures as HTML."""
    best, name = found.best, _score_name(found)
    if best is None:
        yield "<p>No candidate has a score yet.</p>\n"
    else:
        text = (
            f"Best {name} {_score(best)}, candidate {best['number']}: {_params(best)}"
        )
        yield f"<p><strong>{html.escape(text)}</strong></p>\n"
    if full := _full(found):
        n_initial = last_initial(trial["model_label"] for trial in full)
        scores = np.array([trial["score"] for trial in full])
        yield f"<div>{svg_curve(scores, n_initial, name)}</div>\n"
    if failures := _failures(found):
        items = "".join(f"<li>{html.escape(text)}</li>" for text in failures)
        yield f"<h2>Failures</h2>\n<ul>{items}</ul>\n"


def _row(tag: str, cells: Sequence[str]) -> str:
    inside = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"
