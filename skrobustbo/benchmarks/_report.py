"""``report``: the regrets and the times of results tables, and tests, as markdown."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import pandas as pd

from skrobustbo._names import unknown_name
from skrobustbo.benchmarks._args import CommandError, Subparsers
from skrobustbo.benchmarks._compare import ranks_section, wins_section
from skrobustbo.benchmarks._files import write_file
from skrobustbo.benchmarks._margins import margins_section, tails_section
from skrobustbo.benchmarks._markdown import table
from skrobustbo.benchmarks._peers._registry import PEERS
from skrobustbo.benchmarks._pool import say
from skrobustbo.benchmarks._record import GROUP, KEY, Table, read_failures
from skrobustbo.benchmarks._scores import Scores, methods_of, scores
from skrobustbo.benchmarks._spelling import method_list
from skrobustbo.benchmarks._summary import markdown, summarise
from skrobustbo.benchmarks._traces import (
    line_table,
    lines_of,
    read_lines,
    write_lines,
)
from skrobustbo.benchmarks._versions import Note, made_with, notes_beside

#: The method whose rivals the report asks about.
_REFERENCE = "robust"
#: What a name that is not found should have been.
_METHOD = "method in the table"


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "report",
        help="print the regrets and times of csv files",
        description="Print the regrets and times of csv files; of two methods and "
        "more also their mean ranks, wins, and whether the reference is worse than its "
        "rivals.",
    )
    add_arguments(parser)
    parser.add_argument(
        "--rivals",
        nargs="+",
        metavar="NAME",
        help="default: all peers whose model is a Gaussian process",
    )
    parser.set_defaults(func=main)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `make_report` and `reference_of` read."""
    add_selection(parser, "files written by 'run', or by --runs of a report")
    parser.add_argument(
        "--reference",
        metavar="NAME",
        help=f"method that others are compared with (default: {_REFERENCE})",
    )
    parser.add_argument(
        "--out", type=Path, metavar="MARKDOWN", help="file to write instead of printing"
    )
    parser.add_argument("--title", metavar="TEXT", help="heading (default: none)")
    parser.add_argument(
        "--runs",
        type=Path,
        metavar="CSV",
        help="file to write with a line for each run, from which reports can be made",
    )


def add_selection(parser: argparse.ArgumentParser, files: str) -> None:
    """Add the arguments that `selection` reads."""
    parser.add_argument(
        "csv",
        type=Path,
        nargs="+",
        help=f"{files}; of equal runs, those of the first file count",
    )
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--policies", nargs="+", metavar="NAME", help="default: all")


def main(args: argparse.Namespace) -> None:
    """Print one table line per problem, run length and policy, and what follows."""
    make_report(
        args,
        lambda lines, found: [markdown(summarise(lines)), *_comparisons(args, found)],
    )


def make_report(
    args: argparse.Namespace, sections_of: Callable[[pd.DataFrame, Scores], list[str]]
) -> None:
    """Print, or write to --out, a report on the runs that the arguments name.

    Parameters
    ----------
    args : Namespace
        See `add_arguments`.
    sections_of : callable
        (lines of runs, scores) -> sections, before those on failures and versions.
    """
    everything = all_lines(args.csv)
    lines = selection(everything, args)
    sections = [] if args.title is None else [f"# {args.title}"]
    # What stands in for an optimum must not depend on what is shown.
    found = scores(lines, everything)
    sections += sections_of(lines, found) + _failures(args, lines)
    if notes := _all_notes(args.csv):
        sections.append(made_with(notes))
    if args.runs is not None:
        _write_lines(args.runs, lines, notes)
    text = "\n\n".join(sections)
    if args.out is None:
        print(text)
        return
    write_file(args.out, text + "\n")


def _write_lines(path: Path, lines: pd.DataFrame, notes: Sequence[Note]) -> None:
    """Write the file of --runs, and its notes beside it."""
    if path.is_file() and not line_table(path).is_there():
        raise CommandError(
            f"{path} holds something else than an earlier file of --runs: give another."
        )
    write_lines(path, lines)
    notes_beside(path).write(notes)


def _comparisons(args: argparse.Namespace, found: Scores) -> list[str]:
    """Return the sections that take two methods."""
    methods = methods_of(found)
    if len(methods) < 2:
        return []
    reference = reference_of(args, found)
    rivals = [name for name, peer in PEERS.items() if peer.is_gp and name in methods]
    if args.rivals is not None:
        rivals = _named(_METHOD, args.rivals, methods)
    others = [rival for rival in rivals if rival != reference]
    sections = [ranks_section(found), wins_section(found)]
    if reference in methods and others:
        sections.append(margins_section(found, reference, others))
        sections.append(tails_section(found, reference, others))
    return sections


def reference_of(args: argparse.Namespace, found: Scores) -> str:
    """Return the method that others are compared with."""
    if args.reference is None:
        return _REFERENCE
    return _named(_METHOD, [args.reference], methods_of(found))[0]


def _all_notes(paths: Sequence[Path]) -> list[Note]:
    """Return the notes beside all files, each once."""
    notes = [note for path in paths for note in notes_beside(path).read()]
    return [note for n, note in enumerate(notes) if note not in notes[:n]]


def _failures(args: argparse.Namespace, lines: pd.DataFrame) -> list[str]:
    """Return the section of runs that are missing because they failed."""
    log = pd.concat([read_failures(Table(path)) for path in args.csv])
    log = log.drop_duplicates(KEY, keep="last").merge(
        lines[KEY], "left", indicator=True
    )
    log = log[log["_merge"] == "left_only"]
    for column, named in (("problem", args.problems), ("policy", args.policies)):
        if named is not None:
            log = log[log[column].isin(lines[column])]
    late = log["kind"] == "timeout"
    counts = log.assign(failed=~late, late=late).groupby(GROUP)[["failed", "late"]]
    rows = [tuple(map(str, row)) for row in counts.sum().reset_index().to_numpy()]
    header = ("problem", "evaluations", "policy", "failed", "out of time")
    title = "## Runs without results\n\nThey are left out of everything above.\n\n"
    return [title + table(header, rows, n_left=3)] if rows else []


def all_lines(paths: Sequence[Path]) -> pd.DataFrame:
    """Return the runs of several files, the first of equal ones."""
    parts = [
        read_lines(path) if line_table(path).is_there() else lines_of(traces([path]))
        for path in paths
    ]
    return _ordered(parts)


def traces(paths: Sequence[Path]) -> pd.DataFrame:
    """Return the complete runs of results tables, the first of equal ones."""
    parts = []
    for path in paths:
        if not path.is_file():
            raise CommandError(f"There is no file {path}: make it with 'run --out'.")
        rows, is_clean = Table(path).read()
        if not is_clean:
            say("Incomplete runs are left out.")
        parts.append(rows)
    return _ordered(parts, ["step"])


def _ordered(parts: Sequence[pd.DataFrame], within: Sequence[str] = ()) -> pd.DataFrame:
    """Return runs by their keys, of equal ones those of the first part."""
    rows = pd.concat(parts).drop_duplicates([*KEY, *within])
    return rows.sort_values([*KEY, *within], ignore_index=True)


def selection(rows: pd.DataFrame, args: argparse.Namespace) -> pd.DataFrame:
    """Return the rows of those runs that the arguments name."""
    for kind, tokens in (("problem", args.problems), ("policy", args.policies)):
        if tokens is not None:
            rows = rows[rows[kind].isin(_named(kind, tokens, set(rows[kind])))]
    if not len(rows):
        files = ", ".join(map(str, args.csv))
        raise CommandError(f"{files}: no complete run of what was asked for.")
    return rows


def _named(kind: str, tokens: Sequence[str], present: Collection[str]) -> list[str]:
    """Return the names in words; CommandError names the first that is not present."""
    names = method_list(tokens)
    for name in names:
        if name not in present:
            raise CommandError(str(unknown_name(f"name of a {kind}", name, present)))
    return names
