"""One run of a case. Also the program that a child process runs, seed by seed."""

from __future__ import annotations

import math
import re
import sys
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from skrobustbo_benchmarks._methods import OptimizerMethod, Setup
from skrobustbo_benchmarks._pool import make_runs
from skrobustbo_benchmarks._record import RunKey
from skrobustbo_benchmarks._reproduce._measures import Queries, measured
from skrobustbo_benchmarks._reproduce._spec import Case, case_of
from skrobustbo_benchmarks._single import evaluate, optimum, trace_of
from skrobustbo_benchmarks._starts import starts
from skrobustbo_benchmarks.problems import Problem

#: What labels of models begin with that have one length scale, or one per parameter.
_LENGTH_SCALE = re.compile(
    r"(?:theta=|\w+\(length_scale=)[\[(]?([\d.e+-]+(?:, ?[\d.e+-]+)*)"
)
#: Sets the stream of the uniform initial points apart from other uses of a seed.
_INITIAL_STREAM = 0x3B


def run_one(case: Case, method: str, seed: int) -> pd.DataFrame:
    """Return the line of a run, which depends on its arguments only, times apart.

    All methods meet the same function, initial points and draws of noise.
    """
    problem, key = case.make_problem(seed), case.key(method, seed)
    initial = initial_points(case, problem, seed)
    setup = Setup(problem.space, initial, key.n_iter, seed, noise_std=problem.noise_std)
    searcher = OptimizerMethod(case.make_policy(method, problem), setup)
    steps = list(evaluate(problem, searcher, setup))
    trace = trace_of(key, problem, len(initial), steps, _optima(case, seed))
    run = queries(case, problem, trace, searcher.history)
    cpu_seconds = round(float(sum(trace["cpu_seconds"])), 3)
    found = {"cpu_seconds": cpu_seconds, **measured(run, case.measures)}
    return pd.DataFrame([{**key._asdict(), **found}])


def initial_points(case: Case, problem: Problem, seed: int) -> list[dict[str, Any]]:
    """Return the initial design of a seed: uniform draws, or the problem's own."""
    if not case.uniform:
        return problem.initial_params(seed, case.n_initial)
    space, rng = problem.space, np.random.default_rng([_INITIAL_STREAM, seed])
    if math.isinf(space.size):
        draws = rng.random((case.n_initial, space.n_uniform))
        return list(space.decode_many(space.from_uniform(draws)))
    points = starts(space, case.n_initial, int(rng.integers(2**31)))
    return list(points)


@lru_cache(maxsize=1)
def _optima(case: Case, seed: int) -> list[float]:
    """Return the optimum at each evaluation; the methods of a seed share it.

    Where it is not known, the best value known stands for it, or else zero.
    """
    problem = case.make_problem(seed)
    if problem.varies:
        return [optimum(problem, t) for t in range(1, case.n_iter + 1)]
    known = (problem.optimum, problem.best_known, 0.0)
    return [next(value for value in known if value is not None)] * case.n_iter


def queries(
    case: Case, problem: Problem, trace: pd.DataFrame, history: list[dict[str, Any]]
) -> Queries:
    """Return what measures are made of: a trace and the optimizer's records."""
    n_first = case.n_first
    regrets = np.array(trace["optimum"] - trace["value"])
    asked = history[n_first:]
    return Queries(
        problem=problem,
        regrets=regrets[n_first:],
        first=regrets[:n_first],
        thetas=np.array([theta_of(entry["model_label"]) for entry in asked]),
        resets=np.array([bool(entry["reset"]) for entry in asked]),
        points=[entry["params"] for entry in asked],
    )


def theta_of(label: str) -> float:
    """Return the length scale in a model's label, the geometric mean of several.

    >>> theta_of("theta=0.25"), theta_of("theta=(0.1,0.4)"), theta_of("random")
    (0.25, 0.2, nan)
    >>> theta_of("Matern(length_scale=0.5, nu=2.5)")
    0.5
    """
    found = _LENGTH_SCALE.match(label)
    if found is None:
        return math.nan
    values = [float(value) for value in found[1].split(",")]
    return float(np.exp(np.mean(np.log(values))))


def _run_of(key: RunKey) -> pd.DataFrame:
    return run_one(case_of(key.problem), key.policy, key.seed)


if __name__ == "__main__":
    make_runs(sys.argv[1:], _run_of)
