"""Policies that balance models by their suspected regret."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import numpy as np

from skrobustbo._arguments import require
from skrobustbo._forms import Count, Positive
from skrobustbo.acquisition import UCB
from skrobustbo.kernels import smoothness
from skrobustbo.policies._base import (
    Argmax,
    Array,
    Credited,
    Index,
    IndexTold,
    Metadata,
    Pending,
    PolicyState,
    Proposal,
    Setup,
    Told,
    UCBPolicy,
)
from skrobustbo.policies._beta import checked_smoothness, rate_gain
from skrobustbo.policies._models import (
    HALVES,
    Given,
    initial_length_scale,
    is_usable,
    length_scale_candidate,
    metadata_of,
)
from skrobustbo.policies._settings import PositiveInt, Power, settings
from skrobustbo.surrogate import Candidate, Models

_TIE = 1e-9  # q(l+1) may equal theta0 / g(t) up to rounding


class RegretBalancer:
    """Rule that distributes evaluations among models or branches of a space.

    The rule of Ziomek, Adachi and Osborne (2024) is applied to any kind of candidate.
    Each query is assigned to the candidate with the smallest suspected regret,
    including the regret of the new query. Candidates whose results are worse than
    predicted are eliminated. Line numbers refer to the pseudo-code of `HBGPUCB`.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise, in units of the model.
    delta : float
        Probability that the correct candidate is eliminated because of noise.
    least : int, default=1
        Number of successful queries that a candidate needs before it can be eliminated.
    """

    def __init__(self, noise: float, delta: float, least: int = 1) -> None:
        self.noise, self.delta, self.least = noise, delta, least

    @staticmethod
    def counts(members: Sequence[Sequence[int]], pending: Iterable[int]) -> list[int]:
        """Return the number of queries of each candidate after its next query.

        Pending queries are included.
        """
        n = [len(queries) + 1 for queries in members]  # line 3
        for candidate in pending:
            n[candidate] += 1
        return n

    @staticmethod
    def turn(R: Mapping[int, float]) -> int:
        """Return the first candidate with the smallest suspected regret."""
        return min(R, key=R.__getitem__)  # line 3

    def survivors(
        self, z: Mapping[int, Array], slack: Mapping[int, float], n: int, t: int
    ) -> list[int]:
        """Return the candidates whose results are not worse than predicted.

        The candidate that attains the maximum in line 11 is always kept, so at least
        one candidate survives. The finite values of each candidate are in `z`, and the
        mean of 2 beta sigma over its queries is in `slack`, both in units of the model.
        The total numbers of candidates and queries are `n` and `t`.
        """
        xi = self.xi(n, t)
        m = {i: float(v.mean()) for i, v in z.items() if len(v)}  # line 9
        r = {i: math.sqrt(xi / len(z[i])) for i in m}  # line 9
        best = max((m[i] - r[i] for i in m), default=-math.inf)  # line 10
        return [
            i
            for i in z
            if len(z[i]) < self.least or m[i] + r[i] + slack[i] >= best  # line 11
        ]

    def xi(self, n: int, t: int) -> float:
        """Return the noise term xi_t in line 9, which assumes Gaussian noise."""
        tail = math.log(n * math.pi**2 * t**2 / (3 * self.delta))  # line 9
        return 2 * self.noise**2 * tail  # line 9


@dataclass
class BalancingState(PolicyState):
    """Run-time state of the balancing policies.

    Attributes
    ----------
    theta0 : float
        The longest length scale of the grid, or 1 if there is no grid.
    introduced : list of list of int
        Keys of all candidates introduced so far, including eliminated ones. `HBGPUCB`
        uses the key [i], where i is the index of the candidate. The other policies use
        [i, j] for the length scale q(i) and the norm v(j).
    alive : list of int
        Indices of the surviving candidates in `introduced`.
    members : list of list of int
        History indices of the queries chosen by each introduced candidate.
    widths : list of list of float
        Value of beta times sigma before each query in `members`, in units of the
        objective.
    """

    theta0: Positive = 1.0
    introduced: list[list[Count]] = field(default_factory=list)
    alive: Annotated[list[Index], len] = field(default_factory=list)
    members: list[list[IndexTold]] = field(default_factory=list)
    widths: list[list[float]] = field(default_factory=list)

    def introduce(self, u: list[int]) -> None:
        self.alive.append(len(self.introduced))
        self.introduced.append(u)
        self.members.append([])
        self.widths.append([])


@settings
class Balancing(UCBPolicy):
    """Base class of the balancing policies (Ziomek et al. 2024, Algorithm 2).

    The pseudo-code of all balancing policies has the same line numbers. Subclasses
    implement `propose`, `candidate` and `suspected_regret`.

    Parameters
    ----------
    beta : float or str, default=1.0
        Width of the confidence band in standard deviations, or the name of a schedule
        that uses half of `delta`: "log", "igp", "a-gp", "self-normalised",
        "bayes-finite" or "bayes-continuous".
    delta : float, default=0.1
        Probability that the guarantee fails. Half applies to the confidence bands and
        half to the noise.
    """

    state_type: ClassVar[type] = BalancingState
    metadata_type: ClassVar[type] = Credited
    share: ClassVar[float] = 0.5  # the other half of delta is for the noise

    def propose(self, state: BalancingState, t: int) -> Iterable[list[int]]:
        """Return the keys of the candidates to introduce in the first `t` queries."""
        raise NotImplementedError

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        """Return the model of the candidate at index `i` of `introduced`."""
        raise NotImplementedError

    def suspected_regret(self, state: BalancingState, i: int, n: int) -> float:
        """Return the suspected regret of candidate `i` after `n` of its queries."""
        raise NotImplementedError

    def n_introduced(self, state: BalancingState) -> int:
        """Return the number of candidates introduced, including eliminated ones."""
        return len(state.introduced)

    def longest(self, setup: Setup, models: Models) -> float:
        """Return theta0, the longest length scale."""
        raise NotImplementedError

    def start(self, setup: Setup, models: Models) -> BalancingState:
        """Return the initial state, which contains the first candidates."""
        state = BalancingState(setup.n_parameters, self.longest(setup, models))
        self._expand(state)  # line 1
        return state

    def suggest(
        self, state: BalancingState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the point chosen by the candidate with the least suspected regret."""
        chosen = self._balanced(state, pending)
        posterior = models[self.candidate(state, chosen)]
        t = state.t + len(pending) + 1  # line 2
        beta = self.beta_of(posterior, state.n_parameters, t)  # line 4
        x, _ = argmax(UCB(posterior, beta))  # line 4
        width = beta * posterior.told_deviation(x) * models.unit  # line 11
        return x, metadata_of(models, posterior, x, candidate=chosen, width=width)

    def _balanced(self, state: BalancingState, pending: Pending) -> int:
        """Return the index of the first candidate with the least suspected regret."""
        under_way = [metadata["candidate"] for metadata in pending]
        n = RegretBalancer.counts(state.members, under_way)  # line 3
        R = {i: self.suspected_regret(state, i, n[i]) for i in state.alive}
        return RegretBalancer.turn(R)  # line 3

    def learn(self, state: BalancingState, metadata: Metadata, history: Told) -> None:
        """Record the query of a candidate, then eliminate and introduce candidates."""
        state.t += 1  # line 2
        queries = history.values  # line 5, line 6
        state.members[metadata["candidate"]].append(len(queries) - 1)  # line 7
        state.widths[metadata["candidate"]].append(metadata["width"])
        self._eliminate(state, queries)
        self._expand(state)

    def consistent(
        self, state: BalancingState, pending: Pending, setup: Setup, n_told: int
    ) -> bool:
        n = self.n_introduced(state)
        return (
            super().consistent(state, pending, setup, n_told)
            and list(map(len, state.members)) == list(map(len, state.widths))
            and len(state.members) == n
            and all(is_usable(self.candidate(state, i)) for i in range(n))
        )

    def _eliminate(self, state: BalancingState, values: Array) -> None:
        """Eliminate the candidates whose results are worse than their bands allow."""
        z, _, scale = self.targets(values)
        finite = np.isfinite(values)
        S = {i: list(_judged(state, i, finite)) for i in state.alive}
        if not all(S.values()):  # line 8
            return
        slack = {i: self._slack(state, i, finite) / scale for i in S}
        told = {i: z[queries] for i, queries in S.items()}
        rule = RegretBalancer(self.noise, self.delta)
        n, t = self.n_introduced(state), state.t
        state.alive = rule.survivors(told, slack, n, t)  # line 9, line 10, line 11

    def _slack(self, state: BalancingState, i: int, finite: Array) -> float:
        """Return the mean of 2 beta sigma over S, in units of the objective."""
        widths = _judged(state, i, finite).values()
        return 2 * sum(widths) / len(widths)  # line 11

    def _expand(self, state: BalancingState) -> None:
        """Introduce the proposed candidates that have not been introduced yet."""
        for u in self.propose(state, state.t):  # line 12
            if u not in state.introduced:
                state.introduce(u)

    def surviving(self, state: BalancingState) -> list[Candidate]:
        """Return the candidates that have not been eliminated."""
        return [self.candidate(state, i) for i in state.alive]

    @property
    def norm_bounded(self) -> bool:
        """Always True, because the theory assumes a norm bound for any `beta`."""
        return True


def _judged(state: BalancingState, i: int, finite: Array) -> dict[int, float]:
    """Return the known widths of the successful queries of a candidate."""
    queries = zip(state.members[i], state.widths[i], strict=True)
    return {q: w for q, w in queries if finite[q] and not math.isnan(w)}


@settings
class HBGPUCB(Balancing, name="hb-gp-ucb"):
    """Hyperparameter balancing GP-UCB (Ziomek, Adachi, Osborne 2024, Algorithm 2).

    All candidate models use the same data. They may differ in any way, for example in
    their length scales, periods, additive decompositions or prior means. Each point is
    chosen by the candidate with the smallest suspected regret, including the regret of
    the new query. Candidates whose results are worse than their models predict are
    eliminated. Here, R is the suspected regret bound, a is the proposing function, and
    xi_t = 2 noise**2 ln(A pi**2 t**2 / (3 delta)), where A is the number of candidates
    introduced so far.

    Pseudo-code (U: surviving candidates; S(u): queries chosen by u)::

        1  U = a(0); S(u) = {} for every u in U
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
       12      add each new u in a(t) to U, with S(u) = {}

    The sign of r(u) in line 11 follows the proof in the paper (Lemma B.2); the printed
    algorithm has m(u) - r(u) instead. The candidate that attains the maximum in line 11
    is always kept, so at least one candidate survives. Ties in line 3 are broken in
    favour of the candidate introduced first.

    Parameters
    ----------
    kernel : Kernel, default=None
        Base kernel, rescaled by the length scales of the default candidates. If None, a
        Matern-5/2 kernel is used.
    candidates : list of Kernel or Candidate, default=None
        The candidate models. If None, they have the length scales theta0 2**-i and the
        norm bounds 2**(i d/2) norm_bound for i = 0, ..., 4. Here, theta0 is the maximum
        likelihood estimate for the initial design, limited to the diameter of the
        space.
    proposing : sequence of int or callable, default=None
        Schedule for the introduction of candidates. A sequence contains the number of
        queries after which each candidate is introduced, with 0 for the start. A
        callable takes the number of queries so far, starting at 0, and returns the
        total number of candidates to introduce by then. There is always at least one.
        If None, all candidates are introduced at the start.
    regret : callable, default=None
        Function that returns the suspected regret for the index of a candidate and its
        number of queries n. It must be nondecreasing in n, and a common factor has no
        effect. If None, the suspected regret is sqrt(n) (B sqrt(gamma) + gamma), where
        gamma is the growth rate of the information gain. This default requires Matern
        or RBF kernels and uses the geometric mean of several length scales.
    norm_bound : float, default=1.0
        Norm bound of candidates that are given as kernels. A `Candidate` specifies its
        own norm bound.
    {inherited}

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skrobustbo.policies import HBGPUCB
    >>> HBGPUCB(candidates=[RBF(0.5), RBF(0.1)], proposing=(0, 20))
    HBGPUCB(candidates=[RBF(length_scale=0.5), RBF(length_scale=0.1)],
            proposing=(0, 20))
    """

    candidates: Given | None = None
    proposing: Sequence[int] | Callable[[int], int] | None = None
    regret: Callable[[int, int], float] | None = None
    norm_bound: Positive = 1.0

    @property
    def n_candidates(self) -> int:
        """Total number of candidates that can be introduced."""
        return HALVES if self.candidates is None else len(self.candidates)

    def check(self) -> None:
        super().check()
        if self.regret is None:
            given = [self.base_kernel()] if self.candidates is None else self.candidates
            for u in given:
                kernel = u.kernel if isinstance(u, Candidate) else u
                expected = f"a callable for the kernel {kernel!r}"
                require(smoothness(kernel) is not None, self, "regret", expected)
        when = self.proposing
        if when is not None and not callable(when):
            known = len(when) == self.n_candidates and 0 in when
            expected = "one number per candidate, one of them 0"
            require(known, self, "proposing", expected)

    def longest(self, setup: Setup, models: Models) -> float:
        if self.candidates is not None:
            return 1.0
        return initial_length_scale(self.base_kernel(), setup.diameter, models)

    def propose(self, state: BalancingState, t: int) -> list[list[int]]:
        indices = range(self.n_candidates)  # line 1, line 12
        if callable(self.proposing):
            due = max(1, self.proposing(t))  # line 12
            return [[i] for i in indices[:due]]
        when = self.proposing or [0] * self.n_candidates
        return [[i] for i in indices if when[i] <= t]  # line 12

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        (index,) = state.introduced[i]
        if self.candidates is None:
            theta = state.theta0 * 0.5**index  # line 1
            norm = 2 ** (index * state.n_parameters / 2) * self.norm_bound  # line 1
            kernel = self.base_kernel()
            return length_scale_candidate(kernel, theta, norm_bound=norm)
        u = self.candidates[index]
        return u if isinstance(u, Candidate) else Candidate(u, None, self.norm_bound)

    def suspected_regret(self, state: BalancingState, i: int, n: int) -> float:
        """Return the suspected regret, by default from the information gain."""
        (index,) = state.introduced[i]
        if self.regret is not None:
            return float(self.regret(index, n))  # line 3
        u = self.candidate(state, i)
        theta = math.exp(float(np.mean(np.log(u.kernel.length_scale))))  # line 3
        nu = checked_smoothness(u.kernel)
        return rate_regret(n, theta, u.norm_bound, state.n_parameters, nu)


def rate_regret(n: int, theta: float, norm: float, d: int, nu: float) -> float:
    """Return the suspected regret sqrt(n) (B sqrt(gamma_n) + gamma_n)."""
    gamma = rate_gain(n, theta, d, nu)
    return math.sqrt(n) * (norm * math.sqrt(gamma) + gamma)  # line 3


# Grids of length scales, and norms ----------------------------------------------------


@settings
class LBGPUCB(Balancing, name="lb-gp-ucb"):
    """Length-scale balancing GP-UCB (Ziomek, Adachi, Osborne 2024, Algorithm 1).

    Models with different length scales use the same data. Each point is chosen by the
    length scale with the smallest suspected regret, including the regret of the new
    query. Short length scales are therefore tried occasionally. Length scales whose
    results are worse than their models predict are eliminated. The candidate length
    scales are q(i) = theta0 / ratio**i. Here, R is the suspected regret bound, and xi_t
    = 2 noise**2 ln(A pi**2 t**2 / (3 delta)), where A is the number of candidates
    introduced so far.

    Pseudo-code (Theta: surviving length scales; S(theta): queries chosen by theta)::

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

    The inequalities in lines 11 and 12 follow the proof in the paper (Lemma B.2). In
    the printed algorithm, the left side of line 11 contains m(theta) - r(theta), and
    the inequality in line 12 is reversed. The candidate that attains the maximum in
    line 11 is always kept, so at least one candidate survives. The RBF kernel in the
    paper is exp(-r**2 / theta**2), so its length scales are sqrt(2) times those of
    scikit-learn's RBF kernel, which is used here.

    Parameters
    ----------
    kernel : Kernel, default=None
        Matern or RBF kernel, rescaled by the length scales. If None, a Matern-5/2
        kernel is used.
    theta0 : float, default=None
        Longest length scale, in unit-cube coordinates. If None, it is the maximum
        likelihood estimate for the initial design, limited to the diameter of the
        space.
    growth : float or callable, default=0.5
        Growth function g. A number a specifies g(t) = max(g0, t**a), where g0 is chosen
        so that there are `n_candidates` candidates at the start. A callable must be
        nondecreasing for t >= 1.
    n_candidates : int, default=5
        Number of candidates at t = 1. It is ignored if `growth` is a callable.
    ratio : float or {"paper", "code"}, default="paper"
        Ratio of successive length scales. With "paper", it is e**(1/d), as in the
        paper. With "code", it is e**(1/(d + 2 nu)), as in the authors' code.
    norm_bound : float, default=1.0
        Norm bound at theta0; B(theta) is larger by a factor of (theta0 / theta)**(d/2).
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
        super().check()
        checked_smoothness(self.base_kernel())
        ratio = self.ratio
        known = isinstance(ratio, str) or 1 < ratio < math.inf
        require(known, self, "ratio", "'paper', 'code' or a number > 1")
        rough = ratio != "code" or smoothness(self.base_kernel()) != math.inf
        require(rough, self, "ratio", "'paper' or a number > 1 for the RBF kernel")

    def longest(self, setup: Setup, models: Models) -> float:
        if self.theta0 is not None:
            return float(self.theta0)
        return initial_length_scale(self.base_kernel(), setup.diameter, models)

    def propose(self, state: BalancingState, t: int) -> list[list[int]]:
        return [[i, 0] for i in range(self.n_theta(state, t))]  # line 12, line 13

    # Quantities of the algorithm ------------------------------------------------------

    def n_theta(self, state: BalancingState, t: int) -> int:
        """Return the number of length scales introduced in the first `t` queries."""
        d = state.n_parameters
        return _admitted(self.g(max(t, 1), d), self.step(d))  # line 1, line 12

    def theta(self, state: BalancingState, i: int) -> float:
        """Return the length scale of candidate `i`."""
        level, _ = state.introduced[i]
        return float(state.theta0 * self.step(state.n_parameters) ** -level)  # line 13

    def step(self, d: int) -> float:
        """Return the ratio of successive length scales."""
        if not isinstance(self.ratio, str):
            return float(self.ratio)
        nu = checked_smoothness(self.base_kernel()) if self.ratio == "code" else 0.0
        return math.exp(1 / (d + 2 * nu))  # line 13

    def g(self, t: int, d: int) -> float:
        """Return the value of the growth function at `t`."""
        if callable(self.growth):
            return float(self.growth(t))
        g0 = self.step(d) ** (self.n_candidates - 1)  # line 12
        return max(g0, float(t**self.growth))  # line 12

    def norm(self, state: BalancingState, i: int) -> float:
        """Return the norm bound of candidate `i` at its own length scale."""
        ratio = state.theta0 / self.theta(state, i)  # line 3
        return float(ratio ** (state.n_parameters / 2) * self.N(state, i))  # line 3

    def N(self, state: BalancingState, i: int) -> float:
        """Return the norm bound of candidate `i` at theta0, v(j) = N0 e**j."""
        _, j = state.introduced[i]
        return self.norm_bound * math.exp(j)  # line 3

    def suspected_regret(self, state: BalancingState, i: int, n: int) -> float:
        """Return the suspected regret of candidate `i` after `n` of its queries."""
        nu = checked_smoothness(self.base_kernel())
        theta, B = self.theta(state, i), self.norm(state, i)
        return rate_regret(n, theta, B, state.n_parameters, nu)

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        theta, B = self.theta(state, i), self.norm(state, i)
        return length_scale_candidate(self.base_kernel(), theta, norm_bound=B)


@settings
class LNBGPUCB(LBGPUCB, name="lnb-gp-ucb"):
    """Length-scale and norm balancing GP-UCB (Ziomek et al. 2024, Algorithm 3).

    This policy extends LB-GP-UCB to objectives with an unknown norm. Each candidate u
    is a pair of a length scale q(i) = theta0 / ratio**i and a norm v(j) = N0 e**j.
    Here, R is the suspected regret bound, and xi_t = 2 noise**2 ln(A pi**2 t**2 / (3
    delta)), where A is the number of pairs introduced so far.

    Pseudo-code (U: surviving pairs; S(u): queries chosen by u)::

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
       13          add it to U, unless it was added before

    The inequalities in lines 11 and 12 follow the proof in the paper. The printed
    algorithm has m(u) - r(u) on the left of line 11, reverses the inequality q(i) >=
    theta0 / g(t), and skips q(1) and v(1). The removal of a pair does not affect other
    pairs with the same length scale or norm. Each new length scale is paired with all
    norms introduced so far, and each new norm is paired with all length scales. Ties in
    line 3 are broken in favour of the pair introduced first. At the start, this pair
    has the longest length scale.

    Parameters
    ----------
    {kernel}
    growth : float or callable, default=0.5
        Growth function g of the inverse length scale. A number a specifies g(t) =
        max(g0, t**a), where g0 is chosen so that there are `n_candidates` length scales
        at the start. A callable must be nondecreasing for t >= 1.
    norm_growth : float or callable, default=0.5
        Growth function b of the norm. A number a specifies b(t) = t**a. A callable must
        be nondecreasing for t >= 1.
    n_candidates : int, default=5
        Number of length scales at t = 1. It is ignored if `growth` is a callable.
    norm_bound : float, default=1.0
        Smallest norm bound N0 at theta0. The norm bound of a pair is (theta0 /
        q(i))**(d/2) v(j).
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import LNBGPUCB
    >>> LNBGPUCB(beta="self-normalised", norm_bound=0.25)
    LNBGPUCB(beta='self-normalised', norm_bound=0.25)
    """

    norm_growth: Power | Callable[[int], float] = 0.5

    def propose(self, state: BalancingState, t: int) -> list[list[int]]:
        norms = range(_admitted(self.b(max(t, 1)), math.e))  # line 1, line 12
        thetas = range(self.n_theta(state, t))
        return [[i, j] for j in norms for i in thetas]  # line 12, line 13

    def b(self, t: int) -> float:
        """Return the value of the growth function of the norm at `t`."""
        if callable(self.norm_growth):
            return float(self.norm_growth(t))
        return float(t**self.norm_growth)  # line 12

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        """Return the model of pair `i`, whose label includes its norm at theta0."""
        model = super().candidate(state, i)
        label = f"{model.label}, N={self.N(state, i):.3g}"
        return Candidate(model.kernel, norm_bound=model.norm_bound, label=label)


def _admitted(g: float, ratio: float) -> int:
    """Return the number of nonnegative integers i with ratio**i <= max(g, 1)."""
    levels = math.log(max(g, 1.0)) / math.log(ratio)  # line 12
    return math.floor(levels + _TIE) + 1  # line 12
