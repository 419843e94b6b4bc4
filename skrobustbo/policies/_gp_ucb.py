"""GP-UCB with a fixed, estimated or averaged model, and random search."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from skrobustbo._arguments import require
from skrobustbo._forms import Consistent, Count, Positive
from skrobustbo._trials import Survivor
from skrobustbo.acquisition import EI, UCB, WeightedSum
from skrobustbo.policies._base import (
    Argmax,
    Array,
    LengthScales,
    Metadata,
    NoEstimate,
    Pending,
    Policy,
    PolicyState,
    Predicted,
    Proposal,
    Setup,
    UCBPolicy,
)
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    STARTS,
    Given,
    candidate_models,
    estimated,
    estimated_model,
    initial_length_scale,
    length_scale_candidate,
    length_scales_of,
    metadata_of,
    named,
    theta_label,
)
from skrobustbo.policies._settings import PositiveInt, settings
from skrobustbo.surrogate import (
    Candidate,
    FlatPrior,
    GammaPrior,
    Models,
    Posterior,
    Prior,
)


class RandomPolicy(Policy, name="random"):
    """Random search, which samples points uniformly and never repeats a point.

    Examples
    --------
    >>> from skrobustbo import Optimizer
    >>> Optimizer({"x": [1]}, "random", random_state=0).ask()
    {'x': 1}
    """

    has_model: ClassVar[bool] = False

    def __init__(self) -> None:
        """Create the policy, which has no settings."""

    def suggest(
        self, state: object, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        return argmax.random(), {"label": "random"}


@dataclass
class FixedState(PolicyState):
    """Run-time state of `GPUCB`.

    Attributes
    ----------
    theta : float
        Factor that multiplies the length scales of the kernel.
    """

    theta: Positive


@settings
class GPUCB(UCBPolicy, name="gp-ucb"):
    """GP-UCB with one fixed model (Srinivas et al. 2010).

    Pseudo-code::

        1  for t = 1, 2, ...
        2      x_t = argmax over x of mu_{t-1}(x) + beta_t sigma_{t-1}(x)
        3      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel of the model, used without changes. If None, a Matern-5/2 kernel is
        fitted once to the initial design by maximum likelihood.
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

    def start(self, setup: Setup, models: Models) -> Any:
        """Return the initial state, fitting the length scale if no kernel is given."""
        return FixedState(setup.n_parameters, self.first_theta(setup, models))

    def first_theta(self, setup: Setup, models: Models) -> float:
        """Return the length scale factor of the kernel, or 1 if a kernel is given."""
        if self.kernel is not None:
            return 1.0
        return initial_length_scale(self.base_kernel(), setup.diameter, models)

    def suggest(
        self, state: Any, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the maximiser of the upper confidence bound."""
        posterior = models[self.candidate(state)]
        t = state.t + len(pending) + 1  # line 1
        beta = self.beta_of(posterior, state.n_parameters, t)
        x, _ = argmax(UCB(posterior, beta))  # line 2
        return x, metadata_of(models, posterior, x)

    def candidate(self, state: Any) -> Candidate:
        """Return the model, using the length scale factor `theta` of the state."""
        B = self.norm_bound
        if self.kernel is not None:
            return Candidate(self.kernel, norm_bound=B)
        return length_scale_candidate(self.base_kernel(), state.theta, norm_bound=B)

    def surviving(self, state: Any) -> list[Candidate]:
        return [self.candidate(state)]


@settings
class IGPUCB(GPUCB, name="igp-ucb"):
    """Improved GP-UCB: GP-UCB with a frequentist schedule (Chowdhury, Gopalan 2017).

    Pseudo-code (as for `GPUCB`)::

        1  for t = 1, 2, ...
        2      x_t = argmax over x of mu_{t-1}(x) + beta_t sigma_{t-1}(x), where
               beta_t = B + noise sqrt(2 (I + 1 + ln(1 / delta)))
        3      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    The schedule is taken from later papers and assumes a posterior regularised by
    noise**2. It is a valid bound only if noise >= 1, while ``beta="self-normalised"``
    is valid for any noise level.

    Parameters
    ----------
    {kernel}
    norm_bound : float, default=1.0
        Bound B on the norm of the objective in the kernel's function space.
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How to compute the information gain I for a schedule.
    delta : float, default=0.1
        Probability that the confidence band does not hold.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import IGPUCB
    >>> IGPUCB(norm_bound=2.0)
    IGPUCB(norm_bound=2.0)
    """

    norm_bound: Positive = 1.0
    beta: float | str = "igp"


# Length scales estimated after every observation --------------------------------------


#: Factor by which length scales shrink if a query must be uncertain.
_SHORTER = 1.1

#: The position of a model to choose from.
_Choice = Annotated[
    Count,
    Consistent(lambda i, at: i < len(getattr(at.policy, "candidates", None) or ())),
]


@dataclass
class EstimateState(PolicyState):
    """Run-time state of policies that estimate the length scales.

    Attributes
    ----------
    theta : list of float
        The latest estimate, with a single length scale or one per parameter. Empty
        before the first estimate.
    chosen : int or None
        Index of the latest candidate, or None if the policy does not use candidates.
    """

    theta: NoEstimate | LengthScales = field(default_factory=list)
    chosen: _Choice | None = None


@settings
class _EstimatingUCB(UCBPolicy):
    """Base class of GP-UCB policies with a point estimate of the length scales.

    Parameters
    ----------
    anisotropic : bool, default=False
        Whether to use a separate length scale for each parameter.
    """

    state_type: ClassVar[type] = EstimateState

    #: The default prior of each length scale.
    default_prior: ClassVar[Prior] = FlatPrior()

    prior: Prior | None = field(default=None, init=False)
    anisotropic: bool = False
    least_deviation: Positive | None = field(default=None, init=False)

    def suggest(
        self, state: EstimateState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Fit the model, then return the maximiser of its upper confidence bound."""
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
        """Return the posterior of the fitted model, and the metadata of the fit."""
        # Cold starts in addition to the warm one: the likelihood may have several
        # peaks.
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
        """Return the name and length scales of the latest model."""
        return estimated(state.theta)


@settings
class MLEGPUCB(_EstimatingUCB, name="mle-gp-ucb"):
    """GP-UCB with the maximum likelihood length scale.

    This policy is common practice and the baseline in the papers. If the data look
    smooth, the likelihood favours a long length scale, and the search gets stuck. With
    a finite set of candidates, theta is the candidate with the highest likelihood.

    Pseudo-code::

        1  for t = 1, 2, ...
        2      theta = argmax of log p(y | theta)
        3      x_t = argmax over x of mu_{t-1}(x; theta) + beta_t sigma_{t-1}(x; theta)
        4      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    Parameters
    ----------
    {kernel}
    candidates : list of Kernel or Candidate, default=None
        The models to choose from. If None, the model is `kernel` with any length scale.
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
        """The name of the state field that contains the latest estimate."""
        return ("theta",) if self.candidates is None else ("chosen",)

    def alive(self, state: EstimateState) -> list[Survivor]:
        if state.chosen is None:
            return super().alive(state)
        return named([self._candidates()[state.chosen]])

    def _candidates(self) -> list[Candidate]:
        return candidate_models(self.candidates or ())


@settings
class MAPGPUCB(_EstimatingUCB, name="map-gp-ucb"):
    """GP-UCB with MAP length scales.

    With `least_deviation`, this policy is the method of Wang and de Freitas (2014) in
    the form that Berkenkamp, Schoellig and Krause (2019, section 5) use for comparison.
    The length scales shrink until the model is sufficiently uncertain about the query.
    As a result, the search never converges, and its regret keeps growing.

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
        Prior of each length scale, in unit-cube coordinates. If None, Gamma(3, 6) is
        used.
    least_deviation : float, default=None
        Smallest standard deviation kappa, in units of the model. The paper uses 0.1. If
        None, line 5 is skipped.
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


# Fully Bayesian: averaged over the posterior of the length scales --------------------


@dataclass
class ChainState(PolicyState):
    """Run-time state of `MCMCGPUCB`.

    Attributes
    ----------
    thetas : list of list of float
        The latest samples, each with a single length scale or one per parameter. The
        chain continues from the last sample. Empty before the first step.
    """

    thetas: list[LengthScales] = field(default_factory=list)


class _Drawn(Predicted):
    """Metadata of `MCMCGPUCB`, which contain at least one sample."""

    thetas: Annotated[list[LengthScales], len]


@settings
class MCMCGPUCB(UCBPolicy, name="mcmc-gp-ucb"):
    """GP-UCB averaged over samples from the posterior of the length scales.

    This policy is the fully Bayesian baseline in the papers (Ziomek, Adachi, Osborne
    2024, section 5; Berkenkamp, Schoellig, Krause 2019, section 5). The papers use
    Hamiltonian Monte Carlo, while this class uses slice sampling of log theta (Neal
    2003). Slice sampling needs no step size and is well suited to low-dimensional
    posteriors that may have several peaks and sharp edges. The acquisition function is
    averaged over the samples (Snoek, Larochelle, Adams 2012). With few values, the
    prior dominates. As with maximum likelihood estimates, the search can get stuck if
    the data look smooth.

    Pseudo-code (m: number of samples)::

        1  for t = 1, 2, ...
        2      theta_1, ..., theta_m ~ p(theta | y), a chain continued from step t - 1
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
        Acquisition function to average: the upper confidence bound or the expected
        improvement. The latter is used by Snoek et al. and, for comparison, by Wang and
        de Freitas (2014, Figure 1).
    prior : GammaPrior, LogNormalPrior or FlatPrior, default=None
        Prior of each length scale, in unit-cube coordinates, truncated to [0.005, 20].
        If None, Gamma(3, 6) is used. `FlatPrior` is uniform in the logarithm of the
        length scale.
    anisotropic : bool, default=False
        Whether to use a separate length scale for each parameter.
    n_samples : int, default=8
        Number of samples m. The time per step is proportional to this number.
    burn_in : int, default=32
        Number of sweeps of the chain before the first sample.
    thin : int, default=2
        Number of sweeps per sample. Each sweep updates every length scale once.
    {inherited}

    Raises
    ------
    ValueError
        If a setting is out of range. The error is raised when a run starts.

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
        super().check()
        known = self.prior is None or hasattr(self.prior, "log_density_of_log")
        expected = "None or have a 'log_density_of_log', such as a GammaPrior"
        require(known, self, "prior", expected)

    def suggest(
        self, state: ChainState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the maximiser of the acquisition averaged over new samples."""
        # A batch continues one chain, from the end stored with the latest pending
        # point.
        before = pending[-1]["thetas"] if pending else state.thetas
        thetas = self._draws(before, models)  # line 2
        counts = Counter(tuple(theta) for theta in thetas)
        drawn = [estimated_model(self, models, theta) for theta in counts]
        posteriors = [models.at(candidate) for candidate in drawn]
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
        """Return the acquisition function for one sample of the length scales."""
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
        """Return the geometric mean of the latest samples of the length scales."""
        return estimated(_middle(state.thetas).tolist()) if state.thetas else []


def _middle(thetas: list[list[float]]) -> Array:
    return np.exp(np.log(thetas).mean(axis=0))


def _prediction(
    models: Models, posteriors: Sequence[Posterior], weights: Array, x: Array
) -> dict[str, float]:
    """Return the mean and standard deviation of the mixture, in objective units."""
    each = [posterior.predict(x[None, :]) for posterior in posteriors]
    mu, sigma = (np.array(values)[:, 0] for values in zip(*each, strict=True))
    mean = float(weights @ mu)
    variance = float(weights @ (sigma**2 + (mu - mean) ** 2))
    return {
        "mean": mean * models.scale + models.shift,
        "std": math.sqrt(variance) * models.scale,
    }
