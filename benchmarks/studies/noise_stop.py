"""How often ``tol="noise"`` stops a search too soon, on ten ordinary tunings.

    python benchmarks/studies/noise_stop.py --out noise_stop.csv

Each search runs with ``tol="noise"`` until it stops by itself, or to its budget. Then
its checkpoint is continued with ``tol=0``, the same policy, to the full budget.

A stop is *false* when the continuation improves the best mean score by more than one
standard error: that of the mean score, over its folds, of the candidate that was best
at the stop.

The tunings are those of ``racing_tunings.py`` on data that scikit-learn carries. The
hyperparameter tables have no scores of folds, so they have no such error. Searches that
the csv file holds already are not made again.
"""

import argparse
import tempfile
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

import shared
from lines import completed
from racing_tunings import TUNINGS
from skrobustbo import RobustBayesSearchCV
from skrobustbo.policies import RobustUCB
from skrobustbo_benchmarks._args import CommandError, positive_int, seed_list
from skrobustbo_benchmarks._report import table

ORDINARY = [name for name in TUNINGS if name != "mnist"]
HEADER = (
    "tuning",
    "searches",
    "stopped",
    "candidates at the stop",
    "largest improvement, s.e.",
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
    "best_stop": float,  # its best mean score
    "error": float,  # the standard error of that one
    "best_full": float,  # the best mean score of the continuation
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--tunings", nargs="+", default=ORDINARY, metavar="NAME", help="default: all")
    add("--seeds", type=seed_list, default="0-2", help="0-2 or 0,3 (default 0-2)")
    add("--n-iter", type=positive_int, default=50, metavar="N", help="full budget")
    add("--cv", type=positive_int, default=5, metavar="K", help="folds")
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
    lines = completed(args.out, COLUMNS, keys, searched, args.jobs)
    lines = lines.set_index(list(Key._fields)).loc[[tuple(key) for key in keys]]
    print(report(lines.reset_index()))


def searched(key):
    """Return how a search stopped, and what its continuation found."""
    data, estimator, space, scoring = TUNINGS[key.tuning]
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search = RobustBayesSearchCV(
            estimator,
            space,
            n_iter=key.n_iter,
            include_default=False,
            tol="noise",
            policy=RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0),
            scoring=scoring,
            cv=kind(key.n_splits, shuffle=True, random_state=key.seed),
            checkpoint=Path(folder) / "search.ckpt",
            random_state=key.seed,
            refit=False,
        ).fit(*data())
        at_stop = {
            "reason": search.stop_reason_,
            "n_stop": search.n_iter_,
            "best_stop": search.best_score_,
            "error": standard_error(search),
        }
        search.set_params(tol=0.0).fit(*data())
    return {**at_stop, "best_full": search.best_score_}


def standard_error(search):
    """Return the standard error of the best candidate's mean score over its folds."""
    results, k = search.cv_results_, search.n_splits_
    scores = [results[f"split{i}_test_score"][search.best_index_] for i in range(k)]
    return float(np.std(scores, ddof=1) / np.sqrt(k))


def verdicts(lines):
    """Return lines with whether each search stopped, its improvement and verdict."""
    stopped = lines["reason"] == "tol"
    gain = lines["best_full"] - lines["best_stop"]
    false = stopped & (gain > lines["error"])
    # All folds of the best may be equal: then any improvement is large.
    errors = np.where(gain > 0, gain / lines["error"].clip(lower=1e-300), 0.0)
    return lines.assign(stopped=stopped, errors=errors, false=false)


def report(lines):
    """Return a table with a row for each tuning and one of all, and the verdict."""
    judged = verdicts(lines)
    rows = [_row(name, part) for name, part in judged.groupby("tuning", sort=False)]
    rows.append(_row("all", judged))
    n, n_stops, n_false = len(judged), judged["stopped"].sum(), judged["false"].sum()
    return (
        f"{table(HEADER, rows)}\n\n{n_stops} of {n} searches stopped before "
        f"{judged['n_iter'].iloc[0]} candidates; {n_false} of these stops were false."
    )


def _row(name, part):
    stops = part[part["stopped"]]
    counts, largest = "-", "-"
    if len(stops):
        least, middle, most = np.percentile(stops["n_stop"], (0, 50, 100))
        counts = f"{middle:.0f} ({least:.0f} to {most:.0f})"
        largest = f"{stops['errors'].max():.2f}"
    n_false = str(int(part["false"].sum()))
    return name, str(len(part)), str(len(stops)), counts, largest, n_false


if __name__ == "__main__":
    shared.run(build_parser(), main)
