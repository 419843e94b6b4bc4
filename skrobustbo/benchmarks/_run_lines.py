"""A line for each run: what a report is made of, small enough to be kept."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skrobustbo.benchmarks._lines import LineTable
from skrobustbo.benchmarks._table import Run, RunKey
from skrobustbo.benchmarks._traces import (
    after_design,
    best_values,
    model_seconds,
    simple_regrets,
)


@dataclass(frozen=True)
class RunLine:
    """One run in numbers.

    Parameters
    ----------
    problem, policy : str
        Names.
    evaluations : int
        Evaluations asked for.
    seed : int
        Seed of the run.
    best : float
        Largest noise-free value, -inf without a finite one; the last value where the
        objective changes in time.
    mean_best : float
        Mean of the best value so far over the evaluations after the initial design; a
        run that exhausted its space keeps its last one.
    final_regret, area : float
        The optimum minus `best`, and the mean of that after the initial design; nan
        where the optimum is not known.
    cumulative_regret : float
        Sum over all evaluations (failed ones left out, inf if all failed) of the
        optimum minus the noise-free value, nan where the optimum is not known.
    stuck_below : float
        The problem's `stuck_below`, nan where it has none.
    cpu_ms_mean, cpu_ms_median : float
        CPU time of ask + tell in milliseconds over the steps after the initial design,
        nan if there are none.
    """

    problem: str
    evaluations: int
    policy: str
    seed: int
    best: float
    mean_best: float
    final_regret: float
    area: float
    cumulative_regret: float
    stuck_below: float
    cpu_ms_mean: float
    cpu_ms_median: float

    @property
    def key(self) -> RunKey:
        """What tells the run from others."""
        return RunKey(self.problem, self.evaluations, self.policy, self.seed)


def line_of(run: Run) -> RunLine:
    """Return a run in numbers of nine digits."""
    bests, regrets = best_values(run), simple_regrets(run)
    cpu = np.array(model_seconds(run)) * 1e3
    figures = (
        bests[-1],
        after_design(run, bests).mean(),
        regrets[-1],
        after_design(run, regrets).mean(),
        _cumulative_regret(run),
        run[0].stuck_below,
        cpu.mean() if cpu.size else math.nan,
        np.median(cpu) if cpu.size else math.nan,
    )
    first = run[0]
    return RunLine(
        first.problem,
        first.n_iter,
        first.policy,
        first.seed,
        # So that equal results stay equal in a file that holds no more digits.
        *(float(f"{figure:.9g}") for figure in figures),
    )


def _cumulative_regret(run: Run) -> float:
    if math.isnan(run[0].optimum):
        return math.nan
    regrets = [row.optimum - row.value for row in run if not math.isnan(row.value)]
    return float(np.sum(regrets)) if regrets else math.inf


def line_table(path: Path) -> LineTable[RunLine]:
    """Return the csv file of run lines at `path`."""
    return LineTable(path, RunLine, "report --runs")
