"""Methods on ordinary problems at every moment of a run, beside a reference.

    python benchmarks/studies/ordinary.py --out ordinary.csv --methods robust,random

The regret is the optimum minus the best value so far, as a share of the median over the
space, in decimal logarithms, and not below 1e-8. The table has its mean over pairs of a
family and a seed after 25, 40, 60, 80 and 100 % of the evaluations, minus that of the
reference, with a bootstrap interval (95 %) over the pairs. Runs that the csv file holds
already are not made again.

The rules by which the default was chosen, set before the runs:

1. Runs for choosing have their families and their seeds to themselves. Results are
   reported on the other families and seeds.
2. With d = 2, 3, 4 and 100 evaluations, all pairs pooled, the upper limit of the
   difference from map-gp-ucb is at most +0.1 after 40, 60, 80 and 100 evaluations, and
   +0.2 after 25. No family has a mean above +0.3. At the end, the limit is below 0.
3. Of the settings that meet this, the one that finds the most peaks in traps of seeds
   from 1000 on is taken. Of two that differ by less than 2 in 100, it is the one with
   fewer parts.
4. With 300 evaluations, d = 2, 4, the mean is at most +0.3 after a third and two thirds
   of them. With d = 5 and 10 and in mixed spaces, the settings before are not better
   (their interval of the difference does not lie below 0).
"""

import argparse
import json
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd

import shared
from lines import Labelled, add_options, completed, show
from skrobustbo_benchmarks import _methods
from skrobustbo_benchmarks._args import CommandError, checked_names, positive_int
from skrobustbo_benchmarks._record import RunKey
from skrobustbo_benchmarks._report import table
from skrobustbo_benchmarks._single import run_one
from skrobustbo_benchmarks._spelling import checked_methods, made_problem
from skrobustbo_benchmarks._starts import starts
from skrobustbo_benchmarks.problems._ordinary import (
    CHOOSING,
    FIRST_CHOOSING_SEED,
    REPORTING,
)

#: Shares of the evaluations after which the regret is shown.
MOMENTS = (0.25, 0.4, 0.6, 0.8, 1.0)
#: Smaller shares of the median count as this.
LEAST = 1e-8
#: Points of a space whose median value is the yard of its regrets.
MEASURED = 512
#: Resamples of a bootstrap, and the level of its interval.
RESAMPLES, LEVEL = 2000, 0.95
#: Families and first seed by what the runs are for.
ROLES = {"choosing": (CHOOSING, FIRST_CHOOSING_SEED), "reporting": (REPORTING, 0)}


class Key(NamedTuple):
    """What tells one run from another."""

    family: str
    d: int
    n_iter: int
    method: str
    seed: int


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "yard": float,  # the optimum minus the median value
    "best": str,  # JSON: the optimum minus the best value after each evaluation
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add_options(parser, ROLES, "family")
    add = parser.add_argument
    add("--families", nargs="+", metavar="NAME", help="default: all of the role")
    add("--d", nargs="+", type=positive_int, default=[2, 3, 4], help="parameters")
    add("--n-iter", type=positive_int, default=100, metavar="N", help="(100)")
    add("--reference", default="map-gp-ucb", metavar="NAME", help="(map-gp-ucb)")
    return parser


def main(args):
    """Make the runs that are missing, and print or write the table."""
    families, first = ROLES[args.role]
    chosen = checked_names("family", args.families or families, families)
    methods = checked_methods([args.reference, *args.methods], _methods.available())
    if args.label is not None and len(methods) > 2:
        raise CommandError("--label takes a single one of --methods.")
    keys = [
        Key(family, d, args.n_iter, method, seed)
        for seed in range(first, first + args.seeds)
        for d in args.d
        for family in chosen
        for method in methods
    ]
    labels = {methods[-1]: args.label} if args.label else {}
    made = Labelled(labels, result_of)
    named = [made.named(key) for key in keys]
    runs = completed(args.out, COLUMNS, named, made, args.jobs)
    wanted = (
        runs[list(Key._fields)].apply(tuple, axis=1).isin([tuple(k) for k in named])
    )
    show(report(runs[wanted], args.reference), args.table)


def result_of(key):
    """Return the result of a run, which depends on its key only."""
    problem = f"ordinary(family={key.family!r},d={key.d})"
    trace = run_one(RunKey(problem, key.n_iter, key.method, key.seed))
    regrets = (trace["optimum"] - trace["best"]).tolist()
    regrets += regrets[-1:] * (key.n_iter - len(regrets))  # all points are known
    return {"yard": yard_of(problem, key.seed), "best": json.dumps(regrets)}


@cache
def yard_of(text, seed):
    """Return the optimum minus the median value of a problem of a seed."""
    problem = made_problem(text).sample_function(seed)
    points = starts(problem.space, MEASURED, seed)
    return problem.optimum - float(np.median([problem.func(p) for p in points]))


# The table ----------------------------------------------------------------------------


def logs_of(runs):
    """Return the logarithms of the regrets, a column for each moment, by key."""
    n_iter = runs["n_iter"].to_numpy()
    curves = [np.array(json.loads(text)) for text in runs["best"]]
    shares = {
        moment: [
            curve[max(1, round(moment * n)) - 1] / yard
            for curve, n, yard in zip(curves, n_iter, runs["yard"], strict=True)
        ]
        for moment in MOMENTS
    }
    by_key = pd.MultiIndex.from_frame(runs[list(Key._fields)])
    return np.log10(pd.DataFrame(shares, index=by_key).clip(lower=LEAST))


def differences(runs, reference):
    """Return the logarithms minus those of the reference, for pairs that both have."""
    logs = logs_of(runs)
    others = [name for name in Key._fields if name != "method"]
    base = logs.xs(reference, level="method")
    apart = logs.reset_index("method")
    method = apart.pop("method")
    apart = (apart - base.reindex(apart.index)).assign(method=method).dropna()
    return apart.reset_index().set_index([*others, "method"])


def interval(values, seed=0):
    """Return the mean of the rows and the limits of its bootstrap interval."""
    values = np.asarray(values, dtype=float)
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(values), size=(RESAMPLES, len(values)))
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.quantile(values[rows].mean(axis=1), tails, axis=0)
    return values.mean(axis=0), low, high


def report(runs, reference):
    """Return the table of the differences as markdown."""
    apart = differences(runs, reference).reset_index()
    rows = []
    for (n_iter, method), group in apart.groupby(["n_iter", "method"], sort=False):
        if method == reference:
            continue
        parts = [("all", "all", group)]
        dims = sorted(group["d"].unique())
        parts += [
            (str(d), "all", group[group["d"] == d]) for d in dims if len(dims) > 1
        ]
        parts += [("all", family, of) for family, of in group.groupby("family")]
        for d, family, of in parts:
            cells = zip(*interval(of[list(MOMENTS)]), strict=True)
            figures = [
                f"{m:+.2f} ({low:+.2f} to {high:+.2f})" for m, low, high in cells
            ]
            rows.append((method, str(n_iter), d, family, str(len(of)), *figures))
    moments = [f"{moment:.0%}" for moment in MOMENTS]
    header = ("method", "N", "d", "family", "pairs", *moments)
    title = (
        f"Regret in decimal logarithms minus that of {reference}, mean ({LEVEL:.0%} "
        "bootstrap interval), by the share of the evaluations made:"
    )
    return f"{title}\n\n{table(header, rows, n_left=4)}"


if __name__ == "__main__":
    shared.run(build_parser(), main)
