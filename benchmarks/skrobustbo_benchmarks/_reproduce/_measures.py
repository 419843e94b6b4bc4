"""What is measured of a run: numbers, and curves at a dozen of its steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import Matern

from skrobustbo.surrogate import Candidate, FactorCache, Models, View
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks.problems import Problem

Array = NDArray[np.float64]

#: Edges of the histogram of length scales, in unit-cube coordinates.
THETA_EDGES = np.geomspace(0.005, 5.0, 25)
#: The share of the optimum's height above the mean of the first values that may be
#: missing where a run counts as having solved its problem.
SOLVED = 0.05
#: Length scales that suit a problem, as the program of the length-scale balancing paper
#: has them.
BEST_THETAS = {"michalewicz5": 0.0354}
_N_KEPT = 12


@dataclass(frozen=True)
class Queries:
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
    points: list[dict[str, Any]]

    @property
    def cumulative(self) -> Array:
        """Sum of the regrets so far."""
        return np.cumsum(self.regrets)

    @property
    def simple(self) -> Array:
        """Least regret so far, initial points included."""
        before = self.first.min(initial=np.inf)
        return np.minimum.accumulate([before, *self.regrets])[1:]

    @property
    def gap(self) -> float:
        """Mean distance of the length scales from the best, in logarithms."""
        best = BEST_THETAS[self.problem.name]
        return float(np.abs(np.log(self.thetas / best)).mean())

    @property
    def range_gap(self) -> float:
        """The same from the range of those that are about as likely as the best."""
        low, high = best_thetas(self.problem.name)
        above, below = np.log(self.thetas / high), np.log(low / self.thetas)
        return float(np.maximum(0.0, np.maximum(above, below)).mean())

    @property
    def blocks(self) -> NDArray[np.intp]:
        """Queries from one reset to the next; what is left at the end is none."""
        return np.diff(np.flatnonzero(self.resets), prepend=-1)

    @property
    def left_trap(self) -> bool:
        """Whether the problem's trap was left."""
        problem = self.problem
        assert problem.optimum is not None
        assert problem.stuck_below is not None
        return bool(self.simple[-1] <= problem.optimum - problem.stuck_below)


def kept_steps(n: int) -> NDArray[np.intp]:
    """Return the queries, from 1, at which curves are kept: the early ones closer.

    >>> kept_steps(50).tolist()
    [2, 4, 7, 10, 14, 18, 23, 28, 33, 39, 44, 50]
    """
    share = (np.arange(1, _N_KEPT + 1) / _N_KEPT) ** 1.5
    return np.unique(np.ceil(n * share - 1e-9).astype(np.intp))


def _kept(curve: NDArray[Any]) -> NDArray[Any]:
    return curve[kept_steps(len(curve)) - 1]


#: By their names the numbers that may be measured of a run.
_NUMBERS: dict[str, Callable[[Queries], float]] = {
    "cumulative": lambda run: run.cumulative[-1],
    "average": lambda run: run.cumulative[-1] / len(run.regrets),
    "early": lambda run: run.cumulative[max(0, round(0.4 * len(run.regrets)) - 1)],
    "late": lambda run: run.regrets[-max(1, len(run.regrets) // 4) :].mean(),
    "simple": lambda run: run.simple[-1],
    "found": lambda run: run.left_trap,
    "solved": lambda run: run.simple[-1] <= SOLVED * run.first.mean(),
    "resets": lambda run: run.resets.sum(),
    "block": lambda run: run.blocks.mean() if len(run.blocks) else math.nan,
    "block_sd": lambda run: run.blocks.std() if len(run.blocks) else math.nan,
    "theta": lambda run: np.exp(np.log(run.thetas).mean()),
    "last_theta": lambda run: run.thetas[-1],
    "gap": lambda run: run.gap,
    "range_gap": lambda run: run.range_gap,
}
#: And the curves.
CURVES: dict[str, Callable[[Queries], ArrayLike]] = {
    "cumulative_curve": lambda run: _kept(run.cumulative),
    "simple_curve": lambda run: _kept(run.simple),
    "resets_curve": lambda run: _kept(np.cumsum(run.resets)),
    "theta_curve": lambda run: _kept(run.thetas),
    # Shares of the length scales chosen.
    "histogram": lambda run: np.histogram(run.thetas, THETA_EDGES)[0] / len(run.thetas),
    # All queries of a problem of one parameter.
    "x": lambda run: [point["x"] for point in run.points],
}


def measured(run: Queries, names: tuple[str, ...]) -> dict[str, float | str]:
    """Return what is measured of a run: numbers of five digits, curves as text."""
    return {
        name: "|".join(f"{value:.3g}" for value in np.asarray(CURVES[name](run)))
        if name in CURVES
        else float(f"{_NUMBERS[name](run):.5g}")
        for name in names
    }


def curve(text: str) -> list[float]:
    """Return a curve that `measured` has written.

    >>> curve("1|0.25")
    [1.0, 0.25]
    """
    return [float(value) for value in text.split("|")]


@cache
def best_thetas(problem: str) -> tuple[float, float]:
    """Return the range of length scales that suit a problem around its maximum.

    As the length-scale balancing paper estimates the best one: by the likelihood of the
    best 1% of 10,000 uniform points, values standardised, under an isotropic Matern-5/2
    kernel. The likelihood may be all but flat, so the range is that of a logarithm
    within 2 of the highest, cut to [0.005, 20].
    """
    X, z = best_points(problem)
    models = Models(FactorCache(0.01), View(X, z))
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
