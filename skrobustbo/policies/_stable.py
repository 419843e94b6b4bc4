"""Adversarially robust search: the best point when the worst perturbation comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._forms import Consistent, Finite, NotNegative
from skrobustbo.acquisition import UCB, UnionMax, WorstCase
from skrobustbo.policies._candidates import Given, Promise, QueryBound
from skrobustbo.policies._consistent import Credited
from skrobustbo.policies._elimination import Eliminating, EliminationState, query_bound
from skrobustbo.policies._interface import (
    Argmax,
    Array,
    Metadata,
    Pending,
    Proposal,
    Setup,
    Told,
)
from skrobustbo.policies._models import initial_length_scale, metadata_of
from skrobustbo.policies._settings import settings
from skrobustbo.surrogate import Models, Posterior

Ball = Callable[[Array], Array]


#: An encoded point.
_Point = Annotated[list[Finite], Consistent(lambda x, at: len(x) == at.setup.n_columns)]


@dataclass
class StableState(EliminationState):
    """Run-time state of `HEStableOpt` and `StableOpt`.

    Attributes
    ----------
    adversarial : list of dict
        All Shat together, as `queries` holds all S: what the most pessimistic models
        promised.
    centres : list of list of float
        The points x_t around which has been asked.
    """

    adversarial: list[QueryBound] = field(default_factory=list)
    centres: list[_Point] = field(default_factory=list)


class _Attacked(Credited):
    """The metadata of a robust policy: the centre, and what the pessimist expects."""

    centre: _Point
    adversary: Promise


@settings
class _Stable(Eliminating):
    """The choice of a centre, of a perturbation, and of the answer.

    Parameters
    ----------
    eps : float or dict of str to float, default=0.05
        Largest perturbation, or one for each parameter that is perturbed. Unordered
        choices are never perturbed.
    metric : {"max", "l2"}, default="max"
        "max": each parameter may move by `eps`. "l2": the Euclidean distance.
    units : {"cube", "user"}, default="cube"
        Whether `eps` is in unit-cube coordinates or in the parameters' own units.
    """

    state_type: ClassVar[type] = StableState
    metadata_type: ClassVar[type] = _Attacked
    seeks_maximum: ClassVar[bool] = False  # but the best worst case

    eps: NotNegative | Mapping[str, NotNegative] = 0.05
    metric: Literal["max", "l2"] = "max"
    units: Literal["cube", "user"] = "cube"

    def start(self, setup: Setup, models: Models) -> StableState:
        """Return a state in which every candidate survives."""
        state: StableState = super().start(setup, models)  # line 1
        self._ball(models)  # names that the space does not know are found here
        return state

    def _ball(self, models: Models) -> Ball:
        return models.ball(self.eps, self.metric, self.units)

    def perturbations(self, x: Array, models: Models) -> Array:
        """Return the feasible perturbations of `x`."""
        return self._ball(models)(x[None, :])[0]

    def suggest(
        self, state: StableState, models: Models, argmax: Argmax, pending: Pending
    ) -> Proposal:
        """Return the worst perturbation of the point of best worst case."""
        bands, ball = self.bands(state, models, pending), self._ball(models)
        robust = UnionMax([WorstCase(UCB(p, beta), ball) for p, beta in bands])
        centre = self._centre(argmax, robust, ball)
        u = robust.attained_by(centre)
        around = ball(centre[None, :])[0]
        lower = np.array([UCB(p, -beta)(around) for p, beta in bands])
        worst = next(  # line 4
            i
            for i in np.argsort(lower.min(axis=0), kind="stable")
            if argmax.free(around[i])
        )
        v, x = int(np.argmin(lower[:, worst])), around[worst]
        metadata = metadata_of(models, bands[u][0], x, **_bound(models, bands[u], x))
        metadata |= {
            "candidate": state.survivors[u],
            "adversary": {
                "candidate": state.survivors[v],
                **_bound(models, bands[v], x),
            },
            "centre": centre.tolist(),
            "lcb": float(lower.min()) * models.scale + models.shift,
        }
        return x, metadata

    def _centre(self, argmax: Argmax, robust: UnionMax, ball: Ball) -> Array:
        """Return x_t: a centre may come again, as long as a query is left around it."""
        radii = self.eps.values() if isinstance(self.eps, Mapping) else [self.eps]
        x, _ = argmax(robust, inner=any(radii))  # line 3
        if not any(argmax.free(point) for point in ball(x[None, :])[0]):
            x, _ = argmax(robust)  # free itself
        return x

    def learn(self, state: StableState, metadata: Metadata, history: Told) -> None:
        """Count the query and keep its centre."""
        state.t += 1  # line 2
        state.centres.append(metadata["centre"])  # line 6: the history holds the value

    def recommend(self, state: Any, models: Models, history: Told) -> Array:
        """Return the encoded centre whose worst case has the best guarantee.

        The worst case is the smallest lower bound over perturbations and surviving
        models, given all the data. A centre is never recommended if its query failed or
        was stopped by a race. Without a centre, the result is the told point with the
        best MAP mean.
        """
        X = np.array([] if state is None else _measured(state.centres, history))
        if not len(X):
            return super().recommend(state, models, history)
        bands, ball = self.bands(state, models, []), self._ball(models)
        worst = [WorstCase(UCB(p, -beta), ball)(X) for p, beta in bands]
        return X[int(np.argmax(np.min(worst, axis=0)))]  # line 10


def _measured(centres: list[list[float]], history: Told) -> list[list[float]]:
    """Return the centres whose query has a value that was measured in full."""
    values = history.values[history.chosen]
    pairs = zip(centres, values, strict=False)
    return [centre for centre, value in pairs if np.isfinite(value)]


def _bound(models: Models, band: tuple[Posterior, float], x: Array) -> Metadata:
    """Return the mean and width that a model promises, in objective units."""
    posterior, beta = band
    mean = float(posterior.predict(x[None, :])[0][0]) * models.scale + models.shift
    return {"mean": mean, "width": beta * posterior.told_deviation(x) * models.unit}


@settings
class HEStableOpt(_Stable, name="he-stableopt"):
    """Adversarially robust search with hyperparameter elimination (Algorithm 2).

    From "Beyond lengthscales" (Ziomek, Adachi, Osborne). It finds the point with the
    best worst-case perturbation if the model is one of several. The surviving model
    with the highest upper bound chooses the centre, the one with the lowest lower bound
    the perturbation. Both are tested. `recommend` returns a centre. Here
    ``xi_t = 2 noise**2 ln(2 |U| pi**2 t**2 / (3 delta))``.

    Pseudo-code (U: surviving models; delta: feasible perturbations of x)::

        1  U = all candidates; S = Shat = {}
        2  for t = 1, 2, ...
        3      x_t, u_t = argmax over x and u in U of min over delta of UCB(x + delta)
        4      delta_t, v_t = argmin over delta and v in U of LCB(x_t + delta)
        5      add t to S(u_t) and to Shat(v_t)
        6      y_t = f(x_t + delta_t) + noise; add (x_t + delta_t, y_t) to the data
        7      eta_t = y_t - mu(x_t + delta_t) of u_t before t; etahat_t = that of v_t
        8      remove u_t from U if |sum of eta over S(u_t)| > sqrt(xi_t |S(u_t)|)
                       + sum over i in S(u_t) of beta_i sigma(x_i + delta_i) before i
        9      the same for v_t, Shat(v_t) and etahat; the last is never removed
       10  return argmax over x_1, x_2, ... of min over delta and U of LCB(x + delta)

    The printed algorithm puts u_t back in line 9, uses the standard deviation after the
    query in lines 8 and 9, and has ``|U|`` instead of ``2 |U|`` in xi_t. Line 10 is not
    in the paper. It is that of StableOpt, with the minimum over the survivors and all
    the data. If the worst perturbation has been asked before (and `repeats` is False),
    the worst remaining one is asked.

    Parameters
    ----------
    {candidates}
    beta : float or str, default=2.0
        Width of the band in standard deviations, or a schedule; see `HEGPUCB`.
    {inherited}

    Warns
    -----
    UserWarning
        Once in a run, if the last candidate fails a test as well.

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
        """Credit the query to both models, and test them."""
        super().learn(state, metadata, history)
        values, n_sums = history.values, 2 * self.n_introduced(state)
        for entries, promise in [
            (state.queries, metadata),  # line 5, line 7
            (state.adversarial, metadata["adversary"]),
        ]:
            entries.append(query_bound(len(values) - 1, promise))
        self.eliminate(state, state.queries, values, n_sums)  # line 8
        self.eliminate(state, state.adversarial, values, n_sums)  # line 9


@settings
class StableOpt(_Stable, name="stableopt"):
    """Adversarially robust search with one fixed model (Bogunovic et al. 2018).

    It finds the point with the best worst-case perturbation. `recommend` returns a
    centre.

    Pseudo-code (numbered as that of `HEStableOpt`; delta: perturbations of x)::

        1  U = the one model
        2  for t = 1, 2, ...
        3      x_t = argmax over x of min over delta of UCB(x + delta)
        4      delta_t = argmin over delta of LCB(x_t + delta)
        6      y_t = f(x_t + delta_t) + noise; add (x_t + delta_t, y_t) to the data
       10  return argmax over x_1, x_2, ... of min over delta of LCB(x + delta)

    Parameters
    ----------
    kernel : Kernel, default=None
        The model, used as it is. None: Matern-5/2 with the maximum likelihood length
        scale of the initial design, fitted once and then kept.
    delta : float, default=0.1
        Probability that the band of a schedule may fail.
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
        """Return the one model, None for the default one."""
        return None if self.kernel is None else [self.kernel]

    def default_length_scales(self, setup: Setup, models: Models) -> list[float]:
        """Return the maximum likelihood length scale of the initial design."""
        return [initial_length_scale(self.base_kernel(), setup, models)]
