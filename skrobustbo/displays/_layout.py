"""Ticks and legends that fit: drawn once without output, measured, thinned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

from skrobustbo.displays._scales import Scale, shortened_apart
from skrobustbo.displays._style import Look, root_figure

_ROUNDS = 6
#: Pixels that texts at 100 dots per inch are kept apart by.
_GAP = 3.0
#: Legend entries that come after all others, whatever was drawn last.
LAST = ("below the axis", "failed")


class Fitted(Protocol):
    """Something drawn that can be made smaller."""

    def loosen(self) -> bool:
        """Take less room, if it takes too much; tell whether anything changed."""


@dataclass
class Ticks:
    """The ticks of one axis on a scale, as many as there is room for.

    Attributes
    ----------
    axis : matplotlib Axis
    scale : Scale
    most : int
        Ticks to begin with.
    cut : int
        Characters left of categories; 0 for all of their labels.
    upright : bool
        Whether labels are turned.
    """

    axis: Any
    scale: Scale
    most: int = 6
    cut: int = 0
    upright: bool = False

    def __post_init__(self) -> None:
        axes, name = self.axis.axes, self.axis.axis_name
        # Limits first: they end automatic scaling, whose margins may overflow.
        getattr(axes, f"set_{name}lim")(self.scale.limits)
        if self.scale.kind == "log":
            getattr(axes, f"set_{name}scale")("log")
        if self.scale.kind == "category":
            self.most = max(self.most, len(self.scale.labels))
        self._apply()

    def _apply(self) -> None:
        places, labels = self.scale.ticks(self.most)
        if self.cut and self.scale.kind == "category":
            labels = shortened_apart(labels, self.cut)
        self.axis.set_ticks(places, labels)
        self.axis.set_ticks([], minor=True)
        if self.upright:
            for label in self.axis.get_ticklabels():
                label.set_rotation(90)

    def loosen(self) -> bool:
        """Turn categories upright, then leave out ticks, if labels overlap."""
        if self.most <= 1 or not labels_overlap(self.axis):
            return False
        horizontal = self.axis.axis_name == "x"
        if horizontal and self.scale.kind == "category" and not self.upright:
            self.upright = True
        else:
            self.most = max(1, min(self.most - 1, int(0.7 * self.most)))
        self._apply()
        return True


@dataclass
class NumberTicks:
    """The ticks of an axis without fixed ends: values, counts."""

    axis: Any
    whole: bool = False
    most: int = 7
    unit: str = ""
    label: str = ""

    def __post_init__(self) -> None:
        self.label = self.axis.get_label_text()
        self._apply()

    def _name_unit(self, unit: str) -> None:
        """Append the factor taken out of the tick labels to the axis label."""
        self.unit = unit
        self.axis.set_label_text(f"{self.label} ({unit})" if unit else self.label)

    def _apply(self) -> None:
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

    def loosen(self) -> bool:
        """Leave out ticks if their labels overlap; name the unit in the axis label."""
        # Above the axis it would run into the legend.
        self.axis.get_offset_text().set_visible(False)
        unit = self.axis.get_major_formatter().get_offset()
        # Axes without a label share the ticks of one that has it.
        if self.label and unit != self.unit:
            self._name_unit(unit)
            return True
        if self.most <= 1 or not labels_overlap(self.axis):
            return False
        self.most = max(1, min(self.most - 1, int(0.7 * self.most)))
        self._apply()
        return True


@dataclass
class Legend:
    """A legend above the axes, in as many columns as there is room for."""

    ax: Any
    look: Look
    n_columns: int = 0
    placed: bool = False
    entries: list[tuple[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        handles, labels = self.ax.get_legend_handles_labels()
        pairs = dict(zip(labels, handles, strict=True))
        self.entries = sorted(pairs.items(), key=lambda pair: pair[0] in LAST)
        self.n_columns = len(self.entries)
        if handles:
            self._apply()

    def _apply(self) -> None:
        self.legend = self.ax.legend(
            [handle for _, handle in self.entries],
            [label for label, _ in self.entries],
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
        if self.placed or not self.n_columns:
            return False
        inside = self.ax.get_window_extent()
        edge = root_figure(self.ax).bbox.x1
        right = min(inside.x1 + 0.02 * inside.width, edge - _GAP)
        while self.n_columns > 1 and self.legend.get_window_extent().x1 > right:
            self.n_columns -= 1
            self._apply()
        self.legend.set_in_layout(True)
        self.placed = True
        return True


def colour_bar(
    figure: Any, colours: Any, look: Look, label: str, ax: Any, cax: Any = None
) -> NumberTicks:
    """Draw a colour bar beside `ax`, or lying in `cax`, and return its ticks."""
    if cax is None:
        bar = figure.colorbar(colours, ax=ax, fraction=0.08, pad=0.03, aspect=25)
        axis = bar.ax.yaxis
    else:
        bar = figure.colorbar(colours, cax=cax, orientation="horizontal")
        axis = bar.ax.xaxis
    bar.outline.set_visible(False)
    axis.set_label_text(label, fontsize=look.size)
    bar.ax.tick_params(labelsize=0.9 * look.size, length=0.25 * look.size)
    return NumberTicks(axis, most=7 if cax is None else 4)


def labels_overlap(axis: Any) -> bool:
    """Tell whether tick labels of an axis touch each other."""
    across = axis.axis_name == "x"
    gap = _GAP * root_figure(axis).dpi / 100
    boxes = [
        label.get_window_extent()
        for label in axis.get_ticklabels()
        if label.get_visible() and label.get_text()
    ]
    spans = sorted((b.x0, b.x1) if across else (b.y0, b.y1) for b in boxes)
    need = gap if across else 0.0
    return any(b[0] < a[1] + need for a, b in pairwise(spans))


def settle(figure: Any, parts: Sequence[Fitted]) -> None:
    """Lay the figure out until no part asks for more room."""
    for _ in range(_ROUNDS):
        figure.draw_without_rendering()
        changed = [part.loosen() for part in parts]  # all of them, not the first only
        if not any(changed):
            break


def steps_fitted(ax: Any, look: Look) -> list[Fitted]:
    """Return the ticks and the legend of values over the number of the candidate."""
    return [NumberTicks(ax.xaxis, whole=True), NumberTicks(ax.yaxis), Legend(ax, look)]
