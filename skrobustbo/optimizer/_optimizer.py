"""Ask and tell: the optimizer behind every search."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from skrobustbo._arguments import (
    about,
    checked_count,
    drawn_seed,
    optional_count,
)
from skrobustbo._trials import Trial, Trials
from skrobustbo._words import count
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.optimizer._branch import Branch, forget
from skrobustbo.optimizer._checks import (
    check_return_resource,
    checked_amounts,
    checked_rung,
    listed_params,
    paired,
)
from skrobustbo.optimizer._determinism import one_blas_thread
from skrobustbo.optimizer._rungs import Rungs
from skrobustbo.optimizer._turns import (
    InitialDesign,
    Turns,
    check_feasible,
    check_first,
)
from skrobustbo.optimizer._views import Views
from skrobustbo.optimizer._written import Written
from skrobustbo.policies import Policy, make_policy
from skrobustbo.space import Constraint, Space, fresh

Params = dict[str, Any]


class Optimizer(Written, Views):
    """Maximise an expensive function by asking for points and telling their values.

    Parameters
    ----------
    space : Space, dict or list of dict
        The search space; dicts are as in `Space`. The dicts of a list are branches of
        one search. Each has its own models, and more promising branches get more of the
        evaluations.
    policy : str or Policy, default="robust"
        How points are chosen: a name from `skrobustbo.policies.available` or an object.
    n_initial_points : int, default=None
        Number of points before the model takes over. `initial_params` and points told
        without being asked count; the rest is a scrambled Sobol sequence. Default:
        2 d + 2 for d parameters, at least 3, for every branch, at most a third of the
        horizon. Every branch gets at least two, as far as the horizon allows.
    initial_params : list of dict, default=None
        Points to ask first.
    constraints : callable, default=None
        Takes a params dict of plain Python values and returns True if that point may be
        asked. Points that you tell may violate it.
    horizon : int, default=None
        Total number of planned evaluations, if known. Some policies use it.
    resources : list of float, default=None
        Amounts of a resource, such as epochs or rows, ascending; the last one is the
        full amount. Points then are evaluated with a small amount first, and the better
        ones with more: see `ask` and `tell`. `horizon` counts full evaluations.
    random_state : int, RandomState or None, default=None
        Seed of all randomness. With the same seed and values, the points are the same.

    Attributes
    ----------
    space : Space
    policy : Policy
    n_initial_points : int
        Number of points before the model takes over.
    best_params_ : dict
        The point with the best value told.
    best_value_ : float
        The best value told.
    history_ : list of dict
        All points asked or told, with the predictions made for them.
    remembered_ : list of int
        Positions in `history_` of the values that the policy currently uses.
    models_ : dict of str to IncrementalGPR
        The Gaussian processes in use, each a fitted scikit-learn regressor.

    Raises
    ------
    ValueError
        If an argument is invalid; the message says what to write instead.

    Notes
    -----
    Methods may be called from several threads. `ask` and `predict` run with one BLAS
    thread.

    Examples
    --------
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"x": Real(-1, 1)}, random_state=0)
    >>> for _ in range(12):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, -(params["x"] - 0.3) ** 2)
    >>> abs(optimizer.best_params_["x"] - 0.3) < 0.01
    True
    """

    def __init__(
        self,
        space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        policy: str | Policy = "robust",
        *,
        n_initial_points: int | None = None,
        initial_params: Sequence[Mapping[str, Any]] | None = None,
        constraints: Callable[[Params], bool] | None = None,
        horizon: int | None = None,
        resources: Sequence[float] | None = None,
        random_state: Any = None,
    ) -> None:
        policy = make_policy(policy)
        policy.check()
        self._set_up(
            space=space if isinstance(space, Space) else Space(space),
            policy=policy,
            horizon=optional_count("horizon", horizon, "Optimizer"),
            constraints=constraints,
            first=_initial(initial_params),
            n_initial=optional_count("n_initial_points", n_initial_points, "Optimizer"),
            seed=drawn_seed(random_state, "Optimizer"),
            resources=None if resources is None else checked_amounts(resources),
        )
        if constraints is not None:
            check_feasible(self._branches)

    def _set_up(
        self,
        *,
        space: Space,
        policy: Policy,
        horizon: int | None,
        constraints: Callable[[Params], bool] | None,
        first: Sequence[Params],
        n_initial: int | None,
        seed: int,
        resources: Sequence[float] | None = None,
    ) -> None:
        self._lock = threading.RLock()
        self.space, self.policy, self.horizon = space, policy, horizon
        self.constraints, self._seed, self._n_asked = constraints, seed, 0
        rule = None if constraints is None else Constraint(constraints)
        given = [self._given(params) for params in first]
        check_first(given, rule)
        self._trials, regions = Trials(), space.owned
        self._rungs = None
        if resources is not None:
            self._rungs = Rungs(resources, horizon, self._trials)
            horizon = self._rungs.n_candidates
        if rule is not None:
            regions = [region.within(rule) for region in regions]
        self._branches = [
            Branch(i, *spaces, policy, horizon, seed, self._trials)
            for i, spaces in enumerate(zip(space.branches, regions, strict=True))
        ]
        self._design = InitialDesign(
            self._branches, self._trials, given, n_initial, horizon
        )
        self._turns = Turns(self._branches, self._trials, self._design, policy)
        self.n_initial_points = self._design.n_points

    def _given(self, params: Params) -> Trial:
        try:
            return self._place(params)
        except ValueError as error:
            raise about("'initial_params'", error) from None

    def __repr__(self) -> str:
        told = count(len(self._trials), "value")
        return f"Optimizer({self.space!r}, {self.policy!r}) with {told} told"

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()

    # Ask -----------------------------------------------------------------------------

    @overload
    def ask(self, n: None = None) -> Params: ...
    @overload
    def ask(self, n: int) -> list[Params]: ...
    @overload
    def ask(self, n: Any = None, *, return_resource: bool) -> Any: ...
    def ask(self, n: int | None = None, *, return_resource: bool = False) -> Any:
        """Return the next point to evaluate, or a list of `n` points.

        Points asked but not yet told are pending. They are never asked again. The
        models take them into account: standard deviations shrink, means stay the same.

        Parameters
        ----------
        n : int, default=None
            Number of points; None gives one dict instead of a list.
        return_resource : bool, default=False
            Whether to return the amount of the resource to evaluate each point with. It
            must be True if the optimizer has `resources`, and only then. A point may be
            one that was asked before, with a smaller amount.

        Returns
        -------
        params : dict or list of dict
            With `return_resource`, a tuple ``(params, resource)`` or a list of them.

        Raises
        ------
        SpaceExhausted
            If every point of a finite space has been asked or told.
        """
        check_return_resource(return_resource, self._rungs)
        if n is None:
            return self._ask_one(return_resource)
        n = checked_count("n", n, "Optimizer.ask")
        return [self._ask_one(return_resource) for _ in range(n)]

    def _ask_one(self, return_resource: bool) -> Params | tuple[Params, float]:
        if not return_resource:
            return fresh(self._ask_trial().params)
        trial, rung = self._ask_rung()
        return fresh(trial.params), self._ladder.amounts[rung]

    def _ask_rung(self) -> tuple[Trial, int]:
        """Return the next trial, which is new or promoted, and its rung."""
        with self._lock:
            trial, rung = self._ladder.next()
            if trial is None:
                try:
                    trial = self._ask_trial()
                except SpaceExhausted:
                    trial, rung = self._ladder.next_when_exhausted()
                    if trial is None:
                        raise
            self._ladder.note(trial, rung, None)
            return trial, rung

    @property
    def _ladder(self) -> Rungs:
        """The rungs of an optimizer with a resource."""
        assert self._rungs is not None
        return self._rungs

    def _ask_trial(self) -> Trial:
        """Return the next trial, which is then pending."""
        with self._lock, one_blas_thread():
            trial = self._design.next_trial(self._n_asked)
            trial = trial or self._turns.propose(self._n_asked)
            self._add(trial)
            self._n_asked += 1
            return trial

    def _add_earlier(self, trial: Trial) -> None:
        """Add a trial of an earlier run, which is then pending."""
        with self._lock:
            self._add(trial)

    def _add_earlier_rung(self, trial: Trial, rung: int) -> Trial:
        """Add an evaluation of an earlier run at a rung; return its trial."""
        with self._lock:
            known = self._branches[trial.branch].history.find(trial.x)
            if known is None:
                self._add(trial)
            self._ladder.note(known or trial, rung, None)
            return known or trial

    def _add(self, trial: Trial) -> None:
        trial.number = len(self._trials.trials) - self._trials.n_before
        self._trials.add(trial)
        self._branches[trial.branch].history.add(trial)

    # Tell ----------------------------------------------------------------------------

    def tell(
        self,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        value: float | Sequence[float],
        *,
        resource: float | None = None,
    ) -> None:
        """Record the value of one or several points, asked or not, in any order.

        Parameters
        ----------
        params : dict or list of dict
            Points of the space. A point in several branches counts for the first one.
        value : float or list of float
            Values of the objective; larger is better. nan and infinite values are
            failed evaluations: they are recorded, and similar points are avoided.
        resource : float, default=None
            The amount of the resource that the points were evaluated with, one of
            `resources`. None is the full amount.

        Raises
        ------
        ValueError
            If a point is outside the space, a value is not a number, or the amount is
            not one of `resources`. In this case, nothing is recorded.
        """
        rung = checked_rung(resource, self._rungs)
        checked = [(self._place(p), number) for p, number in paired(params, value)]
        with self._lock:
            for trial, number in checked:
                self._tell_placed(trial, number, rung)

    def _tell_placed(self, trial: Trial, value: float, rung: int | None) -> None:
        """Record the value of a trial that holds a point of the space."""
        history = self._branches[trial.branch].history
        if rung is None:
            self._tell_trial(history.find_pending(trial.x) or trial, value)
        else:
            known = history.find_pending(trial.x) or history.find(trial.x)
            self._tell_rung(known or trial, rung, value)

    def _tell_rung(
        self, trial: Trial, rung: int, value: float, std: float = 0.0
    ) -> None:
        """Record the value of a trial at a rung, and update the predictions for all."""
        with self._lock:
            history = self._branches[trial.branch].history
            if not history.seen(trial.x):
                self._add(trial)
            was_full = self._ladder.is_full(trial)
            self._ladder.note(trial, rung, value, std)
            self._revalue()
            if trial.pending:
                self._take(trial, *self._ladder.expected(trial))
            elif history.only_full and not was_full and self._ladder.is_full(trial):
                history.show(trial)  # it had been forgotten
            for branch in self._branches:
                if self._ladder.has_enough_full(branch.history):
                    forget(branch, self._ladder.full(branch.history))

    def _revalue(self) -> None:
        """Update the values of all told trials from those at the rungs."""
        self._ladder.revalue()
        for store in (self._trials, *(branch.history for branch in self._branches)):
            store.revalue()

    def _tell_trial(self, trial: Trial, value: float, std: float = 0.0) -> None:
        """Record the value of a trial, asked or not.

        `std` is the standard deviation of an error of its own, if it is an estimate.
        """
        with self._lock:
            if trial.number < 0:
                self._add(trial)
            self._take(trial, value, std)

    def _take(self, trial: Trial, value: float, std: float) -> None:
        """Record the value of a trial, and let the policy learn from it."""
        trial.value_std = std
        self._record(trial, value, time.time())
        self._branches[trial.branch].learn(trial)
        self._turns.learn(trial)

    def _tell_previous(self, found: Sequence[tuple[Params, float]]) -> None:
        """Record the values of an earlier search; numbering begins after them."""
        self._trials.n_before = len(found)
        for params, value in found:
            trial = self._place(params)
            if self._rungs is None:
                self._tell_trial(trial, value)
            else:
                self._tell_placed(trial, value, self._rungs.top)

    def _record(self, trial: Trial, value: float, when: float) -> None:
        self._trials.tell(trial, value, when)
        history = self._branches[trial.branch].history
        if history.only_full and not self._ladder.is_full(trial):
            history.drop(trial)
            trial.metadata = None
        else:
            history.tell(trial, value, when)


def _initial(params: Any) -> list[Params]:
    return [] if params is None else listed_params(params, "initial_params")
