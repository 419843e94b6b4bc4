"""Policies for objectives that change over time.

Some policies use static models and discard old values after an event, after a fixed
number of steps, or with a sliding window. Other policies keep all values but reduce the
influence of old ones, using kernels over time or decreasing weights.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Kernel

from skrobustbo._arguments import require
from skrobustbo._forms import Consistent, Count, Finite, NotNegative, Positive
from skrobustbo._trials import Survivor
from skrobustbo.acquisition import UCB
from skrobustbo.kernels import ForgettingKernel, SubsetKernel, WienerKernel, smoothness
from skrobustbo.policies._base import (
    Argmax,
    Array,
    CountTold,
    Horizon,
    Metadata,
    NoEstimate,
    Pending,
    PolicyState,
    Predicted,
    Proposal,
    Resumed,
    Setup,
    Told,
)
from skrobustbo.policies._beta import log_beta, rate_gain
from skrobustbo.policies._gp_ucb import GPUCB
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    length_scale_candidate,
    metadata_of,
    named,
)
from skrobustbo.policies._settings import PositiveInt, Share, settings
from skrobustbo.surrogate import Candidate, LogNormalPrior, Models, Posterior, Prior

#: Range of estimated output variances (0 to 20, excluding 0, in the paper).
_VARIANCE_BOUNDS = (0.01, 20.0)
#: Starting point of the first estimate.
_LENGTH_SCALE_START, _VARIANCE_START = 0.5, 1.0
#: T in the formulas for a variation budget, if there is no horizon.
_DEFAULT_HORIZON = 100


def _fits_hyperparameters(estimate: list[float], at: Resumed) -> bool:
    estimates = at.policy.hyperparameters is not None
    return estimates and len(estimate) > at.setup.n_parameters


#: Length scales of the columns, at least one per parameter, and a variance, if used.
_Estimate = Annotated[list[Positive], Consistent(_fits_hyperparameters)]


@dataclass
class ChangingState(PolicyState):
    """Run-time state of a policy for a changing objective.

    Attributes
    ----------
    horizon : int or None
        Number of planned evaluations.
    theta : float
        Factor that multiplies the length scales of the kernel.
    estimate : list of float
        The latest estimate for ``hyperparameters="map"``: one length scale per encoded
        column, followed by the output variance. Empty if there is no estimate.
    """

    horizon: Horizon
    theta: Positive
    estimate: NoEstimate | _Estimate = field(default_factory=list, kw_only=True)


@settings
class ChangingUCB(GPUCB):
    """Base class of the policies for changing objectives.

    By default, a point may be evaluated more than once, because its value may change.

    Parameters
    ----------
    hyperparameters : {"map"} or None, default=None
        If "map", the length scale of each parameter and the output variance, which is
        between 0.01 and 20, are estimated from the values in use before each query. The
        length scales of `kernel` are multiplied by the estimates. If None, the
        hyperparameters are fixed.
    prior : Prior, default=None
        Prior of each length scale for ``hyperparameters="map"``. If None, a log-normal
        prior with median 0.7 and sigma 1.5 is used. The output variance has a flat
        prior.
    c1, c2 : float, default=0.8, 4.0
        Constants of the schedule "log", where beta**2 is max(0, c1 ln(c2 t)).
    """

    state_type: ClassVar[type] = ChangingState
    seeks_maximum: ClassVar[bool] = False  # the objective is not fixed
    kept: ClassVar[Sequence[str]] = ("estimate",)

    repeats: bool = True
    beta: float | str = "log"
    hyperparameters: Literal["map"] | None = None
    prior: Prior | None = None
    c1: Positive = 0.8
    c2: Positive = 4.0

    def start(self, setup: Setup, models: Models) -> Any:
        theta = self.first_theta(setup, models)
        state = self.state_type(setup.n_parameters, setup.horizon, theta)  # line 1
        self._begin(state)
        return state

    def _begin(self, state: Any) -> None:
        """Set the initial values of further fields of the state."""

    def beta_of(self, posterior: Posterior, n_parameters: int, t: int) -> float:
        """Return beta at query `t`, using `c1` and `c2` for the schedule "log"."""
        if self.beta == "log":
            return log_beta(t, self.c1, self.c2)
        return super().beta_of(posterior, n_parameters, t)

    def candidate(self, state: Any) -> Candidate:
        """Return the model, using the latest estimate if there is one."""
        if not state.estimate:
            return super().candidate(state)
        *columns, variance = state.estimate
        kernel = ConstantKernel(variance) * self.base_kernel()
        model = length_scale_candidate(kernel, np.array(columns))
        return replace(model, label=f"{model.label},variance={variance:.3g}")

    def in_time(self, state: Any) -> Kernel | None:
        """Return the kernel over time, or None if the model is static."""
        return None

    def current(self, state: Any, n_columns: int) -> Candidate:
        """Return the model, with time as an additional column if it is not static."""
        model, in_time = self.candidate(state), self.in_time(state)
        if in_time is None:
            return model
        kernel = SubsetKernel(model.kernel, tuple(range(n_columns))) * in_time
        (rate,) = in_time.hyperparameters
        label = f"{model.label},{rate.name}={getattr(in_time, rate.name):.3g}"
        return replace(model, kernel=kernel, label=label)

    def remembered(self, state: Any, models: Models) -> Models:
        """Return the surrogate models for the values in use."""
        if self.in_time(state) is not None:
            return models.timed()
        return models.since(self.oldest(state, models.n))

    def posterior(self, state: Any, models: Models) -> Posterior:
        """Return the posterior of the current objective."""
        model = self.current(state, models.X.shape[1])
        return self.remembered(state, models)[model]  # line 2

    def estimated(self, state: Any, models: Models) -> Any:
        """Return the state with updated estimates of the hyperparameters."""
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
        return [self.posterior(state, models)]

    def alive(self, state: Any) -> list[Survivor]:
        return named([self.current(state, 0)])

    def suggest(
        self, state: Any, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the point with the highest upper confidence bound."""
        state = self.estimated(state, models)
        posterior = self.posterior(state, models)
        t = state.t + len(pending) + 1  # line 2; line 1 if all values stay in the data
        beta = self.beta_of(posterior, state.n_parameters, t)
        x, _ = argmax(UCB(posterior, beta))  # line 3
        kept = {name: getattr(state, name) for name in self.kept}
        evidence = self._evidence(state, models, posterior, x)
        return x, metadata_of(models, posterior, x, **kept, **evidence)

    def _evidence(
        self, state: Any, models: Models, posterior: Posterior, x: Array
    ) -> Metadata:
        """Return additional metadata that `learn` needs for this query."""
        return {}

    def recommend(self, state: Any, models: Models, history: Told) -> Array:
        """Return the point to deploy for the current objective, in encoded form.

        Among the points with finite values in use, this is the point with the largest
        posterior mean. If there are none, all points with finite values are considered.
        """
        if state is None:
            return super().recommend(state, models, history)
        told = np.flatnonzero(np.isfinite(history.values))
        recent = told[told >= self.oldest(state, models.n)]
        X = models.X[recent if len(recent) else told]
        mu, _ = self.posterior(state, models).predict(X)
        return X[int(np.argmax(mu))]


# How long to use values ---------------------------------------------------------------


def block_length(epsilon: float, kernel: Kernel, d: int) -> float:
    """Return the block length 12 epsilon**-p for a rate of change epsilon.

    For RBF kernels, p = 1/4. For Matern kernels with nu > 2, p = 1/(4 - k), where k =
    d(d+1) / (2 nu + d(d+1)). These exponents are from Brunzema et al., Corollary 1,
    which specifies the length up to a constant factor. The factor is 12 for both
    kernels.
    """
    if epsilon == 0:
        return math.inf
    nu, pairs = smoothness(kernel), d * (d + 1)
    k = 0.0 if nu in (None, math.inf) else pairs / (2 * nu + pairs)
    return float(12 * epsilon ** (-1 / (4 - k)))


def check_block_length(policy: ChangingUCB, name: str, instead: str) -> None:
    """Raise a ValueError if `block_length` does not support the kernel."""
    nu = smoothness(policy.base_kernel())
    if nu is None or not nu > 2:
        raise ValueError(
            f"The '{name}' of {type(policy).__name__} gives a block length for RBF "
            "kernels and Matern kernels with nu > 2 only. Got the kernel "
            f"{policy.kernel!r} instead; pass {instead}."
        )


@settings
class BudgetedUCB(ChangingUCB):
    """Base class of policies for objectives with a known total variation.

    Parameters
    ----------
    budget : float, default=1.0
        Bound B_T on the total variation of the objective, in units of the model. T is
        the horizon, or 100 if there is no horizon.
    """

    #: Name of the setting that replaces the memory length.
    instead: ClassVar[str]

    budget: Positive = 1.0

    def check(self) -> None:
        super().check()
        known = smoothness(self.base_kernel()) is not None
        if getattr(self, self.instead) is None and not known:
            raise ValueError(
                f"The 'budget' of {type(self).__name__} gives a length of memory for "
                f"RBF and Matern kernels only. Got the kernel {self.kernel!r} instead; "
                f"pass '{self.instead}'."
            )

    def memory(self, state: ChangingState) -> float:
        """Return the memory length H = gamma_T**(1/4) sqrt(T / B_T).

        Here, gamma_T is the growth rate of the information gain, limited to T/2 ln(1 +
        noise**-2).
        """
        kernel, d = self.candidate(state).kernel, state.n_parameters
        T = state.horizon or _DEFAULT_HORIZON
        theta = np.log(np.asarray(getattr(kernel, "length_scale", 1.0))).mean()
        nu = smoothness(kernel) or math.inf
        # Uses logarithms, because theta**-d may overflow.
        rate = math.log(max(rate_gain(T, 1.0, d, nu), 1.0)) - d * float(theta)
        most = math.log(T / 2 * math.log1p(self.noise**-2))
        return math.exp(min(rate, most) / 4) * math.sqrt(T / self.budget)


# Forget at once -----------------------------------------------------------------------


@dataclass
class ResetState(ChangingState):
    """Run-time state of policies that reset their data.

    Attributes
    ----------
    step : int
        Number t' of the next query to be told, counted from 1 after each reset.
    first : int
        History index of the oldest value in use.
    n_resets : int
        Number of resets so far.
    low : int
        Smallest value N_low of t' at which an event can trigger a reset.
    up : int or None
        Value N_up of t' at which a reset always takes place, or None.
    """

    step: Annotated[Count, lambda step: step > 0] = 1
    first: CountTold = 0
    n_resets: Count = 0
    low: Count = 1
    up: Count | None = None


@settings
class ResettingUCB(ChangingUCB):
    """Base class of policies that discard all data except the last value on a reset."""

    state_type: ClassVar[type] = ResetState

    def _begin(self, state: ResetState) -> None:
        state.low, state.up = self._window(state)
        # A reset at the end of the run has no effect.
        if state.horizon is not None and (state.up or 0) >= state.horizon:
            state.up = None

    def _window(self, state: ResetState) -> tuple[int, int | None]:
        """Return N_low and N_up, the limits of the reset window."""
        raise NotImplementedError

    def oldest(self, state: ResetState, n: int) -> int:
        return state.first

    def learn(self, state: ResetState, metadata: Metadata, history: Told) -> bool:
        """Add the last value to the data, or reset the data to this value."""
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
        """Return whether the last value contradicts the previous data."""
        return False


class _Evidence(Predicted):
    """Metadata that the trigger of `ETGPUCB` needs."""

    deviation: float
    unit: float
    block: Count


@settings
class ETGPUCB(ResettingUCB, name="et-gp-ucb"):
    """Event-triggered GP-UCB (Brunzema et al., Algorithm 1 with Lemma 3).

    The policy assumes that the objective is static until a value contradicts the model.
    It then discards all data except this value. The rate of change does not need to be
    known.

    Pseudo-code (D: data in use; t': queries since the last reset, including this one)::

        1  D = the initial points; t' = 1
        2  for t = 1, 2, ...
        3      x_t = argmax over x of mu_D(x) + beta_t sigma_D(x)
        4      y_t = f_t(x_t) + noise
        5      if (event and N_low <= t' <= N_up) or t' = N_up
        6          D = {(x_t, y_t)}; t' = 1
        7      else
        8          add (x_t, y_t) to D; t' = t' + 1
           where an event is defined by mu_D and sigma_D before y_t is added:
        9      rho = 2 ln(2 pi_t' / delta_b), with pi_t' = pi**2 t'**2 / 6
       10      w = noise sqrt(2 ln(2 pi_t' / delta_b)), at most noise_cap
       11      |y_t - mu_D(x_t)| > sqrt(rho) sigma_D(x_t) + w

    In beta_t, all queries are counted. Failed evaluations count as steps but are never
    events. The same applies to queries that were made before the last reset, because
    their predictions used data that have been discarded.

    Parameters
    ----------
    {kernel}
    delta_b : float or None, default=0.1
        Probability that an event occurs while the objective does not change. If None,
        the trigger is turned off, and resets take place only at t' = N_up.
    n_low, n_up : int, default=None
        Limits of the reset window. If None, they are computed from `epsilon_bounds`, if
        given. Otherwise, N_low is 1 and there is no N_up.
    epsilon_bounds : (float, float), default=None
        Smallest and largest rates of change per query, which determine N_up and N_low,
        respectively. Both limits are ceil(12 epsilon**(-1/4)), with a different
        exponent for Matern kernels (Corollary 1), and at most the horizon. If the
        smallest rate is 0, there is no N_up.
    noise_cap : float, default=None
        Upper limit of w, in units of the model. It keeps the trigger sensitive long
        after a reset.
    c1, c2 : float, default=0.8, 4.0
        Constants of the schedule "log", where beta**2 is max(0, c1 ln(c2 t)). The
        within-model comparisons in the paper use c1 = 0.4.
    normalize_y : bool or (float, float), default=True
        Whether to standardise the values for the model. A pair specifies a fixed mean
        and scale, which is required for the guarantee of `delta_b`.
    {inherited}

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

    metadata_type: ClassVar[type] = _Evidence

    delta_b: Share | None = 0.1
    n_low: PositiveInt | None = None
    n_up: PositiveInt | None = None
    epsilon_bounds: tuple[float, float] | None = None
    noise_cap: float | None = None

    def check(self) -> None:
        super().check()
        cap, rates = self.noise_cap, self.epsilon_bounds
        require(cap is None or cap > 0, self, "noise_cap", "positive or None")
        ordered = None in (self.n_low, self.n_up) or self.n_low <= self.n_up  # type: ignore[operator] # neither is None
        require(ordered, self, "n_up", f"at least n_low = {self.n_low}")
        if rates is not None:
            pair = len(rates) == 2 and 0 <= rates[0] <= rates[1] <= 1 and rates[1] > 0
            what = "a pair of rates, 0 <= least <= greatest <= 1, not both zero"
            require(pair, self, "epsilon_bounds", what)
            check_block_length(self, "epsilon_bounds", "'n_low' and 'n_up'")

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
    ) -> Metadata:
        deviation = posterior.told_deviation(x) * models.unit
        return {"deviation": deviation, "unit": models.unit, "block": state.n_resets}

    def _event(self, state: ResetState, metadata: Metadata, values: Array) -> bool:
        if metadata["block"] != state.n_resets or state.step < state.low:
            return False
        gap: float = abs(float(values[-1]) - metadata["mean"])  # nan if it failed
        return gap > self.threshold(state.step, metadata["deviation"], metadata["unit"])

    def threshold(self, step: int, deviation: float, unit: float) -> float:
        """Return the prediction error above which a value is considered an event.

        Parameters
        ----------
        step : int
            Number t' of the step since the last reset.
        deviation : float
            Standard deviation sigma_D(x_t), in units of the objective.
        unit : float
            Scale of the model's units at this step.

        Returns
        -------
        threshold : float
            Threshold in units of the objective, or infinity if the trigger is off.
        """
        if self.delta_b is None:
            return math.inf
        pi_t = math.pi**2 * step**2 / 6  # line 9
        root_rho = math.sqrt(2 * math.log(2 * pi_t / self.delta_b))  # line 9
        w = self.noise * root_rho  # line 10
        if self.noise_cap is not None:
            w = min(w, self.noise_cap)
        return root_rho * deviation + w * unit  # line 11


@settings
class RGPUCB(ResettingUCB, name="r-gp-ucb"):
    """GP-UCB with periodic resets (Bogunovic, Scarlett, Cevher 2016).

    This policy is called R-GP-UCB in the paper. See `BRGPUCB` for the variant by Zhou
    and Shroff.

    Pseudo-code (D: data in use; t': queries since the last reset, including this one)::

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
    {kernel}
    period : int, default=None
        Number N_const of queries between resets. If None, it is computed from
        `epsilon`.
    epsilon : float, default=0.03
        Rate of change per query. If `period` is None, N_const is ceil(12
        epsilon**(-1/4)), with a different exponent for Matern kernels. There are no
        resets if `epsilon` is 0 or if N_const is not smaller than the horizon.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import RGPUCB
    >>> RGPUCB(period=15)
    RGPUCB(period=15)
    """

    period: PositiveInt | None = None
    epsilon: float = 0.03

    def check(self) -> None:
        super().check()
        require(0 <= self.epsilon <= 1, self, "epsilon", "between 0 and 1")
        if self.period is None:
            check_block_length(self, "epsilon", "'period'")

    def _window(self, state: ResetState) -> tuple[int, int | None]:
        length = block_length(self.epsilon, self.base_kernel(), state.n_parameters)
        return 1, self.period or (None if math.isinf(length) else math.ceil(length))


@settings
class BRGPUCB(ResettingUCB, BudgetedUCB, name="br-gp-ucb"):
    """GP-UCB with periodic resets for a variation budget (Zhou and Shroff 2021).

    The authors call this policy R-GP-UCB. The budget B_T is a bound on the total
    variation of the objective over T queries, which is the sum of the norms of f_{t+1}
    - f_t in the function space of the kernel. The period

        H = ceil(gamma_T**(1/4) sqrt(T / B_T))

    balances the regret caused by resets, T gamma_T / sqrt(H), and the regret caused by
    outdated data, B_T sqrt(gamma_T) H**(3/2). Both terms are then equal to
    gamma_T**(7/8) B_T**(1/4) T**(3/4). Here, gamma_T is the growth rate of the
    information gain, limited to T/2 ln(1 + noise**-2).

    The resets, the budget and its norm agree with the abstract of the paper and with
    Brunzema et al., section 3. The order in T and B_T agrees with restarted linear
    bandits (Zhao et al. 2020, corrected version of 2021), because the bounds in the
    paper include the linear ones as a special case. The formulas in the paper were not
    available, so the power of gamma_T, which follows from the balance, and the constant
    factor of 1 are unverified.

    Pseudo-code (D: data in use; t': queries since the last reset, including this one)::

        1  D = the initial points; t' = 1
        2  for t = 1, 2, ...
        3      x_t = argmax over x of mu_D(x) + beta_t sigma_D(x)
        4      y_t = f_t(x_t) + noise
        5      if t' = H
        6          D = {(x_t, y_t)}; t' = 1
        7      else
        8          add (x_t, y_t) to D; t' = t' + 1

    As in all resetting policies of this package, D still contains the latest value
    after a reset.

    Parameters
    ----------
    {kernel}
    period : int, default=None
        Number H of queries between resets. If None, it is computed from `budget`.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import BRGPUCB
    >>> BRGPUCB(budget=4.0)
    BRGPUCB(budget=4.0)
    """

    instead = "period"

    period: PositiveInt | None = None

    def _window(self, state: ResetState) -> tuple[int, int | None]:
        return 1, self.period or math.ceil(self.memory(state))


@dataclass
class _WindowState(ChangingState):
    """Run-time state of `SWGPUCB`.

    Attributes
    ----------
    window : int
        Number W of values in use.
    """

    window: Count = 1


@settings
class SWGPUCB(BudgetedUCB, name="sw-gp-ucb"):
    """GP-UCB with a sliding window of the latest values (Zhou and Shroff 2021).

    By default, the length of the window equals the period H of `BRGPUCB`, so the
    maximum age of the values in use is the same in both policies. The comparison with
    the paper in `BRGPUCB` also applies here.

    Pseudo-code (D: data in use)::

        1  D = the initial points
        2  for t = 1, 2, ...
        3      x_t = argmax over x of mu_D(x) + beta_t sigma_D(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to D
        5      D = the latest W values of D

    Parameters
    ----------
    {kernel}
    window : int, default=None
        Number W of values in the window. If None, it is ceil(gamma_T**(1/4) sqrt(T /
        B_T)), which is the period of `BRGPUCB`.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import SWGPUCB
    >>> SWGPUCB(window=30)
    SWGPUCB(window=30)
    """

    state_type: ClassVar[type] = _WindowState
    instead = "window"

    window: PositiveInt | None = None

    def _begin(self, state: _WindowState) -> None:
        state.window = self.window or math.ceil(self.memory(state))

    def oldest(self, state: _WindowState, n: int) -> int:
        return max(0, n - state.window)  # line 5


# Forget gradually: kernels in time, and fading weights --------------------------------


#: Range of the rates of change in the likelihood search.
_EPSILON_BOUNDS = (1e-4, 0.5)
#: Rate before the first search.
_EPSILON_START = 0.03
#: W-GP-UCB omits values with less information than this, for a prior deviation of 1.
_NEGLIGIBLE = 1e-6


#: A rate within the policy's range.
_Rate = Annotated[Finite, Consistent(lambda rate, at: at.policy._is_rate(rate))]


@dataclass
class ForgettingState(ChangingState):
    """Run-time state of policies that gradually forget old values.

    Attributes
    ----------
    rate : float
        The current rate of change, or the discount factor of the weights.
    """

    rate: _Rate = 0.0


@settings
class ForgettingUCB(ChangingUCB):
    """Base class of policies that gradually forget old values."""

    state_type: ClassVar[type] = ForgettingState
    kept = ("estimate", "rate")

    information_gain: Literal["posterior"] = field(default="posterior", init=False)

    def _is_rate(self, rate: float) -> bool:
        """Return whether the policy allows a rate."""
        raise NotImplementedError


@settings
class TVGPUCB(ForgettingUCB, name="tv-gp-ucb"):
    """Time-varying GP-UCB (Bogunovic, Scarlett, Cevher 2016).

    The objective is modelled as a Markov chain, f_{t+1} = sqrt(1-epsilon) f_t +
    sqrt(epsilon) g_t, where the g_t are independent samples from a Gaussian process. At
    a given lag, the covariance of the objective is the covariance of the process times
    (1-epsilon)**(lag/2).

    Pseudo-code (k: kernel over space; i: index of a value, in the order told)::

        1  for t = 1, 2, ...
        2      mu, sigma = posterior at time t under k(x_i, x_j) (1-epsilon)**(|i-j|/2),
                   where epsilon is given or has the highest likelihood
        3      x_t = argmax over x of mu(x) + beta_t sigma(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to the data

    In line 2, the lag between value i and the current query is t - i. Equation (5) in
    Brunzema et al. has t + 1 - i, with data up to t - 1. All told values count as time
    steps, including those of the initial points.

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel over space, used without changes. If None, a Matern-5/2 kernel is fitted
        once to the initial design by maximum likelihood.
    epsilon : float or "mle", default=0.03
        Rate of change per step, in [0, 1). If "mle", the rate is estimated by maximum
        likelihood before each query. Brent's bounded method is applied to the logarithm
        of the rate. Each estimate is between 1e-4 and 0.5 and within a factor of e**2
        of the previous one. The initial rate is 0.03.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import TVGPUCB
    >>> TVGPUCB(epsilon="mle")
    TVGPUCB(epsilon='mle')
    """

    epsilon: float | Literal["mle"] = 0.03

    def check(self) -> None:
        super().check()
        known = isinstance(self.epsilon, str) or self._is_rate(self.epsilon)
        require(known, self, "epsilon", "in [0, 1) or 'mle'")

    def _is_rate(self, rate: float) -> bool:
        return 0 <= rate < 1

    def _begin(self, state: ForgettingState) -> None:
        mle = self.epsilon == "mle"
        state.rate = _EPSILON_START if mle else float(self.epsilon)

    def estimated(self, state: ForgettingState, models: Models) -> ForgettingState:
        """Return the state with updated estimates of the rate and hyperparameters."""
        if self.epsilon == "mle":
            n = models.X.shape[1]

            def model(epsilon: float) -> Candidate:
                return self.current(replace(state, rate=epsilon), n)

            rate = models.timed().fit_value(model, _EPSILON_BOUNDS, state.rate)
            state = replace(state, rate=rate)
        return super().estimated(state, models)

    def in_time(self, state: ForgettingState) -> Kernel:
        return ForgettingKernel(state.rate)


@settings
class UITVBO(ForgettingUCB, name="ui-tvbo"):
    """Uncertainty injection for changing objectives (Brunzema et al. 2022).

    Pseudo-code (k: kernel over space; i: index of a value, in the order told)::

        1  for t = 1, 2, ...
        2      mu, sigma = posterior at time t under k(x_i, x_j) (1 + v min(i, j))
        3      x_t = argmax over x of mu(x) + beta_t sigma(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to the data

    Here, v is the increase in the variance of a Wiener process per step. The variance
    is 1 at time 0, so the prior variance at time t is 1 + v t.

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel over space, used without changes. If None, a Matern-5/2 kernel is fitted
        once to the initial design by maximum likelihood.
    variance : float, default=0.03
        Increase v in the variance per step, called sigma_w**2 in the paper. If 0, the
        model does not change over time. In published comparisons, v equals the rate of
        change epsilon.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import UITVBO
    >>> UITVBO(variance=0.05)
    UITVBO(variance=0.05)
    """

    variance: NotNegative = 0.03

    def _is_rate(self, rate: float) -> bool:
        return 0 <= rate < math.inf

    def _begin(self, state: ForgettingState) -> None:
        state.rate = float(self.variance)

    def in_time(self, state: ForgettingState) -> Kernel:
        return WienerKernel(state.rate)


@settings
class WGPUCB(ForgettingUCB, BudgetedUCB, name="w-gp-ucb"):
    """Weighted GP-UCB, which gives more weight to recent values (Deng et al. 2022).

    The i-th value has the weight w_i = gamma**-i, and the regulariser after n values is
    noise**2 gamma**-n. Only their ratio matters, so the noise variance of the i-th
    value is noise**2 gamma**-(n-i). For the latest value, it is noise**2.

    Pseudo-code (k: kernel; n: number of told values)::

        1  for t = 1, 2, ...
        2      mu, sigma = posterior under k, value i with noise**2 gamma**-(n - i)
        3      x_t = argmax over x of mu(x) + beta_t sigma(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to the data

    Here, sigma is the standard deviation of the weighted model. Values with a noise
    variance above 10**6 are omitted, so the cost of each step is bounded.

    According to the abstract of the paper and Brunzema et al., section 3, the method is
    a weighted regression with the same budget as `BRGPUCB`. For a linear kernel, mu
    agrees with the authors' code for D-LinUCB (Russac, Vernade, Cappe 2019). In this
    case, sigma is sqrt(x' V**-1 x), up to a factor equal to the noise. D-LinUCB uses
    sqrt(x' V**-1 V2 V**-1 x) instead, where V2 contains the squared weights. This value
    is never larger. A public implementation of discounted GP-UCB uses the same sigma,
    but its regulariser is one step ahead, so the latest value has the noise variance
    noise**2 / gamma. The formulas in the paper were not available, so sigma and the
    discount are unverified. By default, the weights add up to about H + 1/2, as for a
    window of similar length.

    Parameters
    ----------
    {kernel}
    discount : float, default=None
        Discount factor gamma, in (0, 1]. If 1, old values are not discounted. If None,
        gamma is exp(-1/H), where H = gamma_T**(1/4) sqrt(T / B_T) is the period of
        `BRGPUCB` before rounding.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import WGPUCB
    >>> WGPUCB(discount=0.98)
    WGPUCB(discount=0.98)
    """

    instead = "discount"

    #: The likelihood of a weighted fit is different, and the paper does not use it.
    hyperparameters: None = field(default=None, init=False)
    prior: None = field(default=None, init=False)
    discount: float | None = None

    def check(self) -> None:
        super().check()
        known = self.discount is None or self._is_rate(self.discount)
        require(known, self, "discount", "in (0, 1] or None")

    def _is_rate(self, rate: float) -> bool:
        return 0 < rate <= 1

    def _begin(self, state: ForgettingState) -> None:
        if self.discount is not None:
            state.rate = float(self.discount)
        else:  # even with the shortest memory, the rate stays positive
            state.rate = max(math.exp(-1 / self.memory(state)), sys.float_info.min)

    def oldest(self, state: ForgettingState, n: int) -> int:
        """Return the index of the oldest value whose influence is not negligible."""
        if state.rate == 1:
            return 0
        faded = math.log(_NEGLIGIBLE * self.noise**2) / math.log(state.rate)
        return max(0, n - 1 - int(max(faded, 0)))

    def posterior(self, state: ForgettingState, models: Models) -> Posterior:
        view = models.since(self.oldest(state, models.n))
        weights = state.rate ** np.arange(view.n - 1.0, -1.0, -1.0)  # line 2
        return view.weighted(self.candidate(state), weights)
