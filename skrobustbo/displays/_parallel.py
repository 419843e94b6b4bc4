"""`ParallelCoordinatesDisplay`: every candidate as a line through all parameters."""

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
from skrobustbo.displays._layout import Legend, Ticks, colour_bar
from skrobustbo.displays._scales import Scale
from skrobustbo.displays._style import Look, drawable, panels, room, value_colours

#: Characters of categories at the ticks.
_CUT = 16


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
            rail = self._rail(look, (n - 0.4 - i) / (n - 0.05))
            if lines > 1.2:  # else there is no room between the rails
                look.parts.append(self._rail_ticks(rail, look, self.scales[name]))

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

    def _rail(self, look: Look, height: float) -> Any:
        """Return the axes of one parameter: a line across at some height."""
        rail = self.ax_.inset_axes((0, height, 1, 1e-3))
        rail.set(facecolor="none", xticks=[], yticks=[])
        rail.grid(False)
        rail.spines[["left", "right", "top"]].set_visible(False)
        rail.spines.bottom.set(color=look.ink, lw=0.7, alpha=0.5)
        rail.tick_params(labelsize=0.85 * look.size, length=0, pad=0.4 * look.size)
        return rail

    def _rail_ticks(self, rail: Any, look: Look, scale: Scale) -> Ticks:
        from matplotlib.patheffects import withStroke

        halo = withStroke(linewidth=0.25 * look.size, foreground=look.paper)
        text = {"color": look.ink, "path_effects": [halo]}
        return Ticks(rail.xaxis, scale, cut=_CUT, turns=False, text=text)
