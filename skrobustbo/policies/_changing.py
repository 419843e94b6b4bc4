"""What the policies for objectives f_t that change with the query t share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from skrobustbo._forms import Count, Positive
from skrobustbo.acquisition import UCB
from skrobustbo.policies._base import OneModelUCB, PolicyState
from skrobustbo.policies._beta import log_beta
from skrobustbo.policies._interface import Argmax, Array, Metadata, Setup, Told
from skrobustbo.policies._metadata import Predicted
from skrobustbo.policies._models import note
from skrobustbo.policies._settings import require_positive, settings
from skrobustbo.surrogate import Models, Posterior


@dataclass
class ChangingState(PolicyState):
    """Run-time state of a policy for an objective that changes.

    Attributes
    ----------
    horizon : int or None
        Evaluations planned.
    theta : float
        Factor on the kernel's length scales.
    """

    horizon: Count | None
    theta: Positive


@settings
class ChangingUCB(OneModelUCB):
    """What the policies for objectives that change in time share.

    A point may be asked again by default: its value may have changed.

    Parameters
    ----------
    c1, c2 : float, default=0.8, 4.0
        "log" is beta**2 = max(0, c1 ln(c2 t)).
    """

    state_type: ClassVar[type] = ChangingState
    metadata_type: ClassVar[type] = Predicted
    seeks_maximum: ClassVar[bool] = False  # of one objective: it changes

    repeats: bool = True
    beta: float | str = "log"
    c1: float = 0.8
    c2: float = 4.0

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        require_positive(self, "c1", "c2")

    def start(self, setup: Setup, models: Models) -> Any:
        """Fit the length scale once, unless the kernel was given."""
        self.check()
        theta = self.first_theta(setup, models)
        return self.state_type(setup.n_parameters, setup.horizon, theta)

    def width(self, state: ChangingState, posterior: Posterior, t: int) -> float:
        """Return beta at query `t`; the logarithmic schedule has its own constants."""
        if self.beta == "log":
            return log_beta(t, self.c1, self.c2)
        return self.beta_of(posterior, state.n_parameters, t)

    def posterior(self, state: Any, models: Models) -> Posterior:
        """Return what is believed of the objective at present.

        By default that is a static model, given what is remembered.
        """
        recent = models.since(self.oldest(state, models.n))
        return recent[self.candidate(state)]

    def posteriors(self, state: Any, models: Models) -> list[Posterior]:
        """Return the one that is believed at present."""
        return [self.posterior(state, models)]

    def suggest(
        self, state: Any, models: Models, argmax: Argmax, pending: Sequence[Metadata]
    ) -> tuple[Array, Metadata]:
        """Return the maximiser of the bound given what is remembered."""
        posterior = self.posterior(state, models)
        t = state.t + len(pending) + 1  # line 2; line 1 where data fade
        beta = self.width(state, posterior, t)
        x, _ = argmax(UCB(posterior, beta))  # line 3
        metadata = note(models, posterior, x)
        return x, {**metadata, **self._evidence(state, models, posterior, x)}

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
        x: Array = X[int(np.argmax(mu))]
        return x


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

    step: Count = 1
    first: Count = 0
    n_resets: Count = 0
    low: Count = 1
    up: Count | None = None


@settings
class ResettingUCB(ChangingUCB):
    """GP-UCB that forgets all data but the last value when it resets."""

    state_type: ClassVar[type] = ResetState

    def start(self, setup: Setup, models: Models) -> ResetState:
        """Fit the length scale and set the clock."""
        state: ResetState = super().start(setup, models)  # line 1
        state.low, state.up = self._window(state)
        # A reset at the end of the run changes nothing.
        if state.horizon is not None and (state.up or 0) >= state.horizon:
            state.up = None
        return state

    def _window(self, state: ResetState) -> tuple[int, int | None]:
        """Return N_low and N_up."""
        raise NotImplementedError

    def oldest(self, state: ResetState, n: int) -> int:
        """Return the index of the value of the last reset."""
        return state.first

    def learn(self, state: ResetState, metadata: Metadata, history: Told) -> bool:
        """Add the value to the data, or reset them to it."""
        state.t += 1
        values = history.values  # line 4
        reset = self._event(state, metadata, values) or state.step == state.up  # line 5
        if reset:
            state.first, state.step = len(values) - 1, 1  # line 6
            state.n_resets += 1
        else:  # line 7
            state.step += 1  # line 8
        return reset

    def consistent(
        self, state: ResetState, pending: Sequence[Metadata], setup: Setup, n_told: int
    ) -> bool:
        """Tell whether a state is one of this problem, its memory one of its values."""
        known = super().consistent(state, pending, setup, n_told)
        return known and state.first <= n_told and state.step > 0

    def _event(self, state: ResetState, metadata: Metadata, values: Array) -> bool:
        """Tell whether the last value contradicts the data before it."""
        return False
