"""Display a fitted search in notebooks: its report and an SVG curve of its scores."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skrobustbo._arrays import Array
from skrobustbo._names import count, printable
from skrobustbo._trials import rounding
from skrobustbo.model_selection._findings import Findings
from skrobustbo.model_selection._report import report
from skrobustbo.model_selection._softly import Attempt

_WIDTH, _HEIGHT = 560, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 546, 20, 180
#: Colours that are readable on white and black; everything else has the text colour.
_ACCENT, _FAILURE = "#3a86c8", "#d1603d"
#: Scores beyond the first limit are drawn there; differences below the second count as
#: none.
_HUGE, _TINY = 1e300, 1e-290
#: Maximum number of digits in a label.
_DIGITS = 11
#: Scores are cut if they are farther below the middle than this many times the distance
#: from the middle to the best.
_CUT = 6.0


def account(found: Findings, attempt: Attempt) -> str:
    """Return the report and the score curve of a fitted search as HTML.

    The HTML contains no style sheets or scripts. Its text has the colour of the page,
    so it is readable in light and dark themes.
    """
    picture = ""
    with attempt("the curve of scores"):
        picture = svg_curve(found.scores, found.n_initial, found.metric_name)
    text = html.escape(report(found, attempt))
    return (
        '<details open="" class="skrobustbo-report"><summary>Report</summary>'
        '<pre style="color: inherit; background: none; white-space: pre-wrap; '
        f'line-height: 1.35">{text}</pre>{picture}</details>'
    )


# The curve ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Frame:
    """Coordinate system for candidates and scores in the SVG image."""

    n: int
    low: float
    high: float

    def x(self, number: float) -> float:
        """Return the x coordinate of a candidate; candidates are counted from 1."""
        return _LEFT + (_RIGHT - _LEFT) * (number - 0.5) / self.n

    def y(self, score: float) -> float:
        """Return the y coordinate of a score, clipped to the frame."""
        inside = min(self.high, max(self.low, score))
        return _BOTTOM - (_BOTTOM - _TOP) * (inside - self.low) / (self.high - self.low)


def svg_curve(scores: Array, n_initial: int, name: str = "score") -> str:
    """Return an SVG image of all scores and the best score so far.

    Parameters
    ----------
    scores : array of shape (n,)
        Score of each candidate; nan for failed candidates.
    n_initial : int
        Number of the last candidate in the initial design, which is shaded.
    name : str, default="score"
        Name of the score, used to label the axis.

    Returns
    -------
    svg : str
        The SVG image. Its text and axes inherit the text colour of the page.
    """
    name, n = printable(name), count(len(scores), "candidate")
    found = np.isfinite(scores).any()
    best = f"best {name} {np.nanmax(scores):.4g}" if found else f"no {name}"
    frame, drawn = Frame(len(scores), *limits(scores)), np.clip(scores, -_HUGE, _HUGE)
    parts = [
        _initial(frame, n_initial),
        *_axes(frame, name),
        *[_mark(frame, i, score) for i, score in enumerate(drawn, 1)],
        _line(frame, np.fmax.accumulate(drawn)),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" role="img" '
        f'aria-label="{html.escape(f"{best} after {n}", quote=True)}" '
        'style="max-width: 100%; height: auto; color: inherit" '
        'font-family="sans-serif" font-size="12" fill="currentColor">'
        + "".join(parts)
        + "</svg>"
    )


def limits(scores: Array, margin: float = 0.07) -> tuple[float, float]:
    """Return the range of scores to show, excluding very low outliers.

    The margin is a fraction of the range and is added at both ends.
    """
    finite = np.clip(scores[np.isfinite(scores)], -_HUGE, _HUGE)
    if not len(finite):
        return 0.0, 1.0
    low, middle, high = finite.min(), float(np.median(finite)), finite.max()
    if high > middle:
        low = max(low, middle - _CUT * (high - middle))
    size = max(abs(low), abs(high))
    if high - low > max(rounding(size), _TINY):
        extra = margin * (high - low)
    else:
        extra = 0.1 * size if size > _TINY else 1.0
    return float(low - extra), float(high + extra)


def _initial(frame: Frame, n: int) -> str:
    if not n:
        return ""
    width = frame.x(n + 0.5) - _LEFT
    return (
        f'<rect x="{_LEFT}" y="{_TOP}" width="{width:.1f}" height="{_BOTTOM - _TOP}" '
        'fill="currentColor" fill-opacity="0.08"/>'
        f'<text x="{_LEFT + 4}" y="{_TOP - 6}" fill-opacity="0.7">initial</text>'
    )


def _axes(frame: Frame, name: str) -> Iterator[str]:
    thin = _stroke("currentColor")
    yield f'<path d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}" {thin}/>'
    for score, text in _labelled(frame):
        y = frame.y(score)
        yield f'<path d="M{_LEFT} {y:.1f}H{_RIGHT}" {thin} stroke-opacity="0.15"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
    step = max(1, round(_step(frame.n / 8)))
    for number in range(step, frame.n + 1, step):
        x, below = frame.x(number), _BOTTOM + 17
        yield f'<path d="M{x:.1f} {_BOTTOM}v4" {thin}/>'
        yield f'<text x="{x:.1f}" y="{below}" text-anchor="middle">{number}</text>'
    yield (
        f'<text x="{(_LEFT + _RIGHT) / 2}" y="{_BOTTOM + 34}" '
        'text-anchor="middle">candidate</text>'
    )
    yield (
        f'<text transform="translate(14 {(_TOP + _BOTTOM) / 2}) rotate(-90)" '
        f'text-anchor="middle">{html.escape(name)}</text>'
    )


def _stroke(colour: str, width: float = 1) -> str:
    return f'fill="none" stroke="{colour}" stroke-width="{width:g}"'


def _labelled(frame: Frame) -> list[tuple[float, str]]:
    """Return the tick values of the score axis and their labels."""
    step = _step((frame.high - frame.low) / 5)
    first = math.ceil(frame.low / step)
    values = [i * step for i in range(first, math.floor(frame.high / step) + 1)]
    digits = max(0, -math.floor(math.log10(step)))
    size = max(map(abs, values), default=0.0)
    if digits <= 4 and size < 1e6:
        return [(v, f"{v:.{digits}f}") for v in values]
    telling = 1 + math.floor(math.log10(size)) - math.floor(math.log10(step))
    digits = min(max(telling, 1), _DIGITS)
    return [(v, f"{v:.{digits}g}") for v in values]


def _step(least: float) -> float:
    """Return the smallest number >= `least` that is 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= least * (1 - 1e-9))


def _mark(frame: Frame, number: int, score: float) -> str:
    """Return the marker for a score: a dot, a cross (failed) or a triangle (low)."""
    x = frame.x(number)
    if not math.isfinite(score):
        path = f"M{x - 3:.1f} {_BOTTOM - 9}l6 6m0 -6l-6 6"
        return f'<path d="{path}" {_stroke(_FAILURE, 1.6)}/>'
    if score < frame.low:
        path = f"M{x - 3.5:.1f} {_BOTTOM - 9}h7l-3.5 6z"
        return f'<path d="{path}" fill="{_ACCENT}" fill-opacity="0.6"/>'
    y = frame.y(score)
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_ACCENT}" '
        'fill-opacity="0.65"/>'
    )


def _line(frame: Frame, best: Array) -> str:
    known = [(i, score) for i, score in enumerate(best, 1) if math.isfinite(score)]
    if not known:
        return ""
    (first, start), *rest = known
    steps = [f"H{frame.x(i):.1f}V{frame.y(score):.1f}" for i, score in rest]
    path = f"M{frame.x(first):.1f} {frame.y(start):.1f}" + "".join(steps)
    return f'<path d="{path}H{_RIGHT}" {_stroke(_ACCENT, 2)}/>'
