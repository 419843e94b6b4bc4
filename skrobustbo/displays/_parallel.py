"""`ParallelCoordinatesDisplay`: every candidate as a line through all parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from skrobustbo.displays._base import (
    SCORE,
    VALUE,
    Array,
    Display,
    checked_names,
    params_of,
    scales_of,
    told_records,
    values_of,
    varying,
)
from skrobustbo.displays._layout import Fitted, Legend, colour_bar
from skrobustbo.displays._scales import Scale, shortened
from skrobustbo.displays._style import (
    Look,
    drawable,
    panels,
    room,
    root_figure,
    value_colours,
)

#: Fewest characters that a category is cut to before only some are named.
_LEAST = 5


@dataclass(kw_only=True, eq=False, repr=False)
class ParallelCoordinatesDisplay(Display):
    """Every candidate as a line through the parameters, coloured by its value.

    The best lie on top. Each parameter has its own axis, on its own scale, one below
    the other, so that names and categories are read without turning the head. A line is
    interrupted where a candidate lacks the parameter. Failures are thin and dotted.

    Parameters
    ----------
    names : list of str
        Parameters from top to bottom.
    positions : array of shape (n, n_names)
        Where each candidate crosses each axis, from 0 on the left to 1 on the right;
        nan where it lacks the parameter.
    values : array of shape (n,)
        Values in the order asked, nan for failures.
    scales : dict of str to Scale
        The axes: full and short names, kind, ends, categories.
    value_name : str, default="score"
        What the values are, at the colour bar.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure

    Examples
    --------
    >>> from skrobustbo.displays import ParallelCoordinatesDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"C": Real(0.01, 100, log=True), "kind": ["a", "b"]})
    >>> optimizer.tell({"C": 1.0, "kind": "b"}, 0.9)
    >>> display = ParallelCoordinatesDisplay.from_optimizer(optimizer)
    >>> display.positions
    array([[0.5 , 0.75]])
    """

    names: Sequence[str]
    positions: Array
    values: Array
    scales: dict[str, Scale]
    value_name: str = SCORE

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        parameters: Sequence[str] | None = None,
        value_name: str = VALUE,
    ) -> Self:
        """Compute the data of an optimizer and draw them.

        Parameters
        ----------
        optimizer : Optimizer
        ax : matplotlib axes, default=None
            Where to draw, as in `plot`.
        parameters : list of str, default=None
            Parameters from top to bottom. None: all that vary.
        value_name : str, default="value"
            What the values are, at the colour bar.

        Returns
        -------
        display : ParallelCoordinatesDisplay
        """
        records = told_records(optimizer)
        names = varying(optimizer)
        if parameters is not None:
            names = checked_names(cls.__name__, optimizer, parameters)
        scales = scales_of(optimizer, records, names)
        points = params_of(records)
        columns = [scales[name].unit(scales[name].positions(points)) for name in names]
        return cls(
            names=names,
            positions=np.stack(columns, axis=1),
            values=values_of(records),
            scales=scales,
            value_name=value_name,
        ).plot(ax=ax)

    def _draw(self, look: Look, ax: Any) -> list[Fitted]:
        height = max(0.3, look.lines(2.2 * len(self.names) + 2))
        self.figure_, axes = panels(ax, 1, 1, height=height)
        self.ax_ = axes[0, 0]
        bars = self._draw_lines(look)
        self._frame(look)
        names = enumerate(self.names)
        rails = [_Rail(self.ax_, look, self.scales[name], i) for i, name in names]
        return [*bars, Legend(self.ax_, look), *rails]

    def _draw_lines(self, look: Look) -> list[Fitted]:
        colours = value_colours(self.values, look)
        shown = drawable(self.values)
        # The best last, on top; failures first of all, below.
        order = np.argsort(np.where(np.isnan(shown), -np.inf, shown), kind="stable")
        down = np.arange(len(self.names))
        for rank, i in enumerate(order):
            failed = bool(np.isnan(shown[i]))
            colour = look.failure if failed else colours.to_rgba(shown[i])
            width = (0.5 + 0.6 * rank / len(order)) * look.line
            size, label = (0.9, "failed") if failed else (0.7, None)
            dots = {"color": colour, "lw": width, "ms": size * look.dot}
            style = "x:" if failed else "o-"
            self.ax_.plot(self.positions[i], down, style, label=label, **dots)
        if not np.isfinite(shown).any():
            return []
        return [colour_bar(self.figure_, colours, look, self.value_name, self.ax_)]

    def _frame(self, look: Look) -> None:
        ax, n = self.ax_, len(self.names)
        ax.set_ylim(n - 0.4, -0.35)
        ax.set_xlim(-0.01, 1.01)
        ax.set_xticks([])
        ax.grid(False)
        for spine in ax.spines.values():
            spine.set_visible(False)
        short = [self.scales[name].short for name in self.names]
        size = min(look.size, look.size * max(0.5, room(ax, look) / n))
        ax.set_yticks(range(n), short, fontsize=size, color=look.ink)
        ax.tick_params(axis="y", length=0)


@dataclass
class _Rail:
    """The axis of one parameter: a line, ticks, and texts below them."""

    ax: Any
    look: Look
    scale: Scale
    place: int
    placed: bool = False

    def loosen(self) -> bool:
        """Draw the rail, once the size of the axes is known."""
        if self.placed:
            return False
        self.placed = True
        ink = self.look.ink
        self.ax.plot([0, 1], [self.place] * 2, color=ink, lw=0.7, alpha=0.5, zorder=1.5)
        figure = root_figure(self.ax)
        box = self.ax.get_window_extent()
        pitch = 72 / figure.dpi * box.height / np.ptp(self.ax.get_ylim())
        if pitch > 1.5 * self.size:  # else there is no room between the rails
            self._write(box.width)
        return True

    @property
    def size(self) -> float:
        """Font size of the ticks."""
        return 0.85 * self.look.size

    def _write(self, width: float) -> None:
        """Write as many tick labels as fit."""
        categories = len(self.scale.labels)
        cut = 16
        most = categories or 6
        while True:
            texts = self._texts(*self.scale.ticks(most), cut)
            spans = [text.get_window_extent() for text in texts]
            spans.sort(key=lambda span: float(span.x0))
            pairs = pairwise(spans)
            if most <= 1 or all(b.x0 > a.x1 + 0.02 * width for a, b in pairs):
                return
            for text in texts:
                text.remove()
            if categories and cut > _LEAST:
                cut -= 1
            else:
                most -= 1

    def _texts(self, at: Sequence[float], labels: Sequence[str], cut: int) -> list[Any]:
        from matplotlib.patheffects import withStroke

        halo = withStroke(linewidth=0.3 * self.size, foreground=self.look.paper)
        units = self.scale.unit(at)
        return [
            self.ax.annotate(
                label if "$" in label else shortened(label, cut),
                (unit, self.place),
                xytext=(0, -0.45 * self.size),
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=self.size,
                color=self.look.ink,
                zorder=5,
                path_effects=[halo],
                gid="tick",
            )
            for unit, label in zip(units, labels, strict=True)
        ]
