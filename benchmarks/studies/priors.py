"""Priors of many length scales: what each of them costs the default, as a table.

    python benchmarks/studies/priors.py --out priors.csv

Beyond five parameters, the prior of the default gives the length scales most of their
spread in common. The table compares it with independent length scales, with the same
spread, or with a smaller one. It has the decimal logarithms of the final regret and of
the area (the mean regret after the initial design), as shares of what random search
leaves in the median, as differences from independent length scales of a smaller spread.

The prior was chosen on these functions, which no other study uses: six of 8 to 50
parameters, all of which matter, or a part of them. A third of the evaluations is the
initial design, which all runs of a seed share.
"""

import argparse
import math

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import shared
from removal import bowl, griewank, rastrigin, styblinski
from skrobustbo import Optimizer
from skrobustbo.policies import RobustUCB
from skrobustbo.space import Real, Space
from skrobustbo.surrogate import LogNormalPrior
from skrobustbo_benchmarks._starts import starts

YARDSTICK, REFERENCE = "random", "narrow"
#: Parameters, those that matter, and evaluations.
SIZES = [
    *[(8, 8, 60), (8, 4, 60), (12, 12, 60), (12, 5, 60)],
    *[(20, 20, 100), (20, 6, 100), (50, 50, 100)],
]
PRIORS = {
    "common": lambda d: None,
    REFERENCE: lambda d: LogNormalPrior(0.7, 1.5 * math.sqrt(5 / d)),
    "independent": lambda d: LogNormalPrior(0.7, 1.5),
}


# Functions to minimise over the unit cube, whose least value is 0 ---------------------


def shifted(formula, scale):
    """Return what makes a function with its optimum at a random point."""

    def make(rng, k):
        optimum = rng.uniform(0.2, 0.8, k)
        return lambda u: formula(scale * (u - optimum))

    return make


def sums(z):
    """Return the mean distance of the partial sums from 0: not separable."""
    return np.abs(np.cumsum(z)).mean()


def bumps(rng, k):
    """Make a function that says how far the highest of five bumps is above a point."""
    centres, heights = rng.uniform(0.15, 0.85, (5, k)), rng.uniform(0.5, 1.5, 5)

    def func(u):
        squares = ((u - centres) ** 2).mean(axis=1)
        return heights.max() - np.max(heights * np.exp(-squares / 0.1225))

    return func


FUNCTIONS = {
    "bowl": lambda rng, k: bowl,
    "griewank": shifted(griewank, 20),
    "styblinski": lambda rng, k: lambda u: styblinski(10 * (u - 0.5)) + 39.16617 * k,
    "rastrigin": shifted(rastrigin, 4),
    "sums": shifted(sums, 2),
    "bumps": bumps,
}


def function(name, d, k, seed):
    """Return a function of the unit cube, in which `k` of `d` coordinates matter."""
    rng = np.random.default_rng([seed, d])
    chosen, formula = rng.permutation(d)[:k], FUNCTIONS[name](rng, k)
    return lambda u: float(formula(u[chosen]))


# Runs ---------------------------------------------------------------------------------


def run_of(name, size, seed, method):
    """Return a run: the regret so far after each evaluation beyond the initial ones."""
    (d, k, n), func = size, function(name, *size[:2], seed)
    space = Space({f"x{i}": Real(0.0, 1.0) for i in range(d)})
    start, regrets = starts(space, n // 3, seed), []
    if method == YARDSTICK:
        asked = [*start, *starts(space, n, seed + 1)][:n]
        regrets = [func(np.array(list(params.values()))) for params in asked]
    else:
        policy = RobustUCB(prior=PRIORS[method](d))
        optimizer = Optimizer(
            space, policy, random_state=seed, horizon=n, n_initial_points=1
        )
        for t in range(n):
            params = start[t] if t < len(start) else optimizer.ask()
            regrets.append(func(np.array(list(params.values()))))
            optimizer.tell(params, -regrets[-1])
    so_far = np.minimum.accumulate(regrets)
    return {
        "problem": f"{name}, {k} of {d}",
        "seed": seed,
        "method": method,
        "final": so_far[-1],
        "area": so_far[len(start) :].mean(),
    }


def differences(runs):
    """Return a line per prior: means over the problems, and their standard errors."""
    by_problem = runs.groupby(["problem", "method"])
    final, area = by_problem["final"].median(), by_problem["area"].mean()
    yard = final.xs(YARDSTICK, level="method")
    logs = {
        "final": np.log10(final.unstack().div(yard, axis=0)),
        "area": np.log10(area.unstack().div(yard, axis=0)),
    }
    lines = []
    for method in [name for name in PRIORS if name in logs["area"]]:
        line = {"prior": method, "problems": len(yard)}
        for measure, table in logs.items():
            apart = table[method] - table[REFERENCE]
            line[measure] = round(apart.mean(), 4)
            line[f"{measure}_error"] = round(apart.sem(), 4)
        lines.append(line)
    return pd.DataFrame(lines)


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=10, help="per problem, from 0")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--sizes", nargs="+", type=int, default=range(len(SIZES)))
    parser.add_argument("--functions", nargs="+", default=[*FUNCTIONS])
    parser.add_argument("--priors", nargs="+", default=[*PRIORS], choices=PRIORS)
    parser.add_argument("--out", required=True, help="csv file for the runs")
    return parser


def main(args):
    """Write the runs, and print the table."""
    methods = list(dict.fromkeys([YARDSTICK, REFERENCE, *args.priors]))
    tasks = [
        (name, SIZES[i], seed, method)
        for i in args.sizes
        for name in args.functions
        for seed in range(args.seeds)
        for method in methods
    ]
    runs = pd.DataFrame(Parallel(args.jobs)(delayed(run_of)(*task) for task in tasks))
    runs.to_csv(args.out, index=False)
    print(differences(runs).to_string(index=False))


if __name__ == "__main__":
    shared.run(build_parser(), main)
