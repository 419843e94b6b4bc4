"""What is measured of a run: numbers, and curves at a dozen of its steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Matern

from skrobustbo import problems
from skrobustbo.problems import Problem
from skrobustbo.surrogate import Candidate, FactorBank, Models, View

Array = NDArray[np.float64]

#: Edges of the histogram of length scales, in unit-cube coordinates.
THETA_EDGES = np.geomspace(0.005, 5.0, 25)
#: The share of the optimum's height above the mean of the first values that may be
#: missing where a run counts as having solved its problem.
SOLVED = 0.05
_N_KEPT = 12


@dataclass(frozen=True)
class Record:
    """A run, query by query.

    Parameters
    ----------
    problem : Problem
        What was maximised.
    regrets : ndarray of shape (n_queries,)
        Optimum at that query minus the value, without noise.
    first : ndarray of shape (n_initial,)
        The same of initial points that are no queries.
    thetas : ndarray of shape (n_queries,)
        Length scale of the model that asked (geometric mean over parameters), nan
        where its label tells none.
    resets : ndarray of shape (n_queries,)
        Whether the data were reset at the query.
    points : list of dict
        The queries.
    """

    problem: Problem
    regrets: Array
    first: Array
    thetas: Array
    resets: NDArray[np.bool_]
    points: list[dict[str, float]]


@dataclass(frozen=True)
class Measured:
    """Numbers and curves by their names."""

    numbers: dict[str, float]
    curves: dict[str, list[float]]


def kept_steps(n: int) -> NDArray[np.intp]:
    """Return the queries, from 1, at which curves are kept: the early ones closer.

    >>> kept_steps(50).tolist()
    [2, 4, 7, 10, 14, 18, 23, 28, 33, 39, 44, 50]
    """
    share = (np.arange(1, _N_KEPT + 1) / _N_KEPT) ** 1.5
    return np.unique(np.ceil(n * share - 1e-9).astype(np.intp))


def measured(
    record: Record, measures: tuple[str, ...], keeps: tuple[str, ...] = ()
) -> Measured:
    """Return what is measured of a run: its regret, and what else is asked for.

    Of all that, `keeps` names the numbers to be kept without any curves; () is all.
    """
    parts = [_regret(record), *(_MEASURES[name](record) for name in measures)]
    numbers = {name: value for part in parts for name, value in part.numbers.items()}
    if keeps:
        return Measured({name: numbers[name] for name in keeps}, {})
    curves = {name: value for part in parts for name, value in part.curves.items()}
    return Measured(numbers, curves)


def _regret(record: Record) -> Measured:
    regrets, n = record.regrets, len(record.regrets)
    cumulative = np.cumsum(regrets)
    so_far = np.minimum.accumulate([record.first.min(initial=np.inf), *regrets])[1:]
    at = kept_steps(n) - 1
    numbers = {
        "cumulative": cumulative[-1],
        "average": cumulative[-1] / n,
        "early": cumulative[max(0, round(0.4 * n) - 1)],
        "late": regrets[-max(1, n // 4) :].mean(),
        "simple": so_far[-1],
    }
    curves = {"cumulative": cumulative[at].tolist()}
    if not record.problem.varies:
        curves["simple"] = so_far[at].tolist()
    return Measured({name: float(value) for name, value in numbers.items()}, curves)


def _found(record: Record) -> Measured:
    """Measure whether the problem's trap was left."""
    problem = record.problem
    assert problem.optimum is not None
    assert problem.stuck_below is not None
    found = _least(record) <= problem.optimum - problem.stuck_below
    return Measured({"found": float(found)}, {})


def _least(record: Record) -> float:
    return float(min(record.regrets.min(), record.first.min(initial=np.inf)))


def _solved(record: Record) -> Measured:
    """Measure whether the run came close to the maximum."""
    close = _least(record) <= SOLVED * record.first.mean()
    return Measured({"solved": float(close)}, {})


def _resets(record: Record) -> Measured:
    at = kept_steps(len(record.resets)) - 1
    counts = np.cumsum(record.resets)
    return Measured({"resets": float(counts[-1])}, {"resets": counts[at].tolist()})


def _theta(record: Record) -> Measured:
    """Measure the length scales chosen: geometric mean of the run, and on the way."""
    at = kept_steps(len(record.thetas)) - 1
    typical = float(np.exp(np.log(record.thetas).mean()))
    late = float(record.thetas[-1])
    curves = {"theta": record.thetas[at].tolist()}
    return Measured({"theta": typical, "last_theta": late}, curves)


def _theta_choice(record: Record) -> Measured:
    """Measure how far the length scales chosen are from the best, and which."""
    low, high = best_thetas(record.problem.name)
    above, below = np.log(record.thetas / high), np.log(low / record.thetas)
    gap = np.maximum(0.0, np.maximum(above, below))
    counts, _ = np.histogram(record.thetas, THETA_EDGES)
    share = counts / len(record.thetas)
    return Measured({"gap": float(gap.mean())}, {"histogram": share.tolist()})


@cache
def best_thetas(problem: str) -> tuple[float, float]:
    """Return the range of length scales that suit a problem around its maximum.

    As the length-scale balancing paper estimates the best one: by the likelihood of the
    best 1% of 10,000 uniform points, values standardised, under an isotropic Matern-5/2
    kernel. The likelihood may be all but flat, so the range is that of a logarithm
    within 2 of the highest, cut to [0.005, 20].
    """
    X, z = best_points(problem)
    models = Models(FactorBank(0.01), View(X, z))
    thetas = np.geomspace(0.005, 20.0, 241)
    fit = np.array(
        [
            models.at(Candidate(Matern(theta, nu=2.5))).log_marginal_likelihood
            for theta in thetas
        ]
    )
    likely = thetas[fit >= fit.max() - 2.0]
    return float(likely[0]), float(likely[-1])


def best_points(problem: str) -> tuple[Array, Array]:
    """Return the best 1% of 10,000 uniform points, encoded, and their values' z."""
    made = problems.get(problem)
    X = np.random.default_rng(0).random((10_000, len(made.space.names)))
    y = np.array([made.func(params) for params in made.space.decode_many(X)])
    top = np.argsort(y)[-len(y) // 100 :]
    return X[top], (y[top] - y[top].mean()) / y[top].std()


def _places(record: Record) -> Measured:
    """Keep all queries of a problem of one parameter."""
    return Measured({}, {"x": [point["x"] for point in record.points]})


_MEASURES: dict[str, Callable[[Record], Measured]] = {
    "found": _found,
    "solved": _solved,
    "resets": _resets,
    "theta": _theta,
    "theta-choice": _theta_choice,
    "places": _places,
}
