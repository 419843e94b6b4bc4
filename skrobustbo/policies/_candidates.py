"""Finite sets of candidate models, and the base class of policies that use them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, TypedDict

from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._forms import Count, Positive
from skrobustbo.policies._base import PolicyState, UCBPolicy
from skrobustbo.policies._consistent import Index, IndexTold
from skrobustbo.policies._interface import Array, Pending, Setup
from skrobustbo.policies._models import initial_length_scale, length_scale_candidate
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, Models, Posterior

Given = Sequence[Kernel | Candidate]

#: Default candidates: the estimated length scale and its successive halves.
HALVES = 5


def candidate_models(
    given: Given | None, kernel: Kernel, thetas: Sequence[float]
) -> list[Candidate]:
    """Return the given candidates or, by default, candidates with the length scales.

    Repeated labels are numbered, because labels do not show prior means.
    """
    if given is None:
        return [length_scale_candidate(kernel, theta) for theta in thetas]
    models = [c if isinstance(c, Candidate) else Candidate(c) for c in given]
    labels = numbered([model.label for model in models])
    return [
        model if model.label == label else replace(model, label=label)
        for model, label in zip(models, labels, strict=True)
    ]


def numbered(labels: Sequence[str]) -> list[str]:
    """Return the labels, with numbers added to repeated ones."""
    return [
        f"{label} #{i + 1}" if labels.count(label) > 1 else label
        for i, label in enumerate(labels)
    ]


def _are_distinct(indices: list[int]) -> bool:
    return 0 < len(indices) == len(set(indices))


class Promise(TypedDict):
    """A model's prediction for a query, in units of the objective."""

    candidate: Count
    mean: float
    width: float


class QueryBound(Promise):
    """A model's prediction for a told query."""

    query: IndexTold


@dataclass
class CandidateState(PolicyState):
    """Run-time state of the policies with a finite set of candidates.

    Attributes
    ----------
    thetas : list of float
        Length scales of the default candidates; empty if candidates were given.
    survivors : list of int
        U: indices of the candidates that have not been eliminated.
    """

    thetas: list[Positive] = field(default_factory=list)
    survivors: Annotated[list[Index], _are_distinct] = field(default_factory=list)


@settings
class CandidatePolicy(UCBPolicy):
    """Base class of the policies with a finite set of candidates.

    Parameters
    ----------
    candidates : list of Kernel or Candidate, default=None
        The models. None: `kernel` with length scales of 2**-i, i = 0, ..., 4, times the
        maximum likelihood estimate on the initial design.
    kernel : Kernel, default=None
        The kernel of the default candidates at length scale 1; Matern-5/2 if None.
    """

    state_type: ClassVar[type] = CandidateState
    #: Share of delta that each band gets.
    share: ClassVar[float] = 1.0

    candidates: Given | None = field(default=None, kw_only=False)
    kernel: Kernel | None = None

    def given(self) -> Given | None:
        """Return the candidates in the settings, or None to use the default ones."""
        return self.candidates

    def default_length_scales(self, setup: Setup, models: Models) -> list[float]:
        """Return the length scales of the default candidates."""
        theta = initial_length_scale(self.base_kernel(), setup, models)
        return [theta * 2.0**-i for i in range(HALVES)]

    def start(self, setup: Setup, models: Models) -> Any:
        """Return a state in which every candidate survives."""
        given = self.given()
        thetas = [] if given else self.default_length_scales(setup, models)
        survivors = list(range(len(given or thetas)))
        return self.state_type(setup.n_parameters, thetas, survivors)  # line 1

    def n_introduced(self, state: CandidateState) -> int:
        """Return |U| before any elimination."""
        return len(self.given() or state.thetas)

    def surviving(self, state: CandidateState) -> list[Candidate]:
        """Return U, the surviving models."""
        every = candidate_models(self.given(), self.base_kernel(), state.thetas)
        return [every[i] for i in state.survivors]

    def bands(
        self, state: CandidateState, models: Models, pending: Pending
    ) -> list[tuple[Posterior, float]]:
        """Return the posterior and beta of every survivor at the next query."""
        t = state.t + len(pending) + 1
        posteriors = [models[candidate] for candidate in self.surviving(state)]
        d = state.n_parameters
        return [(p, self.beta_of(p, d, t, share=self.share)) for p in posteriors]


class RegretBalancer:
    """The rule that shares evaluations among models, or among branches of a space.

    This is the rule of Ziomek, Adachi and Osborne (2024) for any kind of candidate.
    Each query goes to the candidate that would have the smallest suspected regret after
    it. Candidates that do worse than they promised are eliminated. Line numbers refer
    to `HBGPUCB`.

    Parameters
    ----------
    noise : float
        Standard deviation of the noise, in the model's units.
    delta : float
        Probability that noise eliminates the right candidate.
    least : int, default=1
        Number of successful queries before a candidate may be eliminated.
    """

    def __init__(self, noise: float, delta: float, least: int = 1) -> None:
        self.noise, self.delta, self.least = noise, delta, least

    @staticmethod
    def counts(members: Sequence[Sequence[int]], pending: Iterable[int]) -> list[int]:
        """Return |S| + 1 of each candidate, counting pending queries."""
        n = [len(queries) + 1 for queries in members]  # line 3
        for candidate in pending:
            n[candidate] += 1
        return n

    @staticmethod
    def turn(R: Mapping[int, float]) -> int:
        """Return the candidate of least suspected regret; ties go to the first."""
        return min(R, key=R.__getitem__)  # line 3

    def survivors(
        self, z: Mapping[int, Array], slack: Mapping[int, float], n: int, t: int
    ) -> list[int]:
        """Return the candidates that have not done worse than they promised.

        A candidate that attains the maximum in line 11 stays, so the last one is never
        removed. `z` holds the finite values of each candidate's queries and `slack`
        holds their mean of 2 beta sigma, both in the model's units; `n` and `t` count
        candidates and queries.
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
        """Return the noise term of line 9, for Gaussian noise."""
        tail = math.log(n * math.pi**2 * t**2 / (3 * self.delta))  # line 9
        return 2 * self.noise**2 * tail  # line 9
