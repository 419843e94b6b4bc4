"""What happened in a run, evaluation by evaluation, and in a line that sums it up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skrobustbo_benchmarks._args import write_file
from skrobustbo_benchmarks._record import KEY, Table

Array = NDArray[np.float64]

#: The columns of a file of run lines: the numbers that reports are made of.
LINE: dict[str, type] = {
    "problem": str,
    "evaluations": int,  # asked for: `n_iter` of a trace
    "policy": str,
    "seed": int,
    "best": float,  # largest value, -inf without one; the last where optima move
    "mean_best": float,  # of the best so far, over the evaluations after the design
    "final_regret": float,  # optimum minus `best`, nan where it is not known
    "area": float,  # the same of `mean_best`
    "cumulative_regret": float,  # sum over all evaluations, failed ones left out
    "stuck_below": float,  # the problem's, nan where it has none
    "cpu_ms_mean": float,  # of ask + tell after the initial design, nan without
    "cpu_ms_median": float,
}


def best_values(run: pd.DataFrame) -> Array:
    """Return the best value so far, -inf before the first finite one."""
    return np.asarray(run["best"].fillna(-math.inf), dtype=float)


def simple_regrets(run: pd.DataFrame) -> Array:
    """Return the optimum minus the best value so far, shape (n_evals,).

    It is inf before the first finite value, and nan where the optimum is not known.
    """
    return np.asarray(run["optimum"], dtype=float) - best_values(run)


def percentiles(sample: Array, q: Sequence[float]) -> Array:
    """Return percentiles over the first axis, also where values are infinite.

    Between two values of which one is infinite it is the larger: their mean would be
    no number.
    """
    with np.errstate(invalid="ignore"):
        between = np.percentile(sample, q, axis=0)
    larger = np.percentile(sample, q, axis=0, method="higher")
    return np.where(np.isnan(between), larger, between)


def padded(values: Array, length: int) -> Array:
    """Return the values, the last one repeated up to a length."""
    return np.append(values, np.repeat(values[-1], length - len(values)))


def after_design(run: pd.DataFrame, values: Array) -> Array:
    """Return those values of a run's evaluations that are a method's own doing.

    They are those after the initial design, and the last one at least; a run that
    exhausted its space keeps its last value up to its end.
    """
    n_iter, n_initial = int(run["n_iter"].iloc[0]), int(run["n_initial"].iloc[0])
    return padded(values, n_iter)[min(n_initial, n_iter - 1) :]


def lines_of(trace: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of a trace in numbers of nine digits, a row each."""
    lines = [(*key, *_figures(run)) for key, run in trace.groupby(KEY)]
    return pd.DataFrame(lines, columns=[*KEY, *list(LINE)[4:]])


def _figures(run: pd.DataFrame) -> list[float]:
    bests, regrets = best_values(run), simple_regrets(run)
    cpu = run["cpu_seconds"].to_numpy()[run["n_initial"].iloc[0] :] * 1e3
    figures = (
        bests[-1],
        after_design(run, bests).mean(),
        regrets[-1],
        after_design(run, regrets).mean(),
        _cumulative_regret(run),
        run["stuck_below"].iloc[0],
        cpu.mean() if cpu.size else math.nan,
        np.median(cpu) if cpu.size else math.nan,
    )
    # So that equal results stay equal in a file that holds no more digits.
    return [float(f"{figure:.9g}") for figure in figures]


def _cumulative_regret(run: pd.DataFrame) -> float:
    if math.isnan(run["optimum"].iloc[0]):
        return math.nan
    regrets = (run["optimum"] - run["value"]).dropna().to_numpy()
    return float(regrets.sum()) if regrets.size else math.inf


def line_table(path: Path) -> Table:
    """Return the csv file of run lines at `path`."""
    return Table(path, LINE, key=list(LINE)[:4], command="report --runs")


def read_lines(path: Path) -> pd.DataFrame:
    """Return the run lines of a file."""
    return line_table(path).read()[0].rename(columns={"evaluations": "n_iter"})


def write_lines(path: Path, lines: pd.DataFrame) -> None:
    """Write a file of run lines; CommandError if that cannot be done."""
    rows = lines.rename(columns={"n_iter": "evaluations"})
    write_file(path, ",".join(LINE) + "\n" + line_table(path).text(rows))
