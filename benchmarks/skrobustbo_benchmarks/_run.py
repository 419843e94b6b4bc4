"""``run``: problems x policies x seeds, each run in a process of its own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from skrobustbo_benchmarks import _methods, problems
from skrobustbo_benchmarks._args import (
    CommandError,
    Subparsers,
    positive_int,
    seconds,
    seed_list,
)
from skrobustbo_benchmarks._peers._registry import (
    PEERS,
    check_installed,
    distributions,
    refusal,
)
from skrobustbo_benchmarks._pool import Job, execute, say
from skrobustbo_benchmarks._record import RunKey, Table, keys_of, read_failures
from skrobustbo_benchmarks._spelling import (
    checked_methods,
    checked_problems,
    made_problem,
)

#: The program of a run's process.
_PROGRAM = "skrobustbo_benchmarks._single"


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
        help="separated by commas or spaces, with settings if need be, such as "
        f"'trap(d=3)'; of {', '.join(problems.available())}",
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
    held, failed = table.open(), keys_of(read_failures(table))
    absent = [key for key in wanted if key not in held]
    lost = set() if args.retry else failed
    missing = [key for key in absent if key not in lost]
    methods = {key.policy for key in missing}
    check_installed(sorted(methods & PEERS.keys()))
    if missing and (mixed := table.versions.add(distributions(methods))):
        say(f"{args.out} mixes runs of {mixed}.")
    jobs = [Job((key,), table, _PROGRAM, args.timeout) for key in missing]
    n_failed = execute(jobs, args.jobs)
    say(
        f"{args.out}: {len(wanted) - len(absent)} runs were there, "
        f"{len(missing) - n_failed} are new, {n_failed} failed."
    )
    n_lost = len(absent) - len(missing)
    if n_lost:
        log = table.failures.path
        say(f"{n_lost} failed earlier ({log}): --retry makes them again.")
    return int(n_failed + n_lost > 0)


def plan(args: argparse.Namespace) -> list[RunKey]:
    """Return the runs that the arguments ask for; CommandError for a typo in a name.

    Peers are left out, with a word to the user, where they cannot search the space.
    """
    names = checked_problems(args.problems)
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
    space = made_problem(problem).space
    reasons = {policy: refusal(policy, space) for policy in policies}
    for policy, reason in reasons.items():
        if reason is not None:
            say(f"{policy} is not applicable to {problem}: {reason}.")
    return [policy for policy in policies if reasons[policy] is None]
