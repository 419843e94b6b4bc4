"""How near honest scores are to the truth: bias and coverage over many searches.

    python benchmarks/studies/honest_score.py --out honest_score.csv

Each search has data of its own, drawn from a known generator or from the images of
MNIST. In some settings, a class is rare, or rows come in groups of five. The truth is
what the winner's models, one for each fold, score on many rows that the search has not
seen. Searches that the csv file holds already are not made again.

Most of the error is the luck of the rows, which the winner shares with any other model.
So the estimator with its default settings is cross-validated on the same folds. The
expected error of its score is 0, as nothing is chosen. It is a control variate: what
regression explains by it is taken off the errors before their mean. R^2 is not right on
average for a few rows, but the squared error is.
"""

import argparse
import time
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import shared
from lines import completed
from skrobustbo import Integer, Real, RobustBayesSearchCV, policies
from skrobustbo.model_selection._honest import corrected
from skrobustbo_benchmarks._args import checked_names, positive_int
from skrobustbo_benchmarks._report import table
from skrobustbo_benchmarks.datasets import fetch_mnist

#: Rows that the truth is measured on, and folds.
N_UNUSED, N_FOLDS = 10_000, 5
_TREE = {
    "max_features": Real(0.1, 1),
    "min_samples_leaf": Integer(1, 60, log=True),
    "max_depth": Integer(1, 12),
}
_LOGISTIC = {"C": Real(1e-4, 1e3, log=True), "intercept_scaling": Real(0.1, 10)}
_NEAR = {
    "n_neighbors": Integer(1, 60, log=True),
    "p": [1, 2],
    "weights": ["uniform", "distance"],
}
_TREES = DecisionTreeClassifier(random_state=0), _TREE
_LINES = LogisticRegression(solver="liblinear"), _LOGISTIC
_GROUPED = {
    "tree": (DecisionTreeRegressor(random_state=0), _TREE),
    "ridge": (Ridge(), {"alpha": Real(1e-3, 1e4, log=True)}),
    "neighbours": (KNeighborsRegressor(), _NEAR),
}


class Setting(NamedTuple):
    """An estimator, its space, the metric, and the data."""

    estimator: object
    space: dict
    scoring: str
    data: str = "classes"
    rows: int = 300
    rare: int = 50  # percentage of the second class
    groups: int = 0  # of five rows each


SETTINGS = {
    "tree accuracy": Setting(*_TREES, "accuracy"),
    "tree auc": Setting(*_TREES, "roc_auc"),
    "tree r2": Setting(*_GROUPED["tree"], "r2", "numbers"),
    "logistic log loss": Setting(*_LINES, "neg_log_loss"),
    "mnist accuracy": Setting(*_TREES, "accuracy", "images"),
    **{
        f"{name} auc {rare}%": Setting(*model, "roc_auc", "classes", 400, rare)
        for rare, (name, model) in product(
            (5, 20), {"tree": _TREES, "logistic": _LINES}.items()
        )
    },
    **{
        f"{name} {n} groups": Setting(
            *model, "neg_mean_squared_error", "groups", 5 * n, groups=n
        )
        for n, (name, model) in product((30, 60), _GROUPED.items())
    },
}
#: What the luck is measured in, where it is not the metric.
LUCK = {"r2": "neg_mean_squared_error"}
#: What is compared, and what the columns are called in the table.
METHODS = {
    "naive": "`best_score_`",
    "honest": "`honest_score=True`",
    "folds": '`honest_score="folds"`',
    "nested": "nested cross-validation",
}
HEADER = (
    "setting",
    "policy",
    "score",
    "searches",
    "mean error",
    "limit, % of naive",
    "half a standard error, % of naive",
    "RMS error",
    "covered, %",
)
#: The columns of the table of one line each.
SUMMARY = (
    "setting",
    "policy",
    "searches",
    "`best_score_` too high by",
    "of this left, %",
    'with `"folds"`, %',
    "covered, %",
)


class Key(NamedTuple):
    """What tells one search from another; `nested` is 1 with nested validation."""

    setting: str
    policy: str
    n_iter: int
    seed: int
    nested: int


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "naive_score": float,
    "honest_score": float,
    "low": float,  # ends of the interval of 95 %
    "high": float,
    "folds_score": float,
    "nested_score": float,  # nan without
    "truth": float,
    "luck": float,  # error of the score of the default settings
    "seconds": float,
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--settings", nargs="+", default=list(SETTINGS), metavar="NAME")
    add("--policies", nargs="+", default=["robust", "random"], metavar="NAME")
    add("--searches", type=positive_int, default=100, metavar="N", help="(100)")
    add("--nested", type=int, default=0, metavar="N", help="with nested validation (0)")
    add("--seed", type=int, default=0, help="of the first search (0)")
    add("--n-iter", type=positive_int, default=30, metavar="N", help="candidates (30)")
    add("--jobs", type=positive_int, default=1, metavar="N", help="searches at a time")
    add("--summary", action="store_true", help="only sum up what the file has")
    return parser


def main(args):
    """Make the searches that are missing, and print the table."""
    if args.summary:
        print(summary(pd.read_csv(args.out)))
        return
    settings = [name.replace("-", " ") for name in args.settings]
    settings = checked_names("setting", settings, list(SETTINGS))
    names = checked_names("policy", args.policies, policies.available())
    keys = [
        Key(
            *(setting, policy, args.n_iter, args.seed + i),
            nested=int(i < args.nested),
        )
        for i, setting, policy in product(range(args.searches), settings, names)
    ]
    runs = completed(args.out, COLUMNS, keys, run_one, args.jobs)
    print(report(runs.merge(pd.DataFrame(keys))))  # the file may have others


# One search


def run_one(key):
    """Return the scores of a search and the truth, which depend on its key only."""
    start = time.perf_counter()
    X, y, unused, answers = draw(key)
    estimator, _, scoring, *_ = setting = SETTINGS[key.setting]
    groups = np.arange(len(y)) // 5 if setting.groups else None
    search = make_search(key).fit(X, y, groups=groups)
    folds = list(search.cv.split(X, y, groups))

    def score_and_truth(metric, **params):
        """Return what a model's fits score in their folds, and on the unused rows."""
        scorer, model = get_scorer(metric), clone(estimator).set_params(**params)
        fits = [clone(model).fit(X[train], y[train]) for train, _ in folds]
        tested = zip(fits, folds, strict=True)
        scores = [scorer(fit, X[test], y[test]) for fit, (_, test) in tested]
        return np.mean(scores), np.mean([scorer(fit, unused, answers) for fit in fits])

    _, truth = score_and_truth(scoring, **search.best_params_)
    default, true_default = score_and_truth(LUCK.get(scoring, scoring))
    columns = [f"split{i}_test_score" for i in range(N_FOLDS)]
    fold_scores = np.array([search.cv_results_[name] for name in columns]).T
    scorer = get_scorer(scoring)
    nested = [
        scorer(outer_search(key, i).fit(X[train], y[train]), X[test], y[test])
        for i, (train, test) in enumerate(folds if key.nested else [])
    ]
    low, high = search.honest_interval_
    return {
        "naive_score": search.best_score_,
        "honest_score": search.honest_score_,
        "low": low,
        "high": high,
        "folds_score": corrected(fold_scores),
        "nested_score": float(np.mean(nested)) if nested else np.nan,
        "truth": truth,
        "luck": default - true_default,
        "seconds": time.perf_counter() - start,
    }


def draw(key):
    """Return the rows of a search, and unused ones of the same source."""
    setting = SETTINGS[key.setting]
    n = setting.rows + N_UNUSED
    if setting.data == "images":
        X, y = images()
        rows = np.random.default_rng(key.seed).permutation(len(y))[:n]
        X, y = X[rows], y[rows]
    elif setting.data == "numbers":
        X, y = make_regression(n, 20, noise=100, random_state=key.seed)
    elif setting.data == "groups":
        X, y = grouped(n, np.random.default_rng(key.seed))
    else:
        rare = setting.rare / 100
        X, y = make_classification(
            n,
            20,
            n_informative=5,
            n_redundant=5,
            flip_y=0.1 if rare == 0.5 else 0.0,
            class_sep=0.7,
            weights=[1 - rare, rare],
            random_state=key.seed,
        )
    k = setting.rows
    return X[:k], y[:k], X[k:], y[k:]


def grouped(n, rng):
    """Return rows in groups of five, which share half of the features and a shift."""
    common, shift = rng.normal(size=(n // 5, 4)), rng.normal(size=n // 5)
    X = np.hstack([common.repeat(5, axis=0), rng.normal(size=(n, 4))])
    line = X @ [0.5, 0.3, 0, 0, 0.5, 0.3, 0, 0] + 0.5 * X[:, 0] * X[:, 4]
    return X, line + shift.repeat(5) + rng.normal(size=n)


@cache
def images():
    """Return every other pixel and line of all images of MNIST, and their digits."""
    X, y = fetch_mnist("all", return_X_y=True)
    return X.reshape(-1, 28, 28)[:, ::2, ::2].reshape(len(X), -1), y


def make_search(key):
    """Return the search of a key, not yet fitted."""
    setting = SETTINGS[key.setting]
    if setting.groups:
        cv = GroupKFold(N_FOLDS)
    else:
        kind = StratifiedKFold if setting.data in ("classes", "images") else KFold
        cv = kind(N_FOLDS, shuffle=True, random_state=key.seed)
    return RobustBayesSearchCV(
        setting.estimator,
        setting.space,
        n_iter=key.n_iter,
        include_default=False,
        policy=key.policy,
        scoring=setting.scoring,
        cv=cv,
        refit=False,
        random_state=key.seed,
        honest_score=True,
    )


def outer_search(key, fold):
    """Return the search on the training rows of one outer fold."""
    search = make_search(key).set_params(refit=True, honest_score=False)
    return search.set_params(random_state=N_FOLDS * key.seed + fold)


# The report


def report(runs):
    """Return a line for each setting, policy and score as markdown."""
    lines = [
        (setting, policy, METHODS[method], *_cells(group, method))
        for (setting, policy), group in runs.groupby(["setting", "policy"], sort=False)
        for method in METHODS
        if group[f"{method}_score"].notna().any()
    ]
    return table(HEADER, lines, n_left=3)


def summary(runs):
    """Return one line for each setting and policy: what is left of the optimism."""
    lines = []
    for (setting, policy), group in runs.groupby(["setting", "policy"], sort=False):
        naive, _ = _mean_error(group, "naive")
        honest, folds = (_mean_error(group, method) for method in ("honest", "folds"))
        left = f"{100 * honest[0] / naive:.0f} ± {100 * honest[1] / naive:.0f}"
        covered = _cells(group, "honest")[-1]
        parts = f"{naive:.2g}", left, f"{100 * folds[0] / naive:.0f}", covered
        lines.append((setting, policy, str(len(group)), *parts))
    return table(SUMMARY, lines, n_left=2)


def _cells(runs, method):
    naive, _ = _mean_error(runs, "naive")
    mean, standard_error = _mean_error(runs, method)
    errors = (runs[f"{method}_score"] - runs["truth"]).dropna()
    limit = abs(mean) + 1.96 * standard_error
    half = (runs["high"] - runs["low"]).mean() / 8  # an interval has four of them
    inside = (runs["low"] <= runs["truth"]) & (runs["truth"] <= runs["high"])
    return (
        str(len(errors)),
        f"{mean:+.4f} ± {standard_error:.4f}",
        f"{100 * limit / naive:.0f}",
        f"{100 * half / naive:.0f}",
        f"{np.sqrt(np.mean(errors**2)):.4f}",
        f"{100 * inside.mean():.1f}" if method == "honest" else "-",
    )


def _mean_error(runs, method):
    """Return the mean error of a score, and its standard error."""
    runs = runs.dropna(subset=f"{method}_score")
    errors, luck = runs[f"{method}_score"] - runs["truth"], runs["luck"]
    if len(runs) > 2:
        errors = errors - errors.cov(luck) / luck.var() * luck
    return errors.mean(), errors.std() / np.sqrt(len(errors))


if __name__ == "__main__":
    shared.run(build_parser(), main)
