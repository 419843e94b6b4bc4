"""Forgetting by degrees: kernels in time, and weights that fade.

All values stay in the data; what is old says less of the present.
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
from skrobustbo.kernels import ForgettingKernel, SubsetKernel, WienerKernel
from skrobustbo.policies._base import Argmax, Memo, Setup, Told, note
from skrobustbo.policies._event import ChangingState, ChangingUCB, memory_length
from skrobustbo.surrogate import Candidate, Models, Posterior

Array = NDArray[np.float64]

#: Rates of change that the likelihood search may return.
_EPSILON_BOUNDS = (1e-4, 0.5)
#: Rate before the first search.
_EPSILON_START = 0.03
#: W-GP-UCB leaves out values whose row tells less than this of a prior deviation of 1.
_NEGLIGIBLE = 1e-6


@dataclass
class ForgettingState(ChangingState):
    """Run-time state of a policy that forgets by degrees.

    Attributes
    ----------
    rate : float
        The rate of change in use, or the discount of the weights.
    """

    rate: float = 0.0


class _FadingUCB(ChangingUCB):
    """GP-UCB with a model in which old values say less of the present."""

    state_type: ClassVar[type] = ForgettingState

    def suggest(
        self,
        state: ForgettingState,
        models: Models,
        argmax: Argmax,
        pending: Sequence[Memo],
    ) -> tuple[Array, Memo]:
        """Return the maximiser of the bound on the present objective."""
        rate = self._rate(state, models)
        posterior = self._believed(state, models, rate)
        t = state.t + len(pending) + 1  # line 1
        beta = self.width(state, posterior, t)
        x, _ = argmax(UCB(posterior, beta))  # line 3
        return x, note(models, posterior, x, rate=rate)

    def learn(self, state: ForgettingState, memo: Memo, history: Told) -> None:
        """Count the query and keep the rate: the data are in the history already."""
        state.t += 1  # line 4
        state.rate = memo["rate"]

    def _rate(self, state: ForgettingState, models: Models) -> float:
        """Return the rate of change to assume at this step."""
        return state.rate

    def posterior(self, state: ForgettingState, models: Models) -> Posterior:
        """Return what is believed of the objective at present."""
        return self._believed(state, models, state.rate)

    def _believed(
        self, state: ForgettingState, models: Models, rate: float
    ) -> Posterior:
        raise NotImplementedError


class _TimedUCB(_FadingUCB):
    """GP-UCB with a product of a kernel in space and one in time."""

    def _believed(
        self, state: ForgettingState, models: Models, rate: float
    ) -> Posterior:
        n_columns = models.X.shape[1]
        return models.timed()[self._in_time(state, n_columns, rate)]  # line 2

    def _in_time(
        self, state: ForgettingState, n_columns: int, rate: float
    ) -> Candidate:
        """Return the model over space and time; the time is the column after all."""
        space = self.candidate(state)
        kernel = SubsetKernel(space.kernel, tuple(range(n_columns)))
        time, label = self._time_kernel(rate)
        return Candidate(kernel * time, label=f"{space.label},{label}={rate:.3g}")

    def _time_kernel(self, rate: float) -> tuple[Kernel, str]:
        """Return the kernel in time, and what its rate is called."""
        raise NotImplementedError

    def alive(self, state: Any) -> list[str]:
        """Return the label of the one model."""
        return [self._in_time(state, 0, state.rate).label]


class TVGPUCB(_TimedUCB):
    """Time-varying GP-UCB (Bogunovic, Scarlett, Cevher 2016).

    The objective is a Markov chain, f_{t+1} = sqrt(1-epsilon) f_t + sqrt(epsilon) g_t
    with independent g_t of the same Gaussian process: its covariance over a lag is that
    of the process times (1-epsilon)**(lag/2).

    Pseudo-code (k: kernel in space; i: the number of a value, in the order told)::

        1  for t = 1, 2, ...
        2      mu, sigma = posterior at time t under k(x_i, x_j) (1-epsilon)**(|i-j|/2),
                   epsilon given or of the highest likelihood
        3      x_t = argmax over x of mu(x) + beta_t sigma(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to the data

    The lag from value i to the present in line 2 is t - i: (5) in Brunzema et al.
    prints t + 1 - i beside data up to t - 1. Times count the values told, initial
    points included.

    Parameters
    ----------
    kernel : Kernel, default=None
        The model in space, used as it is. None: Matern-5/2 with the maximum likelihood
        length scale of the initial design, fitted once and then kept.
    epsilon : float or "mle", default=0.03
        Rate of change per step, in [0, 1). "mle": before each query that of highest
        likelihood, by Brent's bounded search in its logarithm, between 1e-4 and 0.5 and
        within a factor e**2 of the estimate before; the first search starts at 0.03.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default="log"
        Width of the band in deviations, or a schedule as in `GPUCB`.
    c1, c2 : float, default=0.8, 4
        "log" is beta**2 = max(0, c1 ln(c2 t)).
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=True
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from skrobustbo.policies import TVGPUCB
    >>> TVGPUCB(epsilon="mle")
    TVGPUCB(epsilon='mle')
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        epsilon: float | str = 0.03,
        noise: float = 0.01,
        beta: float | str = "log",
        c1: float = 0.8,
        c2: float = 4.0,
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = True,
    ) -> None:
        self.kernel = kernel
        self.epsilon = epsilon
        self.noise = noise
        self.beta = beta
        self.c1 = c1
        self.c2 = c2
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        known = self.epsilon == "mle" or (
            not isinstance(self.epsilon, str) and 0 <= self.epsilon < 1
        )
        self._require("epsilon", known, "in [0, 1) or 'mle'")

    def start(self, setup: Setup, models: Models) -> ForgettingState:
        """Fit the length scale once, unless the kernel was given."""
        state: ForgettingState = super().start(setup, models)
        given = not isinstance(self.epsilon, str)
        state.rate = float(self.epsilon) if given else _EPSILON_START
        return state

    def _rate(self, state: ForgettingState, models: Models) -> float:
        if self.epsilon != "mle":
            return state.rate
        n_columns = models.X.shape[1]
        return models.timed().fit_value(
            lambda epsilon: self._in_time(state, n_columns, epsilon),
            _EPSILON_BOUNDS,
            state.rate,
        )

    def _time_kernel(self, rate: float) -> tuple[Kernel, str]:
        return ForgettingKernel(rate), "epsilon"


class UITVBO(_TimedUCB):
    """Uncertainty injection for changing objectives (Brunzema et al. 2022).

    Pseudo-code (k: kernel in space; i: the number of a value, in the order told)::

        1  for t = 1, 2, ...
        2      mu, sigma = posterior at time t under k(x_i, x_j) (1 + v min(i, j))
        3      x_t = argmax over x of mu(x) + beta_t sigma(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to the data

    v is the variance that a Wiener process gains per step, from 1 at time 0: the prior
    variance 1 + v t grows.

    Parameters
    ----------
    kernel : Kernel, default=None
        The model in space, used as it is. None: Matern-5/2 with the maximum likelihood
        length scale of the initial design, fitted once and then kept.
    variance : float, default=0.03
        v, sigma_w**2 in the paper; 0 for none. In comparisons it is set to the rate of
        change epsilon.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default="log"
        Width of the band in deviations, or a schedule as in `GPUCB`.
    c1, c2 : float, default=0.8, 4
        "log" is beta**2 = max(0, c1 ln(c2 t)).
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=True
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from skrobustbo.policies import UITVBO
    >>> UITVBO(variance=0.05)
    UITVBO(variance=0.05)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        variance: float = 0.03,
        noise: float = 0.01,
        beta: float | str = "log",
        c1: float = 0.8,
        c2: float = 4.0,
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = True,
    ) -> None:
        self.kernel = kernel
        self.variance = variance
        self.noise = noise
        self.beta = beta
        self.c1 = c1
        self.c2 = c2
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        self._require("variance", 0 <= self.variance < math.inf, "finite and >= 0")

    def start(self, setup: Setup, models: Models) -> ForgettingState:
        """Fit the length scale once, unless the kernel was given."""
        state: ForgettingState = super().start(setup, models)
        state.rate = float(self.variance)
        return state

    def _time_kernel(self, rate: float) -> tuple[Kernel, str]:
        return WienerKernel(rate), "variance"


class WGPUCB(_FadingUCB):
    """Weighted GP-UCB (Deng et al. 2022): weights that grow with time.

    The i-th value has weight w_i = gamma**-i and the regulariser grows along, as
    noise**2 gamma**-n after n values; only the ratio counts, so value i enters with the
    noise variance noise**2 gamma**-(n-i), the latest with noise**2.

    Pseudo-code (k: kernel; n: values told)::

        1  for t = 1, 2, ...
        2      mu, sigma = posterior under k, value i with noise**2 gamma**-(n - i)
        3      x_t = argmax over x of mu(x) + beta_t sigma(x)
        4      y_t = f_t(x_t) + noise; add (x_t, y_t) to the data

    sigma is the deviation of that weighted model. Values that faded to where they tell
    nothing (k(x, x) below a millionth of their noise variance) are left out, so that
    the cost of a step stays bounded.

    Compared with other texts: that a weighted regression and the budget of `BRGPUCB`
    are meant, with the source's abstract and Brunzema et al., section 3. With a linear
    kernel, mu is that of D-LinUCB (Russac, Vernade, Cappe 2019) as its authors' code
    has it; but for the factor noise, sigma is sqrt(x' V**-1 x) then and theirs of the
    form sqrt(x' V**-1 V2 V**-1 x), with the squares of the weights in V2 never more. A
    public discounted GP-UCB has this sigma, but a regulariser one step ahead: its
    latest value has noise**2 / gamma. Not compared, as the source's own formulas were
    not at hand: which sigma it has, and its discount. The default makes the weights add
    up to H + 1/2, about, the memory of a window.

    Parameters
    ----------
    kernel : Kernel, default=None
        The model, used as it is. None: Matern-5/2 with the maximum likelihood length
        scale of the initial design, fitted once and then kept.
    discount : float, default=None
        gamma, in (0, 1]; 1 forgets nothing. None: exp(-1/H) with the period
        H = gamma_T**(1/4) sqrt(T / B_T) of `BRGPUCB` (gamma_T: information gain).
    budget : float, default=1.0
        B_T, in the units that the model sees. T is the horizon, 100 if there is none.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default="log"
        Width of the band in deviations, or a schedule as in `GPUCB`.
    c1, c2 : float, default=0.8, 4
        "log" is beta**2 = max(0, c1 ln(c2 t)).
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=True
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from skrobustbo.policies import WGPUCB
    >>> WGPUCB(discount=0.98)
    WGPUCB(discount=0.98)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        discount: float | None = None,
        budget: float = 1.0,
        noise: float = 0.01,
        beta: float | str = "log",
        c1: float = 0.8,
        c2: float = 4.0,
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = True,
    ) -> None:
        self.kernel = kernel
        self.discount = discount
        self.budget = budget
        self.noise = noise
        self.beta = beta
        self.c1 = c1
        self.c2 = c2
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        known = self.discount is None or 0 < self.discount <= 1
        self._require("discount", known, "in (0, 1] or None")
        self._require_memory(self.budget, "discount")

    def start(self, setup: Setup, models: Models) -> ForgettingState:
        """Fit the length scale and set the discount."""
        state: ForgettingState = super().start(setup, models)
        if self.discount is None:
            length = memory_length(self, state, self.budget, self.noise)
            state.rate = math.exp(-1 / length)
        else:
            state.rate = float(self.discount)
        return state

    def oldest(self, state: ForgettingState, n: int) -> int:
        """Return the index of the oldest value that tells anything."""
        if state.rate == 1:
            return 0
        faded = math.log(_NEGLIGIBLE * self.noise**2) / math.log(state.rate)
        return max(0, n - 1 - int(max(faded, 0)))

    def _believed(
        self, state: ForgettingState, models: Models, rate: float
    ) -> Posterior:
        view = models.since(self.oldest(state, models.n))
        weights = rate ** np.arange(view.n - 1.0, -1.0, -1.0)  # line 2
        return view.weighted(self.candidate(state), weights)
