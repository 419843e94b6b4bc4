"""scikit-optimize: its Gaussian process, with the hedge (its default) or LCB."""

from __future__ import annotations

from typing import Any

from skopt import Optimizer
from skopt.space import Categorical, Integer, Real

from skrobustbo_benchmarks._methods import Params, Setup
from skrobustbo_benchmarks._peers._base import Axes, Axis, PeerMethod


class SkoptMethod(PeerMethod):
    """``skopt.Optimizer`` with its defaults, but for the acquisition.

    It minimises, hence the signs.
    """

    def __init__(self, name: str, setup: Setup, *, acq_func: str):
        super().__init__(name, setup)
        self._axes = Axes(setup.space)
        self._optimizer = Optimizer(
            [_dimension(axis) for axis in self._axes.varying],
            base_estimator="GP",
            acq_func=acq_func,
            n_initial_points=len(setup.initial),
            random_state=setup.seed,
        )

    def propose(self) -> Params:
        """Return the point asked of the optimizer."""
        return self._axes.from_list(self._optimizer.ask())

    def learn(self, params: Params, value: float) -> None:
        """Tell the optimizer."""
        numbers = self._axes.to_numbers(params)
        self._optimizer.tell(list(numbers.values()), -value)


def _dimension(axis: Axis) -> Any:
    if axis.kind == "choice":
        return Categorical(axis.numbers, name=axis.name)
    kind = Real if axis.kind == "real" else Integer
    prior = "log-uniform" if axis.log else "uniform"
    return kind(axis.low, axis.high, prior=prior, name=axis.name)
