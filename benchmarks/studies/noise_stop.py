"""How often ``tol="noise"`` stops a search too soon, on ten ordinary tunings.

    python benchmarks/studies/noise_stop.py --seeds 0-19 --out noise_stop.csv

Each search runs to its budget with the default policy and no tolerance. The same
candidates with the same scores then go through a search with ``tol="noise"``, which
ends where it would have ended.

The best candidate at that end and the best one of the whole search are scored on other
splits: the mean of ten cross-validations. What the end has cost is the difference. A
stop is *false* when that is more than one paired standard error: that of the difference
of these two candidates in one cross-validation, by the scores of all the new folds. The
report also counts the costs above the noise which the stop went by. That is smaller,
where it is of candidates that are nearly the same.

The tunings are those of ``racing_tunings.py`` on data that scikit-learn carries. The
hyperparameter tables have no scores of folds, so they have no such error. Searches that
the csv file holds already are not made again. Those in the folder of checkpoints are
read from there.
"""

import argparse
import math
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

import shared
from lines import completed
from racing_tunings import TUNINGS
from skrobustbo import RobustBayesSearchCV
from skrobustbo.checkpoint import Journal
from skrobustbo.evaluation import Stops
from skrobustbo.model_selection._findings import prospects
from skrobustbo.model_selection._source import prepared
from skrobustbo_benchmarks._args import CommandError, positive_int, seed_list
from skrobustbo_benchmarks._report import table

ORDINARY = [name for name in TUNINGS if name != "mnist"]
#: Cross-validations by which two candidates are compared, and the first of their seeds.
N_FRESH, FRESH = 10, 10_000
#: The share of false stops that is asked for, and what shows that there are more.
SHARE, LEVEL = 0.05, 0.05
HEADER = (
    "tuning",
    "searches",
    "stopped",
    "candidates at the stop",
    "cost of the stop, s.e.",
    "false stops",
)


class Key(NamedTuple):
    """What tells one search from another."""

    tuning: str
    n_iter: int
    n_splits: int
    seed: int


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "reason": str,  # why the search with tol="noise" ended
    "n_stop": int,  # its candidates
    "gain": float,  # what more candidates were expected to gain at the end
    "noise": float,  # what that is compared with
    "cost": float,  # how much better the best one of the whole search is
    "error": float,  # the standard error of that in one cross-validation
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--tunings", nargs="+", default=ORDINARY, metavar="NAME", help="default: all")
    add("--seeds", type=seed_list, default="0-2", help="0-2 or 0,3 (default 0-2)")
    add("--n-iter", type=positive_int, default=100, metavar="N", help="full budget")
    add("--cv", type=positive_int, default=5, metavar="K", help="folds")
    add("--checkpoints", type=Path, metavar="FOLDER", help="where to keep searches")
    add("--jobs", type=positive_int, default=1, metavar="N", help="searches at a time")
    return parser


def main(args):
    """Make the searches that are missing from the file, and print the report."""
    unknown = [name for name in args.tunings if name not in ORDINARY]
    if unknown:
        raise CommandError(f"--tunings must be among {ORDINARY}. Got {unknown}.")
    if args.cv < 2:
        raise CommandError(f"--cv must be at least 2. Got {args.cv}.")
    keys = [
        Key(name, args.n_iter, args.cv, seed)
        for seed in args.seeds
        for name in args.tunings
    ]
    make = partial(searched, folder=args.checkpoints)
    lines = completed(args.out, COLUMNS, keys, make, args.jobs)
    lines = lines.set_index(list(Key._fields)).loc[[tuple(key) for key in keys]]
    print(report(lines.reset_index()))


def search_of(key, **settings):
    """Return a search of a tuning."""
    _, estimator, space, scoring = TUNINGS[key.tuning]
    return RobustBayesSearchCV(
        estimator,
        space,
        n_iter=key.n_iter,
        include_default=False,
        scoring=scoring,
        cv=splitter(estimator, key.n_splits, key.seed),
        random_state=key.seed,
        refit=False,
        **settings,
    )


def splitter(estimator, n_splits, seed):
    """Return what draws the splits."""
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    return kind(n_splits, shuffle=True, random_state=seed)


def searched(key, folder=None):
    """Return where a search stops, and what that has cost."""
    X, y = TUNINGS[key.tuning][0]()
    path = None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / ("-".join(map(str, key)) + ".ckpt")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = search_of(key, checkpoint=path).fit(X, y)
        trials = whole._notes.trials
        source = stopped(search_of(key, tol="noise"), trials, X=X, y=y)
        so_far = source.trials
        gain, noise = prospects(source.optimizer, so_far, None)
        pair = best_of(so_far).params, best_of(trials).params
        cost, error = cost_of(key, *pair, X, y)
    return {
        "reason": source.reason,
        "n_stop": len(so_far),
        "gain": gain,
        "noise": noise,
        "cost": cost,
        "error": error,
    }


def stopped(search, trials, **data):
    """Return the source of a search at its end, if candidates score as these did."""
    source = prepared(search, Journal(), data, search.n_iter, Stops())
    for trial in trials:
        asked = source.next_round()
        if not asked:
            break
        assert asked[0].params == trial.params
        asked[0].folds = trial.folds
        source.tell(asked[0])
    return source


def best_of(trials):
    """Return the trial with the highest mean score."""
    means = [trial.mean_score(None) for trial in trials]
    return trials[int(np.nanargmax(means))]


def cost_of(key, params, best, X, y):
    """Return how much better the best is on splits that no search has seen.

    The standard error is that of one cross-validation.
    """
    _, estimator, _, scoring = TUNINGS[key.tuning]
    if params == best:
        return 0.0, 0.0
    gaps = []
    for i in range(N_FRESH):
        folds = splitter(estimator, key.n_splits, FRESH + i)
        scores = [
            cross_val_score(
                clone(estimator).set_params(**clone(each, safe=False)),
                X,
                y,
                scoring=scoring,
                cv=folds,
            )
            for each in (best, params)
        ]
        gaps.append(scores[0] - scores[1])
    error = np.std(gaps, ddof=1) / math.sqrt(key.n_splits)
    return float(np.mean(gaps)), float(error)


def verdicts(lines):
    """Return lines with whether each search stopped, its cost in errors and verdict."""
    stopped = lines["reason"] == "tol"
    false = stopped & (lines["cost"] > lines["error"])
    # Without a cost, both are zero.
    ratio = lines["cost"] / lines["error"].where(lines["error"] > 0, 1.0)
    return lines.assign(stopped=stopped, ratio=ratio, false=false)


def report(lines):
    """Return a table with a row for each tuning and one of all, and the verdict."""
    judged = verdicts(lines)
    rows = [_row(name, part) for name, part in judged.groupby("tuning", sort=False)]
    rows.append(_row("all", judged))
    n_iter, stops = judged["n_iter"].iloc[0], judged[judged["stopped"]]
    half = -(-n_iter // 2)
    n_early = int((stops["n_stop"] < half).sum())
    return (
        f"{table(HEADER, rows)}\n\n"
        f"{len(stops)} of {len(judged)} searches stopped before {n_iter} candidates, "
        f"{n_early} of them before {half}.\n"
        f"{_said(int(stops['false'].sum()), len(stops))}\n"
        f"{int((stops['cost'] > stops['noise']).sum())} cost more than the noise that "
        "they went by."
    )


def _said(n, n_stops):
    """Return how many stops are false, and whether that shows too large a share."""
    if not n_stops:
        return "There are no stops to judge."
    p = binomtest(n, n_stops, SHARE, alternative="greater").pvalue
    shown = "is" if p <= LEVEL else "is not"
    return (
        f"{n} of {n_stops} stops were false: a share above {SHARE:.0%} {shown} shown "
        f"(p = {p:.2g})."
    )


def _row(name, part):
    stops = part[part["stopped"]]
    counts, costs = "-", "-"
    if len(stops):
        least, middle, most = np.percentile(stops["n_stop"], (0, 50, 100))
        counts = f"{middle:.0f} ({least:.0f} to {most:.0f})"
        least, middle, most = np.percentile(stops["ratio"], (0, 50, 100))
        costs = f"{middle:.2f} ({least:.2f} to {most:.2f})"
    n_false = str(int(part["false"].sum()))
    return name, str(len(part)), str(len(stops)), counts, costs, n_false


if __name__ == "__main__":
    shared.run(build_parser(), main)
