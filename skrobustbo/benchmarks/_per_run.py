"""A line for each run: what a report is made of, small enough to be kept."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from skrobustbo.benchmarks._args import CommandError
from skrobustbo.benchmarks._scores import GroupKey, scores, task_of
from skrobustbo.benchmarks._table import Run

COLUMNS = (
    "problem",
    "evaluations",
    "policy",
    "seed",
    "best",
    "final_regret",
    "area",
    "cpu_ms_per_step",
)


def write_per_run(path: Path, groups: Mapping[GroupKey, Sequence[Run]]) -> None:
    """Write the csv file; CommandError if that fails.

    Regrets are those that methods are compared by (see `scores`); the time is the mean
    over the steps after the initial design.
    """
    found = scores(groups)
    lines = []
    for key, runs in groups.items():
        of_seeds = found[task_of(key)][key.policy]
        for run in runs:
            score = of_seeds[run[0].seed]
            figures = (run[-1].best, score.final, score.area, _mean_cpu(run))
            lines.append((*key, run[0].seed, *(f"{x:.6g}" for x in figures)))
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([COLUMNS, *lines])
    except OSError as error:
        raise CommandError(f"Could not write {path}: {error}") from error


def _mean_cpu(run: Run) -> float:
    seconds = [row.cpu_seconds for row in run[run[0].n_initial :]]
    return 1e3 * float(np.mean(seconds)) if seconds else float("nan")
