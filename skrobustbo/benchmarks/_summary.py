"""The first table of a report: a line for each problem, run length and policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._markdown import number, table
from skrobustbo.benchmarks._scores import (
    GroupKey,
    best_values,
    model_seconds,
    percentiles,
    score,
)
from skrobustbo.benchmarks._table import Run


@dataclass(frozen=True)
class Summary:
    """One line of the report, over the seeds of a problem and policy.

    Parameters
    ----------
    key : GroupKey
        Problem, length of the runs and policy.
    n_seeds : int
        Number of runs.
    best : float
        Median of the best value (noise-free) at the end, -inf of a run without one.
    regret, regret_90 : float
        Median and 90th percentile of the optimum minus the best value at the end, inf
        for a run without one; nan where the optimum is not known.
    cumulative, cumulative_se : float
        Mean and its standard error of the sum over all evaluations (failed ones left
        out, inf if all failed) of the optimum minus the noise-free value; the error of
        one run, and of an infinite mean, is nan.
    area : float
        Mean over seeds and evaluations after the initial design of the optimum minus
        the best value so far.
    cpu_median, cpu_mean : float
        CPU time of ask + tell in milliseconds, over the steps of all runs after the
        initial design.
    n_stuck : int or None
        Runs whose best value ends below the problem's `stuck_below`, None where it has
        none.
    """

    key: GroupKey
    n_seeds: int
    best: float
    regret: float
    regret_90: float
    cumulative: float
    cumulative_se: float
    area: float
    cpu_median: float
    cpu_mean: float
    n_stuck: int | None


def summarise(key: GroupKey, runs: Sequence[Run]) -> Summary:
    """Return the report's line for the runs of one problem and policy."""
    found = [score(run) for run in runs]
    regrets = np.array([each.final for each in found])
    sums = np.array([_cumulative_regret(run) for run in runs])
    cpu = np.array([1e3 * seconds for run in runs for seconds in model_seconds(run)])
    return Summary(
        key=key,
        n_seeds=len(runs),
        best=float(np.median([best_values(run)[-1] for run in runs])),
        regret=float(np.median(regrets)),
        regret_90=float(percentiles(regrets, [90])[0]),
        cumulative=float(sums.mean()),
        cumulative_se=_standard_error(sums),
        area=float(np.mean([each.area for each in found])),
        cpu_median=float(np.median(cpu)) if cpu.size else math.nan,
        cpu_mean=float(cpu.mean()) if cpu.size else math.nan,
        n_stuck=_count_stuck(runs),
    )


def _cumulative_regret(run: Run) -> float:
    if math.isnan(run[0].optimum):
        return math.nan
    regrets = [row.optimum - row.value for row in run if not math.isnan(row.value)]
    return float(np.sum(regrets)) if regrets else math.inf


def _standard_error(sample: NDArray[np.float64]) -> float:
    if len(sample) < 2 or not np.isfinite(sample).all():
        return math.nan
    return float(sample.std(ddof=1) / math.sqrt(len(sample)))


def _count_stuck(runs: Sequence[Run]) -> int | None:
    threshold = runs[0][0].stuck_below
    if math.isnan(threshold):
        return None
    # A run without a single finite value is stuck, too.
    return sum(not run[-1].best >= threshold for run in runs)


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


def markdown(summaries: Sequence[Summary]) -> str:
    """Return the report: by problem, the smallest median regret first."""
    rows = [_cells(summary) for summary in sorted(summaries, key=_rank)]
    return table(_HEADER, rows, n_left=3)


def _rank(summary: Summary) -> tuple[str, int, float, str]:
    # Where the optimum is not known, the largest best value comes first.
    problem, n_iter, policy = summary.key
    regret = summary.regret
    return problem, n_iter, -summary.best if math.isnan(regret) else regret, policy


def _cells(summary: Summary) -> tuple[str, ...]:
    problem, n_iter, policy = summary.key
    stuck = summary.n_stuck
    return (
        problem,
        str(n_iter),
        policy,
        str(summary.n_seeds),
        number(summary.best, ".5g"),
        number(summary.regret),
        number(summary.regret_90),
        f"{number(summary.cumulative, '.4g')} ± {number(summary.cumulative_se)}",
        number(summary.area),
        number(summary.cpu_median),
        number(summary.cpu_mean),
        "-" if stuck is None else f"{stuck}/{summary.n_seeds}",
    )
