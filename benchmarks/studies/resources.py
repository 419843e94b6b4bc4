r"""A resource axis, beside full evaluation and other uses of cheap evaluations.

    python benchmarks/studies/resources.py run --out resources.csv --seeds 0-4
    python benchmarks/studies/resources.py run --out resources.csv --only live \
        --seeds 0-4
    python benchmarks/studies/resources.py show resources.csv

All methods have the budget of 50 full evaluations. "full" is the default policy without
a resource, "resource" with one; each of its evaluations starts anew. "halving" is the
schedule of scikit-learn's `HalvingRandomSearchCV`, begun again with new candidates
until the budget is used. "lowest" spends one half of it on random candidates with the
smallest amount, and the other on the best of them in full. "hyperband" is Optuna's TPE
with its Hyperband pruner. It goes on with a trial where the others begin anew, so it
pays for the last amount of a trial only. "dehb" and "smac" are DEHB and the
multi-fidelity facade of SMAC; packages have to be installed. Rows that the file holds
are not made again.

The price of a score is the cost at which the mean over the seeds reaches it, relative
to the cost of the full search. If that never happens, it counts as 1.2 times the
budget. The limit of 90 % is from bootstrap samples of the seeds.

The tasks of LCBench are the last 14; the first 20 have been used for choosing. The live
tunings fit real estimators.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

import resource_peers as peers
import shared
from resource_tunings import TUNINGS, live
from skrobustbo import Optimizer
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._args import seed_list
from skrobustbo_benchmarks._report import table
from skrobustbo_benchmarks.datasets import fetch_lcbench

#: Full evaluations that a run may cost, and the shares of them that are looked at.
BUDGET = 50
SHARES = [0.1, 0.2, 1 / 3, 0.5, 0.7, 1.0]
#: Tasks of LCBench, the first ones, that have been used for choosing.
CHOOSING = 20
KINDS = ["agreeing", "reversed", "unrelated"]
#: Where a score is never reached, this counts as the share of the budget.
NEVER = 1.2
#: Shares of the budget of "full" whose scores have a price.
TARGETS = [0.2, 1 / 3, 0.5, 1.0]
#: Costs at which curves are compared, and bootstrap samples of the seeds.
GRID, N_BOOTSTRAP = np.linspace(1, BUDGET, 18 * (BUDGET - 1) + 1), 200


class Costs:
    """A problem, and what a run has paid and found.

    Parameters
    ----------
    problem : Problem
        It has a resource.
    """

    def __init__(self, problem):
        self.space, self.resource = problem.space, problem.resource
        high = self.resource.high
        self.amounts = [max(1, round(high / 9)), round(high / 3), high]
        self.paid, self.best, self.curve = 0.0, -np.inf, []

    @property
    def left(self):
        """What is left of the budget."""
        return BUDGET - self.paid

    def __call__(self, params, amount, before=0.0):
        """Return a value and pay for it; of a resumed one, for what is new."""
        value = self.resource.value(params, amount)
        self.paid += (amount - before) / self.amounts[-1]
        in_time = amount == self.amounts[-1] and self.paid <= BUDGET + 1e-9
        if in_time and value > self.best:
            self.best = value
            self.curve.append((self.paid, value))
        return value

    def best_at(self, paid):
        """Return the best value at a cost; before any, the first."""
        costs, values = np.array(self.curve).T
        i = np.searchsorted(costs, paid + 1e-9, side="right") - 1
        return values[np.maximum(i, 0)]


# The methods --------------------------------------------------------------------------


def full(costs, seed):
    """Search with the default policy, without a resource."""
    optimizer = Optimizer(costs.space, horizon=BUDGET, random_state=seed)
    while costs.left > 0.5:
        params = optimizer.ask()
        optimizer.tell(params, costs(params, costs.amounts[-1]))


def resource(costs, seed):
    """Search with the default policy, with a resource."""
    settings = {"horizon": BUDGET, "resources": costs.amounts, "random_state": seed}
    optimizer = Optimizer(costs.space, **settings)
    while costs.left > 1e-9:
        params, amount = optimizer.ask(return_resource=True)
        optimizer.tell(params, costs(params, amount), resource=amount)


def drawn(costs, n, seed):
    """Return random points of a space."""
    rng = np.random.default_rng(seed)
    X = costs.space.from_uniform(rng.random((n, costs.space.n_uniform)))
    return [costs.space.decode(x) for x in X]


def random(costs, seed):
    """Evaluate random points in full."""
    for params in drawn(costs, BUDGET, [seed, 1]):
        costs(params, costs.amounts[-1])


def halving(costs, seed):
    """Evaluate candidates with little, the best third with more, and so on."""
    rounds = 0
    while costs.left > 1e-9:
        rounds += 1
        points = drawn(costs, 9, [seed, 2, rounds])
        for amount in costs.amounts:
            values = [costs(params, amount) for params in points]
            order = np.argsort(-np.array(values), kind="stable")
            points = [points[i] for i in order[: max(1, len(points) // 3)]]


def lowest(costs, seed):
    """Evaluate many with the smallest amount, and the best of them in full."""
    low, high = costs.amounts[0], costs.amounts[-1]
    points = drawn(costs, int(BUDGET / 2 * high / low), [seed, 3])
    values = np.array([costs(params, low) for params in points])
    for i in np.argsort(-values, kind="stable")[: int(costs.left)]:
        costs(points[i], high)


OURS = (full, resource, random, halving, lowest)
PEERS = (peers.hyperband, peers.dehb, peers.smac)
METHODS = {each.__name__: each for each in OURS + PEERS}

# The runs -----------------------------------------------------------------------------


def lcbench_names():
    """Return the names of the tasks of LCBench that are reported."""
    return [f"lcbench-{task}" for task in list(fetch_lcbench().tasks)[CHOOSING:]]


def curve_names():
    """Return the names of the learning curves, of which some mislead."""
    return [f"{kind}-{number}" for kind, number in product(KINDS, range(4))]


def live_names():
    """Return the names of the live tunings."""
    return [f"live-{name}" for name in TUNINGS]


NAMES = {"lcbench": lcbench_names, "curves": curve_names, "live": live_names}


def every_problem(args):
    """Return the names of all problems, or of one kind of them."""
    kinds = [args.only] if args.only else NAMES
    return [name for kind in kinds for name in NAMES[kind]()]


def problem_of(name):
    """Return a problem by its name in the file."""
    kind, _, rest = name.partition("-")
    if kind == "lcbench":
        return problems.get(name)
    if kind == "live":
        return live(rest)
    return problems.get("learning-curves", kind=kind, seed=int(rest))


def row_of(name, method, seed):
    """Make a run."""
    costs = Costs(problem_of(name))
    METHODS[method](costs, seed)
    at = {f"at_{share:.3g}": costs.best_at(share * BUDGET) for share in SHARES}
    area = float(np.mean(costs.best_at(np.linspace(1, BUDGET, 4 * BUDGET))))
    curve = " ".join(f"{paid:.5g}:{best:.8g}" for paid, best in costs.curve)
    row = {"problem": name, "method": method, "seed": seed, "area": area}
    return {**row, **at, "curve": curve}


def run(args):
    """Add the rows that are missing."""
    path = Path(args.out)
    held = pd.read_csv(path) if path.exists() else pd.DataFrame()
    columns = (held.get(name, []) for name in ("problem", "method", "seed"))
    keys = set(zip(*columns, strict=True))
    names = args.problems.split(",") if args.problems else every_problem(args)
    for key in product(names, args.methods.split(","), args.seeds):
        if key not in keys:
            row = pd.DataFrame([row_of(*key)])
            row.to_csv(path, mode="a", header=not path.exists(), index=False)
            print(*key, flush=True)


# The tables ---------------------------------------------------------------------------


def group_of(name):
    """Return the table that a problem belongs to."""
    return name.split("-")[0]


def regrets(runs):
    """Return the runs with regrets in the place of values.

    Where the optimum is not known, the best value of all runs stands for it.
    """
    best = {name: 1.0 for name in runs.problem if group_of(name) in KINDS}
    known = runs.groupby("problem")["at_1"].max().to_dict() | best
    columns = [f"at_{share:.3g}" for share in SHARES]
    optimum = runs.problem.map(known)
    return runs.assign(**{column: optimum - runs[column] for column in columns})


def curves(runs):
    """Return the medians of the regret, on average over problems, and mean ranks."""
    lost, columns = regrets(runs), [f"at_{share:.3g}" for share in SHARES]
    medians = lost.groupby(["problem", "method"])[columns].median().clip(lower=1e-4)
    logs = np.log10(medians).groupby("method").mean()
    areas = runs.groupby(["problem", "method"])["area"].mean().unstack()
    ranks = areas.rank(axis=1, ascending=False).mean()
    rows = [
        [method, *(f"{10**v:.3g}" for v in logs.loc[method]), f"{ranks[method]:.2f}"]
        for method in ranks.sort_values().index
    ]
    shares = [f"{share:.0%} of the budget" for share in SHARES]
    return table(["method", *shares, "mean rank of the area"], rows)


def prices(runs):
    """Return a table of what the scores of "full" cost each method."""
    found = {key: curves_of(here) for key, here in runs.groupby(["problem", "method"])}
    names, rng = list(dict.fromkeys(runs.problem)), np.random.default_rng(0)
    rows = []
    for method in [name for name in METHODS if name in set(runs.method) - {"full"}]:
        pairs = [(found[name, "full"], found[name, method]) for name in names]
        again = [
            [[rng.choice(part, len(part)) for part in pair] for pair in pairs]
            for _ in range(N_BOOTSTRAP)
        ]
        cells = []
        for share in TARGETS:
            logs = [log_price(*pair, share) for pair in pairs]
            drawn = [np.mean([log_price(*p, share) for p in each]) for each in again]
            never = sum(log == np.log(NEVER / share) for log in logs)
            most = np.exp(np.quantile(drawn, 0.9))
            cells.append(f"{np.exp(np.mean(logs)):.2f} (to {most:.2f}; {never} never)")
        rows.append([method, *cells])
    return table(["method", *(f"score of {share:.0%}" for share in TARGETS)], rows)


def curves_of(runs):
    """Return the best values of runs at each cost of the grid, shape (runs, costs)."""
    return np.array([values_at(text, GRID) for text in runs.curve])


def log_price(full, other, share):
    """Return the logarithm of the cost of a score relative to that of "full"."""
    goal = full.mean(0)[np.searchsorted(GRID, share * BUDGET - 1e-9)]
    there = np.flatnonzero(other.mean(0) >= goal)
    return np.log(GRID[there[0]] / BUDGET / share if len(there) else NEVER / share)


def curve_of(text):
    """Return the costs and the values of a curve in the file."""
    return np.array([pair.split(":") for pair in text.split()], float).T


def values_at(text, grid):
    """Return the best value at each cost, -inf before the first full evaluation."""
    costs, values = curve_of(text)
    i = np.searchsorted(costs, grid + 1e-9, side="right") - 1
    return np.where(i < 0, -np.inf, values[i])


def lost_by_wrong_rungs(runs):
    """Return what wrong rungs cost at the end, and a test that it is more than 5%."""
    lost = regrets(runs).pivot_table(
        index=["problem", "seed"], columns="method", values="at_1"
    )
    left = lost["random"].groupby("problem").median()
    share = (lost["resource"] - lost["full"]) / left.reindex(
        lost.index, level="problem"
    )
    p = wilcoxon(share - 0.05, alternative="greater").pvalue
    low, middle, high = np.percentile(share, [25, 50, 75])
    spread = f"{middle:+.2%} ({low:+.2%} to {high:+.2%})"
    return [spread, f"{share.mean():+.1%}", f"{p:.2g}"]


def finals(runs):
    """Return the median of the final regret, on average over each kind's problems."""
    medians = regrets(runs).groupby(["group", "problem", "method"])["at_1"].median()
    logs = np.log10(medians.clip(lower=1e-4)).groupby(["method", "group"]).mean()
    every = 10 ** logs.unstack()[KINDS]
    order = every[KINDS[1:]].prod(axis=1).sort_values().index
    rows = [[name, *(f"{v:.3g}" for v in every.loc[name])] for name in order]
    return table(["method", *KINDS], rows)


def show(args):
    """Print the tables."""
    runs = pd.read_csv(args.path)
    runs = runs.assign(group=runs.problem.map(group_of))
    wrong = []
    for group, here in runs.groupby("group", sort=False):
        print(f"\n{group}\n\n{curves(here)}")
        if {"full", "resource"} <= set(here.method):
            print(f"\nPrices\n\n{prices(here)}")
        if group in KINDS and {"full", "resource", "random"} <= set(here.method):
            wrong.append([group, *lost_by_wrong_rungs(here)])
    header = ["kind", "median (quartiles)", "mean", "p of more than 5%"]
    print(f"\n{table(header, wrong)}")
    if set(KINDS) <= set(runs.group):
        print(f"\nFinal regret\n\n{finals(runs[runs.group.isin(KINDS)])}")


def parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    commands = parser.add_subparsers(required=True)
    make = commands.add_parser("run", help="make the runs that are missing")
    make.add_argument("--out", required=True, metavar="CSV")
    make.add_argument("--seeds", type=seed_list, default="0-4")
    make.add_argument("--problems", help="separated by commas (default: all)")
    make.add_argument("--only", choices=list(NAMES), help="one kind of problems")
    make.add_argument("--methods", default=",".join(METHODS))
    make.set_defaults(do=run)
    shown = commands.add_parser("show", help="print the tables")
    shown.add_argument("path", metavar="CSV")
    shown.set_defaults(do=show)
    return parser


if __name__ == "__main__":
    shared.run(parser(), lambda args: args.do(args))
