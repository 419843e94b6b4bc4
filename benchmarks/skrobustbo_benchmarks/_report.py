"""``report``: the regrets and the times of results tables, as markdown."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from skrobustbo_benchmarks._args import CommandError, Subparsers, write_file
from skrobustbo_benchmarks._names import unknown_name
from skrobustbo_benchmarks._pool import say
from skrobustbo_benchmarks._record import (
    GROUP,
    KEY,
    TASK,
    Note,
    Table,
    made_with,
    notes_beside,
    read_failures,
)
from skrobustbo_benchmarks._spelling import method_list
from skrobustbo_benchmarks._traces import (
    Array,
    line_table,
    lines_of,
    percentiles,
    read_lines,
    write_lines,
)

#: Columns of the table of the summary.
_HEADER = (
    "problem",
    "evaluations",
    "policy",
    "seeds",
    "best, median",
    "regret, median",
    "regret, 90%",
    "cumulative regret, mean ± s.e.",
    "area, mean",
    "CPU ms/step, median",
    "CPU ms/step, mean",
    "stuck",
)


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "report",
        help="print the regrets and times of csv files",
        description="Print the regrets and times of csv files.",
    )
    add_arguments(parser)
    parser.set_defaults(func=main)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `make_report` reads."""
    add_selection(parser, "files written by 'run', or by --runs of a report")
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
    """Print one table line per problem, run length and policy."""
    make_report(args, lambda lines, everything: [markdown(summarise(lines))])


def make_report(
    args: argparse.Namespace,
    sections_of: Callable[[pd.DataFrame, pd.DataFrame], list[str]],
) -> None:
    """Print, or write to --out, a report on the runs that the arguments name.

    Parameters
    ----------
    args : Namespace
        See `add_arguments`.
    sections_of : callable
        (lines of those runs, lines of all in the files) -> sections, before those on
        failures and versions.
    """
    everything = all_lines(args.csv)
    lines = selection(everything, args)
    sections = [] if args.title is None else [f"# {args.title}"]
    sections += sections_of(lines, everything) + _failures(args, lines)
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
    for column, tokens in (("problem", args.problems), ("policy", args.policies)):
        if tokens is not None:
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
            rows = rows[rows[kind].isin(named(kind, tokens, set(rows[kind])))]
    if not len(rows):
        files = ", ".join(map(str, args.csv))
        raise CommandError(f"{files}: no complete run of what was asked for.")
    return rows


def named(kind: str, tokens: Sequence[str], present: Collection[str]) -> list[str]:
    """Return the names in words; CommandError names the first that is not present."""
    names = method_list(tokens)
    for name in names:
        if name not in present:
            raise CommandError(str(unknown_name(f"name of a {kind}", name, present)))
    return names


def summarise(lines: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each problem, run length and policy, over their seeds.

    Each figure is over the runs that it is known of, nan if there are none:

    - `best`, `regret` and `regret_90`: medians and 90th percentile of the best value
      and the regret at the end; a run without a finite value has regret inf;
    - `cumulative`, `cumulative_se`: mean and standard error of the regrets' sum over
      all evaluations; the error of one run, and of an infinite mean, is nan;
    - `area`: mean regret after the initial design;
    - `cpu_median`, `cpu_mean`: CPU time of ask + tell in milliseconds after the initial
      design, median of the runs' medians and mean of their means;
    - `n_stuck`: runs whose best value ends below the problem's `stuck_below`, nan where
      it has none.
    """
    return pd.DataFrame(
        {**dict(zip(GROUP, key, strict=True)), **_figures(group)}
        for key, group in lines.groupby(GROUP)
    )


def _figures(lines: pd.DataFrame) -> dict[str, float]:
    regrets, sums = _known(lines["final_regret"]), _known(lines["cumulative_regret"])
    stuck = lines["best"] < lines["stuck_below"]
    has_trap = lines["stuck_below"].notna().iloc[0]
    return {
        "n_seeds": len(lines),
        "best": float(np.median(_known(lines["best"]))),
        "regret": float(np.median(regrets)),
        "regret_90": float(percentiles(regrets, [90])[0]),
        "cumulative": float(sums.mean()),
        "cumulative_se": _standard_error(sums),
        "area": float(_known(lines["area"]).mean()),
        "cpu_median": float(np.median(_known(lines["cpu_ms_median"]))),
        "cpu_mean": float(_known(lines["cpu_ms_mean"]).mean()),
        "n_stuck": int(stuck.sum()) if has_trap else math.nan,
    }


def _known(figures: pd.Series) -> Array:
    """Return what is known of the runs; [nan] if nothing is."""
    known = figures.dropna().to_numpy(dtype=float)
    return known if known.size else np.array([math.nan])


def _standard_error(sample: Array) -> float:
    if len(sample) < 2 or not np.isfinite(sample).all():
        return math.nan
    return float(sample.std(ddof=1) / math.sqrt(len(sample)))


def markdown(summary: pd.DataFrame) -> str:
    """Return a summary as a table: by problem, the smallest median regret first."""
    # Where the optimum is not known, the largest best value comes first.
    rank = summary["regret"].fillna(-summary["best"])
    ordered = summary.assign(rank=rank).sort_values([*TASK, "rank", "policy"])
    rows = [_cells(row) for row in ordered.to_dict("records")]
    return table(_HEADER, rows, n_left=3)


def _cells(row: dict[str, float]) -> tuple[str, ...]:
    n_stuck = row["n_stuck"]
    return (
        *(str(row[name]) for name in [*GROUP, "n_seeds"]),
        number(row["best"], ".5g"),
        number(row["regret"]),
        number(row["regret_90"]),
        f"{number(row['cumulative'], '.4g')} ± {number(row['cumulative_se'])}",
        *(number(row[name]) for name in ("area", "cpu_median", "cpu_mean")),
        "-" if math.isnan(n_stuck) else f"{n_stuck:.0f}/{row['n_seeds']}",
    )


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, n_left: int = 1
) -> str:
    """Return a markdown table; all columns but the first `n_left` are of numbers."""
    rule = ("---",) * n_left + ("---:",) * (len(header) - n_left)
    lines = [tuple(header), rule, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def number(value: float, form: str = ".3g") -> str:
    """Return a number, or a dash for nan."""
    return "-" if math.isnan(value) else format(value, form)
