r"""Our search and random search, paired, on softmax regression of MNIST.

    python benchmarks/studies/mnist.py --seeds 0-9 --n-iter 30 --n-train 10000 \
        --out mnist.csv

A pair of runs shares the images, the folds, the estimator's seed and the number of
candidates. Runs that the csv file holds already are not made again.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import check_random_state

import shared
from lines import completed
from skrobustbo import Optimizer, RobustBayesSearchCV
from skrobustbo_benchmarks._args import CommandError, positive_int, seed_list
from skrobustbo_benchmarks._report import number, table
from skrobustbo_benchmarks.datasets import fetch_mnist
from skrobustbo_benchmarks.problems import (
    SoftmaxRegression,
    mnist_logistic_distributions,
    mnist_logistic_space,
)

METHODS = ("robust", "random")
#: Images that a data set has for training, at most; the rest is held out.
N_IMAGES = {"mnist": 60_000, "digits": 1_500}
HEADER = (
    "accuracy, mean",
    *METHODS,
    "difference ± s.e.",
    "t",
    "one-sided p",
)


class Key(NamedTuple):
    """What tells one run from another."""

    data: str
    n_train: int
    n_iter: int
    n_epochs: int
    n_splits: int
    seed: int
    method: str


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "cv_score": float,  # best mean cross-validated accuracy
    "test_score": float,  # accuracy of the refitted best on the images held out
    "tuner_seconds": float,  # CPU time of the tuner in all, nan for random search
    "search_seconds": float,  # CPU time of the whole search, refit included
    "best_params": str,  # the best candidate, as JSON
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--seeds", type=seed_list, default="0-9", help="0-9 or 0,3,7 (default 0-9)")
    add("--n-iter", type=positive_int, default=30, metavar="N", help="candidates")
    add("--n-train", type=positive_int, default=10_000, metavar="N", help="images")
    add("--n-epochs", type=positive_int, default=10, metavar="N", help="per fit")
    add("--cv", type=positive_int, default=3, metavar="K", help="folds")
    add("--jobs", type=positive_int, default=1, metavar="N", help="runs at a time")
    add("--data", choices=tuple(N_IMAGES), default="mnist", help="default: mnist")
    return parser


def main(args):
    """Make the runs that are missing from the csv file, and print the report."""
    if args.n_train > N_IMAGES[args.data]:
        raise CommandError(
            f"--n-train must be at most {N_IMAGES[args.data]} for --data {args.data}. "
            f"Got {args.n_train}."
        )
    if args.cv < 2:
        raise CommandError(f"--cv must be at least 2. Got {args.cv}.")
    settings = args.data, args.n_train, args.n_iter, args.n_epochs, args.cv
    keys = [Key(*settings, seed, method) for seed in args.seeds for method in METHODS]
    runs = completed(args.out, COLUMNS, keys, run_one, args.jobs)
    wanted = set(keys)
    print(report(runs[[key in wanted for key in keys_of(runs)]]))


def keys_of(runs):
    """Return the keys of the lines of a table."""
    return [Key(*line) for line in runs[list(Key._fields)].itertuples(index=False)]


def run_one(key):
    """Return the scores of a search, which (times apart) depend on its key only."""
    (X, y), (X_test, y_test) = load_split(key.data, key.n_train, key.seed)
    search = make_search(key)
    start = time.process_time()
    search.fit(X, y)
    searched = time.process_time() - start
    return {
        "cv_score": float(search.best_score_),
        "test_score": float(search.score(X_test, y_test)),
        "tuner_seconds": tuner_cpu(search) if key.method == "robust" else np.nan,
        "search_seconds": searched,
        "best_params": json.dumps(search.best_params_, default=lambda v: v.item()),
    }


def make_model(n_epochs, seed):
    """Return what is tuned."""
    classifier = SoftmaxRegression(n_epochs=n_epochs, random_state=seed)
    return Pipeline([("scale", MinMaxScaler()), ("clf", classifier)])


def make_search(key):
    """Return the search of a run, not yet fitted."""
    kind = partial(RobustBayesSearchCV, include_default=False)
    space = mnist_logistic_space("clf__")
    if key.method == "random":
        kind, space = RandomizedSearchCV, mnist_logistic_distributions("clf__")
    return kind(
        make_model(key.n_epochs, key.seed),
        space,
        n_iter=key.n_iter,
        cv=StratifiedKFold(key.n_splits, shuffle=True, random_state=key.seed),
        random_state=key.seed,
    )


def tuner_cpu(search):
    """Return the CPU seconds that the tuner takes for a search, its fits left out.

    The points are asked for once more, which equal seeds and values make the same work.
    """
    random_state = check_random_state(search.random_state)
    space, n_iter = search.param_space, search.n_iter
    optimizer = Optimizer(space, horizon=n_iter, random_state=random_state)
    start = time.process_time()
    for record in search.optimizer_.history_:
        if optimizer.ask() != record["params"]:
            raise RuntimeError("the search has asked other points than it would again")
        optimizer.tell(record["params"], record["value"])
    return time.process_time() - start


def load_split(data, n_train, seed):
    """Return the images to search on and those held out, the same for each method."""
    if data == "mnist":
        X, y = fetch_mnist(return_X_y=True)
        X_test, y_test = fetch_mnist("test", return_X_y=True)
    else:
        X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(X))
    if data == "digits":
        held_out = order[N_IMAGES[data] :]
        order = order[: N_IMAGES[data]]
        X_test, y_test = X[held_out], y[held_out]
    rows = order[:n_train]
    # Single precision is what the classifier works in; the scaler keeps it.
    return (X[rows].astype(np.float32), y[rows]), (X_test.astype(np.float32), y_test)


def report(runs):
    """Return the comparison of the pairs of runs as markdown."""
    of = runs.iloc[0]
    pairs = runs.pivot(index="seed", columns="method")
    tuner = 1e3 * pairs["tuner_seconds"]["robust"].mean() / of["n_iter"]
    seconds = pairs["search_seconds"].mean()
    rows = [
        _row("best cross-validated", pairs["cv_score"]),
        _row("held out", pairs["test_score"]),
    ]
    return (
        f"{of['data']}: {of['n_train']} images, {of['n_iter']} candidates, "
        f"{of['n_splits']} folds, {of['n_epochs']} epochs; {len(pairs)} pairs\n\n"
        f"{table(HEADER, rows)}\n\n"
        f"CPU: tuner {tuner:.1f} ms per candidate; a whole search, "
        f"robust {seconds['robust']:.1f} s, random {seconds['random']:.1f} s."
    )


def _row(label, scores):
    difference, error, t, p = paired_test(scores["robust"], scores["random"])
    return (
        label,
        *(f"{scores[method].mean():.4f}" for method in METHODS),
        f"{difference:+.4f} ± {number(error, '.4f')}",
        number(t, ".2f"),
        number(p, ".2g"),
    )


def paired_test(ours, theirs):
    """Return the mean of ``ours - theirs``, its error, t and the one-sided p.

    The last three are nan where they are not defined: of one pair, or, but for the
    error, of equal differences.
    """
    gains = np.asarray(ours) - np.asarray(theirs)
    if len(gains) < 2:
        return gains.mean(), np.nan, np.nan, np.nan
    error = stats.sem(gains)
    # Equal differences leave nothing but rounding for a standard error.
    if np.ptp(gains) <= 1e-12:
        return gains.mean(), error, np.nan, np.nan
    test = stats.ttest_1samp(gains, 0, alternative="greater")
    return gains.mean(), error, test.statistic, test.pvalue


if __name__ == "__main__":
    shared.run(build_parser(), main)
