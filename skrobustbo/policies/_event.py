"""Forgetting at once: resets by an event or a clock, and a sliding window.

The models here are static; what is too old to trust is left out of the data D.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from skrobustbo._arguments import require
from skrobustbo._forms import Count
from skrobustbo.policies._changing import (
    BudgetedUCB,
    ChangingState,
    ResetState,
    ResettingUCB,
    block_length,
    check_block_length,
)
from skrobustbo.policies._interface import Array, Metadata, Predicted
from skrobustbo.policies._settings import PositiveInt, Share, settings
from skrobustbo.surrogate import Models, Posterior


class _Evidence(Predicted):
    """The metadata of `ETGPUCB`: what its trigger needs."""

    deviation: float
    unit: float
    block: Count


@settings
class ETGPUCB(ResettingUCB, name="et-gp-ucb"):
    """Event-triggered GP-UCB (Brunzema et al., Algorithm 1 with Lemma 3).

    The objective is assumed static until a value contradicts the model. Then all data
    except this value are forgotten. You do not need to know a rate of change.

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

    beta_t uses the number t of all queries. Failed evaluations count as steps but not
    as events. The same applies to a value that was asked for before the last reset,
    because its prediction was based on data that have been forgotten.

    Parameters
    ----------
    {kernel}
    delta_b : float or None, default=0.1
        Probability that an event ever occurs while the objective does not change. None
        turns the trigger off: resets are then at t' = N_up.
    n_low, n_up : int, default=None
        The reset window. None: from `epsilon_bounds`, or without those 1 and never.
    epsilon_bounds : (float, float), default=None
        Smallest and largest rate of change per query. N_up and N_low are
        ceil(12 epsilon**(-1/4)) of the smallest and the largest, with another exponent
        for Matern kernels (Corollary 1); at most the horizon, if there is one. If the
        smallest rate is 0, there is no N_up.
    noise_cap : float, default=None
        Cap on w, in the units that the model sees. It keeps the trigger sensitive in
        long blocks.
    c1, c2 : float, default=0.8, 4.0
        "log" is beta**2 = max(0, c1 ln(c2 t)); the paper's within-model comparisons
        use c1 = 0.4.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
        The guarantee of `delta_b` needs a fixed pair.
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
        """Raise a ValueError for settings out of range."""
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
        """Return the prediction error above which a value is an event.

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
            In units of the objective; infinite if the trigger is off.
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


@settings
class RGPUCB(ResettingUCB, name="r-gp-ucb"):
    """GP-UCB with periodic resets (Bogunovic, Scarlett, Cevher 2016).

    The paper calls it R-GP-UCB. The variant of Zhou and Shroff is `BRGPUCB`.

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
    {kernel}
    period : int, default=None
        N_const. None: from `epsilon`.
    epsilon : float, default=0.03
        Rate of change per query: N_const = ceil(12 epsilon**(-1/4)), with another
        exponent for Matern kernels; at most the horizon, if there is one. 0: never.
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
        """Raise a ValueError for settings out of range."""
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

    The authors call it R-GP-UCB. The budget B_T bounds the variation of the objective
    over T queries: the sum of the norms of f_{t+1} - f_t in the kernel's space. The
    period

        H = ceil(gamma_T**(1/4) sqrt(T / B_T))

    balances two losses: that of learning again, T gamma_T / sqrt(H), and that of using
    old data, B_T sqrt(gamma_T) H**(3/2). Both are then gamma_T**(7/8) B_T**(1/4)
    T**(3/4). gamma_T is the growth rate of the information gain, at most
    T/2 ln(1 + noise**-2).

    We checked the resets, the budget and its norm against the source's abstract and
    Brunzema et al., section 3. We checked the order in T and B_T against restarted
    linear bandits (Zhao et al. 2020, corrected version of 2021), because the source's
    bounds recover linear ones. The source's own formulas were not available. Two things
    are therefore not checked: the power of gamma_T, which follows from the balance, and
    the factor, which is 1 here.

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

    As in all policies of this package, D keeps the value of the step of the reset.

    Parameters
    ----------
    {kernel}
    period : int, default=None
        H. None: from `budget`.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import BRGPUCB
    >>> BRGPUCB(budget=4.0)
    BRGPUCB(budget=4.0)
    """

    period: PositiveInt | None = None

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        self.check_memory("period")

    def _window(self, state: ResetState) -> tuple[int, int | None]:
        return 1, self.period or math.ceil(self.memory(state))


@dataclass
class _WindowState(ChangingState):
    """Run-time state of `SWGPUCB`.

    Attributes
    ----------
    window : int
        W: values remembered.
    """

    window: Count = 1


@settings
class SWGPUCB(BudgetedUCB, name="sw-gp-ucb"):
    """GP-UCB on a sliding window of the latest values (Zhou and Shroff 2021).

    The window for a variation budget is as long as the period of `BRGPUCB`, because the
    oldest value in use is W queries old here and H queries old there. The notes there
    on the comparison with the source apply here as well.

    Pseudo-code (D: data remembered)::

        1  D = the initial points
        2  for t = 1, 2, ...
        3      x_t = argmax over x of mu_D(x) + beta_t sigma_D(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to D
        5      D = the latest W of D

    Parameters
    ----------
    {kernel}
    window : int, default=None
        W. None: ceil(gamma_T**(1/4) sqrt(T / B_T)), the period of `BRGPUCB`.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import SWGPUCB
    >>> SWGPUCB(window=30)
    SWGPUCB(window=30)
    """

    state_type: ClassVar[type] = _WindowState

    window: PositiveInt | None = None

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        self.check_memory("window")

    def _begun(self, state: _WindowState) -> dict[str, int]:
        return {"window": self.window or math.ceil(self.memory(state))}

    def oldest(self, state: _WindowState, n: int) -> int:
        """Return the index of the oldest value in the window."""
        return max(0, n - state.window)  # line 5
