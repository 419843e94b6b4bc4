"""Runs as numbers to be compared: by task, a table of seeds x methods.

By problem and length of the runs, *scores* are a table with a row for each seed, and of
"final" and "area" a column for each method, nan where it has no such run: the simple
regret at the end, inf without a single finite value, and its mean over the evaluations
after the initial design.
"""

import math

import numpy as np

from skrobustbo_benchmarks._record import KEY, TASK
from skrobustbo_benchmarks._report import add_arguments, make_report, named

#: The method that others are compared with, unless another is asked for.
REFERENCE = "robust"
#: What a name that is not found should have been.
METHOD = "method in the table"
#: The method whose median regret others are measured by.
YARDSTICK = "random"
#: Smaller shares of it count as this: beyond, nobody gains from further digits.
LEAST_SHARE = 1e-4


def add_report_arguments(parser):
    """Add the arguments that `report` and `reference_of` read."""
    add_arguments(parser)
    parser.add_argument(
        "--reference",
        metavar="NAME",
        help=f"method that others are compared with (default: {REFERENCE})",
    )


def report(args, sections_of):
    """Print, or write to --out, a report on the runs that the arguments name.

    Its sections are those that `sections_of` returns of the runs' lines and scores.
    """
    # What stands in for an optimum must not depend on what is shown.
    make_report(
        args, lambda lines, everything: sections_of(lines, scores(lines, everything))
    )


def reference_of(args, found):
    """Return the method that others are compared with."""
    if args.reference is None:
        return REFERENCE
    return named(METHOD, [args.reference], methods_of(found))[0]


def scores(lines, table=None):
    """Return the scores of runs; smaller is better.

    Parameters
    ----------
    lines : DataFrame
        The runs, a line each.
    table : DataFrame, optional
        Runs that `lines` are a part of, all of them by default: where the optimum of a
        problem is not known, the largest value of any of them stands in for it.
    """
    largest = (lines if table is None else table).groupby("problem")["best"].max()
    stand_in = lines["problem"].map(largest).replace(-math.inf, math.nan)
    known = lines["final_regret"].notna()
    scored = lines[KEY].assign(
        final=lines["final_regret"].where(known, stand_in - lines["best"]),
        area=lines["area"].where(known, stand_in - lines["mean_best"]),
    )
    scored = scored[scored["final"].notna()]
    return {
        task: rows.pivot(index="seed", columns="policy", values=["final", "area"])
        for task, rows in scored.groupby(TASK)
    }


def methods_of(all_scores):
    """Return the names of all methods, in alphabetical order."""
    return sorted({name for table in all_scores.values() for name in table["final"]})


def paired(of_task, ours, theirs):
    """Return the differences in final regret over the seeds that both have."""
    finals = of_task["final"]
    if not {ours, theirs} <= set(finals):
        return np.empty(0)
    a, b = (finals.dropna(subset=[ours, theirs])[name] for name in (ours, theirs))
    # Two runs without a finite value do not differ.
    return np.array([0.0 if x == y else x - y for x, y in zip(a, b, strict=True)])


def yard_of(of_task):
    """Return what random search leaves in the median; None if nothing, or no runs."""
    finals = of_task["final"]
    yard = float(finals[YARDSTICK].median()) if YARDSTICK in finals else 0.0
    return yard if 0 < yard < math.inf else None
