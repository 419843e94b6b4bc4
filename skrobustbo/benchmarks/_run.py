"""``run``: problems x policies x seeds, each run in a process of its own."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

from skrobustbo import problems
from skrobustbo.benchmarks import _methods
from skrobustbo.benchmarks._args import (
    Subparsers,
    checked_names,
    positive_int,
    seed_list,
)
from skrobustbo.benchmarks._pool import RunFailedError, run_all, say
from skrobustbo.benchmarks._table import Run, RunKey, Table, parse_rows
from skrobustbo.benchmarks._threads import one_thread_environment


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "run",
        help="evaluate policies on problems, into a csv file",
        description="Evaluate policies on problems. Runs that the csv file holds "
        "already are skipped, so the same command resumes. One command at a time may "
        "write to a file.",
    )
    parser.add_argument(
        "--problems",
        nargs="+",
        required=True,
        metavar="NAME",
        help=f"separated by commas or spaces, of {', '.join(problems.available())}",
    )
    parser.add_argument(
        "--policies",
        nargs="+",
        required=True,
        metavar="NAME",
        help=f"names of policies, or of {', '.join(_methods.BASELINES)}",
    )
    parser.add_argument(
        "--seeds", type=seed_list, default="0-9", help="0-9 (default), or 0,3,7"
    )
    parser.add_argument(
        "--n-iter",
        type=positive_int,
        default=50,
        metavar="N",
        help="evaluations of a run, the initial ones included (default: 50)",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="CSV", help="file to add to"
    )
    parser.add_argument(
        "--jobs", type=positive_int, default=1, metavar="N", help="runs at a time"
    )
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Make the runs that are missing from the csv file."""
    wanted = plan(args)
    table = Table(args.out)
    held = table.open()
    missing = [key for key in wanted if key not in held]
    if missing and not table.note_versions():
        say(f"{args.out} mixes runs of different versions of the packages.")
    n_failed = execute(missing, table, args.jobs)
    say(
        f"{args.out}: {len(wanted) - len(missing)} runs were there, "
        f"{len(missing) - n_failed} are new, {n_failed} failed."
    )
    return int(n_failed > 0)


def plan(args: argparse.Namespace) -> list[RunKey]:
    """Return the runs that the arguments ask for; CommandError for a typo in a name."""
    names = checked_names("problem", args.problems, problems.available())
    policies = checked_names("policy", args.policies, _methods.available())
    return [
        RunKey(problem, args.n_iter, policy, seed)
        for problem, seed, policy in product(names, args.seeds, policies)
    ]


def execute(
    keys: Sequence[RunKey],
    table: Table,
    jobs: int,
    make_run: Callable[[RunKey], Run] | None = None,
) -> int:
    """Make runs, `jobs` at a time, append each when it is over; return the failures.

    `make_run` is called from threads; the default starts a child process.
    """

    def keep(run: Run) -> str:
        table.append(run)
        return f"best {run[-1].best:.6g}"

    return run_all(
        keys,
        jobs,
        make_run or run_in_child,
        lambda key: f"{key.problem} {key.policy} seed {key.seed}",
        keep,
    )


def run_in_child(key: RunKey) -> Run:
    """Make a run in a new process with one BLAS thread."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.csv"
        program = [sys.executable, "-m", "skrobustbo.benchmarks._single"]
        child = subprocess.run(
            [*program, *map(str, key), str(path)],
            env=one_thread_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if child.returncode != 0:
            raise RunFailedError(child.stderr.strip() or f"status {child.returncode}")
        if child.stderr:
            say(child.stderr.rstrip())
        return parse_rows(path.read_text(encoding="utf-8"))
