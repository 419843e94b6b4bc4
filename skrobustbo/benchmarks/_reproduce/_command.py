"""``reproduce``: make the runs of experiments, then their figures and the page."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from skrobustbo.benchmarks._args import (
    CommandError,
    Subparsers,
    checked_names,
    positive_int,
    seed_list,
)
from skrobustbo.benchmarks._files import check_can_write
from skrobustbo.benchmarks._pool import RunFailedError, run_all, say
from skrobustbo.benchmarks._reproduce._claims import TOO_FEW, overall
from skrobustbo.benchmarks._reproduce._figure import draw
from skrobustbo.benchmarks._reproduce._ledger import Run, ledger, versions_of
from skrobustbo.benchmarks._reproduce._page import findings, write_page
from skrobustbo.benchmarks._reproduce._registry import EXPERIMENTS
from skrobustbo.benchmarks._reproduce._results import read_results
from skrobustbo.benchmarks._reproduce._spec import Case, Experiment
from skrobustbo.benchmarks._threads import one_thread_environment


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "reproduce",
        help="run the papers' experiments and compare with what they say",
        description="Run experiments of the papers, each run with one BLAS thread, "
        "and judge what the papers say of them. Runs that the csv files hold already "
        "are skipped, so the same command resumes; one command at a time may write to "
        "a folder. A figure is drawn of each experiment, and a verdict printed.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of --list, or 'all'")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--quick", action="store_true", help="few seeds, few queries")
    parser.add_argument(
        "--seeds", type=seed_list, help="0-9 or 0,3,7 (default: as in the paper)"
    )
    parser.add_argument("--jobs", type=positive_int, default=1, metavar="N")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="folder of the csv files and figures (default: that of the page, or "
        "'papers')",
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="write the page of all experiments, its files in a folder of its name",
    )
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """List, run, draw, judge and write, as the arguments ask."""
    if args.list:
        print(listing())
        return 0
    if not args.names and args.page is None:
        raise CommandError("Expected the name of an experiment, --list or --page.")
    chosen = chosen_experiments(args.names)
    folder = args.out or Path("papers")
    if args.page is not None:
        _make_folder(args.page.parent, "--page")
        check_can_write(args.page, "--page")
        folder = args.out or args.page.with_suffix("")
    _make_folder(folder, "--page" if args.out is None and args.page else "--out")
    n_failed = execute(chosen, folder, args)
    for experiment in chosen:
        _tell(experiment, folder, args.quick)
    if args.page is not None:
        write_page(args.page, folder)
    return int(n_failed > 0)


def _make_folder(path: Path, option: str) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"{option} needs the folder {path}, but {error}: give another {option}."
        ) from error


def chosen_experiments(names: Sequence[str]) -> list[Experiment]:
    """Return the experiments of names, all of them for ``all``."""
    if "all" in names:
        return list(EXPERIMENTS.values())
    if not names:
        return []
    return [EXPERIMENTS[n] for n in checked_names("experiment", names, EXPERIMENTS)]


def listing() -> str:
    """Return the experiments, one line each, with the runs that they are made of."""
    lines = []
    for name, experiment in EXPERIMENTS.items():
        cases = ", ".join(panel.case.name for panel in experiment.panels)
        n = sum(len(panel.methods) * panel.case.seeds for panel in experiment.panels)
        lines.append(f"{name:10s}  {experiment.title} ({n} runs: {cases})")
    return "\n".join(lines)


class Batch(NamedTuple):
    """Missing runs of a case, by seed: one child process makes them."""

    case: Case
    quick: bool
    missing: tuple[tuple[int, tuple[str, ...]], ...]

    def __str__(self) -> str:
        """Return what is being run."""
        seeds = ", ".join(str(seed) for seed, _ in self.missing)
        return f"{self.case.name} seed {seeds}"


def plan(
    experiments: Iterable[Experiment],
    folder: Path,
    quick: bool,
    seeds: Sequence[int] | None = None,
) -> list[Batch]:
    """Return the missing runs, seed by seed: what is there early covers all cases."""
    wanted: dict[Case, dict[str, None]] = {}
    for experiment in experiments:
        for panel in experiment.panels:
            case = next((c for c in wanted if c.name == panel.case.name), panel.case)
            wanted.setdefault(case, {}).update(dict.fromkeys(panel.methods))
    batches = []
    for case, names in wanted.items():
        missing = _missing(case, tuple(names), folder, quick, seeds)
        starts = range(0, len(missing), case.together)
        chunks = (tuple(missing[i : i + case.together]) for i in starts)
        batches += [Batch(case, quick, chunk) for chunk in chunks]
    return sorted(batches, key=lambda batch: batch.missing[0][0])


def _missing(
    case: Case,
    names: tuple[str, ...],
    folder: Path,
    quick: bool,
    seeds: Sequence[int] | None,
) -> list[tuple[int, tuple[str, ...]]]:
    held = ledger(folder, case.name, quick).open()
    steps = case.n_steps(quick)
    chosen = range(case.n_seeds(quick)) if seeds is None else seeds
    pairs = [
        (seed, tuple(name for name in names if (name, seed, steps) not in held))
        for seed in chosen
    ]
    return [(seed, methods) for seed, methods in pairs if methods]


def execute(
    experiments: Sequence[Experiment], folder: Path, args: argparse.Namespace
) -> int:
    """Make the missing runs and return how many batches failed."""
    batches = plan(experiments, folder, args.quick, args.seeds)
    absent = {
        case.name: missing
        for case in {batch.case.name: batch.case for batch in batches}.values()
        if (missing := _missing_data(case, args.quick))
    }
    for name, missing in absent.items():
        say(f"{name} was not run: {missing}")
    possible = [batch for batch in batches if batch.case.name not in absent]
    if possible and (mixed := versions_of(folder).add()):
        say(f"{folder} mixes runs of {mixed}.")

    def keep(runs: list[Run]) -> str:
        return f"{len(runs)} runs, {sum(run.seconds for run in runs):.1f} s of CPU"

    def make(batch: Batch) -> list[Run]:
        return run_in_child(batch, folder)

    failed = run_all(possible, args.jobs, make, str, keep)
    return failed + len(absent)


def _missing_data(case: Case, quick: bool) -> str:
    """Return what keeps a case from being run, "" for nothing."""
    try:
        problem = case.make_problem(0, quick)
        if case.data:  # some are loaded at the first evaluation only
            problem.value_at(problem.initial_params(0, 1)[0], 1)
    except FileNotFoundError as error:
        return f"{case.data} are missing. {error}"
    return ""


def run_in_child(batch: Batch, folder: Path) -> list[Run]:
    """Make the runs of a batch in a new process with one BLAS thread.

    They are written to their file when it ends, those made before a failure, too.

    Raises
    ------
    RunFailedError
        If the process fails.
    """
    words = json.dumps([batch.case.name, batch.quick, batch.missing])
    child = subprocess.run(
        [sys.executable, "-m", "skrobustbo.benchmarks._reproduce._runs", words],
        env=one_thread_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    table = ledger(folder, batch.case.name, batch.quick)
    # A process that was killed may leave half a line.
    whole = child.stdout[: child.stdout.rfind("\n") + 1]
    runs = [Run(**json.loads(line)) for line in whole.splitlines()]
    for run in runs:
        table.append(run)
    if child.returncode != 0:
        raise RunFailedError(child.stderr.strip() or f"status {child.returncode}")
    if child.stderr:
        say(child.stderr.rstrip())
    return runs


def _tell(experiment: Experiment, folder: Path, quick: bool) -> None:
    """Draw an experiment and print what became of its claims."""
    results = read_results(folder, quick)
    draw(experiment, results, folder, quick)
    found = findings(experiment, results)
    for finding in found:
        if finding.verdict == TOO_FEW:
            continue
        print(f"{finding.verdict:14s} {finding.says}: {finding.here}")
    print(f"{experiment.name}: {overall(found)}")
