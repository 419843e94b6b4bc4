"""What a search costs per candidate beside the fits.

    python benchmarks/studies/overhead.py --n-iter 60 --repeats 3
    python benchmarks/studies/overhead.py --n-iter 8 --n-folds 100 --repeats 5 \
        --estimators GridSearchCV RobustBayesSearchCV

The estimator takes no time, so all that is left is the search: choosing candidates,
running folds, keeping results. With many folds, nearly all of it is the cost of a fold.
Searches take turns in one process with one thread.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

import shared
from searches import PEERS, Choice, Floats
from skrobustbo_benchmarks._args import CommandError, check_can_write, positive_int
from skrobustbo_benchmarks._pool import say
from skrobustbo_benchmarks._report import table

SPACE = {
    "a": Floats(-1.0, 1.0),
    "b": Floats(1e-3, 1e3, log=True),
    "c": Floats(0.0, 10.0),
    "d": Choice(("p", "q", "r")),
}
#: Candidates of the run that loads what is loaded on first use.
N_WARM = 12
HEADER = (
    "search",
    "version",
    "candidates",
    "runs",
    "CPU ms per candidate, median",
    "smallest",
    "largest",
    "ratio of medians to the first",
)


class Idle(BaseEstimator):
    """An estimator that does nothing in `fit` and has a smooth score."""

    def __init__(self, a=0.0, b=1.0, c=0.0, d="p"):
        self.a = a
        self.b = b
        self.c = c
        self.d = d

    def fit(self, X, y=None):
        """Do nothing."""
        return self

    def score(self, X, y=None):
        """Return a function of the parameters, the same for all data."""
        bowl = (self.a - 0.2) ** 2 + (np.log10(self.b) / 3 + 0.4) ** 2
        return float(np.cos(self.c / 3) - bowl - 0.3 * "qrp".index(self.d))


class Run(NamedTuple):
    """One row of the csv file."""

    search: str
    version: str
    seed: int
    n_candidates: int
    cpu_ms: float


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--estimators",
        nargs="+",
        choices=list(PEERS),
        default=["RobustBayesSearchCV", "BayesSearchCV"],
        help="default: RobustBayesSearchCV and BayesSearchCV, where installed",
    )
    for name, default, what in (
        ("--n-iter", 200, "candidates of a search"),
        ("--n-folds", 2, "folds of a candidate"),
        ("--repeats", 3, "searches of each kind"),
    ):
        parser.add_argument(name, type=positive_int, default=default, help=what)
    parser.add_argument("--out", type=Path, metavar="CSV", help="file to write")
    return parser


def main(args):
    """Measure, write the csv file and print one table line per search."""
    peers = [PEERS[name] for name in args.estimators if PEERS[name].is_installed]
    if not peers:
        raise CommandError(f"None of {', '.join(args.estimators)} is installed here.")
    if args.out is not None:
        check_can_write(args.out)
    budget = {"n_iter": args.n_iter, "n_folds": args.n_folds}
    runs = measure(peers, repeats=args.repeats, **budget)
    if args.out is not None:
        pd.DataFrame(runs).to_csv(args.out, index=False)
    print(markdown(runs))


def measure(peers, *, n_iter, repeats, n_folds=2):
    """Return `repeats` runs of each search, in turns, after one short run of each."""
    for peer in peers:
        _run(peer, min(N_WARM, n_iter), n_folds, seed=0)
    runs = []
    for seed in range(repeats):
        for peer in peers:
            runs.append(_run(peer, n_iter, n_folds, seed))
            say(f"{peer.name}, seed {seed}: {runs[-1].cpu_ms:.1f} ms per candidate")
    return runs


def _run(peer, n_iter, n_folds, seed):
    search = peer.search(
        Idle(), SPACE, n_iter=n_iter, cv=n_folds, random_state=seed, refit=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        search.fit(np.zeros((2 * n_folds, 1)))
        spent = time.process_time() - start
    n = len(search.cv_results_["mean_test_score"])
    return Run(peer.name, peer.version, seed, n, 1e3 * spent / n)


def markdown(runs):
    """Return one table line per search, in the order of the runs."""
    of_searches = pd.DataFrame(runs).groupby("search", sort=False)
    medians = of_searches["cpu_ms"].median()
    rows = []
    for name, own in of_searches:
        times, first = own["cpu_ms"], own.iloc[0]
        ratio = medians[name] / medians.iloc[0]
        numbers = (medians[name], times.min(), times.max(), ratio)
        cells = (name, first["version"], str(first["n_candidates"]), str(len(own)))
        rows.append((*cells, *(format(number, ".3g") for number in numbers)))
    return table(HEADER, rows, n_left=2)


if __name__ == "__main__":
    shared.run(build_parser(), main)
