"""The command line: one sub-command per module, each with a `register` of its own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from skrobustbo_benchmarks import _plot, _report, _run, _step_cost
from skrobustbo_benchmarks._args import CommandError
from skrobustbo_benchmarks._reproduce import _command as _reproduce

#: In the order in which the help lists them.
_COMMANDS = (_run, _report, _plot, _step_cost, _reproduce)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; every sub-command sets ``func``, called with the arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m skrobustbo_benchmarks",
        description="Compare policies on test problems, and measure what a step costs.",
    )
    subparsers = parser.add_subparsers(required=True, metavar="command")
    for module in _COMMANDS:
        module.register(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: the process's) and return its exit status."""
    argv = sys.argv[1:] if argv is None else argv
    parser = build_parser()
    args = parser.parse_args(argv)
    args.argv = list(argv)
    try:
        status: int | None = args.func(args)
    except CommandError as error:
        parser.exit(2, f"error: {error}\n")
    return status or 0
