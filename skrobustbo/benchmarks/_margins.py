"""Is a method worse than others? One-sided tests with a margin, and its bad runs.

The margin is a share of what there is to gain: of the optimum minus the median of
random search, which is random search's median regret.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from skrobustbo.benchmarks._compare import (
    LEVEL,
    YARDSTICK,
    difference,
    seeds_needed,
    unit_of,
)
from skrobustbo.benchmarks._markdown import number, table
from skrobustbo.benchmarks._scores import Scores, paired
from skrobustbo.benchmarks._signed_rank import holm, p_below

#: Share of the optimum minus random search's median.
MARGIN = 0.02
#: Share of the runs that end no worse than the figure compared.
PERCENTILE = 90
VERDICTS = ("no worse", "undecided", "worse")


@dataclass(frozen=True)
class Comparison:
    """A method against a rival on one task.

    Parameters
    ----------
    rival : str
        Name of the other method.
    task : (str, int)
        Problem and length of the runs.
    n_seeds : int
        Seeds that both have.
    difference : float
        Median of the method's final regret minus the rival's.
    margin : float
        Allowed excess of regret.
    p_no_worse, p_worse : float
        One-sided p-values, corrected over the rival's tasks, of the differences lying
        below the margin and above it.
    """

    rival: str
    task: tuple[str, int]
    n_seeds: int
    difference: float
    margin: float
    p_no_worse: float
    p_worse: float

    @property
    def verdict(self) -> str:
        """One of `VERDICTS`."""
        if self.p_worse <= LEVEL:
            return "worse"
        return "no worse" if self.p_no_worse <= LEVEL else "undecided"


def compare(all_scores: Scores, method: str, rival: str) -> list[Comparison]:
    """Return a method's comparisons with a rival, by task.

    Tasks without common seeds or without random search are left out.
    """
    tasks = [
        task
        for task, of_task in all_scores.items()
        if YARDSTICK in of_task["final"] and len(paired(of_task, method, rival))
    ]
    samples = [paired(all_scores[task], method, rival) for task in tasks]
    finals = [all_scores[task]["final"] for task in tasks]
    margins = [MARGIN * float(of_task[YARDSTICK].median()) for of_task in finals]
    excess = [sample - m for sample, m in zip(samples, margins, strict=True)]
    no_worse = holm([p_below(sample) for sample in excess])
    worse = holm([p_below(-sample) for sample in excess])
    return [
        Comparison(rival, task, len(sample), float(np.median(sample)), margin, p, q)
        for task, sample, margin, p, q in zip(
            tasks, samples, margins, no_worse, worse, strict=True
        )
    ]


def margins_section(all_scores: Scores, method: str, rivals: Sequence[str]) -> str:
    """Return the tests of a method against its rivals as markdown."""
    title = (
        f"## Is {method} worse than another?\n\nBy more than {MARGIN:.0%} of (optimum "
        f"- median of {YARDSTICK} search), in the final regret over the common seeds: "
        f"Wilcoxon's signed-rank test, one-sided in either direction, {LEVEL:.0%}, "
        "Holm's correction over the problems of a rival. Where neither rejects, it is "
        "undecided."
    )
    found = {rival: compare(all_scores, method, rival) for rival in rivals}
    lines = [line for comparisons in found.values() for line in comparisons]
    if not lines:
        return (
            f"{title}\n\nThere is nothing to test: it takes runs of {method}, of "
            f"{YARDSTICK} and of a rival on one problem."
        )
    sums = [_sum(rival, comparisons) for rival, comparisons in found.items()]
    summary = table(("rival", "problems", *VERDICTS), sums)
    return f"{title}\n\n{summary}\n\n{table(_HEADER, map(_cells, lines), n_left=2)}" + (
        _power_note(lines)
    )


def _sum(rival: str, comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    counts = Counter(comparison.verdict for comparison in comparisons)
    verdicts = (str(counts[verdict]) for verdict in VERDICTS)
    return rival, str(len(comparisons)), *verdicts


_HEADER = (
    "rival",
    "problem",
    "seeds",
    "difference, median",
    "margin",
    "p no worse",
    "p worse",
    "verdict",
)


def _cells(line: Comparison) -> tuple[str, ...]:
    return (
        line.rival,
        "{}, {}".format(*line.task),
        str(line.n_seeds),
        difference(line.difference),
        number(line.margin),
        number(line.p_no_worse),
        number(line.p_worse),
        line.verdict,
    )


def _power_note(lines: Sequence[Comparison]) -> str:
    n_tests = max(Counter(line.rival for line in lines).values())
    needed, n_seeds = seeds_needed(n_tests), max(line.n_seeds for line in lines)
    if n_seeds >= needed:
        return ""
    return (
        f"\n\nWith {n_seeds} seeds no test can reject after the correction: it takes "
        f"{needed}."
    )


def tail(finals: pd.Series) -> float:
    """Return the 90th percentile of final regrets."""
    # The run itself, not a mean of two: a mean with infinity would be no number.
    return float(np.percentile(finals, PERCENTILE, method="higher"))


def ahead(
    all_scores: Scores, method: str, rivals: Sequence[str]
) -> tuple[int, int, int, int]:
    """Return on how many problems a method's tail is ahead, level, and behind.

    Compared with the best tail of the rivals that have runs of a problem, over the
    seeds that all of them have; the fourth number is the least count of such seeds.
    """
    signs, counts = [], []
    for of_task in all_scores.values():
        finals = of_task["final"]
        present = [rival for rival in rivals if rival in finals]
        if method not in finals or not present:
            continue
        common = finals[[method, *present]].dropna()
        if not len(common):
            continue
        own, *others = (tail(common[name]) for name in common)
        best = min(others)  # not their difference: both may be infinite
        signs.append((best > own) - (best < own))
        counts.append(len(common))
    n_ahead, n_level, n_behind = (signs.count(sign) for sign in (1, 0, -1))
    return n_ahead, n_level, n_behind, min(counts, default=0)


def tails_section(all_scores: Scores, method: str, rivals: Sequence[str]) -> str:
    """Return the comparison with each rival, and with all at once, as markdown."""
    counted = unit_of(all_scores)[1]
    title = (
        f"## Bad runs\n\n{counted.capitalize()} on which the {PERCENTILE}th percentile "
        f"of the final regret of {method}, over common seeds, is smaller than that of "
        "a rival (ahead), equal to it, or larger. In the last line it is compared with "
        "the best of the rivals on each of them."
    )
    groups = [(rival, [rival]) for rival in rivals]
    groups += [("all of them", list(rivals))] if len(rivals) > 1 else []
    rows = [
        (name, *map(str, ahead(all_scores, method, members)))
        for name, members in groups
    ]
    header = ("rival", "ahead", "equal", "behind", "seeds, at least")
    return f"{title}\n\n{table(header, rows)}"
