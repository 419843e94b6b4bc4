"""Show a search as a web page that reloads itself without scripts."""

from __future__ import annotations

import html
import os
import secrets
from contextlib import suppress

import numpy as np

from skrobustbo.checkpoint import CheckpointError
from skrobustbo.model_selection import LoadedSearch, curve
from skrobustbo.watching import _facts as facts

_BEGINS = "<!DOCTYPE html>\n"
_STYLE = (
    "body{font-family:sans-serif;max-width:60em;margin:2em auto;padding:0 1em;"
    "color-scheme:light dark}td,th{padding:.15em .8em;text-align:right}"
    "td:last-child,th:last-child{text-align:left}"
)


def page(found: LoadedSearch, interval: float, *, last: bool) -> str:
    seconds = max(1, round(interval))
    refresh = "" if last else f'<meta http-equiv="refresh" content="{seconds}"/>\n'
    title = html.escape(facts.title(found))
    return (
        f'{_BEGINS}<html lang="en">\n<head>\n<meta charset="utf-8"/>\n{refresh}'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n<p>{html.escape(facts.state(found))}</p>\n"
        f"<p>{html.escape(facts.counts(found))}</p>\n{_best(found)}{_curve(found)}"
        f"{_failures(found)}{_latest(found)}</body>\n</html>\n"
    )


def _best(found: LoadedSearch) -> str:
    best = found.best
    if best is None:
        return "<p>No candidate has a score yet.</p>\n"
    text = (
        f"Best {facts.score_name(found)} {facts.score_text(best)}, "
        f"candidate {best['number']}: {facts.params_text(best)}"
    )
    return f"<p><strong>{html.escape(text)}</strong></p>\n"


def _curve(found: LoadedSearch) -> str:
    scores, n_initial = facts.curve_data(found)
    if not scores:
        return ""
    picture = curve(np.array(scores), n_initial, facts.score_name(found))
    return f"<div>{picture}</div>\n"


def _failures(found: LoadedSearch) -> str:
    items = [f"<li>{html.escape(text)}</li>" for text in facts.failures(found)]
    return f"<h2>Failures</h2>\n<ul>{''.join(items)}</ul>\n" if items else ""


def _latest(found: LoadedSearch) -> str:
    heads = "".join(f"<th>{name}</th>" for name in facts.HEADS)
    lines = [
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in facts.rows(found)
    ]
    table = "\n".join(lines)
    return f"<h2>Latest candidates</h2>\n<table>\n<tr>{heads}</tr>\n{table}\n</table>\n"


def check_place(path: str) -> None:
    """Raise a CheckpointError if the path exists and is another kind of file."""
    if not os.path.lexists(path):
        return
    head = None
    if os.path.isfile(path):  # reading from a pipe would block
        with open(path, "rb") as file:
            head = file.read(len(_BEGINS))
    if head not in (b"", _BEGINS.encode()):
        raise CheckpointError(
            f"The file {path!r} exists and is not a page: give another path for --html."
        )


def write(path: str, text: str) -> None:
    """Write a page atomically, so that a browser never loads an incomplete page."""
    new = f"{path}.{secrets.token_hex(8)}"
    try:
        # Exclusive: nothing is written if the name exists, even as a link.
        with open(new, "x", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.replace(new, path)
    except FileExistsError:
        raise
    except BaseException:
        with suppress(FileNotFoundError):
            os.remove(new)
        raise
