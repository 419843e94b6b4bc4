"""How many suggested parameters to search, and how good they are beside published ones.

    python benchmarks/studies/suggested.py --role choosing --out suggested.csv
    python benchmarks/studies/suggested.py --role reporting --out suggested.csv

The choosing runs search the 2, 3, 4 or 5 most important parameters, or all of them, on
data that are made. The reporting runs are on data that scikit-learn carries. There, the
suggested space, with the number of parameters that `RobustBayesSearchCV` takes, is
compared with the whole space of auto-sklearn for the same estimator, written down here.
Conditions between parameters are left out: a value that has no effect does no harm.

Both searches use the default policy without the untuned estimator. The result is the
share of the gap between the untuned estimator and the best candidate of all searches on
these data that a search has closed.
"""

import argparse
import time
import warnings
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_moons,
)
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

import shared
from lines import add_options, completed, show
from skrobustbo import Integer, Real, RobustBayesSearchCV, suggested_space
from skrobustbo_benchmarks._report import table

N_FOLDS = 3
N_ITERS, N_PARAMS = (15, 25, 50), (2, 3, 4, 5, 0)  # 0: all
#: Candidates of a reporting run.
N_REPORT = 25
HEADER = ("data and estimator", "searches", "suggested", "published", "difference")


class Pair(NamedTuple):
    """An estimator, the metric, the data, and the published space."""

    estimator: object
    scoring: str
    data: object
    published: dict


# Spaces of auto-sklearn ---------------------------------------------------------------

_SVM = {
    "C": Real(0.03125, 32768, log=True),
    "kernel": ["rbf", "poly", "sigmoid"],
    "degree": Integer(1, 5),
    "gamma": Real(3.0517578125e-05, 8, log=True),
    "coef0": Real(-1, 1),
    "shrinking": [True, False],
    "tol": Real(1e-5, 1e-1, log=True),
}
_TUBE = _SVM | {
    "epsilon": Real(0.001, 1, log=True),
    "kernel": ["linear", "poly", "rbf", "sigmoid"],
    "degree": Integer(2, 5),
}
_NEAR = {
    "n_neighbors": Integer(1, 100, log=True),
    "weights": ["uniform", "distance"],
    "p": [1, 2],
}
_TREE = {
    "max_depth": Integer(1, 20),
    "min_samples_split": Integer(2, 20),
    "min_samples_leaf": Integer(1, 20),
}
_FOREST = {
    "max_features": Real(0.05, 1.0),
    "min_samples_split": Integer(2, 20),
    "min_samples_leaf": Integer(1, 20),
    "bootstrap": [True, False],
}
_FOREST_CLASSES = {"criterion": ["gini", "entropy"], **_FOREST}
_HISTOGRAM = {
    "learning_rate": Real(0.01, 1, log=True),
    "min_samples_leaf": Integer(1, 200, log=True),
    "max_leaf_nodes": Integer(3, 2047, log=True),
    "l2_regularization": Real(1e-10, 1, log=True),
}
_BOOSTING = {
    "learning_rate": Real(0.01, 1, log=True),
    "n_estimators": Integer(50, 500),
    "max_depth": Integer(1, 10),
    "min_samples_split": Integer(2, 20),
    "min_samples_leaf": Integer(1, 20),
    "subsample": Real(0.01, 1.0),
    "max_features": Real(0.1, 1.0),
}
_NETWORK = {
    "hidden_layer_sizes": [
        (n,) * depth for depth in (1, 2, 3) for n in (16, 32, 64, 128, 264)
    ],
    "activation": ["tanh", "relu"],
    "alpha": Real(1e-7, 1e-1, log=True),
    "learning_rate_init": Real(1e-4, 0.5, log=True),
}
_DESCENT = {
    "loss": ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"],
    "penalty": ["l1", "l2", "elasticnet"],
    "alpha": Real(1e-7, 1e-1, log=True),
    "l1_ratio": Real(1e-9, 1, log=True),
    "tol": Real(1e-5, 1e-1, log=True),
    "epsilon": Real(1e-5, 1e-1, log=True),
    "learning_rate": ["optimal", "invscaling", "constant"],
    "eta0": Real(1e-7, 1e-1, log=True),
    "power_t": Real(1e-5, 1),
    "average": [False, True],
}

# Data ---------------------------------------------------------------------------------


@cache
def _shipped(load, n=None):
    X, y = load(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return X[rows], y[rows]


def _classes(n, n_features, seed):
    return make_classification(
        n, n_features, n_informative=5, flip_y=0.1, class_sep=0.7, random_state=seed
    )


def _scaled(estimator):
    return make_pipeline(StandardScaler(), estimator)


_FEW_TREES = {"n_estimators": 30, "random_state": 0}
#: Some published points would take hours on hundreds of rows.
_ENDING = {"max_iter": 100_000}
_SHORT = {"max_iter": 60, "random_state": 0}
PAIRS = {
    "choosing": {
        "svc": Pair(
            _scaled(SVC(**_ENDING)), "accuracy", lambda: _classes(400, 15, 1), _SVM
        ),
        "neighbours": Pair(
            *(_scaled(KNeighborsClassifier()), "accuracy"),
            *(lambda: make_moons(400, noise=0.35, random_state=1), _NEAR),
        ),
        "forest": Pair(
            *(RandomForestRegressor(**_FEW_TREES), "r2"),
            *(lambda: make_friedman1(250, 10, noise=1, random_state=1), _FOREST),
        ),
        "histogram": Pair(
            *(HistGradientBoostingClassifier(max_iter=50), "neg_log_loss"),
            *(lambda: _classes(500, 12, 2), _HISTOGRAM),
        ),
        "boosting": Pair(
            *(GradientBoostingRegressor(random_state=0), "r2"),
            *(lambda: make_friedman1(200, 8, noise=2, random_state=2), _BOOSTING),
        ),
        "network": Pair(
            *(_scaled(MLPClassifier(**_SHORT)), "neg_log_loss"),
            *(lambda: _classes(300, 10, 3), _NETWORK),
        ),
        "svr": Pair(
            *(_scaled(SVR(**_ENDING)), "r2"),
            *(lambda: make_friedman1(250, 8, noise=1, random_state=3), _TUBE),
        ),
    },
    "reporting": {
        "svc, cancer": Pair(
            *(_scaled(SVC(**_ENDING)), "accuracy"),
            *(lambda: _shipped(load_breast_cancer), _SVM),
        ),
        "svc, digits": Pair(
            *(_scaled(SVC(**_ENDING)), "accuracy"),
            *(lambda: _shipped(load_digits, 600), _SVM),
        ),
        "svr, diabetes": Pair(
            *(_scaled(SVR(**_ENDING)), "r2"),
            *(lambda: _shipped(load_diabetes), _TUBE),
        ),
        "neighbours, digits": Pair(
            *(_scaled(KNeighborsClassifier()), "accuracy"),
            *(lambda: _shipped(load_digits, 900), _NEAR),
        ),
        "tree, diabetes": Pair(
            *(DecisionTreeRegressor(random_state=0), "r2"),
            *(lambda: _shipped(load_diabetes), _TREE),
        ),
        "forest, wine": Pair(
            *(RandomForestClassifier(**_FEW_TREES), "neg_log_loss"),
            *(lambda: _shipped(load_wine), _FOREST_CLASSES),
        ),
        "forest, diabetes": Pair(
            *(RandomForestRegressor(**_FEW_TREES), "r2"),
            *(lambda: _shipped(load_diabetes), _FOREST),
        ),
        "histogram, cancer": Pair(
            *(HistGradientBoostingClassifier(), "neg_log_loss"),
            *(lambda: _shipped(load_breast_cancer), _HISTOGRAM),
        ),
        "boosting, diabetes": Pair(
            *(GradientBoostingRegressor(random_state=0), "r2"),
            *(lambda: _shipped(load_diabetes), _BOOSTING),
        ),
        "network, cancer": Pair(
            *(_scaled(MLPClassifier(**_SHORT)), "neg_log_loss"),
            *(lambda: _shipped(load_breast_cancer), _NETWORK),
        ),
        "network, friedman 2": Pair(
            *(_scaled(MLPRegressor(**_SHORT)), "r2"),
            *(lambda: make_friedman2(300, noise=50, random_state=5), _NETWORK),
        ),
        "descent, digits": Pair(
            *(_scaled(SGDClassifier(random_state=0)), "accuracy"),
            *(lambda: _shipped(load_digits, 600), _DESCENT),
        ),
    },
}

# The runs -----------------------------------------------------------------------------


class Key(NamedTuple):
    """What tells one search from another."""

    role: str
    pair: str
    space: str  # "published", "suggested", or the number of parameters ("0": all)
    n_iter: int
    seed: int


#: What a line of the file holds.
COLUMNS = Key.__annotations__ | {
    "n_params": int,
    "untuned": float,
    "best": float,
    "seconds": float,
}


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add_options(parser, list(PAIRS), "pair")
    return parser


def keys_of(role, n_seeds):
    """Return the runs of a role."""
    keys = []
    for seed, (name, pair) in product(range(n_seeds), PAIRS[role].items()):
        if role == "reporting":
            spaces = [(space, N_REPORT) for space in ("suggested", "published")]
        else:
            n_all = len(suggested_space(pair.estimator, *pair.data()))
            few = [str(n) for n in N_PARAMS if n < n_all]
            spaces = [(n, n_iter) for n_iter in N_ITERS for n in few]
        keys += [Key(role, name, *space, seed) for space in spaces]
    return keys


def main(args):
    """Make the searches that are missing, and print the table."""
    keys = keys_of(args.role, args.seeds)
    lines = completed(args.out, COLUMNS, keys, run_one, args.jobs)
    lines = with_shares(lines.merge(pd.DataFrame(keys)))
    show(report(lines) if args.role == "reporting" else by_number(lines), args.table)


def space_of(key, pair, X, y):
    """Return the space of a run, for `RobustBayesSearchCV`."""
    if key.space == "published":
        steps = getattr(pair.estimator, "steps", None)
        prefix = f"{steps[-1][0]}__" if steps else ""
        return {prefix + name: values for name, values in pair.published.items()}
    if key.space == "suggested":
        return "suggested"
    return suggested_space(pair.estimator, X, y, n_params=int(key.space) or None)


def run_one(key):
    """Return what one search has found."""
    start = time.perf_counter()
    pair = PAIRS[key.role][key.pair]
    X, y = pair.data()
    splitter = StratifiedKFold if is_classifier(pair.estimator) else KFold
    cv = splitter(N_FOLDS, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = RobustBayesSearchCV(
            pair.estimator,
            space_of(key, pair, X, y),
            n_iter=key.n_iter,
            include_default=False,
            scoring=pair.scoring,
            cv=cv,
            refit=False,
            random_state=key.seed,
        ).fit(X, y)
        untuned = cross_val_score(pair.estimator, X, y, scoring=pair.scoring, cv=cv)
    return {
        "n_params": len(search.cv_results_["params"][0]),
        "untuned": untuned.mean(),
        "best": np.nanmax(search.cv_results_["mean_test_score"]),
        "seconds": time.perf_counter() - start,
    }


# The tables ---------------------------------------------------------------------------


def with_shares(lines):
    """Return lines with the share of the gap that each search has closed.

    A search that ends below the untuned estimator has closed none of it.
    """
    most = lines.groupby("pair")["best"].transform("max")
    gap = (most - lines["untuned"]).clip(lower=1e-12)
    return lines.assign(share=((lines["best"] - lines["untuned"]) / gap).clip(lower=0))


def by_number(lines):
    """Return the mean share for each number of candidates and of parameters."""
    # An estimator with no more parameters than these has all of them searched.
    shares = lines.pivot(
        index=["pair", "seed", "n_iter"], columns="space", values="share"
    )
    shares = shares.reindex(columns=[str(n) for n in N_PARAMS])
    shares = shares.apply(lambda column: column.fillna(shares["0"]))
    means = shares.groupby("n_iter").agg(["mean", "sem"]).stack(level=0)
    rows = [
        (
            str(n_iter),
            *(
                "{mean:.3f} ± {sem:.3f}".format(**means.loc[(n_iter, str(n))])
                for n in N_PARAMS
            ),
        )
        for n_iter in N_ITERS
    ]
    return table(("candidates", *(f"{n or 'all'} parameters" for n in N_PARAMS)), rows)


def report(lines):
    """Return the table that compares the two spaces."""
    apart = lines.pivot(index=["pair", "seed"], columns="space", values="share")
    apart["difference"] = apart["suggested"] - apart["published"]
    means = apart.groupby("pair", sort=False).mean()
    rows = [
        _row(pair, part, part["difference"].sem())
        for pair, part in apart.groupby("pair", sort=False)
    ]
    whole = _row("mean of all", means, means["difference"].sem())
    return table(HEADER, [*rows, whole])


def _row(name, part, error):
    return (
        name,
        str(len(part)),
        f"{part['suggested'].mean():.3f}",
        f"{part['published'].mean():.3f}",
        f"{part['difference'].mean():+.3f} ± {error:.3f}",
    )


if __name__ == "__main__":
    shared.run(build_parser(), main)
