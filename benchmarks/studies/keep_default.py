"""What it costs, and saves, to keep the untuned estimator where tuning may not pay.

    python benchmarks/studies/keep_default.py --role reporting --out keep_default.csv

Each search has data of its own from a known generator. Plain tuning refits the best
candidate. `default_unless_better` looks at the same candidates, and may refit the
estimator as given instead. Both are scored on 10,000 rows that the search has not seen.
A refitted model is *worse* if it scores less there than the untuned estimator by more
than a standard error of the difference.

Gains of different metrics are added in units of the standard error of a mean score of
the untuned estimator over its folds, averaged over all searches of a kind. Of some
kinds, the target does not depend on the features, so no tuning can help. The rule was
chosen on other kinds of data than those that are reported. Searches that the csv file
holds already are not made again.
"""

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.datasets import (
    make_classification,
    make_friedman1,
    make_friedman2,
    make_gaussian_quantiles,
    make_hastie_10_2,
    make_moons,
    make_regression,
    make_sparse_uncorrelated,
)
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import ElasticNet, LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import shared
from lines import add_options, completed, show
from skrobustbo import Integer, Real, RobustBayesSearchCV, default_unless_better
from skrobustbo_benchmarks._args import checked_names
from skrobustbo_benchmarks._report import table

#: Rows that models are scored on, in parts for the standard error; folds, candidates.
N_UNUSED, N_PARTS, N_FOLDS, N_ITER = 10_000, 50, 5, 30
_TREE = {
    "max_features": Real(0.1, 1),
    "min_samples_leaf": Integer(1, 60, log=True),
    "max_depth": Integer(1, 12),
}
_MARGIN = {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-4, 10, log=True)}
_TUBE = {**_MARGIN, "epsilon": Real(1e-3, 1, log=True)}
_NEAR = {
    "n_neighbors": Integer(1, 60, log=True),
    "p": [1, 2],
    "weights": ["uniform", "distance"],
}
_FOREST = {
    "max_features": Real(0.1, 1),
    "min_samples_leaf": Integer(1, 30, log=True),
    "max_samples": Real(0.2, 1),
}
_BOOSTING = {
    "learning_rate": Real(1e-2, 1, log=True),
    "max_leaf_nodes": Integer(2, 31, log=True),
    "min_samples_leaf": Integer(1, 60, log=True),
}
_PENALTY, _INVERSE = (
    {"alpha": Real(1e-3, 1e3, log=True)},
    {"C": Real(1e-4, 1e3, log=True)},
)
_NET = {"alpha": Real(1e-3, 1e2, log=True), "l1_ratio": Real(0, 1)}
_STUMP, _LOGIT = DecisionTreeClassifier(random_state=0), LogisticRegression()
_BOOST = HistGradientBoostingClassifier(max_iter=30, random_state=0)


def _classified(n, seed, **given):
    some = {"n_informative": 5, "n_redundant": 5, "flip_y": 0.1, "class_sep": 0.7}
    return make_classification(n, 20, random_state=seed, **{**some, **given})


def _three(n, seed):
    return _classified(n, seed, n_classes=3)


def _clear(n, seed):
    return _classified(n, seed, flip_y=0.02, class_sep=1.2)


def _unrelated(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 10)), rng.integers(2, size=n)


def _unrelated_numbers(n, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 5)), rng.normal(size=n)


def _linear(n_features, noise):
    def draw(n, seed):
        return make_regression(n, n_features, noise=noise, random_state=seed)

    return draw


def _friedman2(n, seed):
    X, y = make_friedman2(n, noise=100, random_state=seed)
    return X, y / 100


def _friedman1(n, seed):
    return make_friedman1(n, noise=1, random_state=seed)


def _moons(n, seed):
    return make_moons(n, noise=0.35, random_state=seed)


def _hastie(n, seed):
    return make_hastie_10_2(n, random_state=seed)


def _quantiles(n, seed):
    return make_gaussian_quantiles(n_samples=n, n_features=6, random_state=seed)


def _sparse(n, seed):
    return make_sparse_uncorrelated(n, 30, random_state=seed)


#: Role -> name -> estimator, space, metric, data, rows of a search.
KINDS = {
    "choosing": {
        "tree-accuracy": (_STUMP, _TREE, "accuracy", _classified, 300),
        "tree-auc": (_STUMP, _TREE, "roc_auc", _classified, 300),
        "tree-r2": (
            *(DecisionTreeRegressor(random_state=0), _TREE, "r2"),
            *(_linear(20, 100), 300),
        ),
        "logistic-log-loss": (_LOGIT, _INVERSE, "neg_log_loss", _classified, 300),
        "svc-accuracy": (SVC(), _MARGIN, "accuracy", _classified, 300),
        "knn-accuracy": (
            *(KNeighborsClassifier(), _NEAR, "accuracy"),
            *(_classified, 300),
        ),
        "svr-r2": (SVR(), _TUBE, "r2", _friedman1, 200),
        "tree-unrelated": (_STUMP, _TREE, "accuracy", _unrelated, 300),
        "svc-unrelated": (SVC(), _MARGIN, "accuracy", _unrelated, 300),
        "ridge-r2": (Ridge(), _PENALTY, "r2", _linear(10, 20), 200),
        "logistic-accuracy": (_LOGIT, _INVERSE, "accuracy", _clear, 400),
    },
    "reporting": {
        "forest-r2": (
            *(RandomForestRegressor(20, random_state=0), _FOREST, "r2"),
            *(_friedman2, 250),
        ),
        "boosting-auc": (_BOOST, _BOOSTING, "roc_auc", _hastie, 400),
        "boosting-log-loss": (_BOOST, _BOOSTING, "neg_log_loss", _classified, 300),
        "svc-quantiles": (SVC(), _MARGIN, "accuracy", _quantiles, 200),
        "knn-moons": (KNeighborsClassifier(), _NEAR, "accuracy", _moons, 250),
        "tree-three": (_STUMP, _TREE, "balanced_accuracy", _three, 400),
        "net-sparse": (ElasticNet(), _NET, "r2", _sparse, 150),
        "logistic-unrelated": (_LOGIT, _INVERSE, "neg_log_loss", _unrelated, 250),
        "knn-unrelated": (
            *(KNeighborsRegressor(), _NEAR, "neg_mean_squared_error"),
            *(_unrelated_numbers, 250),
        ),
        "boosting-unrelated": (_BOOST, _BOOSTING, "accuracy", _unrelated, 300),
    },
}
HEADER = (
    "data",
    "searches",
    "gain of tuning",
    "gain with the rule",
    "untuned kept, %",
    "worse, plain, %",
    "worse, with the rule, %",
)


class Key(NamedTuple):
    """What tells one search from another."""

    role: str
    kind: str
    seed: int


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "tuned": float,  # what the best candidate scores on the unused rows
    "untuned": float,
    "error": float,  # the standard error of their difference there
    "unit": float,  # that of a mean score of the untuned estimator over its folds
    "kept": int,  # whether the rule keeps the untuned estimator
    "seconds": float,
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add_options(parser, list(KINDS), "kind of data")
    parser.add_argument("--kinds", nargs="+", metavar="NAME", help="default: all")
    return parser


def main(args):
    """Make the searches that are missing, and print the table."""
    known = list(KINDS[args.role])
    kinds = checked_names("kind", args.kinds or known, known)
    keys = [Key(args.role, kind, seed) for seed in range(args.seeds) for kind in kinds]
    lines = completed(args.out, COLUMNS, keys, run_one, args.jobs)
    show(report(lines.merge(pd.DataFrame(keys))), args.table)


def run_one(key):
    """Return what tuning gained in one search, and what the rule makes of it."""
    start = time.perf_counter()
    estimator, space, scoring, draw, n = KINDS[key.role][key.kind]
    seed = key.seed + (2000 if key.role == "reporting" else 0)
    X, y = draw(n + N_UNUSED, seed)
    splitter = StratifiedKFold if is_classifier(estimator) else KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = RobustBayesSearchCV(
            estimator,
            space,
            n_iter=N_ITER,
            scoring=scoring,
            cv=splitter(N_FOLDS, shuffle=True, random_state=seed),
            random_state=seed,
        ).fit(X[:n], y[:n])
        untuned = clone(estimator).fit(X[:n], y[:n])
    scorer, models = get_scorer(scoring), (search.best_estimator_, untuned)
    tuned, plain = (scorer(model, X[n:], y[n:]) for model in models)
    parts = np.array_split(np.arange(n, n + N_UNUSED), N_PARTS)
    apart = [
        scorer(models[0], X[rows], y[rows]) - scorer(models[1], X[rows], y[rows])
        for rows in parts
    ]
    results = search.cv_results_
    folds = [results[f"split{i}_test_score"][0] for i in range(N_FOLDS)]
    return {
        "tuned": tuned,
        "untuned": plain,
        "error": np.std(apart, ddof=1) / np.sqrt(N_PARTS),
        "unit": np.std(folds, ddof=1) / np.sqrt(N_FOLDS),
        "kept": int(default_unless_better(results) == 0),
        "seconds": time.perf_counter() - start,
    }


def report(lines):
    """Return a table with a line for each kind of data, and what all of them say."""
    gain = lines["tuned"] - lines["untuned"]
    unit = lines.groupby("kind")["unit"].transform(lambda each: (each**2).mean() ** 0.5)
    lines = lines.assign(
        gain=gain / unit,
        ruled=np.where(lines["kept"], 0.0, gain) / unit,
        worse=gain < -lines["error"],
        ruled_worse=(gain < -lines["error"]) & (lines["kept"] == 0),
    )
    groups = lines.groupby("kind", sort=False)
    rows = [_row(kind, part) for kind, part in groups]
    means = groups[["gain", "ruled"]].mean()
    share = means["ruled"].sum() / means["gain"].sum()
    return (
        f"{table(HEADER, [*rows, _row('all', lines)])}\n\nThe rule keeps "
        f"{share:.0%} of the mean gain over the kinds of data."
    )


def _row(name, part):
    n = len(part)
    shares = [part[column].mean() for column in ("kept", "worse", "ruled_worse")]
    return (
        name,
        str(n),
        *(
            f"{part[column].mean():+.2f} ± {part[column].std() / np.sqrt(n):.2f}"
            for column in ("gain", "ruled")
        ),
        *(f"{100 * share:.1f}" for share in shares),
    )


if __name__ == "__main__":
    shared.run(build_parser(), main)
