"""``mnist``: our search and random search, paired, on softmax regression.

A pair of runs shares the images, the folds, the estimator's seed and the number of
candidates. Each run is a process of its own with one BLAS thread; this module is also
the program of that process.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import check_random_state

from skrobustbo.benchmarks._args import (
    CommandError,
    Subparsers,
    positive_int,
    seed_list,
)
from skrobustbo.benchmarks._lines import LineTable
from skrobustbo.benchmarks._pool import RunFailedError, run_all, say
from skrobustbo.benchmarks._threads import one_thread_environment
from skrobustbo.datasets import fetch_mnist
from skrobustbo.problems import (
    SoftmaxRegression,
    mnist_logistic_distributions,
    mnist_logistic_space,
)

METHODS = ("robust", "random")

#: Images that a data set has for training, at most; the rest is held out.
N_IMAGES = {"mnist": 60_000, "digits": 1_500}

_Split = tuple[NDArray[np.float32], NDArray[np.int64]]


class Settings(NamedTuple):
    """What the runs of a comparison have in common."""

    data: str
    n_train: int
    n_iter: int
    n_epochs: int
    n_splits: int


class Key(NamedTuple):
    """What tells one run from another."""

    settings: Settings
    seed: int
    method: str


@dataclass(frozen=True)
class Run:
    """One row of the csv file.

    Parameters
    ----------
    data : {"mnist", "digits"}
        Data set.
    n_train : int
        Images searched on.
    n_iter : int
        Candidates evaluated.
    n_epochs : int
        Passes over the training images in each fit.
    n_splits : int
        Folds of the cross-validation.
    seed : int
        Seed of the images' choice, the folds, the estimator and the search.
    method : {"robust", "random"}
        The search.
    cv_score : float
        Best mean cross-validated accuracy.
    test_score : float
        Accuracy of the refitted best candidate on the images held out.
    tuner_seconds : float
        CPU time of the tuner for all candidates together, nan for random search.
    search_seconds : float
        CPU time of the whole search, refit included.
    best_params : str
        The best candidate, as JSON.
    """

    data: str
    n_train: int
    n_iter: int
    n_epochs: int
    n_splits: int
    seed: int
    method: str
    cv_score: float
    test_score: float
    tuner_seconds: float
    search_seconds: float
    best_params: str

    @property
    def key(self) -> Key:
        """The run that the row belongs to."""
        settings = Settings(
            self.data, self.n_train, self.n_iter, self.n_epochs, self.n_splits
        )
        return Key(settings, self.seed, self.method)


# -- the command ------------------------------------------------------------------


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "mnist",
        help="compare the search with random search on MNIST",
        description="Tune softmax regression on MNIST with RobustBayesSearchCV and "
        "with RandomizedSearchCV, in pairs that share images, folds and budget. Runs "
        "that the csv file holds already are skipped, so the same command resumes. "
        "One command at a time may write to a file.",
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--seeds", type=seed_list, default="0-9", help="0-9 or 0,3,7 (default 0-9)")
    add("--n-iter", type=positive_int, default=30, metavar="N", help="candidates")
    add("--n-train", type=positive_int, default=10_000, metavar="N", help="images")
    add("--n-epochs", type=positive_int, default=10, metavar="N", help="per fit")
    add("--cv", type=positive_int, default=3, metavar="K", help="folds")
    add("--jobs", type=positive_int, default=1, metavar="N", help="runs at a time")
    add("--data", choices=tuple(N_IMAGES), default="mnist", help="default: mnist")
    add("--report-only", action="store_true", help="run nothing")
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Make the runs that are missing from the csv file, and print the report."""
    n_failed = 0 if args.report_only else _run_missing(args)
    if not args.out.is_file():
        raise CommandError(f"There is no file {args.out}: leave out --report-only.")
    print(report(table_at(args.out).read()))
    return int(n_failed > 0)


def _run_missing(args: argparse.Namespace) -> int:
    """Make the runs that are missing and return how many failed."""
    settings = _checked_settings(args)
    wanted = [
        Key(settings, seed, method)
        for seed, method in itertools.product(args.seeds, METHODS)
    ]
    held = table_at(args.out).open()
    missing = [key for key in wanted if key not in held]
    say(f"{args.out}: {len(wanted) - len(missing)} of {len(wanted)} runs are there.")
    if missing:
        _check_data(settings.data)
    return _execute(missing, args.out, args.jobs)


def _checked_settings(args: argparse.Namespace) -> Settings:
    """Return the settings; CommandError if the data set cannot meet them."""
    if args.n_train > N_IMAGES[args.data]:
        raise CommandError(
            f"--n-train must be at most {N_IMAGES[args.data]} for --data {args.data}. "
            f"Got {args.n_train}."
        )
    if args.cv < 2:
        raise CommandError(f"--cv must be at least 2. Got {args.cv}.")
    return Settings(args.data, args.n_train, args.n_iter, args.n_epochs, args.cv)


def _check_data(data: str) -> None:
    """Have the data on disk before several processes ask for them."""
    if data == "mnist":
        try:
            fetch_mnist("all")
        except OSError as error:
            raise CommandError(error) from error


def _execute(keys: Sequence[Key], path: Path, jobs: int) -> int:
    """Make runs, `jobs` at a time, append each when it is over; return the failures."""

    def keep(run: Run) -> str:
        table_at(path).append(run)
        return f"cv {run.cv_score:.4f}, held out {run.test_score:.4f}"

    return run_all(
        keys, jobs, run_in_child, lambda key: f"seed {key.seed} {key.method}", keep
    )


# -- one run ----------------------------------------------------------------------


def run_in_child(key: Key) -> Run:
    """Make a run in a new process with one BLAS thread."""
    child = subprocess.run(
        [sys.executable, "-m", "skrobustbo.benchmarks._mnist", json.dumps(key)],
        env=one_thread_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode != 0:
        raise RunFailedError(child.stderr.strip() or f"status {child.returncode}")
    if child.stderr:
        say(child.stderr.rstrip())
    # An estimator may print, but the result is the last thing said.
    return Run(**json.loads(child.stdout.splitlines()[-1]))


def run_one(key: Key) -> Run:
    """Return the result of a run, which (times apart) depends on its key only."""
    settings, seed, method = key
    (X, y), (X_test, y_test) = load_split(settings.data, settings.n_train, seed)
    search = make_search(key)
    start = time.process_time()
    search.fit(X, y)
    searched = time.process_time() - start
    return Run(
        **settings._asdict(),
        seed=seed,
        method=method,
        cv_score=float(search.best_score_),
        test_score=float(search.score(X_test, y_test)),
        tuner_seconds=math.nan if method == "random" else tuner_cpu(search),
        search_seconds=searched,
        best_params=json.dumps(search.best_params_, default=_plain_number),
    )


def tuner_cpu(search: Any) -> float:
    """Return the CPU seconds that the tuner takes for a search, its fits left out.

    The points are asked for once more, which equal seeds and values make the same work.
    """
    from skrobustbo import Optimizer

    random_state = check_random_state(search.random_state)
    space, n_iter = search.param_space, search.n_iter
    optimizer = Optimizer(space, horizon=n_iter, random_state=random_state)
    start = time.process_time()
    for record in search.optimizer_.history_:
        if optimizer.ask() != record["params"]:
            raise RuntimeError("the search has asked other points than it would again")
        optimizer.tell(record["params"], record["value"])
    return time.process_time() - start


def _plain_number(value: Any) -> Any:
    """Return a NumPy number, as random search draws them, as Python's."""
    return value.item()


def load_split(data: str, n_train: int, seed: int) -> tuple[_Split, _Split]:
    """Return the images to search on and those held out, the same for each method."""
    if data == "mnist":
        X, y = fetch_mnist(return_X_y=True)
        X_test, y_test = fetch_mnist("test", return_X_y=True)
    else:
        X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(X))
    if data == "digits":
        held_out = order[N_IMAGES["digits"] :]
        order = order[: N_IMAGES["digits"]]
        X_test, y_test = X[held_out], y[held_out]
    rows = order[:n_train]
    # Single precision is what the classifier works in; the scaler keeps it.
    return (X[rows].astype(np.float32), y[rows]), (X_test.astype(np.float32), y_test)


def make_search(key: Key) -> Any:
    """Return the search of a run, not yet fitted."""
    settings, seed, method = key
    classifier = SoftmaxRegression(n_epochs=settings.n_epochs, random_state=seed)
    kind, space = _searcher(method)
    return kind(
        Pipeline([("scale", MinMaxScaler()), ("clf", classifier)]),
        space,
        n_iter=settings.n_iter,
        cv=StratifiedKFold(settings.n_splits, shuffle=True, random_state=seed),
        random_state=seed,
    )


def _searcher(method: str) -> tuple[Any, Mapping[str, Any]]:
    """Return the class of a search and the space in its own terms."""
    if method == "random":
        return RandomizedSearchCV, mnist_logistic_distributions("clf__")
    from skrobustbo import RobustBayesSearchCV

    return RobustBayesSearchCV, mnist_logistic_space("clf__")


# -- the file ---------------------------------------------------------------------


def table_at(path: Path) -> LineTable[Run]:
    """Return the table in a file."""
    return LineTable(path, Run, "mnist")


# -- the report -------------------------------------------------------------------


class Pair(NamedTuple):
    """The two runs of a seed."""

    robust: Run
    random: Run


def report(runs: Mapping[Key, Run]) -> str:
    """Return the comparison as markdown, one section for each choice of settings."""
    groups: dict[Settings, list[Pair]] = defaultdict(list)
    for settings, seed in sorted({key[:2] for key in runs}):
        both = [runs.get(Key(settings, seed, method)) for method in METHODS]
        if both[0] is not None and both[1] is not None:
            groups[settings].append(Pair(both[0], both[1]))
    if not groups:
        return "There is no pair of runs yet."
    return "\n\n".join(
        _section(settings, pairs, n_single=_count_single(runs, settings))
        for settings, pairs in groups.items()
    )


def _count_single(runs: Mapping[Key, Run], settings: Settings) -> int:
    """Return the number of runs without the other of their pair."""
    seeds = [key.seed for key in runs if key.settings == settings]
    return sum(seeds.count(seed) == 1 for seed in seeds)


def _section(settings: Settings, pairs: Sequence[Pair], n_single: int) -> str:
    """Return the comparison of the pairs of equal settings."""
    tuner = np.array([p.robust.tuner_seconds / p.robust.n_iter for p in pairs])
    lines = [
        f"{settings.data}: {settings.n_train} images, {settings.n_iter} candidates, "
        f"{settings.n_splits} folds, {settings.n_epochs} epochs; {len(pairs)} pairs"
        + (f", {n_single} single runs left out" if n_single else ""),
        "",
        "| accuracy, mean | robust | random | difference ± s.e. | t | one-sided p |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        _comparison("best cross-validated", pairs, "cv_score"),
        _comparison("held out", pairs, "test_score"),
        "",
        f"CPU: tuner {1e3 * tuner.mean():.1f} ms per candidate; a whole search, "
        f"robust {np.mean([p.robust.search_seconds for p in pairs]):.1f} s, "
        f"random {np.mean([p.random.search_seconds for p in pairs]):.1f} s.",
    ]
    return "\n".join(lines)


def _comparison(label: str, pairs: Sequence[Pair], score: str) -> str:
    """Return the line of the report that compares a score."""
    ours = np.array([getattr(pair.robust, score) for pair in pairs])
    random = np.array([getattr(pair.random, score) for pair in pairs])
    difference, error, t, p = paired_test(ours, random)
    cells = [
        label,
        f"{ours.mean():.4f}",
        f"{random.mean():.4f}",
        f"{difference:+.4f} ± " + ("-" if math.isnan(error) else f"{error:.4f}"),
        "-" if math.isnan(t) else f"{t:.2f}",
        "-" if math.isnan(p) else f"{p:.2g}",
    ]
    return f"| {' | '.join(cells)} |"


def paired_test(
    ours: NDArray[np.float64], theirs: NDArray[np.float64]
) -> tuple[float, float, float, float]:
    """Compare paired scores by the one-sided t-test.

    Parameters
    ----------
    ours, theirs : ndarray of shape (n_pairs,)
        Scores, larger is better.

    Returns
    -------
    difference, error, t, p : float
        Mean of ``ours - theirs``, its standard error, the statistic, and the
        probability of one as large if `ours` are no better in the mean. The last three
        are nan where they are not defined: one pair, or all differences equal.
    """
    gains = ours - theirs
    difference = float(gains.mean())
    if len(gains) < 2:
        return difference, math.nan, math.nan, math.nan
    error = float(stats.sem(gains))
    # Equal differences leave nothing but rounding for a standard error.
    if np.ptp(gains) <= 1e-12:
        return difference, error, math.nan, math.nan
    test = stats.ttest_rel(ours, theirs, alternative="greater")
    return difference, error, float(test.statistic), float(test.pvalue)


if __name__ == "__main__":
    _settings, _seed, _method = json.loads(sys.argv[1])
    print(json.dumps(asdict(run_one(Key(Settings(*_settings), _seed, _method)))))
