"""How often methods find the best peak of traps, beside a Sobol sequence.

    python benchmarks/studies/traps.py traps.csv --out traps.md

The files are those that ``python -m skrobustbo_benchmarks run`` or ``report --runs``
write, of the problem ``trap`` with settings. A run has found the peak unless it is
stuck. What it is measured by is a Sobol sequence of half as many points: whether one of
them is in the basin of the peak, however far below its top.
"""

import argparse
from functools import cache

import numpy as np
from scipy.stats import binomtest

import shared
from skrobustbo_benchmarks._args import CommandError
from skrobustbo_benchmarks._report import add_arguments, make_report, table
from skrobustbo_benchmarks._spelling import made_problem, split_method
from skrobustbo_benchmarks._starts import starts

#: Level of the tests.
LEVEL = 0.05
#: Sets the stream of the Sobol sequences apart from those of initial designs.
STREAM = 1_000_003


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add_arguments(parser)
    return parser


def main(args):
    """Print, or write to --out, how often the peaks are found."""
    make_report(args, lambda lines, _: [section(lines)])


def section(lines):
    """Return the shares of runs that find the peak as markdown."""
    traps = lines[lines["problem"].map(lambda text: split_method(text)[0] == "trap")]
    if traps.empty:
        raise CommandError("Expected runs of the problem trap. Got none.")
    made = [trap_of(run.problem, run.seed) for run in traps.itertuples()]
    traps = traps.assign(
        d=[len(trap.space.names) for trap in made],
        found=traps["best"] >= traps["stuck_below"],
        kind=[trap.func.kind for trap in made],
        entered=[
            enters(run.problem, run.n_iter, run.seed) for run in traps.itertuples()
        ],
    )
    title = (
        "## Traps\n\nRuns that end on the best peak, of all. The first line is how "
        "often a Sobol sequence of half as many points has one in the basin. A star: "
        "found less often than that, in a paired test (exact, one-sided, "
        f"{LEVEL:.0%})."
    )
    by_d = ("n_iter", "d")
    return "\n\n".join([title, shares(traps, by_d), shares(traps, ("kind",))])


def shares(traps, by):
    """Return a table with a row for each method, and a column for each group."""
    groups = [(group, of) for group, of in traps.groupby(list(by))]
    header = ["method", *(_named(by, group) for group, _ in groups), "all"]
    parts = [of for _, of in groups] + [traps]
    every = [of.drop_duplicates(["problem", "n_iter", "seed"]) for of in parts]
    rows = [["Sobol enters", *(_of(len(of), of["entered"].sum()) for of in every)]]
    for method in sorted(traps["policy"].unique()):
        own = [of[of["policy"] == method] for of in parts]
        rows.append([method, *map(_cell, own)])
    return table(header, rows)


def _named(by, group):
    return ", ".join(
        f"{value} evaluations" if name == "n_iter" else f"{name} = {value}"
        for name, value in zip(by, group, strict=True)
    )


def _of(n, k):
    return f"{int(k)} of {n}"


def _cell(runs):
    star = "*" if p_fewer(runs) <= LEVEL else ""
    return _of(len(runs), runs["found"].sum()) + star if len(runs) else "-"


def p_fewer(runs):
    """Return the p-value of peaks being found no less often than basins are entered."""
    lost = int((runs["entered"] & ~runs["found"]).sum())
    won = int((~runs["entered"] & runs["found"]).sum())
    if not lost:
        return 1.0
    return float(binomtest(lost, lost + won, alternative="greater").pvalue)


@cache
def trap_of(text, seed):
    """Return the trap of a seed."""
    return made_problem(text).sample_function(seed)


@cache
def enters(text, n_iter, seed):
    """Return whether half as many points of a Sobol sequence enter the basin."""
    problem = trap_of(text, seed)
    points = starts(problem.space, n_iter // 2, STREAM + seed)
    X = np.array([problem.space.encode(params) for params in points])
    return bool(problem.func.enters(X).any())


if __name__ == "__main__":
    shared.run(build_parser(), main)
