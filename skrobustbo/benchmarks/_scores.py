"""Runs as numbers to be compared: one score per seed, smaller is better."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._run_lines import RunLine


class GroupKey(NamedTuple):
    """The runs that differ in their seed only."""

    problem: str
    n_iter: int
    policy: str


class Task(NamedTuple):
    """What methods are compared on: a problem and a length of the runs."""

    problem: str
    n_iter: int


class Score(NamedTuple):
    """How a run went.

    Parameters
    ----------
    final : float
        Simple regret at the end, inf without a single finite value.
    area : float
        Mean simple regret over the evaluations after the initial design; a run that
        exhausted its space keeps its last regret.
    """

    final: float
    area: float


def task_of(key: GroupKey) -> Task:
    """Return what the runs of a group are compared on."""
    return Task(key.problem, key.n_iter)


Scores = dict[Task, dict[str, dict[int, Score]]]


def scores(
    groups: Mapping[GroupKey, Sequence[RunLine]],
    table: Iterable[RunLine] | None = None,
) -> Scores:
    """Return the scores by task, method and seed.

    Parameters
    ----------
    groups : dict of GroupKey to list of RunLine
        The runs.
    table : iterable of RunLine, optional
        Runs that `groups` are a part of, all of them by default: where the optimum of
        a problem is not known, the largest value of any of them stands in for it.
    """
    all_lines = [line for lines in groups.values() for line in lines]
    stand_ins = _largest_values(all_lines if table is None else table)
    found: Scores = defaultdict(dict)
    for key, lines in groups.items():
        found[task_of(key)][key.policy] = {
            line.seed: _score(line, stand_ins[key.problem]) for line in lines
        }
    return dict(found)


def _largest_values(lines: Iterable[RunLine]) -> dict[str, float]:
    """Return the largest value that was found on each problem."""
    largest: dict[str, float] = defaultdict(lambda: -math.inf)
    for line in lines:
        largest[line.problem] = max(largest[line.problem], line.best)
    return largest


def _score(line: RunLine, stand_in: float) -> Score:
    """Return how a run went; nan where nothing stands in for an unknown optimum."""
    if not math.isnan(line.final_regret):
        return Score(line.final_regret, line.area)
    if math.isinf(stand_in):
        return Score(math.nan, math.nan)
    return Score(stand_in - line.best, stand_in - line.mean_best)


def percentiles(sample: NDArray[np.float64], q: Sequence[float]) -> NDArray[np.float64]:
    """Return percentiles over the first axis, also where values are infinite.

    Between two values of which one is infinite it is the larger: their mean would be
    no number.
    """
    with np.errstate(invalid="ignore"):
        between = np.percentile(sample, q, axis=0)
    larger = np.percentile(sample, q, axis=0, method="higher")
    return np.where(np.isnan(between), larger, between)


def on_common_seeds(
    of_task: Mapping[str, Mapping[int, Score]],
) -> dict[str, dict[int, Score]]:
    """Return the scores of a task's methods over the seeds that all of them have."""
    common = sorted(set.intersection(*map(set, of_task.values())))
    return {
        method: {seed: of_seeds[seed] for seed in common}
        for method, of_seeds in of_task.items()
    }


def paired(
    ours: Mapping[int, Score], theirs: Mapping[int, Score]
) -> NDArray[np.float64]:
    """Return the differences in final regret over the seeds that both have."""
    pairs = [(ours[s].final, theirs[s].final) for s in sorted(ours.keys() & theirs)]
    # Two runs without a finite value do not differ.
    return np.array([0.0 if a == b else a - b for a, b in pairs])


def median_final(of_seeds: Mapping[int, Score]) -> float:
    """Return the median final regret."""
    return float(np.median([score.final for score in of_seeds.values()]))


def mean_area(of_seeds: Mapping[int, Score]) -> float:
    """Return the mean area."""
    return float(np.mean([score.area for score in of_seeds.values()]))
