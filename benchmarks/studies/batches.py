"""What candidates side by side cost and gain: searches of 1, 2, 4, ... at a time.

    python benchmarks/studies/batches.py --out batches.csv

Two things are shown: the regret after equal numbers of evaluations, and, with fits that
sleep side by side, the regret after equal wall time. Runs that the csv file holds
already are not made again.
"""

import argparse
import json
import time
from itertools import product
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from joblib import parallel_config
from sklearn.base import BaseEstimator

import shared
from lines import completed
from skrobustbo import RobustBayesSearchCV, policies
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._args import (
    CommandError,
    checked_names,
    positive_int,
    seed_list,
)
from skrobustbo_benchmarks._report import table
from skrobustbo_benchmarks._single import initial_count

#: Two rows of data and one split of them: nothing is learned from them.
X, Y = np.zeros((2, 1)), np.zeros(2)
SPLIT = [(np.array([0]), np.array([1]))]
FIRST = ("problem", "policy", "at a time", "seeds")
REGRET = (
    "final regret",
    "mean regret after the initial design",
    "ratio to the smallest batch",
)


class Key(NamedTuple):
    """What tells one run from another.

    If `fold_seconds`, the sleep of a fit, is 0, the run shows the regret only, and the
    fits are made one after the other; otherwise those of a round sleep side by side.
    """

    problem: str
    policy: str
    batch_size: int
    seed: int
    n_iter: int
    fold_seconds: float


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "n_initial": int,  # evaluations of the initial design, which batches share
    "optimum": float,  # the problem's
    "tuner_seconds": float,  # wall time of the tuner
    "seconds": str,  # JSON: wall time to the end of each evaluation
    "best": str,  # JSON: largest value without noise until then
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--problems", nargs="+", default=["berkenkamp-trap", "branin", "hartmann6"])
    add("--policies", nargs="+", default=["robust"], metavar="NAME", help="(robust)")
    add("--batch-sizes", nargs="+", type=positive_int, default=[1, 2, 4, 8])
    add("--seeds", type=seed_list, default="0-9", help="0-9 or 0,3,7 (default 0-9)")
    add("--n-iter", type=positive_int, default=48, metavar="N", help="evaluations (48)")
    add("--jobs", type=positive_int, default=1, metavar="N", help="runs at a time")
    group = parser.add_argument_group("runs with fits that sleep, one run at a time")
    add = group.add_argument
    add("--fold-seconds", type=float, default=0.2, help="0 leaves these runs out (0.2)")
    add("--timed-problems", nargs="+", default=["branin", "hartmann6"])
    add("--timed-seeds", type=seed_list, default="0-4", help="default: 0-4")
    return parser


def main(args):
    """Make the runs that are missing, and print the report."""
    if not 0 <= args.fold_seconds < np.inf:
        raise CommandError(f"--fold-seconds must be >= 0. Got {args.fold_seconds}.")
    untimed, timed = plan(args)
    runs = completed(args.out, COLUMNS, untimed, run_one, args.jobs)
    if timed:  # together they would take each other's cores
        runs = completed(args.out, COLUMNS, timed, run_one)
    print(report(runs))


def plan(args):
    """Return the runs without sleep and with it; CommandError for names that fail."""
    names = checked_names("policy", args.policies, policies.available())
    sizes = list(dict.fromkeys(args.batch_sizes))

    def keys(tokens, seeds, seconds):
        return [
            Key(problem, policy, size, seed, args.n_iter, seconds)
            for problem, policy, seed, size in product(
                _checked_problems(tokens), names, seeds, sizes
            )
        ]

    timed = args.timed_problems if args.fold_seconds else []
    return keys(args.problems, args.seeds, 0.0), timed and keys(
        timed, args.timed_seeds, args.fold_seconds
    )


def _checked_problems(tokens):
    """Return the names of problems whose regret can be told."""
    names = checked_names("problem", tokens, problems.available())
    for name in names:
        problem = problems.get(name)
        if problem.varies or problem.optimum is None:
            raise CommandError(
                f"The problem {name!r} must not change in time and must have a known "
                "optimum: choose another."
            )
    return names


# One run


def run_one(key):
    """Return the result of a run, which (times apart) depends on its key only."""
    problem = problems.get(key.problem)
    if problem.sample_function is not None:
        problem = problem.sample_function(key.seed)
    watch = Watch(problem, key.seed)
    search = make_search(key, problem, watch)
    with parallel_config(backend="threading"):
        start = time.perf_counter()
        search.fit(X, Y)
    ends, values = map(np.array, zip(*sorted(watch.seen), strict=True))
    return {
        "n_initial": search.n_initial_points,
        "optimum": float(np.float64(problem.optimum)),
        "tuner_seconds": search.tuner_time_,
        "seconds": json.dumps((ends - start).tolist()),
        "best": json.dumps(np.maximum.accumulate(values).tolist()),
    }


def make_search(key, problem, watch):
    """Return the search of a run, not yet fitted."""
    n_initial = initial_count(problem, key.n_iter)
    initial = problem.initial_params(key.seed, n_initial)
    return RobustBayesSearchCV(
        Sleeper(key.fold_seconds, **initial[0]),
        problem.space,
        n_iter=key.n_iter,
        include_default=False,
        policy=key.policy,
        n_initial_points=n_initial,
        initial_params=initial,
        batch_size=key.batch_size,
        scoring=watch,
        n_jobs=key.batch_size if key.fold_seconds else 1,
        refit=False,
        cv=SPLIT,
        random_state=key.seed,
        error_score="raise",
    )


class Sleeper(BaseEstimator):
    """An estimator whose hyperparameters are a point, and whose fit takes its time."""

    def __init__(self, seconds=0.0, **point):
        self.seconds = seconds
        self.point = point

    def get_params(self, deep=True):
        """Return the time and the point."""
        return {"seconds": self.seconds, **self.point}

    def set_params(self, **params):
        """Move to another point."""
        self.seconds = params.pop("seconds", self.seconds)
        self.point = {**self.point, **params}
        return self

    def fit(self, X, y=None):
        """Sleep."""
        time.sleep(self.seconds)
        return self


class Watch:
    """A scorer that looks at the clock; all threads share it.

    The noise belongs to the point, lest it depend on which fit is the faster one.
    """

    def __init__(self, problem, seed):
        self.seen = []
        self._problem = problem
        self._seed = seed

    def __call__(self, estimator, X, y=None):
        """Return the value at the estimator's point, and note it with the time."""
        value = self._problem.value_at(estimator.point)
        self.seen.append((time.perf_counter(), value))
        stream = crc32(repr(sorted(estimator.point.items())).encode())
        draw = np.random.default_rng([self._seed, stream]).standard_normal()
        return value + self._problem.noise_std * float(draw)


# The report


def report(runs):
    """Return both tables as markdown, for each length of runs and time of a fit."""
    runs = runs.assign(
        times=[np.array(json.loads(text)) for text in runs["seconds"]],
        regrets=[
            optimum - np.array(json.loads(text))
            for optimum, text in zip(runs["optimum"], runs["best"], strict=True)
        ],
    )
    runs["total"] = [times[-1] for times in runs["times"]]
    runs["final"] = [regrets[-1] for regrets in runs["regrets"]]
    runs["area"] = [
        area(*of) for of in zip(runs["regrets"], runs["n_initial"], strict=True)
    ]
    return "\n\n".join(
        (_timed_table if seconds else _regret_table)(section, n_iter, seconds)
        for (seconds, n_iter), section in runs.groupby(["fold_seconds", "n_iter"])
    )


def area(regrets, n_initial):
    """Return the area under the curve of regrets, for each evaluation: their mean.

    It begins after the initial design: until then, batches make no difference.
    """
    return float(regrets[min(n_initial, len(regrets) - 1) :].mean())


def _rows(section, cells):
    """Return a line for each problem, policy and size, beside those of the smallest."""
    for (problem, policy), group in section.groupby(["problem", "policy"]):
        first = group[group["batch_size"] == group["batch_size"].min()]
        first = first.set_index("seed")
        for size, runs in group.groupby("batch_size"):
            runs = runs.set_index("seed").sort_index()
            head = (problem, policy, str(size), str(len(runs)))
            yield *head, *cells(runs, first)


def _regret_table(section, n_iter, seconds):
    def cells(runs, first):
        ratios = (runs["area"] / first["area"]).dropna()
        return spread(runs["final"]), spread(runs["area"]), spread(ratios, ".2f")

    return (
        f"Regret for {n_iter} evaluations; median (10% to 90%) over seeds:\n\n"
        + table(FIRST + REGRET, _rows(section, cells), n_left=2)
    )


def _timed_table(section, n_iter, seconds):
    limit = section["total"].min()  # a time that no run but the fastest outlives

    def cells(runs, first):
        rates = [len(times) / times[-1] for times in runs["times"]]
        done = [n_done(times, limit) for times in runs["times"]]
        pairs = zip(runs["times"], runs["regrets"], strict=True)
        return (
            spread(runs["total"], ".3g"),
            f"{np.median(rates):.1f}",
            spread((first["total"] / runs["total"]).dropna(), ".2f"),
            f"{runs['tuner_seconds'].median():.2f}",
            f"{np.median(done):.0f}",
            spread([regret_after(times, regrets, limit) for times, regrets in pairs]),
            spread(runs["final"]),
        )

    header = (
        "seconds",
        "evaluations/s",
        "speed-up",
        "of these, the tuner, s",
        f"evaluations in {limit:.2g} s",
        f"regret after {limit:.2g} s",
        "final regret",
    )
    return (
        f"Wall time of {n_iter} evaluations with fits of {seconds:g} s, a worker for "
        "each candidate at a time; median (10% to 90%) over seeds:\n\n"
        + table(FIRST + header, _rows(section, cells), n_left=2)
    )


def n_done(times, seconds):
    """Return the number of evaluations that are over after a time."""
    return int(np.searchsorted(times, seconds, side="right"))


def regret_after(times, regrets, seconds):
    """Return the regret after a time, infinite before the first evaluation is over."""
    done = n_done(times, seconds)
    return float(regrets[done - 1]) if done else np.inf


def spread(sample, form=".2g"):
    """Return the median, with the 10% and 90% quantiles of several, as text."""
    values = np.asarray(sample, dtype=float)
    if not values.size:
        return "-"
    middle = float(np.median(values))
    # Infinite values (nothing evaluated yet) would make interpolated quantiles nan.
    low, high = np.quantile(values, [0.1, 0.9], method="inverted_cdf")
    if values.size == 1:
        return format(middle, form)
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


if __name__ == "__main__":
    shared.run(build_parser(), main)
