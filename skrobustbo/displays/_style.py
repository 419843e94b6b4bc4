"""One look for all displays: fonts by size, colours by background, what fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._fit import axis_label
from skrobustbo.displays._scales import Array, filled_range

# Okabe and Ito's colours, told apart by colour-blind readers too; those that keep
# enough contrast with the background first.
_ON_LIGHT = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_ON_DARK = ("#56B4E9", "#E69F00", "#2FC7A0", "#E7A5C9", "#F0E442", "#FF7F3F")
# On a transparent background: read on white and on black.
_ON_ANY = ("#2F8CD0", "#D55E00", "#009E73", "#CC79A7", "#C98A00", "#4A9CCB")
_TEXTS = (
    "text.color",
    "axes.labelcolor",
    "axes.edgecolor",
    "xtick.color",
    "ytick.color",
)


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
    `through` says that the background is transparent.
    """

    width: float
    size: float
    ink: str
    paper: str
    palette: tuple[str, ...]
    dark: bool
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
        self, ax: Any, steps: Any, values: Array, floor: float, colour: str, label: Any
    ) -> None:
        """Mark at the bottom the steps that failed, or whose values lie below it."""
        failed = np.isnan(values)
        self.rug(ax, steps[values < floor], "v", colour, label=label, zorder=4)
        self.rug(ax, steps[failed], "x", self.failure, label="failed", zorder=4)

    def dress(self, ax: Any, *, x: str = "", y: str = "", grid: str = "y") -> None:
        """Give an axes its labels, fonts and grid."""
        ax.set_xlabel(x, fontsize=self.size)
        ax.set_ylabel(y, fontsize=self.size)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(which="both", labelsize=0.9 * self.size, length=0.3 * self.size)
        ax.set_axisbelow(True)
        self.parts += [axis_label(ax.xaxis), axis_label(ax.yaxis)]
        ax.grid(False)  # also what the user's style may have drawn
        if grid:
            ax.grid(True, axis=grid, color=self.ink, alpha=0.15, lw=0.5)

    def settings(self) -> Any:
        """Return a context in which texts are read on a transparent background."""
        ours = dict.fromkeys(_TEXTS, self.ink) if self.through else {}
        return pyplot().rc_context(ours)

    @property
    def failure(self) -> str:
        """Colour of failed evaluations, in all displays."""
        return self.palette[1]

    @property
    def colours(self) -> Any:
        """Colour map of values: good ones stand out most from the background."""
        from matplotlib.colors import ListedColormap

        low, high = (0.2, 1.0) if self.dark else (0.85, 0.0)
        if self.through:  # neither end may be lost
            low, high = 0.78, 0.3
        viridis = pyplot().get_cmap("viridis")
        return ListedColormap(viridis(np.linspace(low, high, 256)))


def look_of(ax: Any) -> Look:
    """Return the look of what is drawn on `ax`; None: on a new figure."""
    from matplotlib.colors import to_hex, to_rgb, to_rgba

    settings = pyplot().rcParams
    width = settings["figure.figsize"][0]
    faces = [settings["axes.facecolor"], settings["figure.facecolor"]]
    if ax is not None:
        given = np.ravel(np.asarray(ax, dtype=object))
        whole = given[0].figure.figure
        faces = [given[0].get_facecolor(), whole.get_facecolor()]
        # What they take with their tick labels.
        boxes = [one.get_position() for one in given]
        share = max(box.x1 for box in boxes) - min(box.x0 for box in boxes)
        inches = whole.get_figwidth()
        width = float(min(inches, inches * share / 0.775))
    seen = [face for face in faces if to_rgba(face)[3] > 0]
    size = settings["font.size"] * min(max(0.7 + (width - 3.3) * 0.075, 0.65), 1.4)
    if not seen:
        return Look(width, size, "#7a7a7a", "none", _ON_ANY, dark=False, through=True)
    dark = bool(np.dot(to_rgb(seen[0]), (0.299, 0.587, 0.114)) < 0.5)
    return Look(
        width=width,
        size=size,
        ink="#e8e8e8" if dark else "#262626",
        paper=to_hex(seen[0]),
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
