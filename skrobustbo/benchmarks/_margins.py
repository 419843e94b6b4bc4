"""Is a method worse than others? One-sided tests with a margin, and its bad runs.

The margin is a share of what there is to gain: of the optimum minus the median of
random search, which is random search's median regret.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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


def compare(all_scores: Scores, method: str, rival: str) -> pd.DataFrame:
    """Return a method's comparisons with a rival, a row for each task.

    Tasks without common seeds or without random search are left out.

    Returns
    -------
    DataFrame
        The rival; "problem" and "n_iter"; "n_seeds" that both have; "difference": the
        median of the method's final regret minus the rival's; "margin": the excess
        allowed; "p_no_worse" and "p_worse": one-sided p-values, corrected over the
        rows, of the differences lying below the margin and above it; "verdict".
    """
    rows, excess = [], []
    for (problem, n_iter), of_task in all_scores.items():
        sample, finals = paired(of_task, method, rival), of_task["final"]
        if YARDSTICK in finals and len(sample):
            margin = MARGIN * float(finals[YARDSTICK].median())
            middle = float(np.median(sample))
            rows.append((rival, problem, n_iter, len(sample), middle, margin))
            excess.append(sample - margin)
    names = ["rival", "problem", "n_iter", "n_seeds", "difference", "margin"]
    found = pd.DataFrame(rows, columns=names).assign(
        p_no_worse=holm([p_below(sample) for sample in excess]),
        p_worse=holm([p_below(-sample) for sample in excess]),
    )
    no_worse, worse = (found[p] <= LEVEL for p in ("p_no_worse", "p_worse"))
    verdicts = np.select([worse, no_worse], ["worse", "no worse"], "undecided")
    return found.assign(verdict=verdicts)


def margins_section(all_scores: Scores, method: str, rivals: Sequence[str]) -> str:
    """Return the tests of a method against its rivals as markdown."""
    title = (
        f"## Is {method} worse than another?\n\nBy more than {MARGIN:.0%} of (optimum "
        f"- median of {YARDSTICK} search), in the final regret over the common seeds: "
        f"Wilcoxon's signed-rank test, one-sided in either direction, {LEVEL:.0%}, "
        "Holm's correction over the problems of a rival. Where neither rejects, it is "
        "undecided."
    )
    parts = [compare(all_scores, method, rival) for rival in rivals]
    found = pd.concat([part for part in parts if len(part)] or parts)
    if not len(found):
        return (
            f"{title}\n\nThere is nothing to test: it takes runs of {method}, of "
            f"{YARDSTICK} and of a rival on one problem."
        )
    sums = [
        (rival, str(len(part)), *(str((part["verdict"] == v).sum()) for v in VERDICTS))
        for rival, part in zip(rivals, parts, strict=True)
    ]
    summary = table(("rival", "problems", *VERDICTS), sums)
    lines = table(_HEADER, map(_cells, found.itertuples()), n_left=2)
    return f"{title}\n\n{summary}\n\n{lines}{_power_note(found)}"


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


def _cells(line: Any) -> tuple[str, ...]:
    return (
        line.rival,
        f"{line.problem}, {line.n_iter}",
        str(line.n_seeds),
        difference(line.difference),
        number(line.margin),
        number(line.p_no_worse),
        number(line.p_worse),
        line.verdict,
    )


def _power_note(lines: pd.DataFrame) -> str:
    needed = seeds_needed(int(lines["rival"].value_counts().max()))
    n_seeds = int(lines["n_seeds"].max())
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
