"""`ParallelCoordinatesDisplay`: what good candidates have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrobustbo.displays._base import Array, Display, Tried, drawn_by_branch
from skrobustbo.displays._plotly import parallel
from skrobustbo.displays._scales import Scale, drawable
from skrobustbo.displays._style import Look, Ticks, panels
from skrobustbo.displays._text import broken, longest_word

#: Maximum characters per line of a parameter's name, and of a category.
_NAME, _WRAP = 18, 16
#: Lines of text between the bands of two parameters.
_GAP = 2.2


@dataclass(kw_only=True, eq=False, repr=False)
class ParallelCoordinatesDisplay(Display):
    """Parallel coordinates: each candidate is a line, coloured by its value.

    The best candidates are drawn on top. Each parameter has a horizontal axis with its
    own scale, and the axes are stacked. Each axis lies in a grey band that no line
    crosses; a line continues directly below its dot. A line has a gap if the candidate
    lacks the parameter. The lines of failures are thin and dotted.

    Parameters
    ----------
    names : list of str
        Names of the parameters, from top to bottom.
    positions : array of shape (n, n_names)
        Position of each candidate on each axis, from 0 on the left to 1 on the right;
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
            Names of the parameters to show, from top to bottom. If None, all parameters
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
        return max(0.3, look.lines(0.75 * (self._bands(look)[-1].bottom + 2.1)))

    def _bands(self, look: Look) -> list[_Band]:
        bands, top = [], 0.7
        for name in self.names:
            lines, wrap, upright = _room(self.scales[name], look)
            bands.append(_Band(top, top + lines, wrap, upright))
            top += lines + _GAP
        return bands

    def _draw(self, look: Look, ax: Any) -> None:
        bands = self._bands(look)
        tops = np.array([band.top for band in bands])
        bottoms = np.array([band.bottom for band in bands])
        end = bottoms[-1] + 0.1
        self.figure_, [[self.ax_]] = panels(ax, 1, 1, height=self._height(look))
        self._draw_lines(look, tops, bottoms)
        self.ax_.set(xlim=(0, 1), ylim=(end, 0), xticks=[])
        self.ax_.grid(False)
        self.ax_.spines[:].set_visible(False)
        size = look.size * min(1.0, max(0.5, 1.3 * look.room(self.ax_) / end))
        names = [broken(self.scales[name].short, _NAME) for name in self.names]
        self.ax_.set_yticks((tops + bottoms) / 2, names, fontsize=size, color=look.ink)
        self.ax_.tick_params(axis="y", length=0)
        look.explain(self.ax_)
        for name, band in zip(self.names, bands, strict=True):
            shade = {"color": look.ink, "alpha": 0.07, "lw": 0, "zorder": 0}
            self.ax_.axhspan(band.top - 0.5, band.bottom, **shade)
            rail = self.ax_.inset_axes((0, 1 - band.top / end, 1, 1e-3))
            _draw_rail(look, rail, self.scales[name], band, 0.85 * size)

    def _draw_lines(self, look: Look, tops: Array, bottoms: Array) -> None:
        """Draw the candidates as dots on the axes and lines between the bands."""
        colours = look.value_colours(self.values)
        shown = drawable(self.values)
        # The best go last, on top; failures go first, below the others.
        order = np.argsort(np.where(np.isnan(shown), -np.inf, shown), kind="stable")
        for rank, i in enumerate(order):
            failed = bool(np.isnan(shown[i]))
            colour = look.failure if failed else colours.to_rgba(shown[i])
            width = (0.5 + 0.6 * rank / len(order)) * look.line
            size, label = (0.9, "failed") if failed else (0.7, None)
            at = self.positions[i]
            line = {"color": colour, "lw": width}
            dots = {"color": colour, "ms": size * look.dot, "label": label}
            self.ax_.plot(*_path(at, tops, bottoms), ":" if failed else "-", **line)
            self.ax_.plot(at, tops, "x" if failed else "o", **dots)
        if np.isfinite(shown).any():
            look.colour_bar(colours, self.value_name, self.ax_)


@dataclass(frozen=True)
class _Band:
    """Band with the ticks of one parameter, which lines do not cross.

    The band extends from `top` to `bottom`, measured in lines of text. `wrap` is the
    maximum number of characters per line of a category. If `upright` is true,
    categories are rotated.
    """

    top: float
    bottom: float
    wrap: int
    upright: bool


def _room(scale: Scale, look: Look) -> tuple[float, int, bool]:
    """Return how many lines of text the ticks need, and their layout."""
    names = float(len(broken(scale.short, _NAME).splitlines()))
    if scale.kind != "category":
        return max(1.6, names), _WRAP, False
    # Characters are about 0.58 of the font size wide; names take up a third.
    room = 72 * 0.6 * look.width / (0.58 * 0.85 * look.size)
    wrap = int(room / len(scale.labels)) - 1
    if wrap < min(max(map(longest_word, scale.labels)), _WRAP):
        return max(0.8 + 0.38 * scale.longest, names), scale.longest, True
    wrap = min(wrap, _WRAP)
    lines = max(len(broken(label, wrap).splitlines()) for label in scale.labels)
    return max(0.6 + lines, names), wrap, False


def _path(at: Array, tops: Array, bottoms: Array) -> tuple[Array, Array]:
    """Return the line of a candidate, from the bottom of each band to the next axis."""
    gap = np.full(len(at) - 1, np.nan)
    x = np.stack([at[:-1], at[1:], gap], axis=1)
    y = np.stack([bottoms[:-1], tops[1:], gap], axis=1)
    return x.ravel(), y.ravel()


def _draw_rail(look: Look, rail: Any, scale: Scale, band: _Band, size: float) -> None:
    """Draw the axis of one parameter."""
    rail.set(facecolor="none", xticks=[], yticks=[])
    rail.grid(False)
    rail.spines[["left", "right", "top"]].set_visible(False)
    rail.spines.bottom.set(color=look.ink, lw=0.7, alpha=0.5)
    rail.tick_params(labelsize=size, length=0, pad=0.4 * size)
    text = {"color": look.ink, "rotation": 90 if band.upright else 0}
    look.parts.append(Ticks(rail.xaxis, scale, wrap=band.wrap, text=text))
