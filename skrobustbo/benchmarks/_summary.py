"""The first table of a report: a line for each problem, run length and policy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._markdown import number, table
from skrobustbo.benchmarks._run_lines import RunLine
from skrobustbo.benchmarks._scores import GroupKey, percentiles


@dataclass(frozen=True)
class Summary:
    """One line of the report, over the seeds of a problem and policy.

    Each figure is over the runs that it is known of.

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
        CPU time of ask + tell in milliseconds, over the steps after the initial design:
        median of the runs' medians, and mean of their means.
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


def summarise(key: GroupKey, lines: Sequence[RunLine]) -> Summary:
    """Return the report's line for the runs of one problem and policy."""
    regrets, sums = _known(lines, "final_regret"), _known(lines, "cumulative_regret")
    return Summary(
        key=key,
        n_seeds=len(lines),
        best=float(np.median(_known(lines, "best"))),
        regret=float(np.median(regrets)),
        regret_90=float(percentiles(regrets, [90])[0]),
        cumulative=float(sums.mean()),
        cumulative_se=_standard_error(sums),
        area=float(_known(lines, "area").mean()),
        cpu_median=float(np.median(_known(lines, "cpu_ms_median"))),
        cpu_mean=float(_known(lines, "cpu_ms_mean").mean()),
        n_stuck=_count_stuck(lines),
    )


def _known(lines: Sequence[RunLine], column: str) -> NDArray[np.float64]:
    """Return a figure of the runs that have it; [nan] if none has."""
    figures = np.array([getattr(line, column) for line in lines])
    known = figures[~np.isnan(figures)]
    return known if known.size else np.array([math.nan])


def _standard_error(sample: NDArray[np.float64]) -> float:
    if len(sample) < 2 or not np.isfinite(sample).all():
        return math.nan
    return float(sample.std(ddof=1) / math.sqrt(len(sample)))


def _count_stuck(lines: Sequence[RunLine]) -> int | None:
    if math.isnan(lines[0].stuck_below):
        return None
    return sum(line.best < line.stuck_below for line in lines)


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
