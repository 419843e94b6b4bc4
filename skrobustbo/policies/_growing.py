"""GP-UCB with a function class that grows over time (A-GP-UCB)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from skrobustbo._arguments import require
from skrobustbo._forms import Consistent, Finite, Positive
from skrobustbo.acquisition import UCB
from skrobustbo.policies._base import (
    Argmax,
    Array,
    Metadata,
    NoEstimate,
    Pending,
    PolicyState,
    Predicted,
    Proposal,
    Resumed,
    Setup,
    Told,
    UCBPolicy,
)
from skrobustbo.policies._beta import band_beta, depends_on_norm
from skrobustbo.policies._models import (
    Given,
    candidate_models,
    initial_length_scale,
    length_scale_candidate,
    map_length_scales,
    metadata_of,
)
from skrobustbo.policies._settings import Power, settings
from skrobustbo.surrogate import Candidate, GammaPrior, Models, Posterior, Prior

Growth = float | Callable[[int], float]

#: Ratio of the bracket in the search for h.
_BRACKET = 1.5
#: Precision of h.
_PRECISION = {"regret-bound": 1e-9, "one-step": 1e-2}


def _fit_combine(theta: list[float], at: Resumed) -> bool:
    return at.policy.combine is not None and len(theta) == at.setup.n_parameters


#: One length scale per parameter, if they are used.
_Scales = Annotated[list[Positive], Consistent(_fit_combine)]


@dataclass
class GrowingState(PolicyState):
    """Run-time state of `AGPUCB`.

    Attributes
    ----------
    theta0 : float
        Initial length scale.
    h : float
        Growth of the function class so far, if it is matched to a reference regret.
    width : float
        Sum of 2 beta sigma over all told queries, in units of the objective.
    estimate : list of float
        The latest MAP length scales. Empty before the first estimate and if they are
        not used.
    """

    theta0: Positive
    h: Positive = 1.0
    width: Finite = 0.0
    estimate: NoEstimate | _Scales = field(default_factory=list)


class _Grown(Predicted):
    """Metadata of `AGPUCB`."""

    h: Positive
    width: Finite


@settings
class AGPUCB(UCBPolicy, name="a-gp-ucb"):
    """Adaptive GP-UCB (Berkenkamp, Schoellig, Krause 2019, Algorithm 1).

    The length scale shrinks and the norm bound grows over time, so the function class
    eventually contains the objective, regardless of the initial values. The growth is
    either specified by the functions g and b or matched to a reference regret p. In the
    latter case, the regret estimate falls below p as the search converges, and the
    class then grows until the estimate equals p again.

    Pseudo-code (t: number of previous queries; p, C1, lambda: see below)::

         1  for t = 0, 1, 2, ...
         2      h(t) = max(h(t-1), h*), where the regret estimate at h* is p(t)
         3      eps_g = (-(1 + lambda) + sqrt((1 + lambda)^2 + 4 lambda (h - 1)))
                        / (2 lambda); eps_b = lambda eps_g
         4      g^d = 1 + eps_g; b = 1 + eps_b
         5      theta_t = theta0 / g
         6      B_t = b g^d B0; beta_t = B_t + 4 noise sqrt(I + 1 + ln(1 / delta))
         7      x_{t+1} = argmax over x of mu_t(x) + beta_t sigma_t(x)
         8      y_{t+1} = f(x_{t+1}) + noise; add it to the data
        Regret estimates:
         9      I~ = (g(h) / g(t-1))^d I at theta_{t-1}
        10      regret bound (15): sqrt(C1 t) beta(h, I~) sqrt(I~)
        11      one step (16): sum over j < t of 2 beta_j sigma_j(x_{j+1})
                               + 2 beta(h) sigma(x(h)), x(h) the argmax of UCB under h
        With the MAP length scales theta_MAP:
        12      "min" (17): theta_t = min(theta_MAP, theta0 / g), elementwise
        13      "divide" (18): theta_t = theta_MAP / max(g, 1)
        With `candidates`, each with its own norm bound, in place of lines 5 and 6:
       14      theta_t = the candidate closest to theta_ML / max(g, 1), where theta_ML
                   is the length scale of the most likely candidate

    Here, C1 = 8 / ln(1 + noise^-2). Line 9 uses the ratio from the text of the paper;
    equation (15) contains only g(t)^d. With lambda = 0, lines 3 and 4 result in g =
    h^(1/d), whereas the text states g = h. If beta does not depend on the norm bound,
    lines 3 and 4 are replaced by g = h and b = 1.

    The initial design is included in I but not in t. Failed and pending queries are
    included in t and in the sum of line 11, because their widths are known when they
    are asked.

    Parameters
    ----------
    {kernel}
    theta0 : float or None, default=1.0
        Initial length scale, in unit-cube coordinates. If None, it is the maximum
        likelihood estimate for the initial design, limited to the diameter of the
        space.
    norm_bound : float, default=2.0
        Initial norm bound B0.
    matching : {"one-step", "regret-bound"} or None, default="one-step"
        How to match the growth to the reference regret: with line 11 for "one-step",
        with line 10 for "regret-bound", or not at all for None.
    growth : float or callable, default=0.0
        Growth function g, which is used if `matching` is None. A number a specifies
        t**a, with the value 1 at t = 0. A callable must be nondecreasing with g(0) = 1.
    norm_growth : float or callable, default=0.0
        Growth function b, which is specified in the same way as g.
    reference : float or callable, default=0.9
        Reference regret p, in units of the model. A number a specifies t**a. A callable
        must be sublinear and nondecreasing.
    balance : float, default=0.1
        Trade-off lambda between a larger norm bound (infinity) and a shorter length
        scale (0).
    ceiling : float, default=0.9
        Exponent of the limit (t + 1)**ceiling on h(t). This is the only limit if the
        widths are too small to reach the reference regret, for example with a small
        constant `beta`. For ``balance=0`` and an RBF kernel, the regret bound in
        Corollary 3 requires a value below 1/3. The default value is a practical choice.
    combine : {"min", "divide"} or None, default=None
        How to use the MAP length scales of the parameters: as in line 12 for "min", as
        in line 13 for "divide", or not at all for None.
    prior : Prior, default=None
        Prior of the MAP length scales, in unit-cube coordinates. If None, Gamma(3, 6)
        is used.
    candidates : list of Kernel or Candidate, default=None
        Candidate models for line 14. Each kernel must have a single length scale. This
        variant is used in "Beyond lengthscales" (Ziomek, Adachi, Osborne, section 5),
        where g is t**0.9. It requires ``matching=None`` and ``combine=None``.
    information_gain : {"posterior", "bound", "rate"}, default="posterior"
        How to compute the information gain for the schedule and for line 9. "rate"
        requires a single length scale for all parameters, so it cannot be used with
        `combine`.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import AGPUCB
    >>> AGPUCB(matching=None, growth=0.5)
    AGPUCB(growth=0.5, matching=None)
    """

    state_type: ClassVar[type] = GrowingState
    metadata_type: ClassVar[type] = _Grown
    kept = ("estimate",)

    theta0: Positive | None = 1.0
    norm_bound: Positive = 2.0
    matching: Literal["regret-bound", "one-step"] | None = "one-step"
    growth: Growth = 0.0
    norm_growth: Growth = 0.0
    reference: Power | Callable[[int], float] = 0.9
    balance: float = 0.1
    ceiling: Power = 0.9
    combine: Literal["min", "divide"] | None = None
    candidates: Given | None = None
    prior: Prior | None = None
    beta: float | str = "a-gp"

    def check(self) -> None:
        super().check()
        for name in ("growth", "norm_growth"):
            value = getattr(self, name)
            grows = value(0) == 1 if callable(value) else 0 <= value < np.inf
            expected = "a number >= 0 or a callable that is 1 at t = 0"
            require(grows, self, name, expected)
        require(self.balance >= 0, self, "balance", "a number >= 0")
        rate = self.combine is None or self.information_gain != "rate"
        require(rate, self, "combine", "None where the information gain is a 'rate'")
        if self.candidates is not None:
            alone = self.matching is None and self.combine is None
            expected = "None unless matching=None, combine=None"
            require(alone, self, "candidates", expected)
            models = candidate_models(self.candidates)
            scales = [np.size(getattr(u.kernel, "length_scale", ())) for u in models]
            expected = "kernels with one length scale each"
            require(scales == [1] * len(models), self, "candidates", expected)

    def start(self, setup: Setup, models: Models) -> GrowingState:
        """Return the initial state, before the function class has grown."""
        theta0 = self.theta0
        if theta0 is None:
            theta0 = initial_length_scale(self.base_kernel(), setup.diameter, models)
        return GrowingState(setup.n_parameters, float(theta0))

    def suggest(
        self, state: GrowingState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Grow the function class if necessary, then return the maximiser of UCB."""
        step = _Step(self, state, models, argmax, pending)
        if self.matching is None:
            h, g, b = 1.0, _grown(self.growth, step.t), _grown(self.norm_growth, step.t)
        else:
            h = step.matched(self.matching)
            g, b = self.factors(h, state.n_parameters)
        posterior = models[step.candidate(g, b)]
        beta = step.beta(posterior)
        x, _ = argmax(UCB(posterior, beta))  # line 7
        # Without a unit, the loss is not known.
        unit = 0.0 if math.isnan(models.unit) else models.unit
        width = step.width(posterior, beta, x) * unit
        kept = {"h": h, "width": width, "estimate": step.estimate}
        return x, metadata_of(models, posterior, x, **kept)

    def learn(self, state: GrowingState, metadata: Metadata, history: Told) -> None:
        """Store the growth, width and estimate of the query."""
        super().learn(state, metadata, history)  # line 8
        state.h = max(state.h, metadata["h"])
        state.width += metadata["width"]

    def factors(self, h: float, d: int) -> tuple[float, float]:
        """Return the factors g and b for the growth `h`."""
        if not depends_on_norm(self.beta):
            return h, 1.0
        if math.isinf(self.balance):
            return 1.0, h
        # The root of line 3, in a form that also holds for lambda = 0.
        total = 1 + self.balance
        root = math.sqrt(total**2 + 4 * self.balance * (h - 1))
        eps_g = 2 * (h - 1) / (total + root)  # line 3
        return float((1 + eps_g) ** (1 / d)), 1 + self.balance * eps_g  # line 4

    def p(self, t: int) -> float:
        """Return the reference regret at `t`."""
        p = self.reference
        return float(p(t) if callable(p) else t**p)


class _Step:
    """Quantities for one query that are shared by the regret estimates."""

    def __init__(
        self,
        policy: AGPUCB,
        state: GrowingState,
        models: Models,
        argmax: Argmax,
        pending: Pending,
    ) -> None:
        self.policy, self.models, self.argmax = policy, models, argmax
        self.d, self.theta0 = state.n_parameters, state.theta0
        self.t = state.t + len(pending)  # line 1
        self.h = max([state.h, *(metadata["h"] for metadata in pending)])
        widths: list[float] = [metadata["width"] for metadata in pending]
        self.spent = state.width + sum(widths)
        self.estimate: list[float] = []
        if policy.combine is not None:
            prior = GammaPrior(3.0, 6.0) if policy.prior is None else policy.prior
            start = state.estimate or None
            theta = map_length_scales(policy.base_kernel(), models, start, prior)
            self.estimate = theta.tolist()

    def candidate(self, g: float, b: float) -> Candidate:
        """Return the model of the function class for the growth factors `g` and `b`."""
        if self.policy.candidates is not None:
            return self.nearest(g)
        theta = self.theta(g)
        columns = self.models.spread(theta) if self.estimate else theta[0]
        kernel, norm = self.policy.base_kernel(), self.norm(g, b)
        return length_scale_candidate(kernel, columns, theta, norm_bound=norm)

    def nearest(self, g: float) -> Candidate:
        """Return the candidate closest to theta_ML / max(g, 1), as in line 14."""
        given = candidate_models(self.policy.candidates or ())
        thetas = np.array([u.kernel.length_scale for u in given])
        fit = [self.models[u].log_marginal_likelihood for u in given]
        grown = thetas[int(np.argmax(fit))] / max(g, 1.0)
        return given[int(np.argmin(np.abs(thetas - grown)))]  # line 14

    def theta(self, g: float) -> Array:
        """Return a single length scale, or one per parameter for MAP estimates."""
        theta = np.array([self.theta0 / g])  # line 5
        if self.policy.combine == "min":
            theta = np.minimum(self.estimate, theta)  # line 12
        elif self.policy.combine == "divide":
            theta = np.array(self.estimate) / max(g, 1.0)  # line 13
        return theta

    def norm(self, g: float, b: float) -> float:
        return float(b * g**self.d * self.policy.norm_bound)  # line 6

    def beta(self, posterior: Posterior) -> float:
        """Return beta for this query."""
        return self.policy.beta_of(posterior, self.d, self.t + 1)

    def width(self, posterior: Posterior, beta: float, x: Array) -> float:
        """Return 2 beta sigma, the largest regret within the confidence band at `x`."""
        return 2 * beta * posterior.told_deviation(x)

    def matched(self, matching: str) -> float:
        """Return the growth h(t) that matches the reference regret."""
        bound = matching == "regret-bound"
        regret = self.regret_bound() if bound else self.one_step
        ceiling = max(self.h, (self.t + 1.0) ** self.policy.ceiling)
        target, precision = self.policy.p(self.t), _PRECISION[matching]
        return first_crossing(regret, target, self.h, ceiling, precision)  # line 2

    def regret_bound(self) -> Callable[[float], float]:
        """Return the regret estimate (15) as an increasing function of h."""
        policy = self.policy
        g_before, b_before = policy.factors(self.h, self.d)
        before = self.models[self.candidate(g_before, b_before)]
        gain_before = policy.gain_of(before, self.d)
        c1_t = 8 / math.log1p(self.models.noise**-2) * self.t
        band = policy.band_of(before, self.d, self.t + 1)

        def regret(h: float) -> float:
            g, b = policy.factors(h, self.d)
            gain = (g / g_before) ** self.d * gain_before  # line 9
            grown = replace(band, norm=self.norm(g, b), gain=lambda: gain)
            return math.sqrt(c1_t * gain) * band_beta(policy.beta, grown)  # line 10

        return regret

    def one_step(self, h: float) -> float:
        """Return the regret estimate (16) for the growth `h`."""
        candidate = self.candidate(*self.policy.factors(h, self.d))
        # A trial growth is discarded; the present one is probably kept.
        keep = h == self.h
        posterior = self.models[candidate] if keep else self.models.at(candidate)
        beta = self.beta(posterior)
        x, _ = self.argmax(UCB(posterior, beta), inner=True)
        width = self.width(posterior, beta, x)  # line 11
        # Widths are in units of the objective.
        return self.spent / self.models.scale + width  # line 11


def _grown(growth: Growth, t: int) -> float:
    """Return the value of a growth function at `t`, which is 1 for t = 0."""
    return float(growth(t) if callable(growth) else max(t, 1) ** growth)


def first_crossing(
    regret: Callable[[float], float],
    target: float,
    low: float,
    ceiling: float,
    precision: float,
) -> float:
    """Return the first h >= `low` at which the regret estimate reaches the target.

    The estimate may not be monotone, so h is first increased geometrically and then
    refined by bisection. If the estimate stays below the target, the ceiling is
    returned. The precision is relative.
    """
    if regret(low) >= target:
        return low
    high = min(low * _BRACKET, ceiling)
    while regret(high) < target:
        if high >= ceiling:
            return ceiling
        low, high = high, min(high * _BRACKET, ceiling)
    while high > low * (1 + precision):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if regret(middle) >= target else (middle, high)
    return high
