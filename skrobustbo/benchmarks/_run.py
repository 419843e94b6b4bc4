"""``run``: problems x policies x seeds, each run in a process of its own."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from skrobustbo import problems
from skrobustbo.benchmarks import _methods
from skrobustbo.benchmarks._args import (
    CommandError,
    Subparsers,
    checked_names,
    positive_int,
    seconds,
    seed_list,
)
from skrobustbo.benchmarks._failures import FailureLog, failure_of
from skrobustbo.benchmarks._peers._registry import (
    PEERS,
    check_installed,
    distributions,
    refusal,
)
from skrobustbo.benchmarks._pool import (
    RunFailedError,
    RunTimeoutError,
    run_all,
    say,
)
from skrobustbo.benchmarks._spelling import checked_methods
from skrobustbo.benchmarks._table import Run, RunKey, Table, parse_rows
from skrobustbo.benchmarks._threads import one_thread_environment


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "run",
        help="evaluate policies on problems, into a csv file",
        description="Evaluate policies and peers on problems. Runs that the csv file "
        "holds already are skipped, so the same command resumes. One command at a time "
        "may write to a file. Runs that fail or take too long are noted beside it and "
        "do not end the command.",
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
        help="names of policies, with settings if need be, such as 'robust(beta=2)', "
        "or with less of the initial design, 'robust(n_initial=4)'; or of "
        f"{', '.join([*_methods.BASELINES, *PEERS])}",
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
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="wall-clock time after which a run is ended (default: never)",
    )
    parser.add_argument(
        "--retry",
        action="store_true",
        help="make the runs again that failed or took too long in an earlier command",
    )
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Make the runs that are missing from the csv file."""
    wanted = plan(args)
    table = Table(args.out)
    held, log = table.open(), FailureLog(args.out)
    absent = [key for key in wanted if key not in held]
    lost = {} if args.retry else log.read()
    missing = [key for key in absent if key not in lost]
    methods = {key.policy for key in missing}
    check_installed(sorted(methods & PEERS.keys()))
    if missing and (mixed := table.versions.add(distributions(methods))):
        say(f"{args.out} mixes runs of {mixed}.")
    n_failed = execute(missing, table, args.jobs, timeout=args.timeout)
    say(
        f"{args.out}: {len(wanted) - len(absent)} runs were there, "
        f"{len(missing) - n_failed} are new, {n_failed} failed."
    )
    n_lost = len(absent) - len(missing)
    if n_lost:
        say(f"{n_lost} failed earlier ({log.path}): --retry makes them again.")
    return int(n_failed + n_lost > 0)


def plan(args: argparse.Namespace) -> list[RunKey]:
    """Return the runs that the arguments ask for; CommandError for a typo in a name.

    Peers are left out, with a word to the user, where they cannot search the space.
    """
    names = checked_names("problem", args.problems, problems.available())
    policies = checked_methods(args.policies, _methods.available())
    kept = {problem: _applicable(problem, policies) for problem in names}
    if not any(kept.values()):
        raise CommandError("No run is left: give other --problems or --policies.")
    return [
        RunKey(problem, args.n_iter, policy, seed)
        for problem, seed in product(names, args.seeds)
        for policy in kept[problem]
    ]


def _applicable(problem: str, policies: Sequence[str]) -> list[str]:
    if not PEERS.keys() & set(policies):
        return list(policies)
    space = problems.get(problem).space
    reasons = {policy: refusal(policy, space) for policy in policies}
    for policy, reason in reasons.items():
        if reason is not None:
            say(f"{policy} is not applicable to {problem}: {reason}.")
    return [policy for policy in policies if reasons[policy] is None]


def execute(
    keys: Sequence[RunKey],
    table: Table,
    jobs: int,
    make_run: Callable[[RunKey], Run] | None = None,
    *,
    timeout: float | None = None,
) -> int:
    """Make runs, `jobs` at a time, append each when it is over; return the failures.

    `make_run` is called from threads; the default starts a child process, which is
    ended after `timeout` seconds. Failures are written beside the table.
    """
    log = FailureLog(table.path)

    def keep(run: Run) -> str:
        table.append(run)
        return f"best {run[-1].best:.6g}"

    return run_all(
        keys,
        jobs,
        make_run or partial(run_in_child, timeout=timeout),
        lambda key: f"{key.problem} {key.policy} seed {key.seed}",
        keep,
        lambda key, error: log.add(failure_of(key, error, timeout)),
    )


def run_in_child(key: RunKey, timeout: float | None = None) -> Run:
    """Make a run in a new process with one BLAS thread.

    Parameters
    ----------
    key : RunKey
        The run.
    timeout : float or None, default=None
        Wall-clock seconds after which the process is ended.

    Raises
    ------
    RunFailedError
        If the process fails; RunTimeoutError if it was ended.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.csv"
        child = _finished_child([*map(str, key), str(path)], timeout)
        if child.returncode != 0:
            raise RunFailedError(child.stderr.strip() or f"status {child.returncode}")
        if child.stderr:
            say(child.stderr.rstrip())
        return parse_rows(path.read_text(encoding="utf-8"))


def _finished_child(
    words: list[str], timeout: float | None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [sys.executable, "-m", "skrobustbo.benchmarks._single", *words],
            env=one_thread_environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired as error:
        raise RunTimeoutError(f"not over after {timeout:g} seconds") from error
