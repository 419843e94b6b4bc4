"""`EvaluationsDisplay`: the points that a search has evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._base import Array, Display, Tried, drawn_by_branch
from skrobustbo.displays._importance import most_important
from skrobustbo.displays._scales import Scale, drawable
from skrobustbo.displays._style import Look, panels

#: Default number of panels per side, because smaller panels are unreadable.
_MOST = 5
_BINS = 12
#: Steps by the golden ratio fill an interval evenly for any number of points.
_GOLDEN = 0.6180339887498949


@dataclass(kw_only=True, eq=False, repr=False)
class EvaluationsDisplay(Display):
    """Evaluated points for every pair of parameters, coloured by value.

    Later points have larger dots, so the large dots show where the search ended up. A
    ring marks the best point, and crosses mark failures. The panels on the diagonal
    show how often the search tried each part of a range. Dots in the same category are
    spread out so that you can see all of them.

    Parameters
    ----------
    names : list of str
        Names of the parameters that are shown.
    left_out : list of str
        Names of the parameters that vary but are not shown.
    positions : array of shape (n, n_names)
        Parameter values of the candidates, with categories given by their index; nan if
        a candidate lacks the parameter.
    values : array of shape (n,)
        Values in chronological order; nan for failures.
    scales : dict of str to Scale
        Scale of each axis: full and short name, kind, limits and categories.
    value_name : str, default="score"
        Label of the colour bar.
    measured : array of bool, shape (n,), default=None
        False for candidates that were stopped by a race. Their values are estimates, so
        none of these candidates is marked as the best. If None, all values were
        measured.

    Attributes
    ----------
    axes_ : array of matplotlib axes, shape (n_names, n_names)
        Entries above the diagonal are None.
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
    value_name: str = "score"
    measured: NDArray[np.bool_] | None = None

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
            Names of the parameters to show. If None, the parameters that vary are
            shown, but at most the five most important ones (see `ImportanceDisplay`).
        value_name : str, default="value"
            Label of the colour bar.

        Returns
        -------
        display : EvaluationsDisplay, or BranchesDisplay for "all"
        """
        tried = Tried(optimizer, branch)
        known = tried.differing()
        scales = tried.scales(known)
        if parameters is None:
            names = most_important(tried, scales, _MOST)
        else:
            names = tried.checked_names(cls.__name__, parameters)
            scales = tried.scales(names)
        columns = [scales[name].positions(tried.points) for name in names]
        return cls(
            names=names,
            left_out=[name for name in known if name not in names],
            positions=np.stack(columns, axis=1),
            values=tried.values,
            scales={name: scales[name] for name in names},
            value_name=value_name,
            measured=np.array([not one["value_std"] > 0 for one in tried.records]),
        )

    def _height(self, look: Look) -> float:
        return (0.8 if len(self.names) > 1 else 0.4) + look.lines(7)

    def _draw(self, look: Look, ax: Any) -> None:
        n = len(self.names)
        self.figure_, self.axes_ = panels(ax, n, n, height=self._height(look))
        for row in range(n):
            for column in range(row + 1):
                self._draw_panel(look, row, column)
        if np.isfinite(self.values).any():
            colours = look.value_colours(self.values)
            every = list(self.axes_.ravel())
            look.colour_bar(colours, self.value_name, every, "top")
        above = np.triu_indices(n, 1)
        for unused in self.axes_[above]:
            unused.set_axis_off()
        self.axes_[above] = None
        self.figure_.align_ylabels(list(self.axes_[:, 0]))
        self.figure_.align_xlabels(list(self.axes_[-1]))

    def _draw_panel(self, look: Look, row: int, column: int) -> None:
        ax, n = self.axes_[row, column], len(self.names)
        across, up = (self.scales[self.names[i]] for i in (column, row))
        below, beside = row == n - 1, column == 0
        name = "tries" if row == 0 else up.short
        look.dress(
            ax, x=across.short if below else "", y=name if beside else "", grid=""
        )
        left = 0.7 if n > 3 else 1.0
        look.ticks(ax.xaxis, across, upright=n > 2, left=left)
        if row == column:
            self._draw_histogram(ax, look, column)
            # Readers only compare heights, and numbers would take too much room.
            ax.set_yticks([])
        else:
            self._scatter(ax, look, self._spread(column, 0), self._spread(row, 1))
            if not np.isfinite(self.positions[:, [column, row]]).all(axis=1).any():
                look.note(ax, "no candidate\nhas both", 0.7)
            look.ticks(ax.yaxis, up, left=left)
        ax.tick_params(axis="x", labelbottom=below)
        ax.tick_params(axis="y", labelleft=beside)

    def _draw_key(self, look: Look, figure: Any) -> None:
        dot = {"ls": "none", "color": look.ink, "mew": 0.9 * look.line, "marker": "o"}
        ax = self.axes_[-1, 0]
        ax.plot([], [], ms=0.6 * look.dot, label="early", **dot)
        ax.plot([], [], ms=1.2 * look.dot, label="late", **dot)
        ax.plot([], [], ms=1.5 * look.dot, mfc="none", label="best", **dot)
        look.legend(figure, [ax], loc="outside lower left")

    def _draw_histogram(self, ax: Any, look: Look, column: int) -> None:
        scale = self.scales[self.names[column]]
        at = self.positions[:, column]
        spaced: Any = np.geomspace if scale.kind == "log" else np.linspace
        bins, share = spaced(scale.low, scale.high, _BINS + 1), 0.9
        if scale.kind == "category":
            bins, share = np.arange(len(scale.choices) + 1) - 0.5, 0.6
        inside = np.clip(at[np.isfinite(at)], bins[0], bins[-1])
        ax.hist(inside, bins, color=look.ink, alpha=0.45, rwidth=share)
        if len(self.names) == 1:  # shared with the dots below
            top = ax.get_ylim()[1]
            self._scatter(ax, look, self._spread(0, 0), np.full(len(at), -top / 9))
            ax.set_ylim(-top / 4.5, top)

    def _scatter(self, ax: Any, look: Look, x: Array, y: Array) -> None:
        shown = drawable(self.values)
        failed = np.isnan(shown)
        n = len(shown)
        small = 1.0 if len(self.names) < 4 else 0.75
        size = (look.dot * small * np.linspace(0.7, 1.7, n)) ** 2
        colours = look.value_colours(self.values)
        cross = {"marker": "x", "color": look.failure, "lw": 0.6 * look.line}
        label = "failed" if failed.any() else None
        ax.scatter(x[failed], y[failed], s=0.6 * size[failed], label=label, **cross)
        dot = {"lw": 0.4, "color": colours.to_rgba(shown[~failed])}
        ax.scatter(x[~failed], y[~failed], s=size[~failed], edgecolor=look.paper, **dot)
        # A candidate stopped by a race is never the best.
        is_full = True if self.measured is None else self.measured
        full = np.where(is_full, shown, np.nan)
        if np.isfinite(full).any():
            best = int(np.nanargmax(full))
            ring = {"facecolor": "none", "edgecolor": look.ink, "lw": 0.9 * look.line}
            wide = 2.5 * size[best] + 12
            ax.scatter(x[best], y[best], s=wide, clip_on=False, **ring)

    def _spread(self, column: int, turn: int) -> Array:
        """Return the positions, with dots in the same category spread apart."""
        at: Array = self.positions[:, column]
        if self.scales[self.names[column]].kind != "category":
            return at
        steps = np.arange(1, len(at) + 1) * (_GOLDEN if turn == 0 else _GOLDEN**2)
        return at + 0.5 * (steps % 1.0 - 0.5)
