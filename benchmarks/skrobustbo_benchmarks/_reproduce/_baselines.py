"""Baselines of single experiments, which the package does not offer as policies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from skrobustbo.policies import (
    AGPUCB,
    ETGPUCB,
    LBGPUCB,
    Policy,
)
from skrobustbo.surrogate import FlatPrior, Models


class ETGPFromScratch(ETGPUCB):
    """ET-GP-UCB whose clock leaves no data, so that the next query is random.

    The package's keeps the value of the step at which it resets, as the pseudo-code of
    its paper does. An event keeps it here, too. Without events this is R-GP-UCB.
    """

    def learn(self, state: Any, metadata: dict[str, Any], history: Any) -> bool:
        """Count the query; forget its value, too, when the clock ends the block."""
        event = self._event(state, metadata, history.values)
        reset: bool = super().learn(state, metadata, history)
        if reset and not event:
            state.first = len(history.values)
        return reset

    def suggest(
        self, state: Any, models: Models, argmax: Any, pending: Sequence[Any]
    ) -> tuple[Any, dict[str, Any]]:
        """Return a random point where there are no data, else the best bound's."""
        if state.first < models.n:
            return super().suggest(state, models, argmax, pending)
        # Nothing is promised of a random query: it is of no block that events may end.
        return argmax.random(), {"label": "random", "block": -1, "estimate": []}


class ProgramLB(LBGPUCB):
    """LB-GP-UCB with what its authors' program has in place of the paper's formulas.

    The suspected regret is that of the RBF kernel with norm 1 whatever the kernel, the
    test adds the widths once, and theta0 is fitted from one start. The program's ladder
    is `ratio="code"` with six length scales.
    """

    def longest(self, setup: Any, models: Models) -> float:
        """Return theta0."""
        return _from_one_start(self, models)

    def suspected_regret(self, state: Any, i: int, n: int) -> float:
        """Return sqrt(n) (sqrt(gamma) + gamma), gamma the rate of the RBF kernel."""
        d = state.n_parameters
        gamma = self.theta(state, i) ** -d * math.log(n) ** (d + 1)
        return float(math.sqrt(n) * (math.sqrt(gamma) + gamma))

    def _slack(self, state: Any, i: int, finite: Any) -> float:
        return super()._slack(state, i, finite) / 2


class ProgramA(AGPUCB):
    """A-GP-UCB as the program of LB-GP-UCB's authors has it, with theta0 as there."""

    def start(self, setup: Any, models: Models) -> Any:
        """Return the state of a class that has not grown."""
        self.check()
        return self.state_type(setup.n_parameters, _from_one_start(self, models))


def _from_one_start(policy: Policy, models: Models) -> float:
    """Return the maximum of the likelihood of theta that is reached from ln 2.

    Between bounds the first step of the climb would go to one of them.
    """
    kernel, bounds = policy.base_kernel(), (1e-300, math.inf)
    return float(models.fit(kernel, FlatPrior(), bounds, [math.log(2)])[0])
