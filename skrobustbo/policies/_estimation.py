"""GP-UCB with length scales estimated from the data after every observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np

from skrobustbo._forms import Consistent, Count, Positive
from skrobustbo._trials import Survivor
from skrobustbo.acquisition import UCB
from skrobustbo.policies._base import PolicyState, UCBPolicy
from skrobustbo.policies._candidates import Given, candidate_models
from skrobustbo.policies._consistent import LengthScales, NoEstimate
from skrobustbo.policies._interface import (
    Argmax,
    Array,
    Metadata,
    Pending,
    Proposal,
)
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    STARTS,
    estimated,
    estimated_model,
    length_scales_of,
    metadata_of,
    named,
)
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import (
    Candidate,
    FlatPrior,
    GammaPrior,
    Models,
    Posterior,
    Prior,
)

#: By how much length scales are shortened at a time, where a query must be unsure.
_SHORTER = 1.1

#: The position of one of the models to choose from.
_Choice = Annotated[
    Count,
    Consistent(lambda i, at: i < len(getattr(at.policy, "candidates", None) or ())),
]


@dataclass
class EstimateState(PolicyState):
    """Run-time state of the estimating policies.

    Attributes
    ----------
    theta : list of float
        The latest estimate: one length scale, or one per parameter; empty at first.
    chosen : int or None
        The latest choice, where there are candidates to choose from.
    """

    theta: NoEstimate | LengthScales = field(default_factory=list)
    chosen: _Choice | None = None


@settings
class _EstimatingUCB(UCBPolicy):
    """GP-UCB on a point estimate of the length scales.

    Parameters
    ----------
    anisotropic : bool, default=False
        Whether to use one length scale per parameter instead of one for all.
    """

    state_type: ClassVar[type] = EstimateState

    #: The prior of each length scale where none is set.
    default_prior: ClassVar[Prior] = FlatPrior()

    prior: Prior | None = field(default=None, init=False)
    anisotropic: bool = False
    least_deviation: Positive | None = field(default=None, init=False)

    def suggest(
        self, state: EstimateState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Estimate the model, then return the maximiser of its bound."""
        posterior, estimate = self._estimate(state, models)  # line 2
        t = state.t + len(pending) + 1  # line 1

        def ask(posterior: Posterior) -> Array:
            beta = self.beta_of(posterior, state.n_parameters, t)
            return argmax(UCB(posterior, beta))[0]  # line 3

        x, least = ask(posterior), self.least_deviation or 0.0
        while posterior.told_deviation(x) < least:  # line 5
            theta = np.array(length_scales_of(posterior.candidate)) / _SHORTER
            if theta.min() < LENGTH_SCALE_BOUNDS[0]:
                break
            posterior = models.at(estimated_model(self, models, theta))
            x = ask(posterior)
        return x, metadata_of(models, posterior, x, **estimate)

    def _estimate(
        self, state: EstimateState, models: Models
    ) -> tuple[Posterior, Metadata]:
        """Return the model that is likeliest, and what metadata say of it."""
        # Cold starts beside the warm one: the likelihood may have several peaks.
        starts: list[float | Array] = [*STARTS]
        if state.theta:
            starts.insert(0, np.asarray(state.theta))
        theta = models.fit(
            self.base_kernel(),
            self.default_prior if self.prior is None else self.prior,
            LENGTH_SCALE_BOUNDS,
            starts,
            per_parameter=self.anisotropic,
        )
        return models[estimated_model(self, models, theta)], {"theta": theta.tolist()}

    def alive(self, state: EstimateState) -> list[Survivor]:
        """Return the latest estimate."""
        return estimated(state.theta)


@settings
class MLEGPUCB(_EstimatingUCB, name="mle-gp-ucb"):
    """GP-UCB with the maximum likelihood length scale, the usual practice.

    This is the baseline of the papers. If the data so far look smooth, the likelihood
    favours a long length scale, and the search stays where it is. With a finite set of
    candidates, of any form, theta is the candidate with the highest likelihood.

    Pseudo-code::

        1  for t = 1, 2, ...
        2      theta = argmax of log p(y | theta)
        3      x_t = argmax over x of mu_{t-1}(x; theta) + beta_t sigma_{t-1}(x; theta)
        4      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    Parameters
    ----------
    {kernel}
    candidates : list of Kernel or Candidate, default=None
        The models to choose from. None: `kernel` with any length scale.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import MLEGPUCB
    >>> MLEGPUCB(anisotropic=True)
    MLEGPUCB(anisotropic=True)
    """

    candidates: Given | None = None

    def _estimate(
        self, state: EstimateState, models: Models
    ) -> tuple[Posterior, Metadata]:
        if self.candidates is None:
            return super()._estimate(state, models)
        posteriors = [models[candidate] for candidate in self._candidates()]
        fit = [posterior.log_marginal_likelihood for posterior in posteriors]
        chosen = int(np.argmax(fit))  # line 2
        return posteriors[chosen], {"chosen": chosen}

    @property
    def kept(self) -> Sequence[str]:
        """The estimate, which is the next warm start, or the choice."""
        return ("theta",) if self.candidates is None else ("chosen",)

    def alive(self, state: EstimateState) -> list[Survivor]:
        """Return the latest estimate."""
        if state.chosen is None:
            return super().alive(state)
        return named([self._candidates()[state.chosen]])

    def _candidates(self) -> list[Candidate]:
        return candidate_models(self.candidates, self.base_kernel(), ())


@settings
class MAPGPUCB(_EstimatingUCB, name="map-gp-ucb"):
    """GP-UCB with the length scales of highest posterior.

    With `least_deviation`, it is the method of Wang and de Freitas (2014) in the form
    that Berkenkamp, Schoellig and Krause (2019, section 5) use for comparison: length
    scales are shortened until the model is uncertain about the query. The search then
    never settles, and its regret grows for ever.

    Pseudo-code::

        1  for t = 1, 2, ...
        2      theta = argmax of log p(y | theta) + log p(theta)
        3      x_t = argmax over x of mu_{t-1}(x; theta) + beta_t sigma_{t-1}(x; theta)
        4      y_t = f(x_t) + noise; add (x_t, y_t) to the data
        With `least_deviation` kappa, after line 3:
        5          while sigma_{t-1}(x_t; theta) < kappa: theta = theta / 1.1; line 3

    Parameters
    ----------
    {kernel}
    prior : GammaPrior or LogNormalPrior, default=None
        Prior of each length scale, in unit-cube coordinates; Gamma(3, 6) if None.
    least_deviation : float, default=None
        kappa, in the units that the model sees; 0.1 in the paper. None: no line 5.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import MAPGPUCB
    >>> from skrobustbo.surrogate import LogNormalPrior
    >>> MAPGPUCB(prior=LogNormalPrior(median=0.5, sigma=0.75))
    MAPGPUCB(prior=LogNormalPrior(median=0.5, sigma=0.75, common=0.0))
    """

    default_prior: ClassVar[Prior] = GammaPrior(3.0, 6.0)
    kept = ("theta",)

    prior: Prior | None = None
    anisotropic: bool = True
    least_deviation: Positive | None = None
