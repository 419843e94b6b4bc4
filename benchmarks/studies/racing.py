"""Races of folds, beside full evaluation and other packages that stop early.

    python benchmarks/studies/racing.py run --out racing.csv --seeds 0-4 --splits 5,10
    python benchmarks/studies/racing.py show racing.csv

Ten tunings on data that scikit-learn carries, 40 candidates each. The replay takes the
candidates of the full search and asks which of their folds the race would have saved.
Peers, each with its own way of stopping early, get as many folds as the full search:
successive halving, Optuna with its pruner for folds, SMAC with its racing; they have to
be installed, and named by `--methods`. Rows that the file holds are not made again.
"""

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score

import racing_peers as peers
import shared
from racing_tunings import TUNINGS
from skrobustbo import RobustBayesSearchCV
from skrobustbo.evaluation import Races, Schedule
from skrobustbo.evaluation._racing import FoldEffects
from skrobustbo.model_selection import _search
from skrobustbo.model_selection._source import prepared
from skrobustbo_benchmarks._args import seed_list
from skrobustbo_benchmarks._report import table

#: Candidates of a search.
N_ITER = 40
COLUMNS = [
    "tuning",
    "n_splits",
    "seed",
    "method",
    "folds",
    "seconds",
    "best",
    "error",
    "fresh",
    "full_then",
]


# Methods ------------------------------------------------------------------------------


class Shadow(Races):
    """Stops nobody, and notes each race."""

    races = ()

    def race(self, trial):
        self.races = {**dict(self.races), trial.number: super().race(trial)}


class Full(RobustBayesSearchCV):
    """A search that notes its races and fits all folds."""

    def fit(self, X, y):
        with mock.patch.object(_search, "prepared", self._prepared):
            return super().fit(X, y)

    def _prepared(self, *args):
        source = prepared(*args)
        given = {"score": source._score, "beliefs": source._beliefs}
        self.races = Shadow(0.05, 0.25, source.n_planned, **given)
        source.schedule = Schedule(racing=self.races)
        return source


OURS = {"full": (Full, {}), "confident": (RobustBayesSearchCV, {"racing": True})}
PEERS = ["halving", "optuna-tpe", "optuna-gp", "smac"]


# Running ------------------------------------------------------------------------------


@dataclass
class Run:
    """What a method did.

    Attributes
    ----------
    params : list of dict
        Candidates, in their order.
    table : array of shape (n_candidates, n_splits)
        Scores by fold; nan for folds that were not fitted.
    seconds : array of shape (n_candidates,)
        Seconds of fitting and scoring.
    """

    params: Sequence
    table: np.ndarray
    seconds: np.ndarray

    def __post_init__(self):
        self.folds = np.isfinite(self.table).sum(axis=1)
        self.means = self.table.mean(axis=1)  # nan unless complete
        self.winner = int(np.nanargmax(self.means))

    @property
    def error(self):
        """The standard error of a difference of two mean scores on the same folds.

        The effects of the folds cancel in it. It is nan if scores have no other noise.
        """
        folds = FoldEffects.of(self.table[np.isfinite(self.means)])
        return np.nan if folds is None else folds.error_of_difference

    def best_within(self, spent, budget):
        """Return the best complete score among the candidates paid from a budget."""
        paid = np.cumsum(spent) <= budget * (1 + 1e-9)
        return float(np.nanmax(self.means[paid], initial=-np.inf))


def run_of(search):
    """Return what one of our searches did."""
    results = search.cv_results_
    splits = range(search.n_splits_)
    table = np.array([results[f"split{k}_test_score"] for k in splits]).T
    each = results["mean_fit_time"] + results["mean_score_time"]
    return Run(results["params"], table, np.isfinite(table).sum(axis=1) * each)


def splitter_of(estimator, n_splits, seed):
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    return kind(n_splits, shuffle=True, random_state=seed)


def searched(kind, name, n_splits, seed, **settings):
    data, estimator, space, scoring = TUNINGS[name]
    given = {
        "cv": splitter_of(estimator, n_splits, seed),
        "scoring": scoring,
        "refit": False,
        "random_state": seed,
        **settings,
    }
    return kind(estimator, space, n_iter=N_ITER, **given).fit(*data())


def peer_run(method, name, n_splits, seed):
    """Return what another package did."""
    data, estimator, space, scoring = TUNINGS[name]
    splitter, n_folds = splitter_of(estimator, n_splits, seed), N_ITER * n_splits
    folds = peers.Folds(estimator, *data(), splitter, scoring)
    if method == "halving":
        found = peers.halving(estimator, space, *data(), splitter, scoring, seed)
        for k in range(n_splits):
            folds.fit(found.best_params_, k)
        results = found.cv_results_
        each = results["mean_fit_time"] + results["mean_score_time"]
        run = Run(folds.params, folds.table(), np.array([n_splits * each.sum()]))
        run.folds = np.array([n_folds])  # of all rows, which its rungs add up to
        return run
    if method == "smac":
        peers.smac_run(folds, space, n_folds, seed)
    else:
        peers.optuna_run(method.removeprefix("optuna-"), folds, space, n_folds, seed)
    return Run(folds.params, folds.table(), np.array(folds.seconds))


def fresh_score(name, params, seed):
    """Return the mean score of parameters over other splits than the search's."""
    data, estimator, _, scoring = TUNINGS[name]
    estimator = clone(estimator).set_params(**params)
    scores = [
        cross_val_score(
            estimator,
            *data(),
            scoring=scoring,
            cv=splitter_of(estimator, 5, 10_000 + 10 * seed + i),
        )
        for i in range(3)
    ]
    return float(np.mean(scores))


def replayed(run, races):
    """Return the folds that races would have used, and the best score they leave."""
    n, n_splits = run.table.shape
    complete, used, left = [], 0, 0.05
    for i, row in enumerate(run.table):
        stopped = None
        for j in range(1, n_splits if races[i] else 0):
            chance = races[i].chance(row[:j])
            if chance <= left / max(n - i, 2):
                stopped, left = j, left - chance
                break
        used += stopped or n_splits
        complete += [i] if stopped is None else []
    return used, float(run.means[complete].max())


def rows_of(name, n_splits, seed, methods):
    """Yield a row for each method; "full" comes before "confident"."""
    for method in methods:
        run, more = made(method, name, n_splits, seed), {}
        if method == "full":
            full = run
        elif method == "confident":
            more = {"full_then": full.best_within(full.seconds, run.seconds.sum())}
        row = {
            "tuning": name,
            "n_splits": n_splits,
            "seed": seed,
            "method": method,
            "folds": int(run.folds.sum()),
            "seconds": round(float(run.seconds.sum()), 3),
            "best": run.means[run.winner],
            "error": run.error,
            "fresh": fresh_score(name, run.params[run.winner], seed),
            **more,
        }
        yield row
        if method == "full":
            used, best = replayed(run, run.races)
            yield {**row, "method": "replay", "folds": used, "best": best}


def made(method, name, n_splits, seed):
    """Return what a method does."""
    if method in PEERS:
        return peer_run(method, name, n_splits, seed)
    kind, settings = OURS[method]
    search = searched(kind, name, n_splits, seed, **settings)
    run = run_of(search)
    run.races = dict(getattr(search.races, "races", {})) if method == "full" else {}
    return run


def run(args):
    path, names = Path(args.out), args.tunings.split(",")
    methods, splits = args.methods.split(","), map(int, args.splits.split(","))
    warnings.simplefilter("ignore")
    for key in product(seed_list(args.seeds), splits, names):
        seed, n_splits, name = key
        rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
        here = rows[(rows[["seed", "n_splits", "tuning"]] == key).all(axis=1)]
        missing = [m for m in methods if m not in set(here.method)]
        lines = pd.DataFrame(rows_of(name, n_splits, seed, missing))
        if len(lines):
            lines = lines.reindex(columns=COLUMNS)
            form = {"header": not path.exists(), "float_format": "%.6g"}
            lines.to_csv(path, mode="a", index=False, **form)
        print(f"{name}, {n_splits} folds, seed {seed}", flush=True)


# Showing ------------------------------------------------------------------------------


def with_error(values):
    """Return a mean and twice its standard error."""
    values = np.asarray(values, dtype=float)
    error = 2 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():+.2f} ± {error:.2f}"


KEYS = ["tuning", "n_splits", "seed"]
HEADER = (
    "folds",
    "method",
    "seeds",
    "folds fitted",
    "seconds",
    "winner's score",
    "on other splits",
    "after its own seconds",
)
EACH = (
    "tuning",
    "folds fitted",
    "worse",
    "equal",
    "better",
    "winner's score",
    "in the metric",
    "on other splits",
)


def unit_of(full):
    """Return the standard error of a difference for each tuning.

    It is that of the full searches over all seeds: of a few folds of one seed it can be
    next to nothing by chance.
    """
    return (full.error**2).groupby("tuning").mean() ** 0.5


def gains(here, full, column):
    """Return the gain of each search over full evaluation, in standard errors."""
    beside = full.loc[here.index]
    if column == "full_then":
        gain = here.best - here.full_then
    else:
        gain = here[column] - beside["fresh" if column == "fresh" else "best"]
    return gain[np.isfinite(gain)] / unit_of(beside)


def cells(n_splits, method, here, full):
    """Return the line of a method."""
    beside = full.loc[here.index]
    few, many = here.groupby("tuning").size().agg(["min", "max"])
    raced, asked = method == "confident", method not in ("full", "replay")
    shown = {
        "best": method != "full",
        "fresh": asked,
        "full_then": raced,
    }
    share = (here.folds / (N_ITER * n_splits)).groupby("tuning").mean().mean()
    time = (here.seconds / beside.seconds).groupby("tuning").mean().mean()
    return (
        str(n_splits),
        method,
        str(few) if few == many else f"{few} to {many}",
        f"{share:.0%}",
        f"{time:.0%}" if raced else "",
        *(
            with_error(gains(here, full, column).groupby("tuning").mean())
            if shown[column]
            else ""
            for column in shown
        ),
    )


def each(here, full):
    """Yield the line of each tuning, where the race ended worse, equal or better."""
    gain, fresh = (gains(here, full, column) for column in ("best", "fresh"))
    raw = here.best - full.loc[here.index].best
    for name, searches in here.groupby("tuning", sort=False):
        own = gain[name]
        yield (
            name,
            f"{searches.folds.mean() / (N_ITER * searches.index[0][1]):.0%}",
            *(str((np.sign(own) == sign).sum()) for sign in (-1, 0, 1)),
            with_error(own),
            f"{round(raw[name].mean(), 6):+.2g}",
            with_error(fresh[name]),
        )


def show(args):
    rows = pd.read_csv(args.csv)
    full = rows[rows.method == "full"].set_index(KEYS)
    groups = rows.groupby(["n_splits", "method"], sort=False)
    lines = [cells(*key, here.set_index(KEYS), full) for key, here in groups]
    print(table(HEADER, sorted(lines, key=lambda line: int(line[0])), n_left=2))
    raced = rows[(rows.method == "confident") & (rows.n_splits == args.splits)]
    print(f"\nThe races with {args.splits} folds:\n")
    print(table(EACH, list(each(raced.set_index(KEYS), full)), n_left=1))
    replay = rows[rows.method == "replay"].set_index(KEYS)
    lacking = (full.loc[replay.index].best - replay.best) / replay.error
    within = lacking <= 0.25 / np.sqrt(2) + 1e-4  # the margin
    print(
        "\nReplay: the winner is within the margin of the full winner in "
        f"{within.mean():.1%} of {len(within)} searches."
    )


def parser():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = made.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("--out", required=True)
    running.add_argument("--seeds", default="0-4")
    running.add_argument("--splits", default="5,10")
    carried = ",".join(name for name in TUNINGS if name != "mnist")
    running.add_argument("--tunings", default=carried, help="(all but mnist)")
    running.add_argument("--methods", default=",".join(OURS), help=f"or of {PEERS}")
    running.set_defaults(do=run)
    showing = commands.add_parser("show")
    showing.add_argument("csv")
    showing.add_argument("--splits", type=int, default=5, help="of the second table")
    showing.set_defaults(do=show)
    return made


if __name__ == "__main__":
    shared.run(parser(), lambda args: args.do(args))
