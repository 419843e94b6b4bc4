"""How a method's bad runs compare with those of others, problem by problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from skrobustbo.benchmarks._compare import unit_of
from skrobustbo.benchmarks._markdown import table
from skrobustbo.benchmarks._scores import Score, Scores, on_common_seeds

#: Share of the runs that end no worse than the figure compared.
PERCENTILE = 90


def tail(of_seeds: Mapping[int, Score]) -> float:
    """Return the 90th percentile of the final regret."""
    finals = [score.final for score in of_seeds.values()]
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
        present = [rival for rival in rivals if rival in of_task]
        if method not in of_task or not present:
            continue
        common = on_common_seeds({name: of_task[name] for name in [method, *present]})
        if not common[method]:
            continue
        tails = [tail(common[name]) for name in [method, *present]]
        best = min(tails[1:])  # not their difference: both may be infinite
        signs.append((best > tails[0]) - (best < tails[0]))
        counts.append(len(common[method]))
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
