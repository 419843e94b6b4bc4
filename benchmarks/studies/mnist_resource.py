"""How soon a search on all of MNIST is near the best score, with cheap evaluations.

    python benchmarks/studies/mnist_resource.py --seeds 0-2 --out mnist_resource.csv

Four hyperparameters of a softmax regression are tuned, with all 60,000 images and three
folds. Every method may use as many rows as 50 full evaluations. "full" and "resource"
are the default policy without and with ``resource="n_samples"``, "halving" is
scikit-learn's `HalvingRandomSearchCV`, and "hyperband" is Optuna's TPE with its
Hyperband pruner, if Optuna is installed. Seconds are those of CPU on one thread, of the
fits and of the tuner. Runs that the csv file holds already are not made again.
"""

import argparse
import importlib.util
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import accuracy_score
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    StratifiedKFold,
    cross_val_score,
)

import shared
from lines import completed
from mnist import N_IMAGES, load_split, make_model
from resource_peers import hyperband
from resource_tunings import splits_with
from resources import curve_of
from skrobustbo import RobustBayesSearchCV, Space
from skrobustbo.evaluation import ROWS, ResourceAxis
from skrobustbo_benchmarks._args import positive_int, seed_list
from skrobustbo_benchmarks._report import table
from skrobustbo_benchmarks.problems import (
    mnist_logistic_distributions,
    mnist_logistic_space,
)

N_SPLITS, N_EPOCHS = 3, 10
#: What is near enough to the best score of all runs.
NEAR = 0.005


class Key(NamedTuple):
    """What tells one run from another."""

    data: str
    n_iter: int
    seed: int
    method: str


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "curve": str,  # "seconds:score" of each full evaluation, in order
    "seconds": float,  # CPU seconds of the whole search, without the final fit
}


class Clock:
    """A scorer that notes the time at which each fold ends, since it was made."""

    def __init__(self):
        self.start, self.ends = time.process_time(), []

    def __call__(self, estimator, X, y):
        score = accuracy_score(y, estimator.predict(X))
        self.ends.append(time.process_time() - self.start)
        return score

    def curve(self, scores, is_full):
        """Return the seconds and scores of the full evaluations.

        `scores` are those of all evaluations, in the order in which they ended.
        """
        ends = self.ends[N_SPLITS - 1 :: N_SPLITS]
        pairs = zip(ends, scores, strict=True)
        return [pair for pair, full in zip(pairs, is_full, strict=True) if full]


def folds(seed):
    """Return the splitter."""
    return StratifiedKFold(N_SPLITS, shuffle=True, random_state=seed)


# The methods: each returns the seconds and scores of its full evaluations. ------------


def full(X, y, key, **settings):
    """Search with the default policy."""
    clock = Clock()
    search = RobustBayesSearchCV(
        make_model(N_EPOCHS, key.seed),
        mnist_logistic_space("clf__"),
        n_iter=key.n_iter,
        include_default=False,
        cv=folds(key.seed),
        scoring=clock,
        refit=False,
        random_state=key.seed,
        **settings,
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    return clock.curve(scores, np.isfinite(scores))


def resource(X, y, key):
    """Search with the default policy and a resource."""
    return full(X, y, key, resource=ROWS)


def halving(X, y, key):
    """Search with scikit-learn's halving, of three rungs that cost the same."""
    clock = Clock()
    search = HalvingRandomSearchCV(
        make_model(N_EPOCHS, key.seed),
        mnist_logistic_distributions("clf__"),
        n_candidates=3 * key.n_iter,
        min_resources=len(y) // 9,
        cv=folds(key.seed),
        scoring=clock,
        refit=False,
        return_train_score=False,
        random_state=key.seed,
    ).fit(X, y)
    found = search.cv_results_
    is_last = found["iter"] == found["iter"].max()
    return clock.curve(found["mean_test_score"], is_last)


class _Rows:
    """What Optuna pays from: folds with a part of the rows."""

    def __init__(self, X, y, key):
        self._data, self._model = (X, y), make_model(N_EPOCHS, key.seed)
        self.space = Space(mnist_logistic_space("clf__"))
        n = len(y)
        self.amounts = [-(-n // 9), -(-n // 3), n]
        self._axis = ResourceAxis(
            ROWS, n, n, key.seed, np.unique(y, return_inverse=True)[1]
        )
        self._splits = list(folds(key.seed).split(X, y))
        self.left = float(key.n_iter)
        self.clock, self.scores, self.is_full = Clock(), [], []

    def __call__(self, params, amount, before=0):
        # Rows, unlike epochs, cannot be added to a fit: each evaluation is a new one.
        self.left -= amount / self.amounts[-1]
        splits = splits_with(self._axis, self._splits, amount)
        estimator = clone(self._model).set_params(**params)
        scores = cross_val_score(
            estimator, *self._data, cv=splits, scoring=self.clock, error_score="raise"
        )
        self.scores.append(float(scores.mean()))
        self.is_full.append(amount == self.amounts[-1])
        return self.scores[-1]


def optuna(X, y, key):
    """Search with Optuna's TPE and Hyperband pruner."""
    costs = _Rows(X, y, key)
    hyperband(costs, key.seed)
    return costs.clock.curve(costs.scores, costs.is_full)


METHODS = {
    "resource": resource,
    "full": full,
    "halving": halving,
    "hyperband": optuna,
}


def run_one(key):
    """Make a run."""
    (X, y), _ = load_split(key.data, N_IMAGES[key.data], key.seed)
    start = time.process_time()
    curve = METHODS[key.method](X, y, key)
    seconds = time.process_time() - start
    text = " ".join(f"{at:.2f}:{score:.6f}" for at, score in curve)
    return {"curve": text, "seconds": seconds}


# The table ----------------------------------------------------------------------------


def report(runs):
    """Return the times to a score near the best of all runs, as markdown."""
    curves = [curve_of(text) for text in runs.curve]
    best = max(scores.max() for _, scores in curves)
    near = [
        seconds[scores >= best - NEAR].min(initial=np.inf) for seconds, scores in curves
    ]
    runs = runs.assign(near=near, best=[scores.max() for _, scores in curves])
    rows = [
        [
            method,
            f"{np.isfinite(here.near).sum()} of {len(here)}",
            " ".join(f"{each:.0f}" for each in here.near),
            f"{here.best.mean():.4f} ± {here.best.std():.4f}",
            f"{here.seconds.median():.0f}",
        ]
        for method, here in runs.groupby("method", sort=False)
    ]
    head = ["method", "near", "seconds until then", "best score", "seconds in all"]
    return f"Best of all: {best:.4f}\n\n{table(head, rows)}"


def main(args):
    """Make the runs that are missing from the csv file, and print the table."""
    is_there = importlib.util.find_spec("optuna") is not None
    methods = [name for name in METHODS if name != "hyperband" or is_there]
    settings = args.data, args.n_iter
    keys = [Key(*settings, seed, method) for seed in args.seeds for method in methods]
    runs = completed(args.out, COLUMNS, keys, run_one, args.jobs)
    of_data = (runs.data == args.data) & (runs.n_iter == args.n_iter)
    print(report(pd.DataFrame(runs[of_data])))


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--seeds", type=seed_list, default="0-2", help="0-9 or 0,3,7 (default 0-2)")
    add("--n-iter", type=positive_int, default=50, metavar="N", help="full evaluations")
    add("--jobs", type=positive_int, default=1, metavar="N", help="runs at a time")
    add("--data", choices=tuple(N_IMAGES), default="mnist", help="default: mnist")
    return parser


if __name__ == "__main__":
    shared.run(build_parser(), main)
