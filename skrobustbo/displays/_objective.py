"""`ObjectiveDisplay`: what the model makes of the objective."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skrobustbo.displays._base import (
    Array,
    Display,
    checked_names,
    computed,
    recommended,
    scales_of,
    space_of,
    told_records,
    values_of,
    varying,
)
from skrobustbo.displays._plotly import objective
from skrobustbo.displays._scales import (
    Scale,
    drawable,
    filled_range,
    padded,
    value_range,
)
from skrobustbo.displays._sensitivity import most_important
from skrobustbo.displays._style import Legend, Look, Ticks, colour_bar, panels

#: Panels unless parameters are named.
_MOST = 6
#: Inches from which on there are three panels side by side.
_WIDE = 5.5
#: Characters on a line of a category at the ticks.
_WRAP = 12
#: Places along one parameter, along each of two, and in spaces without slices.
_LINE, _MAP, _POINTS = 121, 41, 256


@dataclass(kw_only=True, eq=False, repr=False)
class ObjectiveDisplay(Display):
    """The posterior along parameters, the others fixed at the recommended point.

    For one parameter, a line shows the posterior mean, with a band of two standard
    deviations on either side; categories have bars. For two parameters, there is a map
    of the mean and one of the standard deviation. Dots are the trials. Their other
    parameters differ, so they may be off the line. A dashed line or a star marks the
    recommended point.

    Parameters
    ----------
    slices : list of Slice
        One for each parameter, or pair, drawn: `names`, `positions` (of the grid; one
        array for each parameter), `mean` and `std` (shape of the grid; nan where the
        space has no such point), in units of the values.
    params : dict
        The recommended point.
    trials : list of dict
        The points evaluated.
    values : array of shape (n,)
        Their values, nan for failures.
    scales : dict of str to Scale
        The axes: full and short names, kind, ends, categories.
    value_name : str, default="score"
        Label of the value axes.

    Attributes
    ----------
    axes_ : array of matplotlib axes
        One for each parameter, two for a pair.
    figure_ : matplotlib figure

    Notes
    -----
    The posterior is that of `Optimizer.predict`: a MAP model on all the data. It uses
    the values as they are, even if a policy transforms them for its search.

    Examples
    --------
    >>> from skrobustbo.displays import ObjectiveDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"x": Real(0, 1)}, random_state=0)
    >>> optimizer.tell([{"x": 0.1}, {"x": 0.5}, {"x": 0.9}], [1.0, 3.0, 2.0])
    >>> ObjectiveDisplay.from_optimizer(optimizer).slices[0].names
    ('x',)
    """

    slices: Sequence[Slice]
    params: dict[str, Any]
    trials: Sequence[dict[str, Any]]
    values: Array
    scales: dict[str, Scale]
    value_name: str = "score"

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        branch: Any = None,
        parameters: Sequence[str | tuple[str, str]] | str | None = None,
        value_name: str = "value",
    ) -> Any:
        """Compute the data of an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
            An optimizer that was told at least one finite value.
        ax : matplotlib axes, default=None
            Axes to draw on, as in `plot`.
        branch : int, str or None, default=None
            A branch by its number or name, or "all" for each on its own; see
            `BranchesDisplay`. None: the branch of the recommended point.
        parameters : str or list of str and pairs of str, default=None
            Parameters to vary, one or two at a time: ``["C"]``,
            ``[("C", "gamma")]``. None: those that vary; if there are more than six, the
            six most important ones (see `SensitivityDisplay`).
        value_name : str, default="value"
            Label of the value axes.

        Returns
        -------
        display : ObjectiveDisplay, or BranchesDisplay for "all"
        """
        options = {"parameters": parameters, "value_name": value_name}
        return computed(cls, optimizer, branch, ax, **options)

    @classmethod
    def _of(
        cls, optimizer: Any, branch: int | None, parameters: Any, value_name: str
    ) -> Self:
        params = recommended(optimizer, branch)
        several = len(optimizer.space.branches) > 1
        # Where there is no choice, a slice lies in the branch of its point.
        own = optimizer.space.owner(params) if several else None
        records = told_records(optimizer, own)
        asked = _asked(cls.__name__, optimizer, parameters, own)
        names = (
            varying(optimizer, own)
            if asked is None
            else [n for ns in asked for n in ns]
        )
        scales = scales_of(optimizer, list(dict.fromkeys(names)), own)
        if asked is None:
            most = most_important(optimizer, scales, _MOST, own)
            asked = [(name,) for name in most]
        trials = [record["params"] for record in records]
        return cls(
            slices=slices_of(optimizer, params, asked, scales, trials, own),
            params=params,
            trials=trials,
            values=values_of(records),
            scales=scales,
            value_name=value_name,
        )

    def to_plotly(self) -> Any:
        """Return the same data as an interactive figure.

        The pointer over a dot shows the params of the trial. It needs plotly:
        ``pip install "skrobustbo[interactive]"``.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Its background is transparent.
        """
        return objective(self, self._limits())

    def _grid(self, look: Look) -> tuple[int, int, list[int]]:
        """Return the numbers of rows and columns, and the place of each slice."""
        n = sum(len(one.names) for one in self.slices)
        pairs = any(len(one.names) == 2 for one in self.slices)
        n_columns = min(n, 3 if look.width >= _WIDE and not pairs else 2)
        labels = [self.scales[name].labels for s in self.slices for name in s.names]
        # Upright labels of many categories need a panel as wide as all of them.
        most = max(map(len, labels)) * look.size / 72
        while n_columns > 1 and most > 0.9 * look.width / n_columns:
            n_columns -= 1
        places, end = [], 0
        for one in self.slices:
            if len(one.names) == 2:  # both maps in one row
                end += end % n_columns
            places.append(end)
            end += len(one.names)
        return math.ceil(end / n_columns), n_columns, places

    def _height(self, look: Look) -> float:
        n_rows, n_columns, places = self._grid(look)
        height = (0.7 if n_columns == 1 else 0.85 / n_columns + 0.05) * n_rows
        longest = [0] * n_rows  # characters of categories that may stand upright
        for one, place in zip(self.slices, places, strict=True):
            labels = self.scales[one.names[0]].labels
            row = place // n_columns
            longest[row] = max([longest[row], *map(len, labels)])
        return height + look.lines(1.5 + 0.25 * sum(min(n, 26) for n in longest))

    def _draw(self, look: Look, ax: Any) -> None:
        n_rows, n_columns, places = self._grid(look)
        self.figure_, grid = panels(ax, n_rows, n_columns, height=self._height(look))
        axes, limits = grid.ravel(), self._limits()
        used: list[int] = []
        for one, place in zip(self.slices, places, strict=True):
            own = range(place, place + len(one.names))
            left = [i % n_columns == 0 for i in own]
            used += own
            if len(one.names) == 2:
                self._draw_pair(look, axes[own[0] : own[-1] + 1], one, left)
            else:
                self._draw_single(look, axes[place], one, limits, left[0])
        for i in set(range(len(axes))).difference(used):
            axes[i].set_axis_off()
        self.axes_ = axes[used]

    def _draw_key(self, look: Look, figure: Any) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        single = any(len(one.names) == 1 for one in self.slices)
        mark: dict[str, Any] = {"ls": "none", "mew": 0, "ms": look.dot}
        line = Line2D([], [], color=look.palette[0], lw=1.3 * look.line)
        band = Patch(color=look.palette[0], alpha=0.2, lw=0)
        dash = Line2D([], [], color=look.ink, ls="--", lw=0.7 * look.line)
        star = Line2D([], [], color=look.palette[1], marker="*", **mark)
        star.set_markersize(2 * look.dot)
        cross = {**mark, "marker": "x", "mew": look.line}
        key: dict[str, Any] = {
            "a trial": Line2D([], [], marker="o", color=look.ink, **mark)
        }
        if single:
            key = {"expected \N{PLUS-MINUS SIGN} 2 deviations": (band, line), **key}
        key["recommended"] = dash if single else star
        if single and any(len(one.names) == 2 for one in self.slices):
            key["recommended"] = (dash, star)
        values = drawable(self.values)
        if single and (values < self._limits()[0]).any():
            key["below the axis"] = Line2D([], [], marker="v", color=look.ink, **mark)
        if np.isnan(values).any():
            key["failed"] = Line2D([], [], color=look.failure, **cross)
        place = {"loc": "outside lower left", "fontsize": 0.9 * look.size}
        look.parts.append(Legend(figure, key, place))

    def _limits(self) -> tuple[float, float]:
        """Return the range of values that all panels share."""
        low, high = value_range(self.values)
        means = [drawable(s.mean).ravel() for s in self.slices if len(s.names) == 1]
        inside = np.concatenate([[low, high], *means])
        inside = inside[np.isfinite(inside) & (inside >= low)]
        return padded(low, float(inside.max()), share=0.12)

    def _draw_single(
        self, look: Look, ax: Any, one: Slice, limits: tuple[float, float], left: bool
    ) -> None:
        """Draw the posterior along one parameter, and the trials."""
        scale = self.scales[one.names[0]]
        at, mean, std = one.positions[0], drawable(one.mean), drawable(one.std)
        colour, category = look.palette[0], scale.kind == "category"
        if one.connected and not category:
            ax.fill_between(
                at, mean - 2 * std, mean + 2 * std, color=colour, alpha=0.2, lw=0
            )
            ax.plot(at, mean, color=colour, lw=1.3 * look.line)
        else:
            marker, size = ("_", 2.0) if category else ("o", 0.8)
            dots = {"ls": "none", "marker": marker, "ms": size * look.dot}
            bars = {"elinewidth": look.line, "capsize": 0.4 * look.dot}
            ax.errorbar(at, mean, 2 * std, color=colour, **dots, **bars)
        if category:
            ax.bar(at, mean - limits[0], 0.6, limits[0], color=colour, alpha=0.3)
        self._draw_trials(look, ax, scale, limits[0])
        place, width = scale.position(self.params), 0.7 * look.line
        ax.axvline(place, color=look.ink, ls="--", lw=width)
        ax.set_ylim(limits)
        look.dress(ax, x=scale.short, y=self.value_name if left else "")
        ax.tick_params(axis="y", labelleft=left)
        look.parts += [Ticks(ax.yaxis, most=6), Ticks(ax.xaxis, scale, 5, _WRAP)]

    def _draw_trials(self, look: Look, ax: Any, scale: Scale, floor: float) -> None:
        """Draw the trials; those below the axis, and failures, on a rug."""
        at, values = scale.positions(self.trials), drawable(self.values)
        failed, below, size = np.isnan(values), values < floor, 0.75 * look.dot
        shown = np.where(below, math.nan, values)
        ax.plot(at, shown, "o", color=look.ink, alpha=0.55, mew=0, ms=size)
        look.rug(ax, at[below], "v", look.ink, ms=size)
        look.rug(ax, at[failed], "x", look.failure, ms=size)

    def _draw_pair(
        self, look: Look, axes: Any, one: Slice, lefts: Sequence[bool]
    ) -> None:
        """Draw maps of mean and deviation."""
        across, up = (self.scales[name] for name in one.names)
        edges = [
            _edges(self.scales[n], at)
            for n, at in zip(one.names, one.positions, strict=True)
        ]
        greys = "Greys_r" if look.dark else "Greys"
        maps = (
            (one.mean, self.value_name, look.colours),
            (one.std, "deviation", greys),
        )
        for ax, left, (surface, label, cmap) in zip(axes, lefts, maps, strict=True):
            norm = filled_range(surface)
            mesh = ax.pcolormesh(
                *edges,
                drawable(surface).T,
                rasterized=True,
                cmap=cmap,
                vmin=norm[0],
                vmax=norm[1],
            )
            self._draw_places(look, ax, across, up)
            look.dress(ax, x=across.short, y=up.short if left else "", grid="")
            look.parts += [
                Ticks(ax.xaxis, across, 5, _WRAP),
                Ticks(ax.yaxis, up, 5, _WRAP),
            ]
            ax.tick_params(axis="y", labelleft=left)
            colour_bar(mesh, look, label, ax)

    def _draw_places(self, look: Look, ax: Any, across: Scale, up: Scale) -> None:
        """Draw where trials were made, and a star for the recommended point."""
        x, y = across.positions(self.trials), up.positions(self.trials)
        failed = np.isnan(self.values)
        size, edge = look.dot**2, 0.5 * look.line
        dot = {"color": "white", "edgecolor": "black", "lw": edge, "zorder": 3}
        ax.scatter(x[~failed], y[~failed], s=0.64 * size, **dot)
        cross = {"marker": "x", "color": look.failure, "lw": 2 * edge, "zorder": 3}
        ax.scatter(x[failed], y[failed], s=size, **cross)
        star = {"marker": "*", "color": look.palette[1], "edgecolor": "white"}
        place = across.position(self.params), up.position(self.params)
        ax.scatter(*place, s=5 * size, zorder=4, lw=edge, **star)


def _asked(
    cls: str, optimizer: Any, parameters: Any, branch: int | None
) -> list[tuple[str, ...]] | None:
    """Return the parameters to go along, each a tuple of one or two."""
    if parameters is None:
        return None
    listed = [parameters] if isinstance(parameters, str) else list(parameters)
    asked = [(one,) if isinstance(one, str) else tuple(one) for one in listed]
    for names in asked:
        checked_names(cls, optimizer, names, branch)
        if len(set(names)) not in (1, 2) or len(set(names)) < len(names):
            raise ValueError(
                f"The 'parameters' of {cls} must be names and pairs of two names. "
                f"Got {names!r} among them instead."
            )
    if not asked:
        raise ValueError(f"The 'parameters' of {cls} must name at least one. Got none.")
    return asked


def _edges(scale: Scale, at: Array) -> Array:
    """Return the borders of the cells around places on a scale."""
    if scale.kind == "category" or len(at) == 1:
        return np.append(at - 0.5, at[-1] + 0.5)
    t = np.log(at) if scale.kind == "log" else at
    middle = t[:-1] / 2 + t[1:] / 2
    first, last = 2 * t[0] - middle[0], 2 * t[-1] - middle[-1]
    edges = np.concatenate([[first], middle, [last]])
    return np.exp(np.clip(edges, -700, 700)) if scale.kind == "log" else edges


# Slices of the posterior along one or two parameters ----------------------------------


@dataclass(frozen=True)
class Slice:
    """The posterior along one or two parameters.

    Attributes
    ----------
    names : tuple of str
        The parameters.
    positions : tuple of array
        Values along each; categories by their index.
    mean, std : array of shape (n,) or (n, m)
        Posterior mean and deviation, in units of the values; nan where the space has no
        such point.
    connected : bool
        False where the space has hardly a point that differs in one parameter alone
        (a table of points): those are then any points of the space.
    """

    names: tuple[str, ...]
    positions: tuple[Array, ...]
    mean: Array
    std: Array
    connected: bool = True


def slices_of(
    optimizer: Any,
    params: Mapping[str, Any],
    asked: Sequence[tuple[str, ...]],
    scales: Mapping[str, Scale],
    trials: Sequence[Mapping[str, Any]],
    branch: int | None,
) -> list[Slice]:
    """Return the slices through `params`, all predicted at once."""
    space = space_of(optimizer, branch)
    plans = [_plan(space, params, names, scales, trials) for names in asked]
    points = [point for each, *_ in plans for point in each]
    known = np.array([point is not None for point in points])
    surfaces = np.full((2, len(points)), math.nan)
    flat = [point for point in points if point is not None]
    surfaces[:, known] = optimizer.predict(flat, return_std=True)
    parts = np.split(surfaces, np.cumsum([len(each) for each, *_ in plans]), axis=1)
    slices = []
    for names, (_, at, connected), part in zip(asked, plans, parts, strict=False):
        mean, std = part.reshape(2, *map(len, at))
        slices.append(Slice(names, at, mean, std, connected))
    return slices


def _plan(
    space: Any,
    params: Mapping[str, Any],
    names: tuple[str, ...],
    scales: Mapping[str, Scale],
    trials: Sequence[Mapping[str, Any]],
) -> tuple[list[Any], tuple[Array, ...], bool]:
    """Return the points of a slice, None for infeasible ones, and their places."""
    grids = [_grid(space.dimensions[name], len(names)) for name in names]
    points = [
        {**params, **dict(zip(names, values, strict=True))}
        for values in itertools.product(*grids)
    ]
    feasible = [point if space.contains(point) else None for point in points]
    if len(names) == 2 or sum(p is not None for p in feasible) > 0.5 * len(points):
        pairs = zip(names, grids, strict=True)
        at = [scales[name].positions({name: v} for v in grid) for name, grid in pairs]
        return feasible, tuple(at), True
    extra = [*map(dict, trials), *space.sample(_POINTS, random_state=0)]
    found = {space.encode(p).tobytes(): p for p in extra if names[0] in p}
    others = list(found.values())
    return others, (scales[names[0]].positions(others),), False


def _grid(dimension: Any, n_names: int) -> list[Any]:
    """Return values that cover a parameter's range, at most as many as are drawn."""
    if dimension.size <= _MAP:
        values = dimension.decode(dimension.table())
        return sorted(values) if not hasattr(dimension, "choices") else values
    n = _LINE if n_names == 1 else _MAP
    rows = dimension.snap(np.linspace(0.0, 1.0, n)[:, None])
    return list(dict.fromkeys(dimension.decode(rows)))
