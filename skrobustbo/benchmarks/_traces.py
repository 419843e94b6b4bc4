"""What happened in a run, evaluation by evaluation."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from skrobustbo.benchmarks._table import Run

Array = NDArray[np.float64]


def best_values(run: Run) -> Array:
    """Return the best value so far, -inf before the first finite one."""
    bests = np.array([row.best for row in run])
    return np.where(np.isnan(bests), -math.inf, bests)


def simple_regrets(run: Run) -> Array:
    """Return the optimum minus the best value so far, shape (n_evals,).

    It is inf before the first finite value, and nan where the optimum is not known.
    """
    optima = np.array([row.optimum for row in run])
    return np.asarray(optima - best_values(run), dtype=float)


def padded(values: Array, length: int) -> Array:
    """Return the values, the last one repeated up to a length."""
    return np.append(values, np.repeat(values[-1], length - len(values)))


def after_design(run: Run, values: Array) -> Array:
    """Return those values of a run's evaluations that are a method's own doing.

    They are those after the initial design, and the last one at least; a run that
    exhausted its space keeps its last value up to its end.
    """
    first = min(run[0].n_initial, run[0].n_iter - 1)
    return padded(values, run[0].n_iter)[first:]


def model_seconds(run: Run) -> list[float]:
    """Return the CPU seconds of the steps after the initial design."""
    return [row.cpu_seconds for row in run[run[0].n_initial :]]
