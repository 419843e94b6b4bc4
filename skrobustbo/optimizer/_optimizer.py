"""The ask-and-tell optimizer that every search uses."""

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
    is_finite,
    optional_count,
)
from skrobustbo._names import count, shown, wrong
from skrobustbo._threads import limited_threads
from skrobustbo._trials import COLUMNS, Evaluation, Trial, Trials
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.optimizer._balancer import BranchState
from skrobustbo.optimizer._branch import Branch
from skrobustbo.optimizer._checks import (
    check_resource,
    check_return_resource,
    checked_amounts,
    fitting,
    listed_params,
    paired,
    plain_params,
    read_results,
)
from skrobustbo.optimizer._gains import expected_gain, regret_bound
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
    to_json_state,
    trial_from_dict,
    trial_to_dict,
)
from skrobustbo.optimizer._turns import Turns, check_feasible
from skrobustbo.policies import Policy, make_policy, policy_from_dict, policy_to_dict
from skrobustbo.space import Constraint, Space, fresh
from skrobustbo.surrogate import IncrementalGPR

Array = NDArray[np.float64]
Params = dict[str, Any]

#: Label of further evaluations of a trial, with more of the resource.
PROMOTED = "promoted"


def _as_told(branch: Branch, x: Array) -> Params:
    """Return a point as told by the user, or decode it if it was not told."""
    trials = branch.history.trials
    known = next((t for t in trials if np.array_equal(t.x, x)), None)
    return fresh(branch.space.decode(x) if known is None else known.params)


class Optimizer:
    """Maximise an expensive function through an ask-and-tell interface.

    Parameters
    ----------
    space : Space, dict or list of dict
        The search space, in any form that `Space` accepts. A list of dicts defines the
        branches of one search. Each branch has its own models, and promising branches
        get more evaluations.
    policy : str or Policy, default="robust"
        The rule for choosing points: a name from `skrobustbo.policies.available`, or a
        policy object.
    n_initial_points : int, default=None
        Number of initial points, including `initial_params` and points told without
        being asked. The remaining points cover the space (see `Space.sample`). The
        default is 2 d + 2 for each branch with d parameters, but at most a third of the
        horizon in total. Every branch gets at least two points if the horizon is large
        enough.
    initial_params : list of dict, default=None
        Points to evaluate first.
    constraints : callable, default=None
        A function that takes a params dict of plain Python values and returns True if
        the point is feasible. Points passed to `tell` may violate the constraints.
    horizon : int, default=None
        Number of planned evaluations, if known. Some policies use it. You can change
        this attribute before any `ask`, for example to meet a time limit. The initial
        design and the policies for changing objectives always use the initial value.
    resources : list of float, default=None
        Amounts of a resource, such as epochs or rows, in ascending order. The last one
        is the full amount. Points are first evaluated with a small amount, and good
        points are evaluated again with larger amounts; see `ask` and `tell`. With
        resources, `horizon` is the number of full evaluations.
    random_state : int, RandomState or None, default=None
        Random seed. The same seed and the same values always lead to the same points.

    Attributes
    ----------
    space : Space
    policy : Policy
    n_initial_points : int
        Number of initial points.
    horizon : int or None
        Total number of planned evaluations.
    best_params_ : dict
        The point with the best observed value.
    best_value_ : float
        The best observed value.
    history_ : list of dict
        Records of all points asked or told, with their predictions.
    remembered_ : list of int
        Positions in `history_` of the values that the policy currently uses.
    models_ : dict of str to IncrementalGPR
        The Gaussian processes in use, as fitted scikit-learn regressors.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Notes
    -----
    All methods are thread-safe. `ask` and `predict` use a single BLAS thread.

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
        seed = drawn_seed(random_state, "Optimizer")
        points = n_initial_points, initial_params, constraints
        self._set_up(space, policy, *points, horizon, resources, seed)
        if constraints is not None:
            check_feasible(self._branches)

    def _set_up(
        self,
        space: Any,
        policy: str | Policy,
        n_initial_points: int | None,
        initial_params: Sequence[Mapping[str, Any]] | None,
        constraints: Callable[[Params], bool] | None,
        horizon: int | None,
        resources: Sequence[float] | None,
        seed: int,
    ) -> None:
        self._lock = threading.RLock()
        self.policy = policy = make_policy(policy)
        policy.check()
        self.space = space = space if isinstance(space, Space) else Space(space)
        horizon = optional_count("horizon", horizon, "Optimizer")
        self.constraints, self._seed, self._n_asked = constraints, seed, 0
        rule = None if constraints is None else Constraint(constraints)
        first = [] if initial_params is None else initial_params
        given = [self._given(p, rule) for p in listed_params(first, "initial_params")]
        n_initial = optional_count("n_initial_points", n_initial_points, "Optimizer")
        #: Number of evaluations begun, excluding those of an earlier search.
        self._n_begun = 0
        self._trials, regions = Trials(), space.owned
        amounts = () if resources is None else checked_amounts(resources)
        self._rungs = Rungs(amounts, horizon, self._trials)
        if rule is not None:
            regions = [region.within(rule) for region in regions]
        self._branches = [
            Branch(i, *spaces, policy, seed, self._trials, self._rungs)
            for i, spaces in enumerate(zip(space.branches, regions, strict=True))
        ]
        of_all = self._branches, self._trials, policy
        n_candidates = self._rungs.n_candidates(horizon)
        self._turns = Turns(*of_all, given, n_initial, n_candidates)
        self.n_initial_points = self._turns.n_points

    @property
    def horizon(self) -> int | None:
        """Total number of planned evaluations, if known."""
        return self._rungs.budget

    @horizon.setter
    def horizon(self, horizon: int | None) -> None:
        with self._lock:
            self._rungs.budget = optional_count("horizon", horizon, "Optimizer")

    def _given(self, params: Params, rule: Constraint | None) -> Trial:
        """Return a trial for an initial point, or raise ValueError if it is invalid."""
        try:
            trial = self._place(params)
        except ValueError as error:
            raise about("'initial_params'", error) from None
        if rule is not None and not rule(trial.params):
            raise ValueError(
                "The 'initial_params' of Optimizer must satisfy 'constraints'. Got "
                f"{shown(trial.params)}, which does not; change it or leave it out."
            )
        return trial

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

        A point is pending from the call to `ask` until you tell its value. Pending
        points are never asked again. The models take pending points into account:
        standard deviations shrink, while means stay the same.

        Parameters
        ----------
        n : int, default=None
            Number of points. If None, return a single dict instead of a list.
        return_resource : bool, default=False
            Whether to return the amount of the resource for each point. Must be True if
            the optimizer has `resources`, and False otherwise. With resources, the same
            point may be asked again with a larger amount.

        Returns
        -------
        params : dict or list of dict
            If `return_resource` is True, each point is a tuple ``(params, resource)``.

        Raises
        ------
        SpaceExhausted
            If a finite space has no points left.
        """
        amounts = self._rungs.amounts
        check_return_resource(return_resource, amounts)
        n_points = 1 if n is None else checked_count("n", n, "Optimizer.ask")
        asked = [self._propose() for _ in range(n_points)]
        found: list[Any] = [fresh(each.params) for each in asked]
        if return_resource:
            of_each = [each.resource or amounts[-1] for each in asked]
            found = list(zip(found, of_each, strict=True))
        return found[0] if n is None else found

    def _propose(self, *, first: bool = False) -> Evaluation:
        """Return the next evaluation, of a new or a promoted trial.

        If `first` is True, a new trial is evaluated at full resource.
        """
        with self._lock, limited_threads():
            rungs = self._rungs
            trial, rung = (None, rungs.top) if first else rungs.next()
            try:
                trial = trial or self._turns.next_trial(self._n_asked)
            except SpaceExhausted:
                trial, rung = rungs.next_when_exhausted()
                if trial is None:
                    raise
            if trial.number < 0:
                self._n_asked += 1
            said = {part: getattr(trial, part) for part in COLUMNS.values()}
            if trial.value is not None:
                said |= {"label": PROMOTED, "mean": trial.value, "std": trial.value_std}
            return self._begin(Evaluation(trial, rungs.resource_of(rung), said))

    def _adopt(self, evaluation: Evaluation) -> None:
        """Add an evaluation from another optimizer as if it had been asked here."""
        with self._lock:
            self.horizon = evaluation.horizon or self.horizon
            trial = self._place(evaluation.params)
            vars(trial).update(evaluation.said)
            evaluation.trial = self._known(trial) if self._rungs.amounts else trial
            self._begin(evaluation)

    def _begin(self, evaluation: Evaluation) -> Evaluation:
        """Assign a number to an evaluation and mark it as pending."""
        trial = evaluation.trial
        if trial.number < 0:
            self._add(trial)
        self._rungs.note(trial, self._rungs.rung_of(evaluation.resource), None)
        evaluation.number, evaluation.horizon = self._n_begun, self.horizon
        self._n_begun += 1
        return evaluation

    def _known(self, trial: Trial) -> Trial:
        """Return the existing trial at the same point, or `trial` if there is none."""
        return self._branches[trial.branch].history.find(trial.x) or trial

    def _add(self, trial: Trial) -> None:
        trial.number = len(self._trials.trials)
        self._trials.trials.append(trial)
        self._branches[trial.branch].history.add(trial)

    # Tell ----------------------------------------------------------------------------

    def tell(
        self,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        value: float | Sequence[float],
        *,
        resource: float | None = None,
    ) -> None:
        """Record the values of one or more points.

        You can record values in any order, even for points that were not asked.

        Parameters
        ----------
        params : dict or list of dict
            One or more points of the space. A point in several branches belongs to the
            first of them.
        value : float or list of float
            Values of the objective; larger is better. Values of nan or infinity are
            recorded as failures, and the search avoids similar points.
        resource : float, default=None
            The amount of the resource, which must be one of `resources`. None means the
            full amount.

        Raises
        ------
        ValueError
            If a point is outside the space, a value is not a number, or the amount is
            not one of `resources`. In that case, nothing is recorded.
        """
        check_resource(resource, self._rungs.amounts)
        checked = [(self._place(p), number) for p, number in paired(params, value)]
        with self._lock:
            for trial, number in checked:
                known = self._known(trial)
                if not (known.pending or self._rungs.amounts):
                    known = trial  # the same point again
                self._record(self._begin(Evaluation(known, resource)), number)

    def _tell_earlier(
        self, found: Sequence[tuple[Params, float]], n_begun: int = 0
    ) -> None:
        """Record the values of an earlier search.

        The next evaluation gets the number `n_begun`.
        """
        self._trials.n_before = len(found)
        for params, value in found:
            self.tell(params, value)
        self._n_begun = n_begun

    def _record(self, evaluation: Evaluation, value: float, std: float = 0.0) -> None:
        """Record the value of an evaluation and update the policy.

        If the value is an estimate, `std` is the standard deviation of its error.
        """
        with self._lock:
            trial, rungs = evaluation.trial, self._rungs
            branch, was_pending = self._branches[trial.branch], trial.pending
            rung = rungs.rung_of(evaluation.resource)
            trial.value, trial.value_std = rungs.take(trial, rung, value, std)
            if was_pending:
                trial.time = time.time()
                self._store(trial)
                branch.learn(trial)
                self._turns.learn(trial)
            elif rungs.is_full(trial) and trial not in branch.history.told:
                branch.history.told.append(trial)  # it had been dropped
            for each in self._branches:
                if rungs.has_enough_full(each.history):
                    each.forget(rungs.full(each.history))

    def _store(self, trial: Trial) -> None:
        self._trials.told.append(trial)
        history = self._branches[trial.branch].history
        if history.only_full and not self._rungs.is_full(trial):
            trial.metadata = None
        else:
            history.told.append(trial)

    def _place(self, params: Mapping[str, Any]) -> Trial:
        """Return a trial for a params dict, or raise ValueError if it is invalid."""
        branch, x = self.space.place(params)
        return Trial(self.space.branches[branch].own(params), x, branch)

    def _beliefs(self, trial: Trial) -> list[tuple[float, float]]:
        """Return the prediction of each plausible model for a pending trial."""
        with self._lock, limited_threads():
            return self._branches[trial.branch].beliefs(trial.x, self._n_asked)

    @property
    def best_params_(self) -> Params:
        """The point with the best observed value."""
        return fresh(self._best().params)

    @property
    def best_value_(self) -> float:
        """The best observed value, in units of the objective."""
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
        """Records of all points, in the order in which they were asked or told."""
        amounts = self._rungs.amounts
        return [history_record(trial, amounts) for trial in self._trials.trials]

    @property
    def remembered_(self) -> list[int]:
        """Positions in `history_` of the values that the policy currently uses.

        By default, the policy uses all values. Policies for changing objectives may
        discard old values after a reset or outside a sliding window.
        """
        with self._lock:
            kept = [trial for b in self._branches for trial in b.remembered]
            return sorted(trial.number for trial in kept)

    def recommend(self) -> Params:
        """Return the recommended point, usually the evaluated point with the best mean.

        The mean is predicted by a model of all data with MAP length scales, so a single
        lucky value does not determine the result. Policies for perturbed or changing
        objectives use their own rules.

        Returns
        -------
        params : dict

        Raises
        ------
        ValueError
            If no finite value has been recorded.
        """
        best = self._best()
        with self._lock, limited_threads():
            found = [b for b in self._branches if b.history.best is not None]
            if not found:  # all full values failed, and the others are no longer used
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

        Each copy is a scikit-learn `GaussianProcessRegressor`, fitted to the values
        that the policy uses. The dict contains the surviving models (for "robust", the
        models of its levels) and the model with MAP length scales if the policy uses
        one. The keys are the same labels as in the results, such as ``"theta=0.25"``,
        or ``"branch 0: theta=0.25"`` if there are several branches. The dict is empty
        during the initial design. Changing the copies does not affect the optimizer.

        Notes
        -----
        Encode points with ``space.encode``. If there are several branches, use the
        space of the branch. In models that depend on time ("tv-gp-ucb", "ui-tvbo"), the
        last column is the time, which is 1 for the first observed value. The targets
        are the transformed and standardised values, minus the prior mean of the
        candidate model if it has one. To convert predictions to units of the objective,
        use the attributes of the regressor: the mean is ``mean * scale_ + shift_`` and
        the standard deviation is ``std * scale_``.

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
        with self._lock, limited_threads():
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
        """Return the predicted mean at one or more points, in units of the objective.

        The model has MAP length scales and is fitted to all original values, even if
        the policy transforms the values for its search. The default policy transforms
        only values far below all others. In a branch without values, the predictions
        are the mean and standard deviation of the values of all branches.

        Parameters
        ----------
        params : dict or list of dict
            One or more points of the space.
        return_std : bool, default=False
            Whether to also return the standard deviation of the noise-free objective.

        Returns
        -------
        mean : float or array of shape (n,)
        std : float or array of shape (n,)
            Only returned if `return_std` is True.

        Raises
        ------
        ValueError
            If a point is outside the space, or no finite value has been recorded.
        """
        self._best()
        single = isinstance(params, Mapping)
        given = [plain_params(params)] if single else listed_params(params)
        points = [self._place(point) for point in given]
        mean, std = np.empty(len(points)), np.empty(len(points))
        with self._lock, limited_threads():
            for i in {point.branch for point in points}:
                rows = [row for row, p in enumerate(points) if p.branch == i]
                X = np.array([points[row].x for row in rows])
                mean[rows], std[rows] = self._branches[i].predict(X)
        if single:
            return (float(mean[0]), float(std[0])) if return_std else float(mean[0])
        return (mean, std) if return_std else mean

    def regret_bound(self, delta: float = 0.05, *, calibrated: bool = False) -> float:
        """Return an upper bound on the remaining gain.

        If the policy's assumption holds, then with probability at least 1 - `delta`,
        the maximum of the objective exceeds its best value at the evaluated points by
        at most this bound. The assumption is that the objective is drawn from one of
        the surviving models or, if the policy or its `beta` uses norms, that the
        objective is within the norm bound of one of them. Policies without models use
        the model of `predict`. The "robust" policy assumes that the true length scales
        are the estimated ones or half of them.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound fails.
        calibrated : bool, default=False
            Whether to widen the band of a model whose errors are larger than predicted.
            The factor is the root mean square of the standardised leave-one-out errors
            of the model, but at least 1. The `tol` parameter of a search refers to the
            uncalibrated bound, whereas reports and displays show the calibrated bound.

        Returns
        -------
        bound : float
            The bound, in units of the objective. It is infinite until a model has
            chosen a point in every branch.

        Raises
        ------
        ValueError
            If `delta` is out of range, no finite value has been recorded, or the policy
            is designed for changing or perturbed objectives.

        Notes
        -----
        Failed evaluations count as the worst value so far. A branch with only failures
        uses the worst value, mean and scale of all branches. Its bound is finite, but
        it assumes that points between failures also fail. The confidence bands follow
        the theory: they are self-normalised under a norm bound and Bayesian otherwise.
        They are wider than the bands that the policy uses to choose points.

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
        branches = self._bounded("a regret bound")
        how = self._n_asked, delta / len(branches), calibrated
        with self._lock, limited_threads():
            found = [branch.bands(*how) for branch in branches]
        return regret_bound(found) if all(found) else math.inf

    def expected_gain(self, n: int = 20, *, noise: float = 0.0) -> float:
        """Return the expected increase of the best value from `n` more candidates.

        The increase refers to the true value, without noise. If several models of the
        whole space are plausible, the result is the largest of their expectations.
        These models are the surviving models or, if there are none, the model with MAP
        length scales. For "robust", they include a model with shorter length scales if
        the policy uses one.

        Parameters
        ----------
        n : int, default=20
            Number of candidates.
        noise : float, default=0.0
            Standard deviation of the error of each value, in units of the objective, in
            addition to the noise of the policy. Differences that can be explained by
            this noise do not count as gain.

        Returns
        -------
        gain : float
            The expected gain, in units of the objective. It is at least 0, infinite
            until a model has chosen a point in every branch, and 0 once every point of
            the space has been evaluated.

        Raises
        ------
        ValueError
            If `n` or `noise` is out of range, no finite value has been recorded, or the
            policy is designed for changing or perturbed objectives.

        Notes
        -----
        Each of the `n` candidates maximises a function drawn from the model, over a
        sample of the space and points near the best point. The gain is the amount by
        which the best candidate exceeds the best evaluated point, averaged over
        separate draws. A search that learns from each candidate may gain more. If there
        are several branches, each branch has `n` candidates and the gains are added.
        The draws depend on the seed and the number of points asked. They do not affect
        the points that are asked next.

        Examples
        --------
        >>> from skrobustbo import Optimizer, Real
        >>> optimizer = Optimizer({"x": Real(-1, 1)}, random_state=0)
        >>> for _ in range(25):
        ...     params = optimizer.ask()
        ...     optimizer.tell(params, -(params["x"] - 0.3) ** 2)
        >>> 0 <= optimizer.expected_gain() < 0.01
        True
        """
        n = checked_count("n", n, "expected_gain")
        if not (is_finite(noise) and noise >= 0):
            raise wrong("noise", "expected_gain", "0 or a positive number", noise)
        branches = self._bounded("an expected gain")
        with self._lock, limited_threads():
            found = [b.outlooks(self._n_asked, n, float(noise)) for b in branches]
        return expected_gain(found) if all(found) else math.inf

    def _bounded(self, what: str) -> list[Branch]:
        """Return the non-empty branches, or raise ValueError if no bound exists."""
        if not self.policy.seeks_maximum:
            raise ValueError(
                "The 'policy' of an Optimizer must look for the maximum of a fixed "
                f"objective to have {what}. Got {self.policy!r} instead."
            )
        self._best()
        return [branch for branch in self._branches if not branch.is_empty]

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
        """Return an optimizer that starts from the candidates of an earlier search.

        Parameters
        ----------
        cv_results : dict of arrays
            The ``cv_results_`` of a scikit-learn search, or a table created from it.
            Candidates with a score of nan count as failures.
        space : Space, dict or list of dict
            The space of the new search. Candidates outside the space are ignored.
        policy : str or Policy, default="robust"
            The rule for choosing points.
        metric : str, default=None
            The metric to maximise, if the results contain several metrics.
        **settings
            Other keyword arguments of `Optimizer`.

        Returns
        -------
        optimizer : Optimizer

        Raises
        ------
        ValueError
            If the results lack the metric or the params.

        Warns
        -----
        UserWarning
            If candidates are outside the space. The message gives their number and the
            reason for the first one.

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
        """Return the complete state as a dict of JSON types.

        An optimizer restored by `from_dict` proposes exactly the same points.
        Categories are stored by index. If the space or policy contains objects that
        JSON cannot store, such as estimators, it is omitted and you must pass it to
        `from_dict`.

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
        """Restore an optimizer from the state returned by `to_dict`.

        Parameters
        ----------
        d : dict
            The state.
        space : Space, dict or list of dict, default=None
            The space, required if JSON cannot store its values.
        policy : Policy, default=None
            The policy, required if JSON cannot store its settings.
        constraints : callable, default=None
            The constraints, required if the optimizer had any, because JSON cannot
            store them.

        Returns
        -------
        optimizer : Optimizer

        Raises
        ------
        ValueError
            If `d` is not a state from `to_dict`, or if a required argument is missing.
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
            space = space or Space.from_dict(d["space"])
            policy = policy or policy_from_dict(d["policy"])
            first = [space.branches[i].params_from_json(p) for i, p in d["first"]]
            points = d["n_initial"], first, constraints
            others = d["planned"], d.get("resources"), d["seed"]
            optimizer._set_up(space, policy, *points, *others)
            optimizer.horizon = d["horizon"]
            _restore(optimizer, d)
        return optimizer


# The state in JSON types, and back ----------------------------------------------------


def _written(optimizer: Optimizer) -> dict[str, Any]:
    branches, trials = optimizer.space.branches, optimizer._trials
    several = len(branches) > 1
    states = [policy_state(optimizer.policy, b.state) for b in optimizer._branches]
    rungs = optimizer._rungs
    of_rungs: dict[str, Any] = {}
    if rungs.amounts:
        of_rungs = {"resources": list(rungs.amounts), "n_before": trials.n_before}
        # The trials that each branch uses; None for all told ones.
        full = [
            [trial.number for trial in b.history.told] if b.history.only_full else None
            for b in optimizer._branches
        ]
        of_rungs |= {"over": rungs.over, "full": full}
    return {
        **of_rungs,
        "format": FORMAT,
        "space": or_none(optimizer.space.to_dict),
        "policy": or_none(lambda: policy_to_dict(optimizer.policy)),
        "planned": rungs.first_budget,
        "horizon": optimizer.horizon,
        "constrained": optimizer.constraints is not None,
        "n_initial": optimizer.n_initial_points,
        "first": [
            [t.branch, branches[t.branch].params_to_json(t.params)]
            for t in optimizer._turns.first
        ],
        "seed": optimizer._seed,
        "n_asked": optimizer._n_asked,
        "states": states,
        "balancer": to_json_state(optimizer._turns.balancer.state) if several else None,
        "trials": [trial_to_dict(trial, branches) for trial in trials.trials],
        "told": [trial.number for trial in trials.told],
    }


def _restore(optimizer: Optimizer, d: Mapping[str, Any]) -> None:
    """Restore the saved state in a new optimizer.

    The trials are added in order, but the policy does not learn from them again.
    """
    branches, rungs = optimizer._branches, optimizer._rungs
    balancer = optimizer._turns.balancer
    optimizer._n_asked = d["n_asked"]
    for branch, state in zip(branches, d["states"], strict=True):
        if state is not None:
            branch.state = rebuilt(optimizer.policy.state_type, state)
    if (d["balancer"] is None) != (len(branches) == 1):
        raise ValueError(f"{d['balancer']!r} to balance {len(branches)} branches")
    if d["balancer"] is not None:
        balancer.state = rebuilt(BranchState, d["balancer"])

    trials = [trial_from_dict(t, optimizer.space.branches) for t in d["trials"]]
    if {i for i, t in enumerate(trials) if not t.pending} != set(d["told"]):
        raise ValueError("values of pending points, or told points without values")
    optimizer._trials.n_before = d.get("n_before", 0)
    if optimizer._trials.n_before > len(trials):
        raise ValueError(f"{d['n_before']} trials of an earlier search")
    for trial in trials:
        optimizer._add(trial)
    for i in d["told"]:
        optimizer._store(trials[i])

    rungs.check()
    if rungs.amounts:
        rungs.over = d["over"]
        for branch, numbers in zip(branches, d["full"], strict=True):
            if numbers is not None:
                full = [trial.number for trial in rungs.full(branch.history)]
                if sorted(numbers) != sorted(full):
                    raise ValueError(f"{numbers!r} as those with full values")
                branch.history.keep([trials[i] for i in numbers])
        rungs.revalue()

    for branch in branches:
        if not branch.is_consistent:
            raise ValueError(f"a state of {type(branch.policy).__name__} out of place")
    n_told = len(optimizer._trials)
    if len(branches) > 1 and not balancer.state.consistent(len(branches), n_told):
        raise ValueError("an unexpected state of the balancer")
