"""How far variants of a method are from it: one line each, over all problems.

    python benchmarks/studies/ablation.py training.csv

The files are those that ``python -m skrobustbo_benchmarks run`` or ``report --runs``
write; variants are methods with settings, such as ``robust(beta=2)``.
"""

import argparse
import math
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

import shared
from scores import (
    LEAST_SHARE,
    YARDSTICK,
    add_report_arguments,
    methods_of,
    reference_of,
    report,
    yard_of,
)
from skrobustbo_benchmarks._args import CommandError
from skrobustbo_benchmarks._report import number, table

#: Columns of the scores that are compared, and what the table calls them.
MEASURES = {"final": "final regret", "area": "area"}
#: A share that is smaller by a tenth.
TENTH = math.log10(0.9)


class Pair(NamedTuple):
    """Columns "final" and "area" by seed, on a problem; what random search leaves."""

    variant: Any
    reference: Any
    yard: float


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add_report_arguments(parser)
    return parser


def main(args):
    """Print, or write to --out, the variants' differences from the reference."""
    report(args, lambda lines, found: [section(found, reference_of(args, found))])


def section(all_scores, reference):
    """Return the variants' differences from the reference as markdown."""
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
    header = ("variant", "problems", "seeds", *MEASURES.values())
    return f"{title}\n\n{table(header, rows)}"


def _row(all_scores, method, reference):
    pairs = pairs_of(all_scores, method, reference)
    n_seeds = min((len(pair.variant) for pair in pairs), default=0)
    cells = [_cell(pairs, measure) for measure in MEASURES]
    return method, str(len(pairs)), str(n_seeds), *cells


def pairs_of(all_scores, method, reference):
    """Return the problems that both have runs of and random search leaves unsolved."""
    pairs = []
    for of_task in all_scores.values():
        yard = yard_of(of_task)
        if yard is None or not {method, reference} <= set(of_task["final"]):
            continue
        common = of_task.swaplevel(axis=1)[[method, reference]].dropna()
        if len(common):
            pairs.append(Pair(common[method], common[reference], yard))
    return pairs


def _cell(pairs, measure):
    if not pairs:
        return "-"
    steps = differences(pairs, measure)
    n_better, n_worse = (steps < TENTH).sum(), (steps > -TENTH).sum()
    error = jackknife_error(pairs, measure)
    return f"{steps.mean():+.3f} ± {number(error, '.3f')} ({n_better}, {n_worse})"


def differences(pairs, measure, without=()):
    """Return the difference of logarithms on each problem, some seeds left out."""

    def log_share(of_seeds, yard):
        share = of_seeds[measure].drop(index=list(without)).mean() / yard
        # A run without a single finite value has found nothing at all.
        return math.log10(min(max(share, LEAST_SHARE), 1 / LEAST_SHARE))

    return np.array(
        [
            log_share(variant, yard) - log_share(reference, yard)
            for variant, reference, yard in pairs
        ]
    )


def jackknife_error(pairs, measure):
    """Return the standard error of the mean difference, from leaving out one seed.

    A seed is left out on all problems of equal seeds at once, as they may err together.
    Such groups of problems are taken to err independently of each other.
    """
    groups = defaultdict(list)
    for pair in pairs:
        groups[frozenset(pair.variant.index)].append(pair)
    if min(map(len, groups)) < 2:
        return math.nan
    return math.sqrt(
        sum(
            _jackknife_variance(group, measure, sorted(seeds), len(pairs))
            for seeds, group in groups.items()
        )
    )


def _jackknife_variance(group, measure, seeds, n_problems):
    """Return what problems of equal seeds add to the variance of the mean."""
    sums = [differences(group, measure, {seed}).sum() for seed in seeds]
    return (len(seeds) - 1) * np.var(np.array(sums) / n_problems)


if __name__ == "__main__":
    shared.run(build_parser(), main)
