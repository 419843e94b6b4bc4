"""Ask and tell: the optimizer behind every search."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from skrobustbo._arguments import (
    about,
    checked_count,
    checked_probability,
    drawn_seed,
    optional_count,
)
from skrobustbo._forms import Count, has_form, has_items
from skrobustbo._names import count
from skrobustbo._trials import Trial, Trials
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.optimizer._balancer import BranchState
from skrobustbo.optimizer._branch import Branch, forget
from skrobustbo.optimizer._checks import (
    check_return_resource,
    checked_amounts,
    checked_rung,
    fitting,
    listed_params,
    paired,
    plain_params,
    read_results,
)
from skrobustbo.optimizer._determinism import one_blas_thread
from skrobustbo.optimizer._regret_bound import regret_bound
from skrobustbo.optimizer._rungs import Rungs
from skrobustbo.optimizer._state import (
    FORMAT,
    check_constraints,
    check_format,
    check_given,
    check_parts,
    history_record,
    or_none,
    policy_state,
    reading,
    rebuilt,
    settings_read,
    to_json_state,
    trial_from_dict,
    trial_to_dict,
)
from skrobustbo.optimizer._turns import (
    InitialDesign,
    Turns,
    check_feasible,
    check_first,
)
from skrobustbo.policies import Policy, make_policy, policy_to_dict
from skrobustbo.space import Constraint, Space, fresh
from skrobustbo.surrogate import IncrementalGPR

Array = NDArray[np.float64]
Params = dict[str, Any]


def _as_told(branch: Branch, x: Array) -> Params:
    """Return a point as the user sees it, as it was told if it was."""
    trials = branch.history.trials
    known = next((t for t in trials if np.array_equal(t.x, x)), None)
    return fresh(branch.space.decode(x) if known is None else known.params)


class Optimizer:
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

    def _place(self, params: Mapping[str, Any]) -> Trial:
        """Return a trial of a params dict; ValueError if it is not of the space."""
        branch, x = self.space.place(params)
        return Trial(self.space.branches[branch].own(params), x, branch)

    def _beliefs(self, trial: Trial) -> list[tuple[float, float]]:
        """Return what each plausible model says of a pending trial's value."""
        with self._lock, one_blas_thread():
            return self._branches[trial.branch].beliefs(trial.x, self._n_asked)

    @property
    def best_params_(self) -> Params:
        """The point with the best value told."""
        return fresh(self._best().params)

    @property
    def best_value_(self) -> float:
        """The best value told, in units of the objective."""
        value = self._best().value
        return float(value)  # type: ignore[arg-type]

    def _best(self) -> Trial:
        best = self._trials.best
        if best is None:
            raise ValueError(
                "Expected at least one finite value, got none so far; tell one first."
            )
        return self._trials.told[best]

    @property
    def history_(self) -> list[dict[str, Any]]:
        """Records of all points, in the order in which they came."""
        amounts = () if self._rungs is None else self._rungs.amounts
        return [history_record(trial, amounts) for trial in self._trials.trials]

    @property
    def remembered_(self) -> list[int]:
        """Positions in `history_` of the values that the policy currently uses.

        These are all values told, except for policies that drop values: those for
        changing objectives with resets or a window.
        """
        with self._lock:
            kept = [trial for b in self._branches for trial in b.remembered]
            first = self._trials.n_before
            return sorted(trial.number + first for trial in kept)

    def recommend(self) -> Params:
        """Return the point to deploy: for most policies the told one of best mean.

        The mean comes from a model with MAP length scales on all the data, which does
        not rely on a single lucky value. Policies for perturbed or changing objectives
        have their own rules.

        Returns
        -------
        params : dict

        Raises
        ------
        ValueError
            If no finite value has been told.
        """
        best = self._best()
        with self._lock, one_blas_thread():
            found = [b for b in self._branches if b.history.best is not None]
            if not found:  # all full values have failed, and the others are forgotten
                return fresh(best.params)
            points = [branch.recommend(self._n_asked) for branch in found]
            i = 0
            if len(found) > 1:
                means = [b.mean_at(x) for b, x in zip(found, points, strict=True)]
                i = int(np.argmax(means))
            return _as_told(found[i], points[i])

    @property
    def models_(self) -> dict[str, IncrementalGPR]:
        """Copies of the Gaussian processes in use, by label.

        Each is a scikit-learn `GaussianProcessRegressor`, fitted to the values that the
        policy uses. These are the models that survive, for "robust" those of its
        levels, and the model with MAP length scales if a policy estimates or draws
        them. Labels are as in the results, such as ``"theta=0.25"``; with several
        branches, ``"branch 0: theta=0.25"``. Empty during the initial design. Changing
        the copies does not affect the optimizer.

        Notes
        -----
        They use the units of the search. Points are encoded, as by ``space.encode`` (of
        the branch, if there are several). In models of time ("tv-gp-ucb", "ui-tvbo"),
        the last column is time, counted in values told from 1. Targets are values as
        transformed and standardised by the policy, minus the prior mean if a candidate
        has one. In units of the objective, a mean is ``mean * scale_ + shift_`` and a
        standard deviation ``std * scale_``, with the attributes of the regressor.

        Examples
        --------
        >>> from skrobustbo import Optimizer, Real
        >>> optimizer = Optimizer({"x": Real(-1, 1)}, "map-gp-ucb", random_state=0)
        >>> for _ in range(12):
        ...     params = optimizer.ask()
        ...     optimizer.tell(params, -(params["x"] - 0.3) ** 2)
        >>> (gpr,) = optimizer.models_.values()
        >>> mean, std = gpr.predict([optimizer.space.encode({"x": 0.3})], True)
        >>> bool(abs(mean[0] * gpr.scale_ + gpr.shift_) < 0.01)
        True
        """
        with self._lock, one_blas_thread():
            found = [branch.regressors(self._n_asked) for branch in self._branches]
        if len(found) == 1:
            return found[0]
        return {
            f"branch {i}: {label}": regressor
            for i, regressors in enumerate(found)
            for label, regressor in regressors.items()
        }

    def predict(
        self,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        return_std: bool = False,
    ) -> Any:
        """Return the mean of a MAP model on all the data, in units of the objective.

        This model uses the values as they are, even if the policy transforms them for
        its search. Under the default policy, only a value far below all others, as from
        a diverged fit, is raised. In a branch without values, the prediction is the
        mean and the standard deviation of all values.

        Parameters
        ----------
        params : dict or list of dict
            Points of the space.
        return_std : bool, default=False
            Whether to return the standard deviation of the function as well.

        Returns
        -------
        mean : float or array of shape (n,)
        std : float or array of shape (n,)
            Only if `return_std`.

        Raises
        ------
        ValueError
            If a point is outside the space, or no finite value has been told.
        """
        self._best()
        single = isinstance(params, Mapping)
        given = [plain_params(params)] if single else listed_params(params)
        points = [self._place(point) for point in given]
        mean, std = np.empty(len(points)), np.empty(len(points))
        with self._lock, one_blas_thread():
            for i in {point.branch for point in points}:
                rows = [row for row, p in enumerate(points) if p.branch == i]
                X = np.array([points[row].x for row in rows])
                mean[rows], std[rows] = self._branches[i].predict(X)
        if single:
            return (float(mean[0]), float(std[0])) if return_std else float(mean[0])
        return (mean, std) if return_std else mean

    def regret_bound(self, delta: float = 0.05, *, calibrated: bool = False) -> float:
        """Return an upper bound on what is left to gain.

        With probability at least 1 - `delta`, the maximum of the objective exceeds its
        best value at the points told by no more than the bound, *if* the policy's
        assumption is true: the objective is drawn from one of its surviving models, or,
        for policies or a `beta` with norms, is within the norm bound of one. A policy
        without its own model uses that of `predict`. For "robust", the right length
        scales have to be the estimated ones, or half of them.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound may fail.
        calibrated : bool, default=False
            Whether to widen the band of a model that errs more than it expects: its
            deviations are multiplied by the root mean square of its leave-one-out
            errors, each in units of the deviation predicted for it, where that is more
            than 1. `tol` of a search goes by the bound as it is, reports and displays
            show the calibrated one.

        Returns
        -------
        bound : float
            In units of the objective; infinite during the initial design, and as long
            as no model has chosen a point of some branch.

        Raises
        ------
        ValueError
            If `delta` is out of range, no value has been told, or the policy is for
            objectives that change or that are perturbed.

        Notes
        -----
        Failed evaluations count as the worst value seen. A branch that has only failed
        uses the worst value, the mean and the scale of all branches. The bound is then
        finite, but it assumes that points between failures fail as well. The bands are
        those of the theory: the self-normalised one for norms, the Bayesian ones
        otherwise. They are wider than the bands that choose the points.

        Examples
        --------
        >>> from skrobustbo import Optimizer, Real
        >>> optimizer = Optimizer({"x": Real(-1, 1)}, random_state=0)
        >>> for _ in range(25):
        ...     params = optimizer.ask()
        ...     optimizer.tell(params, -(params["x"] - 0.3) ** 2)
        >>> 0 - optimizer.best_value_ <= optimizer.regret_bound() < 0.5
        True
        """
        delta = checked_probability("delta", delta, "regret_bound")
        if not self.policy.seeks_maximum:
            raise ValueError(
                "The 'policy' of an Optimizer must look for the maximum of a fixed "
                f"objective to have a regret bound. Got {self.policy!r} instead."
            )
        self._best()
        with self._lock, one_blas_thread():
            branches = [branch for branch in self._branches if not branch.is_empty]
            how = self._n_asked, delta / len(branches)
            found = [branch.bands(*how, calibrated=calibrated) for branch in branches]
        known = [models for models in found if models is not None]
        return regret_bound(known) if len(known) == len(found) else math.inf

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
        policy: str | Policy = "robust",
        *,
        metric: str | None = None,
        **settings: Any,
    ) -> Self:
        """Return an optimizer that starts with the candidates of an earlier search.

        Parameters
        ----------
        cv_results : dict of arrays
            The ``cv_results_`` of a scikit-learn search, or a table made from them.
            Candidates whose score is nan are failures.
        space : Space, dict or list of dict
            The space of the new search. Candidates outside it are left out.
        policy : str or Policy, default="robust"
            How points are chosen.
        metric : str, default=None
            With several metrics, the one to maximise.
        **settings
            Other arguments of `Optimizer`.

        Returns
        -------
        optimizer : Optimizer

        Raises
        ------
        ValueError
            If the results have no such metric or no params.

        Warns
        -----
        UserWarning
            If some candidates are outside the space: how many, and why the first is.

        Examples
        --------
        >>> from skrobustbo import Optimizer, Real
        >>> results = {"params": [{"C": 1}, {"C": 5}], "mean_test_score": [0.8, 0.9]}
        >>> Optimizer.from_cv_results(results, {"C": Real(0.1, 10)}).best_params_
        {'C': 5.0}
        """
        found = read_results(cv_results, metric)
        made: Any = cls
        optimizer = made(space, policy, **settings)
        for params, value in fitting(found, optimizer._place):
            optimizer.tell(params, value)
        return optimizer

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state in JSON types.

        An optimizer read back by `from_dict` asks exactly the points that this one
        would have asked. Categories are stored by index. A space or policy with objects
        that JSON cannot hold (estimators, callables) is left out; pass it again.

        Returns
        -------
        state : dict
        """
        with self._lock:
            return _written(self)

    @classmethod
    def from_dict(
        cls,
        d: Mapping[str, Any],
        *,
        space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        policy: Policy | None = None,
        constraints: Callable[[Params], bool] | None = None,
    ) -> Self:
        """Return the optimizer whose state `to_dict` returned as `d`.

        Parameters
        ----------
        d : dict
            The state.
        space : Space, dict or list of dict, default=None
            The space, if it has values that JSON cannot hold.
        policy : Policy, default=None
            The policy, if its settings have objects that JSON cannot hold.
        constraints : callable, default=None
            The constraints, if there were any: JSON cannot hold them.

        Returns
        -------
        optimizer : Optimizer

        Raises
        ------
        ValueError
            If `d` is not such a state, or if something that it lacks is not passed.
        """
        check_format(d)
        check_parts(d)
        check_constraints(d, constraints)
        if space is not None and not isinstance(space, Space):
            space = Space(space)
        policy = None if policy is None else make_policy(policy)
        check_given(d, space=space, policy=policy)
        optimizer: Any = cls.__new__(cls)
        with reading():
            settings = settings_read(d, space, policy)
            optimizer._set_up(**settings, constraints=constraints)
            _restore(optimizer, d)
        return optimizer


def _initial(params: Any) -> list[Params]:
    return [] if params is None else listed_params(params, "initial_params")


# The state in JSON types, and back ----------------------------------------------------


def _written(optimizer: Optimizer) -> dict[str, Any]:
    """Return the whole state of an optimizer in JSON types."""
    branches, trials = optimizer.space.branches, optimizer._trials
    several = len(branches) > 1
    states = [policy_state(optimizer.policy, b.state) for b in optimizer._branches]
    rungs = optimizer._rungs
    of_rungs: dict[str, Any] = {}
    if rungs is not None:
        of_rungs = {"resources": list(rungs.amounts), "n_before": trials.n_before}
        full = [_numbers_told(b, trials.n_before) for b in optimizer._branches]
        of_rungs |= {"over": rungs.over, "full": full}
    return {
        **of_rungs,
        "format": FORMAT,
        "space": or_none(optimizer.space.to_dict),
        "policy": or_none(lambda: policy_to_dict(optimizer.policy)),
        "horizon": optimizer.horizon,
        "constrained": optimizer.constraints is not None,
        "n_initial": optimizer.n_initial_points,
        "first": [
            [t.branch, branches[t.branch].params_to_json(t.params)]
            for t in optimizer._design.first
        ],
        "seed": optimizer._seed,
        "n_asked": optimizer._n_asked,
        "states": states,
        "balancer": to_json_state(optimizer._turns.balancer.state) if several else None,
        "trials": [trial_to_dict(trial, branches) for trial in trials.trials],
        "told": [trial.number + trials.n_before for trial in trials.told],
    }


def _numbers_told(branch: Branch, n_before: int) -> list[int] | None:
    """Return the trials that a branch uses, None if it uses all told ones."""
    told = [trial.number + n_before for trial in branch.history.told]
    return told if branch.history.only_full else None


def _restore(optimizer: Optimizer, d: Mapping[str, Any]) -> None:
    """Restore the state of an optimizer that has just been set up.

    The trials are added in their order, but the policy does not learn from them again.
    """
    optimizer._n_asked = d["n_asked"]
    _restore_states(optimizer, d)
    trials = _read_trials(optimizer, d)
    for trial in trials:
        optimizer._add(trial)
    for trial in (trials[i] for i in d["told"]):
        # Not `value or ...`, which makes 0.0 of -0.0.
        value = math.nan if trial.value is None else float(trial.value)
        optimizer._record(trial, value, float(trial.time or 0.0))
    if optimizer._rungs is not None:
        optimizer._rungs.check()
        _restore_full(optimizer, trials, d)
        optimizer._revalue()
    _check_restored(optimizer)


def _restore_states(optimizer: Optimizer, d: Mapping[str, Any]) -> None:
    """Restore the states of the policy and of the balancer of branches."""
    for branch, state in zip(optimizer._branches, d["states"], strict=True):
        if state is not None:
            branch.state = rebuilt(optimizer.policy.state_type, state)
    if (d["balancer"] is None) != (len(optimizer._branches) == 1):
        raise ValueError(f"{d['balancer']!r} to balance {len(d['states'])} branches")
    if d["balancer"] is not None:
        optimizer._turns.balancer.state = rebuilt(BranchState, d["balancer"])


def _read_trials(optimizer: Optimizer, d: Mapping[str, Any]) -> list[Trial]:
    """Read the trials, and how many of them are of an earlier search."""
    trials = [trial_from_dict(t, optimizer.space.branches) for t in d["trials"]]
    if optimizer._rungs is None and any(trial.rungs for trial in trials):
        raise ValueError("values at rungs, and no resource")
    if {i for i, t in enumerate(trials) if not t.pending} != set(d["told"]):
        raise ValueError("values of what was not told, or none of what was")
    n_before = d.get("n_before", 0)
    if not has_form(n_before, Count) or n_before > len(trials):
        raise ValueError(f"{n_before!r} trials of an earlier search")
    optimizer._trials.n_before = n_before
    return trials


def _restore_full(
    optimizer: Optimizer, trials: list[Trial], d: Mapping[str, Any]
) -> None:
    """Restore which trials each branch uses."""
    rungs = optimizer._ladder
    if type(d["over"]) is not bool:
        raise ValueError(f"{d['over']!r} for its 'over'")
    rungs.over = d["over"]
    for branch, numbers in zip(optimizer._branches, d["full"], strict=True):
        if numbers is None:
            continue
        shown = [trials[i] for i in numbers]
        full = rungs.full(branch.history)
        if sorted(map(id, shown)) != sorted(map(id, full)):
            raise ValueError(f"{numbers!r} as those with full values")
        branch.history.keep(shown)


def _check_restored(optimizer: Optimizer) -> None:
    """Raise a ValueError unless the restored parts fit together."""
    for branch in optimizer._branches:
        if not _can_resume(branch):
            policy = type(branch.policy).__name__
            raise ValueError(f"a state of {policy} out of place")
    n, balancer = len(optimizer._branches), optimizer._turns.balancer.state
    if n > 1 and not balancer.consistent(n, len(optimizer._trials)):
        raise ValueError("a state of the balancer out of place")


def _can_resume(branch: Branch) -> bool:
    """Return whether the policy can continue from the restored state."""
    history, policy = branch.history, branch.policy
    if branch.state is None:
        return all(trial.metadata is None for trial in history.trials)
    pending = history.pending_metadata
    formed = all(has_items(metadata, policy.metadata_type) for metadata in pending)
    n_told = len(history.told)
    return formed and policy.consistent(branch.state, pending, branch.setup, n_told)
