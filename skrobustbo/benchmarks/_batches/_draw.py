"""The figure: regrets against evaluations, and against wall time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._batches._report import (
    Group,
    grouped,
    regret_after,
)
from skrobustbo.benchmarks._batches._search import Run
from skrobustbo.benchmarks._figure import FLOOR, grid, styles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def draw(runs: Iterable[Run]) -> Figure:
    """Return the figure, one panel per problem, policy and kind of run.

    CommandError if matplotlib is not installed.
    """
    groups = grouped(runs)
    figure, axes = grid(len(groups))
    sizes = sorted({size for by_size in groups.values() for size in by_size})
    styles = styles_of([str(size) for size in sizes])
    lines = {}
    for ax, (group, by_size) in zip(axes, groups.items(), strict=True):
        for size, of_seed in by_size.items():
            style = styles[str(size)]
            x, curves = _curves(group, list(of_seed.values()))
            low, middle, high = np.quantile(curves, [0.1, 0.5, 0.9], axis=0)
            (lines[size],) = ax.plot(x, middle, **style)
            ax.fill_between(x, low, high, color=style["color"], alpha=0.12, lw=0)
        _label(ax, group)
    figure.legend(
        [lines[size] for size in sizes],
        [f"{size} at a time" for size in sizes],
        loc="outside lower center",
        ncols=min(len(sizes), 5),
        title="median over seeds, band from 10% to 90%",
        title_fontsize="small",
        frameon=False,
    )
    return figure


def _label(ax: Axes, group: Group) -> None:
    timed = f", fits of {group.fold_seconds:g} s" if group.fold_seconds else ""
    ax.set_title(f"{group.problem}, {group.policy}{timed}", fontsize="medium")
    ax.set_xlabel("wall time, s" if timed else "evaluations")
    ax.set_yscale("log")
    ax.set_ylabel("simple regret")
    ax.grid(alpha=0.3)


def _curves(group: Group, runs: Sequence[Run]) -> tuple[Array, Array]:
    """Return the abscissae and the regret of each run there, shape (n_runs, n_x)."""
    if not group.fold_seconds:
        length = min(len(run.best) for run in runs)
        x = np.arange(1.0, length + 1)
        curves = np.array([run.regrets[:length] for run in runs])
    else:
        x = times(runs)
        curves = np.array([[regret_after(run, t) for t in x] for run in runs])
    return x, np.maximum(curves, FLOOR)


def times(runs: Sequence[Run]) -> Array:
    """Return times at which each run has a regret and none has ended."""
    begin = max(run.seconds[0] for run in runs)
    end = min(run.seconds[-1] for run in runs)
    return np.linspace(begin, max(begin, end), 200)
