"""Figures: what the paper's figure shows, from the runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skrobustbo_benchmarks._plot import Styles, legend, new_figure, styles_of
from skrobustbo_benchmarks._reproduce._claims import Results, values
from skrobustbo_benchmarks._reproduce._measures import (
    BEST_THETAS,
    THETA_EDGES,
    best_thetas,
    curve,
    kept_steps,
)
from skrobustbo_benchmarks._reproduce._numbers import Column
from skrobustbo_benchmarks._reproduce._spec import Experiment, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: What the axes of curves and metrics are called.
_NAMES = {
    "cumulative": "cumulative regret",
    "average": "regret per query",
    "simple": "simple regret",
    "resets": "resets",
    "theta": "length scale",
    "cpu_seconds": "CPU seconds of a run",
    "histogram": "share of queries",
}
_LOGARITHMIC = ("simple", "theta")
_FLOOR = 1e-4
#: Pixels; the files are kept with the page.
_WIDEST = 850
#: Evaluations after which the queries are shown.
_MOMENTS = (20, 40, 60)


def path_of(folder: Path, experiment: Experiment, quick: bool) -> Path:
    """Return where an experiment's figure is."""
    return folder / f"{experiment.name}{'.quick' if quick else ''}.png"


def draw(experiment: Experiment, results: Results, folder: Path, quick: bool) -> None:
    """Write an experiment's figure, unless there are no runs."""
    if not any(panel.case.name in results for panel in experiment.panels):
        return
    figure = _DRAWINGS[experiment.drawing](experiment, results)
    dpi = min(80.0, _WIDEST / figure.get_figwidth())
    figure.savefig(path_of(folder, experiment, quick), dpi=dpi)


def _grid(n_rows: int, n_columns: int, height: float = 2.5) -> tuple[Figure, Any]:
    size = (max(3.0 * n_columns, 5.5), height * n_rows + 0.7)
    figure = new_figure(size)
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _found(
    results: Results, panel: Panel, metric: str
) -> Iterator[tuple[str, pd.Series]]:
    """Yield a number or curve of the runs of each method that has any."""
    for method in panel.methods:
        if len(found := values(results, panel.case.name, method, metric)):
            yield method, found


def _read(curves: pd.Series) -> NDArray[np.float64]:
    """Return curves, shape (n_runs, n_points)."""
    return np.array([curve(text) for text in curves])


def _styles(experiment: Experiment) -> Styles:
    methods = dict.fromkeys(m for panel in experiment.panels for m in panel.methods)
    return styles_of(list(methods))


# -- curves ---------------------------------------------------------------------------


def _curves(experiment: Experiment, results: Results) -> Figure:
    names, panels = experiment.drawn, experiment.panels
    lies = len(panels) == 1  # one panel's curves stand side by side
    figure, axes = _grid(1, len(names)) if lies else _grid(len(names), len(panels))
    styles = _styles(experiment)
    for j, panel in enumerate(panels):
        for i, name in enumerate(names):
            ax = axes[0, i] if lies else axes[i, j]
            _curve_panel(ax, panel, results, name, styles)
            if lies or i == 0:
                ax.set_title(panel.title, fontsize="small")
            if lies or i == len(names) - 1:
                ax.set_xlabel("queries")
            ax.set_ylabel(_NAMES[name] if lies or j == 0 else "")
    legend(figure, axes.ravel(), fontsize="small")
    return figure


def _curve_panel(
    ax: Axes,
    panel: Panel,
    results: Results,
    name: str,
    styles: Styles,
) -> None:
    """Draw the mean of a curve, and a band of a standard error."""
    for method, found in _found(results, panel, f"{name}_curve"):
        n_iter = int(results[panel.case.name]["n_iter"].iloc[0])
        curves = _read(found)
        steps = kept_steps(n_iter - panel.case.n_first)
        middle, error = curves.mean(axis=0), _standard_error(curves)
        if name in _LOGARITHMIC:
            middle = np.maximum(middle, _FLOOR)
        ax.plot(steps, middle, label=method, **styles[method])
        low = np.maximum(middle - error, middle / 10)
        colour = styles[method]["color"]
        ax.fill_between(steps, low, middle + error, color=colour, alpha=0.15, lw=0)
    if name in _LOGARITHMIC:
        ax.set_yscale("log")
    ax.grid(alpha=0.3)


def _standard_error(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    n = len(curves)
    spread = curves.std(axis=0, ddof=1) if n > 1 else np.zeros(curves.shape[1])
    error: NDArray[np.float64] = spread / np.sqrt(n)
    return error


# -- length scales, queries -----------------------------------------------------------


def _histograms(experiment: Experiment, results: Results) -> Figure:
    figure, axes = _grid(1, len(experiment.panels), 3.0)
    styles = _styles(experiment)
    for ax, panel in zip(axes[0], experiment.panels, strict=True):
        for method, found in _found(results, panel, "histogram"):
            share = _read(found).mean(axis=0)
            ax.stairs(share, THETA_EDGES, label=method, **styles[method])
        low, high = best_thetas(panel.case.problem)
        ax.axvspan(low, high, color="0.85", label="range of good ones")
        best = BEST_THETAS[panel.case.problem]
        ax.axvline(best, color="0.4", ls=":", label="the best, by the program")
        ax.set(xscale="log", xlabel=_NAMES["theta"], title=panel.title)
        ax.set_xlim(THETA_EDGES[0], THETA_EDGES[-1])
    axes[0, 0].set_ylabel(_NAMES["histogram"])
    legend(figure, axes.ravel(), fontsize="small")
    return figure


def _places(experiment: Experiment, results: Results) -> Figure:
    """Draw the function, and below it the queries of all runs up to some moments."""
    (panel,) = experiment.panels
    figure, axes = _grid(len(panel.methods), len(_MOMENTS), 1.8)
    problem = panel.case.make_problem(0)
    grid = np.linspace(0.0, 1.0, 401)
    heights = [problem.func({"x": float(x)}) for x in grid]
    for i, (method, found) in enumerate(_found(results, panel, "x")):
        for ax, moment in zip(axes[i], _MOMENTS, strict=True):
            queries = _read(found)[:, : moment - panel.case.n_initial]
            _place_panel(ax, grid, heights, queries)
            ax.set_title(f"{method}, t = {moment}", fontsize="small")
    for ax in axes[-1]:
        ax.set_xlabel("x, and the queries of all runs")
    return figure


def _place_panel(ax: Axes, grid: Any, heights: Any, queries: Any) -> None:
    ax.plot(grid, heights, color="#0072B2", lw=1.2)
    for row, x in enumerate(queries):
        below = np.full(len(x), -0.3 - 2.2 * row / len(queries))
        ax.plot(x, below, ".", color="black", markersize=1.0)


# -- tables ---------------------------------------------------------------------------


def _columns(experiment: Experiment, results: Results) -> Figure:
    """Draw the entries of a table beside ours, mean and deviation."""
    columns = [c for c in experiment.claims if isinstance(c, Column)]
    n_wide = 3 if len(columns) > 3 else len(columns)
    n_rows = -(-len(columns) // n_wide)
    figure, axes = _grid(
        n_rows, n_wide, 0.33 * max(len(c.entries) for c in columns) + 0.6
    )
    for ax, column in zip(axes.ravel(), columns, strict=False):
        _column_panel(ax, column, results)
    for ax in axes.ravel()[len(columns) :]:
        ax.remove()
    legend(figure, figure.axes, fontsize="small")
    return figure


def _column_panel(ax: Axes, column: Column, results: Results) -> None:
    names = list(column.entries)
    places = np.arange(len(names))[::-1]
    printed = list(column.entries.values())
    ours = [
        np.array(values(results, column.case, name, column.metric)) for name in names
    ]
    ax.errorbar(
        [p.mean for p in printed],
        places + 0.15,
        xerr=np.nan_to_num([p.std for p in printed]),
        fmt="s",
        color="0.6",
        markersize=4,
        label="paper, mean and deviation",
    )
    ax.errorbar(
        [x.mean() if len(x) else np.nan for x in ours],
        places - 0.15,
        xerr=[x.std() if len(x) else 0.0 for x in ours],
        fmt="o",
        color="#0072B2",
        markersize=4,
        label="here",
    )
    ax.set_yticks(places, names, fontsize="x-small")
    ax.set_title(column.says, fontsize="small")
    ax.grid(alpha=0.3, axis="x")


def _times(experiment: Experiment, results: Results) -> Figure:
    """Draw the mean times of all methods."""
    figure, axes = _grid(1, len(experiment.panels), 2.5)
    for ax, panel in zip(axes[0], experiment.panels, strict=True):
        found = dict(_found(results, panel, "cpu_seconds"))
        means = [float(np.mean(seconds)) for seconds in found.values()]
        ax.bar(list(found), means, color="#0072B2")
        ax.tick_params(axis="x", labelsize="x-small", rotation=30)
        ax.set_title(panel.title, fontsize="small")
        ax.set_yscale("log")
    axes[0, 0].set_ylabel(_NAMES["cpu_seconds"])
    return figure


_DRAWINGS: dict[str, Callable[[Experiment, Results], Figure]] = {
    "curves": _curves,
    "histograms": _histograms,
    "places": _places,
    "columns": _columns,
    "times": _times,
}
