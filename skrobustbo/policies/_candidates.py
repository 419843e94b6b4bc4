"""Finite sets of candidate models and a base class of policies that use them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, TypedDict

from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._forms import Count, Positive
from skrobustbo.policies._base import (
    Array,
    Index,
    IndexTold,
    Pending,
    PolicyState,
    Setup,
    UCBPolicy,
)
from skrobustbo.policies._models import initial_length_scale, length_scale_candidate
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, Models, Posterior

Given = Sequence[Kernel | Candidate]

#: Number of default candidates, each with half the length scale of the previous one.
HALVES = 5


def candidate_models(
    given: Given | None, kernel: Kernel, thetas: Sequence[float]
) -> list[Candidate]:
    """Return the given candidates, or default candidates with the length scales.

    Duplicate labels are numbered, because a label does not include the prior mean.
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
    """Return the labels, with a number appended to each duplicate."""
    return [
        f"{label} #{i + 1}" if labels.count(label) > 1 else label
        for i, label in enumerate(labels)
    ]


def _are_distinct(indices: list[int]) -> bool:
    return 0 < len(indices) == len(set(indices))


class Promise(TypedDict):
    """Prediction of a model for a query, in units of the objective."""

    candidate: Count
    mean: float
    width: float


class QueryBound(Promise):
    """Prediction of a model for a query whose value has been told."""

    query: IndexTold


@dataclass
class CandidateState(PolicyState):
    """Run-time state of the policies with a finite set of candidates.

    Attributes
    ----------
    thetas : list of float
        Length scales of the default candidates. Empty if candidates were given.
    survivors : list of int
        Indices of the candidates that have not been eliminated.
    """

    thetas: list[Positive] = field(default_factory=list)
    survivors: Annotated[list[Index], _are_distinct] = field(default_factory=list)


@settings
class CandidatePolicy(UCBPolicy):
    """Base class of the policies with a finite set of candidates.

    Parameters
    ----------
    candidates : list of Kernel or Candidate, default=None
        The candidate models. If None, there are five models with the given kernel and
        length scales of 2**-i times the maximum likelihood estimate for the initial
        design, where i = 0, ..., 4.
    kernel : Kernel, default=None
        Base kernel, rescaled by the length scales of the default candidates. If None, a
        Matern-5/2 kernel is used.
    """

    state_type: ClassVar[type] = CandidateState

    candidates: Given | None = field(default=None, kw_only=False)
    kernel: Kernel | None = None

    def given(self) -> Given | None:
        """Return the candidates in the settings, or None for the default ones."""
        return self.candidates

    def default_length_scales(self, setup: Setup, models: Models) -> list[float]:
        """Return the length scales of the default candidates."""
        theta = initial_length_scale(self.base_kernel(), setup.diameter, models)
        return [theta * 2.0**-i for i in range(HALVES)]

    def start(self, setup: Setup, models: Models) -> Any:
        """Return the initial state, which contains every candidate."""
        given = self.given()
        thetas = [] if given else self.default_length_scales(setup, models)
        survivors = list(range(len(given or thetas)))
        return self.state_type(setup.n_parameters, thetas, survivors)  # line 1

    def n_introduced(self, state: CandidateState) -> int:
        """Return the number of candidates before any elimination."""
        return len(self.given() or state.thetas)

    def surviving(self, state: CandidateState) -> list[Candidate]:
        """Return the surviving models."""
        every = candidate_models(self.given(), self.base_kernel(), state.thetas)
        return [every[i] for i in state.survivors]

    def bands(
        self, state: CandidateState, models: Models, pending: Pending
    ) -> list[tuple[Posterior, float]]:
        """Return the posterior and beta of each surviving model for the next query."""
        t = state.t + len(pending) + 1
        posteriors = [models[candidate] for candidate in self.surviving(state)]
        return [(p, self.beta_of(p, state.n_parameters, t)) for p in posteriors]


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
