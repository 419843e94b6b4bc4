"""What a time limit costs: the regret with `max_time`, and with its count as `n_iter`.

    python benchmarks/studies/time_limit.py

The limit is 60 s on a clock that only fits move on. "equal" ones take 1 s each,
"varied" ones a log-normal time, and "slow-start" ones 1 s after a first one of 20 s.
"""

import argparse
from itertools import product
from unittest import mock

import numpy as np

import shared
from batches import SPLIT, Sleeper, X, Y
from skrobustbo import RobustBayesSearchCV
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._args import seed_list
from skrobustbo_benchmarks._report import table

HEADER = "problem", "costs", "candidates", "regret, max_time", "regret, n_iter"
COSTS = "equal", "varied", "slow-start"


class Clock:
    """A clock that only the sleep of fits moves on."""

    def __init__(self, costs, seed):
        spread = 0.7 * (costs == "varied")
        seconds = np.random.default_rng(seed).lognormal(0, spread, 6000)
        seconds[0] = 20.0 if costs == "slow-start" else seconds[0]
        self._seconds, self.now = iter(seconds), 0.0

    def sleep(self, seconds):
        """Move on."""
        self.now += next(self._seconds)

    def read(self):
        """Return the time."""
        return self.now


def searched(problem, costs, seed, **settings):
    """Return the number of candidates of a search, and its regret."""
    clock = Clock(costs, seed)
    search = RobustBayesSearchCV(
        Sleeper(**problem.initial_params(seed, 1)[0]),
        problem.space,
        scoring=lambda estimator, X, y: problem.func(estimator.point),
        **{"cv": SPLIT, "refit": False, "random_state": seed, **settings},
    )
    faked = {"sleep": clock.sleep, "monotonic": clock.read, "perf_counter": clock.read}
    with mock.patch.multiple("time", **faked):
        search.fit(X, Y)
    return search.n_iter_, problem.optimum - search.best_score_


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    names = ["branin", "berkenkamp-trap", "hartmann6"]
    parser.add_argument("--problems", nargs="+", default=names, metavar="NAME")
    parser.add_argument("--seeds", type=seed_list, default="0-19", help="(0-19)")
    return parser


def main(args):
    """Print the medians of one problem and kind of cost per line."""
    rows = []
    for name, costs in product(args.problems, COSTS):
        problem, found = problems.get(name), []
        for seed in args.seeds:
            how = problem, costs, seed
            n, limited = searched(*how, n_iter=5000, max_time=60.0)
            found.append((n, limited, searched(*how, n_iter=n)[1]))
        n, limited, counted = np.median(found, axis=0)
        rows.append([name, costs, f"{n:.0f}", f"{limited:.2g}", f"{counted:.2g}"])
    print(table(HEADER, rows, n_left=2))


if __name__ == "__main__":
    shared.run(build_parser(), main)
