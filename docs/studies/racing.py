"""Races of folds, beside full evaluation and simpler ways of stopping early.

    python docs/studies/racing.py run --out racing.csv --seeds 0-4 --splits 5,10
    python docs/studies/racing.py show racing.csv

Ten tunings on data that scikit-learn carries, 40 candidates each. "aggressive" stops a
candidate whose mean so far is below the best mean, "forgiving" one whose mean so far is
below the worst fold of the best (Bergman et al. 2024); both have the default policy.
The replay takes the candidates of the full search and asks which of their folds the
race would have saved. Rows that the file holds are not made again.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LogisticRegression, SGDClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler
from sklearn.svm import SVC, SVR

import shared
from skrobustbo import Categorical, Integer, Real, RobustBayesSearchCV
from skrobustbo.benchmarks._args import seed_list
from skrobustbo.evaluation import Racing, Schedule

N_ITER, MORE = 40, 80
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
    "at_equal_seconds",
]


def piped(estimator, scaler=None):
    return Pipeline([("scale", scaler or StandardScaler()), ("fit", estimator)])


def digits():
    X, y = load_digits(return_X_y=True)
    return X[::3] / 16, y[::3]


def cancer():
    return load_breast_cancer(return_X_y=True)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X, (y - y.mean()) / y.std()


def wine():
    return load_wine(return_X_y=True)


FEW = {"max_iter": 40, "random_state": 0}
SCALERS = [
    "passthrough",
    StandardScaler(),
    MinMaxScaler(),
    QuantileTransformer(n_quantiles=50, random_state=0),
]
#: Name -> data, estimator, space, score.
TUNINGS = {
    "svm-digits": (
        digits,
        SVC(),
        {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-6, 1e-1, log=True)},
        "accuracy",
    ),
    "sgd-digits": (
        digits,
        SGDClassifier(
            loss="log_loss",
            penalty="elasticnet",
            learning_rate="invscaling",
            max_iter=15,
            tol=None,
            random_state=0,
        ),
        {
            "alpha": Real(1e-6, 1.0, log=True),
            "l1_ratio": Real(0.0, 1.0),
            "eta0": Real(1e-4, 1.0, log=True),
            "power_t": Real(0.0, 1.0),
        },
        "accuracy",
    ),
    "knn-cancer": (
        cancer,
        piped(KNeighborsClassifier()),
        {
            "fit__n_neighbors": Integer(1, 50, log=True),
            "fit__p": Real(1.0, 6.0),
            "fit__weights": Categorical(["uniform", "distance"]),
        },
        "accuracy",
    ),
    "krr-diabetes": (
        diabetes,
        piped(KernelRidge(kernel="rbf")),
        {
            "fit__alpha": Real(1e-4, 1e2, log=True),
            "fit__gamma": Real(1e-5, 10.0, log=True),
        },
        "r2",
    ),
    "svr-diabetes": (
        diabetes,
        piped(SVR()),
        {
            "fit__C": Real(1e-3, 1e2, log=True),
            "fit__gamma": Real(1e-5, 1.0, log=True),
            "fit__epsilon": Real(1e-3, 1.0, log=True),
        },
        "r2",
    ),
    "hgb-diabetes": (
        diabetes,
        HistGradientBoostingRegressor(early_stopping=False, **FEW),
        {
            "learning_rate": Real(1e-3, 1.0, log=True),
            "max_leaf_nodes": Integer(2, 64, log=True),
            "min_samples_leaf": Integer(1, 60, log=True),
            "l2_regularization": Real(1e-6, 1e3, log=True),
        },
        "r2",
    ),
    "enet-diabetes": (
        diabetes,
        piped(ElasticNet(max_iter=10_000)),
        {"fit__alpha": Real(1e-5, 10.0, log=True), "fit__l1_ratio": Real(0.01, 1.0)},
        "r2",
    ),
    "rf-cancer": (
        cancer,
        RandomForestClassifier(n_estimators=20, random_state=0),
        {
            "max_depth": Integer(1, 20, log=True),
            "max_features": Real(0.05, 1.0),
            "min_samples_leaf": Integer(1, 50, log=True),
            "criterion": Categorical(["gini", "entropy"]),
        },
        "neg_log_loss",
    ),
    "pipeline-cancer": (
        cancer,
        Pipeline(
            [
                ("scale", StandardScaler()),
                ("reduce", PCA(svd_solver="full")),
                ("fit", LogisticRegression(max_iter=300)),
            ]
        ),
        {
            "scale": Categorical(SCALERS),
            "reduce__n_components": Integer(1, 30),
            "fit__C": Real(1e-4, 1e4, log=True),
        },
        "neg_log_loss",
    ),
    "mlp-wine": (
        wine,
        piped(MLPClassifier((16,), **FEW)),
        {
            "fit__alpha": Real(1e-6, 10.0, log=True),
            "fit__learning_rate_init": Real(1e-4, 1.0, log=True),
            "fit__batch_size": Integer(8, 100, log=True),
            "fit__activation": Categorical(["relu", "tanh", "logistic"]),
        },
        "neg_log_loss",
    ),
}


# Other rules --------------------------------------------------------------------------


class _Rule:
    """A race that is lost below a bound; the pooled estimate is told."""

    allowance = 0.5

    def __init__(self, race, bound):
        self.folds, self._bound = race.folds, bound

    def chance(self, scores):
        return 0.0 if np.mean(scores) < self._bound else 1.0


class Simple(Racing):
    """Stops candidates by a bound on the mean of their folds so far."""

    def __init__(self, *args, bound, **kwargs):
        super().__init__(*args, **kwargs)
        self._bound = bound

    def race(self, trial):
        race = super().race(trial)
        if race is None:
            return None
        return _Rule(race, self._bound(max(self._complete, key=np.mean)))


class Shadow(Racing):
    """Stops nobody, and notes each race."""

    races = ()

    def race(self, trial):
        self.races = {**dict(self.races), trial.number: super().race(trial)}


class Search(RobustBayesSearchCV):
    """A search with another rule for its races."""

    rule, more = Shadow, ()

    def _source(self, journal=None, data=None):
        source = super()._source(journal, data)
        given = {"score": source._score, "beliefs": source._beliefs, **dict(self.more)}
        self.races = self.rule(0.05, 0.25, source.n_planned, **given)
        source.schedule = lambda: Schedule(racing=self.races)
        return source


class Aggressive(Search):
    rule, more = Simple, (("bound", np.mean),)


class Forgiving(Search):
    rule, more = Simple, (("bound", np.min),)


METHODS = {
    "full": (Search, {}),
    "confident": (RobustBayesSearchCV, {"racing": "confident"}),
    "aggressive": (Aggressive, {}),
    "forgiving": (Forgiving, {}),
}


# Running ------------------------------------------------------------------------------


def table_of(search):
    results = search.cv_results_
    columns = [results[f"split{k}_test_score"] for k in range(search.n_splits_)]
    return np.array(columns).T


def seconds_of(search):
    """Return the seconds of fitting and scoring of each candidate."""
    results = search.cv_results_
    n = np.isfinite(table_of(search)).sum(axis=1)
    return n * (results["mean_fit_time"] + results["mean_score_time"])


def splitter_of(estimator, n_splits, seed):
    kind = StratifiedKFold if is_classifier(estimator) else KFold
    return kind(n_splits, shuffle=True, random_state=seed)


def searched(kind, name, n_splits, seed, n_iter, **settings):
    data, estimator, space, scoring = TUNINGS[name]
    given = {
        "cv": splitter_of(estimator, n_splits, seed),
        "scoring": scoring,
        "refit": False,
        "random_state": seed,
        **settings,
    }
    return kind(estimator, space, n_iter=n_iter, **given).fit(*data())


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


def replayed(search):
    """Return the folds used, and what the winner then lacks, in standard errors."""
    scores, races, left = table_of(search), dict(search.races.races), 0.05
    n, n_splits = scores.shape
    complete, used = [], 0
    for i, row in enumerate(scores):
        race, stopped = races[i], None
        for j in range(1, n_splits if race else 0):
            chance = race.chance(row[:j])
            if chance <= left / max(n - i, 2):
                stopped, left = j, left - chance
                break
        used += stopped or n_splits
        complete += [i] if stopped is None else []
    means = scores.mean(axis=1)
    return used, (means.max() - means[complete].max()) / error_of(search)


def error_of(search):
    means = search.cv_results_["mean_test_score"]
    best = table_of(search)[int(np.nanargmax(means))]
    return float(best.std(ddof=1) / np.sqrt(len(best)))


def rows_of(name, n_splits, seed):
    """Yield a row for each method."""
    whole = None
    for method, (kind, settings) in METHODS.items():
        found = searched(kind, name, n_splits, seed, N_ITER, **settings)
        row = {"tuning": name, "n_splits": n_splits, "seed": seed, "method": method}
        means, seconds = found.cv_results_["mean_test_score"], seconds_of(found)
        row |= {
            "folds": int(np.isfinite(table_of(found)).sum()),
            "seconds": round(float(seconds.sum()), 4),
            "best": float(np.nanmax(means)),
            "error": error_of(found),
            "fresh": fresh_score(name, found.best_params_, seed),
        }
        if method == "full":
            whole = float(seconds.sum())
            used, lacking = replayed(found)
            replay = {**row, "method": "replay", "folds": used}
            yield {**replay, "best": row["best"] - lacking * row["error"]}
        if method == "confident":
            more = searched(kind, name, n_splits, seed, MORE, **settings)
            done = np.cumsum(seconds_of(more)) <= whole
            until = more.cv_results_["mean_test_score"][done]
            row["at_equal_seconds"] = float(np.nanmax(until, initial=-np.inf))
        yield row


def run(args):
    path, rows = Path(args.out), []
    if path.exists():
        with path.open() as file:
            rows = list(csv.DictReader(file))
    done = {(r["tuning"], int(r["n_splits"]), int(r["seed"])) for r in rows}
    warnings.simplefilter("ignore")
    for seed in seed_list(args.seeds):
        for n_splits in map(int, args.splits.split(",")):
            for name in args.tunings.split(",") if args.tunings else TUNINGS:
                if (name, n_splits, seed) in done:
                    continue
                made = list(rows_of(name, n_splits, seed))
                is_new = not path.exists()
                with path.open("a", newline="") as file:
                    writer = csv.DictWriter(file, COLUMNS)
                    if is_new:
                        writer.writeheader()
                    writer.writerows(made)
                print(f"{name}, {n_splits} folds, seed {seed}", flush=True)


# Showing ------------------------------------------------------------------------------


def with_error(values, pattern):
    """Return a mean and twice its standard error over tunings."""
    values = np.asarray(values, dtype=float)
    error = 2 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{format(values.mean(), pattern)} ± {format(error, pattern.strip('+'))}"


def show(args):
    import pandas as pd

    table = pd.read_csv(args.csv)
    keys = ["tuning", "n_splits", "seed"]
    full = table[table.method == "full"].set_index(keys)
    print(
        "| folds | method | share of the folds fitted | winner's score, in standard "
        "errors of that of full evaluation | the same on other splits |\n"
        "|---:|---|---:|---:|---:|"
    )
    for (n_splits, method), rows in table.groupby(["n_splits", "method"], sort=False):
        here = rows.set_index(keys)
        beside = full.loc[here.index]
        share = (here.folds / (N_ITER * n_splits)).groupby("tuning").mean()
        best = ((here.best - beside.best) / beside.error).groupby("tuning").mean()
        fresh = ((here.fresh - beside.fresh) / beside.error).groupby("tuning").mean()
        shown = "" if method in ("replay", "full") else with_error(fresh, "+.2f")
        print(
            f"| {n_splits} | {method} | {share.mean():.0%} | "
            f"{with_error(best, '+.2f')} | {shown} |"
        )
    replay = table[table.method == "replay"].set_index(keys)
    lacking = (full.loc[replay.index].best - replay.best) / replay.error
    print(
        f"\nReplay: the winner is within 0.25 standard errors of the full winner in "
        f"{(lacking <= 0.25 + 1e-9).mean():.1%} of {len(lacking)} searches."
    )
    raced = table[table.method == "confident"].set_index(keys)
    gain = raced.at_equal_seconds - full.loc[raced.index].best
    ahead = gain.groupby("tuning").mean() >= 0
    print(
        "At equal seconds of fitting, the best complete score is no worse than that "
        f"of full evaluation on {ahead.sum()} of {len(ahead)} tunings (mean of seeds)."
    )


def parser():
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = made.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("--out", required=True)
    running.add_argument("--seeds", default="0-4")
    running.add_argument("--splits", default="5,10")
    running.add_argument("--tunings", default="", help="names (default: all)")
    running.set_defaults(do=run)
    showing = commands.add_parser("show")
    showing.add_argument("csv")
    showing.set_defaults(do=show)
    return made


if __name__ == "__main__":
    shared.run(parser(), lambda args: args.do(args))
