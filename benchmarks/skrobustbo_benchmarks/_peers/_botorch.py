"""BoTorch: SingleTaskGP, fitted by likelihood at every step, under LogEI or UCB.

Points are rows of the package's own encoding: numbers on [0, 1], on a log scale where
the parameter is; ordered choices on one axis; unordered ones one-hot. The acquisition
is maximised over the box, and the maximiser rounded to the nearest feasible point.
Pools, and finite spaces of up to 4,096 points, are scored whole instead, without the
points that were evaluated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement, UpperConfidenceBound
from botorch.exceptions import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf, optimize_acqf_discrete
from gpytorch.mlls import ExactMarginalLogLikelihood
from numpy.typing import NDArray

from skrobustbo_benchmarks._methods import ExhaustedError, Params, Setup
from skrobustbo_benchmarks._peers._base import PeerMethod
from skrobustbo_benchmarks._starts import starts

#: Largest product of finite parameters that is scored point by point.
_MOST_SCORED = 4096
#: The package's own width of the band: mu + 1 sigma. BoTorch's beta is its square.
_BETA = 1.0
#: As in BoTorch's tutorials.
_RESTARTS, _RAW_SAMPLES = 10, 512


class BotorchMethod(PeerMethod):
    """The loop of BoTorch's first tutorial."""

    def __init__(self, name: str, setup: Setup, *, acquisition: str):
        super().__init__(name, setup)
        torch.manual_seed(setup.seed)
        self._acquisition = acquisition
        self._rows: list[NDArray[np.float64]] = []
        self._values: list[float] = []
        space = setup.space
        scored = hasattr(space, "points") or space.size <= _MOST_SCORED
        self._pool = space.enumerate() if scored else None

    def propose(self) -> Params:
        """Return the feasible point nearest to the maximiser of the acquisition."""
        space = self._setup.space
        if not self._values:  # every evaluation has failed
            return starts(space, self._n_told + 1, self._setup.seed)[-1]
        return space.decode(self._maximiser(self._of(self._fitted())))

    def learn(self, params: Params, value: float) -> None:
        """Keep the encoded point and its value."""
        self._rows.append(self._setup.space.encode(params))
        self._values.append(value)

    def _fitted(self) -> Any:
        X, y = _tensor(np.array(self._rows)), _tensor(np.array(self._values)[:, None])
        model = SingleTaskGP(X, y)
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except ModelFittingError:
            # No attempt converged: the point is chosen with what the model began with.
            model.eval()
        return model

    def _of(self, model: Any) -> Any:
        if self._acquisition == "ucb":
            return UpperConfidenceBound(model, beta=_BETA)
        return LogExpectedImprovement(model, best_f=max(self._values))

    def _maximiser(self, acquisition: Any) -> NDArray[np.float64]:
        if self._pool is not None:
            choices = _tensor(self._untried(self._pool))
            best, _ = optimize_acqf_discrete(acquisition, q=1, choices=choices)
        else:
            n_columns = self._setup.space.n_columns
            best, _ = optimize_acqf(
                acquisition,
                bounds=_tensor(np.array([[0.0] * n_columns, [1.0] * n_columns])),
                q=1,
                num_restarts=_RESTARTS,
                raw_samples=_RAW_SAMPLES,
            )
        return np.asarray(best).reshape(-1)

    def _untried(self, pool: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._setup.varies:  # a point may be worth another look
            return pool
        tried = {row.tobytes() for row in self._rows}
        rows = [row for row in pool if row.tobytes() not in tried]
        if not rows:
            raise ExhaustedError
        return np.array(rows)


def _tensor(array: NDArray[np.float64]) -> Any:
    return torch.as_tensor(array, dtype=torch.float64)
