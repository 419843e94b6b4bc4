"""`ObjectiveDisplay`: the objective as predicted by the model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrobustbo.displays._base import Array, Display, Tried, drawn_by_branch
from skrobustbo.displays._importance import most_important
from skrobustbo.displays._plotly import objective
from skrobustbo.displays._scales import (
    Scale,
    drawable,
    filled_range,
    padded,
    value_range,
)
from skrobustbo.displays._style import Look, panels

#: Default number of panels.
_MOST = 6
#: Width in inches from which three panels fit side by side.
_WIDE = 5.5
#: Number of categories above which a panel has the full width.
_MANY = 12
#: Number of grid points along one parameter, along each of two, and in spaces without
#: slices.
_LINE, _MAP, _POINTS = 121, 41, 256


@dataclass(kw_only=True, eq=False, repr=False)
class ObjectiveDisplay(Display):
    """Posterior of the objective along one or two parameters.

    The other parameters have the values of the recommended point, which the legend
    lists. For one parameter, a line shows the posterior mean, and a band shows two
    standard deviations on either side. For categories, short lines and bars are used
    instead. For two parameters, one map shows the mean and another map shows the
    standard deviation. Dots show the trials. They may be off the line, because their
    other parameters differ. A dashed line or a star marks the recommended point.

    Parameters
    ----------
    slices : list of Slice
        One slice for each parameter or pair of parameters. A slice has one array of
        grid `positions` for each parameter in `names`. Its `mean` and `std` have the
        shape of the grid and the units of the values, and are nan for points outside
        the space.
    params : dict
        The recommended point.
    trials : list of dict
        The evaluated points.
    values : array of shape (n,)
        Values of the evaluated points; nan for failures.
    scales : dict of str to Scale
        Scales of the parameters that vary: full and short name, kind, limits and
        categories.
    value_name : str, default="score"
        Label of the value axes.

    Attributes
    ----------
    axes_ : array of matplotlib axes
        One axes for each parameter, and two for each pair of parameters.
    figure_ : matplotlib figure

    Notes
    -----
    The posterior comes from `Optimizer.predict`, which uses a MAP model of all the
    data. The model is fitted to the untransformed values, even if the policy transforms
    them for its search.

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
    @drawn_by_branch
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        branch: Any = None,
        parameters: Sequence[str | tuple[str, str]] | str | None = None,
        value_name: str = "value",
    ) -> Any:
        """Compute the data for an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
            An optimizer with at least one finite value.
        ax : matplotlib axes, default=None
            Axes on which to plot, as in `plot`.
        branch : int, str or None, default=None
            Number or name of a branch, or "all" for one plot per branch (see
            `BranchesDisplay`). If None, the branch of the recommended point is shown.
        parameters : str or list of str and pairs of str, default=None
            Parameters to vary, one or two at a time, such as ``["C"]`` or
            ``[("C", "gamma")]``. If None, each parameter that varies is shown, but at
            most the six most important ones (see `ImportanceDisplay`).
        value_name : str, default="value"
            Label of the value axes.

        Returns
        -------
        display : ObjectiveDisplay, or BranchesDisplay for "all"
        """
        params = Tried(optimizer, branch).recommended()
        # A slice stays in the branch of its point, even where nothing was tried.
        several = len(optimizer.space.branches) > 1
        tried = Tried(optimizer, optimizer.space.owner(params) if several else None)
        scales = tried.scales(tried.varying())
        asked: list[tuple[str, ...]]
        if parameters is None:
            asked = [(name,) for name in most_important(tried, scales, _MOST)]
        else:
            asked = _asked(cls.__name__, tried, parameters)
            named = [name for names in asked for name in names]
            scales = tried.scales([*dict.fromkeys([*scales, *named])])
        return cls(
            slices=slices_of(tried, params, asked, scales),
            params=params,
            trials=tried.points,
            values=tried.values,
            scales=scales,
            value_name=value_name,
        )

    def to_plotly(self) -> Any:
        """Return the same data as an interactive figure.

        Hover over a dot to see the params of the trial. This method requires plotly,
        which is installed with the extra ``interactive``.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Figure with a transparent background.
        """
        return objective(self)

    def _n_columns(self, look: Look) -> int:
        names = [name for one in self.slices for name in one.names]
        # Upright labels of many categories need a panel of their full width.
        if any(len(self.scales[name].labels) > _MANY for name in names):
            return 1
        pairs = len(names) > len(self.slices)
        return min(len(names), 3 if look.width >= _WIDE and not pairs else 2)

    def _cells(self, n_columns: int) -> list[tuple[Slice, int] | None]:
        """Return the panels, each as a slice and a part number, or None."""
        found: list[tuple[Slice, int] | None] = []
        for one in self.slices:
            if len(one.names) == 2:  # both maps in one row
                found += [None] * (len(found) % n_columns)
            found += [(one, part) for part in range(len(one.names))]
        return found + [None] * (-len(found) % n_columns)

    def _height(self, look: Look) -> float:
        n = self._n_columns(look)
        height = 0.7 if n == 1 else 0.85 / n + 0.05
        # Labels of categories may be upright.
        across = [self.scales[one.names[0]] for one in self.slices]
        letters = sum(min(scale.longest, 26) for scale in across) / n
        return height * len(self._cells(n)) / n + look.lines(2.5 + 0.25 * letters)

    def _draw(self, look: Look, ax: Any) -> None:
        n = self._n_columns(look)
        cells = self._cells(n)
        shape = len(cells) // n, n
        self.figure_, grid = panels(ax, *shape, height=self._height(look))
        for i, (cell, place) in enumerate(zip(cells, grid.flat, strict=True)):
            if cell is None:
                place.set_axis_off()
            elif len(cell[0].names) == 2:
                self._draw_map(look, place, *cell, i % n == 0)
            else:
                self._draw_single(look, place, cell[0], i % n == 0)
        self.axes_ = grid.ravel()[[cell is not None for cell in cells]]

    def _draw_key(self, look: Look, figure: Any) -> None:
        look.legend(figure, self.axes_, loc="outside lower left")

    @property
    def point_name(self) -> str:
        """Label of the recommended point, with the values of the other parameters."""
        if len(self.scales) == 1:
            return "recommended"
        drawn = {name for one in self.slices for name in one.names}
        others = [
            f"{scale.short} = {scale.text(self.params)}"
            for name, scale in self.scales.items()
            if name not in drawn
        ]
        held = "recommended, where the others are held"
        return f"{held}: {', '.join(others)}" if others else held

    @property
    def limits(self) -> tuple[float, float]:
        """Range of values shared by all panels."""
        low, high = value_range(self.values)
        means = [drawable(s.mean).ravel() for s in self.slices if len(s.names) == 1]
        inside = np.concatenate([[low, high], *means])
        inside = inside[np.isfinite(inside) & (inside >= low)]
        return padded(low, float(inside.max()), share=0.12)

    def _draw_single(self, look: Look, ax: Any, one: Slice, left: bool) -> None:
        """Draw the posterior along one parameter, and the trials."""
        scale = self.scales[one.names[0]]
        at, mean, spread = one.positions[0], drawable(one.mean), 2 * drawable(one.std)
        label = "expected \N{PLUS-MINUS SIGN} 2 deviations"
        style = {"color": look.palette[0], "label": label}
        if one.connected and scale.kind != "category":
            ax.fill_between(at, mean - spread, mean + spread, alpha=0.2, lw=0, **style)
            ax.plot(at, mean, lw=1.3 * look.line, **style)
        else:
            marker, size = ("_", 3.0) if scale.kind == "category" else ("o", 0.8)
            dots = {"ls": "none", "marker": marker, "ms": size * look.dot}
            bars = {"elinewidth": look.line, "capsize": 0.4 * look.dot}
            ax.errorbar(at, mean, spread, **style, **dots, **bars)
        places, values = scale.positions(self.trials), drawable(self.values)
        dots = {"alpha": 0.55, "label": "a trial"}
        look.draw_values(ax, places, values, self.limits[0], look.ink, **dots)
        line = {"color": look.ink, "ls": "--", "lw": 0.7 * look.line}
        ax.axvline(scale.position(self.params), label=self.point_name, **line)
        ax.set_ylim(self.limits)
        look.dress(ax, x=scale.short, y=self.value_name if left else "")
        ax.tick_params(axis="y", labelleft=left)
        look.numbers(ax.yaxis)
        look.ticks(ax.xaxis, scale)

    def _draw_map(self, look: Look, ax: Any, one: Slice, part: int, left: bool) -> None:
        """Draw the map of the mean or the standard deviation, and the trials."""
        across, up = (self.scales[name] for name in one.names)
        surface, label = ((one.mean, self.value_name), (one.std, "deviation"))[part]
        greys = "Greys_r" if look.dark else "Greys"
        low, high = filled_range(surface)
        colours = {"cmap": greys if part else look.colours, "vmin": low, "vmax": high}
        # A single position is drawn twice: matplotlib gives it no width.
        at = [x if len(x) > 1 else np.add(x, (-0.25, 0.25)) for x in one.positions]
        values = np.broadcast_to(drawable(surface), [len(x) for x in at]).T
        mesh = ax.pcolormesh(*at, values, rasterized=True, **colours)
        look.dress(ax, x=across.short, y=up.short if left else "", grid="")
        ax.tick_params(axis="y", labelleft=left)
        x, y = across.positions(self.trials), up.positions(self.trials)
        failed = np.isnan(self.values)
        size, edge = look.dot**2, 0.5 * look.line
        dot = {"color": "white", "edgecolor": "black", "lw": edge, "label": "a trial"}
        ax.scatter(x[~failed], y[~failed], s=0.64 * size, zorder=3, **dot)
        if failed.any():
            cross = {"marker": "x", "color": look.failure, "label": "failed"}
            ax.scatter(x[failed], y[failed], s=size, lw=2 * edge, zorder=3, **cross)
        star = {"marker": "*", "color": look.palette[1], "edgecolor": "white"}
        place = across.position(self.params), up.position(self.params)
        ax.scatter(*place, s=5 * size, lw=edge, zorder=4, label=self.point_name, **star)
        look.ticks(ax.xaxis, across)
        look.ticks(ax.yaxis, up)
        look.colour_bar(mesh, label, [ax])


def _asked(cls: str, tried: Tried, parameters: Any) -> list[tuple[str, ...]]:
    """Return the requested parameters as tuples of one or two names."""
    listed = [parameters] if isinstance(parameters, str) else list(parameters)
    asked = [(one,) if isinstance(one, str) else tuple(one) for one in listed]
    for names in asked:
        tried.checked_names(cls, names)
        if len(set(names)) not in (1, 2) or len(set(names)) < len(names):
            raise ValueError(
                f"The 'parameters' of {cls} must be names and pairs of two names. "
                f"Got {names!r} among them instead."
            )
    if not asked:
        raise ValueError(f"The 'parameters' of {cls} must name at least one. Got none.")
    return asked


# Slices of the posterior along one or two parameters ----------------------------------


@dataclass(frozen=True)
class Slice:
    """The posterior along one or two parameters.

    Attributes
    ----------
    names : tuple of str
        The parameters.
    positions : tuple of array
        Grid positions along each parameter, with categories given by their index.
    mean, std : array of shape (n,) or (n, m)
        Posterior mean and standard deviation in the units of the values; nan for points
        outside the space.
    connected : bool
        Whether the points form a line or a grid. If False, they are arbitrary points of
        the space, because hardly any points differ in only one parameter. This is the
        case in a table of points.
    """

    names: tuple[str, ...]
    positions: tuple[Array, ...]
    mean: Array
    std: Array
    connected: bool = True


def slices_of(
    tried: Tried,
    params: Mapping[str, Any],
    asked: Sequence[tuple[str, ...]],
    scales: Mapping[str, Scale],
) -> list[Slice]:
    """Return the slices of the posterior through the point `params`."""
    slices = []
    for names in asked:
        points, at, connected = _plan(tried, params, names, scales)
        known = [point for point in points if point is not None]
        surfaces = np.full((2, len(points)), math.nan)
        is_known = [point is not None for point in points]
        surfaces[:, is_known] = tried.optimizer.predict(known, return_std=True)
        mean, std = surfaces.reshape(2, *map(len, at))
        slices.append(Slice(names, at, mean, std, connected))
    return slices


def _plan(
    tried: Tried,
    params: Mapping[str, Any],
    names: tuple[str, ...],
    scales: Mapping[str, Scale],
) -> tuple[list[Any], tuple[Array, ...], bool]:
    """Return the points of a slice, their positions, and whether they are connected.

    A point is None if it is infeasible.
    """
    space = tried.space
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
    extra = [*tried.points, *space.sample(_POINTS, random_state=0)]
    found = {space.encode(p).tobytes(): p for p in extra if names[0] in p}
    others = list(found.values())
    return others, (scales[names[0]].positions(others),), False


def _grid(dimension: Any, n_names: int) -> list[Any]:
    """Return values that cover the range of a parameter."""
    if dimension.size <= _MAP:
        values = dimension.decode(dimension.table())
        return sorted(values) if not hasattr(dimension, "choices") else values
    n = _LINE if n_names == 1 else _MAP
    rows = dimension.snap(np.linspace(0.0, 1.0, n)[:, None])
    return list(dict.fromkeys(dimension.decode(rows)))
