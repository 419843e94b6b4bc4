"""GP-UCB and IGP-UCB with fixed hyperparameters, and the random policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.acquisition import UCB
from skrobustbo.policies._base import (
    Argmax,
    Memo,
    Policy,
    Setup,
    Told,
    UCBPolicy,
    initial_length_scale,
    length_scale_candidate,
    note,
)
from skrobustbo.surrogate import Candidate, Models

Array = NDArray[np.float64]


class RandomPolicy(Policy):
    """Random search: uniform draws, never the same point twice.

    Examples
    --------
    >>> from skrobustbo import Optimizer
    >>> Optimizer({"x": [1]}, "random", random_state=0).ask()
    {'x': 1}
    """

    def suggest(
        self, state: object, models: Models, argmax: Argmax, pending: Sequence[Memo]
    ) -> tuple[Array, Memo]:
        """Return a random point."""
        return argmax.random(), {"label": "random"}


@dataclass
class FixedState:
    """Run-time state of `GPUCB`.

    Attributes
    ----------
    n_parameters : int
        Dimension d.
    theta : float
        Factor on the kernel's length scales.
    t : int
        Queries told so far.
    """

    n_parameters: int
    theta: float
    t: int = 0


class GPUCB(UCBPolicy):
    """GP-UCB with one fixed model (Srinivas et al. 2010).

    Pseudo-code::

        1  for t = 1, 2, ...
        2      x_t = argmax over x of mu_{t-1}(x) + beta_t sigma_{t-1}(x)
        3      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    Parameters
    ----------
    kernel : Kernel, default=None
        The model, used as it is. None: Matern-5/2 with the maximum likelihood length
        scale of the initial design, fitted once and then kept.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default=1.0
        Width of the band in deviations, or a schedule: "log", "igp", "a-gp",
        "self-normalised", "bayes-finite" (finite spaces only), "bayes-continuous".
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain: that of the points seen, its growth
        rate, or a bound on its maximum over the feasible points (a sample of 512 where
        there are more than 4,096).
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=False
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from skrobustbo.policies import GPUCB
    >>> GPUCB(Matern(0.2, nu=2.5), beta=2.0)
    GPUCB(beta=2.0, kernel=Matern(length_scale=0.2, nu=2.5))
    """

    state_type: ClassVar[type] = FixedState

    #: Bound on the objective's norm, for schedules that need one.
    norm_bound: float = 1.0

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        noise: float = 0.01,
        beta: float | str = 1.0,
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = False,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.beta = beta
        self.information_gain = information_gain
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def start(self, setup: Setup, models: Models) -> FixedState:
        """Fit the length scale once, unless the kernel was given."""
        self.check()
        theta = 1.0
        if self.kernel is None:
            theta = initial_length_scale(self.base_kernel(), setup, models)
        return FixedState(setup.n_parameters, theta)

    def suggest(
        self, state: FixedState, models: Models, argmax: Argmax, pending: Sequence[Memo]
    ) -> tuple[Array, Memo]:
        """Return the maximiser of the bound."""
        posterior = models[self._candidate(state)]
        t = state.t + len(pending) + 1  # line 1
        beta = self.beta_of(posterior, state.n_parameters, t)
        x, _ = argmax(UCB(posterior, beta))  # line 2
        return x, note(models, posterior, x)

    def learn(self, state: FixedState, memo: Memo, history: Told) -> None:
        """Count the query: the data are in the history already."""
        state.t += 1  # line 3

    def _candidate(self, state: FixedState) -> Candidate:
        if self.kernel is not None:
            return Candidate(self.kernel, norm_bound=self.norm_bound)
        candidate = length_scale_candidate(self.base_kernel(), state.theta)
        return replace(candidate, norm_bound=self.norm_bound)

    def alive(self, state: FixedState) -> list[str]:
        """Return the label of the one model."""
        return [self._candidate(state).label]


class IGPUCB(GPUCB):
    """Improved GP-UCB: GP-UCB with a frequentist schedule (Chowdhury, Gopalan 2017).

    Pseudo-code (that of `GPUCB`)::

        1  for t = 1, 2, ...
        2      x_t = argmax over x of mu_{t-1}(x) + beta_t sigma_{t-1}(x), where
               beta_t = B + noise sqrt(2 (I + 1 + ln(1 / delta)))
        3      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    The schedule is that of later papers, for a posterior regularised by noise**2, with
    which it bounds the objective for noise >= 1 only; ``beta="self-normalised"`` does
    so whatever the noise.

    Parameters
    ----------
    kernel : Kernel, default=None
        The model, used as it is. None: Matern-5/2 with the maximum likelihood length
        scale of the initial design, fitted once and then kept.
    norm_bound : float, default=1.0
        Bound B on the objective's norm in the kernel's function space.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default="igp"
        Width of the band in deviations, or a schedule as in `GPUCB`.
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain I.
    delta : float, default=0.1
        Probability that the band may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=False
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from skrobustbo.policies import IGPUCB
    >>> IGPUCB(norm_bound=2.0)
    IGPUCB(norm_bound=2.0)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        norm_bound: float = 1.0,
        noise: float = 0.01,
        beta: float | str = "igp",
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = False,
    ) -> None:
        self.kernel = kernel
        self.norm_bound = norm_bound
        self.noise = noise
        self.beta = beta
        self.information_gain = information_gain
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        if not self.norm_bound > 0:
            raise ValueError(
                "The 'norm_bound' of IGPUCB must be positive. Got "
                f"{self.norm_bound!r} instead."
            )
