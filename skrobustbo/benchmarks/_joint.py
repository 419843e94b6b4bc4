"""``joint``: one search over several models against a search for each."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from skrobustbo.benchmarks._args import (
    CommandError,
    Subparsers,
    positive_int,
    seed_list,
)
from skrobustbo.benchmarks._lines import LineTable
from skrobustbo.benchmarks._pool import say
from skrobustbo.benchmarks._threads import is_one_thread, rerun_with_one_thread
from skrobustbo.benchmarks._versions import notes_beside

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


@dataclass(frozen=True)
class Pair:
    """One row: the best scores of a seed's searches.

    Parameters
    ----------
    data : str
        Data set.
    start : {"default", "deceptive"}
        Whether the winner's first candidate is a bad one.
    n_iter : int
        Candidates of each search.
    seed : int
        Seed of the folds, the estimators and the searches.
    joint : float
        Best mean accuracy of the search over all models.
    svc, forest, neighbours : float
        Best mean accuracy of the search over one model.
    last : float
        Share of the best model in the second half of the joint search.
    n_samples : int
        Samples of the data, at most.
    """

    data: str
    start: str
    n_iter: int
    seed: int
    joint: float
    svc: float
    forest: float
    neighbours: float
    last: float
    n_samples: int = 10_000

    @property
    def key(self) -> Key:
        """What tells the comparison from others."""
        return Key(*(getattr(self, name) for name in Key._fields))

    @property
    def points(self) -> float:
        """Points of accuracy by which the joint search is ahead of the best other."""
        return 100 * (self.joint - max(self.svc, self.forest, self.neighbours))


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "joint",
        help="compare one search over several models with one search for each",
        description="Tune pipelines of a support vector machine, a forest and nearest "
        "neighbours: in one search over all three, and in three of the same budget. "
        "With --start deceptive every model's first candidate is given, such that the "
        "later winner looks worst. One process with one thread; comparisons that the "
        "csv file holds already are skipped, so the same command resumes.",
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--data", choices=tuple(DATA), default="digits", help="default: digits")
    add("--start", choices=("default", "deceptive"), default="default")
    add("--seeds", type=seed_list, default="0-4", help="0-4 or 0,3 (default 0-4)")
    add("--n-iter", type=positive_int, default=60, metavar="N", help="candidates")
    add("--n-samples", type=positive_int, default=10_000, metavar="N", help="at most")
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Make the comparisons that are missing from the file, and print a report."""
    if args.n_samples < LEAST_SAMPLES:
        raise CommandError(
            f"--n-samples must be at least {LEAST_SAMPLES}, for {N_FOLDS} folds and "
            f"{MOST_NEIGHBOURS} neighbours. Got {args.n_samples}."
        )
    table = LineTable(args.out, Pair, "joint")
    held = table.open()
    if not is_one_thread():
        return rerun_with_one_thread(args.argv)
    settings = args.data, args.start, args.n_iter, args.n_samples
    wanted = [Key(*settings, seed) for seed in args.seeds]
    missing = [key for key in wanted if key not in held]
    say(f"{args.out}: {len(wanted) - len(missing)} of {len(wanted)} seeds are there.")
    if missing and (mixed := notes_beside(args.out).add()):
        say(f"{args.out} mixes runs of {mixed}.")
    for key in missing:
        pair = compare(key)
        table.append(pair)
        say(f"seed {key.seed}: {pair.points:+.2f} points, last half {pair.last:.2f}")
    pairs = table.read()
    print("\n".join(report([pairs[key] for key in wanted])))
    return 0


def compare(key: Key) -> Pair:
    """Return the best scores of the joint search and of those over one model."""
    data, start, n_iter, n_samples, seed = key
    X, y = DATA[data](return_X_y=True)
    X, y = X[:n_samples], y[:n_samples]
    spaces, first = _branches(seed), DECEPTIVE if start == "deceptive" else None
    alone = [
        _search([space], n_iter, seed, first and [first[i]]).fit(X, y).best_score_
        for i, space in enumerate(spaces)
    ]
    joint = _search(spaces, n_iter, seed, first).fit(X, y)
    winner = type(spaces[int(np.argmax(alone))]["model"][0])
    half = joint.cv_results_["params"][n_iter // 2 :]
    last = np.mean([isinstance(params["model"], winner) for params in half])
    scores = dict(zip(MODELS, alone, strict=True))
    return Pair(**key._asdict(), joint=joint.best_score_, last=float(last), **scores)


def _branches(seed: int) -> list[dict[str, Any]]:
    from skrobustbo import Integer, Real

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


def _search(
    space: list[dict[str, Any]], n_iter: int, seed: int, first: Any = None
) -> Any:
    from skrobustbo import RobustBayesSearchCV

    return RobustBayesSearchCV(
        Pipeline([("scale", StandardScaler()), ("model", SVC())]),
        space,
        n_iter=n_iter,
        initial_params=first,
        cv=StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed),
        random_state=seed,
        refit=False,
    )


def report(pairs: Sequence[Pair]) -> Iterator[str]:
    """Return the lines of a table, and the medians."""
    yield "| seed | joint | svc | forest | neighbours | points ahead | last half |"
    yield "|---:|---:|---:|---:|---:|---:|---:|"
    for p in pairs:
        scores = " | ".join(f"{getattr(p, name):.4f}" for name in ("joint", *MODELS))
        yield f"| {p.seed} | {scores} | {p.points:+.2f} | {p.last:.2f} |"
    points = [pair.points for pair in pairs]
    yield ""
    yield (
        f"Median {np.median(points):+.2f} points (least {min(points):+.2f}); share of "
        f"the winner in the last half at least {min(p.last for p in pairs):.2f}."
    )
