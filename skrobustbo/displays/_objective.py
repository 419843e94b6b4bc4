"""`ObjectiveDisplay`: what the model makes of the objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

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
from skrobustbo.displays._layout import Fitted, Ticks, colour_bar
from skrobustbo.displays._scales import Scale
from skrobustbo.displays._sensitivity import most_important
from skrobustbo.displays._slices import Slice, slices_of
from skrobustbo.displays._style import (
    Look,
    drawable,
    filled_range,
    padded,
    panels,
    value_range,
)

#: Panels unless parameters are named.
_MOST = 6
#: Inches from which on there are three panels side by side.
_WIDE = 5.5
#: Characters of categories at the ticks.
_CUT = 12


@dataclass(kw_only=True, eq=False, repr=False)
class ObjectiveDisplay(Display):
    """The posterior along parameters, the others fixed at the recommended point.

    Along one parameter, a line is the posterior mean and its band two deviations to
    either side; categories have bars. Along two, there is a map of the mean and one of
    the deviation. Dots are the trials: their other parameters differ, so that they
    need not lie on the line. The recommended point is a dashed line, or a star.

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
        What the values are, on the axes.

    Attributes
    ----------
    axes_ : array of matplotlib axes
        One for each parameter, two for a pair.
    figure_ : matplotlib figure

    Notes
    -----
    The posterior is that of `Optimizer.predict`: a MAP model on all the data. It sees
    the values as they are, whatever a policy makes of them for its search.

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
    value_name: str = SCORE

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        parameters: Sequence[str | tuple[str, str]] | str | None = None,
        value_name: str = VALUE,
    ) -> Self:
        """Compute the data of an optimizer and draw them.

        Parameters
        ----------
        optimizer : Optimizer
            One that was told at least one finite value.
        ax : matplotlib axes, default=None
            Where to draw, as in `plot`.
        parameters : str or list of str and pairs of str, default=None
            Parameters to go along, one by one or two at once: ``["C"]``,
            ``[("C", "gamma")]``. None: those that vary, of more than six the six that
            matter most (see `SensitivityDisplay`).
        value_name : str, default="value"
            What the values are, on the axes.

        Returns
        -------
        display : ObjectiveDisplay
        """
        records = told_records(optimizer)
        params = optimizer.recommend()
        asked = _asked(cls.__name__, optimizer, parameters)
        names = varying(optimizer) if asked is None else [n for ns in asked for n in ns]
        scales = scales_of(optimizer, records, list(dict.fromkeys(names)))
        if asked is None:
            here = {name: scales[name] for name in names if name in params}
            asked = [(name,) for name in most_important(optimizer, here, _MOST)]
        trials = params_of(records)
        return cls(
            slices=slices_of(optimizer, params, asked, scales, trials),
            params=params,
            trials=trials,
            values=values_of(records),
            scales=scales,
            value_name=value_name,
        ).plot(ax=ax)

    def _draw(self, look: Look, ax: Any) -> list[Fitted]:
        n = sum(len(one.names) for one in self.slices)
        pairs = any(len(one.names) == 2 for one in self.slices)
        wide = look.width >= _WIDE and not pairs
        n_columns = min(n, 3 if wide else 2)
        n_rows = math.ceil(n / n_columns)
        height = (0.7 if n_columns == 1 else 0.85 / n_columns + 0.05) * n_rows
        self.figure_, axes = panels(ax, n_rows, n_columns, height=height)
        for unused in axes.ravel()[n:]:
            unused.set_axis_off()
        self.axes_ = axes.ravel()[:n]
        return self._draw_panels(look, n_columns)

    def _draw_panels(self, look: Look, n_columns: int) -> list[Fitted]:
        parts: list[Fitted] = []
        limits = self._limits()
        place = 0
        for one in self.slices:
            axes = self.axes_[place : place + len(one.names)]
            if len(one.names) == 2:
                parts += _draw_pair(axes, look, self, one)
            else:
                left = place % n_columns == 0
                parts += _draw_single(axes[0], look, self, one, limits, left)
            place += len(one.names)
        return parts

    def _limits(self) -> tuple[float, float]:
        """Return the range of values that all panels share."""
        low, high = value_range(self.values)
        means = [drawable(s.mean).ravel() for s in self.slices if len(s.names) == 1]
        inside = np.concatenate([[low, high], *means])
        inside = inside[np.isfinite(inside) & (inside >= low)]
        return padded(low, float(inside.max()), share=0.12)


def _asked(cls: str, optimizer: Any, parameters: Any) -> list[tuple[str, ...]] | None:
    """Return the parameters to go along, each a tuple of one or two."""
    if parameters is None:
        return None
    listed = [parameters] if isinstance(parameters, str) else list(parameters)
    asked = [(one,) if isinstance(one, str) else tuple(one) for one in listed]
    for names in asked:
        checked_names(cls, optimizer, names)
        if len(set(names)) not in (1, 2) or len(set(names)) < len(names):
            raise ValueError(
                f"The 'parameters' of {cls} must be names and pairs of two names. "
                f"Got {names!r} among them instead."
            )
    if not asked:
        raise ValueError(f"The 'parameters' of {cls} must name at least one. Got none.")
    return asked


# The panels ---------------------------------------------------------------------------


def _draw_single(
    ax: Any,
    look: Look,
    shown: ObjectiveDisplay,
    one: Slice,
    limits: tuple[float, float],
    left: bool,
) -> list[Fitted]:
    """Draw the posterior along one parameter and return the ticks to be fitted."""
    scale = shown.scales[one.names[0]]
    at, mean, std = one.positions[0], drawable(one.mean), drawable(one.std)
    if scale.kind == "category":
        ax.bar(at, mean - limits[0], 0.6, limits[0], color=look.palette[0], alpha=0.3)
        _draw_errors(ax, look, at, mean, std, "_", 2.0)
    elif not one.connected:
        _draw_errors(ax, look, at, mean, std, "o", 0.8)
    else:
        _draw_band(ax, look, at, mean, std)
    _draw_trials(ax, look, shown, scale, limits[0])
    recommended = scale.position(shown.params)
    width = 0.7 * look.line
    ax.axvline(recommended, color=look.ink, ls="--", lw=width)
    ax.set_ylim(limits)
    look.dress(ax, x=scale.short, y=shown.value_name if left else "")
    ax.tick_params(axis="y", labelleft=left)
    return [Ticks(ax.yaxis, most=6), Ticks(ax.xaxis, scale, 5, _CUT)]


def _draw_band(ax: Any, look: Look, at: Array, mean: Array, std: Array) -> None:
    colour = look.palette[0]
    low, high = mean - 2 * std, mean + 2 * std
    ax.fill_between(at, low, high, color=colour, alpha=0.2, lw=0)
    ax.plot(at, mean, color=colour, lw=1.3 * look.line)


def _draw_errors(
    ax: Any, look: Look, at: Array, mean: Array, std: Array, marker: str, size: float
) -> None:
    dots = {"ls": "none", "marker": marker, "ms": size * look.dot}
    bars = {"elinewidth": look.line, "capsize": 0.4 * look.dot}
    ax.errorbar(at, mean, 2 * std, color=look.palette[0], **dots, **bars)


def _draw_trials(
    ax: Any, look: Look, shown: ObjectiveDisplay, scale: Scale, floor: float
) -> None:
    """Draw the trials; those below the axis, and failures, on a rug."""
    at, values = scale.positions(shown.trials), drawable(shown.values)
    failed, below = np.isnan(values), values < floor
    inside, size = ~failed & ~below, 0.75 * look.dot
    ax.plot(at[inside], values[inside], "o", color=look.ink, alpha=0.55, mew=0, ms=size)
    look.rug(ax, at[below], "v", look.ink, ms=size)
    look.rug(ax, at[failed], "x", look.failure, ms=size)


def _draw_pair(
    axes: NDArray[np.object_], look: Look, shown: ObjectiveDisplay, one: Slice
) -> list[Fitted]:
    """Draw maps of mean and deviation and return the ticks to be fitted."""
    greys = "Greys_r" if look.dark else "Greys"
    maps = ((one.mean, shown.value_name, look.colours), (one.std, "deviation", greys))
    parts: list[Fitted] = []
    for place, (ax, (surface, label, colours)) in enumerate(
        zip(axes, maps, strict=True)
    ):
        across, up = (shown.scales[name] for name in one.names)
        mesh = _draw_map(ax, one, across, up, surface, colours)
        _draw_places(ax, look, shown, across, up)
        look.dress(ax, x=across.short, y=up.short if place == 0 else "", grid="")
        parts += [Ticks(ax.xaxis, across, 5, _CUT), Ticks(ax.yaxis, up, 5, _CUT)]
        ax.tick_params(axis="y", labelleft=place == 0)
        parts.append(colour_bar(mesh, look, label, ax))
    return parts


def _draw_map(
    ax: Any, one: Slice, across: Scale, up: Scale, surface: Array, colours: Any
) -> Any:
    low, high = filled_range(surface)
    edges = _edges(across, one.positions[0]), _edges(up, one.positions[1])
    shades = {"vmin": low, "vmax": high, "cmap": colours}
    return ax.pcolormesh(*edges, drawable(surface).T, rasterized=True, **shades)


def _draw_places(
    ax: Any, look: Look, shown: ObjectiveDisplay, across: Scale, up: Scale
) -> None:
    """Draw where trials were made, and a star for the recommended point."""
    x, y = across.positions(shown.trials), up.positions(shown.trials)
    failed = np.isnan(shown.values)
    size, edge = look.dot**2, 0.5 * look.line
    dot = {"color": "white", "edgecolor": "black", "lw": edge, "zorder": 3}
    ax.scatter(x[~failed], y[~failed], s=0.64 * size, **dot)
    cross = {"marker": "x", "color": look.failure, "lw": 2 * edge, "zorder": 3}
    ax.scatter(x[failed], y[failed], s=size, **cross)
    star = {"marker": "*", "color": look.palette[1], "edgecolor": "white", "lw": edge}
    place = across.position(shown.params), up.position(shown.params)
    ax.scatter(*place, s=5 * size, zorder=4, **star)


def _edges(scale: Scale, at: Array) -> Array:
    """Return the borders of the cells around places on a scale."""
    if scale.kind == "category" or len(at) == 1:
        return np.append(at - 0.5, at[-1] + 0.5)
    t = np.log(at) if scale.kind == "log" else at
    middle = t[:-1] / 2 + t[1:] / 2
    first, last = 2 * t[0] - middle[0], 2 * t[-1] - middle[-1]
    edges = np.concatenate([[first], middle, [last]])
    return np.exp(np.clip(edges, -700, 700)) if scale.kind == "log" else edges
