"""Runs as numbers to be compared: by task, a table of seeds x methods."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skrobustbo.benchmarks._record import KEY, TASK

#: By problem and length of the runs a table with a row for each seed, and of "final"
#: and "area" a column for each method, nan where it has no such run: the simple regret
#: at the end, inf without a single finite value, and its mean over the evaluations
#: after the initial design.
Scores = dict[tuple[str, int], pd.DataFrame]


def scores(lines: pd.DataFrame, table: pd.DataFrame | None = None) -> Scores:
    """Return the scores of runs; smaller is better.

    Parameters
    ----------
    lines : DataFrame
        The runs, a line each.
    table : DataFrame, optional
        Runs that `lines` are a part of, all of them by default: where the optimum of a
        problem is not known, the largest value of any of them stands in for it.
    """
    largest = (lines if table is None else table).groupby("problem")["best"].max()
    stand_in = lines["problem"].map(largest).replace(-math.inf, math.nan)
    known = lines["final_regret"].notna()
    scored = lines[KEY].assign(
        final=lines["final_regret"].where(known, stand_in - lines["best"]),
        area=lines["area"].where(known, stand_in - lines["mean_best"]),
    )
    scored = scored[scored["final"].notna()]
    return {
        task: rows.pivot(index="seed", columns="policy", values=["final", "area"])
        for task, rows in scored.groupby(TASK)
    }


def methods_of(all_scores: Scores) -> list[str]:
    """Return the names of all methods, in alphabetical order."""
    return sorted({name for table in all_scores.values() for name in table["final"]})


def paired(of_task: pd.DataFrame, ours: str, theirs: str) -> NDArray[np.float64]:
    """Return the differences in final regret over the seeds that both have."""
    finals = of_task["final"]
    if not {ours, theirs} <= set(finals):
        return np.empty(0)
    a, b = (finals.dropna(subset=[ours, theirs])[name] for name in (ours, theirs))
    # Two runs without a finite value do not differ.
    return np.array([0.0 if x == y else x - y for x, y in zip(a, b, strict=True)])


def percentiles(sample: NDArray[np.float64], q: Sequence[float]) -> NDArray[np.float64]:
    """Return percentiles over the first axis, also where values are infinite.

    Between two values of which one is infinite it is the larger: their mean would be
    no number.
    """
    with np.errstate(invalid="ignore"):
        between = np.percentile(sample, q, axis=0)
    larger = np.percentile(sample, q, axis=0, method="higher")
    return np.where(np.isnan(between), larger, between)
