"""Methods against one another over all problems: mean ranks and the win matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from skrobustbo.benchmarks._markdown import number, table
from skrobustbo.benchmarks._scores import Scores, methods_of, paired
from skrobustbo.benchmarks._signed_rank import holm, p_below, p_differ

#: Level of all tests.
LEVEL = 0.05
#: The method whose median regret others are measured by.
YARDSTICK = "random"
#: Smaller shares of it count as this: beyond, nobody gains from further digits.
LEAST_SHARE = 1e-4


def ranks_section(all_scores: Scores) -> str:
    """Return the mean ranks as markdown, the best final regret first.

    Where some methods have no runs of some problems there is a table for every set of
    problems that the same methods have runs of, the largest set first.
    """
    groups: dict[tuple[str, ...], list[pd.DataFrame]] = {}
    for of_task in all_scores.values():
        methods, common = tuple(of_task["final"]), of_task.dropna()
        if len(methods) > 1 and len(common):
            groups.setdefault(methods, []).append(common)
    unit, counted = unit_of(all_scores)
    title = (
        "## Mean ranks\n\n1 is best, equals share their rank. Of the median final "
        "regret, and of the mean area under the regret. Last, the mean final regret "
        f"in shares of {YARDSTICK} search's median, at least {LEAST_SHARE:g}: the "
        f"geometric mean over the {counted} that {YARDSTICK} search leaves unsolved. "
        "All over the seeds that the methods of a table have in common."
    )
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return "\n\n".join([title, *(_ranks_table(*item, unit) for item in ordered)])


def unit_of(all_scores: Scores) -> tuple[str, str]:
    """Return what is counted, in one word, and with what it stands for if need be."""
    if len({problem for problem, _ in all_scores}) == len(all_scores):
        return "problem", "problems"
    return "task", "tasks (problem and length)"


def _ranks_table(
    methods: Sequence[str], of_tasks: Sequence[pd.DataFrame], unit: str
) -> str:
    final = mean_ranks([of["final"].median() for of in of_tasks])
    areas = mean_ranks([of["area"].mean() for of in of_tasks])
    rows = [
        (
            method,
            f"{final[method]:.2f}",
            f"{areas[method]:.2f}",
            number(mean_share(of_tasks, method)),
        )
        for method in sorted(methods, key=lambda method: final[method])
    ]
    n, n_seeds = len(of_tasks), min(map(len, of_tasks))
    which = (
        f"Over {n} {unit}{'s' if n > 1 else ''} with runs of these {len(methods)}, on "
        f"{n_seeds} seeds or more:"
    )
    header = ("method", "final regret", "area", f"share of {YARDSTICK}'s")
    return f"{which}\n\n{table(header, rows)}"


def mean_share(of_tasks: Sequence[pd.DataFrame], method: str) -> float:
    """Return the geometric mean of a method's regrets as shares of random search's.

    Nan if random search has no runs, or leaves nothing to gain on any problem.
    """
    shares = []
    for of_task in of_tasks:
        yard = yard_of(of_task)
        if yard is not None:
            shares.append(max(of_task["final"][method].mean() / yard, LEAST_SHARE))
    return float(np.exp(np.mean(np.log(shares)))) if shares else math.nan


def yard_of(of_task: pd.DataFrame) -> float | None:
    """Return what random search leaves in the median; None if nothing, or no runs."""
    finals = of_task["final"]
    yard = float(finals[YARDSTICK].median()) if YARDSTICK in finals else 0.0
    return yard if 0 < yard < math.inf else None


def mean_ranks(measures: Sequence[pd.Series]) -> pd.Series:
    """Return the mean over tasks of the rank of each method's measure."""
    return pd.DataFrame([measure.rank() for measure in measures]).mean()


def wins_section(all_scores: Scores) -> str:
    """Return the win matrix as markdown."""
    methods = methods_of(all_scores)
    counted = unit_of(all_scores)[1]
    title = (
        f"## Wins\n\n{counted.capitalize()} on which the method of the row has a "
        "smaller final regret than that of the column, in the median of the "
        "differences, seed by seed, and in parentheses on how many of them it is "
        "clearly smaller: the two differ in Wilcoxon's signed-rank test (two-sided, "
        f"{LEVEL:.0%}, Holm's correction over the {counted.partition(' ')[0]}), and "
        "in this direction."
    )
    rows = []
    for row in methods:
        cells = [
            "" if row == column else _cell(*wins(all_scores, row, column))
            for column in methods
        ]
        rows.append((row, *cells))
    return f"{title}\n\n{table(('', *methods), rows)}{_power_note(all_scores)}"


def _cell(n_wins: int, n_clear: int) -> str:
    return f"{n_wins} ({n_clear})"


def wins(all_scores: Scores, ours: str, theirs: str) -> tuple[int, int]:
    """Return on how many tasks one method beats another, and on how many clearly."""
    samples = [paired(of_task, ours, theirs) for of_task in all_scores.values()]
    samples = [sample for sample in samples if len(sample)]
    p_values = holm([p_differ(sample) for sample in samples])
    # Median and ranks of the differences need not point the same way.
    clear = [
        p <= LEVEL and p_below(sample) < p_below(-sample)
        for sample, p in zip(samples, p_values, strict=True)
        if np.median(sample) < 0
    ]
    return len(clear), sum(clear)


def _power_note(all_scores: Scores) -> str:
    n_seeds = max(int(of["final"].count().max()) for of in all_scores.values())
    needed = seeds_needed(2 * len(all_scores))
    if n_seeds >= needed:
        return ""
    return (
        f"\n\nWith {n_seeds} seeds no difference can be significant after the "
        f"correction: it takes {needed}."
    )


def seeds_needed(n_tests: int) -> int:
    """Return the pairs it takes for the first of so many one-sided tests to reject."""
    return math.ceil(math.log2(n_tests / LEVEL))


def difference(value: float) -> str:
    """Return a signed number."""
    return number(value, "+.3g")
