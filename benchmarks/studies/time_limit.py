"""What a time limit costs: the regret with `max_time`, and with its count as `n_iter`.

    python benchmarks/studies/time_limit.py

The clock stands still but for the fits. "equal" ones take 1 s each, "varied" ones a
log-normal time, and "slow-start" ones 1 s after a first fit of a third of the limit.
"""

import argparse
from itertools import product
from unittest import mock

import numpy as np

import shared
from batches import SPLIT, Sleeper, X, Y
from skrobustbo import RobustBayesSearchCV
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._args import positive_int, seed_list


class Clock:
    """A clock that fits move on; the fits take the place of those that sleep."""

    def __init__(self, costs, limit, seed):
        rng = np.random.default_rng(seed)
        self.now, self._seconds = 0.0, rng.lognormal(0, 0.7, 10 * limit)
        if costs != "varied":
            self._seconds[:] = 1.0
            self._seconds[0] = limit / 3 if costs == "slow-start" else 1.0
        self._seconds = iter(self._seconds)

    def sleep(self, seconds):
        """Move on."""
        self.now += next(self._seconds)

    def monotonic(self):
        """Return the time."""
        return self.now

    perf_counter = monotonic


def searched(problem, costs, limit, seed, **settings):
    """Return the number of candidates of a search, and its simple regret."""
    clock = Clock(costs, limit, seed)
    search = RobustBayesSearchCV(
        Sleeper(**problem.initial_params(seed, 1)[0]),
        problem.space,
        scoring=lambda estimator, X, y: problem.func(estimator.point),
        refit=False,
        cv=SPLIT,
        random_state=seed,
        **settings,
    )
    of_search = (f"skrobustbo.evaluation.{name}.time" for name in ("_stops", "_folds"))
    patches = [mock.patch(name, clock) for name in ("batches.time", *of_search)]
    with patches[0], patches[1], patches[2]:
        search.fit(X, Y)
    return search.n_iter_, problem.optimum - search.best_score_


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--problems", nargs="+", default=["branin", "berkenkamp-trap", "hartmann6"])
    add("--costs", nargs="+", default=["equal", "varied", "slow-start"])
    add("--limit", type=positive_int, default=60, metavar="SECONDS")
    add("--seeds", type=seed_list, default="0-19", help="0-19 or 0,3 (default 0-19)")
    return parser


def main(args):
    """Print one line per problem and kind of cost."""
    print("| problem | costs | candidates | regret, max_time | regret, n_iter |")
    print("|---|---|---:|---:|---:|")
    for name, costs in product(args.problems, args.costs):
        problem, found = problems.get(name), []
        for how in product([costs], [args.limit], args.seeds):
            n, limited = searched(problem, *how, n_iter=5000, max_time=args.limit)
            found.append((n, limited, searched(problem, *how, n_iter=n)[1]))
        n, limited, counted = np.median(found, axis=0)
        print(f"| {name} | {costs} | {n:.0f} | {limited:.2g} | {counted:.2g} |")


if __name__ == "__main__":
    shared.run(build_parser(), main)
