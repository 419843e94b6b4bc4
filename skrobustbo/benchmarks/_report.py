"""``report``: the regrets and the times of results tables, and tests, as markdown."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from skrobustbo._names import unknown_name
from skrobustbo.benchmarks._ablation import ablation_section
from skrobustbo.benchmarks._args import (
    CommandError,
    Subparsers,
)
from skrobustbo.benchmarks._compare import methods_of, ranks_section, wins_section
from skrobustbo.benchmarks._failures import Failure, FailureLog
from skrobustbo.benchmarks._files import write_file
from skrobustbo.benchmarks._margins import margins_section
from skrobustbo.benchmarks._markdown import table
from skrobustbo.benchmarks._peers._registry import PEERS
from skrobustbo.benchmarks._run_lines import (
    RunLine,
    line_of,
    line_table,
)
from skrobustbo.benchmarks._scores import (
    GroupKey,
    Scores,
    scores,
)
from skrobustbo.benchmarks._spelling import method_list
from skrobustbo.benchmarks._summary import markdown, summarise
from skrobustbo.benchmarks._table import Run, RunKey, Table
from skrobustbo.benchmarks._tails import tails_section
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
    add_selection(parser, "files written by 'run', or by --runs of a report")
    parser.add_argument(
        "--reference",
        metavar="NAME",
        help=f"method to be tested against its rivals (default: {_REFERENCE})",
    )
    parser.add_argument(
        "--rivals",
        nargs="+",
        metavar="NAME",
        help="default: all peers whose model is a Gaussian process",
    )
    parser.add_argument(
        "--ablation",
        action="store_true",
        help="print, instead of all this, how far the methods are from the reference",
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
    parser.set_defaults(func=main)


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
    lines = read_lines(args.csv)
    groups = selection(lines, args)
    sections = [] if args.title is None else [f"# {args.title}"]
    # What stands in for an optimum must not depend on what is shown.
    found = scores(groups, lines.values())
    if args.ablation:
        sections.append(ablation_section(found, _reference(args, methods_of(found))))
    else:
        summaries = [summarise(key, group) for key, group in groups.items()]
        sections += [markdown(summaries), *_comparisons(args, found)]
    sections += _failures(args, groups)
    if notes := _all_notes(args.csv):
        sections.append(made_with(notes))
    if args.runs is not None:
        _write_lines(args.runs, groups, notes)
    text = "\n\n".join(sections)
    if args.out is None:
        print(text)
        return
    write_file(args.out, text + "\n")


def _write_lines(
    path: Path, groups: Mapping[GroupKey, Sequence[RunLine]], notes: Sequence[Note]
) -> None:
    """Write the file of --runs, and its notes beside it."""
    kept = line_table(path)
    if path.is_file() and not kept.is_there():
        raise CommandError(
            f"{path} holds something else than an earlier file of --runs: give another."
        )
    kept.write(line for lines in groups.values() for line in lines)
    notes_beside(path).write(notes)


def _comparisons(args: argparse.Namespace, found: Scores) -> list[str]:
    """Return the sections that take two methods."""
    methods = methods_of(found)
    if len(methods) < 2:
        return []
    reference = _reference(args, methods)
    rivals = [name for name, peer in PEERS.items() if peer.is_gp and name in methods]
    if args.rivals is not None:
        rivals = _named(_METHOD, args.rivals, methods)
    others = [rival for rival in rivals if rival != reference]
    sections = [ranks_section(found), wins_section(found)]
    if reference in methods and others:
        sections.append(margins_section(found, reference, others))
        sections.append(tails_section(found, reference, others))
    return sections


def _reference(args: argparse.Namespace, methods: Sequence[str]) -> str:
    if args.reference is None:
        return _REFERENCE
    return _named(_METHOD, [args.reference], methods)[0]


def _all_notes(paths: Sequence[Path]) -> list[Note]:
    """Return the notes beside all files, each once."""
    notes = [note for path in paths for note in notes_beside(path).read()]
    return [note for n, note in enumerate(notes) if note not in notes[:n]]


def _failures(
    args: argparse.Namespace, groups: Mapping[GroupKey, Sequence[RunLine]]
) -> list[str]:
    """Return the section of runs that are missing because they failed."""
    held = {line.key for lines in groups.values() for line in lines}
    log = {
        key: failure
        for path in args.csv
        for key, failure in FailureLog(path).read().items()
    }
    counts: dict[GroupKey, list[Failure]] = defaultdict(list)
    for key in sorted(log.keys() - held):
        counts[GroupKey(*key[:3])].append(log[key])
    chosen = {key.problem for key in groups}, {key.policy for key in groups}
    rows = [
        _failure_cells(key, failures)
        for key, failures in counts.items()
        if args.problems is None or key.problem in chosen[0]
        if args.policies is None or key.policy in chosen[1]
    ]
    header = ("problem", "evaluations", "policy", "failed", "out of time")
    title = "## Runs without results\n\nThey are left out of everything above.\n\n"
    return [title + table(header, rows, n_left=3)] if rows else []


def _failure_cells(key: GroupKey, failures: Sequence[Failure]) -> tuple[str, ...]:
    n_late = sum(failure.kind == "timeout" for failure in failures)
    n_failed = len(failures) - n_late
    return key.problem, str(key.n_iter), key.policy, str(n_failed), str(n_late)


def read_lines(paths: Sequence[Path]) -> dict[RunKey, RunLine]:
    """Return the runs of several files, the first of equal ones."""
    found: dict[RunKey, RunLine] = {}
    for path in paths:
        _check_is_file(path)
        kept = line_table(path)
        if kept.is_there():
            lines = kept.read()
        else:
            lines = {key: line_of(run) for key, run in complete_runs([path]).items()}
        found = lines | found
    return found


def complete_runs(paths: Sequence[Path]) -> dict[RunKey, Run]:
    """Return the complete runs of results tables, the first of equal ones."""
    found: dict[RunKey, Run] = {}
    for path in paths:
        _check_is_file(path)
        runs, is_clean = Table(path).read()
        if not is_clean:
            print("Incomplete runs are left out.", file=sys.stderr)
        found = runs | found
    return found


def _check_is_file(path: Path) -> None:
    if not path.is_file():
        raise CommandError(f"There is no file {path}: make it with 'run --out'.")


T = TypeVar("T")


def selection(
    runs: Mapping[RunKey, T], args: argparse.Namespace
) -> dict[GroupKey, list[T]]:
    """Return those runs that the arguments name, grouped."""
    problems = _chosen("problem", args.problems, {key.problem for key in runs})
    policies = _chosen("policy", args.policies, {key.policy for key in runs})
    groups = defaultdict(list)
    for key in sorted(runs):
        if key.problem in problems and key.policy in policies:
            groups[GroupKey(*key[:3])].append(runs[key])
    if not groups:
        files = ", ".join(map(str, args.csv))
        raise CommandError(f"{files}: no complete run of what was asked for.")
    return dict(groups)


def _chosen(kind: str, tokens: list[str] | None, present: set[str]) -> set[str]:
    return present if tokens is None else set(_named(kind, tokens, present))


def _named(kind: str, tokens: Sequence[str], present: Collection[str]) -> list[str]:
    """Return the names in words; CommandError names the first that is not present."""
    names = method_list(tokens)
    for name in names:
        if name not in present:
            raise CommandError(str(unknown_name(f"name of a {kind}", name, present)))
    return names
