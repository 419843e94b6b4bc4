"""Forgetting at once: resets by an event or a clock, and a sliding window.

The objective f_t changes with the query t. The models here are static; what is too old
to trust is left out of the data D.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.acquisition import UCB
from skrobustbo.kernels import smoothness
from skrobustbo.policies._base import (
    Argmax,
    Memo,
    Setup,
    Told,
    UCBPolicy,
    initial_length_scale,
    length_scale_candidate,
    note,
)
from skrobustbo.policies._beta import log_beta, rate_gain
from skrobustbo.surrogate import Candidate, Models, Posterior

Array = NDArray[np.float64]

#: T in the formulas of a variation budget, where no horizon is given.
_DEFAULT_HORIZON = 100


@dataclass
class ChangingState:
    """Run-time state of a policy for an objective that changes.

    Attributes
    ----------
    n_parameters : int
        Dimension d.
    horizon : int or None
        Evaluations planned.
    n_points : int or None
        Feasible points, None if there are infinitely many.
    theta : float
        Factor on the kernel's length scales.
    t : int
        Queries told so far.
    """

    n_parameters: int
    horizon: int | None
    n_points: int | None
    theta: float
    t: int = 0


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

    step: int = 1
    first: int = 0
    n_resets: int = 0
    low: int = 1
    up: int | None = None


@dataclass
class WindowState(ChangingState):
    """Run-time state of `SWGPUCB`.

    Attributes
    ----------
    window : int
        W: values remembered.
    """

    window: int = 1


class ChangingUCB(UCBPolicy):
    """What the policies for objectives that change in time share.

    A point may be asked again by default: its value may have changed.
    """

    state_type: ClassVar[type] = ChangingState

    repeats = True
    c1: float = 0.8
    c2: float = 4.0

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        for name in ("c1", "c2"):
            self._require(name, getattr(self, name) > 0, "positive")

    def _require(self, name: str, holds: bool, what: str) -> None:
        if not holds:
            raise ValueError(
                f"The '{name}' of {type(self).__name__} must be {what}. Got "
                f"{getattr(self, name)!r} instead."
            )

    def _require_rates(self, name: str, instead: str) -> None:
        nu = smoothness(self.base_kernel())
        if nu is None or not nu > 2:
            raise ValueError(
                f"The '{name}' of {type(self).__name__} gives a block length for RBF "
                "kernels and Matern kernels with nu > 2 only. Got the kernel "
                f"{self.kernel!r} instead; pass {instead}."
            )

    def _require_memory(self, budget: float, instead: str) -> None:
        self._require("budget", budget > 0, "positive")
        if getattr(self, instead) is None and smoothness(self.base_kernel()) is None:
            raise ValueError(
                f"The 'budget' of {type(self).__name__} gives a length of memory for "
                f"RBF and Matern kernels only. Got the kernel {self.kernel!r} instead; "
                f"pass '{instead}'."
            )

    def start(self, setup: Setup, models: Models) -> Any:
        """Fit the length scale once, unless the kernel was given."""
        self.check()
        theta = 1.0
        if self.kernel is None:
            theta = initial_length_scale(self.base_kernel(), setup, models)
        return self.state_type(setup.n_parameters, setup.horizon, setup.n_points, theta)

    def width(self, state: ChangingState, posterior: Posterior, t: int) -> float:
        """Return beta at query `t`; the logarithmic schedule has its own constants."""
        if self.beta == "log":
            return log_beta(t, self.c1, self.c2)
        return self.beta_of(posterior, state.n_parameters, t, n_points=state.n_points)

    def candidate(self, state: ChangingState) -> Candidate:
        """Return the static model."""
        if self.kernel is not None:
            return Candidate(self.kernel)
        return length_scale_candidate(self.base_kernel(), state.theta)

    def posterior(self, state: Any, models: Models) -> Posterior:
        """Return what is believed of the objective at present."""
        raise NotImplementedError

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

    def alive(self, state: Any) -> list[str]:
        """Return the label of the one model."""
        return [self.candidate(state).label]


def is_count(value: Any) -> bool:
    """Tell whether a setting is None or a positive integer."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value is None or (whole and value >= 1)


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


def memory_length(
    policy: ChangingUCB, state: ChangingState, budget: float, noise: float
) -> float:
    """Return H = gamma_T**(1/4) sqrt(T / B_T), the memory for a variation budget.

    gamma_T is the growth rate of the information gain, at most T/2 ln(1 + noise**-2).
    """
    kernel, d = policy.candidate(state).kernel, state.n_parameters
    T = state.horizon or _DEFAULT_HORIZON
    theta = np.log(np.asarray(getattr(kernel, "length_scale", 1.0))).mean()
    nu = smoothness(kernel) or math.inf
    # In logarithms, as theta**-d may overflow.
    rate = math.log(max(rate_gain(T, 1.0, d, nu), 1.0)) - d * float(theta)
    most = math.log(T / 2 * math.log1p(noise**-2))
    return math.exp(min(rate, most) / 4) * math.sqrt(T / budget)


class _StaticUCB(ChangingUCB):
    """GP-UCB on the data that are remembered."""

    def posterior(self, state: Any, models: Models) -> Posterior:
        """Return the static model's posterior given what is remembered."""
        recent = models.since(self.oldest(state, models.n))
        return recent[self.candidate(state)]

    def suggest(
        self, state: Any, models: Models, argmax: Argmax, pending: Sequence[Memo]
    ) -> tuple[Array, Memo]:
        """Return the maximiser of the bound given what is remembered."""
        posterior = self.posterior(state, models)
        t = state.t + len(pending) + 1  # line 2
        beta = self.width(state, posterior, t)
        x, _ = argmax(UCB(posterior, beta))  # line 3
        memo = note(models, posterior, x)
        return x, {**memo, **self._evidence(state, models, posterior, x)}

    def _evidence(
        self, state: Any, models: Models, posterior: Posterior, x: Array
    ) -> Memo:
        """Return what `learn` will need of this step, besides the prediction."""
        return {}


class _ResettingUCB(_StaticUCB):
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

    def learn(self, state: ResetState, memo: Memo, history: Told) -> bool:
        """Add the value to the data, or reset them to it."""
        state.t += 1
        values = history.values  # line 4
        reset = self._event(state, memo, values) or state.step == state.up  # line 5
        if reset:
            state.first, state.step = len(values) - 1, 1  # line 6
            state.n_resets += 1
        else:  # line 7
            state.step += 1  # line 8
        return reset

    def _event(self, state: ResetState, memo: Memo, values: Array) -> bool:
        """Tell whether the last value contradicts the data before it."""
        return False


class ETGPUCB(_ResettingUCB):
    """Event-triggered GP-UCB (Brunzema et al., Algorithm 1 with Lemma 3).

    The objective counts as static until a value contradicts the model; then all data
    but this value are forgotten. No rate of change needs to be known.

    Pseudo-code (D: data remembered; t': queries since the last reset, this one
    included)::

        1  D = the initial points; t' = 1
        2  for t = 1, 2, ...
        3      x_t = argmax over x of mu_D(x) + beta_t sigma_D(x)
        4      y_t = f_t(x_t) + noise
        5      if (event and N_low <= t' <= N_up) or t' = N_up
        6          D = {(x_t, y_t)}; t' = 1
        7      else
        8          add (x_t, y_t) to D; t' = t' + 1
           where the event is, with mu_D and sigma_D as they were before y_t,
        9      rho = 2 ln(2 pi_t' / delta_b), with pi_t' = pi**2 t'**2 / 6
       10      w = noise sqrt(2 ln(2 pi_t' / delta_b)), at most noise_cap
       11      |y_t - mu_D(x_t)| > sqrt(rho) sigma_D(x_t) + w

    beta_t keeps the count t of all queries. Failed evaluations are steps and no events.
    Nor is a value that was asked for before the last reset: it is a step, but its
    prediction speaks of data that are gone.

    Parameters
    ----------
    kernel : Kernel, default=None
        The model, used as it is. None: Matern-5/2 with the maximum likelihood length
        scale of the initial design, fitted once and then kept.
    delta_b : float or None, default=0.1
        Probability of an event, ever, while the objective does not change. None
        switches the trigger off: resets are then at t' = N_up.
    n_low, n_up : int, default=None
        The reset window. None: from `epsilon_bounds`, and without those 1 and never.
    epsilon_bounds : (float, float), default=None
        Least and greatest rate of change per query: N_up and N_low are
        ceil(12 epsilon**(-1/4)) of the least and of the greatest, for Matern kernels
        with another exponent (Corollary 1); at most the horizon, if there is one. A
        least rate of 0 sets no N_up.
    noise_cap : float, default=None
        Cap on w, in the units that the model sees, lest long blocks blunt the trigger.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default="log"
        Width of the band in deviations, or a schedule as in `GPUCB`.
    c1, c2 : float, default=0.8, 4
        "log" is beta**2 = max(0, c1 ln(c2 t)); the paper's within-model comparisons
        have c1 = 0.4.
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain.
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
        The promise of `delta_b` needs a fixed one.
    repeats : bool, default=True
        Whether a point told before may be asked again.

    References
    ----------
    P. Brunzema, A. von Rohr, F. Solowjow, S. Trimpe, "Event-triggered time-varying
    Bayesian optimization".

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skrobustbo.policies import ETGPUCB
    >>> ETGPUCB(RBF(0.2), epsilon_bounds=(0.01, 0.05))
    ETGPUCB(epsilon_bounds=(0.01, 0.05), kernel=RBF(length_scale=0.2))
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        delta_b: float | None = 0.1,
        n_low: int | None = None,
        n_up: int | None = None,
        epsilon_bounds: tuple[float, float] | None = None,
        noise_cap: float | None = None,
        noise: float = 0.01,
        beta: float | str = "log",
        c1: float = 0.8,
        c2: float = 4.0,
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = True,
    ) -> None:
        self.kernel = kernel
        self.delta_b = delta_b
        self.n_low = n_low
        self.n_up = n_up
        self.epsilon_bounds = epsilon_bounds
        self.noise_cap = noise_cap
        self.noise = noise
        self.beta = beta
        self.c1 = c1
        self.c2 = c2
        self.information_gain = information_gain
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        share, cap, rates = self.delta_b, self.noise_cap, self.epsilon_bounds
        self._require("delta_b", share is None or 0 < share < 1, "in (0, 1) or None")
        self._require("noise_cap", cap is None or cap > 0, "positive or None")
        for name in ("n_low", "n_up"):
            known = is_count(getattr(self, name))
            self._require(name, known, "a positive integer or None")
        ordered = None in (self.n_low, self.n_up) or self.n_low <= self.n_up  # type: ignore[operator] # neither is None
        self._require("n_up", ordered, f"at least n_low = {self.n_low}")
        if rates is not None:
            pair = len(rates) == 2 and 0 <= rates[0] <= rates[1] <= 1 and rates[1] > 0
            what = "a pair of rates, 0 <= least <= greatest <= 1, not both zero"
            self._require("epsilon_bounds", pair, what)
            self._require_rates("epsilon_bounds", "'n_low' and 'n_up'")

    def _window(self, state: ResetState) -> tuple[int, int | None]:
        low, up = 1.0, math.inf
        if self.epsilon_bounds is not None:
            kernel, d = self.base_kernel(), state.n_parameters
            up, low = (block_length(e, kernel, d) for e in self.epsilon_bounds)
        low = min(low, state.horizon or math.inf)
        n_up = None if math.isinf(up) else math.ceil(up)
        return self.n_low or math.ceil(low), self.n_up or n_up

    def _evidence(
        self, state: ResetState, models: Models, posterior: Posterior, x: Array
    ) -> Memo:
        deviation = posterior.told_deviation(x) * models.scale
        return {"deviation": deviation, "unit": models.scale, "block": state.n_resets}

    def _event(self, state: ResetState, memo: Memo, values: Array) -> bool:
        if memo["block"] != state.n_resets or state.step < state.low:
            return False
        gap: float = abs(float(values[-1]) - memo["mean"])  # nan after a failure
        return gap > self.threshold(state.step, memo["deviation"], memo["unit"])

    def threshold(self, step: int, deviation: float, unit: float) -> float:
        """Return what the prediction error must exceed to be an event.

        Parameters
        ----------
        step : int
            t', the step within the block.
        deviation : float
            sigma_D(x_t), in units of the objective.
        unit : float
            Scale of the model's units at that step.

        Returns
        -------
        threshold : float
            In units of the objective; infinite where the trigger is off.
        """
        if self.delta_b is None:
            return math.inf
        root_rho = math.sqrt(  # line 9
            2 * math.log(2 * math.pi**2 * step**2 / 6 / self.delta_b)
        )
        w = self.noise * root_rho  # line 10
        if self.noise_cap is not None:
            w = min(w, self.noise_cap)
        return root_rho * deviation + w * unit  # line 11


class RGPUCB(_ResettingUCB):
    """GP-UCB with periodic resets (Bogunovic, Scarlett, Cevher 2016).

    Called R-GP-UCB there; the variant of Zhou and Shroff is `BRGPUCB`.

    Pseudo-code (D: data remembered; t': queries since the last reset, this one
    included)::

        1  D = the initial points; t' = 1
        2  for t = 1, 2, ...
        3      x_t = argmax over x of mu_D(x) + beta_t sigma_D(x)
        4      y_t = f_t(x_t) + noise
        5      if t' = N_const
        6          D = {(x_t, y_t)}; t' = 1
        7      else
        8          add (x_t, y_t) to D; t' = t' + 1

    Parameters
    ----------
    kernel : Kernel, default=None
        The model, used as it is. None: Matern-5/2 with the maximum likelihood length
        scale of the initial design, fitted once and then kept.
    period : int, default=None
        N_const. None: from `epsilon`.
    epsilon : float, default=0.03
        Rate of change per query: N_const = ceil(12 epsilon**(-1/4)), for Matern kernels
        with another exponent; at most the horizon, if there is one. 0: never.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default="log"
        Width of the band in deviations, or a schedule as in `GPUCB`.
    c1, c2 : float, default=0.8, 4
        "log" is beta**2 = max(0, c1 ln(c2 t)).
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain.
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=True
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from skrobustbo.policies import RGPUCB
    >>> RGPUCB(period=15)
    RGPUCB(period=15)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        period: int | None = None,
        epsilon: float = 0.03,
        noise: float = 0.01,
        beta: float | str = "log",
        c1: float = 0.8,
        c2: float = 4.0,
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = True,
    ) -> None:
        self.kernel = kernel
        self.period = period
        self.epsilon = epsilon
        self.noise = noise
        self.beta = beta
        self.c1 = c1
        self.c2 = c2
        self.information_gain = information_gain
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        self._require("period", is_count(self.period), "a positive integer or None")
        self._require("epsilon", 0 <= self.epsilon <= 1, "between 0 and 1")
        if self.period is None:
            self._require_rates("epsilon", "'period'")

    def _window(self, state: ResetState) -> tuple[int, int | None]:
        length = block_length(self.epsilon, self.base_kernel(), state.n_parameters)
        return 1, self.period or (None if math.isinf(length) else math.ceil(length))


class BRGPUCB(_ResettingUCB):
    """GP-UCB with periodic resets for a variation budget (Zhou and Shroff 2021).

    Their name for it is R-GP-UCB. The budget B_T bounds the variation of the objective,
    the sum of the norms of f_{t+1} - f_t, over T queries. The period

        H = ceil(gamma_T**(1/4) sqrt(T / B_T))

    balances what is lost by learning anew, T gamma_T / sqrt(H), and by trusting old
    data, B_T sqrt(gamma_T) H**(3/2). gamma_T is the growth rate of the information
    gain, at most T/2 ln(1 + noise**-2). The order in T, B_T and gamma_T is the source's
    as others cite it; its constants have not been compared.

    Pseudo-code (D: data remembered; t': queries since the last reset, this one
    included)::

        1  D = the initial points; t' = 1
        2  for t = 1, 2, ...
        3      x_t = argmax over x of mu_D(x) + beta_t sigma_D(x)
        4      y_t = f_t(x_t) + noise
        5      if t' = H
        6          D = {(x_t, y_t)}; t' = 1
        7      else
        8          add (x_t, y_t) to D; t' = t' + 1

    As in all policies here, D keeps the value of the step at which it is reset.

    Parameters
    ----------
    kernel : Kernel, default=None
        The model, used as it is. None: Matern-5/2 with the maximum likelihood length
        scale of the initial design, fitted once and then kept.
    period : int, default=None
        H. None: from `budget`.
    budget : float, default=1.0
        B_T, in the units that the model sees. T is the horizon, 100 if there is none.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default="log"
        Width of the band in deviations, or a schedule as in `GPUCB`.
    c1, c2 : float, default=0.8, 4
        "log" is beta**2 = max(0, c1 ln(c2 t)).
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain.
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=True
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from skrobustbo.policies import BRGPUCB
    >>> BRGPUCB(budget=4.0)
    BRGPUCB(budget=4.0)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        period: int | None = None,
        budget: float = 1.0,
        noise: float = 0.01,
        beta: float | str = "log",
        c1: float = 0.8,
        c2: float = 4.0,
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = True,
    ) -> None:
        self.kernel = kernel
        self.period = period
        self.budget = budget
        self.noise = noise
        self.beta = beta
        self.c1 = c1
        self.c2 = c2
        self.information_gain = information_gain
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        self._require("period", is_count(self.period), "a positive integer or None")
        self._require_memory(self.budget, "period")

    def _window(self, state: ResetState) -> tuple[int, int | None]:
        if self.period is not None:
            return 1, self.period
        return 1, math.ceil(memory_length(self, state, self.budget, self.noise))


class SWGPUCB(_StaticUCB):
    """GP-UCB on a sliding window of the latest values (Zhou and Shroff 2021).

    Pseudo-code (D: data remembered)::

        1  D = the initial points
        2  for t = 1, 2, ...
        3      x_t = argmax over x of mu_D(x) + beta_t sigma_D(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to D
        5      D = the latest W of D

    Parameters
    ----------
    kernel : Kernel, default=None
        The model, used as it is. None: Matern-5/2 with the maximum likelihood length
        scale of the initial design, fitted once and then kept.
    window : int, default=None
        W. None: ceil(gamma_T**(1/4) sqrt(T / B_T)), the period of `BRGPUCB`.
    budget : float, default=1.0
        B_T, in the units that the model sees. T is the horizon, 100 if there is none.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default="log"
        Width of the band in deviations, or a schedule as in `GPUCB`.
    c1, c2 : float, default=0.8, 4
        "log" is beta**2 = max(0, c1 ln(c2 t)).
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain.
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=True
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from skrobustbo.policies import SWGPUCB
    >>> SWGPUCB(window=30)
    SWGPUCB(window=30)
    """

    state_type: ClassVar[type] = WindowState

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        window: int | None = None,
        budget: float = 1.0,
        noise: float = 0.01,
        beta: float | str = "log",
        c1: float = 0.8,
        c2: float = 4.0,
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = True,
    ) -> None:
        self.kernel = kernel
        self.window = window
        self.budget = budget
        self.noise = noise
        self.beta = beta
        self.c1 = c1
        self.c2 = c2
        self.information_gain = information_gain
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        self._require("window", is_count(self.window), "a positive integer or None")
        self._require_memory(self.budget, "window")

    def start(self, setup: Setup, models: Models) -> WindowState:
        """Fit the length scale and set the window."""
        state: WindowState = super().start(setup, models)  # line 1
        state.window = self.window or math.ceil(
            memory_length(self, state, self.budget, self.noise)
        )
        return state

    def oldest(self, state: WindowState, n: int) -> int:
        """Return the index of the oldest value in the window."""
        return max(0, n - state.window)  # line 5

    def learn(self, state: WindowState, memo: Memo, history: Told) -> None:
        """Count the query: its value is in the history already."""
        state.t += 1  # line 4
