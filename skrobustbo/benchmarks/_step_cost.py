"""``step-cost``: the time of one ask + tell, against a scikit-learn prediction.

Times differ from machine to machine; their ratio to a fixed piece of work, measured in
turns with them in the same process, hardly does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from skrobustbo.benchmarks._args import (
    CommandError,
    Subparsers,
    checked_names,
    positive_int,
)
from skrobustbo.benchmarks._threads import is_one_thread, one_thread_environment
from skrobustbo.space import Real, Space

if TYPE_CHECKING:
    from skrobustbo import Optimizer

#: Points of the prediction that is the yardstick.
N_PREDICTED = 512
#: Initial points of the optimizer: few, as it is the model's step that is timed.
N_INITIAL = 3
#: Smallest number of observations: the initial design and one step of the model.
N_MIN = N_INITIAL + 1


@dataclass(frozen=True)
class StepCost:
    """CPU times in milliseconds, one entry per repeat.

    Parameters
    ----------
    steps : ndarray of shape (repeats,)
        One ask and one tell.
    predictions : ndarray of shape (repeats,)
        One ``GaussianProcessRegressor.predict(X, return_std=True)`` of 512 points, on
        the data that the step before it has seen.
    """

    steps: NDArray[np.float64]
    predictions: NDArray[np.float64]

    @property
    def ratio_of_means(self) -> float:
        """Mean step over mean prediction."""
        return float(self.steps.mean() / self.predictions.mean())

    @property
    def ratio_of_medians(self) -> float:
        """Median step over median prediction."""
        return float(np.median(self.steps) / np.median(self.predictions))


def register(subparsers: Subparsers) -> None:
    """Add the sub-command."""
    parser = subparsers.add_parser(
        "step-cost",
        help="time one ask + tell against a scikit-learn prediction",
        description="Time successive ask + tell steps of the Optimizer (CPU time, one "
        f"thread), in turns with a scikit-learn prediction of {N_PREDICTED} points.",
    )
    for name, default, what in (
        ("--n", 100, "observations"),
        ("--dims", 5, "parameters"),
    ):
        parser.add_argument(
            name,
            nargs="+",
            type=positive_int,
            default=[default],
            metavar="N",
            help=f"numbers of {what} ({default})",
        )
    parser.add_argument("--policies", nargs="+", default=["robust"], metavar="NAME")
    parser.add_argument(
        "--repeats", type=positive_int, default=20, metavar="N", help="timed steps (20)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of data and optimizer (0)")
    parser.set_defaults(func=main)


def main(args: argparse.Namespace) -> int:
    """Print one table line per policy, number of observations and dimensions."""
    from skrobustbo import policies

    names = checked_names("policy", args.policies, policies.available())
    if min(args.n) < N_MIN:
        raise CommandError(f"--n must be at least {N_MIN}. Got {min(args.n)}.")
    if not is_one_thread():
        # The libraries read the limit when they are loaded: too late for this process.
        program = [sys.executable, "-m", "skrobustbo.benchmarks", *args.argv]
        return subprocess.run(program, env=one_thread_environment()).returncode
    _print_row(*_HEADER)
    _print_row(*("---:" for _ in _HEADER))
    for policy in names:
        for d in args.dims:
            for n in args.n:
                cost = measure(policy, n, d, repeats=args.repeats, seed=args.seed)
                _print_row(policy, n, d, *_figures(cost))
    return 0


_HEADER = (
    "policy",
    "observations",
    "dimensions",
    "step ms, mean",
    "step ms, median",
    f"predict {N_PREDICTED} ms, mean",
    f"predict {N_PREDICTED} ms, median",
    "ratio of means",
    "ratio of medians",
)


def _figures(cost: StepCost) -> list[str]:
    figures = (
        cost.steps.mean(),
        np.median(cost.steps),
        cost.predictions.mean(),
        np.median(cost.predictions),
        cost.ratio_of_means,
        cost.ratio_of_medians,
    )
    return [format(figure, ".2f") for figure in figures]


def _print_row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def measure(policy: str, n: int, d: int, *, repeats: int, seed: int) -> StepCost:
    """Return the times of `repeats` steps that begin at `n` observations.

    Parameters
    ----------
    policy : str
        Name of a policy.
    n, d : int
        Observations before the first timed step, and parameters.
    repeats : int
        Number of steps; each adds an observation.
    seed : int
        Seed of the data and of the optimizer.
    """
    rng = np.random.default_rng(seed)
    data = _Data(d, rng)
    optimizer = _warm_optimizer(policy, data, n, repeats, seed)
    Z = rng.uniform(size=(N_PREDICTED, d))
    steps, predictions = np.empty(repeats), np.empty(repeats)
    for i in range(repeats):
        yardstick = data.fitted_regressor()
        steps[i] = _step(optimizer, data)
        start = time.process_time()
        yardstick.predict(Z, return_std=True)
        predictions[i] = 1e3 * (time.process_time() - start)
    return StepCost(steps, predictions)


class _Data:
    """A smooth function on the cube, and where it has been observed."""

    def __init__(self, d: int, rng: np.random.Generator):
        self.names = [f"x{i}" for i in range(1, d + 1)]
        self.space = Space(dict.fromkeys(self.names, Real(0.0, 1.0)))
        self._rng = rng
        self._centre = rng.uniform(size=d)
        self._X: list[NDArray[np.float64]] = []
        self._y: list[float] = []

    def random_params(self) -> dict[str, Any]:
        """Return a point drawn uniformly."""
        return self.space.decode(self._rng.uniform(size=len(self.names)))

    def observe(self, params: dict[str, Any]) -> float:
        """Return the value at a point, and keep both."""
        x = np.array([params[name] for name in self.names])
        self._X.append(x)
        self._y.append(float(np.cos(4 * (x - self._centre)).sum() + x.prod()))
        return self._y[-1]

    def fitted_regressor(self) -> GaussianProcessRegressor:
        """Return the yardstick, ready to predict from all that was observed."""
        model = GaussianProcessRegressor(
            Matern(0.5, nu=2.5), alpha=1e-4, optimizer=None, normalize_y=True
        )
        return model.fit(np.array(self._X), np.array(self._y))


def _warm_optimizer(
    policy: str, data: _Data, n: int, repeats: int, seed: int
) -> Optimizer:
    """Return an optimizer with `n` observations, the last from its model."""
    from skrobustbo import Optimizer

    optimizer = Optimizer(
        data.space,
        policy,
        n_initial_points=N_INITIAL,
        horizon=n + repeats,
        random_state=seed,
    )
    for _ in range(N_INITIAL):
        _step(optimizer, data)
    for _ in range(n - N_MIN):
        params = data.random_params()
        optimizer.tell(params, data.observe(params))
    # The first fit to the points told at once is no step of a running search.
    _step(optimizer, data)
    _check_model_has_spoken(optimizer)
    return optimizer


def _check_model_has_spoken(optimizer: Optimizer) -> None:
    if optimizer.history_[-1]["model_label"] == "initial":
        raise CommandError(
            "The policy's model should choose the points by now, but the initial "
            "design still does: give a larger --n."
        )


def _step(optimizer: Optimizer, data: _Data) -> float:
    """Make one step; return the CPU milliseconds of its ask and its tell."""
    start = time.process_time()
    params: Any = optimizer.ask()
    asked = time.process_time() - start
    value = data.observe(params)
    start = time.process_time()
    optimizer.tell(params, value)
    return 1e3 * (asked + time.process_time() - start)
