"""Drawings of problems in one and two dimensions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.problems._base import Params, Problem, at_least
from skrobustbo.space import Integer, Real

Array = NDArray[np.float64]

#: Finite spaces up to this size are drawn point by point.
_FEW = 2000
_LINE = 500
_SIDE = 50


def draw(problem: Problem, ax: Any, t: int, n_grid: int | None) -> Any:
    """Draw a problem; see `Problem.plot`."""
    names = problem.space.names
    if len(names) > 2:
        raise ValueError(
            f"The problem {problem.name!r} must have one or two parameters to be "
            f"drawn. It has {len(names)}: {', '.join(names)}; draw a search instead, "
            "with skrobustbo.displays."
        )
    if ax is None:
        _, ax = _pyplot().subplots(layout="constrained")
    if problem.space.size <= _FEW:
        points = problem.space.decode_many(problem.space.enumerate())
        _draw_points(problem, points, ax, t)
    elif len(names) == 1:
        _draw_line(problem, ax, t, at_least("n_grid", n_grid or _LINE, 2))
    else:
        _draw_map(problem, ax, t, at_least("n_grid", n_grid or _SIDE, 2))
    _mark_best(problem, ax, t)
    for name, axis in zip(names, "xy", strict=False):
        _label(problem, name, axis, ax)
    ax.set_title(f"{problem.name}, t = {t}" if problem.varies else problem.name)
    return ax


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Expected matplotlib to be installed, as problems are drawn with it; run "
            'pip install "skrobustbo[plot]".'
        ) from error
    return plt


def _draw_line(problem: Problem, ax: Any, t: int, n: int) -> None:
    (name,) = problem.space.names
    points = _points(problem, np.linspace(0.0, 1.0, n)[:, np.newaxis])
    x = [point[name] for point in points]
    y = _values(problem, points, t)
    (line,) = ax.plot(x, y, label="objective")
    band = 2 * problem.noise_std
    if band:
        ax.fill_between(
            x,
            y - band,
            y + band,
            color=line.get_color(),
            alpha=0.2,
            linewidth=0,
            label="noise, two deviations",
        )
    ax.set_ylabel("value")


def _draw_points(problem: Problem, points: list[Params], ax: Any, t: int) -> None:
    """Draw a finite space: bars or dots along one parameter, colours along two."""
    values = _values(problem, points, t)
    columns = [[point[name] for point in points] for name in problem.space.names]
    if len(columns) == 2:
        size = min(80.0, 12_000 / len(points))
        drawn = ax.scatter(*columns, c=values, s=size, marker="s")
        _colour_bar(drawn, ax)
        return
    if any(isinstance(value, str) for value in columns[0]):
        # Bars start below the smallest value, as zero means nothing here.
        low = values.min() - 0.05 * float(np.ptp(values))
        ax.bar(columns[0], values - low, bottom=low, alpha=0.6, width=0.7)
        crowded = len(points) > 8
        ax.tick_params(axis="x", rotation=90 if crowded else 0, labelsize="small")
        ax.set_ylim(low, None)
    else:
        ax.plot(columns[0], values, "o", markersize=4)
    ax.set_ylabel("value")


def _draw_map(problem: Problem, ax: Any, t: int, n: int) -> None:
    line = np.linspace(0.0, 1.0, n)
    first, second = problem.space.names
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    points = _points(problem, grid)
    values = _values(problem, points, t).reshape(n, n)
    x = [point[first] for point in points[:n]]
    y = [point[second] for point in points[::n]]
    drawn = ax.contourf(x, y, values, levels=30)
    _colour_bar(drawn, ax)


def _colour_bar(drawn: Any, ax: Any) -> None:
    ax.figure.colorbar(drawn, ax=ax, label="value")


def _points(problem: Problem, unit: Array) -> list[Params]:
    """Return the points at places of the unit cube, one column for a parameter."""
    if problem.space.n_columns != unit.shape[1]:
        raise ValueError(
            f"The problem {problem.name!r} has too large a space of unordered choices "
            "to be drawn; evaluate it at the points of interest."
        )
    return problem.space.decode_many(problem.space.snap(unit))


def _values(problem: Problem, points: list[Params], t: int) -> Array:
    return np.array([problem.value_at(point, t) for point in points])


def _best(problem: Problem, t: int) -> tuple[Params, float] | None:
    params, value = problem.optimum_params_at(t), problem.optimum_at(t)
    if params is None or value is None:
        params, value = problem.best_known_params, problem.best_known
    return None if params is None or value is None else (params, value)


def _mark_best(problem: Problem, ax: Any, t: int) -> None:
    if (best := _best(problem, t)) is None:
        return
    params, value = best
    known = problem.optimum_at(t) is not None
    place = [params[name] for name in problem.space.names]
    if len(place) == 1:
        place.append(value)
    ax.plot(
        *place,
        "*",
        color="#D55E00",
        markeredgecolor="white",
        markersize=14,
        linestyle="none",
        clip_on=False,
        zorder=5,
        label=f"{'optimum' if known else 'best known'} {value:.4g}",
    )
    ax.legend(fontsize="small")


def _label(problem: Problem, name: str, axis: str, ax: Any) -> None:
    dimension = problem.space.dimensions[name]
    ax.set(**{f"{axis}label": name})
    if isinstance(dimension, Real | Integer):
        if dimension.log and math.isfinite(dimension.high):
            ax.set(**{f"{axis}scale": "log"})
        margin = 0.02 if axis == "x" and len(problem.space.names) == 1 else 0.0
        ax.margins(**{axis: margin})
