"""The regrets at the end of runs as a figure: what is left when only lines are kept."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from skrobustbo.benchmarks._figure import FLOOR, draw_panels, foremost_first
from skrobustbo.benchmarks._run_lines import RunLine
from skrobustbo.benchmarks._scores import GroupKey, percentiles
from skrobustbo.benchmarks._traces import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_finals(groups: Mapping[GroupKey, Sequence[RunLine]]) -> Figure:
    """Return a figure with a dot for each run; CommandError without matplotlib.

    A panel for each problem and length, a row for each method, a bar between the
    quartiles and a tick at the median.
    """
    return draw_panels(groups, _draw_panel)[0]


def _draw_panel(
    ax: Axes,
    lines_of: Mapping[str, Sequence[RunLine]],
    styles: Mapping[str, dict[str, Any]],
) -> None:
    names = foremost_first(lines_of)
    known = not math.isnan(lines_of[names[0]][0].final_regret)
    for row, name in enumerate(names):
        _draw_row(ax, row, ends(lines_of[name], known), styles[name]["color"])
    ax.set_yticks(range(len(names)), names, fontsize="small")
    ax.invert_yaxis()
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel("final regret" if known else "best value")
    if known:
        ax.set_xscale("log")
        # Of a narrow range matplotlib labels all minor ticks, which run together.
        ax.tick_params(axis="x", which="minor", labelsize=5)


def _draw_row(ax: Axes, row: int, found: Array, colour: str) -> None:
    if not len(found):
        return
    low, middle, high = percentiles(found, [25, 50, 75])
    ax.plot([low, high], [row, row], color=colour, linewidth=5, alpha=0.3)
    ax.plot([middle], [row], color=colour, marker="|", markersize=13)
    ax.plot(found, np.full(len(found), row), ".", color=colour, alpha=0.6)


def ends(lines: Sequence[RunLine], known: bool) -> Array:
    """Return the final regrets, at least `FLOOR`, or the best values.

    Runs without a single value are left out. `known` says whether the optimum is.
    """
    found = [max(x.final_regret, FLOOR) if known else x.best for x in lines]
    return np.array([end for end in found if math.isfinite(end)])
