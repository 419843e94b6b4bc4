"""``plot``: the median regret of every policy against the number of evaluations.

Of files of run lines, where no more is kept, the regrets at the end.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skrobustbo.benchmarks._args import Subparsers
from skrobustbo.benchmarks._figure import (
    FLOOR,
    Styles,
    draw_panels,
    foremost_first,
    legend,
    save,
)
from skrobustbo.benchmarks._files import check_can_write
from skrobustbo.benchmarks._record import KEY
from skrobustbo.benchmarks._report import add_selection, all_lines, selection, traces
from skrobustbo.benchmarks._scores import percentiles
from skrobustbo.benchmarks._traces import (
    Array,
    best_values,
    line_table,
    padded,
    simple_regrets,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser("plot", help="draw a csv file's regrets")
    add_selection(
        parser,
        "files written by 'run', or, for the regrets at the end, by --runs of a report",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="IMAGE")
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> None:
    """Write the figure, one panel per problem and run length."""
    check_can_write(args.out)
    if any(line_table(path).is_there() for path in args.csv):
        figure = draw_finals(selection(all_lines(args.csv), args))
    else:
        figure = draw(selection(traces(args.csv), args))
    save(figure, args.out)
    print(args.out)


def draw(trace: pd.DataFrame) -> Figure:
    """Return the figure; CommandError if matplotlib is not installed."""
    figure, axes = draw_panels(trace, _draw_panel)
    n_policies = trace["policy"].nunique()
    legend(
        figure,
        axes,
        foremost_first,
        ncols=min(n_policies, 6 if len(axes) > 2 else 3),
        title="median over seeds, band between the quartiles, initial design shaded",
        title_fontsize="small",
    )
    return figure


def _draw_panel(ax: Axes, runs_of: Mapping[str, pd.DataFrame], styles: Styles) -> None:
    # Many bands over one another are a fog: the more there are, the fainter.
    alpha = min(0.2, 1.2 / len(runs_of))
    for policy, runs in runs_of.items():
        low, middle, high = bands(runs)
        steps = np.arange(1, len(middle) + 1)
        ax.plot(steps, middle, label=policy, **styles[policy])
        colour = styles[policy]["color"]
        ax.fill_between(
            steps, low, high, color=colour, alpha=alpha, linewidth=0, zorder=1
        )
    _mark_initial(ax, runs)
    ax.grid(alpha=0.3)
    ax.set_xlabel("evaluations")
    if has_optimum(runs):
        ax.set_yscale("log")
        ax.set_ylabel("simple regret")
    else:
        ax.set_ylabel("best value")


def bands(runs: pd.DataFrame) -> Array:
    """Return the quartiles and the median of the curves, shape (3, evaluations)."""
    return percentiles(curves(runs), [25, 50, 75])


def _mark_initial(ax: Axes, runs: pd.DataFrame) -> None:
    """Shade the initial design, in which all methods are one."""
    n_initial = int(runs["n_initial"].iloc[0])
    if n_initial > 1:
        ax.axvspan(1, n_initial, color="0.5", alpha=0.1, linewidth=0, zorder=0)


def has_optimum(runs: pd.DataFrame) -> bool:
    """Return whether the problem's optimum is known."""
    return not math.isnan(runs["optimum"].iloc[0])


def curves(runs: pd.DataFrame) -> Array:
    """Return what is drawn of each run, shape (n_runs, evaluations).

    It is the simple regret, at least `FLOOR`, or the best value where the optimum is
    not known. The optimum is that of the run and the step. A run that exhausted its
    space keeps its last value.
    """
    length = int(runs["n_evals"].max())
    of_run = simple_regrets if has_optimum(runs) else best_values
    drawn = np.array([padded(of_run(run), length) for _, run in runs.groupby(KEY)])
    return np.maximum(drawn, FLOOR) if has_optimum(runs) else drawn


def draw_finals(lines: pd.DataFrame) -> Figure:
    """Return a figure of lines alone, with a dot for each run at its end.

    A panel for each problem and length, a row for each method, a bar between the
    quartiles and a tick at the median.
    """
    return draw_panels(lines, _draw_finals)[0]


def _draw_finals(
    ax: Axes, lines_of: Mapping[str, pd.DataFrame], styles: Styles
) -> None:
    names = foremost_first(lines_of)
    known = not math.isnan(lines_of[names[0]]["final_regret"].iloc[0])
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


def ends(lines: pd.DataFrame, known: bool) -> Array:
    """Return the final regrets, at least `FLOOR`, or the best values.

    Runs without a single value are left out. `known` says whether the optimum is.
    """
    found = lines["final_regret"].clip(lower=FLOOR) if known else lines["best"]
    return np.asarray(found[np.isfinite(found)])
