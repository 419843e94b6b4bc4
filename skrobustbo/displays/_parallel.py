"""`ParallelCoordinatesDisplay`: what good candidates have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrobustbo.displays._base import Array, Display, Tried, drawn_by_branch
from skrobustbo.displays._plotly import parallel
from skrobustbo.displays._scales import Scale, drawable
from skrobustbo.displays._style import Look, letters, panels, side_of

#: Room beside the first axis, relative to the distance between two axes.
_LEFT = 0.15
#: Minimum number of letters between two axes for horizontal labels.
_WRAP = 5


@dataclass(kw_only=True, eq=False, repr=False)
class ParallelCoordinatesDisplay(Display):
    """Parallel coordinates: each candidate is a line, coloured by its value.

    The best candidates are drawn on top. Each parameter has a vertical axis with its
    own scale. A line has a gap if the candidate lacks the parameter. The lines of
    failures are thin and dotted.

    Parameters
    ----------
    names : list of str
        Names of the parameters, from left to right.
    positions : array of shape (n, n_names)
        Position of each candidate on each axis, from 0 at the bottom to 1 at the top;
        nan if the candidate lacks the parameter.
    values : array of shape (n,)
        Values in chronological order; nan for failures.
    scales : dict of str to Scale
        Scale of each axis: full and short name, kind, limits and categories.
    params : list of dict
        Params of the candidates.
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
    params: Sequence[dict[str, Any]] = ()
    value_name: str = "score"

    @classmethod
    @drawn_by_branch
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        branch: Any = None,
        parameters: Sequence[str] | None = None,
        value_name: str = "value",
    ) -> Any:
        """Compute the data for an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
        ax : matplotlib axes, default=None
            Axes on which to plot, as in `plot`.
        branch : int, str or None, default=None
            Number or name of a branch, or "all" for one plot per branch (see
            `BranchesDisplay`). If None, all candidates and the parameters of all
            branches are shown.
        parameters : list of str, default=None
            Names of the parameters to show, from left to right. If None, all parameters
            that vary are shown.
        value_name : str, default="value"
            Label of the colour bar.

        Returns
        -------
        display : ParallelCoordinatesDisplay, or BranchesDisplay for "all"
        """
        tried = Tried(optimizer, branch)
        names = tried.differing()
        if parameters is not None:
            names = tried.checked_names(cls.__name__, parameters)
        scales = tried.scales(names)
        columns = [
            scale.unit(scale.positions(tried.points)) for scale in scales.values()
        ]
        return cls(
            names=names,
            positions=np.stack(columns, axis=1),
            values=tried.values,
            scales=scales,
            params=tried.points,
            value_name=value_name,
        )

    def to_plotly(self) -> Any:
        """Return the same data as an interactive figure.

        Hover over a line to see the params of the candidate. This method requires
        plotly, which is installed with the extra ``interactive``.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Figure with a transparent background.
        """
        return parallel(self)

    def _height(self, look: Look) -> float:
        n_labels = max(len(scale.labels) for scale in self.scales.values())
        return max(0.75, look.lines(0.75 * n_labels + 5))

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, [[self.ax_]] = panels(ax, 1, 1, height=self._height(look))
        n = len(self.names)
        self._draw_lines(look)
        look.dress(self.ax_, grid="")
        names = tuple(self.scales[name].short for name in self.names)
        look.ticks(self.ax_.xaxis, Scale("", "", "category", labels=names))
        self.ax_.set(xlim=(-_LEFT, n - _LEFT), ylim=(0, 1), yticks=[])
        self.ax_.spines[:].set_visible(False)
        self.ax_.tick_params(axis="x", length=0, pad=look.size)
        wrap = int(letters(side_of(self.ax_.xaxis) / n, 0.9 * look.size)) - 1
        for i, name in enumerate(self.names):
            rail = self.ax_.inset_axes(((i + _LEFT) / n, 0, 1e-3, 1))
            self._draw_rail(look, rail, self.scales[name], wrap)
        look.explain(self.ax_)

    def _draw_lines(self, look: Look) -> None:
        """Draw the candidates as lines, with a dot on each axis."""
        colours = look.value_colours(self.values)
        shown = drawable(self.values)
        # The best go last, on top; failures go first, below the others.
        order = np.argsort(np.where(np.isnan(shown), -np.inf, shown), kind="stable")
        for rank, i in enumerate(order):
            style: dict[str, Any]
            if np.isnan(shown[i]):
                style = {"color": look.failure, "ls": ":", "marker": "x"}
                style["label"] = "failed"
            else:
                style = {"color": colours.to_rgba(shown[i]), "marker": "o"}
            size = {"lw": (0.5 + 0.6 * rank / len(order)) * look.line}
            self.ax_.plot(self.positions[i], ms=0.7 * look.dot, **size, **style)
        if np.isfinite(shown).any():
            look.colour_bar(colours, self.value_name, [self.ax_])

    def _draw_rail(self, look: Look, rail: Any, scale: Scale, wrap: int) -> None:
        """Draw the axis of one parameter."""
        rail.set(facecolor="none", xticks=[], yticks=[])
        rail.grid(False)
        rail.spines[["right", "top", "bottom"]].set_visible(False)
        rail.spines.left.set(color=look.ink, lw=0.7, alpha=0.5)
        rail.yaxis.tick_right()
        rail.tick_params(length=0, pad=0.4 * look.size, labelcolor=look.ink)
        look.ticks(rail.yaxis, scale, max(wrap, _WRAP), upright=wrap < _WRAP)
        look.outline(rail.get_yticklabels())
