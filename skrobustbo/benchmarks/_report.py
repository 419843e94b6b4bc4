"""``report``: the regrets and the times of a results table, as markdown."""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._args import CommandError, Subparsers, checked_names
from skrobustbo.benchmarks._table import Run, Table


class GroupKey(NamedTuple):
    """The runs that differ in their seed only."""

    problem: str
    n_iter: int
    policy: str


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
        Median of the best value (noise-free) at the end.
    regret, regret_90 : float
        Median and 90th percentile of the optimum minus the best value at the end; nan
        where the optimum is not known.
    cumulative, cumulative_se : float
        Mean and its standard error of the sum over all evaluations (failed ones left
        out) of the optimum minus the noise-free value; the error of one run is nan.
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
    cpu_median: float
    cpu_mean: float
    n_stuck: int | None


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "report", help="print a csv file's regrets and times"
    )
    add_selection(parser)
    parser.set_defaults(func=main)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `selected_runs` reads."""
    parser.add_argument("csv", type=Path, help="file written by 'run'")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="default: all")
    parser.add_argument("--policies", nargs="+", metavar="NAME", help="default: all")


def main(args: argparse.Namespace) -> None:
    """Print one table line per problem, run length and policy."""
    groups = selected_runs(args)
    print(markdown([summarise(key, runs) for key, runs in groups.items()]))


def selected_runs(args: argparse.Namespace) -> dict[GroupKey, list[Run]]:
    """Return the complete runs of the table that the arguments name, grouped."""
    if not args.csv.is_file():
        raise CommandError(f"There is no file {args.csv}: make it with 'run --out'.")
    runs, is_clean = Table(args.csv).read()
    if not is_clean:
        print("Incomplete runs are left out.", file=sys.stderr)
    problems = _chosen("problem", args.problems, {key.problem for key in runs})
    policies = _chosen("policy", args.policies, {key.policy for key in runs})
    groups = defaultdict(list)
    for key in sorted(runs):
        if key.problem in problems and key.policy in policies:
            groups[GroupKey(*key[:3])].append(runs[key])
    if not groups:
        raise CommandError(f"{args.csv} holds no complete run of what was asked for.")
    return dict(groups)


def _chosen(kind: str, tokens: list[str] | None, present: set[str]) -> set[str]:
    return present if tokens is None else set(checked_names(kind, tokens, present))


def summarise(key: GroupKey, runs: Sequence[Run]) -> Summary:
    """Return the report's line for the runs of one problem and policy."""
    regrets = final_regrets(runs)
    sums = np.array([_cumulative_regret(run) for run in runs])
    cpu = np.array([1e3 * seconds for run in runs for seconds in _model_steps(run)])
    return Summary(
        key=key,
        n_seeds=len(runs),
        best=float(np.median([run[-1].best for run in runs])),
        regret=float(np.median(regrets)),
        regret_90=float(np.percentile(regrets, 90)),
        cumulative=float(sums.mean()),
        cumulative_se=_standard_error(sums),
        cpu_median=float(np.median(cpu)) if cpu.size else math.nan,
        cpu_mean=float(cpu.mean()) if cpu.size else math.nan,
        n_stuck=_count_stuck(runs),
    )


def final_regrets(runs: Sequence[Run]) -> NDArray[np.float64]:
    """Return the optimum minus the best value at the end, shape (n_runs,)."""
    return np.array([run[-1].optimum - run[-1].best for run in runs])


def _cumulative_regret(run: Run) -> float:
    if math.isnan(run[0].optimum):
        return math.nan
    return float(np.nansum([row.optimum - row.value for row in run]))


def _model_steps(run: Run) -> list[float]:
    return [row.cpu_seconds for row in run[run[0].n_initial :]]


def _standard_error(sample: NDArray[np.float64]) -> float:
    if len(sample) < 2:
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
    "CPU ms/step, median",
    "CPU ms/step, mean",
    "stuck",
)


def markdown(summaries: Sequence[Summary]) -> str:
    """Return the report: by problem, the smallest median regret first."""
    rows = [_cells(summary) for summary in sorted(summaries, key=_rank)]
    lines = [_HEADER, ("---",) * 3 + ("---:",) * 8, *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


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
        _number(summary.best, ".5g"),
        _number(summary.regret),
        _number(summary.regret_90),
        f"{_number(summary.cumulative, '.4g')} ± {_number(summary.cumulative_se)}",
        _number(summary.cpu_median),
        _number(summary.cpu_mean),
        "-" if stuck is None else f"{stuck}/{summary.n_seeds}",
    )


def _number(value: float, form: str = ".3g") -> str:
    return "-" if math.isnan(value) else format(value, form)
