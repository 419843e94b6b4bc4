"""Ticks and legends that fit: drawn once without output, measured, thinned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from skrobustbo.displays._scales import Scale, shortened_apart
from skrobustbo.displays._style import Fitted, Look

_ROUNDS = 4
#: Pixels that texts at 100 dots per inch are kept apart by.
_GAP = 3.0
#: Fewest characters that a category is cut to before only some are named.
_LEAST = 5
#: Legend entries that come after all others, whatever was drawn last.
LAST = ("below the axis", "failed")


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


def settle(figure: Any, parts: Sequence[Fitted]) -> None:
    """Lay the figure out until no part asks for more room."""
    for _ in range(_ROUNDS):
        figure.draw_without_rendering()
        changed = [part.loosen() for part in parts]  # all of them, not the first only
        if not any(changed):
            break
