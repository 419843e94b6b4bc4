"""Balancing several length scales by their suspected regret (LB-GP-UCB)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo.acquisition import UCB
from skrobustbo.kernels import with_length_scale
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
        The longest length scale.
    t : int
        Queries told so far.
    alive : list of int
        Theta: indices of the surviving candidates, longest length scale first.
    members : list of list of int
        S: for each candidate introduced, history indices of the queries it chose.
    widths : list of list of float
        For each of those queries, beta times sigma before it, objective units.
    """

    n_parameters: int
    theta0: float
    t: int = 0
    alive: list[int] = field(default_factory=list)
    members: list[list[int]] = field(default_factory=list)
    widths: list[list[float]] = field(default_factory=list)

    @property
    def n_introduced(self) -> int:
        """Candidates introduced so far, eliminated ones included."""
        return len(self.members)

    def introduce(self) -> None:
        """Add the next candidate, alive and without queries."""
        self.alive.append(self.n_introduced)
        self.members.append([])
        self.widths.append([])


class LBGPUCB(UCBPolicy):
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
    beta : float or {"log", "igp", "a-gp", "self-normalised"}, default=1.0
        Width of the band in deviations, or a schedule (with half of delta).
    information_gain : {"posterior", "rate"}, default="posterior"
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

    state_type: ClassVar[type] = BalancingState

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
        _check_positive("norm_bound", self.norm_bound)
        _check_positive("n_candidates", self.n_candidates)
        if self.theta0 is not None:
            _check_positive("theta0", self.theta0)
        if not callable(self.growth) and not self.growth >= 0:
            raise ValueError(
                "The 'growth' of LBGPUCB must be a number >= 0 or a callable. Got "
                f"{self.growth!r} instead."
            )
        if self.ratio not in ("paper", "code") and (
            isinstance(self.ratio, str) or not self.ratio > 1
        ):
            raise ValueError(
                "The 'ratio' of LBGPUCB must be 'paper', 'code' or a number > 1. Got "
                f"{self.ratio!r} instead."
            )

    def start(self, setup: Setup, models: Models) -> BalancingState:
        """Introduce the first candidates."""
        self.check()
        theta0 = self.theta0
        if theta0 is None:
            theta0 = initial_length_scale(self.base_kernel(), setup, models)
        state = BalancingState(setup.n_parameters, float(theta0))
        self._introduce(state, t=1)  # line 1
        return state

    def suggest(
        self,
        state: BalancingState,
        models: Models,
        argmax: Argmax,
        pending: Sequence[Memo],
    ) -> tuple[Array, Memo]:
        """Return the query of the candidate of least suspected regret."""
        # Queries under way count: n is |S| + 1 as it will be.
        n = [len(queries) + 1 for queries in state.members]
        for memo in pending:
            n[memo["candidate"]] += 1
        chosen = min(state.alive, key=lambda i: self.regret(state, i, n[i]))  # line 3
        posterior = models[self.candidate(state, chosen)]
        t = state.t + len(pending) + 1  # line 2
        beta = self.beta_of(posterior, state.n_parameters, t, share=0.5)
        x, _ = argmax(UCB(posterior, beta))  # line 4
        width = beta * posterior.told_deviation(x) * models.scale
        return x, note(models, posterior, x, candidate=chosen, width=width)

    def learn(self, state: BalancingState, memo: Memo, history: Told) -> None:
        """Credit the query to its candidate, eliminate, and introduce."""
        state.t += 1
        queries = history.values  # line 5, line 6
        state.members[memo["candidate"]].append(len(queries) - 1)  # line 7
        state.widths[memo["candidate"]].append(memo["width"])
        self._eliminate(state, queries)
        self._introduce(state, state.t)

    def _eliminate(self, state: BalancingState, values: Array) -> None:
        """Drop the candidates that did worse than their band promised."""
        z, _, scale = self.targets(values)
        finite = np.isfinite(values)
        S = {i: [q for q in state.members[i] if finite[q]] for i in state.alive}
        if not all(S.values()):  # line 8
            return
        xi = self.xi(state.n_introduced, state.t)
        m = {i: float(z[S[i]].mean()) for i in S}  # line 9
        r = {i: math.sqrt(xi / len(S[i])) for i in S}
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
        return 2 * sum(widths) / len(widths)

    def _introduce(self, state: BalancingState, t: int) -> None:
        """Add the candidates that the growth function admits at t."""
        least = state.theta0 / self.g(t, state.n_parameters) * (1 - _TIE)
        while not state.members or self.theta(state, state.n_introduced) >= least:
            state.introduce()  # line 12, line 13

    # The quantities of the algorithm -------------------------------------------------

    def theta(self, state: BalancingState, i: int) -> float:
        """Return q(i)."""
        return float(state.theta0 * self.step(state.n_parameters) ** -i)

    def step(self, d: int) -> float:
        """Return the ratio of successive length scales."""
        if not isinstance(self.ratio, str):
            return float(self.ratio)
        nu = checked_smoothness(self.base_kernel()) if self.ratio == "code" else 0.0
        return math.exp(1 / (d + 2 * nu))

    def g(self, t: int, d: int) -> float:
        """Return the growth function at t."""
        if callable(self.growth):
            return float(self.growth(t))
        g0 = self.step(d) ** (self.n_candidates - 1)
        return max(g0, float(t**self.growth))

    def regret(self, state: BalancingState, i: int, n: int) -> float:
        """Return R(q(i), n) = sqrt(n) (B sqrt(gamma_n) + gamma_n)."""
        theta = self.theta(state, i)
        nu = checked_smoothness(self.base_kernel())
        gamma = rate_gain(n, theta, state.n_parameters, nu)
        return math.sqrt(n) * (self.norm(state, i) * math.sqrt(gamma) + gamma)

    def norm(self, state: BalancingState, i: int) -> float:
        """Return B(q(i)) = (theta0 / q(i))**(d/2) N."""
        ratio = state.theta0 / self.theta(state, i)
        return float(ratio ** (state.n_parameters / 2) * self.norm_bound)

    def xi(self, n_introduced: int, t: int) -> float:
        """Return the noise term of line 9, for Gaussian noise."""
        inside = n_introduced * math.pi**2 * t**2 / (3 * self.delta)
        return 2 * self.noise**2 * math.log(inside)

    def candidate(self, state: BalancingState, i: int) -> Candidate:
        """Return the model of length scale q(i)."""
        theta = self.theta(state, i)
        return Candidate(
            with_length_scale(self.base_kernel(), theta),
            norm_bound=self.norm(state, i),
            label=theta_label(theta),
        )

    def alive(self, state: BalancingState) -> list[str]:
        """Return the labels of the surviving length scales."""
        return [theta_label(self.theta(state, i)) for i in state.alive]


def _check_positive(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(
            f"The '{name}' of LBGPUCB must be positive. Got {value!r} instead."
        )
