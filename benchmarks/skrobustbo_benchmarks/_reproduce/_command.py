"""``reproduce``: make the runs of experiments, then their figures and verdicts."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from skrobustbo_benchmarks._args import (
    CommandError,
    Subparsers,
    checked_names,
    positive_int,
    seed_list,
)
from skrobustbo_benchmarks._pool import Job, execute, say
from skrobustbo_benchmarks._reproduce._claims import TOO_FEW
from skrobustbo_benchmarks._reproduce._figure import draw
from skrobustbo_benchmarks._reproduce._spec import (
    EXPERIMENTS,
    Case,
    Experiment,
    case_of,
    read_results,
    versions_of,
)

#: The program of a process that makes runs.
_PROGRAM = "skrobustbo_benchmarks._reproduce._runs"


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
        default=Path("papers"),
        help="folder of the csv files and figures (default: papers)",
    )
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """List, run, draw and judge, as the arguments ask."""
    if args.list:
        print(listing())
        return 0
    if not args.names:
        raise CommandError("Expected the name of an experiment, or --list.")
    chosen = chosen_experiments(args.names)
    make_folder(args.out)
    n_failed = make_missing(chosen, args.out, args)
    for experiment in chosen:
        _tell(experiment, args.out, args.quick)
    return int(n_failed > 0)


def make_folder(path: Path, option: str = "--out") -> None:
    """Make a folder unless it is there; CommandError if that cannot be done."""
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
    return [EXPERIMENTS[n] for n in checked_names("experiment", names, EXPERIMENTS)]


def listing() -> str:
    """Return the experiments, one line each, with the runs that they are made of."""
    lines = []
    for name, experiment in EXPERIMENTS.items():
        cases = ", ".join(panel.case.name for panel in experiment.panels)
        n = sum(len(panel.methods) * panel.case.seeds for panel in experiment.panels)
        lines.append(f"{name:10s}  {experiment.title} ({n} runs: {cases})")
    return "\n".join(lines)


def plan(
    experiments: Iterable[Experiment],
    folder: Path,
    quick: bool,
    seeds: Sequence[int] | None = None,
) -> list[Job]:
    """Return the missing runs, seed by seed: what is there early covers all cases."""
    wanted: dict[str, dict[str, None]] = {}
    for experiment in experiments:
        for panel in experiment.panels:
            names = wanted.setdefault(panel.case.name, {})
            names.update(dict.fromkeys(panel.methods))
    form = ".quick" if quick else ""
    jobs = [
        job
        for name, methods in wanted.items()
        for job in _missing(case_of(f"{name}{form}"), methods, folder, seeds)
    ]
    return sorted(jobs, key=lambda job: job.keys[0].seed)


def _missing(
    case: Case, methods: Iterable[str], folder: Path, seeds: Sequence[int] | None
) -> list[Job]:
    """Return a job for each seed: its methods share the function and its optima."""
    table = case.table(folder)
    held = table.open()
    jobs = []
    for seed in range(case.seeds) if seeds is None else seeds:
        keys = (case.key(method, seed) for method in methods)
        if missing := tuple(key for key in keys if key not in held):
            jobs.append(Job(missing, table, _PROGRAM))
    return jobs


def make_missing(
    experiments: Sequence[Experiment], folder: Path, args: argparse.Namespace
) -> int:
    """Make the missing runs and return how many jobs and cases failed."""
    jobs = plan(experiments, folder, args.quick, args.seeds)
    names = dict.fromkeys(job.keys[0].problem for job in jobs)
    absent = {name: missing for name in names if (missing := _missing_data(name))}
    for name, missing in absent.items():
        say(f"{name.removesuffix('.quick')} was not run: {missing}")
    possible = [job for job in jobs if job.keys[0].problem not in absent]
    if possible and (mixed := versions_of(folder).add()):
        say(f"{folder} mixes runs of {mixed}.")
    return execute(possible, args.jobs) + len(absent)


def _missing_data(name: str) -> str:
    """Return what keeps a case from being run, "" for nothing."""
    case = case_of(name)
    try:
        problem = case.make_problem(0)
        if case.data:  # some are loaded at the first evaluation only
            problem.value_at(problem.initial_params(0, 1)[0], 1)
    except FileNotFoundError as error:
        return f"{case.data} are missing. {error}"
    return ""


def _tell(experiment: Experiment, folder: Path, quick: bool) -> None:
    """Draw an experiment and print what became of its claims."""
    results = read_results(folder, quick)
    draw(experiment, results, folder, quick)
    found = experiment.findings(results)
    for finding in found:
        if finding.verdict == TOO_FEW:
            continue
        print(f"{finding.verdict:14s} {finding.says}: {finding.here}")
    print(f"{experiment.name}: {experiment.verdict(found)}")
    print("Left open by the paper, and filled so:")
    for line in experiment.left_open:
        print(f"- {line}")
