"""GP-UCB averaged over the posterior of the length scales: the fully Bayesian way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.acquisition import UCB, WeightedSum
from skrobustbo.policies._base import (
    LENGTH_SCALE_BOUNDS,
    Argmax,
    Memo,
    Setup,
    Told,
    UCBPolicy,
    length_scale_candidate,
    theta_label,
)
from skrobustbo.surrogate import Candidate, GammaPrior, Models, Posterior, Prior

Array = NDArray[np.float64]

#: Where the chain may begin: at the best of these.
_STARTS = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)


@dataclass
class ChainState:
    """Run-time state of `MCMCGPUCB`.

    Attributes
    ----------
    n_parameters : int
        Dimension d.
    thetas : list of list of float
        The latest draws, each of one length scale or one per parameter; the chain goes
        on from the last one. Empty at first.
    t : int
        Queries told so far.
    """

    n_parameters: int
    thetas: list[list[float]] = field(default_factory=list)
    t: int = 0


class MCMCGPUCB(UCBPolicy):
    """GP-UCB averaged over draws from the posterior of the length scales.

    The fully Bayesian baseline of the papers (Ziomek, Adachi, Osborne 2024, section 5;
    Berkenkamp, Schoellig, Krause 2019, section 5), which draw with Hamiltonian Monte
    Carlo. The posterior has few dimensions, often several peaks and edges, so here the
    draws come from slice sampling of log theta (Neal 2003), which has no step size to
    tune. The acquisition function is the mean of the draws' own (Snoek, Larochelle,
    Adams 2012). The prior decides as long as data are few: like a likelihood estimate,
    this policy may get stuck where the data so far look smooth.

    Pseudo-code (m: draws)::

        1  for t = 1, 2, ...
        2      theta_1, ..., theta_m ~ p(theta | y), a chain going on from step t - 1
        3      beta_i = beta_t of the model of theta_i
        4      x_t = argmax over x of 1/m sum over i of
                   mu_{t-1}(x; theta_i) + beta_i sigma_{t-1}(x; theta_i)
        5      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    Parameters
    ----------
    kernel : Kernel, default=None
        The kernel at length scale 1; Matern-5/2 if None.
    prior : GammaPrior, LogNormalPrior or FlatPrior, default=None
        Law of each length scale, in unit-cube coordinates, cut to [0.005, 20];
        Gamma(3, 6) if None. `FlatPrior` is the uniform law of the logarithm.
    anisotropic : bool, default=False
        One length scale per parameter instead of one for all.
    n_samples : int, default=8
        Draws m. The time of a step is in proportion to it.
    burn_in : int, default=32
        Sweeps of the chain before its first draw ever.
    thin : int, default=2
        Sweeps for each draw; a sweep updates every length scale once.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default=1.0
        Width of the band in deviations, or a schedule: "log", "igp", "a-gp",
        "self-normalised", "bayes-finite" or "bayes-continuous".
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain; "rate" for isotropic models only.
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=False
        Whether a point told before may be asked again.

    Raises
    ------
    ValueError
        When a run starts, for settings out of range.

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

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        prior: Prior | None = None,
        anisotropic: bool = False,
        n_samples: int = 8,
        burn_in: int = 32,
        thin: int = 2,
        noise: float = 0.01,
        beta: float | str = 1.0,
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = False,
    ) -> None:
        self.kernel = kernel
        self.prior = prior
        self.anisotropic = anisotropic
        self.n_samples = n_samples
        self.burn_in = burn_in
        self.thin = thin
        self.noise = noise
        self.beta = beta
        self.information_gain = information_gain
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        _check_count("n_samples", self.n_samples, 1)
        _check_count("burn_in", self.burn_in, 0)
        _check_count("thin", self.thin, 1)
        if self.prior is not None and not hasattr(self.prior, "log_density_of_log"):
            raise ValueError(
                "The 'prior' of MCMCGPUCB must be None or have a 'log_density_of_log', "
                f"such as a GammaPrior. Got {self.prior!r} instead."
            )

    def start(self, setup: Setup, models: Models) -> ChainState:
        """Return a state without draws."""
        self.check()
        return ChainState(setup.n_parameters)

    def suggest(
        self, state: ChainState, models: Models, argmax: Argmax, pending: Sequence[Memo]
    ) -> tuple[Array, Memo]:
        """Draw length scales, then return the maximiser of the mean of their bounds."""
        # A batch is one stretch of the chain: the latest point asked has its end.
        before = pending[-1]["thetas"] if pending else state.thetas
        thetas = self._draws(before, models)  # line 2
        counts = Counter(tuple(theta) for theta in thetas)
        posteriors = [models.at(self._candidate(theta, models)) for theta in counts]
        weights = np.array(list(counts.values())) / len(thetas)
        t = state.t + len(pending) + 1  # line 1
        betas = [self.beta_of(p, state.n_parameters, t) for p in posteriors]  # line 3
        bounds = [UCB(p, beta) for p, beta in zip(posteriors, betas, strict=True)]
        x, _ = argmax(WeightedSum(bounds, weights))  # line 4
        return x, {
            "label": _middle_label(thetas),
            **_prediction(models, posteriors, weights, x),
            "thetas": thetas,
        }

    def _draws(self, before: list[list[float]], models: Models) -> list[list[float]]:
        starts = [np.asarray(before[-1])] if before else _STARTS
        draws: list[list[float]] = models.sample(
            self.base_kernel(),
            GammaPrior(3.0, 6.0) if self.prior is None else self.prior,
            LENGTH_SCALE_BOUNDS,
            starts,
            self.n_samples,
            burn_in=0 if before else self.burn_in,
            thin=self.thin,
            per_parameter=self.anisotropic,
        ).tolist()
        return draws

    def _candidate(self, theta: Sequence[float], models: Models) -> Candidate:
        columns = models.spread(np.array(theta)) if self.anisotropic else theta[0]
        return length_scale_candidate(self.base_kernel(), columns, theta_label(theta))

    def learn(self, state: ChainState, memo: Memo, history: Told) -> None:
        """Keep the end of the chain."""
        state.thetas = memo["thetas"]
        state.t += 1  # line 5

    def alive(self, state: ChainState) -> list[str]:
        """Return the label of the middle of the latest draws."""
        return [_middle_label(state.thetas)] if state.thetas else []


def _middle_label(thetas: list[list[float]]) -> str:
    """Return the label of the geometric mean of the draws."""
    return theta_label(np.exp(np.log(thetas).mean(axis=0)))


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


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(
            f"The '{name}' of MCMCGPUCB must be an integer >= {least}. Got {value!r} "
            "instead."
        )
