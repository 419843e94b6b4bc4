"""Where the search has looked: `EvaluationsDisplay`, `ParallelCoordinatesDisplay`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from skrobustbo.displays._scales import Scale, drawable, shortened_apart
from skrobustbo.displays._sensitivity import most_important
from skrobustbo.displays._style import (
    Legend,
    Look,
    Ticks,
    colour_bar,
    panels,
    room,
    value_colours,
)

#: Panels on a side unless parameters are named: smaller ones cannot be read.
_MOST = 5
_BINS = 12
#: Characters of categories along parallel axes.
_CUT = 16
#: Steps by the golden ratio fill an interval evenly, in any number.
_GOLDEN = 0.6180339887498949


@dataclass(kw_only=True, eq=False, repr=False)
class EvaluationsDisplay(Display):
    """The evaluated points for all pairs of parameters, coloured by value.

    Dots grow with time, so the late, large dots show where the search went. The best
    point has a ring, and failures are crosses. The diagonal shows how often each part
    of a range was tried. Dots in the same category are spread so that you can see them.

    Parameters
    ----------
    names : list of str
        Parameters shown.
    left_out : list of str
        Parameters that vary but are not shown.
    positions : array of shape (n, n_names)
        Values of the parameters; categories by their index, nan where a candidate lacks
        the parameter.
    values : array of shape (n,)
        Values in the order asked, nan for failures.
    scales : dict of str to Scale
        The axes: full and short names, kind, ends, categories.
    value_name : str, default="score"
        Label of the colour bar.

    Attributes
    ----------
    axes_ : array of matplotlib axes, shape (n_names, n_names)
        Those above the diagonal are None; the corner has the key.
    figure_ : matplotlib figure

    Examples
    --------
    >>> from skrobustbo.displays import EvaluationsDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"C": Real(0.01, 100, log=True), "kind": ["a", "b"]})
    >>> optimizer.tell({"C": 1.0, "kind": "b"}, 0.9)
    >>> EvaluationsDisplay.from_optimizer(optimizer).positions
    array([[1., 1.]])
    """

    names: Sequence[str]
    left_out: Sequence[str]
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
        """Compute the data of an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
        ax : matplotlib axes, default=None
            Axes to draw on, as in `plot`.
        parameters : list of str, default=None
            Parameters to show. None: those that vary; if there are more than five, the
            five most important ones (see `SensitivityDisplay`).
        value_name : str, default="value"
            Label of the colour bar.

        Returns
        -------
        display : EvaluationsDisplay
        """
        records = told_records(optimizer)
        known = varying(optimizer)
        scales = scales_of(optimizer, known)
        if parameters is None:
            names = most_important(optimizer, scales, _MOST)
        else:
            names = checked_names(cls.__name__, optimizer, parameters)
            scales = scales_of(optimizer, names)
        points = params_of(records)
        return cls(
            names=names,
            left_out=[name for name in known if name not in names],
            positions=np.stack([scales[n].positions(points) for n in names], axis=1),
            values=values_of(records),
            scales={name: scales[name] for name in names},
            value_name=value_name,
        ).plot(ax=ax)

    def _draw(self, look: Look, ax: Any) -> None:
        n = len(self.names)
        self.figure_, self.axes_ = panels(ax, n, n, height=0.95 if n > 1 else 0.6)
        for row in range(n):
            for column in range(row + 1):
                self._draw_panel(look, row, column)
        self._draw_key(look)
        self.axes_[np.triu_indices(n, 1)] = None
        self.figure_.align_ylabels(list(self.axes_[:, 0]))
        self.figure_.align_xlabels(list(self.axes_[-1]))

    def _draw_panel(self, look: Look, row: int, column: int) -> None:
        ax, n = self.axes_[row, column], len(self.names)
        across, up = (self.scales[self.names[i]] for i in (column, row))
        below, beside = row == n - 1, column == 0
        most = max(2, min(6, int(1.6 * look.width / n)))
        cut = max(6, min(18, int(0.85 * self._cell(look) / (0.6 * look.size))))
        names = shortened_apart([self.scales[name].short for name in self.names], cut)
        look.dress(ax, x=names[column] if below else "", grid="")
        upright = {"rotation": 90} if n > 2 else {}
        look.parts.append(Ticks(ax.xaxis, across, most, cut, text=upright))
        if row == column:
            self._draw_histogram(ax, look, column)
            # Heights are compared, not read; the numbers would take much room.
            ax.set_yticks([])
        else:
            self._scatter(ax, look, self._spread(column, 0), self._spread(row, 1))
            look.parts.append(Ticks(ax.yaxis, up, most, cut))
        if beside:
            ax.set_ylabel(names[row] if row else "tries", fontsize=look.size)
        ax.tick_params(axis="x", labelbottom=below)
        ax.tick_params(axis="y", labelleft=beside)

    def _cell(self, look: Look) -> float:
        """Return the rough width of a panel in points."""
        return 72 * 0.7 * look.width / len(self.names)

    def _draw_key(self, look: Look) -> None:
        """Explain colours and marks in the corner above the diagonal."""
        n = len(self.names)
        for unused in self.axes_[np.triu_indices(n, 1)]:
            unused.set_axis_off()
        colours = value_colours(self.values, look)
        if n == 1:
            colour_bar(colours, look, self.value_name, self.axes_[0, 0])
            return
        corner = self.axes_[0, n - 1]
        corner.legend(
            handles=self._key(look),
            loc="upper right",
            bbox_to_anchor=(1.0, 0.85 - 4.2 * look.size / self._cell(look)),
            frameon=False,
            fontsize=0.9 * look.size,
        ).set_in_layout(False)
        if not np.isfinite(self.values).any():
            return
        left = -1.0 if n > 3 else 0.05
        right = 1.0 - 1.8 * look.size / self._cell(look)  # half a number wide
        bar = corner.inset_axes((left, 0.85, right - left, 0.1))
        bar.set_in_layout(False)
        colour_bar(colours, look, self.value_name, corner, bar)

    def _key(self, look: Look) -> list[Any]:
        """Return the legend's marks: dots by time, the best, failures."""
        from matplotlib.lines import Line2D

        mark: dict[str, Any] = {"ls": "none", "mew": 0.9 * look.line}
        dot: dict[str, Any] = {"marker": "o", "color": look.ink, **mark}
        failed = {"marker": "x", "color": look.failure, **mark}
        ring = {**dot, "markerfacecolor": "none", "ms": 1.5 * look.dot}
        marks = [
            Line2D([], [], ms=0.6 * look.dot, label="early", **dot),
            Line2D([], [], ms=1.2 * look.dot, label="late", **dot),
            Line2D([], [], label="best", **ring),
            Line2D([], [], ms=look.dot, label="failed", **failed),
        ]
        return marks if np.isnan(self.values).any() else marks[:-1]

    def _draw_histogram(self, ax: Any, look: Look, column: int) -> None:
        scale = self.scales[self.names[column]]
        at = self.positions[:, column]
        low, high = scale.low, scale.high
        share, n_bins = 0.9, _BINS
        if scale.kind == "category":
            low, high = scale.limits
            share, n_bins = 0.6, len(scale.choices)
        spaced: Any = np.geomspace if scale.kind == "log" else np.linspace
        bins = spaced(low, high, n_bins + 1)
        inside = np.clip(at[np.isfinite(at)], low, high)
        ax.hist(inside, bins, color=look.ink, alpha=0.45, rwidth=share)
        if len(self.names) == 1:  # with the dots below
            top = ax.get_ylim()[1]
            self._scatter(ax, look, self._spread(0, 0), np.full(len(at), -top / 9))
            ax.set_ylim(-top / 4.5, top)

    def _scatter(self, ax: Any, look: Look, x: Array, y: Array) -> None:
        shown = drawable(self.values)
        failed = np.isnan(shown)
        n = len(shown)
        small = 1.0 if len(self.names) < 4 else 0.75
        size = (look.dot * small * np.linspace(0.7, 1.7, n)) ** 2
        colours = value_colours(self.values, look)
        cross = {"marker": "x", "color": look.failure, "lw": 0.6 * look.line}
        ax.scatter(x[failed], y[failed], s=0.6 * size[failed], **cross)
        dot = {"lw": 0.4, "color": colours.to_rgba(shown[~failed])}
        ax.scatter(x[~failed], y[~failed], s=size[~failed], edgecolor=look.paper, **dot)
        if not failed.all():
            best = int(np.nanargmax(shown))
            ring = {"facecolor": "none", "edgecolor": look.ink, "lw": 0.9 * look.line}
            wide = 2.5 * size[best] + 12
            ax.scatter(x[best], y[best], s=wide, clip_on=False, **ring)

    def _spread(self, column: int, turn: int) -> Array:
        """Return positions, those of categories spread around their place."""
        at: Array = self.positions[:, column]
        if self.scales[self.names[column]].kind != "category":
            return at
        steps = np.arange(1, len(at) + 1) * (_GOLDEN if turn == 0 else _GOLDEN**2)
        return at + 0.5 * (steps % 1.0 - 0.5)


@dataclass(kw_only=True, eq=False, repr=False)
class ParallelCoordinatesDisplay(Display):
    """Every candidate as a line through the parameters, coloured by its value.

    The best candidates are drawn on top. Each parameter has its own axis with its own
    scale. The axes are stacked, so names and categories are horizontal. A line is
    interrupted where a candidate lacks the parameter. Failures are thin and dotted.

    Parameters
    ----------
    names : list of str
        Parameters from top to bottom.
    positions : array of shape (n, n_names)
        Position of each candidate on each axis, from 0 on the left to 1 on the right;
        nan where it lacks the parameter.
    values : array of shape (n,)
        Values in the order asked, nan for failures.
    scales : dict of str to Scale
        The axes: full and short names, kind, ends, categories.
    value_name : str, default="score"
        Label of the colour bar.

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
        """Compute the data of an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
        ax : matplotlib axes, default=None
            Axes to draw on, as in `plot`.
        parameters : list of str, default=None
            Parameters from top to bottom. None: all that vary.
        value_name : str, default="value"
            Label of the colour bar.

        Returns
        -------
        display : ParallelCoordinatesDisplay
        """
        records = told_records(optimizer)
        names = varying(optimizer)
        if parameters is not None:
            names = checked_names(cls.__name__, optimizer, parameters)
        scales = scales_of(optimizer, names)
        points = params_of(records)
        columns = [scales[name].unit(scales[name].positions(points)) for name in names]
        return cls(
            names=names,
            positions=np.stack(columns, axis=1),
            values=values_of(records),
            scales=scales,
            value_name=value_name,
        ).plot(ax=ax)

    def _draw(self, look: Look, ax: Any) -> None:
        n = len(self.names)
        height = max(0.3, look.lines(2.2 * n + 2))
        self.figure_, axes = panels(ax, 1, 1, height=height)
        self.ax_ = axes[0, 0]
        self._draw_lines(look)
        self.ax_.set(xlim=(0, 1), ylim=(n - 0.4, -0.35), xticks=[])
        self.ax_.grid(False)
        self.ax_.spines[:].set_visible(False)
        short = [self.scales[name].short for name in self.names]
        lines = room(self.ax_, look) / n
        size = look.size * min(1.0, max(0.5, lines))
        self.ax_.set_yticks(range(n), short, fontsize=size, color=look.ink)
        self.ax_.tick_params(axis="y", length=0)
        look.parts.append(Legend(self.ax_, look))
        for i, name in enumerate(self.names):
            rail = self.ax_.inset_axes((0, (n - 0.4 - i) / (n - 0.05), 1, 1e-3))
            self._draw_rail(look, rail, self.scales[name], lines > 1.2)

    def _draw_lines(self, look: Look) -> None:
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
        if np.isfinite(shown).any():
            colour_bar(colours, look, self.value_name, self.ax_)

    def _draw_rail(self, look: Look, rail: Any, scale: Scale, roomy: bool) -> None:
        """Draw the axis of one parameter; its ticks, if there is room below it."""
        from matplotlib.patheffects import withStroke

        rail.set(facecolor="none", xticks=[], yticks=[])
        rail.grid(False)
        rail.spines[["left", "right", "top"]].set_visible(False)
        rail.spines.bottom.set(color=look.ink, lw=0.7, alpha=0.5)
        rail.tick_params(labelsize=0.85 * look.size, length=0, pad=0.4 * look.size)
        halo = withStroke(linewidth=0.25 * look.size, foreground=look.paper)
        text = {"color": look.ink, "path_effects": [halo]}
        if roomy:
            ticks = Ticks(rail.xaxis, scale, cut=_CUT, turns=False, text=text)
            look.parts.append(ticks)
