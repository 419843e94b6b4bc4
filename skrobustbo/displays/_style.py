"""Common style of the displays: fonts, colours and layout.

Ticks, labels and legends are adjusted after the layout of the figure has been computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._names import missing, wrong
from skrobustbo.displays._scales import Array, Scale, filled_range, locator
from skrobustbo.displays._text import broken, longest_word

# Okabe and Ito's colours, which colour-blind readers can distinguish; colours with
# enough contrast to the background come first.
_ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_ON_DARK = ("#56B4E9", "#E69F00", "#2FC7A0", "#E7A5C9", "#F0E442", "#FF7F3F")
# For a transparent background: readable on white and black.
_ON_ANY = ("#2F8CD0", "#D55E00", "#009E73", "#CC79A7", "#C98A00", "#4A9CCB")
_ROUNDS = 6
#: Minimum gap between texts, in pixels at 100 dots per inch.
_GAP = 3.0
#: Minimum and maximum characters per line.
_LEAST, _MOST = 5, 26
#: Smallest text size, relative to the initial size.
_SMALL = 0.6
#: A dollar sign that starts a formula rather than being part of a name.
_FORMULA = re.compile(r"(?<!\\)\$")
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

    `parts` collects the ticks, labels and legends that must fit into the figure. If
    `through` is true, the background is transparent.
    """

    width: float
    size: float
    ink: str
    paper: str
    palette: tuple[str, ...]
    dark: bool = False
    through: bool = False
    parts: list[Any] = field(default_factory=list)

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
        ax.set_xlabel(x, fontsize=self.size)
        ax.set_ylabel(y, fontsize=self.size)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(which="both", labelsize=0.9 * self.size, length=0.3 * self.size)
        ax.set_axisbelow(True)
        # There may be another label beside one at the bottom.
        self.parts.append(Label(ax.xaxis.label, ax, 1.05, ax.xaxis))
        self.parts.append(Label(ax.yaxis.label, ax, 1.2, ax.yaxis))
        ax.grid(False)  # the user's style may have turned it on
        if grid:
            ax.grid(True, axis=grid, color=self.ink, alpha=0.15, lw=0.5)

    def explain(self, ax: Any) -> None:
        """Add a legend above the plot of an axes."""
        place = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)}
        text = {"fontsize": 0.9 * self.size, "borderaxespad": 0.2, "borderpad": 0.2}
        self.parts.append(Legend(ax, [ax], {**place, **text}))

    def title(self, figure: Any, text: str) -> None:
        """Add a title to a figure or a subfigure."""
        title = figure.suptitle(text, fontsize=self.size)
        self.parts.append(Label(title, figure, 0.96))

    def room(self, ax: Any) -> int:
        """Return how many lines of text fit into the height of an axes."""
        inches = ax.get_position().height * ax.figure.figure.get_figheight()
        return int(72 * inches / (1.15 * self.size))

    def value_colours(self, values: Any) -> Any:
        """Return a colour map for values; very low values share the lowest colour."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import Normalize

        return ScalarMappable(Normalize(*filled_range(values), clip=True), self.colours)

    def colour_bar(self, colours: Any, label: str, ax: Any, cax: Any = None) -> None:
        """Draw a colour bar next to `ax`, or horizontally in `cax`."""
        if cax is None:
            place = {"ax": ax, "fraction": 0.08, "pad": 0.03, "aspect": 25}
        else:
            place = {"cax": cax, "orientation": "horizontal"}
        bar = ax.figure.colorbar(colours, **place)
        bar.outline.set_visible(False)
        bar.set_label(label, fontsize=self.size)
        bar.ax.tick_params(labelsize=0.9 * self.size, length=0.25 * self.size)
        axis = bar.long_axis
        self.parts.append(Ticks(axis, most=7 if cax is None else 4))
        self.parts.append(Label(axis.label, bar.ax, 1.2, axis))

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
) -> tuple[Any, NDArray[np.object_]]:
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


# Parts that are fitted into a figure -------------------------------------------------


@dataclass
class Ticks:
    """Ticks of an axis, as many as fit.

    Category labels that overlap are broken into lines, then rotated and then made
    smaller. Labels are left out only if this is not enough.

    Attributes
    ----------
    axis : matplotlib Axis
    scale : Scale or None
        Scale of a parameter, or None for an axis of values or counts.
    most : int
        Initial number of ticks. Categories start with one tick each.
    wrap : int
        Maximum characters per line of a category.
    whole : bool
        Whether the values are whole numbers.
    text : dict
        Properties of the labels. If they include a rotation, it does not change.
    """

    axis: Any
    scale: Scale | None = None
    most: int = 7
    wrap: int = 16
    whole: bool = False
    text: dict[str, Any] = field(default_factory=dict)
    small: float = 1.0

    def __post_init__(self) -> None:
        if self.scale is None:
            self._number()
            return
        # Set limits first to end automatic scaling, whose margins may overflow.
        limits = {f"{self.axis.axis_name}lim": self.scale.limits}
        log = {f"{self.axis.axis_name}scale": "log"} if self.scale.kind == "log" else {}
        self.axis.axes.set(**limits, **log)
        self.most = max(self.most, len(self.scale.labels))
        self._apply()

    def _number(self) -> None:
        from matplotlib.ticker import ScalarFormatter

        self.axis.set_major_locator(locator(self.most, whole=self.whole))
        formatter = ScalarFormatter(useMathText=True)
        formatter.set_powerlimits((-3, 5))
        self.axis.set_major_formatter(formatter)

    def _apply(self) -> None:
        if self.scale is None:
            self.axis.get_major_locator().set_params(nbins=self.most)
            return
        places, labels = self.scale.ticks(self.most)
        if self.scale.kind == "category":
            labels = [broken(label, self.wrap) for label in labels]
        self.axis.set_ticks(places, labels, **self.text)
        self.axis.set_ticks([], minor=True)

    def loosen(self) -> bool:
        """Wrap, rotate, shrink or leave out labels until they do not overlap."""
        changed = False
        while self.most > 1 and labels_overlap(self.axis):
            changed = True
            self._lessen()
            self._apply()
        return changed

    def _lessen(self) -> None:
        """Take one step towards smaller or fewer labels."""
        labels = () if self.scale is None else self.scale.labels
        longest = 0 if self.scale is None else self.scale.longest
        least = max([_LEAST, *map(longest_word, labels)])
        upright = bool(self.text.get("rotation"))
        along = self.axis.axis_name == "x" and not upright
        if labels and along and min(self.wrap, longest) > least:
            self.wrap = max(least, min(self.wrap, longest) - 2)
        elif labels and along and "rotation" not in self.text:
            self.text, self.wrap = {**self.text, "rotation": 90}, _MOST // 2
        elif labels and not along and self.wrap < min(longest, _MOST):
            self.wrap += 4
        elif labels and self.small > _SMALL:
            size = self.axis.get_ticklabels()[0].get_fontsize()
            self.small *= 0.9
            self.text = {**self.text, "fontsize": 0.9 * size}
        else:
            self.most = max(1, min(self.most - 1, int(0.7 * self.most)))


@dataclass
class Label:
    """A text that is broken into lines if it is longer than its axes or figure.

    Attributes
    ----------
    text : matplotlib Text
    place : matplotlib axes or figure
        Axes or figure that limits the length of the text.
    share : float
        Maximum length of the text, relative to `place`.
    axis : matplotlib Axis or None
        The axis that the text labels. The unit of the axis is added to the text.
    """

    text: Any
    place: Any
    share: float
    axis: Any = None
    unit: str = ""

    def __post_init__(self) -> None:
        self.whole, self.size = self.text.get_text(), self.text.get_fontsize()
        self.upright = self.axis is not None and self.axis.axis_name == "y"

    def loosen(self) -> bool:
        """Break the text into lines and shrink it until it fits."""
        unit = ""
        if self.axis is not None:
            # Above the axis, the unit would run into the legend.
            self.axis.get_offset_text().set_visible(False)
            offset = self.axis.get_major_formatter().get_offset()
            unit = f"({offset})" if offset else ""
        is_new, self.unit = unit != self.unit, unit
        # Axes without a label share the ticks of one with a label.
        if not self.whole or not (is_new or self._too_long()):
            return False
        before = self.text.get_text()
        is_formula = _FORMULA.search(self.whole)
        word = len(self.whole) if is_formula else longest_word(self.whole)
        for most in range(len(self.whole) + 1, _LEAST, -1):
            # Words are split only if smaller letters do not help; formulas are never
            # split.
            share = max(_SMALL, min(1.0, most / word))
            divides = share == _SMALL and not is_formula
            lines = broken(self.whole, most if divides else max(most, word))
            between = " " if most > len(self.whole) else "\n"
            text = between.join(filter(None, [lines, unit]))
            self.text.set(text=text, fontsize=share * self.size)
            if not self._too_long():
                break
        return bool(self.text.get_text() != before)

    def _too_long(self) -> bool:
        edge = self.place.figure.figure.bbox
        boxes = self.text.get_window_extent(), self.place.bbox, edge
        along = "intervaly" if self.upright else "intervalx"
        (start, end), room, (first, last) = (getattr(box, along) for box in boxes)
        is_outside = start < first or end > last
        return bool(is_outside or end - start > self.share * (room[1] - room[0]))


@dataclass
class Legend:
    """A legend with as many columns as fit into its axes or figure.

    Attributes
    ----------
    owner : matplotlib axes or figure
    axes : iterable of matplotlib axes
        The axes that the legend explains.
    text : dict
        Properties of the legend, such as its location and font size.
    """

    owner: Any
    axes: Iterable[Any]
    text: dict[str, Any]
    legend: Any = None

    def loosen(self) -> bool:
        """Draw the legend with fewer columns and shorter lines until it fits.

        The legend is drawn after the layout, because a legend that is too wide would
        leave no room for the axes.
        """
        entries = {} if self.legend else _entries(self.axes)
        n_columns, wrap = len(entries), max(map(len, entries), default=0)
        inside, edge = self.owner.bbox, self.owner.figure.figure.bbox.x1
        right = min(inside.x1 + 0.02 * inside.width, edge - _GAP)
        while entries:
            self.legend = self.owner.legend(
                list(entries.values()),
                [broken(label, wrap) for label in entries],
                ncols=n_columns,
                frameon=False,
                handlelength=1.3,
                handletextpad=0.5,
                columnspacing=1.2,
                **self.text,
            )
            end = self.legend.get_window_extent().x1
            if end <= right or (n_columns == 1 and wrap <= _LEAST):
                break
            self.legend.remove()
            if n_columns > 1:
                n_columns -= 1
            else:  # take large steps for a long text
                wrap = max(_LEAST, min(wrap - 1, int(wrap * right / end)))
        return bool(entries)


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


def labels_overlap(axis: Any) -> bool:
    """Return whether any tick labels of an axis overlap or touch."""
    labels = [
        label
        for label in axis.get_ticklabels()
        if label.get_visible() and label.get_text()
    ]
    across = axis.axis_name == "x"
    along = "intervalx" if across else "intervaly"
    spans = sorted(tuple(getattr(one.get_window_extent(), along)) for one in labels)
    apart = across and not any(label.get_rotation() for label in labels)
    need = _GAP * float(axis.figure.figure.dpi) / 100 if apart else 0.0
    return any(b[0] < a[1] + need for a, b in pairwise(spans))


def settle(figure: Any, parts: Sequence[Any]) -> None:
    """Repeat the layout until no part needs more room."""
    labels = [part for part in parts if isinstance(part, Label)]
    others = [part for part in parts if not isinstance(part, Label)]
    for _ in range(_ROUNDS):
        figure.draw_without_rendering()
        changed = [part.loosen() for part in others]
        # Until the ticks are right, the axes may be too narrow for their labels.
        changed += [] if any(changed) else [label.loosen() for label in labels]
        if not any(changed):
            break
