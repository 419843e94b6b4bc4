"""Balancing several models by their suspected regret (HB-, LB- and LNB-GP-UCB)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.acquisition import UCB
from skrobustbo.kernels import smoothness, with_length_scale
from skrobustbo.policies._base import (
    Argmax,
    Memo,
    Setup,
    Told,
    UCBPolicy,
    initial_length_scale,
    note,
    theta_label,
)
from skrobustbo.policies._beta import checked_smoothness, rate_gain
from skrobustbo.policies._candidates import HALVES, check_candidates
from skrobustbo.surrogate import Candidate, Models

Array = NDArray[np.float64]

_TIE = 1e-9  # q(l+1) may equal theta0 / g(t) exactly, but for rounding


@dataclass
class BalancingState:
    """Run-time state of the balancing policies.

    Attributes
    ----------
    n_parameters : int
        Dimension d.
    theta0 : float
        The longest length scale of a ladder; 1 where there is none.
    t : int
        Queries told so far.
    introduced : list of list of int
        A: what names each candidate introduced so far, eliminated ones included, such
        as [i] for q(i) and [i, j] for the pair of q(i) and v(j).
    alive : list of int
        U: positions in `introduced` of the surviving candidates.
    members : list of list of int
        S: for each candidate introduced, history indices of the queries it chose.
    widths : list of list of float
        For each of those queries, beta times sigma before it, objective units.
    """

    n_parameters: int
    theta0: float = 1.0
    t: int = 0
    introduced: list[list[int]] = field(default_factory=list)
    alive: list[int] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)
    widths: list[list[float]] = field(default_factory=list)

    @property
    def n_introduced(self) -> int:
        """Candidates introduced so far, eliminated ones included."""
        return len(self.introduced)

    def introduce(self, u: list[int]) -> None:
        """Add a candidate, alive and without queries."""
        self.alive.append(self.n_introduced)
        self.introduced.append(u)
        self.members.append([])
        self.widths.append([])


class _Balancing(UCBPolicy):
    """The loop that the balancing policies share (Algorithm 2 of their paper).

    Line numbers are the same in all of them. A subclass says what its candidates are
    (`propose`, `candidate`) and what regret each promises (`suspected_regret`).
    """

    state_type: ClassVar[type] = BalancingState

    def propose(self, state: BalancingState, t: int) -> Iterable[list[int]]:
        """Return a(t): the candidates due after `t` queries, old ones may be among."""
        raise NotImplementedError

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        """Return the model of the candidate introduced as number `i`."""
        raise NotImplementedError

    def suspected_regret(self, state: BalancingState, i: int, n: int) -> float:
        """Return R(u, n), what candidate `i` promises to lose in `n` queries."""
        raise NotImplementedError

    def longest(self, setup: Setup, models: Models) -> float:
        """Return theta0."""
        raise NotImplementedError

    def start(self, setup: Setup, models: Models) -> BalancingState:
        """Introduce the first candidates."""
        self.check()
        state = BalancingState(setup.n_parameters, self.longest(setup, models))
        self._expand(state)  # line 1
        return state

    def suggest(
        self,
        state: BalancingState,
        models: Models,
        argmax: Argmax,
        pending: Sequence[Memo],
    ) -> tuple[Array, Memo]:
        """Return the query of the candidate of least suspected regret."""
        chosen = self._balanced(state, pending)
        posterior = models[self.candidate(state, chosen)]
        t = state.t + len(pending) + 1  # line 2
        beta = self.beta_of(posterior, state.n_parameters, t, share=0.5)  # line 4
        x, _ = argmax(UCB(posterior, beta))  # line 4
        width = beta * posterior.told_deviation(x) * models.scale  # line 11
        return x, note(models, posterior, x, candidate=chosen, width=width)

    def _balanced(self, state: BalancingState, pending: Sequence[Memo]) -> int:
        """Return the candidate whose turn it is; ties go to the first introduced."""
        # Queries under way count: n is |S| + 1 as it will be.
        n = [len(queries) + 1 for queries in state.members]  # line 3
        for memo in pending:
            n[memo["candidate"]] += 1
        R = {i: self.suspected_regret(state, i, n[i]) for i in state.alive}
        return min(R, key=R.__getitem__)  # line 3

    def learn(self, state: BalancingState, memo: Memo, history: Told) -> None:
        """Credit the query to its candidate, eliminate, and introduce."""
        state.t += 1  # line 2
        queries = history.values  # line 5, line 6
        state.members[memo["candidate"]].append(len(queries) - 1)  # line 7
        state.widths[memo["candidate"]].append(memo["width"])
        self._eliminate(state, queries)
        self._expand(state)

    def _eliminate(self, state: BalancingState, values: Array) -> None:
        """Drop the candidates that did worse than their band promised."""
        z, _, scale = self.targets(values)
        finite = np.isfinite(values)
        S = {i: [q for q in state.members[i] if finite[q]] for i in state.alive}
        if not all(S.values()):  # line 8
            return
        xi = self.xi(state.n_introduced, state.t)
        m = {i: float(z[S[i]].mean()) for i in S}  # line 9
        r = {i: math.sqrt(xi / len(S[i])) for i in S}  # line 9
        best = max(m[i] - r[i] for i in S)  # line 10
        state.alive = [
            i
            for i in S
            if m[i] + r[i] + self._slack(state, i, finite) / scale >= best  # line 11
        ]

    def _slack(self, state: BalancingState, i: int, finite: Array) -> float:
        """Return 2 / |S| times the sum of beta sigma over S, in objective units."""
        queries = zip(state.members[i], state.widths[i], strict=True)
        widths = [width for query, width in queries if finite[query]]
        return 2 * sum(widths) / len(widths)  # line 11

    def xi(self, n_introduced: int, t: int) -> float:
        """Return the noise term of line 9, for Gaussian noise."""
        A, delta = n_introduced, self.delta
        tail = math.log(A * math.pi**2 * t**2 / (3 * delta))  # line 9
        return 2 * self.noise**2 * tail  # line 9

    def _expand(self, state: BalancingState) -> None:
        """Add the candidates of a(t) that have never been introduced."""
        for u in self.propose(state, state.t):  # line 12
            if u not in state.introduced:
                state.introduce(u)

    def alive(self, state: BalancingState) -> list[str]:
        """Return the labels of the surviving candidates."""
        return [self.candidate(state, i).label for i in state.alive]

    # Checks of settings ---------------------------------------------------------------

    def _refuse(self, name: str, expected: str) -> None:
        value = getattr(self, name)
        raise ValueError(
            f"The '{name}' of {type(self).__name__} must be {expected}. Got {value!r} "
            "instead."
        )

    def _check_positive(self, name: str) -> None:
        if not getattr(self, name) > 0:
            self._refuse(name, "positive")

    def _check_growth(self, name: str) -> None:
        value = getattr(self, name)
        if not callable(value) and not value >= 0:
            self._refuse(name, "a number >= 0 or a callable")


class HBGPUCB(_Balancing):
    """Hyperparameter balancing GP-UCB (Ziomek, Adachi, Osborne 2024, Algorithm 2).

    Candidate models of any form share the data: length scales, periods, additive
    decompositions, prior means. The one whose suspected regret would be least after one
    more query asks next; those that do worse than they promised are eliminated. R is
    the suspected regret bound, a the proposing function; xi_t = 2 noise**2
    ln(A pi**2 t**2 / (3 delta)) with A the number of candidates introduced.

    Pseudo-code (U: surviving candidates; S: queries of each)::

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
       12      add to U what a(t) names for the first time; S(u) = {} for each of it

    Line 11 has the sign of the paper's proof (Lemma B.2): its printed algorithm has
    m - r on the left. A candidate that attains the maximum in line 11 always stays, so
    the last is never removed. Ties in line 3 go to the candidate introduced first.

    Parameters
    ----------
    kernel : Kernel, default=None
        The kernel at length scale 1 of the default candidates; Matern-5/2 if None.
    candidates : list of Kernel or Candidate, default=None
        The candidates, ahead of others those to be preferred in a tie. None: length
        scales theta0 2**-i, i = 0, ..., 4, where theta0 is the maximum likelihood
        estimate on the initial design, at most the diameter of the space, with norm
        bounds 2**(i d/2) norm_bound.
    proposing : sequence of int or callable, default=None
        When candidates are introduced. A sequence has for each the number of queries
        after which it enters, 0 for those there from the start. A callable takes that
        number, from 0, and returns how many candidates have been introduced by then, at
        least one. None: all from the start.
    regret : callable, default=None
        The suspected regret R(index of the candidate, n), nondecreasing in n and needed
        up to a common factor only. None: sqrt(n) (B sqrt(gamma) + gamma) with gamma the
        growth rate of the information gain, for Matern and RBF kernels (of several
        length scales, their geometric mean counts).
    norm_bound : float, default=1.0
        Norm bound of candidates that are kernels; a `Candidate` brings its own.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default=1.0
        Width of the band in deviations, or a schedule (with half of delta): "log",
        "igp", "a-gp", "self-normalised", "bayes-finite" or "bayes-continuous".
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain.
    delta : float, default=0.1
        Probability that the guarantee may fail: half for the bands, half for the noise.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=False
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skrobustbo.policies import HBGPUCB
    >>> HBGPUCB(candidates=[RBF(0.5), RBF(0.1)], proposing=(0, 20))
    HBGPUCB(candidates=[RBF(length_scale=0.5), RBF(length_scale=0.1)],
            proposing=(0, 20))
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        candidates: Sequence[Kernel | Candidate] | None = None,
        proposing: Sequence[int] | Callable[[int], int] | None = None,
        regret: Callable[[int, int], float] | None = None,
        norm_bound: float = 1.0,
        noise: float = 0.01,
        beta: float | str = 1.0,
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = False,
    ) -> None:
        self.kernel = kernel
        self.candidates = candidates
        self.proposing = proposing
        self.regret = regret
        self.norm_bound = norm_bound
        self.noise = noise
        self.beta = beta
        self.information_gain = information_gain
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    @property
    def n_candidates(self) -> int:
        """Number of candidates that may ever be introduced."""
        return HALVES if self.candidates is None else len(self.candidates)

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        check_candidates(self, self.candidates)
        self._check_positive("norm_bound")
        self._check_regret()
        when = self.proposing
        if when is None or callable(when):
            return
        if len(when) != self.n_candidates or 0 not in when:
            self._refuse("proposing", "one number per candidate, one of them 0")

    def _check_regret(self) -> None:
        if callable(self.regret):
            return
        given = [self.base_kernel()] if self.candidates is None else self.candidates
        for u in given:
            kernel = u.kernel if isinstance(u, Candidate) else u
            if self.regret is not None or smoothness(kernel) is None:
                self._refuse("regret", f"a callable for the kernel {kernel!r}")

    def longest(self, setup: Setup, models: Models) -> float:
        """Return theta0 of the default candidates."""
        if self.candidates is not None:
            return 1.0
        return initial_length_scale(self.base_kernel(), setup, models)

    def propose(self, state: BalancingState, t: int) -> list[list[int]]:
        """Return the indices of the candidates due after `t` queries."""
        indices = range(self.n_candidates)  # line 1, line 12
        if callable(self.proposing):
            due = max(1, self.proposing(t))  # line 12
            return [[i] for i in indices[:due]]
        when = self.proposing or [0] * self.n_candidates
        return [[i] for i in indices if when[i] <= t]  # line 12

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        """Return the model of the candidate introduced as number `i`."""
        (index,) = state.introduced[i]
        if self.candidates is None:
            theta = state.theta0 * 0.5**index  # line 1
            norm = 2 ** (index * state.n_parameters / 2) * self.norm_bound  # line 1
            return _rung(self.base_kernel(), theta, norm)
        u = self.candidates[index]
        return u if isinstance(u, Candidate) else Candidate(u, None, self.norm_bound)

    def suspected_regret(self, state: BalancingState, i: int, n: int) -> float:
        """Return R(u, n), as given or by the rate of the information gain."""
        (index,) = state.introduced[i]
        if self.regret is not None:
            return float(self.regret(index, n))  # line 3
        u = self.candidate(state, i)
        theta = math.exp(float(np.mean(np.log(u.kernel.length_scale))))  # line 3
        nu = checked_smoothness(u.kernel)
        return _rate_regret(n, theta, u.norm_bound, state.n_parameters, nu)


class LBGPUCB(_Balancing):
    """Length-scale balancing GP-UCB (Ziomek, Adachi, Osborne 2024, Algorithm 1).

    Several length scales share the data. The one whose suspected regret would be least
    after one more query asks next, so that short ones are tried now and then; those
    that do worse than they promised are eliminated. Candidates are
    q(i) = theta0 / ratio**i; R is the suspected regret bound; xi_t = 2 noise**2
    ln(A pi**2 t**2 / (3 delta)) with A the number of candidates introduced.

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

    Lines 11 and 12 have the inequalities of the paper's proof (Lemma B.2): its printed
    algorithm has m - r on the left of 11 and the sense of 12 inverted. A candidate that
    attains the maximum in line 11 always stays, so the last is never removed.

    Parameters
    ----------
    kernel : Kernel, default=None
        The kernel at length scale 1, Matern or RBF; Matern-5/2 if None.
    theta0 : float, default=None
        Longest length scale, in unit-cube coordinates. None: maximum likelihood on the
        initial design, once, at most the diameter of the space.
    growth : float or callable, default=0.5
        g: a number a means g(t) = max(g0, t**a), with g0 such that there are
        `n_candidates` from the start. A callable is g itself, nondecreasing in t >= 1.
    n_candidates : int, default=5
        Candidates at t = 1; ignored where `growth` is a callable.
    ratio : float or {"paper", "code"}, default="paper"
        Ratio of successive length scales: e**(1/d) in the paper, e**(1/(d + 2 nu)) in
        its authors' code.
    norm_bound : float, default=1.0
        Norm bound at theta0; B(theta) = (theta0 / theta)**(d/2) norm_bound.
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default=1.0
        Width of the band in deviations, or a schedule (with half of delta): "log",
        "igp", "a-gp", "self-normalised", "bayes-finite" or "bayes-continuous".
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain.
    delta : float, default=0.1
        Probability that the guarantee may fail: half for the bands, half for the noise.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=False
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from skrobustbo.policies import LBGPUCB
    >>> LBGPUCB(theta0=1.0, n_candidates=3)
    LBGPUCB(n_candidates=3, theta0=1.0)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        theta0: float | None = None,
        growth: float | Callable[[int], float] = 0.5,
        n_candidates: int = 5,
        ratio: float | str = "paper",
        norm_bound: float = 1.0,
        noise: float = 0.01,
        beta: float | str = 1.0,
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = False,
    ) -> None:
        self.kernel = kernel
        self.theta0 = theta0
        self.growth = growth
        self.n_candidates = n_candidates
        self.ratio = ratio
        self.norm_bound = norm_bound
        self.noise = noise
        self.beta = beta
        self.information_gain = information_gain
        self.delta = delta
        self.normalize_y = normalize_y
        self.repeats = repeats

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        checked_smoothness(self.base_kernel())
        self._check_positive("norm_bound")
        self._check_positive("n_candidates")
        if self.theta0 is not None:
            self._check_positive("theta0")
        self._check_growth("growth")
        self._check_ratio()

    def _check_ratio(self) -> None:
        if self.ratio == "code" and smoothness(self.base_kernel()) == math.inf:
            self._refuse("ratio", "'paper' or a number > 1 for the RBF kernel")
        if self.ratio not in ("paper", "code") and (
            isinstance(self.ratio, str) or not self.ratio > 1
        ):
            self._refuse("ratio", "'paper', 'code' or a number > 1")

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
        rung, _ = state.introduced[i]
        return float(state.theta0 * self.step(state.n_parameters) ** -rung)  # line 13

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
        return _rate_regret(n, theta, B, state.n_parameters, nu)

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        """Return the model of candidate `i`."""
        theta, B = self.theta(state, i), self.norm(state, i)
        return _rung(self.base_kernel(), theta, B)


class LNBGPUCB(LBGPUCB):
    """Length-scale and norm balancing GP-UCB (Ziomek et al. 2024, Algorithm 3).

    LB-GP-UCB for an objective whose norm is unknown too: a candidate is a pair u of a
    length scale q(i) = theta0 / ratio**i and a norm v(j) = N0 e**j. R is the suspected
    regret bound; xi_t = 2 noise**2 ln(A pi**2 t**2 / (3 delta)) with A the number of
    pairs introduced.

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

    Lines 11 and 12 have the inequalities of the paper's proof: its printed algorithm
    has m - r on the left of 11 and the sense of q(i) >= theta0 / g(t) inverted, and it
    skips q(1) and v(1). Lengths and norms never go, only pairs; a new length scale
    comes with every norm introduced, and a new norm with every length scale. Ties in
    line 3 go to the pair introduced first, at the start the longest length scale.

    Parameters
    ----------
    kernel : Kernel, default=None
        The kernel at length scale 1, Matern or RBF; Matern-5/2 if None.
    theta0 : float, default=None
        Longest length scale, in unit-cube coordinates. None: maximum likelihood on the
        initial design, once, at most the diameter of the space.
    growth : float or callable, default=0.5
        g: a number a means g(t) = max(g0, t**a), with g0 such that there are
        `n_candidates` length scales from the start. A callable is g itself,
        nondecreasing in t >= 1.
    norm_growth : float or callable, default=0.5
        b: a number a means b(t) = t**a. A callable is b itself, nondecreasing in
        t >= 1.
    n_candidates : int, default=5
        Length scales at t = 1; ignored where `growth` is a callable.
    ratio : float or {"paper", "code"}, default="paper"
        Ratio of successive length scales: e**(1/d) in the paper, e**(1/(d + 2 nu)) in
        its authors' code.
    norm_bound : float, default=1.0
        N0, the least norm bound at theta0; a pair has the norm bound
        (theta0 / q(i))**(d/2) v(j).
    noise : float, default=0.01
        Standard deviation of the noise in the units that the model sees.
    beta : float or str, default=1.0
        Width of the band in deviations, or a schedule (with half of delta): "log",
        "igp", "a-gp", "self-normalised", "bayes-finite" or "bayes-continuous".
    information_gain : {"posterior", "rate", "bound"}, default="posterior"
        How schedules get the information gain.
    delta : float, default=0.1
        Probability that the guarantee may fail: half for the bands, half for the noise.
    normalize_y : bool or (float, float), default=True
        Whether the model sees standardised values; a pair is a fixed mean and scale.
    repeats : bool, default=False
        Whether a point told before may be asked again.

    Examples
    --------
    >>> from skrobustbo.policies import LNBGPUCB
    >>> LNBGPUCB(beta="self-normalised", norm_bound=0.25)
    LNBGPUCB(beta='self-normalised', norm_bound=0.25)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        theta0: float | None = None,
        growth: float | Callable[[int], float] = 0.5,
        norm_growth: float | Callable[[int], float] = 0.5,
        n_candidates: int = 5,
        ratio: float | str = "paper",
        norm_bound: float = 1.0,
        noise: float = 0.01,
        beta: float | str = 1.0,
        information_gain: str = "posterior",
        delta: float = 0.1,
        normalize_y: bool | tuple[float, float] = True,
        repeats: bool = False,
    ) -> None:
        super().__init__(
            kernel,
            theta0=theta0,
            growth=growth,
            n_candidates=n_candidates,
            ratio=ratio,
            norm_bound=norm_bound,
            noise=noise,
            beta=beta,
            information_gain=information_gain,
            delta=delta,
            normalize_y=normalize_y,
            repeats=repeats,
        )
        self.norm_growth = norm_growth

    def check(self) -> None:
        """Raise a ValueError for settings out of range."""
        super().check()
        self._check_growth("norm_growth")

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
    rungs = math.log(max(g, 1.0)) / math.log(ratio)  # line 12
    return math.floor(rungs + _TIE) + 1  # line 12


def _rate_regret(n: int, theta: float, norm: float, d: int, nu: float) -> float:
    """Return R(n) = sqrt(n) (B sqrt(gamma_n) + gamma_n), gamma the growth rate."""
    gamma = rate_gain(n, theta, d, nu)
    return math.sqrt(n) * (norm * math.sqrt(gamma) + gamma)  # line 3


def _rung(kernel: Kernel, theta: float, norm: float) -> Candidate:
    """Return the model of one length scale of a ladder."""
    model, label = with_length_scale(kernel, theta), theta_label(theta)
    return Candidate(model, norm_bound=norm, label=label)
