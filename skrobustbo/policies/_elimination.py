"""Policies that eliminate implausible models or weight models by probability.

HE-GP-UCB and ExpectedUCB search for the best point. HE-StableOpt and StableOpt search
for the point with the best value under the worst-case perturbation.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, TypedDict

import numpy as np
from scipy.special import softmax
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._forms import Consistent, Count, Finite, NotNegative, Positive
from skrobustbo.acquisition import UCB, UnionMax, WeightedSum, WorstCase
from skrobustbo.policies._balancing import RegretBalancer
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
from skrobustbo.policies._models import (
    HALVES,
    Given,
    candidate_models,
    initial_length_scale,
    length_scale_candidate,
    metadata_of,
)
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Candidate, Models, Posterior


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
        kernel, given = self.base_kernel(), self.given()
        if given is None:
            every = [length_scale_candidate(kernel, theta) for theta in state.thetas]
        else:
            every = candidate_models(given)
        return [every[i] for i in state.survivors]

    def bands(
        self, state: CandidateState, models: Models, pending: Pending
    ) -> list[tuple[Posterior, float]]:
        """Return the posterior and beta of each surviving model for the next query."""
        t = state.t + len(pending) + 1
        posteriors = [models[candidate] for candidate in self.surviving(state)]
        return [(p, self.beta_of(p, state.n_parameters, t)) for p in posteriors]


@dataclass
class EliminationState(CandidateState):
    """Run-time state of `HEGPUCB`.

    Attributes
    ----------
    queries : list of dict
        All queries in S. Each dict contains the `candidate` that chose the query, the
        index of the query in the history, and the predicted `mean` and `width` (beta
        times sigma) before the query, in units of the objective.
    implausible : bool
        Whether the last surviving candidate also failed the test.
    """

    queries: list[QueryBound] = field(default_factory=list)
    implausible: bool = False


def query_bound(query: int, metadata: Mapping[str, Any]) -> QueryBound:
    """Return the prediction of a model for a query, given the query metadata."""
    return QueryBound(
        query=query,
        candidate=metadata["candidate"],
        mean=metadata["mean"],
        width=metadata["width"],
    )


def contradicted(
    queries: Sequence[QueryBound], values: Array, scale: float, xi: float
) -> bool:
    """Return whether a model's errors exceed its confidence bands and the noise.

    The noise term `xi` is in units of the model, and `scale` is the ratio of these
    units to those of the values. Queries with a width of nan are ignored, because the
    scale was unknown at the time.
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
    """Base class of the policies that eliminate candidates.

    Parameters
    ----------
    delta : float, default=0.1
        Probability that the guarantee fails. Half applies to the confidence bands and
        half to the noise.
    """

    share: ClassVar[float] = 0.5  # the other half of delta is for the noise

    def xi(self, n_sums: int, t: int) -> float:
        """Return the noise term of a test of `n_sums` sums, assuming Gaussian noise."""
        return RegretBalancer(self.noise, self.delta).xi(n_sums, t)

    def eliminate(
        self, state: Any, queries: Sequence[QueryBound], values: Array, n_sums: int
    ) -> None:
        """Remove the candidate of the last query if it fails the test.

        The last surviving candidate is kept, and a warning is issued instead.
        """
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
                "All candidate models contradict the told values; the last one is "
                "kept. Give candidates with shorter length scales, a larger "
                "norm_bound or a wider beta, or raise the noise.",
                stacklevel=2,
            )


@settings
class HEGPUCB(Eliminating, name="he-gp-ucb"):
    """Hyperparameter elimination (Ziomek, Adachi, Osborne, Algorithm 1).

    This policy is described in "Beyond lengthscales". Candidate models may differ in
    any way, for example in their length scales, periods, additive decompositions or
    prior means. Each query is chosen by the surviving model with the highest upper
    confidence bound. The model is then eliminated if the sum of its prediction errors
    exceeds its confidence bands and the noise term. Here, ``xi_t = 2 noise**2 ln(|U|
    pi**2 t**2 / (3 delta))``, where ``|U|`` is the number of all candidates, including
    eliminated ones.

    Pseudo-code (U: surviving models; S(u): queries chosen by u)::

        1  U = all candidates; S = {}
        2  for t = 1, 2, ...
        3      x_t, u_t = argmax over x and u in U of mu + beta_t sigma of u before t
        4      y_t = f(x_t) + noise; add (x_t, y_t) to the data, shared by all
        5      add t to S(u_t)
        6      eta_t = y_t - mu(x_t) of u_t before t
        7      if |sum of eta over S(u_t)| > sqrt(xi_t |S(u_t)|)
                       + sum over i in S(u_t) of beta_i sigma(x_i) before i
        8          remove u_t from U, unless it is the last

    The index of beta in line 3 follows the proof in the paper; in the printed
    algorithm, it is one step behind. As the theory requires, line 7 uses the standard
    deviation before the query. The printed algorithm uses the smaller standard
    deviation after the query.

    Set ``normalize_y=False`` if the values have unit scale, or pass a fixed mean and
    scale. By default, the values are standardised by the mean and standard deviation of
    all values told so far. With few values, this standard deviation may be too small,
    which can eliminate the correct model. Do not mix additive decompositions with a
    kernel over all parameters. The upper confidence bound of such a kernel is the
    highest nearly everywhere, so its model chooses nearly every query and is never
    eliminated.

    Parameters
    ----------
    {candidates}
    beta : float or str, default=2.0
        Width of the confidence band in standard deviations, or the name of a schedule
        that uses half of `delta`. Use "bayes-finite" or "bayes-continuous" if the
        objective is a sample from a candidate model, and "self-normalised" if it
        satisfies the norm bound of a candidate. Other schedules are "igp", "a-gp" and
        "log". The test depends on this setting: with beta = 1, the correct model fails
        at its first query in one out of three cases.
    {inherited}

    Warns
    -----
    UserWarning
        If the last surviving candidate also fails the test (once per run).

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
        """Return the maximiser of the largest upper bound of the surviving models."""
        bands = self.bands(state, models, pending)
        union = UnionMax([UCB(posterior, beta) for posterior, beta in bands])
        x, _ = argmax(union)  # line 3
        best = union.attained_by(x)
        posterior, beta = bands[best]
        width = beta * posterior.told_deviation(x) * models.unit
        u = state.survivors[best]
        return x, metadata_of(models, posterior, x, candidate=u, width=width)

    def learn(self, state: EliminationState, metadata: Metadata, history: Told) -> None:
        """Assign the query to its candidate, and test the candidate."""
        state.t += 1  # line 2
        values = history.values  # line 4
        state.queries.append(query_bound(len(values) - 1, metadata))  # line 5, line 6
        n = self.n_introduced(state)
        self.eliminate(state, state.queries, values, n)  # line 7, line 8


@settings
class ExpectedUCB(CandidatePolicy, name="expected-ucb"):
    """Policy that maximises the expected upper confidence bound of candidate models.

    This policy is a baseline in "Beyond lengthscales" (Ziomek, Adachi, Osborne).
    Candidates are weighted by their posterior probabilities under a uniform prior.

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
        """Return the maximiser of the expected upper confidence bound."""
        bands = self.bands(state, models, pending)  # line 1
        posteriors = [posterior for posterior, _ in bands]
        # The softmax subtracts the largest logarithm first, so no density underflows.
        P = softmax([p.log_marginal_likelihood for p in posteriors])  # line 2
        bounds = [UCB(posterior, beta) for posterior, beta in bands]
        x, _ = argmax(WeightedSum(bounds, P))  # line 3
        return x, _mixture_note(models, posteriors, P, x)


def _mixture_note(
    models: Models, posteriors: Sequence[Posterior], P: Array, x: Array
) -> Metadata:
    """Return metadata with the prediction of the mixture and its main component."""
    notes = [metadata_of(models, posterior, x) for posterior in posteriors]
    means = np.array([each["mean"] for each in notes])
    stds = np.array([each["std"] for each in notes])
    mean = float(P @ means)
    std = math.hypot(*np.sqrt(P) * stds, *np.sqrt(P) * (means - mean))
    chief = notes[int(np.argmax(P))]
    return {**chief, "mean": mean, "std": std, "weights": P.tolist()}


# The best point under the worst perturbation -----------------------------------------


Ball = Callable[[Array], Array]


#: An encoded point.
_Point = Annotated[list[Finite], Consistent(lambda x, at: len(x) == at.setup.n_columns)]


@dataclass
class StableState(EliminationState):
    """Run-time state of `HEStableOpt` and `StableOpt`.

    Attributes
    ----------
    adversarial : list of dict
        All queries in Shat, in the same form as `queries`, with the predictions of the
        most pessimistic models.
    centres : list of list of float
        The points x_t around which the queries were made.
    """

    adversarial: list[QueryBound] = field(default_factory=list)
    centres: list[_Point] = field(default_factory=list)


class _Attacked(Credited):
    """Metadata with the centre and the prediction of the most pessimistic model."""

    centre: _Point
    adversary: Promise


@settings
class _Stable(Eliminating):
    """Base class of the adversarially robust policies.

    Parameters
    ----------
    eps : float or dict of str to float, default=0.05
        Largest perturbation, either for all parameters or for each perturbed parameter.
        Parameters with unordered choices are never perturbed.
    metric : {"max", "l2"}, default="max"
        Metric for the size of a perturbation. With "max", each parameter may change by
        up to `eps`. With "l2", `eps` limits the Euclidean distance.
    units : {"cube", "user"}, default="cube"
        Whether `eps` is in unit-cube coordinates or in the units of the parameters.
    """

    state_type: ClassVar[type] = StableState
    metadata_type: ClassVar[type] = _Attacked
    seeks_maximum: ClassVar[bool] = False  # it seeks the best worst case

    eps: NotNegative | Mapping[str, NotNegative] = 0.05
    metric: Literal["max", "l2"] = "max"
    units: Literal["cube", "user"] = "cube"

    def start(self, setup: Setup, models: Models) -> StableState:
        state: StableState = super().start(setup, models)  # line 1
        self._ball(models)  # raises an error for names that are not in the space
        return state

    def _ball(self, models: Models) -> Ball:
        return models.ball(self.eps, self.metric, self.units)

    def perturbations(self, x: Array, models: Models) -> Array:
        """Return the feasible perturbations of `x`."""
        return self._ball(models)(x[None, :])[0]

    def suggest(
        self, state: StableState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the worst perturbation of the point with the best worst case."""
        bands, ball = self.bands(state, models, pending), self._ball(models)
        robust = UnionMax([WorstCase(UCB(p, beta), ball) for p, beta in bands])
        centre = self._centre(argmax, robust, ball)
        u = robust.attained_by(centre)
        around = ball(centre[None, :])[0]
        lower = np.array([UCB(p, -beta)(around) for p, beta in bands])
        order = np.argsort(lower.min(axis=0), kind="stable")
        worst = next(i for i in order if argmax.free(around[i]))  # line 4
        v, x = int(np.argmin(lower[:, worst])), around[worst]
        metadata = metadata_of(models, bands[u][0], x, **_bound(models, bands[u], x))
        adversary = {"candidate": state.survivors[v], **_bound(models, bands[v], x)}
        metadata |= {
            "candidate": state.survivors[u],
            "adversary": adversary,
            "centre": centre.tolist(),
            "lcb": float(lower.min()) * models.scale + models.shift,
        }
        return x, metadata

    def _centre(self, argmax: Argmax, robust: UnionMax, ball: Ball) -> Array:
        """Return a centre x_t around which there is a point left to evaluate."""
        radii = self.eps.values() if isinstance(self.eps, Mapping) else [self.eps]
        x, _ = argmax(robust, inner=any(radii))  # line 3
        if not any(argmax.free(point) for point in ball(x[None, :])[0]):
            x, _ = argmax(robust)  # free itself
        return x

    def learn(self, state: StableState, metadata: Metadata, history: Told) -> None:
        """Increment the query counter and store the centre of the query."""
        state.t += 1  # line 2
        state.centres.append(metadata["centre"])  # line 6: the history holds the value

    def recommend(self, state: Any, models: Models, history: Told) -> Array:
        """Return the centre with the best guaranteed worst case, in encoded form.

        The worst case of a centre is the smallest lower confidence bound over its
        perturbations and the surviving models, given all data. Centres whose queries
        failed or were stopped by a race are excluded. If no centre remains, the told
        point with the largest posterior mean under the MAP model is returned.
        """
        X = np.array([] if state is None else _measured(state.centres, history))
        if not len(X):
            return super().recommend(state, models, history)
        bands, ball = self.bands(state, models, []), self._ball(models)
        worst = [WorstCase(UCB(p, -beta), ball)(X) for p, beta in bands]
        return X[int(np.argmax(np.min(worst, axis=0)))]  # line 10


def _measured(centres: list[list[float]], history: Told) -> list[list[float]]:
    """Return the centres whose queries have finite values."""
    values = history.values[history.chosen]
    pairs = zip(centres, values, strict=False)
    return [centre for centre, value in pairs if np.isfinite(value)]


def _bound(models: Models, band: tuple[Posterior, float], x: Array) -> Metadata:
    """Return the mean and width predicted by a model, in units of the objective."""
    posterior, beta = band
    mean = float(posterior.predict(x[None, :])[0][0]) * models.scale + models.shift
    return {"mean": mean, "width": beta * posterior.told_deviation(x) * models.unit}


@settings
class HEStableOpt(_Stable, name="he-stableopt"):
    """Adversarially robust search with hyperparameter elimination (Algorithm 2).

    This policy from "Beyond lengthscales" (Ziomek, Adachi, Osborne) finds the point
    with the best value under the worst-case perturbation if one of the candidate models
    is correct. The surviving model with the highest upper bound chooses the centre, and
    the model with the lowest lower bound chooses the perturbation. Both models are
    tested. The `recommend` method returns a centre. Here, ``xi_t = 2 noise**2 ln(2 |U|
    pi**2 t**2 / (3 delta))``.

    Pseudo-code (U: surviving models; delta: feasible perturbations of x)::

        1  U = all candidates; S = Shat = {}
        2  for t = 1, 2, ...
        3      x_t, u_t = argmax over x and u in U of min over delta of UCB(x + delta)
        4      delta_t, v_t = argmin over delta and v in U of LCB(x_t + delta)
        5      add t to S(u_t) and to Shat(v_t)
        6      y_t = f(x_t + delta_t) + noise; add (x_t + delta_t, y_t) to the data
        7      eta_t = y_t - mu(x_t + delta_t) of u_t before t; etahat_t: same for v_t
        8      remove u_t from U if |sum of eta over S(u_t)| > sqrt(xi_t |S(u_t)|)
                       + sum over i in S(u_t) of beta_i sigma(x_i + delta_i) before i
        9      same for v_t, Shat(v_t) and etahat; the last model is never removed
       10  return argmax over x_1, x_2, ... of min over delta and U of LCB(x + delta)

    In the printed algorithm, line 9 adds u_t to U again, lines 8 and 9 use the standard
    deviation after the query, and xi_t contains ``|U|`` instead of ``2 |U|``. Line 10
    is not in the paper. It is the rule of StableOpt with an additional minimum over the
    surviving models, given all data. If the worst perturbation has already been
    evaluated and `repeats` is False, the worst remaining perturbation is evaluated.

    Parameters
    ----------
    {candidates}
    beta : float or str, default=2.0
        Width of the confidence band in standard deviations, or the name of a schedule;
        see `HEGPUCB`.
    {inherited}

    Warns
    -----
    UserWarning
        If the last surviving candidate also fails a test (once per run).

    Examples
    --------
    >>> from skrobustbo import Optimizer, Real
    >>> from skrobustbo.policies import HEStableOpt
    >>> policy = HEStableOpt(eps={"x": 0.3}, units="user")
    >>> optimizer = Optimizer({"x": Real(-1, 1)}, policy, random_state=0)
    >>> for _ in range(20):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, params["x"] if params["x"] < 0.5 else -1.0)
    >>> optimizer.recommend()["x"] < 0.25
    True
    """

    beta: float | str = 2.0

    def learn(self, state: StableState, metadata: Metadata, history: Told) -> None:
        """Assign the query to both models, and test them."""
        super().learn(state, metadata, history)
        values, n_sums = history.values, 2 * self.n_introduced(state)
        last, adversary = len(values) - 1, metadata["adversary"]
        state.queries.append(query_bound(last, metadata))  # line 5, line 7
        state.adversarial.append(query_bound(last, adversary))  # line 5, line 7
        self.eliminate(state, state.queries, values, n_sums)  # line 8
        self.eliminate(state, state.adversarial, values, n_sums)  # line 9


@settings
class StableOpt(_Stable, name="stableopt"):
    """Adversarially robust search with one fixed model (Bogunovic et al. 2018).

    This policy finds the point with the best value under the worst-case perturbation.
    The `recommend` method returns a centre.

    Pseudo-code (numbered as in `HEStableOpt`; delta: perturbations of x)::

        1  U = the one model
        2  for t = 1, 2, ...
        3      x_t = argmax over x of min over delta of UCB(x + delta)
        4      delta_t = argmin over delta of LCB(x_t + delta)
        6      y_t = f(x_t + delta_t) + noise; add (x_t + delta_t, y_t) to the data
       10  return argmax over x_1, x_2, ... of min over delta of LCB(x + delta)

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel of the model, used without changes. If None, a Matern-5/2 kernel is
        fitted once to the initial design by maximum likelihood.
    delta : float, default=0.1
        Probability that the confidence band of a schedule does not hold.
    {inherited}

    Examples
    --------
    >>> from skrobustbo.policies import StableOpt
    >>> StableOpt(eps=0.1, metric="l2")
    StableOpt(eps=0.1, metric='l2')
    """

    share: ClassVar[float] = 1.0

    kernel: Kernel | None = field(default=None, kw_only=False)
    candidates: Given | None = field(default=None, init=False)

    def given(self) -> Given | None:
        """Return the model in the settings, or None for the default model."""
        return None if self.kernel is None else [self.kernel]

    def default_length_scales(self, setup: Setup, models: Models) -> list[float]:
        """Return the maximum likelihood length scale for the initial design."""
        return [initial_length_scale(self.base_kernel(), setup.diameter, models)]
