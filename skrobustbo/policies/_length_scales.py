"""Balancing the length scales of a grid, and norms (LB- and LNB-GP-UCB)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from skrobustbo._arguments import require
from skrobustbo._forms import Positive
from skrobustbo.kernels import smoothness
from skrobustbo.policies._balancing import Balancing, BalancingState, rate_regret
from skrobustbo.policies._beta import checked_smoothness
from skrobustbo.policies._interface import Setup
from skrobustbo.policies._models import initial_length_scale, length_scale_candidate
from skrobustbo.policies._settings import PositiveInt, Power, settings
from skrobustbo.surrogate import Candidate, Models

_TIE = 1e-9  # q(l+1) may equal theta0 / g(t) exactly, but for rounding


@settings
class LBGPUCB(Balancing, name="lb-gp-ucb"):
    """Length-scale balancing GP-UCB (Ziomek, Adachi, Osborne 2024, Algorithm 1).

    Several length scales share the data. The one with the smallest suspected regret
    after one more query asks next, so short ones are tried now and then. Those whose
    results are worse than their models claim are eliminated. Candidates are
    q(i) = theta0 / ratio**i. R is the suspected regret bound, and xi_t = 2 noise**2
    ln(A pi**2 t**2 / (3 delta)), where A is the number of candidates introduced.

    Pseudo-code (Theta: surviving length scales; S: queries of each)::

        1  Theta = {q(0), ..., q(l)} with every q(i) >= theta0 / g(1); S = {}
        2  for t = 1, 2, ...
        3      theta_t = argmin over theta in Theta of R(theta, |S(theta)| + 1)
        4      x_t = argmax over x of UCB of theta_t
        5      y_t = f(x_t) + noise
        6      add (x_t, y_t) to the data, shared by all
        7      add t to S(theta_t)
        8      if every theta in Theta has |S(theta)| > 0
        9          m(theta) = mean of y over S(theta); r(theta) = sqrt(xi_t/|S(theta)|)
       10          L(theta) = m(theta) - r(theta)
       11          keep theta iff m(theta) + r(theta)
                       + (2 / |S(theta)|) sum over S(theta) of beta sigma >= max of L
       12      while q(l + 1) >= theta0 / g(t)
       13          add q(l + 1) to Theta; l = l + 1

    Lines 11 and 12 have the inequalities of the paper's proof (Lemma B.2); the printed
    algorithm has m - r on the left of 11 and the inequality of 12 inverted. A candidate
    that attains the maximum in line 11 always stays, so the last one is never removed.
    The paper's RBF kernel is exp(-r**2 / theta**2). Its length scales are sqrt(2) times
    those of scikit-learn's kernel, which this class uses.

    Parameters
    ----------
    kernel : Kernel, default=None
        The kernel at length scale 1, Matern or RBF; Matern-5/2 if None.
    theta0 : float, default=None
        Longest length scale, in unit-cube coordinates. None: the maximum likelihood
        estimate on the initial design, at most the diameter of the space.
    growth : float or callable, default=0.5
        g: a number a means g(t) = max(g0, t**a), where g0 gives `n_candidates` from the
        start. A callable is g itself, nondecreasing in t >= 1.
    n_candidates : int, default=5
        Number of candidates at t = 1; ignored if `growth` is a callable.
    ratio : float or {"paper", "code"}, default="paper"
        Ratio of successive length scales: e**(1/d) in the paper, e**(1/(d + 2 nu)) in
        the authors' code.
    norm_bound : float, default=1.0
        Norm bound at theta0; B(theta) = (theta0 / theta)**(d/2) norm_bound.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import LBGPUCB
    >>> LBGPUCB(theta0=1.0, n_candidates=3)
    LBGPUCB(n_candidates=3, theta0=1.0)
    """

    theta0: Positive | None = None
    growth: Power | Callable[[int], float] = 0.5
    n_candidates: PositiveInt = 5
    ratio: float | Literal["paper", "code"] = "paper"
    norm_bound: Positive = 1.0

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        checked_smoothness(self.base_kernel())
        ratio = self.ratio
        known = isinstance(ratio, str) or 1 < ratio < math.inf
        require(known, self, "ratio", "'paper', 'code' or a number > 1")
        rough = ratio != "code" or smoothness(self.base_kernel()) != math.inf
        require(rough, self, "ratio", "'paper' or a number > 1 for the RBF kernel")

    def longest(self, setup: Setup, models: Models) -> float:
        """Return theta0, as given or by maximum likelihood."""
        if self.theta0 is not None:
            return float(self.theta0)
        return initial_length_scale(self.base_kernel(), setup, models)

    def propose(self, state: BalancingState, t: int) -> list[list[int]]:
        """Return the length scales that g admits after `t` queries."""
        return [[i, 0] for i in range(self.n_theta(state, t))]  # line 12, line 13

    # The quantities of the algorithm -------------------------------------------------

    def n_theta(self, state: BalancingState, t: int) -> int:
        """Return the number of q(i) >= theta0 / g(t), at the start those of g(1)."""
        d = state.n_parameters
        return _admitted(self.g(max(t, 1), d), self.step(d))  # line 1, line 12

    def theta(self, state: BalancingState, i: int) -> float:
        """Return the length scale of candidate `i`, one of the q."""
        level, _ = state.introduced[i]
        return float(state.theta0 * self.step(state.n_parameters) ** -level)  # line 13

    def step(self, d: int) -> float:
        """Return the ratio of successive length scales."""
        if not isinstance(self.ratio, str):
            return float(self.ratio)
        nu = checked_smoothness(self.base_kernel()) if self.ratio == "code" else 0.0
        return math.exp(1 / (d + 2 * nu))  # line 13

    def g(self, t: int, d: int) -> float:
        """Return the growth function at t."""
        if callable(self.growth):
            return float(self.growth(t))
        g0 = self.step(d) ** (self.n_candidates - 1)  # line 12
        return max(g0, float(t**self.growth))  # line 12

    def norm(self, state: BalancingState, i: int) -> float:
        """Return B of candidate `i`: (theta0 / q)**(d/2) times its N."""
        ratio = state.theta0 / self.theta(state, i)  # line 3
        return float(ratio ** (state.n_parameters / 2) * self.N(state, i))  # line 3

    def N(self, state: BalancingState, i: int) -> float:
        """Return the norm at theta0 of candidate `i`: v(j) = N0 e**j, j = 0 in LB."""
        _, j = state.introduced[i]
        return self.norm_bound * math.exp(j)  # line 3

    def suspected_regret(self, state: BalancingState, i: int, n: int) -> float:
        """Return R(q, n) = sqrt(n) (B sqrt(gamma_n) + gamma_n)."""
        nu = checked_smoothness(self.base_kernel())
        theta, B = self.theta(state, i), self.norm(state, i)
        return rate_regret(n, theta, B, state.n_parameters, nu)

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        """Return the model of candidate `i`."""
        theta, B = self.theta(state, i), self.norm(state, i)
        return length_scale_candidate(self.base_kernel(), theta, norm_bound=B)


@settings
class LNBGPUCB(LBGPUCB, name="lnb-gp-ucb"):
    """Length-scale and norm balancing GP-UCB (Ziomek et al. 2024, Algorithm 3).

    LB-GP-UCB for an objective whose norm is also unknown. A candidate is a pair u of a
    length scale q(i) = theta0 / ratio**i and a norm v(j) = N0 e**j. R is the suspected
    regret bound, and xi_t = 2 noise**2 ln(A pi**2 t**2 / (3 delta)), where A is the
    number of pairs introduced.

    Pseudo-code (U: surviving pairs; S: queries of each)::

        1  U = all pairs of a q(i) >= theta0 / g(1) and a v(j) <= N0 b(1); S = {}
        2  for t = 1, 2, ...
        3      u_t = argmin over u in U of R(u, |S(u)| + 1)
        4      x_t = argmax over x of UCB of u_t
        5      y_t = f(x_t) + noise
        6      add (x_t, y_t) to the data, shared by all
        7      add t to S(u_t)
        8      if every u in U has |S(u)| > 0
        9          m(u) = mean of y over S(u); r(u) = sqrt(xi_t / |S(u)|)
       10          L(u) = m(u) - r(u)
       11          keep u iff m(u) + r(u)
                       + (2 / |S(u)|) sum over S(u) of beta sigma >= max of L
       12      for every pair of a q(i) >= theta0 / g(t) and a v(j) <= N0 b(t)
       13          add it to U, unless it has been there before

    Lines 11 and 12 have the inequalities of the paper's proof. The printed algorithm
    has m - r on the left of 11 and q(i) >= theta0 / g(t) inverted, and it skips q(1)
    and v(1). Only pairs are removed, never a length scale or a norm. A new length scale
    is paired with every norm introduced, and a new norm with every length scale. Ties
    in line 3 go to the pair introduced first, at the start the longest length scale.

    Parameters
    ----------
    {kernel}
    growth : float or callable, default=0.5
        g: a number a means g(t) = max(g0, t**a), where g0 gives `n_candidates` length
        scales from the start. A callable is g itself, nondecreasing in t >= 1.
    norm_growth : float or callable, default=0.5
        b: a number a means b(t) = t**a. A callable is b itself, nondecreasing in
        t >= 1.
    n_candidates : int, default=5
        Number of length scales at t = 1; ignored if `growth` is a callable.
    norm_bound : float, default=1.0
        N0, the smallest norm bound at theta0; a pair has the norm bound
        (theta0 / q(i))**(d/2) v(j).
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import LNBGPUCB
    >>> LNBGPUCB(beta="self-normalised", norm_bound=0.25)
    LNBGPUCB(beta='self-normalised', norm_bound=0.25)
    """

    norm_growth: Power | Callable[[int], float] = 0.5

    def propose(self, state: BalancingState, t: int) -> list[list[int]]:
        """Return the pairs that g and b admit after `t` queries."""
        norms = range(_admitted(self.b(max(t, 1)), math.e))  # line 1, line 12
        thetas = range(self.n_theta(state, t))
        return [[i, j] for j in norms for i in thetas]  # line 12, line 13

    def b(self, t: int) -> float:
        """Return the growth function of the norm at t."""
        if callable(self.norm_growth):
            return float(self.norm_growth(t))
        return float(t**self.norm_growth)  # line 12

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        """Return the model of pair `i`, its norm at theta0 in the label."""
        model = super().candidate(state, i)
        label = f"{model.label}, N={self.N(state, i):.3g}"
        return Candidate(model.kernel, norm_bound=model.norm_bound, label=label)


def _admitted(g: float, ratio: float) -> int:
    """Return the number of i = 0, 1, ... with ratio**i <= g, 0 always among them."""
    levels = math.log(max(g, 1.0)) / math.log(ratio)  # line 12
    return math.floor(levels + _TIE) + 1  # line 12
