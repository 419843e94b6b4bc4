"""Common style of the displays: fonts, colours, ticks, labels and legends.

Matplotlib's constrained layout makes room for all texts. Long texts are broken into
lines beforehand, according to the number of letters that fit into their axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._names import missing, wrong
from skrobustbo.displays._scales import (
    Array,
    Scale,
    filled_range,
    locator,
    number_label,
)
from skrobustbo.displays._text import broken, longest_word

# Okabe and Ito's colours, which colour-blind readers can distinguish; colours with
# enough contrast to the background come first.
_ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_ON_DARK = ("#56B4E9", "#E69F00", "#2FC7A0", "#E7A5C9", "#F0E442", "#FF7F3F")
# For a transparent background: readable on white and black.
_ON_ANY = ("#2F8CD0", "#D55E00", "#009E73", "#CC79A7", "#C98A00", "#4A9CCB")
#: Width of a letter and height of a line, relative to the font size.
_LETTER, _LINE = 0.6, 1.25
#: Size of tick labels and legends, and smallest size of a text, relative to labels.
_FINE, _SMALL = 0.9, 0.7
#: Maximum characters per line of a category.
_WRAP = 26
#: Maximum number of ticks of a parameter with numbers.
_TICKS = 7
#: Letters that the handle of a legend entry takes up.
_HANDLE = 5
#: Name of the band above the best value.
GAIN = "what may be left to gain"
#: Maximum number of legend entries, and entries that come last and may be left out.
_ENTRIES = 4
_LAST = (
    GAIN,
    "failed",
    "stopped early",
    "below the axis",
    "line: best so far",
    "end of the initial design",
    "initial",
)


@contextmanager
def importing(package: str, extra: str) -> Iterator[None]:
    """Raise a helpful error if an optional package cannot be imported."""
    try:
        yield
    except ImportError as error:
        raise missing("This display", package, extra) from error


def pyplot() -> Any:
    """Import `matplotlib.pyplot` when it is first needed, and return it."""
    with importing("matplotlib", "plot"):
        import matplotlib.pyplot as plt
    return plt


@dataclass
class Look:
    """Sizes and colours for a plot with a given width and background.

    If `through` is true, the background is transparent.
    """

    width: float
    size: float
    ink: str
    paper: str
    palette: tuple[str, ...]
    dark: bool = False
    through: bool = False

    @property
    def line(self) -> float:
        """Width of lines in points."""
        return 0.14 * self.size

    @property
    def dot(self) -> float:
        """Diameter of dots in points."""
        return 0.45 * self.size

    def lines(self, n: float) -> float:
        """Return the height of `n` lines of text, relative to the width."""
        return n * 1.7 * self.size / 72 / self.width

    def draw_values(
        self, ax: Any, x: Any, values: Array, floor: float, colour: str, **dots: Any
    ) -> None:
        """Draw values as dots, and mark failures and low values at the bottom."""
        below, failed = values < floor, np.isnan(values)
        y = np.where(below, np.nan, values)
        ax.plot(x, y, "o", ms=self.dot, mew=0, color=colour, **dots)
        self.draw_rug(ax, x[below], "v", color=colour, label="below the axis")
        self.draw_rug(ax, x[failed], "x", color=self.failure, label="failed")

    def draw_rug(self, ax: Any, x: Any, marker: str, **more: Any) -> None:
        """Mark positions along the bottom of an axes."""
        if len(x):
            at = {"transform": ax.get_xaxis_transform(), "zorder": 4}
            ax.plot(x, np.full(len(x), 0.03), marker, ms=self.dot, **at, **more)

    def note(self, ax: Any, text: str, share: float = 1.0) -> None:
        """Write a text in the middle of an axes."""
        middle = {"ha": "center", "va": "center", "transform": ax.transAxes}
        ax.text(0.5, 0.5, text, color=self.ink, fontsize=share * self.size, **middle)

    def dress(self, ax: Any, *, x: str = "", y: str = "", grid: str = "y") -> None:
        """Set the labels, fonts and grid of an axes."""
        self.label(ax.xaxis, x)
        self.label(ax.yaxis, y)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(
            which="both", labelsize=_FINE * self.size, length=0.3 * self.size
        )
        ax.set_axisbelow(True)
        ax.grid(False)  # the user's style may have turned it on
        if grid:
            ax.grid(True, axis=grid, color=self.ink, alpha=0.15, lw=0.5)

    def label(self, axis: Any, text: str) -> None:
        """Set the label of an axis, in lines that are a bit shorter than the axis."""
        (text,), share = fitted([text], letters(0.85 * side_of(axis), self.size))
        axis.set_label_text(text, fontsize=share * self.size)

    def numbers(self, axis: Any, *, whole: bool = False) -> None:
        """Set the ticks of an axis that shows values or counts."""
        room = int(letters(side_of(axis), self.size))
        each = 4 if axis.axis_name == "y" else 6 if whole else 10
        most = min(_TICKS, room // each)
        axis.set_major_locator(locator(max(1, most), whole=whole))
        axis.set_major_formatter(lambda tick, _: number_label(tick))

    def ticks(
        self,
        axis: Any,
        scale: Scale,
        wrap: int = 16,
        *,
        upright: bool = False,
        left: float = 1.0,
    ) -> None:
        """Set the limits and ticks of an axis that shows a parameter.

        Categories have at most `wrap` letters per line. Labels are rotated if they are
        `upright`, or if categories that run along the axis would not fit. `left` is the
        share of the axis that the layout leaves if there are many panels.
        """
        # Set limits first to end automatic scaling, whose margins may overflow.
        name, size = axis.axis_name, _FINE * self.size
        log = {f"{name}scale": "log"} if scale.kind == "log" else {}
        axis.axes.set(**{f"{name}lim": scale.limits}, **log)
        side = left * side_of(axis)
        room, share = letters(side, size), 1.0
        along = (name == "x") != upright
        if scale.kind != "category":
            places, labels = _numbers(scale, room, along)
        else:
            lines = side / (_LINE * size)
            places, labels = scale.ticks(max(1, int(lines / _SMALL)))
            each = room / len(labels) - 1
            if along and each < _SMALL * max(map(longest_word, labels)):
                along, upright = False, not upright
            if along:
                labels, share = fitted(labels, each)
            else:
                labels, share = stacked(labels, wrap, lines / len(labels))
        rotation = 90 if upright else 0
        axis.set_ticks(places, labels, fontsize=share * size, rotation=rotation)
        axis.set_ticks([], minor=True)

    def explain(self, ax: Any) -> None:
        """Add a legend above the plot of an axes."""
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
        self.legend(ax, [ax], borderaxespad=0.2, borderpad=0.2, **place)

    def legend(self, owner: Any, axes: Iterable[Any], **place: Any) -> None:
        """Add a legend for some axes to an axes or a figure, as wide as its owner."""
        entries = _entries(axes)
        if not entries:
            return
        size, dpi = _FINE * self.size, owner.figure.figure.dpi
        room = letters(owner.bbox.width * 72 / dpi, size)
        labels = [broken(label, max(1, int(room - _HANDLE))) for label in entries]
        widths = [max(map(len, label.split("\n"))) + _HANDLE for label in labels]
        n_columns = next(
            n
            for n in range(len(labels), 0, -1)
            if n == 1 or sum(map(max, np.array_split(widths, n))) <= room
        )
        owner.legend(
            list(entries.values()),
            labels,
            ncols=n_columns,
            fontsize=size,
            frameon=False,
            handlelength=1.3,
            handletextpad=0.5,
            columnspacing=1.2,
            **place,
        )

    def title(self, figure: Any, text: str) -> None:
        """Add a title to a figure or a subfigure."""
        room = letters(figure.bbox.width * 72 / figure.dpi, self.size)
        (text,), share = fitted([text], room)
        figure.suptitle(text, fontsize=share * self.size)

    def outline(self, texts: Iterable[Any]) -> None:
        """Give texts an outline, so that they are readable on top of lines."""
        from matplotlib.patheffects import withStroke

        if not self.through:
            for text in texts:
                around = withStroke(linewidth=0.3 * self.size, foreground=self.paper)
                text.set_path_effects([around])

    def value_colours(self, values: Any) -> Any:
        """Return a colour map for values; very low values share the lowest colour."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        return ScalarMappable(Normalize(*filled_range(values), clip=True), self.colours)

    def colour_bar(
        self, colours: Any, label: str, axes: Sequence[Any], location: str = "right"
    ) -> None:
        """Draw a colour bar beside some axes."""
        place = {"fraction": 0.08, "pad": 0.03, "aspect": 35, "location": location}
        bar = axes[0].figure.colorbar(colours, ax=axes, **place)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=_FINE * self.size, length=0.25 * self.size)
        self.label(bar.long_axis, label)
        self.numbers(bar.long_axis)

    def settings(self) -> Any:
        """Return a context that makes text readable on a transparent background."""
        parts = "text.", "axes.label", "axes.edge", "xtick.", "ytick."
        ours = {f"{part}color": self.ink for part in parts if self.through}
        return pyplot().rc_context(ours)

    @property
    def failure(self) -> str:
        """Colour of failed evaluations, in all displays."""
        return self.palette[1]

    @property
    def colours(self) -> Any:
        """Colour map in which good values contrast most with the background."""
        from matplotlib.colors import ListedColormap

        low, high = (0.2, 1.0) if self.dark else (0.85, 0.0)
        if self.through:  # keep both ends visible
            low, high = 0.78, 0.3
        viridis = pyplot().get_cmap("viridis")
        return ListedColormap(viridis(np.linspace(low, high, 256)))


def look_of(ax: Any) -> Look:
    """Return the sizes and colours for plotting on `ax`, or on a new figure."""
    from matplotlib.colors import to_hex, to_rgb, to_rgba

    settings = pyplot().rcParams
    width = settings["figure.figsize"][0]
    faces = [settings["axes.facecolor"], settings["figure.facecolor"]]
    if ax is not None:
        given = np.ravel(np.asarray(ax, dtype=object))
        whole = given[0].figure.figure
        faces = [given[0].get_facecolor(), whole.get_facecolor()]
        # The space that tick labels need.
        boxes = [one.get_position() for one in given]
        share = max(box.x1 for box in boxes) - min(box.x0 for box in boxes)
        inches = whole.get_figwidth()
        width = float(min(inches, inches * share / 0.775))
    seen = [face for face in faces if to_rgba(face)[3] > 0]
    size = settings["font.size"] * min(max(0.7 + (width - 3.3) * 0.075, 0.65), 1.4)
    if not seen:
        return Look(width, size, "#7a7a7a", "none", _ON_ANY, through=True)
    if np.dot(to_rgb(seen[0]), (0.299, 0.587, 0.114)) < 0.5:
        return Look(width, size, "#e8e8e8", to_hex(seen[0]), _ON_DARK, dark=True)
    return Look(width, size, "#262626", to_hex(seen[0]), _ON_LIGHT)


def panels(
    ax: Any, n_rows: int, n_columns: int, *, height: float, **ratios: Sequence[float]
) -> tuple[Any, NDArray[Any]]:
    """Return the figure and an array of axes of shape (n_rows, n_columns).

    A single given axes is replaced by a grid of axes. If enough axes are given, they
    are used directly. `height` is the height of a new figure relative to its width.
    `ratios` are the relative widths and heights of the grid.
    """
    if ax is None:
        plt = pyplot()
        width = plt.rcParams["figure.figsize"][0]
        figure = plt.figure(figsize=(width, width * height), layout="constrained")
        grid = figure.add_gridspec(n_rows, n_columns, **ratios)
        return figure, grid.subplots(squeeze=False)
    given = np.ravel(np.asarray(ax, dtype=object))
    figure = given[0].figure.figure
    if len(given) == n_rows * n_columns:
        return figure, given.reshape(n_rows, n_columns)
    place = place_of(ax, f"{n_rows * n_columns} panels")
    # A layout engine makes room for labels; without one, leave room for them here.
    free = {} if figure.get_layout_engine() else {"wspace": 0.5, "hspace": 0.6}
    grid = place.subgridspec(n_rows, n_columns, **ratios, **free)
    return figure, grid.subplots(squeeze=False)


def place_of(ax: Any, use: str) -> Any:
    """Hide the single given axes and return its place in the grid."""
    given = np.ravel(np.asarray(ax, dtype=object))
    place = given[0].get_subplotspec() if len(given) == 1 else None
    if place is None:
        known = f"one axes of a grid, which {use} then divide, or one for each panel"
        raise wrong("ax", "plot", known, ax, "leave it out for a new figure")
    given[0].set_axis_off()
    return place


def side_of(axis: Any) -> float:
    """Return the length of an axis in points, before constrained layout moves it."""
    box = axis.axes.bbox
    pixels = box.width if axis.axis_name == "x" else box.height
    return float(pixels * 72 / axis.figure.figure.dpi)


# Texts that fit -----------------------------------------------------------------------


def letters(side: float, size: float) -> float:
    """Return how many letters of a font size fit along a side, both in points."""
    return side / (_LETTER * size)


def fitted(texts: Sequence[str], most: float) -> tuple[list[str], float]:
    """Return texts in lines of at most `most` letters, and their relative size.

    Words that are longer than a line are first made smaller and only then divided.
    """
    longest = max(map(longest_word, texts))
    share = min(1.0, max(_SMALL, most / max(longest, 1)))
    width = max(1, int(most / share))
    return [broken(text, width) for text in texts], share


def stacked(texts: Sequence[str], most: int, lines: float) -> tuple[list[str], float]:
    """Return texts that stand one above the other, and their relative size.

    There is room for `lines` lines of each text. Lines have at most `most` letters, or
    more if a text would otherwise have too many lines.
    """
    for width in (most, max(most, _WRAP)):
        broken_texts, share = fitted(texts, width)
        deepest = max(text.count("\n") + 1 for text in broken_texts)
        if deepest <= lines:
            break
    return broken_texts, min(share, max(_SMALL, lines / deepest))


def _numbers(scale: Scale, room: float, along: bool) -> tuple[list[float], list[str]]:
    """Return as many ticks of a numeric scale as there is room for, in letters."""
    for most in range(_TICKS, 0, -1):
        places, labels = scale.ticks(most)
        # Powers of ten are narrower than their text.
        widths = [min(len(label), 7) + 2 if along else 3 for label in labels]
        if sum(widths) <= room:
            break
    return places, labels


def _entries(axes: Iterable[Any]) -> dict[str, tuple[Any, ...]]:
    """Return the legend labels of a plot, with one handle of each type per label."""
    found: dict[str, dict[type, Any]] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, {})[type(handle)] = handle
    names = [label for label in found if label not in _LAST]
    order = [*names, *(label for label in _LAST if label in found)]
    most = max(_ENTRIES, len(names))
    return {label: tuple(found[label].values()) for label in order[:most]}
