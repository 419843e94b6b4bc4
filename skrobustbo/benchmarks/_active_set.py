"""``active-set``: what it costs in regret that models see a bounded number of points.

The bound is far above what most searches reach. So it is lowered here to numbers that
short searches reach, and the same runs are made with and without it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import product

import numpy as np
import pandas as pd

from skrobustbo import problems
from skrobustbo.benchmarks._args import (
    Subparsers,
    checked_names,
    positive_int,
    seed_list,
)
from skrobustbo.benchmarks._markdown import number, table
from skrobustbo.benchmarks._pool import say
from skrobustbo.benchmarks._record import RunKey
from skrobustbo.benchmarks._single import run_one
from skrobustbo.benchmarks._threads import is_one_thread, rerun_with_one_thread
from skrobustbo.surrogate import _active

_HEADER = (
    "problem",
    "points seen",
    "final regret, median (10% to 90%)",
    "mean regret, median (10% to 90%)",
    "step ms, mean of the last fifth",
)


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "active-set",
        help="measure what a bound on the points that models see costs",
        description="Run the default policy with models that see all points told, and "
        "with models that see a bounded number, on the same seeds.",
    )
    parser.add_argument(
        "--problems", nargs="+", default=["hartmann6,michalewicz5"], metavar="NAME"
    )
    parser.add_argument(
        "--rows",
        nargs="+",
        type=positive_int,
        default=[64, 128, 256],
        metavar="N",
        help="bounds to try (64 128 256)",
    )
    parser.add_argument("--n-iter", type=positive_int, default=400, metavar="N")
    parser.add_argument("--seeds", type=seed_list, default="0-4")
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Print one line for each problem and bound."""
    if not is_one_thread():
        return rerun_with_one_thread(args.argv)
    names = checked_names("problem", args.problems, problems.available())
    rows = []
    for name, bound in product(names, [*args.rows, None]):
        runs = [_run(name, bound, args.n_iter, seed) for seed in args.seeds]
        rows.append((name, "all" if bound is None else str(bound), *_cells(runs)))
        say(f"{name}, {rows[-1][1]} points: {rows[-1][2]}")
    print(table(_HEADER, rows))
    return 0


def _run(name: str, bound: int | None, n_iter: int, seed: int) -> pd.DataFrame:
    with nullcontext() if bound is None else at_most(bound):
        return run_one(RunKey(name, n_iter, "robust", seed))


@contextmanager
def at_most(rows: int) -> Iterator[None]:
    """Let models see at most so many points, and fit length scales to half of them."""
    names = ("MOST_ROWS", "REFRESH", "MOST_FITTED")
    before = {name: getattr(_active, name) for name in names}
    values = rows, max(1, rows // 8), max(1, rows // 2)
    for name, value in zip(names, values, strict=True):
        setattr(_active, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(_active, name, value)


def _cells(runs: list[pd.DataFrame]) -> Iterator[str]:
    regrets = np.array([run["optimum"] - run["best"] for run in runs])
    found = np.array([run["optimum"] - run["value"] for run in runs])
    late = [run["cpu_seconds"].iloc[-max(1, len(run) // 5) :] for run in runs]
    yield _spread(regrets[:, -1])
    yield _spread(found.mean(axis=1))
    yield f"{1e3 * np.mean(late):.1f}"


def _spread(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    low, middle, high = map(number, np.quantile(values, [0.1, 0.5, 0.9]))
    return f"{middle} ({low} to {high})"
