"""GP-UCB and IGP-UCB with fixed hyperparameters, and the random policy."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

from skrobustbo._forms import Positive
from skrobustbo.acquisition import UCB
from skrobustbo.policies._base import OneModelUCB, Policy, PolicyState
from skrobustbo.policies._interface import Argmax, Pending, Proposal, Setup
from skrobustbo.policies._models import metadata_of
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, Models


class RandomPolicy(Policy, name="random"):
    """Random search: uniform draws, never the same point twice.

    Examples
    --------
    >>> from skrobustbo import Optimizer
    >>> Optimizer({"x": [1]}, "random", random_state=0).ask()
    {'x': 1}
    """

    has_model: ClassVar[bool] = False

    def __init__(self) -> None:
        """Take no settings."""

    def suggest(
        self, state: object, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return a random point."""
        return argmax.random(), {"label": "random"}


@dataclass
class FixedState(PolicyState):
    """Run-time state of `GPUCB`.

    Attributes
    ----------
    theta : float
        Factor on the kernel's length scales.
    """

    theta: Positive


@settings
class GPUCB(OneModelUCB, name="gp-ucb"):
    """GP-UCB with one fixed model (Srinivas et al. 2010).

    Pseudo-code::

        1  for t = 1, 2, ...
        2      x_t = argmax over x of mu_{t-1}(x) + beta_t sigma_{t-1}(x)
        3      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    Parameters
    ----------
    {kernel}
    {inherited}

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from skrobustbo.policies import GPUCB
    >>> GPUCB(Matern(0.2, nu=2.5), beta=2.0)
    GPUCB(beta=2.0, kernel=Matern(length_scale=0.2, nu=2.5))
    """

    state_type: ClassVar[type] = FixedState

    #: Bound on the objective's norm, for schedules that need one.
    norm_bound: float = field(default=1.0, init=False)

    def start(self, setup: Setup, models: Models) -> FixedState:
        """Fit the length scale once, unless the kernel was given."""
        return FixedState(setup.n_parameters, self.first_theta(setup, models))

    def suggest(
        self, state: FixedState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the maximiser of the bound."""
        posterior = models[self.candidate(state)]
        t = state.t + len(pending) + 1  # line 1
        beta = self.beta_of(posterior, state.n_parameters, t)
        x, _ = argmax(UCB(posterior, beta))  # line 2
        return x, metadata_of(models, posterior, x)

    def candidate(self, state: FixedState) -> Candidate:
        """Return the model, with its norm bound."""
        return replace(super().candidate(state), norm_bound=self.norm_bound)


@settings
class IGPUCB(GPUCB, name="igp-ucb"):
    """Improved GP-UCB: GP-UCB with a frequentist schedule (Chowdhury, Gopalan 2017).

    Pseudo-code (that of `GPUCB`)::

        1  for t = 1, 2, ...
        2      x_t = argmax over x of mu_{t-1}(x) + beta_t sigma_{t-1}(x), where
               beta_t = B + noise sqrt(2 (I + 1 + ln(1 / delta)))
        3      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    The schedule comes from later papers and assumes a posterior regularised by
    noise**2. It bounds the objective only for noise >= 1. ``beta="self-normalised"``
    is a bound for any noise.

    Parameters
    ----------
    {kernel}
    norm_bound : float, default=1.0
        Bound B on the norm of the objective in the kernel's function space.
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules compute the information gain I.
    delta : float, default=0.1
        Probability that the band may fail.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import IGPUCB
    >>> IGPUCB(norm_bound=2.0)
    IGPUCB(norm_bound=2.0)
    """

    norm_bound: Positive = 1.0
    beta: float | str = "igp"
