"""CMA-ES of the package ``cmaes``: an evolution strategy, no model.

It searches the package's own encoding, the unit cube, from the best point of the
initial design with a deviation of 0.3. What it draws is rounded to the nearest feasible
point.
"""

from __future__ import annotations

import numpy as np
from cmaes import CMA
from numpy.typing import NDArray

from skrobustbo_benchmarks._methods import Params, Setup
from skrobustbo_benchmarks._peers._base import PeerMethod

_SIGMA = 0.3


class CmaesMethod(PeerMethod):
    """The loop of the package's first example."""

    def __init__(self, name: str, setup: Setup):
        super().__init__(name, setup)
        self._best: tuple[float, NDArray[np.float64]] | None = None
        self._cma: CMA | None = None
        self._drawn: NDArray[np.float64] | None = None
        self._generation: list[tuple[NDArray[np.float64], float]] = []

    def propose(self) -> Params:
        """Return the next member of the generation."""
        self._cma = self._cma or self._begun()
        self._drawn = self._cma.ask()
        return self._setup.space.decode(self._drawn)

    def learn(self, params: Params, value: float) -> None:
        """Tell a generation when it is complete; the strategy minimises."""
        if self._cma is None or self._drawn is None:
            row = self._setup.space.encode(params)
            if self._best is None or value > self._best[0]:
                self._best = value, row
            return
        self._generation.append((self._drawn, -value))
        if len(self._generation) == self._cma.population_size:
            self._cma.tell(self._generation)
            self._generation = []

    def _begun(self) -> CMA:
        d = self._setup.space.n_columns
        mean = np.full(d, 0.5) if self._best is None else self._best[1]
        bounds = np.array([[0.0, 1.0]] * d)
        return CMA(mean=mean, sigma=_SIGMA, bounds=bounds, seed=self._setup.seed)
