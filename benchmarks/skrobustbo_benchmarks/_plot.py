"""``plot``: the median regret of every policy against the number of evaluations.

Of files of run lines, where no more is kept, the regrets at the end.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skrobustbo_benchmarks._args import CommandError, Subparsers, check_can_write
from skrobustbo_benchmarks._record import KEY, TASK
from skrobustbo_benchmarks._report import add_selection, all_lines, selection, traces
from skrobustbo_benchmarks._traces import (
    Array,
    best_values,
    line_table,
    padded,
    percentiles,
    simple_regrets,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: How each method is drawn.
Styles = dict[str, dict[str, Any]]
#: Regrets below this are drawn here: on a log axis, rounding would fill the panel.
FLOOR = 1e-8
#: Okabe and Ito's colours, told apart by colour-blind readers too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777")
#: One after the other as the colours start again, so that no two methods look alike.
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
#: The method that is drawn in black, wider and on top of the others.
_FOREMOST = "robust"


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


# -- what figures share --------------------------------------------------------------


def new_figure(size: tuple[float, float]) -> Figure:
    """Return a figure; CommandError if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CommandError(
            "A figure needs matplotlib, which is not installed; run pip install "
            '"./benchmarks[plot]" in a checkout of skrobustbo.'
        ) from error
    return Figure(figsize=size, layout="constrained")


def grid(n_panels: int) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels; CommandError if matplotlib is not installed."""
    n_columns = 2 if n_panels == 4 else min(3 if n_panels <= 12 else 4, n_panels)
    n_rows = math.ceil(n_panels / n_columns)
    size = (max(4.2 * n_columns, 5.5), 3.2 * n_rows + 0.9)
    figure = new_figure(size)
    axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for ax in axes[n_panels:]:
        ax.remove()
    return figure, list(axes[:n_panels])


def draw_panels(
    runs: pd.DataFrame,
    draw_panel: Callable[[Axes, Mapping[str, pd.DataFrame], Styles], None],
) -> tuple[Figure, list[Axes]]:
    """Return a figure with a panel for each problem and length of the runs.

    Parameters
    ----------
    runs : DataFrame
        What is drawn.
    draw_panel : callable
        Draws into axes the runs of one panel, by method, in the methods' styles.
    """
    panels = list(runs.groupby(TASK))
    figure, axes = grid(len(panels))
    styles = styles_of(sorted(set(runs["policy"])))
    for ax, ((problem, n_iter), rows) in zip(axes, panels, strict=True):
        draw_panel(ax, dict(list(rows.groupby("policy"))), styles)
        ax.set_title(f"{problem}, {n_iter} evaluations", fontsize="medium")
    return figure, axes


def styles_of(policies: Sequence[str]) -> Styles:
    """Return one style per policy, the same in all panels."""
    others = [policy for policy in policies if policy != _FOREMOST]
    dashes = [dash for dash in _DASHES for _ in _COLOURS]
    looks = zip(others, cycle(_COLOURS), cycle(dashes), strict=False)
    styles: Styles = {
        policy: {"color": colour, "linestyle": dash, "linewidth": 1.3, "zorder": 2}
        for policy, colour, dash in looks
    }
    styles[_FOREMOST] = {"color": "black", "linewidth": 2.2, "zorder": 3}
    return styles


def foremost_first(policies: Iterable[str]) -> list[str]:
    """Return names in alphabetical order, but for the foremost method."""
    return sorted(policies, key=lambda policy: (policy != _FOREMOST, policy))


def legend(
    figure: Figure,
    axes: Iterable[Axes],
    ordered: Callable[[Iterable[str]], list[str]] = list,
    **looks: Any,
) -> None:
    """Put one legend below all panels, with every label once, in an order."""
    found: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    looks = {
        "loc": "outside lower center",
        "ncols": min(len(found), max(1, int(figure.get_figwidth() / 2.8))),
        "frameon": False,
        "handlelength": 3,
    } | looks
    labels = ordered(found)
    figure.legend([found[label] for label in labels], labels, **looks)


def save(figure: Figure, path: Path) -> None:
    """Write a figure; CommandError if that cannot be done."""
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise CommandError(f"Could not write {path}: {error}") from error
