"""One look for all displays: fonts by size, colours by background, panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._scales import Array

# Okabe and Ito's colours, told apart by colour-blind readers too; those that keep
# enough contrast with the background first.
_ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_ON_DARK = ("#56B4E9", "#E69F00", "#2FC7A0", "#E7A5C9", "#F0E442", "#FF7F3F")
#: Values beyond this have no room for margins.
_HUGE = 1e300


def pyplot() -> Any:
    """Return `matplotlib.pyplot`, imported at the first plot."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Expected matplotlib to be installed, as displays draw with it; run "
            'pip install "skrobustbo[plot]".'
        ) from error
    return plt


class Fitted(Protocol):
    """Something drawn that can be made smaller."""

    def loosen(self) -> bool:
        """Take less room, if it takes too much; tell whether anything changed."""


@dataclass
class Look:
    """Sizes and colours for a drawing area of some width, on some background.

    What is drawn with it, and is to be fitted into the figure, are its `parts`.
    """

    width: float
    size: float
    ink: str
    paper: str
    palette: tuple[str, ...]
    dark: bool
    parts: list[Fitted] = field(default_factory=list)

    @property
    def line(self) -> float:
        """Width of lines in points."""
        return 0.14 * self.size

    @property
    def dot(self) -> float:
        """Diameter of dots in points."""
        return 0.45 * self.size

    def lines(self, n: float) -> float:
        """Return the height of so many lines of text, in shares of the width."""
        return n * 1.7 * self.size / 72 / self.width

    def draw_dots(self, ax: Any, x: Any, y: Any, colour: str, **more: Any) -> None:
        """Draw dots without borders."""
        ax.plot(x, y, "o", ms=self.dot, mew=0, color=colour, **more)

    def shade(self, ax: Any, start: Any, end: Any, colour: str, **more: Any) -> None:
        """Shade the candidates after the number `start` up to the number `end`."""
        ax.axvspan(start + 0.5, end + 0.5, color=colour, lw=0, **more)

    def rug(self, ax: Any, at: Any, marker: str, colour: str, **more: Any) -> None:
        """Mark places along the bottom of an axes."""
        if len(at):
            more = {"ms": self.dot, "transform": ax.get_xaxis_transform(), **more}
            ax.plot(at, np.full(len(at), 0.03), marker, color=colour, **more)

    def mark(
        self, ax: Any, values: Array, floor: float, colour: str, label: Any
    ) -> None:
        """Mark at the bottom the steps that failed, or whose values lie below it."""
        failed, below = np.isnan(values), values < floor
        at = (np.flatnonzero(which) + 1 for which in (below, failed))
        self.rug(ax, next(at), "v", colour, label=label, zorder=4)
        self.rug(ax, next(at), "x", self.failure, label="failed", zorder=4)

    def dress(self, ax: Any, *, x: str = "", y: str = "", grid: str = "y") -> None:
        """Give an axes its labels, fonts and grid."""
        ax.set_xlabel(x, fontsize=self.size)
        ax.set_ylabel(y, fontsize=self.size)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(which="both", labelsize=0.9 * self.size, length=0.3 * self.size)
        ax.set_axisbelow(True)
        ax.grid(False)  # also what the user's style may have drawn
        if grid:
            ax.grid(True, axis=grid, color=self.ink, alpha=0.15, lw=0.5)

    @property
    def failure(self) -> str:
        """Colour of failed evaluations, in all displays."""
        return self.palette[1]

    @property
    def colours(self) -> Any:
        """Colour map of values: good ones stand out most from the background."""
        from matplotlib.colors import ListedColormap

        low, high = (0.2, 1.0) if self.dark else (0.85, 0.0)
        viridis = pyplot().get_cmap("viridis")
        return ListedColormap(viridis(np.linspace(low, high, 256)))


def look_of(ax: Any) -> Look:
    """Return the look of what is drawn on `ax`; None: on a new figure."""
    from matplotlib.colors import to_hex, to_rgb

    settings = pyplot().rcParams
    width = settings["figure.figsize"][0]
    face = settings["axes.facecolor"]
    if ax is not None:
        given = np.ravel(np.asarray(ax, dtype=object))
        face = given[0].get_facecolor()
        # What they take with their tick labels.
        boxes = [one.get_position() for one in given]
        share = max(box.x1 for box in boxes) - min(box.x0 for box in boxes)
        whole = given[0].figure.figure.get_figwidth()
        width = float(min(whole, whole * share / 0.775))
    dark = bool(np.dot(to_rgb(face), (0.299, 0.587, 0.114)) < 0.5)
    size = settings["font.size"] * min(max(0.7 + (width - 3.3) * 0.075, 0.65), 1.4)
    return Look(
        width=width,
        size=size,
        ink="#e8e8e8" if dark else "#262626",
        paper=to_hex(face),
        palette=_ON_DARK if dark else _ON_LIGHT,
        dark=dark,
    )


def panels(
    ax: Any,
    n_rows: int,
    n_columns: int,
    *,
    height: float,
    sharey: bool | str = False,
    **ratios: Sequence[float],
) -> tuple[Any, NDArray[np.object_]]:
    """Return the figure and its axes, shape (n_rows, n_columns).

    With one axes given, they take its place; with as many as needed, these are used.
    `height` is that of a new figure, in shares of its width; `ratios` are those of the
    grid's widths and heights.
    """
    if ax is None:
        plt = pyplot()
        width = plt.rcParams["figure.figsize"][0]
        figure = plt.figure(figsize=(width, width * height), layout="constrained")
        grid = figure.add_gridspec(n_rows, n_columns, **ratios)
        return figure, grid.subplots(squeeze=False, sharey=sharey)
    given = np.ravel(np.asarray(ax, dtype=object))
    figure = given[0].figure.figure
    if len(given) == n_rows * n_columns:
        return figure, given.reshape(n_rows, n_columns)
    if len(given) > 1 or given[0].get_subplotspec() is None:
        raise ValueError(
            f"The 'ax' of plot must be one axes of a grid, which {n_rows * n_columns} "
            f"panels then divide, or {n_rows * n_columns} axes. Got {len(given)} "
            "instead; leave it out for a new figure."
        )
    given[0].set_axis_off()
    # A layout engine makes room for labels; without one it has to be left for them.
    free = {} if figure.get_layout_engine() else {"wspace": 0.5, "hspace": 0.6}
    place = given[0].get_subplotspec()
    grid = place.subgridspec(n_rows, n_columns, **ratios, **free)
    return figure, grid.subplots(squeeze=False, sharey=sharey)


def value_colours(values: Any, look: Look) -> Any:
    """Return the map from values to colours; the far worse share the lowest one."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    return ScalarMappable(Normalize(*filled_range(values), clip=True), look.colours)


def room(ax: Any, look: Look) -> int:
    """Return the lines of text that fit into the height of an axes."""
    inches = ax.get_position().height * ax.figure.figure.get_figheight()
    return int(72 * inches / (1.15 * look.size))


def drawable(values: Any) -> Array:
    """Return values that an axis has room for: infinite ones are nan."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values), np.clip(values, -_HUGE, _HUGE), math.nan)


def value_range(values: Any, cut: float = 10.0) -> tuple[float, float]:
    """Return the range of values that is drawn, margins not included.

    A few values far below the rest would press all others into one line: if any is
    farther below the middle than `cut` times the distance from the middle to the best,
    the range ends at 0.6 of that.
    """
    finite = drawable(values)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return 0.0, 1.0
    low, middle, high = finite.min(), float(np.median(finite)), finite.max()
    spread = high - middle
    if spread > 0 and middle - low > cut * spread:
        low = middle - 0.6 * cut * spread
    return float(low), float(high)


def filled_range(values: Any) -> tuple[float, float]:
    """Return `value_range`, with margins where it has no width."""
    low, high = value_range(values)
    return (low, high) if high > low else padded(low, high)


def padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """Return the range with margins; a range without width gets one."""
    wide = high > low
    extra = share * high - share * low if wide else 0.1 * abs(high) or 1.0
    return low - extra, high + extra
