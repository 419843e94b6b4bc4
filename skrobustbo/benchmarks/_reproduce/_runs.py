"""One run of a case. Also the program that a child process runs, seed by seed."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._methods import OptimizerMethod, Setup
from skrobustbo.benchmarks._reproduce._ledger import (
    Run,
    written_curves,
    written_numbers,
)
from skrobustbo.benchmarks._reproduce._measures import Record, measured
from skrobustbo.benchmarks._reproduce._spec import Case
from skrobustbo.benchmarks._single import Step, evaluate
from skrobustbo.problems import Problem

Array = NDArray[np.float64]

#: What labels of models begin with that have one length scale, or one per parameter.
_LENGTH_SCALE = re.compile(
    r"(?:theta=|\w+\(length_scale=)[\[(]?([\d.e+-]+(?:, ?[\d.e+-]+)*)"
)
#: Sets the stream of the uniform initial points apart from other uses of a seed.
_INITIAL_STREAM = 0x3B


def run_one(case: Case, method: str, seed: int, quick: bool = False) -> Run:
    """Return a run, which depends on its arguments only, times apart.

    All methods meet the same function, initial points and draws of noise.
    """
    problem = case.make_problem(seed, quick)
    initial = initial_points(case, problem, seed)
    n = len(initial) + case.n_steps(quick)
    setup = Setup(problem.space, initial, n, seed, noise_std=problem.noise_std)
    searcher = OptimizerMethod(case.method(method).make(problem), setup)
    steps = list(evaluate(problem, searcher, setup))
    optima = _optima(case, seed, quick, n)[: len(steps)]
    record = _record(case, problem, searcher.history, steps, optima)
    found = measured(record, case.measures, case.keeps)
    return Run(
        method=method,
        seed=seed,
        steps=case.n_steps(quick),
        seconds=round(sum(step.cpu_seconds for step in steps), 3),
        numbers=written_numbers(found.numbers),
        curves=written_curves(found.curves),
    )


def initial_points(case: Case, problem: Problem, seed: int) -> list[dict[str, Any]]:
    """Return the initial design of a seed: uniform draws, or the problem's own."""
    if not case.uniform:
        return problem.initial_params(seed, case.n_initial)
    space, rng = problem.space, np.random.default_rng([_INITIAL_STREAM, seed])
    if math.isinf(space.size):
        draws = rng.random((case.n_initial, space.n_uniform))
        return list(space.decode_many(space.from_uniform(draws)))
    points = space.sample(case.n_initial, int(rng.integers(2**31)))
    return list(points)


@lru_cache(maxsize=1)
def _optima(case: Case, seed: int, quick: bool, n: int) -> Array:
    """Return the optimum at each evaluation; the methods of a seed share it.

    Where it is not known, the best value known stands for it, or else zero.
    """
    problem = case.make_problem(seed, quick)
    if problem.varies:
        return np.array([problem.optimum_at(t) for t in range(1, n + 1)], dtype=float)
    known = (problem.optimum, problem.best_known, 0.0)
    return np.full(n, next(value for value in known if value is not None))


def _record(
    case: Case,
    problem: Problem,
    history: Sequence[dict[str, Any]],
    steps: Sequence[Step],
    optima: Array,
) -> Record:
    n_first = 0 if case.counts_initial else case.n_initial
    regrets = optima - np.array([step.value for step in steps])
    return Record(
        problem=problem,
        regrets=regrets[n_first:],
        first=regrets[:n_first],
        thetas=np.array(
            [theta_of(entry["model_label"]) for entry in history[n_first:]]
        ),
        resets=np.array([bool(entry["reset"]) for entry in history[n_first:]]),
        points=[entry["params"] for entry in history[n_first:]],
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


def main(words: str) -> None:
    """Print runs, a JSON line each: those of a case, by seeds with their methods."""
    from skrobustbo.benchmarks._reproduce._registry import CASES

    case, quick, missing = json.loads(words)
    for seed, methods in missing:
        for method in methods:
            run = run_one(CASES[case], method, seed, quick)
            print(json.dumps(asdict(run)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
