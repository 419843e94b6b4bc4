"""How long an objective that changes may be remembered, by its rate or its budget."""

from __future__ import annotations

import math

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._forms import Positive
from skrobustbo.kernels import smoothness
from skrobustbo.policies._beta import rate_gain
from skrobustbo.policies._changing import ChangingState, ChangingUCB
from skrobustbo.policies._settings import settings

#: T in the formulas of a variation budget, where no horizon is given.
_DEFAULT_HORIZON = 100


def block_length(epsilon: float, kernel: Kernel, d: int) -> float:
    """Return the block length 12 epsilon**-p for a rate of change epsilon.

    p = 1/4 for RBF kernels; p = 1/(4 - k), k = d(d+1) / (2 nu + d(d+1)), for Matern
    kernels with nu > 2 (Brunzema et al., Corollary 1, which gives the latter up to a
    factor: 12 is taken for both).
    """
    if epsilon == 0:
        return math.inf
    nu, pairs = smoothness(kernel), d * (d + 1)
    k = 0.0 if nu in (None, math.inf) else pairs / (2 * nu + pairs)
    return float(12 * epsilon ** (-1 / (4 - k)))


def check_block_length(policy: ChangingUCB, name: str, instead: str) -> None:
    """Raise a ValueError where `block_length` knows no exponent for the kernel."""
    nu = smoothness(policy.base_kernel())
    if nu is None or not nu > 2:
        raise ValueError(
            f"The '{name}' of {type(policy).__name__} gives a block length for RBF "
            "kernels and Matern kernels with nu > 2 only. Got the kernel "
            f"{policy.kernel!r} instead; pass {instead}."
        )


@settings
class BudgetedUCB(ChangingUCB):
    """What the policies share that know how much the objective varies in all.

    Parameters
    ----------
    budget : float, default=1.0
        B_T, in the units that the model sees. T is the horizon, 100 if there is none.
    """

    budget: Positive = 1.0

    def check_memory(self, instead: str) -> None:
        """Raise a ValueError unless the budget gives a memory, or a setting does."""
        if getattr(self, instead) is None and smoothness(self.base_kernel()) is None:
            raise ValueError(
                f"The 'budget' of {type(self).__name__} gives a length of memory for "
                f"RBF and Matern kernels only. Got the kernel {self.kernel!r} instead; "
                f"pass '{instead}'."
            )

    def memory(self, state: ChangingState) -> float:
        """Return H = gamma_T**(1/4) sqrt(T / B_T), the memory for the budget.

        gamma_T is the growth rate of the information gain, at most
        T/2 ln(1 + noise**-2).
        """
        kernel, d = self.candidate(state).kernel, state.n_parameters
        T = state.horizon or _DEFAULT_HORIZON
        theta = np.log(np.asarray(getattr(kernel, "length_scale", 1.0))).mean()
        nu = smoothness(kernel) or math.inf
        # In logarithms, as theta**-d may overflow.
        rate = math.log(max(rate_gain(T, 1.0, d, nu), 1.0)) - d * float(theta)
        most = math.log(T / 2 * math.log1p(self.noise**-2))
        return math.exp(min(rate, most) / 4) * math.sqrt(T / self.budget)
