"""The wall time of a search with a watcher beside it, and without one.

    python benchmarks/studies/watch_cost.py

The fits are cheap and the candidates random, so that the search does little but write
its checkpoint. Searches run in pairs, each pair in the other order than the one before.
The watcher is `python -m skrobustbo watch` in a process of its own; the search begins
once it looks. The figures are medians of the ratios of the pairs, for the wall time and
for the CPU time of the searching process, which other programs on the machine disturb
less. The upper limit is that of a one-sided 95% interval for the median: the largest
ratio of five pairs.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

import shared
from skrobustbo import Real, RobustBayesSearchCV
from skrobustbo_benchmarks._args import positive_int
from skrobustbo_benchmarks._report import table

#: Pairs from which on the largest ratio is above the median with 95% probability.
LEAST = 5


class Cheap(BaseEstimator):
    """Takes a fixed time to fit; scores a function of x."""

    def __init__(self, x=0.0, seconds=0.0):
        self.x = x
        self.seconds = seconds

    def fit(self, X, y=None):
        """Wait."""
        time.sleep(self.seconds)
        return self

    def score(self, X, y=None):
        """Return the function's value."""
        return float(-((self.x - 0.3) ** 2))


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name, default, what in (
        ("--n-iter", 400, "candidates of a search, of five folds each"),
        ("--fit-ms", 5, "milliseconds of a fit"),
        ("--pairs", 5, "pairs of searches"),
    ):
        parser.add_argument(name, type=positive_int, default=default, help=what)
    return parser


def main(args):
    """Print the median times, and what the watcher adds."""
    with tempfile.TemporaryDirectory() as folder:
        times = measure(args.n_iter, args.fit_ms / 1e3, args.pairs, Path(folder))
    alone, watched = np.array(times["alone"]), np.array(times["watched"])
    ratios = watched / alone
    rows = [
        (
            name,
            f"{np.median(alone[:, i]):.3f}",
            f"{np.median(watched[:, i]):.3f}",
            percent(np.median(ratios[:, i])),
            percent(ratios[:, i].max()) if args.pairs >= LEAST else "unknown",
        )
        for i, name in enumerate(("wall", "CPU"))
    ]
    print(f"{5 * args.n_iter} fits in each search, seconds:\n")
    print(table(("time", "alone", "watched", "median ratio", "upper limit"), rows))


def percent(ratio):
    """Return a ratio as what it adds."""
    return f"{100 * (ratio - 1):+.1f}%"


def measure(n_iter, seconds, pairs, folder):
    """Return wall and CPU times of the searches alone and watched, pair by pair."""
    times = {"alone": [], "watched": []}
    for i in range(pairs):
        for name in sorted(times, reverse=bool(i % 2)):
            path = folder / f"{name}-{i}.ckpt"
            times[name].append(timed(n_iter, seconds, path, name == "watched"))
    return times


def timed(n_iter, seconds, path, is_watched):
    """Return the times of one search but for its first candidate."""
    watchers, start = [], []

    def begin(trial):
        if trial["number"] == 0:
            watchers.extend([watcher(path)] if is_watched else [])
            start.append(clocks())

    search = RobustBayesSearchCV(
        Cheap(seconds=seconds),
        {"x": Real(0.0, 1.0)},
        n_iter=n_iter,
        include_default=False,
        policy="random",
        cv=5,
        refit=False,
        random_state=0,
        checkpoint=path,
        on_trial=begin,
    )
    search.fit(np.zeros((100, 1)))
    took = clocks() - start[0]
    for process in watchers:
        said, _ = process.communicate()
        assert process.returncode == 0, said
    return took


def clocks():
    """Return the wall clock and that of the process."""
    return np.array([time.perf_counter(), time.process_time()])


def watcher(path):
    """Begin to watch; return the process once it has said something."""
    words = [sys.executable, "-m", "skrobustbo", "watch", str(path)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


if __name__ == "__main__":
    shared.run(build_parser(), main)
