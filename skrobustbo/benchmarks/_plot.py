"""``plot``: the median regret of every policy against the number of evaluations."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._args import Subparsers
from skrobustbo.benchmarks._figure import (
    FLOOR,
    draw_panels,
    foremost_first,
    save,
)
from skrobustbo.benchmarks._files import check_can_write
from skrobustbo.benchmarks._final_plot import draw_finals
from skrobustbo.benchmarks._report import (
    add_selection,
    complete_runs,
    read_lines,
    selection,
)
from skrobustbo.benchmarks._run_lines import line_table
from skrobustbo.benchmarks._scores import GroupKey, percentiles
from skrobustbo.benchmarks._table import Run
from skrobustbo.benchmarks._traces import best_values, padded, simple_regrets

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
        figure = draw_finals(selection(read_lines(args.csv), args))
    else:
        figure = draw(selection(complete_runs(args.csv), args))
    save(figure, args.out)
    print(args.out)


def draw(groups: Mapping[GroupKey, list[Run]]) -> Figure:
    """Return the figure; CommandError if matplotlib is not installed."""
    figure, axes = draw_panels(groups, _draw_panel)
    _add_legend(figure, axes)
    return figure


def _draw_panel(
    ax: Axes, runs_of: Mapping[str, list[Run]], styles: Mapping[str, dict[str, Any]]
) -> None:
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


def bands(runs: Sequence[Run]) -> NDArray[np.float64]:
    """Return the quartiles and the median of the curves, shape (3, evaluations)."""
    return percentiles(curves(runs), [25, 50, 75])


def _mark_initial(ax: Axes, runs: Sequence[Run]) -> None:
    """Shade the initial design, in which all methods are one."""
    n_initial = runs[0][0].n_initial
    if n_initial > 1:
        ax.axvspan(1, n_initial, color="0.5", alpha=0.1, linewidth=0, zorder=0)


def has_optimum(runs: Sequence[Run]) -> bool:
    """Return whether the problem's optimum is known."""
    return not math.isnan(runs[0][0].optimum)


def curves(runs: Sequence[Run]) -> NDArray[np.float64]:
    """Return what is drawn of each run, shape (n_runs, evaluations).

    It is the simple regret, at least `FLOOR`, or the best value where the optimum is
    not known. The optimum is that of the run and the step. A run that exhausted its
    space keeps its last value.
    """
    length = max(len(run) for run in runs)
    of_run = simple_regrets if has_optimum(runs) else best_values
    drawn = np.array([padded(of_run(run), length) for run in runs])
    return np.maximum(drawn, FLOOR) if has_optimum(runs) else drawn


def _add_legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """Put one legend below all panels, with every policy once."""
    lines = {str(line.get_label()): line for ax in axes for line in ax.get_lines()}
    policies = foremost_first(lines)
    figure.legend(
        [lines[policy] for policy in policies],
        policies,
        loc="outside lower center",
        ncols=min(len(policies), 6 if len(figure.axes) > 2 else 3),
        title="median over seeds, band between the quartiles, initial design shaded",
        title_fontsize="small",
        handlelength=3,
        frameon=False,
    )
