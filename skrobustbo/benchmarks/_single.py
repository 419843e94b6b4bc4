"""One run: a problem, a method, a seed. Also the program that a child process runs."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from skrobustbo import problems
from skrobustbo.benchmarks._methods import ExhaustedError, Method, Setup, make_method
from skrobustbo.benchmarks._table import Evaluation, Run, RunKey, format_rows
from skrobustbo.problems import Problem

#: Sets the stream of the observation noise apart from other uses of a run's seed.
_NOISE_STREAM = 0x2E


@dataclass(frozen=True)
class Step:
    """What is measured at one evaluation."""

    value: float
    observed: float
    cpu_seconds: float
    label: str


def run_one(key: RunKey) -> Run:
    """Return the evaluations of a run, which depend on nothing but its key.

    All methods meet the same initial design and, evaluation by evaluation, the same
    draws of noise. Where the problem is a law of functions, the seed draws one.
    """
    problem = problems.get(key.problem)
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
    return _rows(key, problem, n_initial, steps)


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


def _rows(key: RunKey, problem: Problem, n_initial: int, steps: list[Step]) -> Run:
    # fmax ignores the nan of a failed evaluation where there is a finite value.
    bests: Iterable[float] = accumulate((step.value for step in steps), np.fmax)
    if problem.varies:  # what was best then is not what is good now
        bests = [step.value for step in steps]
    return [
        Evaluation(
            problem=key.problem,
            policy=key.policy,
            seed=key.seed,
            n_iter=key.n_iter,
            n_initial=n_initial,
            n_evals=len(steps),
            step=number,
            value=step.value,
            observed=step.observed,
            best=float(best),
            optimum=_optimum(problem, number),
            stuck_below=_or_nan(problem.stuck_below),
            cpu_seconds=step.cpu_seconds,
            model_label=step.label,
        )
        for number, (step, best) in enumerate(zip(steps, bests, strict=True), start=1)
    ]


def _optimum(problem: Problem, t: int) -> float:
    return _or_nan(problem.optimum_at(t) if problem.varies else problem.optimum)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def main(argv: list[str]) -> None:
    """Write the rows of a run: problem, n_iter, policy, seed and the file to write."""
    problem, n_iter, policy, seed, path = argv
    run = run_one(RunKey(problem, int(n_iter), policy, int(seed)))
    Path(path).write_text(format_rows(run), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
