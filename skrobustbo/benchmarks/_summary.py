"""The first table of a report: a line for each problem, run length and policy."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skrobustbo.benchmarks._markdown import number, table
from skrobustbo.benchmarks._record import GROUP, TASK
from skrobustbo.benchmarks._scores import percentiles

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


def _known(figures: pd.Series) -> NDArray[np.float64]:
    """Return what is known of the runs; [nan] if nothing is."""
    known = figures.dropna().to_numpy(dtype=float)
    return known if known.size else np.array([math.nan])


def _standard_error(sample: NDArray[np.float64]) -> float:
    if len(sample) < 2 or not np.isfinite(sample).all():
        return math.nan
    return float(sample.std(ddof=1) / math.sqrt(len(sample)))


def markdown(summary: pd.DataFrame) -> str:
    """Return the report: by problem, the smallest median regret first."""
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
