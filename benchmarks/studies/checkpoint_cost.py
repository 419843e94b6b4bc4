"""The wall time of a search with a checkpoint and without one.

    python benchmarks/studies/checkpoint_cost.py

The fits do nothing for a fixed time, so that what a checkpoint adds is not lost in the
noise of real ones. Both searches run in turns, each pair in the other order than the
one before, and then a finished one is taken up again: that is what resuming costs.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import shared
from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo_benchmarks._args import positive_int
from skrobustbo_benchmarks._report import table


class Idle(BaseEstimator):
    """Takes a fixed number of seconds to fit; scores a function of x0 to x4."""

    def __init__(self, x0=0.0, x1=0.0, x2=0.0, x3=0.0, x4=0.0, seconds=0.0):
        self.x0 = x0
        self.x1 = x1
        self.x2 = x2
        self.x3 = x3
        self.x4 = x4
        self.seconds = seconds

    def fit(self, X, y=None):
        """Wait."""
        time.sleep(self.seconds)
        return self

    def score(self, X, y=None):
        """Return the function's value."""
        x = np.array([self.x0, self.x1, self.x2, self.x3, self.x4])
        return float(-((x - 0.3) ** 2).sum())


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name, default, what in (
        ("--n-iter", 20, "candidates of a search"),
        ("--fit-ms", 100, "milliseconds of a fit"),
        ("--repeats", 5, "pairs of searches"),
    ):
        parser.add_argument(name, type=positive_int, default=default, help=what)
    return parser


def main(args):
    """Print the medians, their ratio, and what resuming takes."""
    with tempfile.TemporaryDirectory() as folder:
        times = measure(args.n_iter, args.fit_ms / 1e3, args.repeats, Path(folder))
    plain, kept, resumed = (np.median(times[name]) for name in times)
    rows = [
        ("without a checkpoint", f"{plain:.3f}"),
        ("with one", f"{kept:.3f} ({100 * (kept / plain - 1):+.2f}%)"),
        ("finished, taken up again", f"{resumed:.3f}"),
    ]
    print(table(("search", "seconds, median"), rows))


def measure(n_iter, seconds, repeats, folder):
    """Return the wall times of searches without, with, and resumed, in seconds."""
    times = {"without": [], "with": [], "resumed": []}
    for i in range(repeats):
        path = folder / f"{i}.ckpt"
        order = [("without", None), ("with", path)]
        for name, checkpoint in order if i % 2 == 0 else order[::-1]:
            times[name].append(timed(n_iter, seconds, checkpoint))
        times["resumed"].append(timed(n_iter, seconds, path))
    return times


def timed(n_iter, seconds, checkpoint):
    """Return the wall time of one search."""
    X = np.random.default_rng(0).normal(size=(1000, 20))
    search = RobustBayesSearchCV(
        Idle(seconds=seconds),
        {f"x{i}": Real(0.0, 1.0) for i in range(5)},
        n_iter=n_iter,
        include_default=False,
        cv=5,
        refit=False,
        random_state=0,
        checkpoint=checkpoint,
    )
    start = time.perf_counter()
    search.fit(X)
    return time.perf_counter() - start


if __name__ == "__main__":
    shared.run(build_parser(), main)
