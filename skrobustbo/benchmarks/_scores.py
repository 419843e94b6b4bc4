"""Runs as numbers to be compared: one score per seed, smaller is better."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._table import Run


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
        Mean simple regret over the evaluations after the initial design.
    """

    final: float
    area: float


def task_of(key: GroupKey) -> Task:
    """Return what the runs of a group are compared on."""
    return Task(key.problem, key.n_iter)


Scores = dict[Task, dict[str, dict[int, Score]]]


def scores(groups: Mapping[GroupKey, Sequence[Run]]) -> Scores:
    """Return the scores by task, method and seed.

    Where the optimum is not known, the largest value of any run of the task stands in
    for it.
    """
    tasks: dict[Task, dict[str, Sequence[Run]]] = defaultdict(dict)
    for key, runs in groups.items():
        tasks[task_of(key)][key.policy] = runs
    return {task: _scores_of(runs_of) for task, runs_of in tasks.items()}


def _scores_of(
    runs_of: Mapping[str, Sequence[Run]],
) -> dict[str, dict[int, Score]]:
    bests = [run[-1].best for runs in runs_of.values() for run in runs]
    stand_in = float(np.fmax.reduce(bests))
    return {
        method: {run[0].seed: _score(run, stand_in) for run in runs}
        for method, runs in runs_of.items()
    }


def _score(run: Run, stand_in: float) -> Score:
    regrets = simple_regrets(run, stand_in)
    worst = np.where(np.isnan(regrets), math.inf, regrets)
    return Score(float(worst[-1]), float(worst[_first_of_model(run) :].mean()))


def simple_regrets(run: Run, stand_in: float = math.nan) -> NDArray[np.float64]:
    """Return the optimum minus the best value so far, shape (n_evals,).

    Parameters
    ----------
    run : list of Evaluation
        A run.
    stand_in : float, default=nan
        What takes the optimum's place where it is not known.
    """
    optima = np.array([row.optimum for row in run])
    return np.where(np.isnan(optima), stand_in, optima) - [row.best for row in run]


def area(run: Run) -> float:
    """Return the mean simple regret after the initial design, nan without optimum."""
    return float(simple_regrets(run)[_first_of_model(run) :].mean())


def model_seconds(run: Run) -> list[float]:
    """Return the CPU seconds of the steps after the initial design."""
    return [row.cpu_seconds for row in run[run[0].n_initial :]]


def _first_of_model(run: Run) -> int:
    """Return the index of the first evaluation whose regret is a method's own doing."""
    return min(run[0].n_initial, len(run) - 1)


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
