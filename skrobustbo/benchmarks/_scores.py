"""Runs as numbers to be compared: one score per seed, smaller is better."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    groups: Mapping[GroupKey, Sequence[Run]], table: Iterable[Run] | None = None
) -> Scores:
    """Return the scores by task, method and seed.

    Parameters
    ----------
    groups : dict of GroupKey to list of Run
        The runs.
    table : iterable of Run, optional
        Runs that `groups` are a part of, all of them by default: where the optimum of
        a problem is not known, the largest value of any of them stands in for it.
    """
    all_runs = [run for runs in groups.values() for run in runs]
    stand_ins = _largest_values(all_runs if table is None else table)
    found: Scores = defaultdict(dict)
    for key, runs in groups.items():
        found[task_of(key)][key.policy] = {
            run[0].seed: score(run, stand_ins[key.problem]) for run in runs
        }
    return dict(found)


def _largest_values(runs: Iterable[Run]) -> dict[str, float]:
    """Return the largest value that was found on each problem, nan for none."""
    bests: dict[str, list[float]] = defaultdict(list)
    for run in runs:
        bests[run[0].problem].append(run[-1].best)
    return {problem: float(np.fmax.reduce(found)) for problem, found in bests.items()}


def score(run: Run, stand_in: float = math.nan) -> Score:
    """Return how a run went; nan where neither optimum nor `stand_in` is known."""
    regrets = simple_regrets(run, stand_in)
    after = padded(regrets, run[0].n_iter)[_first_of_model(run) :]
    return Score(float(regrets[-1]), float(after.mean()))


def padded(values: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Return the values, the last one repeated up to a length."""
    return np.append(values, np.repeat(values[-1], length - len(values)))


def simple_regrets(run: Run, stand_in: float = math.nan) -> NDArray[np.float64]:
    """Return the optimum minus the best value so far, shape (n_evals,).

    It is inf where there is an optimum, and no finite value yet.

    Parameters
    ----------
    run : list of Evaluation
        A run.
    stand_in : float, default=nan
        What takes the optimum's place where it is not known.
    """
    optima = np.array([row.optimum for row in run])
    known = np.where(np.isnan(optima), stand_in, optima)
    return np.asarray(known - best_values(run), dtype=float)


def best_values(run: Run) -> NDArray[np.float64]:
    """Return the best value so far, -inf before the first finite one."""
    bests = np.array([row.best for row in run])
    return np.where(np.isnan(bests), -math.inf, bests)


def percentiles(sample: NDArray[np.float64], q: Sequence[float]) -> NDArray[np.float64]:
    """Return percentiles over the first axis, also where values are infinite.

    Between two values of which one is infinite it is the larger: their mean would be
    no number.
    """
    with np.errstate(invalid="ignore"):
        between = np.percentile(sample, q, axis=0)
    larger = np.percentile(sample, q, axis=0, method="higher")
    return np.where(np.isnan(between), larger, between)


def model_seconds(run: Run) -> list[float]:
    """Return the CPU seconds of the steps after the initial design."""
    return [row.cpu_seconds for row in run[run[0].n_initial :]]


def _first_of_model(run: Run) -> int:
    """Return the index of the first evaluation whose regret is a method's own doing."""
    return min(run[0].n_initial, run[0].n_iter - 1)


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
