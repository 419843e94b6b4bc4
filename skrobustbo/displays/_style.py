"""One look for all displays: fonts by size, colours by background, what fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._scales import (
    Array,
    Scale,
    filled_range,
    shortened_apart,
)

# Okabe and Ito's colours, told apart by colour-blind readers too; those that keep
# enough contrast with the background first.
_ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_ON_DARK = ("#56B4E9", "#E69F00", "#2FC7A0", "#E7A5C9", "#F0E442", "#FF7F3F")

_ROUNDS = 4
#: Pixels that texts at 100 dots per inch are kept apart by.
_GAP = 3.0
#: Fewest characters that a category is cut to before only some are named.
_LEAST = 5
#: Legend entries that come after all others, whatever was drawn last.
LAST = ("below the axis", "failed")


def pyplot() -> Any:
    """Return `matplotlib.pyplot`, imported at the first plot."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Expected matplotlib to be installed, because displays need it; run "
            'pip install "skrobustbo[plot]".'
        ) from error
    return plt


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
        """Return the height of so many lines of text, in shares of the width."""
        return n * 1.7 * self.size / 72 / self.width

    def draw_dots(self, ax: Any, x: Any, y: Any, colour: str, **more: Any) -> None:
        """Draw dots without borders."""
        ax.plot(x, y, "o", ms=self.dot, mew=0, color=colour, **more)

    def rug(self, ax: Any, at: Any, marker: str, colour: str, **more: Any) -> None:
        """Mark places along the bottom of an axes."""
        if len(at):
            more = {"ms": self.dot, "transform": ax.get_xaxis_transform(), **more}
            ax.plot(at, np.full(len(at), 0.03), marker, color=colour, **more)

    def mark(
        self, ax: Any, values: Array, floor: float, colour: str, label: Any
    ) -> None:
        """Mark at the bottom the steps that failed, or whose values lie below it."""
        steps, failed = np.arange(1, len(values) + 1), np.isnan(values)
        self.rug(ax, steps[values < floor], "v", colour, label=label, zorder=4)
        self.rug(ax, steps[failed], "x", self.failure, label="failed", zorder=4)

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
            f"The 'ax' of plot must be one axes of a grid, to be divided into "
            f"{n_rows * n_columns} panels, or {n_rows * n_columns} axes. Got "
            f"{len(given)} instead; leave it out for a new figure."
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


# What fits --------------------------------------------------------------------------


@dataclass
class Ticks:
    """The ticks of one axis, as many as there is room for.

    Attributes
    ----------
    axis : matplotlib Axis
    scale : Scale or None
        That of a parameter; None for values and counts, on the axis as it is.
    most : int
        Ticks to begin with; categories begin with all.
    cut : int
        Characters left of categories; 0 for all of their labels.
    turns : bool
        Whether categories that overlap are turned upright, not cut further.
    whole : bool
        Whether values are whole numbers.
    text : dict
        Properties of the labels.
    """

    axis: Any
    scale: Scale | None = None
    most: int = 7
    cut: int = 0
    turns: bool = True
    whole: bool = False
    text: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.label, self.unit = self.axis.get_label_text(), ""
        if self.scale is None:
            self._number()
            return
        # Limits first: they end automatic scaling, whose margins may overflow.
        limits = {f"{self.axis.axis_name}lim": self.scale.limits}
        log = {f"{self.axis.axis_name}scale": "log"} if self.scale.kind == "log" else {}
        self.axis.axes.set(**limits, **log)
        self.most = max(self.most, len(self.scale.labels))
        self._apply()

    def _number(self) -> None:
        from matplotlib.ticker import MaxNLocator, ScalarFormatter

        steps = [1, 2, 5, 10] if self.whole else [1, 2, 2.5, 5, 10]
        self.axis.set_major_locator(
            MaxNLocator(self.most, steps=steps, integer=self.whole, min_n_ticks=1)
        )
        formatter = ScalarFormatter(useMathText=True)
        formatter.set_powerlimits((-3, 5))
        low, high = sorted(self.axis.get_view_interval())
        if high - low > 1e-4 * max(abs(low), abs(high)):
            formatter.set_useOffset(False)
        self.axis.set_major_formatter(formatter)

    def _apply(self) -> None:
        if self.scale is None:
            self.axis.get_major_locator().set_params(nbins=self.most)
            return
        places, labels = self.scale.ticks(self.most)
        if self.cut and self.scale.kind == "category":
            labels = shortened_apart(labels, self.cut)
        self.axis.set_ticks(places, labels, **self.text)
        self.axis.set_ticks([], minor=True)

    def loosen(self) -> bool:
        """Name the unit in the axis label; turn, cut or leave out what overlaps."""
        # Above the axis the unit would run into the legend.
        self.axis.get_offset_text().set_visible(False)
        unit = self.axis.get_major_formatter().get_offset()
        # Axes without a label share the ticks of one that has it.
        if self.label and unit != self.unit:
            self.unit = unit
            self.axis.set_label_text(f"{self.label} ({unit})" if unit else self.label)
            return True
        changed = False
        while self.most > 1 and labels_overlap(self.axis):
            self._lessen()
            self._apply()
            changed = True
        return changed

    def _lessen(self) -> None:
        category = self.scale is not None and self.scale.kind == "category"
        across = category and self.axis.axis_name == "x"
        if across and self.turns and not self.text.get("rotation"):
            self.text = {**self.text, "rotation": 90}
        elif across and not self.turns and self.cut > _LEAST:
            self.cut -= 1
        else:
            self.most = max(1, min(self.most - 1, int(0.7 * self.most)))


@dataclass
class Legend:
    """A legend above the axes, in as many columns as there is room for."""

    ax: Any
    look: Look

    def __post_init__(self) -> None:
        handles, labels = self.ax.get_legend_handles_labels()
        pairs = dict(zip(labels, handles, strict=True))
        self.labels = sorted(pairs, key=lambda label: label in LAST)
        self.handles = [pairs[label] for label in self.labels]
        self.n_columns = len(self.labels)
        if self.labels:
            self._apply()

    def _apply(self) -> None:
        self.legend = self.ax.legend(
            self.handles,
            self.labels,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=self.n_columns,
            frameon=False,
            fontsize=0.9 * self.look.size,
            borderaxespad=0.2,
            borderpad=0.2,
            handlelength=1.3,
            handletextpad=0.5,
            columnspacing=1.2,
        )
        # One too wide would leave no room for the axes.
        self.legend.set_in_layout(False)

    def loosen(self) -> bool:
        """Use fewer columns while the legend is wider than its axes."""
        if not self.labels or self.legend.get_in_layout():
            return False
        inside = self.ax.get_window_extent()
        edge = self.ax.figure.figure.bbox.x1
        right = min(inside.x1 + 0.02 * inside.width, edge - _GAP)
        while self.n_columns > 1 and self.legend.get_window_extent().x1 > right:
            self.n_columns -= 1
            self._apply()
        self.legend.set_in_layout(True)
        return True


def colour_bar(colours: Any, look: Look, label: str, ax: Any, cax: Any = None) -> None:
    """Draw a colour bar beside `ax`, or lying in `cax`."""
    if cax is None:
        place = {"ax": ax, "fraction": 0.08, "pad": 0.03, "aspect": 25}
    else:
        place = {"cax": cax, "orientation": "horizontal"}
    bar = ax.figure.colorbar(colours, **place)
    bar.outline.set_visible(False)
    bar.set_label(label, fontsize=look.size)
    bar.ax.tick_params(labelsize=0.9 * look.size, length=0.25 * look.size)
    look.parts.append(Ticks(bar.long_axis, most=7 if cax is None else 4))


def labels_overlap(axis: Any) -> bool:
    """Tell whether tick labels of an axis touch each other."""
    across = axis.axis_name == "x"
    boxes = [
        label.get_window_extent()
        for label in axis.get_ticklabels()
        if label.get_visible() and label.get_text()
    ]
    spans = sorted((b.x0, b.x1) if across else (b.y0, b.y1) for b in boxes)
    need = _GAP * axis.figure.figure.dpi / 100 if across else 0.0
    return any(b[0] < a[1] + need for a, b in pairwise(spans))


def settle(figure: Any, parts: Sequence[Any]) -> None:
    """Lay the figure out until no part asks for more room."""
    for _ in range(_ROUNDS):
        figure.draw_without_rendering()
        changed = [part.loosen() for part in parts]  # all of them, not the first only
        if not any(changed):
            break
