"""The command line: one sub-command per module, each with a `register` of its own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from skrobustbo.benchmarks import _plot, _report, _run
from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._reproduce import _command as _reproduce

#: In the order in which the help lists them.
_COMMANDS = (_run, _report, _plot, _reproduce)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; every sub-command sets ``func``, called with the arguments."""
    parser = argparse.ArgumentParser(
        prog="python -m skrobustbo.benchmarks",
        description="Compare policies on test problems.",
    )
    subparsers = parser.add_subparsers(required=True, metavar="command")
    for module in _COMMANDS:
        module.register(subparsers)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: the process's) and return its exit status."""
    parser = build_parser()
    args = parser.parse_args(argv)
    try:
        status: int | None = args.func(args)
    except CommandError as error:
        parser.exit(2, f"error: {error}\n")
    return status or 0
