"""Expected improvement with shrinking bounds on the length scales (BOHO)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from skrobustbo._arguments import require
from skrobustbo._forms import Count, Positive
from skrobustbo._trials import Survivor
from skrobustbo.acquisition import EI, UCB
from skrobustbo.policies._base import (
    Argmax,
    Array,
    CountTold,
    LengthScales,
    Metadata,
    NoEstimate,
    Pending,
    Policy,
    Predicted,
    Proposal,
    Setup,
    Told,
)
from skrobustbo.policies._models import (
    LENGTH_SCALE_BOUNDS,
    estimated,
    estimated_model,
    metadata_of,
)
from skrobustbo.policies._settings import Share, settings
from skrobustbo.surrogate import FlatPrior, Models, Posterior

#: Number of consecutive over-confident steps after which the upper bounds shrink.
_PATIENCE = 5
#: Starts of the likelihood fit, as fractions of the upper bound.
_STARTS = (1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125)


@dataclass
class BOHOState:
    """Run-time state of `BOHO`.

    Attributes
    ----------
    upper : list of float
        Upper bound theta^U on the length scales, or one upper bound per parameter.
    t : int
        Number of queries told so far.
    confident : int
        Number E of consecutive steps in which the model was over-confident.
    theta : list of float
        The latest length scales. Empty before the first estimate.
    """

    upper: LengthScales
    t: CountTold = 0
    confident: Count = 0
    theta: NoEstimate | LengthScales = field(default_factory=list)


class _Fitted(Predicted):
    """Metadata of `BOHO`."""

    theta: LengthScales
    confident: bool


@settings
class BOHO(Policy, name="boho"):
    """Bayesian optimisation with hyperparameter optimisation (Wang, de Freitas 2014).

    This policy maximises the expected improvement with maximum likelihood length
    scales. The upper bounds on the length scales shrink if the model is over-confident.
    This is the case if it repeatedly chooses points at which its standard deviation is
    smaller than that of the noise.

    Pseudo-code of Algorithm 1 (I: information gain of the points seen so far)::

         1  E = 0
         2  for t = 1, 2, ...
         3      x_t = argmax over x of EI(x) = nu sigma (a Phi(a) + phi(a)),
                    a = (mu - mu+) / (nu sigma), mu+ = max over x of mu
         4      if sigma_{t-1}(x_t)^2 < t_sigma noise^2
         5          E = E + 1
         6      else
         7          E = 0
         8      end if
         9      y_t = f(x_t) + noise; add (x_t, y_t) to the data
        10      if E = 5
        11          theta^U_i = max(min(p max_j theta^U_j, theta^U_i), theta^L_i)
        12          E = 0
        13      end if
        14      theta = argmax of the likelihood, theta^L <= theta <= theta^U
        15      nu between c1 sqrt(xi) and c2 sqrt(xi), where xi = I + sqrt(
                    ln(2 t^2 pi^2 / (3 delta)) I) + ln(t^2 pi^2 / (3 delta))
        16  end for

    In this implementation, lines 14 and 15 run at the start of the next step, and once
    for the initial design. Line 15 includes the square root that the theorem requires,
    because nu multiplies a standard deviation and xi is a variance. The printed
    algorithm omits the square root. The value of nu is the maximum likelihood estimate
    of this factor, clipped to the range in line 15.

    Parameters
    ----------
    {kernel}
    lower : float or sequence of float, default=0.005
        Lower bound theta^L on the length scales, in unit-cube coordinates. A sequence
        specifies one bound per parameter.
    upper : float, sequence of float or None, default=None
        Initial upper bound theta^U on the length scales. If None, it is the diameter of
        the space.
    anisotropic : bool, default=True
        Whether to use a separate length scale for each parameter.
    threshold : float, default=1.0
        The factor t_sigma in line 4.
    shrink : float, default=0.5
        The factor p in line 11.
    nu : float or None, default=None
        Fixed value of nu. If None, nu is computed in line 15.
    nu_range : (float, float), default=(0.001, 1.0)
        The constants c1 and c2 in line 15.
    incumbent : {"mu", "f"}, default="mu"
        Value to improve on: the largest posterior mean for "mu", or the best told value
        for "f". Estimated values of candidates stopped by a race are not considered.
    delta : float, default=0.1
        The probability delta in line 15, which is not specified in the paper.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import BOHO
    >>> BOHO(upper=0.5, nu=1.0)
    BOHO(nu=1.0, upper=0.5)
    """

    state_type: ClassVar[type] = BOHOState
    metadata_type: ClassVar[type] = _Fitted

    lower: Positive | Sequence[Positive] = LENGTH_SCALE_BOUNDS[0]
    upper: Positive | Sequence[Positive] | None = None
    anisotropic: bool = True
    threshold: float = 1.0
    shrink: Share = 0.5
    nu: Positive | None = None
    nu_range: tuple[float, float] = (0.001, 1.0)
    incumbent: Literal["mu", "f"] = "mu"
    delta: Share = 0.1

    def check(self) -> None:
        super().check()
        if self.upper is not None:
            above = np.all(np.asarray(self.lower) <= self.upper)
            require(above, self, "upper", "at least 'lower'")
        require(self.threshold > 0, self, "threshold", "positive")
        pair = len(self.nu_range) == 2
        pair = pair and 0 < self.nu_range[0] < self.nu_range[1] < np.inf
        require(pair, self, "nu_range", "two positive numbers, the smaller first")

    def start(self, setup: Setup, models: Models) -> BOHOState:
        """Return a state with the initial upper bounds."""
        n = len(models.groups) if self.anisotropic else 1
        for name in ("lower", "upper"):
            given = np.size(getattr(self, name))
            expected = f"one number or {n}, one for each length scale"
            require(given in (1, n), self, name, expected)
        lower = np.broadcast_to(self.lower, n)
        upper = setup.diameter if self.upper is None else self.upper
        return BOHOState(np.maximum(upper, lower).tolist())  # line 1

    def suggest(
        self, state: BOHOState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the point with the largest expected improvement, after fitting."""
        theta = self._estimate(state, models)
        posterior = models[estimated_model(self, models, theta)]
        t = state.t + len(pending) + 1  # line 2
        if self.incumbent == "f":
            best = models.best
        else:
            _, best = argmax(UCB(posterior, 0.0), inner=True)
        x, _ = argmax(EI(posterior, best, self.scale(posterior, t)))  # line 3
        variance = posterior.told_deviation(x) ** 2
        confident = variance < self.threshold * posterior.noise**2  # line 4
        learnt = {"theta": theta.tolist(), "confident": confident}
        return x, metadata_of(models, posterior, x, **learnt)

    def _estimate(self, state: BOHOState, models: Models) -> Array:
        upper = np.array(state.upper)
        # Cold starts in addition to the warm one: the likelihood may have several
        # peaks.
        warm = [np.array(state.theta)] if state.theta else []
        starts = [*warm, *(share * upper for share in _STARTS)]
        return models.fit(
            self.base_kernel(),
            FlatPrior(),
            (np.broadcast_to(self.lower, len(upper)), upper),  # line 14
            starts,
            per_parameter=self.anisotropic,
        )

    def scale(self, posterior: Posterior, t: int) -> float:
        """Return the value of nu at query `t`."""
        if self.nu is not None:
            return float(self.nu)
        root = math.sqrt(self.xi(posterior.information_gain, t))
        low, high = (c * root for c in self.nu_range)
        return min(max(posterior.output_scale, low), high)  # line 15

    def xi(self, gain: float, t: int) -> float:
        """Return the squared width of the confidence band in line 15."""
        log = math.log(t**2 * math.pi**2 / (3 * self.delta))
        return gain + math.sqrt((math.log(2) + log) * gain) + log

    def learn(self, state: BOHOState, metadata: Metadata, history: Told) -> None:
        """Reduce the upper bounds after five consecutive over-confident steps."""
        state.t += 1  # line 9, line 16
        state.theta = metadata["theta"]
        if metadata["confident"]:  # line 4
            state.confident += 1  # line 5
        else:  # line 6
            state.confident = 0  # line 7, line 8
        if state.confident == _PATIENCE:  # line 10
            state.upper = self.shrunk(state.upper)
            state.confident = 0  # line 12, line 13

    def shrunk(self, upper: Sequence[float]) -> list[float]:
        """Return the reduced upper bounds."""
        largest = self.shrink * max(upper, default=0.0)
        lower = np.broadcast_to(self.lower, len(upper))
        capped = [min(largest, bound) for bound in upper]
        return [max(u, float(b)) for u, b in zip(capped, lower, strict=True)]  # line 11

    def alive(self, state: BOHOState) -> list[Survivor]:
        """Return the name and length scales of the latest model."""
        return estimated(state.theta)
