"""How busy the schedules keep their workers: fits that sleep, of ten to one in time.

    python benchmarks/studies/workers.py

Eight threads, `batch_size=8`. A candidate's fits take 0.1 to 1 second, as a function of
its parameter. Counted is the time until the last candidate starts: what comes after is
the end of the search, when there is nothing left to do for some workers.
"""

import argparse
import threading
import time

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import ShuffleSplit

import shared
from skrobustbo import Real, RobustBayesSearchCV

N_WORKERS = 8


class Sleeper(ClassifierMixin, BaseEstimator):
    """Takes ten times as long for some candidates as for others."""

    fits, lock = [], threading.Lock()

    def __init__(self, a=0.0):
        self.a = a

    def fit(self, X, y):
        start = time.monotonic()
        time.sleep(0.1 * 10 ** (abs(1000 * self.a) % 1))
        with Sleeper.lock:
            Sleeper.fits.append((self.a, start, time.monotonic()))
        self.classes_ = [0, 1]
        return self

    def score(self, X, y):
        return -((self.a - 0.3) ** 2)


def share_of_time_used(schedule, n_splits, n_iter, policy):
    """Return the share of the workers' time that went into fits."""
    Sleeper.fits = []
    X, y = np.zeros((40, 1)), np.arange(40) % 2
    search = RobustBayesSearchCV(
        Sleeper(),
        {"a": Real(-1, 1)},
        n_iter=n_iter,
        include_default=False,
        policy=policy,
        batch_size=N_WORKERS,
        schedule=schedule,
        n_jobs=N_WORKERS,
        cv=ShuffleSplit(n_splits, random_state=0),
        refit=False,
        random_state=0,
    )
    with parallel_config(backend="threading"):
        search.fit(X, y)
    begun = {}
    for a, start, _ in sorted(Sleeper.fits, key=lambda fit: fit[1]):
        begun.setdefault(a, start)
    first, last = min(begun.values()), max(begun.values())
    busy = sum(min(end, last) - min(start, last) for _, start, end in Sleeper.fits)
    return busy / (N_WORKERS * (last - first))


def main(args):
    print("| folds | " + " | ".join(args.schedules.split(",")) + " |")
    print("|---:|" + "---:|" * len(args.schedules.split(",")))
    for n_splits in (5, 1):
        shares = [
            share_of_time_used(schedule, n_splits, args.n_iter, args.policy)
            for schedule in args.schedules.split(",")
        ]
        print(f"| {n_splits} | " + " | ".join(f"{s:.1%}" for s in shares) + " |")


def parser():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--n-iter", type=int, default=200)
    made.add_argument("--policy", default="robust")
    made.add_argument("--schedules", default="rounds,window,free")
    return made


if __name__ == "__main__":
    shared.run(parser(), main)
