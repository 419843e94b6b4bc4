"""What the policies for objectives f_t that change with the query t share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel

from skrobustbo._forms import Consistent, Count, Positive
from skrobustbo.acquisition import UCB
from skrobustbo.kernels import smoothness
from skrobustbo.policies._base import OneModelUCB, PolicyState
from skrobustbo.policies._beta import log_beta, rate_gain
from skrobustbo.policies._consistent import CountTold, Horizon, NoEstimate
from skrobustbo.policies._interface import (
    Argmax,
    Array,
    Metadata,
    Pending,
    Proposal,
    Setup,
    Told,
)
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    length_scale_candidate,
    metadata_of,
)
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, LogNormalPrior, Models, Posterior, Prior

#: Output variances that an estimate may return (the paper's 0 to 20, but for 0).
_VARIANCE_BOUNDS = (0.01, 20.0)
#: Where the first estimate begins.
_LENGTH_SCALE_START, _VARIANCE_START = 0.5, 1.0
#: T in the formulas of a variation budget, where no horizon is given.
_DEFAULT_HORIZON = 100


#: Length scales of the columns, at least one a parameter, and a variance, where used.
_Estimate = Annotated[
    list[Positive],
    Consistent(
        lambda estimate, at: (
            at.policy.hyperparameters is not None
            and len(estimate) > at.setup.n_parameters
        )
    ),
]


@dataclass
class ChangingState(PolicyState):
    """Run-time state of a policy for an objective that changes.

    Attributes
    ----------
    horizon : int or None
        Evaluations planned.
    theta : float
        Factor on the kernel's length scales.
    estimate : list of float
        With ``hyperparameters="map"`` the latest length scales, one for each encoded
        column, and the output variance; empty at first, and without.
    """

    horizon: Horizon
    theta: Positive
    estimate: NoEstimate | _Estimate = field(default_factory=list, kw_only=True)


@settings
class ChangingUCB(OneModelUCB):
    """What the policies for objectives that change in time share.

    A point may be asked again by default: its value may have changed.

    Parameters
    ----------
    hyperparameters : {"map"} or None, default=None
        "map": the length scale of each parameter and the output variance of the model,
        from 0.01 to 20, are estimated again before each query, by highest posterior
        given the values remembered; `kernel` is then the one at length scale 1. None:
        they are kept.
    prior : Prior, default=None
        With "map" the prior of each length scale; log-normal with median 0.7 and sigma
        1.5 if None. The variance has a flat one.
    c1, c2 : float, default=0.8, 4.0
        "log" is beta**2 = max(0, c1 ln(c2 t)).
    """

    state_type: ClassVar[type] = ChangingState
    seeks_maximum: ClassVar[bool] = False  # of one objective: it changes
    kept: ClassVar[Sequence[str]] = ("estimate",)

    repeats: bool = True
    beta: float | str = "log"
    hyperparameters: Literal["map"] | None = None
    prior: Prior | None = None
    c1: Positive = 0.8
    c2: Positive = 4.0

    def start(self, setup: Setup, models: Models) -> Any:
        """Fit the length scale once, unless the kernel was given."""
        theta = self.first_theta(setup, models)
        state = self.state_type(setup.n_parameters, setup.horizon, theta)  # line 1
        return replace(state, **self._begun(state))

    def _begun(self, state: Any) -> dict[str, Any]:
        """Return what else a state begins with, by field."""
        return {}

    def width(self, state: ChangingState, posterior: Posterior, t: int) -> float:
        """Return beta at query `t`; the logarithmic schedule has its own constants."""
        if self.beta == "log":
            return log_beta(t, self.c1, self.c2)
        return self.beta_of(posterior, state.n_parameters, t)

    def candidate(self, state: Any) -> Candidate:
        """Return the model, that of the latest estimate where there is one."""
        if not state.estimate:
            return super().candidate(state)
        *columns, variance = state.estimate
        kernel = ConstantKernel(variance) * self.base_kernel()
        model = length_scale_candidate(kernel, np.array(columns))
        return replace(model, label=f"{model.label},variance={variance:.3g}")

    def remembered(self, state: Any, models: Models) -> Models:
        """Return the models of the values remembered, by default static ones."""
        return models.since(self.oldest(state, models.n))

    def posterior(self, state: Any, models: Models) -> Posterior:
        """Return what is believed of the objective at present."""
        return self.remembered(state, models)[self.candidate(state)]

    def in_time(self, state: Any) -> Kernel | None:
        """Return the kernel in time that multiplies the one in space, if any."""
        return None

    def estimated(self, state: Any, models: Models) -> Any:
        """Return the state with the hyperparameters of highest posterior."""
        if self.hyperparameters is None:
            return state
        groups = models.groups
        *columns, variance = state.estimate or [_VARIANCE_START]
        theta = np.array(
            [columns[g[0]] if columns else _LENGTH_SCALE_START for g in groups]
        )
        theta, variance = self.remembered(state, models).fit_with_variance(
            self.base_kernel(),
            LogNormalPrior() if self.prior is None else self.prior,
            (LENGTH_SCALE_BOUNDS, _VARIANCE_BOUNDS),
            (theta, variance),
            self.in_time(state),
        )
        return replace(state, estimate=[*models.spread(theta).tolist(), variance])

    def posteriors(self, state: Any, models: Models) -> list[Posterior]:
        """Return the one that is believed at present."""
        return [self.posterior(state, models)]

    def suggest(
        self, state: Any, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the maximiser of the bound given what is remembered."""
        state = self.estimated(state, models)
        posterior = self.posterior(state, models)
        t = state.t + len(pending) + 1  # line 2; line 1 where data fade
        beta = self.width(state, posterior, t)
        x, _ = argmax(UCB(posterior, beta))  # line 3
        kept = {name: getattr(state, name) for name in self.kept}
        evidence = self._evidence(state, models, posterior, x)
        return x, metadata_of(models, posterior, x, **kept, **evidence)

    def _evidence(
        self, state: Any, models: Models, posterior: Posterior, x: Array
    ) -> Metadata:
        """Return what `learn` will need of this step, besides the prediction."""
        return {}

    def recommend(self, state: Any, models: Models, history: Told) -> Array:
        """Return the point to deploy now, encoded.

        It is the one of best posterior mean at present among the points whose values
        are remembered and finite (all finite ones, where there is none of these).
        """
        if state is None:
            return super().recommend(state, models, history)
        told = np.flatnonzero(np.isfinite(history.values))
        recent = told[told >= self.oldest(state, models.n)]
        X = models.X[recent if len(recent) else told]
        mu, _ = self.posterior(state, models).predict(X)
        return X[int(np.argmax(mu))]


# How long to remember -----------------------------------------------------------------


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


# Forgetting at once -------------------------------------------------------------------


@dataclass
class ResetState(ChangingState):
    """Run-time state of a policy that resets its data.

    Attributes
    ----------
    step : int
        t': number of the next query told since the last reset, from 1.
    first : int
        Index into the history of the oldest value remembered.
    n_resets : int
        Resets so far.
    low : int
        N_low: least t' at which an event resets.
    up : int or None
        N_up: the t' at which the clock resets; None for never.
    """

    step: Annotated[Count, lambda step: step > 0] = 1
    first: CountTold = 0
    n_resets: Count = 0
    low: Count = 1
    up: Count | None = None


@settings
class ResettingUCB(ChangingUCB):
    """GP-UCB that forgets all data but the last value when it resets."""

    state_type: ClassVar[type] = ResetState

    def _begun(self, state: ResetState) -> dict[str, int | None]:
        """Set the clock."""
        low, up = self._window(state)
        # A reset at the end of the run changes nothing.
        if state.horizon is not None and (up or 0) >= state.horizon:
            up = None
        return {"low": low, "up": up}

    def _window(self, state: ResetState) -> tuple[int, int | None]:
        """Return N_low and N_up."""
        raise NotImplementedError

    def oldest(self, state: ResetState, n: int) -> int:
        """Return the index of the value of the last reset."""
        return state.first

    def learn(self, state: ResetState, metadata: Metadata, history: Told) -> bool:
        """Add the value to the data, or reset them to it."""
        super().learn(state, metadata, history)
        values = history.values  # line 4
        reset = self._event(state, metadata, values) or state.step == state.up  # line 5
        if reset:
            state.first, state.step = len(values) - 1, 1  # line 6
            state.n_resets += 1
        else:  # line 7
            state.step += 1  # line 8
        return reset

    def _event(self, state: ResetState, metadata: Metadata, values: Array) -> bool:
        """Return whether the last value contradicts the data before it."""
        return False
