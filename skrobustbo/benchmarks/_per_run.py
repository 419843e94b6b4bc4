"""A line for each run: what a report is made of, small enough to be kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from skrobustbo.benchmarks._files import write_csv
from skrobustbo.benchmarks._scores import GroupKey, Scores, model_seconds, task_of
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


def write_per_run(
    path: Path, groups: Mapping[GroupKey, Sequence[Run]], found: Scores
) -> None:
    """Write the csv file; CommandError if that fails.

    Regrets are the scores that methods are compared by; the time is the mean over the
    steps after the initial design.
    """
    lines = []
    for key, runs in groups.items():
        of_seeds = found[task_of(key)][key.policy]
        for run in runs:
            score = of_seeds[run[0].seed]
            figures = (run[-1].best, score.final, score.area, _mean_cpu(run))
            lines.append((*key, run[0].seed, *(f"{x:.6g}" for x in figures)))
    write_csv(path, COLUMNS, lines)


def _mean_cpu(run: Run) -> float:
    seconds = model_seconds(run)
    return 1e3 * float(np.mean(seconds)) if seconds else float("nan")
