"""GP-UCB with fixed hyperparameters, and the random policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
    beta : float or {"log", "igp", "a-gp", "self-normalised"}, default=1.0
        Width of the band in deviations, or a schedule.
    information_gain : {"posterior", "rate"}, default="posterior"
        How schedules get the information gain.
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
            return Candidate(self.kernel)
        return length_scale_candidate(self.base_kernel(), state.theta)

    def alive(self, state: FixedState) -> list[str]:
        """Return the label of the one model."""
        return [self._candidate(state).label]
