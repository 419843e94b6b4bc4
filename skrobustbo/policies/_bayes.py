"""GP-UCB averaged over the posterior of the length scales: the fully Bayesian way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np

from skrobustbo._arguments import require
from skrobustbo._forms import Count
from skrobustbo._trials import Survivor
from skrobustbo.acquisition import EI, UCB, WeightedSum
from skrobustbo.policies._base import PolicyState, UCBPolicy
from skrobustbo.policies._consistent import LengthScales
from skrobustbo.policies._interface import Argmax, Array, Pending, Predicted, Proposal
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    STARTS,
    estimated,
    estimated_model,
    theta_label,
)
from skrobustbo.policies._settings import PositiveInt, settings
from skrobustbo.surrogate import GammaPrior, Models, Posterior, Prior


@dataclass
class ChainState(PolicyState):
    """Run-time state of `MCMCGPUCB`.

    Attributes
    ----------
    thetas : list of list of float
        The latest draws, each of one length scale or one per parameter; the chain goes
        on from the last one. Empty at first.
    """

    thetas: list[LengthScales] = field(default_factory=list)


class _Drawn(Predicted):
    """The metadata of `MCMCGPUCB`: there is at least one draw."""

    thetas: Annotated[list[LengthScales], len]


@settings
class MCMCGPUCB(UCBPolicy, name="mcmc-gp-ucb"):
    """GP-UCB averaged over samples from the posterior of the length scales.

    This is the fully Bayesian baseline of the papers (Ziomek, Adachi, Osborne 2024,
    section 5; Berkenkamp, Schoellig, Krause 2019, section 5). They use Hamiltonian
    Monte Carlo. The posterior has few dimensions, and often several peaks and edges.
    Therefore this class uses slice sampling of log theta (Neal 2003), which needs no
    step size. The acquisition function is the mean over the samples (Snoek, Larochelle,
    Adams 2012). With few data, the prior dominates. Like a likelihood estimate, this
    policy may get stuck if the data so far look smooth.

    Pseudo-code (m: draws)::

        1  for t = 1, 2, ...
        2      theta_1, ..., theta_m ~ p(theta | y), a chain going on from step t - 1
        3      beta_i = beta_t of the model of theta_i
        4      x_t = argmax over x of 1/m sum over i of
                   mu_{t-1}(x; theta_i) + beta_i sigma_{t-1}(x; theta_i)
        5      y_t = f(x_t) + noise; add (x_t, y_t) to the data
        With ``acquisition="ei"`` in place of lines 3 and 4:
        6      x_t = argmax over x of 1/m sum over i of the expected improvement, under
                   theta_i, on the largest posterior mean under theta_i

    Parameters
    ----------
    {kernel}
    acquisition : {"ucb", "ei"}, default="ucb"
        What is averaged: the upper confidence bound, or the expected improvement as in
        Snoek et al., with which Wang and de Freitas (2014) compare theirs in Figure 1.
    prior : GammaPrior, LogNormalPrior or FlatPrior, default=None
        Prior of each length scale, in unit-cube coordinates, truncated to [0.005, 20];
        Gamma(3, 6) if None. `FlatPrior` is uniform in the logarithm.
    anisotropic : bool, default=False
        Whether to use one length scale per parameter instead of one for all.
    n_samples : int, default=8
        Number of samples m. The time of a step is proportional to it.
    burn_in : int, default=32
        Number of sweeps of the chain before its very first sample.
    thin : int, default=2
        Number of sweeps for each sample; a sweep updates every length scale once.
    {inherited}

    Raises
    ------
    ValueError
        When a run starts, if a setting is out of range.

    Examples
    --------
    >>> from skrobustbo import Real, maximize
    >>> from skrobustbo.policies import MCMCGPUCB
    >>> result = maximize(
    ...     lambda p: -((p["x"] - 0.4) ** 2),
    ...     {"x": Real(0, 1)},
    ...     n_iter=12,
    ...     policy=MCMCGPUCB(n_samples=4),
    ...     random_state=0,
    ... )
    >>> round(result.x["x"], 1)
    0.4
    """

    state_type: ClassVar[type] = ChainState
    metadata_type: ClassVar[type] = _Drawn
    kept = ("thetas",)  # the end of the chain

    acquisition: Literal["ucb", "ei"] = "ucb"
    prior: Prior | None = None
    anisotropic: bool = False
    n_samples: PositiveInt = 8
    burn_in: Count = 32
    thin: PositiveInt = 2

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        known = self.prior is None or hasattr(self.prior, "log_density_of_log")
        expected = "None or have a 'log_density_of_log', such as a GammaPrior"
        require(known, self, "prior", expected)

    def suggest(
        self, state: ChainState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Draw length scales, then return the maximiser of the mean of their bounds."""
        # A batch is one stretch of the chain: the latest point asked has its end.
        before = pending[-1]["thetas"] if pending else state.thetas
        thetas = self._draws(before, models)  # line 2
        counts = Counter(tuple(theta) for theta in thetas)
        posteriors = [
            models.at(estimated_model(self, models, theta)) for theta in counts
        ]
        weights = np.array(list(counts.values())) / len(thetas)
        t = state.t + len(pending) + 1  # line 1
        parts = [self._part(p, state.n_parameters, t, argmax) for p in posteriors]
        x, _ = argmax(WeightedSum(parts, weights))  # line 4, line 6
        middle = _middle(thetas)
        return x, {
            "label": theta_label(middle),
            "length_scales": middle.tolist(),
            **_prediction(models, posteriors, weights, x),
            "thetas": thetas,
        }

    def _part(self, posterior: Posterior, d: int, t: int, argmax: Argmax) -> UCB | EI:
        """Return the acquisition function of one draw."""
        if self.acquisition == "ei":
            _, reached = argmax(UCB(posterior, 0.0), inner=True)
            return EI(posterior, reached)  # line 6
        return UCB(posterior, self.beta_of(posterior, d, t))  # line 3

    def _draws(self, before: list[list[float]], models: Models) -> list[list[float]]:
        starts = [np.asarray(before[-1])] if before else STARTS
        return models.sample(
            self.base_kernel(),
            GammaPrior(3.0, 6.0) if self.prior is None else self.prior,
            LENGTH_SCALE_BOUNDS,
            starts,
            self.n_samples,
            burn_in=0 if before else self.burn_in,
            thin=self.thin,
            per_parameter=self.anisotropic,
        ).tolist()

    def alive(self, state: ChainState) -> list[Survivor]:
        """Return the geometric mean of the latest draws."""
        return estimated(_middle(state.thetas).tolist()) if state.thetas else []


def _middle(thetas: list[list[float]]) -> Array:
    """Return the geometric mean of the draws."""
    return np.exp(np.log(thetas).mean(axis=0))


def _prediction(
    models: Models, posteriors: Sequence[Posterior], weights: Array, x: Array
) -> dict[str, float]:
    """Return the mixture's mean and deviation at one point, in objective units."""
    each = [posterior.predict(x[None, :]) for posterior in posteriors]
    mu, sigma = (np.array(values)[:, 0] for values in zip(*each, strict=True))
    mean = float(weights @ mu)
    variance = float(weights @ (sigma**2 + (mu - mean) ** 2))
    return {
        "mean": mean * models.scale + models.shift,
        "std": math.sqrt(variance) * models.scale,
    }
