"""The sub-command: its arguments, and the runs that they ask for."""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from skrobustbo import policies, problems
from skrobustbo.benchmarks._args import (
    CommandError,
    Subparsers,
    checked_names,
    positive_int,
    seed_list,
)
from skrobustbo.benchmarks._batches._draw import draw
from skrobustbo.benchmarks._batches._report import report
from skrobustbo.benchmarks._batches._search import Key, Run
from skrobustbo.benchmarks._figure import save
from skrobustbo.benchmarks._files import check_can_write
from skrobustbo.benchmarks._lines import LineTable
from skrobustbo.benchmarks._pool import RunFailedError, run_all, say
from skrobustbo.benchmarks._threads import one_thread_environment

PROBLEMS = ("berkenkamp-trap", "branin", "hartmann6")
TIMED_PROBLEMS = ("branin", "hartmann6")


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "batches",
        help="measure what candidates side by side cost and gain",
        description="Run searches that evaluate 1, 2, 4, ... candidates at a time. Two "
        "things are shown: the regret after equal numbers of evaluations, and, with "
        "fits that sleep side by side, the regret after equal wall time. Runs that the "
        "csv file holds already are skipped, so the same command resumes. One command "
        "at a time may write to a file.",
    )
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="CSV", help="file of results")
    add("--plot", type=Path, metavar="IMAGE", help="draw the regrets into this file")
    _add_runs(parser)
    _add_timed_runs(parser)
    add("--report-only", action="store_true", help="run nothing")
    parser.set_defaults(func=main)


def _add_runs(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--problems", nargs="+", default=PROBLEMS, metavar="NAME", help=_all(PROBLEMS))
    add("--policies", nargs="+", default=["robust"], metavar="NAME", help="(robust)")
    add(
        "--batch-sizes",
        nargs="+",
        type=positive_int,
        default=[1, 2, 4, 8],
        metavar="N",
        help="candidates at a time (1 2 4 8)",
    )
    add("--seeds", type=seed_list, default="0-9", help="0-9 or 0,3,7 (default 0-9)")
    add("--n-iter", type=positive_int, default=48, metavar="N", help="evaluations (48)")
    add("--jobs", type=positive_int, default=1, metavar="N", help="runs at a time")


def _add_timed_runs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("runs with fits that sleep, one run at a time")
    add = group.add_argument
    add(
        "--fold-seconds",
        type=_seconds,
        default=0.2,
        metavar="S",
        help="sleep of a fit (0.2); 0 leaves these runs out",
    )
    add(
        "--timed-problems",
        nargs="+",
        default=TIMED_PROBLEMS,
        metavar="NAME",
        help=_all(TIMED_PROBLEMS),
    )
    add("--timed-seeds", type=seed_list, default="0-4", help="default: 0-4")


def _all(names: Sequence[str]) -> str:
    return f"({', '.join(names)})"


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number >= 0, got {text!r}")
    return seconds


def main(args: argparse.Namespace) -> int:
    """Make the runs that are missing; print the report and draw the figure."""
    table = LineTable(args.out, Run, "batches")
    if args.plot is not None:
        check_can_write(args.plot, "--plot")
    n_failed = 0 if args.report_only else _run_missing(args, table)
    if not args.out.is_file():
        raise CommandError(f"There is no file {args.out}: leave out --report-only.")
    runs = list(table.read().values())
    print(report(runs))
    if args.plot is not None and runs:
        save(draw(runs), args.plot)
        say(str(args.plot))
    return int(n_failed > 0)


def _run_missing(args: argparse.Namespace, table: LineTable[Run]) -> int:
    """Make the runs that are missing and return how many failed."""
    wanted = plan(args)
    held = table.open()
    missing = [key for key in wanted if key not in held]
    say(f"{args.out}: {len(wanted) - len(missing)} of {len(wanted)} runs are there.")
    # Runs that are timed would take each other's cores.
    untimed = [key for key in missing if not key.fold_seconds]
    timed = [key for key in missing if key.fold_seconds]
    return _execute(untimed, table, args.jobs) + _execute(timed, table, 1)


def plan(args: argparse.Namespace) -> list[Key]:
    """Return the runs asked for; CommandError for names that will not do."""
    names = checked_names("policy", args.policies, policies.available())
    wanted = [(_checked_problems(args.problems), args.seeds, 0.0)]
    if args.fold_seconds:
        timed = _checked_problems(args.timed_problems)
        wanted.append((timed, args.timed_seeds, args.fold_seconds))
    return [
        Key(problem, policy, batch_size, seed, args.n_iter, seconds)
        for chosen, seeds, seconds in wanted
        for problem, policy, seed, batch_size in product(
            chosen, names, seeds, dict.fromkeys(args.batch_sizes)
        )
    ]


def _checked_problems(tokens: Sequence[str]) -> list[str]:
    """Return the names of problems whose regret can be told."""
    names = checked_names("problem", tokens, problems.available())
    for name in names:
        problem = problems.get(name)
        if problem.varies or problem.optimum is None:
            raise CommandError(
                f"The problem {name!r} must not change in time and must have a known "
                "optimum: choose another."
            )
    return names


def _execute(keys: Sequence[Key], table: LineTable[Run], jobs: int) -> int:
    """Make runs, `jobs` at a time, append each when it is over; return the failures."""

    def keep(run: Run) -> str:
        table.append(run)
        return f"regret {run.regrets[-1]:.3g} in {run.seconds[-1]:.1f} s"

    return run_all(keys, jobs, run_in_child, _describe, keep)


def _describe(key: Key) -> str:
    slow = f", fits of {key.fold_seconds:g} s" if key.fold_seconds else ""
    return f"{key.problem} {key.policy} x {key.batch_size} seed {key.seed}{slow}"


def run_in_child(key: Key) -> Run:
    """Make a run in a new process with one BLAS thread."""
    program = "skrobustbo.benchmarks._batches._search"
    child = subprocess.run(
        [sys.executable, "-m", program, json.dumps(key)],
        env=one_thread_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode != 0:
        raise RunFailedError(child.stderr.strip() or f"status {child.returncode}")
    if child.stderr:
        say(child.stderr.rstrip())
    return Run(**json.loads(child.stdout))
