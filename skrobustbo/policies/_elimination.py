"""Eliminating implausible models (HE-GP-UCB), and weighing them (ExpectedUCB)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from skrobustbo.acquisition import UCB, UnionMax, WeightedSum
from skrobustbo.policies._candidates import (
    CandidatePolicy,
    CandidateState,
    QueryBound,
    RegretBalancer,
)
from skrobustbo.policies._consistent import Credited
from skrobustbo.policies._interface import (
    Argmax,
    Array,
    Metadata,
    Pending,
    Proposal,
    Told,
)
from skrobustbo.policies._models import metadata_of
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Models, Posterior


@dataclass
class EliminationState(CandidateState):
    """Run-time state of `HEGPUCB`.

    Attributes
    ----------
    queries : list of dict
        All S together: of each query its `candidate`, its index in the history, and the
        `mean` and `width` (beta times sigma) promised before it, objective units.
    implausible : bool
        Whether the last survivor has failed the test, too.
    """

    queries: list[QueryBound] = field(default_factory=list)
    implausible: bool = False


def query_bound(query: int, metadata: Mapping[str, Any]) -> QueryBound:
    """Return what metadata says that a model promised of a query."""
    return QueryBound(
        query=query,
        candidate=metadata["candidate"],
        mean=metadata["mean"],
        width=metadata["width"],
    )


def contradicted(
    queries: Sequence[QueryBound], values: Array, scale: float, xi: float
) -> bool:
    """Return whether a model's errors add up to more than band and noise allow.

    The noise term `xi` is in the model's units, of which one is `scale` of the values.
    Queries whose width is nan are left out: no unit was known when they were asked.
    """
    told = [
        q
        for q in queries
        if math.isfinite(values[q["query"]]) and not math.isnan(q["width"])
    ]
    etas = [float(values[q["query"]]) - q["mean"] for q in told]  # line 6
    error, width = abs(sum(etas)), sum(q["width"] for q in told)
    noise = math.sqrt(xi * len(told))
    return bool(error / scale > noise + width / scale)  # line 7


@settings
class Eliminating(CandidatePolicy):
    """The test of elimination and its consequences.

    Parameters
    ----------
    delta : float, default=0.1
        Probability that the guarantee may fail: half for the bands, half for the noise.
    """

    share: ClassVar[float] = 0.5  # the other half of delta is for the noise

    def xi(self, n_sums: int, t: int) -> float:
        """Return the noise term of the test for so many sums, for Gaussian noise."""
        return RegretBalancer(self.noise, self.delta).xi(n_sums, t)

    def eliminate(
        self, state: Any, queries: Sequence[QueryBound], values: Array, n_sums: int
    ) -> None:
        """Test the candidate of the last query, and remove it unless it is the last."""
        u = queries[-1]["candidate"]
        if u not in state.survivors or not math.isfinite(values[-1]):
            return
        _, _, scale = self.targets(values)
        S = [query for query in queries if query["candidate"] == u]
        if not contradicted(S, values, scale, self.xi(n_sums, state.t)):
            return
        if len(state.survivors) > 1:
            state.survivors.remove(u)
        elif not state.implausible:
            state.implausible = True
            warnings.warn(
                "All candidate models contradict the values told; the last one is "
                "kept. Give candidates with shorter length scales, a larger norm_bound "
                "or a wider beta, or raise the noise.",
                stacklevel=2,
            )


@settings
class HEGPUCB(Eliminating, name="he-gp-ucb"):
    """Hyperparameter elimination (Ziomek, Adachi, Osborne, Algorithm 1).

    From "Beyond lengthscales". The candidate models may differ in anything: length
    scale, period, additive decomposition or prior mean. The surviving model with the
    highest upper bound chooses the query. Each query is also a test: a model is
    eliminated if its errors add up to more than its band and the noise allow. Here
    ``xi_t = 2 noise**2 ln(|U| pi**2 t**2 / (3 delta))``, where ``|U|`` counts all
    candidates, including eliminated ones.

    Pseudo-code (U: surviving models; S: queries of each)::

        1  U = all candidates; S = {}
        2  for t = 1, 2, ...
        3      x_t, u_t = argmax over x and u in U of mu + beta_t sigma of u before t
        4      y_t = f(x_t) + noise; add (x_t, y_t) to the data, shared by all
        5      add t to S(u_t)
        6      eta_t = y_t - mu(x_t) of u_t before t
        7      if |sum of eta over S(u_t)| > sqrt(xi_t |S(u_t)|)
                       + sum over i in S(u_t) of beta_i sigma(x_i) before i
        8          remove u_t from U, unless it is the last

    Line 3 has the beta of the paper's proof; the printed algorithm is one step behind.
    Line 7 has the standard deviation before the query was told, which the theory
    requires; the printed algorithm has the smaller one after it.

    Set ``normalize_y=False`` with values on a unit scale, or give a fixed pair. By
    default, values are standardised by those told so far. The standard deviation of a
    few values may be too small, which can eliminate the right model. In a list of
    additive decompositions, leave out the kernel of all parameters together. Its upper
    bound is highest nearly everywhere, so it takes nearly every query and is never
    contradicted.

    Parameters
    ----------
    {candidates}
    beta : float or str, default=2.0
        Width of the band in standard deviations, or a schedule (with half of delta):
        "bayes-finite" and "bayes-continuous" for objectives drawn from a candidate,
        "self-normalised" for those within its norm bound; "igp", "a-gp" or "log". The
        test relies on this value: with beta = 1, a true model fails the test at its
        first query one time in three.
    {inherited}

    Warns
    -----
    UserWarning
        Once in a run, if the last candidate fails the test as well.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, ExpSineSquared
    >>> from skrobustbo import Candidate, Optimizer, Real
    >>> from skrobustbo.policies import HEGPUCB
    >>> policy = HEGPUCB(
    ...     [
    ...         RBF(0.2),
    ...         ExpSineSquared(periodicity=0.5),
    ...         Candidate(RBF(0.1), mean=lambda X: -X[:, 0], label="downhill"),
    ...     ]
    ... )
    >>> optimizer = Optimizer({"x": Real(0, 1)}, policy, random_state=0)
    >>> for _ in range(12):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, -(params["x"] - 0.3) ** 2)
    >>> abs(optimizer.best_params_["x"] - 0.3) < 0.05
    True
    >>> HEGPUCB(beta="self-normalised", delta=0.05)
    HEGPUCB(beta='self-normalised', delta=0.05)
    """

    state_type: ClassVar[type] = EliminationState
    metadata_type: ClassVar[type] = Credited

    beta: float | str = 2.0

    def suggest(
        self, state: EliminationState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the maximiser of the most optimistic survivor's bound."""
        bands = self.bands(state, models, pending)
        union = UnionMax([UCB(posterior, beta) for posterior, beta in bands])
        x, _ = argmax(union)  # line 3
        best = union.attained_by(x)
        posterior, beta = bands[best]
        width = beta * posterior.told_deviation(x) * models.unit
        u = state.survivors[best]
        return x, metadata_of(models, posterior, x, candidate=u, width=width)

    def learn(self, state: EliminationState, metadata: Metadata, history: Told) -> None:
        """Credit the query to its candidate, and test that one."""
        state.t += 1  # line 2
        values = history.values  # line 4
        state.queries.append(query_bound(len(values) - 1, metadata))  # line 5, line 6
        n = self.n_introduced(state)
        self.eliminate(state, state.queries, values, n)  # line 7, line 8


@settings
class ExpectedUCB(CandidatePolicy, name="expected-ucb"):
    """The expected upper confidence bound over candidate models.

    This is the baseline of "Beyond lengthscales" (Ziomek, Adachi, Osborne). Candidates
    are weighted by their probability given the data, under a uniform prior.

    Pseudo-code::

        1  for t = 1, 2, ...
        2      P(u) = p(y | u) / sum over v of p(y | v) for every candidate u
        3      x_t = argmax over x of the sum of P(u) (mu + beta_t sigma) of u
        4      y_t = f(x_t) + noise; add (x_t, y_t) to the data

    Parameters
    ----------
    {candidates}
    {inherited}

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from skrobustbo.policies import ExpectedUCB
    >>> ExpectedUCB([RBF(0.1), RBF(0.5)]).beta
    1.0
    """

    def suggest(
        self, state: CandidateState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the maximiser of the expected bound."""
        bands = self.bands(state, models, pending)  # line 1
        posteriors = [posterior for posterior, _ in bands]
        # The softmax subtracts the largest logarithm first: no density underflows.
        P = softmax([p.log_marginal_likelihood for p in posteriors])  # line 2
        bounds = [UCB(posterior, beta) for posterior, beta in bands]
        x, _ = argmax(WeightedSum(bounds, P))  # line 3
        return x, _mixture_note(models, posteriors, P, x)


def _mixture_note(
    models: Models, posteriors: Sequence[Posterior], P: Array, x: Array
) -> Metadata:
    """Return metadata with the prediction of the mixture, named by its chief part."""
    notes = [metadata_of(models, posterior, x) for posterior in posteriors]
    means = np.array([each["mean"] for each in notes])
    stds = np.array([each["std"] for each in notes])
    mean = float(P @ means)
    std = math.hypot(*np.sqrt(P) * stds, *np.sqrt(P) * (means - mean))
    chief = notes[int(np.argmax(P))]
    return {**chief, "mean": mean, "std": std, "weights": P.tolist()}
