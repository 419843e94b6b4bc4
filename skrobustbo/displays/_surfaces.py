"""Panels of `ObjectiveDisplay`: the posterior along one parameter, or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._layout import Fitted, NumberTicks, Ticks, colour_bar
from skrobustbo.displays._scales import Scale
from skrobustbo.displays._slices import Slice
from skrobustbo.displays._style import Look, draw_rug, drawable, dress, filled_range

Array = NDArray[np.float64]

#: Characters of categories at the ticks.
_CUT = 12


@dataclass(frozen=True)
class Scene:
    """What the panels have in common."""

    look: Look
    scales: Mapping[str, Scale]
    params: Mapping[str, Any]
    trials: Sequence[Mapping[str, Any]]
    values: Array
    value_name: str


def draw_single(
    ax: Any, scene: Scene, one: Slice, limits: tuple[float, float], left: bool
) -> list[Fitted]:
    """Draw the posterior along one parameter and return the ticks to be fitted."""
    look, scale = scene.look, scene.scales[one.names[0]]
    at, mean, std = one.positions[0], drawable(one.mean), drawable(one.std)
    if scale.kind == "category":
        ax.bar(at, mean - limits[0], 0.6, limits[0], color=look.palette[0], alpha=0.3)
        _draw_errors(ax, look, at, mean, std, "_", 2.0)
    elif not one.connected:
        _draw_errors(ax, look, at, mean, std, "o", 0.8)
    else:
        _draw_band(ax, look, at, mean, std)
    _draw_trials(ax, scene, scale, limits[0])
    recommended = scale.position(scene.params)
    width = 0.7 * look.line
    ax.axvline(recommended, color=look.ink, ls="--", lw=width)
    ax.set_ylim(limits)
    dress(ax, look, x=scale.short, y=scene.value_name if left else "")
    ax.tick_params(axis="y", labelleft=left)
    return [NumberTicks(ax.yaxis, most=6), Ticks(ax.xaxis, scale, 5, _CUT)]


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


def _draw_trials(ax: Any, scene: Scene, scale: Scale, floor: float) -> None:
    """Draw the trials; those below the axis, and failures, on a rug."""
    look = scene.look
    at, values = scale.positions(scene.trials), drawable(scene.values)
    failed, below = np.isnan(values), values < floor
    shown, size = ~failed & ~below, 0.75 * look.dot
    ax.plot(at[shown], values[shown], "o", color=look.ink, alpha=0.55, mew=0, ms=size)
    draw_rug(ax, look, at[below], "v", look.ink, ms=size)
    draw_rug(ax, look, at[failed], "x", look.failure, ms=size)


def draw_pair(
    figure: Any, axes: NDArray[np.object_], scene: Scene, one: Slice
) -> list[Fitted]:
    """Draw maps of mean and deviation and return the ticks to be fitted."""
    look = scene.look
    greys = "Greys_r" if look.dark else "Greys"
    maps = ((one.mean, scene.value_name, look.colours), (one.std, "deviation", greys))
    parts: list[Fitted] = []
    for place, (ax, (surface, label, colours)) in enumerate(
        zip(axes, maps, strict=True)
    ):
        across, up = (scene.scales[name] for name in one.names)
        mesh = _draw_map(ax, one, across, up, surface, colours)
        _draw_places(ax, scene, across, up)
        dress(ax, look, x=across.short, y=up.short if place == 0 else "", grid="")
        parts += [Ticks(ax.xaxis, across, 5, _CUT), Ticks(ax.yaxis, up, 5, _CUT)]
        ax.tick_params(axis="y", labelleft=place == 0)
        parts.append(colour_bar(figure, mesh, look, label, ax))
    return parts


def _draw_map(
    ax: Any, one: Slice, across: Scale, up: Scale, surface: Array, colours: Any
) -> Any:
    low, high = filled_range(surface)
    edges = _edges(across, one.positions[0]), _edges(up, one.positions[1])
    shades = {"vmin": low, "vmax": high, "cmap": colours}
    return ax.pcolormesh(*edges, drawable(surface).T, rasterized=True, **shades)


def _draw_places(ax: Any, scene: Scene, across: Scale, up: Scale) -> None:
    """Draw where trials were made, and a star for the recommended point."""
    look = scene.look
    x, y = across.positions(scene.trials), up.positions(scene.trials)
    failed = np.isnan(scene.values)
    size, edge = look.dot**2, 0.5 * look.line
    dot = {"color": "white", "edgecolor": "black", "lw": edge, "zorder": 3}
    ax.scatter(x[~failed], y[~failed], s=0.64 * size, **dot)
    cross = {"marker": "x", "color": look.failure, "lw": 2 * edge, "zorder": 3}
    ax.scatter(x[failed], y[failed], s=size, **cross)
    star = {"marker": "*", "color": look.palette[1], "edgecolor": "white", "lw": edge}
    place = across.position(scene.params), up.position(scene.params)
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
