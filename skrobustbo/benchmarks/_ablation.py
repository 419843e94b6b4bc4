"""How far variants of a method are from it: one line each, over all problems."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._compare import LEAST_SHARE, YARDSTICK, yard_of
from skrobustbo.benchmarks._markdown import number, table
from skrobustbo.benchmarks._scores import Scores, methods_of

#: Columns of the scores that are compared, and what the table calls them.
_MEASURES = {"final": "final regret", "area": "area"}

Array = NDArray[np.float64]


class Pair(NamedTuple):
    """The scores of a variant and of the reference on one problem.

    Parameters
    ----------
    variant, reference : DataFrame
        Columns "final" and "area" by seed; the same seeds in both.
    yard : float
        What random search leaves in the median.
    """

    variant: pd.DataFrame
    reference: pd.DataFrame
    yard: float


def ablation_section(all_scores: Scores, reference: str) -> str:
    """Return the variants' differences from the reference as markdown.

    Raises
    ------
    CommandError
        If the reference or random search, the yardstick, has no runs.
    """
    methods = methods_of(all_scores)
    for needed in (reference, YARDSTICK):
        if needed not in methods:
            raise CommandError(
                f"A comparison of variants takes runs of {needed}; there are none in "
                f"{methods}."
            )
    title = (
        f"## Differences from {reference}\n\nIn the decimal logarithm of the mean over "
        f"seeds, as a share of what {YARDSTICK} search leaves in the median, at least "
        f"{LEAST_SHARE:g}; the mean over problems ± its standard error (jackknife over "
        f"seeds). Negative is better than {reference}. In parentheses the problems on "
        "which the share is smaller by a tenth or more, and on which it is larger."
    )
    rows = [
        _row(all_scores, method, reference) for method in methods if method != reference
    ]
    header = ("variant", "problems", "seeds", *_MEASURES.values())
    return f"{title}\n\n{table(header, rows)}"


def _row(all_scores: Scores, method: str, reference: str) -> tuple[str, ...]:
    pairs = pairs_of(all_scores, method, reference)
    n_seeds = min((len(pair.variant) for pair in pairs), default=0)
    cells = [_cell(pairs, measure) for measure in _MEASURES]
    return method, str(len(pairs)), str(n_seeds), *cells


def pairs_of(all_scores: Scores, method: str, reference: str) -> list[Pair]:
    """Return the problems that both have runs of and random search leaves unsolved."""
    pairs = []
    for of_task in all_scores.values():
        yard = yard_of(of_task)
        if yard is None:
            continue
        if not {method, reference} <= set(of_task["final"]):
            continue
        common = of_task.swaplevel(axis=1)[[method, reference]].dropna()
        if len(common):
            pairs.append(Pair(common[method], common[reference], yard))
    return pairs


def _cell(pairs: Sequence[Pair], measure: str) -> str:
    if not pairs:
        return "-"
    steps = differences(pairs, measure)
    n_better = int((steps < math.log10(0.9)).sum())
    n_worse = int((steps > -math.log10(0.9)).sum())
    error = jackknife_error(pairs, measure)
    return f"{steps.mean():+.3f} ± {number(error, '.3f')} ({n_better}, {n_worse})"


def differences(
    pairs: Sequence[Pair], measure: str, without: Collection[int] = ()
) -> Array:
    """Return the difference of logarithms on each problem, some seeds left out."""

    def mean(of_seeds: pd.DataFrame) -> float:
        return float(of_seeds.drop(index=list(without))[measure].mean())

    return np.array(
        [
            _log_share(mean(pair.variant), pair.yard)
            - _log_share(mean(pair.reference), pair.yard)
            for pair in pairs
        ]
    )


def _log_share(value: float, yard: float) -> float:
    # A run without a single finite value has found nothing at all.
    return math.log10(min(max(value / yard, LEAST_SHARE), 1 / LEAST_SHARE))


def jackknife_error(pairs: Sequence[Pair], measure: str) -> float:
    """Return the standard error of the mean difference, from leaving out one seed.

    A seed is left out on all problems of equal seeds at once, as they may err together.
    Such groups of problems are taken to err independently of each other.
    """
    groups: dict[frozenset[int], list[Pair]] = defaultdict(list)
    for pair in pairs:
        groups[frozenset(pair.variant.index)].append(pair)
    if min(map(len, groups)) < 2:
        return math.nan
    variances = [
        _jackknife_variance(group, measure, sorted(seeds), len(pairs))
        for seeds, group in groups.items()
    ]
    return math.sqrt(sum(variances))


def _jackknife_variance(
    group: Sequence[Pair], measure: str, seeds: Sequence[int], n_problems: int
) -> float:
    """Return what problems of equal seeds add to the variance of the mean."""
    sums = [differences(group, measure, {seed}).sum() for seed in seeds]
    n = len(seeds)
    return float((n - 1) * np.var(np.array(sums) / n_problems))
