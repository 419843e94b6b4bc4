"""``overhead``: what a search costs per candidate beside the fits.

The estimator takes no time, so all that is left is the search: choosing candidates,
running folds, keeping results. Searches take turns in one process with one thread.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from skrobustbo.benchmarks._args import CommandError, Subparsers, positive_int
from skrobustbo.benchmarks._conformance._peers import PEERS, Peer
from skrobustbo.benchmarks._conformance._task import Choice, Floats, NeutralSpace
from skrobustbo.benchmarks._files import check_can_write, write_csv
from skrobustbo.benchmarks._pool import say
from skrobustbo.benchmarks._threads import is_one_thread, rerun_with_one_thread

DEFAULT = ("RobustBayesSearchCV", "BayesSearchCV")
SPACE: NeutralSpace = {
    "a": Floats(-1.0, 1.0),
    "b": Floats(1e-3, 1e3, log=True),
    "c": Floats(0.0, 10.0),
    "d": Choice(("p", "q", "r")),
}
N_FOLDS = 2
#: Candidates of the run that loads what is loaded on first use.
N_WARM = 12


class Idle(BaseEstimator):
    """An estimator that does nothing in `fit` and has a smooth score."""

    def __init__(self, a: float = 0.0, b: float = 1.0, c: float = 0.0, d: str = "p"):
        self.a = a
        self.b = b
        self.c = c
        self.d = d

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing."""
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return a function of the parameters, the same for all data."""
        bowl = (self.a - 0.2) ** 2 + (np.log10(self.b) / 3 + 0.4) ** 2
        return float(np.cos(self.c / 3) - bowl - 0.3 * "qrp".index(self.d))


@dataclass(frozen=True)
class Run:
    """One row of the csv file.

    Parameters
    ----------
    search : str
        Name of its class.
    version : str
        Of its package, and of scikit-learn beside it.
    seed : int
        Of the search.
    n_candidates : int
        Candidates evaluated.
    cpu_ms : float
        CPU milliseconds per candidate.
    """

    search: str
    version: str
    seed: int
    n_candidates: int
    cpu_ms: float


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "overhead",
        help="time a search per candidate beside its fits",
        description="Time searches over an estimator whose fits take no time (CPU "
        "time, one thread, n_jobs=1), in turns. Three continuous parameters and one "
        "categorical.",
    )
    parser.add_argument(
        "--estimators",
        nargs="+",
        metavar="NAME",
        choices=list(PEERS),
        default=list(DEFAULT),
        help=f"default: {' and '.join(DEFAULT)}, where installed",
    )
    for name, default, what in (
        ("--n-iter", 200, "candidates of a search"),
        ("--repeats", 3, "searches of each kind"),
    ):
        parser.add_argument(
            name,
            type=positive_int,
            default=default,
            metavar="N",
            help=f"{what} (default: {default})",
        )
    parser.add_argument("--out", type=Path, metavar="CSV", help="file to write")
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Measure, write the csv file and print one table line per search."""
    peers = [PEERS[name] for name in args.estimators if PEERS[name].is_installed]
    if not peers:
        raise CommandError(f"None of {', '.join(args.estimators)} is installed here.")
    if args.out is not None:
        check_can_write(args.out)
    if not is_one_thread():
        return rerun_with_one_thread(args.argv)
    runs = measure(peers, n_iter=args.n_iter, repeats=args.repeats)
    if args.out is not None:
        write(args.out, runs)
    print(markdown(runs))
    return 0


def measure(peers: Sequence[Peer], *, n_iter: int, repeats: int) -> list[Run]:
    """Return `repeats` runs of each search, in turns, after one short run of each."""
    for peer in peers:
        _run(peer, min(N_WARM, n_iter), seed=0)
    runs = []
    for seed in range(repeats):
        for peer in peers:
            runs.append(_run(peer, n_iter, seed))
            say(f"{peer.name}, seed {seed}: {runs[-1].cpu_ms:.1f} ms per candidate")
    return runs


def _run(peer: Peer, n_iter: int, seed: int) -> Run:
    X = np.zeros((2 * N_FOLDS, 1))
    search = peer.search(
        Idle(), SPACE, n_iter=n_iter, cv=N_FOLDS, random_state=seed, refit=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        search.fit(X)
        spent = time.process_time() - start
    n = len(search.cv_results_["mean_test_score"])
    return Run(peer.name, peer.version, seed, n, 1e3 * spent / n)


def write(path: Path, runs: Sequence[Run]) -> None:
    """Write the runs as a csv file in place of what is there."""
    write_csv(path, [column.name for column in fields(Run)], map(astuple, runs))


_HEADER = (
    "search",
    "version",
    "candidates",
    "runs",
    "CPU ms per candidate, median",
    "smallest",
    "largest",
    "ratio of medians to the first",
)


def markdown(runs: Sequence[Run]) -> str:
    """Return one table line per search, in the order of the runs."""
    first = _times(runs, runs[0].search)
    lines = [_HEADER, ("---", "---", *("---:" for _ in _HEADER[2:]))]
    names = dict.fromkeys(run.search for run in runs)
    lines += [_cells(runs, name, first) for name in names]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(runs: Sequence[Run], name: str, first: list[float]) -> tuple[str, ...]:
    times = _times(runs, name)
    run = next(run for run in runs if run.search == name)
    figures = (np.median(times), min(times), max(times))
    ratio = np.median(times) / np.median(first)
    return (
        name,
        run.version,
        str(run.n_candidates),
        str(len(times)),
        *(format(figure, ".3g") for figure in figures),
        format(ratio, ".3g"),
    )


def _times(runs: Sequence[Run], name: str) -> list[float]:
    return [run.cpu_ms for run in runs if run.search == name]
