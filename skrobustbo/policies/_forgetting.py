"""Forgetting by degrees: kernels in time, and weights that fade.

All values stay in the data; what is old says less of the present.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._arguments import require
from skrobustbo._forms import Consistent, Finite, NotNegative
from skrobustbo._trials import Survivor
from skrobustbo.kernels import ForgettingKernel, SubsetKernel, WienerKernel
from skrobustbo.policies._changing import (
    BudgetedUCB,
    ChangingState,
    ChangingUCB,
)
from skrobustbo.policies._models import named
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, Models, Posterior

#: Rates of change that the likelihood search may return.
_EPSILON_BOUNDS = (1e-4, 0.5)
#: Rate before the first search.
_EPSILON_START = 0.03
#: W-GP-UCB leaves out values whose row tells less than this of a prior deviation of 1.
_NEGLIGIBLE = 1e-6


#: A rate in the range of the policy.
_Rate = Annotated[Finite, Consistent(lambda rate, at: at.policy._is_rate(rate))]


@dataclass
class ForgettingState(ChangingState):
    """Run-time state of a policy that forgets by degrees.

    Attributes
    ----------
    rate : float
        The rate of change in use, or the discount of the weights.
    """

    rate: _Rate = 0.0


@settings
class _TimedUCB(ChangingUCB):
    """GP-UCB with a product of a kernel in space and one in time.

    Parameters
    ----------
    kernel : Kernel, default=None
        The model in space, used as it is. None: Matern-5/2 with the maximum likelihood
        length scale of the initial design, fitted once and then kept.
    """

    state_type: ClassVar[type] = ForgettingState
    kept = ("estimate", "rate")
    #: What the rate is called.
    rate_name: ClassVar[str]

    information_gain: Literal["posterior"] = field(default="posterior", init=False)

    def remembered(self, state: ForgettingState, models: Models) -> Models:
        """Return the models over points and time, of all values."""
        return models.timed()

    def in_time(self, state: ForgettingState) -> Kernel:
        """Return the kernel in time."""
        raise NotImplementedError

    def posterior(self, state: ForgettingState, models: Models) -> Posterior:
        """Return what is believed of the objective at present."""
        model = self._over_time(state, models.X.shape[1])
        return self.remembered(state, models)[model]  # line 2

    def _over_time(self, state: ForgettingState, n_columns: int) -> Candidate:
        """Return the model over space and time; the time is the column after all."""
        space = self.candidate(state)
        kernel = SubsetKernel(space.kernel, tuple(range(n_columns)))
        label = f"{space.label},{self.rate_name}={state.rate:.3g}"
        return replace(space, kernel=kernel * self.in_time(state), label=label)

    def alive(self, state: Any) -> list[Survivor]:
        """Return the name of the one model."""
        return named([self._over_time(state, 0)])


@settings
class TVGPUCB(_TimedUCB, name="tv-gp-ucb"):
    """Time-varying GP-UCB (Bogunovic, Scarlett, Cevher 2016).

    The objective is a Markov chain, f_{t+1} = sqrt(1-epsilon) f_t + sqrt(epsilon) g_t,
    where the g_t are independent and drawn from the same Gaussian process. Its
    covariance over a lag is that of the process times (1-epsilon)**(lag/2).

    Pseudo-code (k: kernel in space; i: the number of a value, in the order told)::

        1  for t = 1, 2, ...
        2      mu, sigma = posterior at time t under k(x_i, x_j) (1-epsilon)**(|i-j|/2),
                   epsilon given or of the highest likelihood
        3      x_t = argmax over x of mu(x) + beta_t sigma(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to the data

    In line 2, the lag from value i to the present is t - i; (5) in Brunzema et al. has
    t + 1 - i with data up to t - 1. Times count the values told, including the initial
    points.

    Parameters
    ----------
    {kernel}
    epsilon : float or "mle", default=0.03
        Rate of change per step, in [0, 1). "mle": the maximum likelihood estimate
        before each query, by Brent's bounded search in its logarithm, between 1e-4 and
        0.5 and within a factor e**2 of the last estimate, starting at 0.03.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import TVGPUCB
    >>> TVGPUCB(epsilon="mle")
    TVGPUCB(epsilon='mle')
    """

    rate_name = "epsilon"

    epsilon: float | Literal["mle"] = 0.03

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        known = isinstance(self.epsilon, str) or self._is_rate(self.epsilon)
        require(known, self, "epsilon", "in [0, 1) or 'mle'")

    def _is_rate(self, rate: float) -> bool:
        return 0 <= rate < 1

    def _begun(self, state: ForgettingState) -> dict[str, float]:
        rate = _EPSILON_START if self.epsilon == "mle" else float(self.epsilon)
        return {"rate": rate}

    def estimated(self, state: ForgettingState, models: Models) -> ForgettingState:
        """Return the state with the rate, and hyperparameters, that are estimated."""
        if self.epsilon == "mle":
            rate = models.timed().fit_value(
                lambda epsilon: self._over_time(
                    replace(state, rate=epsilon), models.X.shape[1]
                ),
                _EPSILON_BOUNDS,
                state.rate,
            )
            state = replace(state, rate=rate)
        return super().estimated(state, models)

    def in_time(self, state: ForgettingState) -> Kernel:
        """Return the kernel in time."""
        return ForgettingKernel(state.rate)


@settings
class UITVBO(_TimedUCB, name="ui-tvbo"):
    """Uncertainty injection for changing objectives (Brunzema et al. 2022).

    Pseudo-code (k: kernel in space; i: the number of a value, in the order told)::

        1  for t = 1, 2, ...
        2      mu, sigma = posterior at time t under k(x_i, x_j) (1 + v min(i, j))
        3      x_t = argmax over x of mu(x) + beta_t sigma(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to the data

    v is the variance that a Wiener process gains per step, starting from 1 at time 0.
    The prior variance is thus 1 + v t.

    Parameters
    ----------
    {kernel}
    variance : float, default=0.03
        v, sigma_w**2 in the paper; 0 means no change. In comparisons it is set to the
        rate of change epsilon.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import UITVBO
    >>> UITVBO(variance=0.05)
    UITVBO(variance=0.05)
    """

    rate_name = "variance"

    variance: NotNegative = 0.03

    def _is_rate(self, rate: float) -> bool:
        return 0 <= rate < math.inf

    def _begun(self, state: ForgettingState) -> dict[str, float]:
        return {"rate": float(self.variance)}

    def in_time(self, state: ForgettingState) -> Kernel:
        """Return the kernel in time."""
        return WienerKernel(state.rate)


@settings
class WGPUCB(BudgetedUCB, name="w-gp-ucb"):
    """Weighted GP-UCB (Deng et al. 2022): weights that grow with time.

    The i-th value has weight w_i = gamma**-i, and the regulariser grows with it: it is
    noise**2 gamma**-n after n values. Only the ratio matters, so value i has the noise
    variance noise**2 gamma**-(n-i), and the latest value noise**2.

    Pseudo-code (k: kernel; n: values told)::

        1  for t = 1, 2, ...
        2      mu, sigma = posterior under k, value i with noise**2 gamma**-(n - i)
        3      x_t = argmax over x of mu(x) + beta_t sigma(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to the data

    sigma is the standard deviation of this weighted model. Values that no longer carry
    information (k(x, x) below a millionth of their noise variance) are left out, so the
    cost of a step stays bounded.

    We checked against the source's abstract and Brunzema et al., section 3, that the
    method is a weighted regression with the budget of `BRGPUCB`. With a linear kernel,
    mu is that of D-LinUCB (Russac, Vernade, Cappe 2019) in its authors' code. Up to the
    factor noise, sigma is then sqrt(x' V**-1 x). Theirs has the form
    sqrt(x' V**-1 V2 V**-1 x) with the squares of the weights in V2, which is never
    larger. A public discounted GP-UCB has this sigma, but its regulariser is one step
    ahead: its latest value has noise**2 / gamma. The source's own formulas were not
    available, so its sigma and its discount are not checked. With the default, the
    weights add up to about H + 1/2, the memory of a window.

    Parameters
    ----------
    {kernel}
    discount : float, default=None
        gamma, in (0, 1]; 1 means no forgetting. None: exp(-1/H) with the period
        H = gamma_T**(1/4) sqrt(T / B_T) of `BRGPUCB` (gamma_T: information gain).
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import WGPUCB
    >>> WGPUCB(discount=0.98)
    WGPUCB(discount=0.98)
    """

    state_type: ClassVar[type] = ForgettingState
    kept = ("estimate", "rate")

    information_gain: Literal["posterior"] = field(default="posterior", init=False)
    #: A weighted fit has a likelihood of its own, which the paper does not use.
    hyperparameters: None = field(default=None, init=False)
    prior: None = field(default=None, init=False)
    discount: float | None = None

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        known = self.discount is None or self._is_rate(self.discount)
        require(known, self, "discount", "in (0, 1] or None")
        self.check_memory("discount")

    def _is_rate(self, rate: float) -> bool:
        return 0 < rate <= 1

    def _begun(self, state: ForgettingState) -> dict[str, float]:
        if self.discount is not None:
            return {"rate": float(self.discount)}
        # Of the shortest memory there is a rest: a rate is positive.
        return {"rate": max(math.exp(-1 / self.memory(state)), sys.float_info.min)}

    def oldest(self, state: ForgettingState, n: int) -> int:
        """Return the index of the oldest value that tells anything."""
        if state.rate == 1:
            return 0
        faded = math.log(_NEGLIGIBLE * self.noise**2) / math.log(state.rate)
        return max(0, n - 1 - int(max(faded, 0)))

    def posterior(self, state: ForgettingState, models: Models) -> Posterior:
        """Return what is believed of the objective at present."""
        view = models.since(self.oldest(state, models.n))
        weights = state.rate ** np.arange(view.n - 1.0, -1.0, -1.0)  # line 2
        return view.weighted(self.candidate(state), weights)
