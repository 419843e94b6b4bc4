"""``checkpoint-cost``: the wall time of a search with a checkpoint and without one.

The fits do nothing for a fixed time, so that what a checkpoint adds is not lost in the
noise of real ones. Both searches run in turns, each pair in the other order than the
one before, and then a finished one is taken up again: that is what resuming costs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from skrobustbo.benchmarks._args import Subparsers, positive_int
from skrobustbo.space import Real

_N_PARAMETERS = 5


class Idle(BaseEstimator):
    """Takes a fixed time to fit; scores a known function.

    Parameters
    ----------
    x0, x1, x2, x3, x4 : float
        Where the function is evaluated.
    seconds : float
        How long a fit takes.
    """

    def __init__(
        self,
        x0: float = 0.0,
        x1: float = 0.0,
        x2: float = 0.0,
        x3: float = 0.0,
        x4: float = 0.0,
        seconds: float = 0.0,
    ) -> None:
        self.x0 = x0
        self.x1 = x1
        self.x2 = x2
        self.x3 = x3
        self.x4 = x4
        self.seconds = seconds

    def fit(self, X: Any, y: Any = None) -> Self:
        """Wait."""
        time.sleep(self.seconds)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return the function's value."""
        x = np.array([self.x0, self.x1, self.x2, self.x3, self.x4])
        return float(-((x - 0.3) ** 2).sum())


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "checkpoint-cost",
        help="time a search with a checkpoint against one without",
        description="Time searches with a checkpoint and without, in turns, with fits "
        "of a fixed length in five folds, and the resumption of a finished one.",
    )
    for name, default, what in (
        ("--n-iter", 20, "candidates of a search"),
        ("--fit-ms", 100, "milliseconds of a fit"),
        ("--repeats", 5, "pairs of searches"),
    ):
        text = f"{what} ({default})"
        parser.add_argument(
            name, type=positive_int, default=default, metavar="N", help=text
        )
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Print the medians, their ratio, and what resuming takes."""
    with tempfile.TemporaryDirectory() as folder:
        without, with_one, resumed = measure(
            args.n_iter, args.fit_ms / 1e3, args.repeats, Path(folder)
        )
    plain, kept = np.median(without), np.median(with_one)
    print("| search | seconds, median |")
    print("| --- | ---: |")
    print(f"| without a checkpoint | {plain:.3f} |")
    print(f"| with one | {kept:.3f} ({100 * (kept / plain - 1):+.2f}%) |")
    print(f"| finished, taken up again | {np.median(resumed):.3f} |")
    return 0


def measure(
    n_iter: int, seconds: float, repeats: int, folder: Path
) -> tuple[list[float], list[float], list[float]]:
    """Return the wall times of searches without, with, and resumed, in seconds."""
    times: dict[str, list[float]] = {"without": [], "with": [], "resumed": []}
    for i in range(repeats):
        path = folder / f"{i}.ckpt"
        order = [("without", None), ("with", path)]
        for name, checkpoint in order if i % 2 == 0 else order[::-1]:
            times[name].append(_timed(n_iter, seconds, checkpoint))
        times["resumed"].append(_timed(n_iter, seconds, path))
    return times["without"], times["with"], times["resumed"]


def _timed(n_iter: int, seconds: float, checkpoint: Path | None) -> float:
    from skrobustbo import RobustBayesSearchCV

    X = np.random.default_rng(0).normal(size=(1000, 20))
    search = RobustBayesSearchCV(
        Idle(seconds=seconds),
        {f"x{i}": Real(0.0, 1.0) for i in range(_N_PARAMETERS)},
        n_iter=n_iter,
        cv=5,
        refit=False,
        random_state=0,
        checkpoint=checkpoint,
    )
    start = time.perf_counter()
    search.fit(X)
    return time.perf_counter() - start
