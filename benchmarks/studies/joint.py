"""One search over several models, against a search of the same budget for each.

    python benchmarks/studies/joint.py --out joint.csv

Pipelines of a support vector machine, a forest and nearest neighbours are tuned. With
``--start deceptive`` every model's first candidate is given, such that the later winner
looks worst. Comparisons that the csv file holds already are not made again.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import shared
from lines import completed
from skrobustbo import Integer, Real, RobustBayesSearchCV
from skrobustbo_benchmarks._args import CommandError, positive_int, seed_list
from skrobustbo_benchmarks._report import table

DATA = {"digits": load_digits, "breast-cancer": load_breast_cancer}
MODELS = ("svc", "forest", "neighbours")
N_FOLDS = 3
MOST_NEIGHBOURS = 40
#: Samples of which two folds of three are enough for so many neighbours.
LEAST_SAMPLES = MOST_NEIGHBOURS * N_FOLDS // (N_FOLDS - 1)
#: Settings at which the support vector machine is the worst of the three.
DECEPTIVE = [
    {"model__C": 1.0, "model__gamma": 1.0},
    {"model__max_depth": 20, "model__min_samples_leaf": 1, "model__max_features": 0.3},
    {"model__n_neighbors": 5, "model__p": 2.0, "model__weights": "uniform"},
]


class Key(NamedTuple):
    """What tells one comparison from another."""

    data: str
    start: str
    n_iter: int
    n_samples: int
    seed: int


#: What a line of the file holds: best mean accuracies of the search over all models and
#: of those over one, and the share of the best one in the second half of the former.
COLUMNS = Key.__annotations__ | dict.fromkeys(("joint", *MODELS, "last"), float)


def build_parser():
    """Return the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--data", choices=tuple(DATA), default="digits", help="default: digits")
    add("--start", choices=("default", "deceptive"), default="default")
    add("--seeds", type=seed_list, default="0-4", help="0-4 or 0,3 (default 0-4)")
    add("--n-iter", type=positive_int, default=60, metavar="N", help="candidates")
    add("--n-samples", type=positive_int, default=10_000, metavar="N", help="at most")
    return parser


def main(args):
    """Make the comparisons that are missing from the file, and print a report."""
    if args.n_samples < LEAST_SAMPLES:
        raise CommandError(
            f"--n-samples must be at least {LEAST_SAMPLES}, for {N_FOLDS} folds and "
            f"{MOST_NEIGHBOURS} neighbours. Got {args.n_samples}."
        )
    settings = args.data, args.start, args.n_iter, args.n_samples
    keys = [Key(*settings, seed) for seed in args.seeds]
    lines = completed(args.out, COLUMNS, keys, compare).set_index(list(Key._fields))
    print(report(lines.loc[[tuple(key) for key in keys]].reset_index()))


def compare(key):
    """Return the best scores of the joint search and of those over one model."""
    X, y = DATA[key.data](return_X_y=True)
    X, y = X[: key.n_samples], y[: key.n_samples]
    spaces = branches(key.seed)
    first = DECEPTIVE if key.start == "deceptive" else None
    alone = [
        make_search([space], key, first and [first[i]]).fit(X, y).best_score_
        for i, space in enumerate(spaces)
    ]
    joint = make_search(spaces, key, first).fit(X, y)
    winner = type(spaces[int(np.argmax(alone))]["model"][0])
    half = joint.cv_results_["params"][key.n_iter // 2 :]
    last = np.mean([isinstance(params["model"], winner) for params in half])
    return {
        "joint": joint.best_score_,
        **dict(zip(MODELS, alone, strict=True)),
        "last": float(last),
    }


def branches(seed):
    """Return the space of each model."""
    forest = RandomForestClassifier(n_estimators=20, random_state=seed)
    return [
        {
            "model": [SVC()],
            "model__C": Real(1e-3, 1e3, log=True),
            "model__gamma": Real(1e-6, 10, log=True),
        },
        {
            "model": [forest],
            "model__max_depth": Integer(2, 20),
            "model__min_samples_leaf": Integer(1, 20),
            "model__max_features": Real(0.05, 1),
        },
        {
            "model": [KNeighborsClassifier()],
            "model__n_neighbors": Integer(1, MOST_NEIGHBOURS),
            "model__p": Real(1, 3),
            "model__weights": ["uniform", "distance"],
        },
    ]


def make_search(spaces, key, first=None):
    """Return a search over some of the models, not yet fitted."""
    return RobustBayesSearchCV(
        Pipeline([("scale", StandardScaler()), ("model", SVC())]),
        spaces,
        n_iter=key.n_iter,
        include_default=False,
        initial_params=first,
        cv=StratifiedKFold(N_FOLDS, shuffle=True, random_state=key.seed),
        random_state=key.seed,
        refit=False,
    )


def report(lines):
    """Return a table, and the medians."""
    points = 100 * (lines["joint"] - lines[list(MODELS)].max(axis=1))
    columns = ["joint", *MODELS]
    rows = [
        (
            str(line["seed"]),
            *(f"{line[name]:.4f}" for name in columns),
            f"{points[i]:+.2f}",
            f"{line['last']:.2f}",
        )
        for i, line in lines.iterrows()
    ]
    header = ("seed", *columns, "points ahead", "last half")
    return (
        f"{table(header, rows, n_left=0)}\n\nMedian {points.median():+.2f} points "
        f"(least {points.min():+.2f}); share of the winner in the last half at least "
        f"{lines['last'].min():.2f}."
    )


if __name__ == "__main__":
    shared.run(build_parser(), main)
