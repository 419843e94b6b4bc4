"""What the figures of benchmarks share: panels, looks, and the file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._record import TASK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: How each method is drawn.
Styles = dict[str, dict[str, Any]]
#: Regrets below this are drawn here: on a log axis, rounding would fill the panel.
FLOOR = 1e-8
#: Okabe and Ito's colours, told apart by colour-blind readers too.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#777777")
#: One after the other as the colours begin anew, so that no two methods look alike.
_DASHES = ("-", (0, (5, 1.5)), (0, (1, 1)), (0, (5, 1, 1, 1)))
#: The method that is drawn in black, wider and on top of the others.
_FOREMOST = "robust"


def new_figure(size: tuple[float, float]) -> Figure:
    """Return a figure; CommandError if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CommandError(
            "A figure needs matplotlib, which is not installed: "
            'pip install "skrobustbo[plot]".'
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
