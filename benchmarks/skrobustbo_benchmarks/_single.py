"""One run: a problem, a method, a seed. Also the program that a child process runs."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from skrobustbo_benchmarks._methods import ExhaustedError, Method, Setup, make_method
from skrobustbo_benchmarks._pool import make_runs
from skrobustbo_benchmarks._record import TRACE, RunKey
from skrobustbo_benchmarks._spelling import made_problem
from skrobustbo_benchmarks.problems import Problem

#: Sets the stream of the observation noise apart from other uses of a run's seed.
_NOISE_STREAM = 0x2E


@dataclass(frozen=True)
class Step:
    """What is measured at one evaluation."""

    value: float
    observed: float
    cpu_seconds: float
    label: str


def run_one(key: RunKey) -> pd.DataFrame:
    """Return the trace of a run, which depends on nothing but its key, times apart.

    All methods meet the same initial design and, evaluation by evaluation, the same
    draws of noise. Where the problem is a law of functions, the seed draws one.
    """
    problem = made_problem(key.problem)
    if problem.sample_function is not None:
        problem = problem.sample_function(key.seed)
    n_initial = initial_count(problem, key.n_iter)
    initial = problem.initial_params(key.seed, n_initial)
    setup = Setup(
        problem.space,
        initial,
        key.n_iter,
        key.seed,
        problem.candidates,
        problem.noise_std,
        problem.varies,
    )
    steps = list(evaluate(problem, make_method(key.policy, setup), setup))
    optima = [optimum(problem, t) for t in range(1, len(steps) + 1)]
    return trace_of(key, problem, n_initial, steps, optima)


def initial_count(problem: Problem, n_iter: int) -> int:
    """Return the size of a run's initial design.

    It is the problem's own where it has one, and otherwise the default of the
    optimizer: 2 d + 2 in d parameters, at most a third of the run, at least 3.
    """
    default = max(3, min(2 * len(problem.space.names) + 2, n_iter // 3))
    return min(problem.n_initial or default, n_iter)


def evaluate(problem: Problem, method: Method, setup: Setup) -> Iterator[Step]:
    """Yield what is measured at each evaluation; the noise depends on the seed only."""
    rng = np.random.default_rng([setup.seed, _NOISE_STREAM])
    for t in range(1, setup.n_iter + 1):
        start = time.process_time()
        try:
            params = method.ask()
        except ExhaustedError:
            return
        cpu_seconds = time.process_time() - start
        value = problem.value_at(params, t)
        observed = value + problem.noise_std * float(rng.standard_normal())
        start = time.process_time()
        method.tell(params, observed)
        cpu_seconds += time.process_time() - start
        yield Step(value, observed, cpu_seconds, method.label)


def trace_of(
    key: RunKey,
    problem: Problem,
    n_initial: int,
    steps: Sequence[Step],
    optima: Sequence[float],
) -> pd.DataFrame:
    """Return the trace of what was measured, beside the optimum at each step."""
    values = np.array([step.value for step in steps], dtype=float)
    trace = {
        **key._asdict(),
        "n_initial": n_initial,
        "n_evals": len(steps),
        "step": range(1, len(steps) + 1),
        "value": values,
        "observed": [step.observed for step in steps],
        # fmax ignores the nan of a failed evaluation where there is a finite value;
        # where optima move, what was best then is not what is good now.
        "best": values if problem.varies else np.fmax.accumulate(values),
        "optimum": optima[: len(steps)],
        "stuck_below": _or_nan(problem.stuck_below),
        "cpu_seconds": [step.cpu_seconds for step in steps],
        "model_label": [step.label for step in steps],
    }
    return pd.DataFrame(trace, columns=list(TRACE))


def optimum(problem: Problem, t: int) -> float:
    """Return a problem's optimum at a step, nan where it is not known."""
    return _or_nan(problem.optimum_at(t) if problem.varies else problem.optimum)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


if __name__ == "__main__":
    make_runs(sys.argv[1:], run_one)
