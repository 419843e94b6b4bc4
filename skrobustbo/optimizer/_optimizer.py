"""Ask and tell: the optimizer behind every search."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, overload

from skrobustbo._arguments import (
    about,
    checked_count,
    drawn_seed,
    optional_count,
)
from skrobustbo._trials import Trial, Trials
from skrobustbo.optimizer._branch import Branch
from skrobustbo.optimizer._checks import fitting, listed_params, paired, read_results
from skrobustbo.optimizer._determinism import one_blas_thread
from skrobustbo.optimizer._state import (
    check_constraints,
    check_format,
    check_given,
    check_parts,
    reading,
    restore,
    settings_read,
    written,
)
from skrobustbo.optimizer._turns import (
    InitialDesign,
    Turns,
    check_feasible,
    check_first,
)
from skrobustbo.optimizer._views import Views
from skrobustbo.policies import Policy, make_policy
from skrobustbo.space import Constraint, Space

Params = dict[str, Any]


class Optimizer(Views):
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
    ) -> None:
        self._lock = threading.RLock()
        self.space, self.policy, self.horizon = space, policy, horizon
        self.constraints, self._seed, self._n_asked = constraints, seed, 0
        rule = None if constraints is None else Constraint(constraints)
        given = [self._given(params) for params in first]
        check_first(given, rule)
        self._trials, regions = Trials(), space.owned
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
        told = len(self._trials)
        return f"Optimizer({self.space!r}, {self.policy!r}) with {told} values told"

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
    def ask(self, n: int | None = None) -> Params | list[Params]:
        """Return the next point to evaluate, or a list of `n` points.

        Points asked but not yet told are pending. They are never asked again. The
        models take them into account: standard deviations shrink, means stay the same.

        Parameters
        ----------
        n : int, default=None
            Number of points; None gives one dict instead of a list.

        Returns
        -------
        params : dict or list of dict

        Raises
        ------
        SpaceExhausted
            If every point of a finite space has been asked or told.
        """
        if n is None:
            return dict(self._ask_trial().params)
        n = checked_count("n", n, "Optimizer.ask")
        return [dict(self._ask_trial().params) for _ in range(n)]

    def _ask_trial(self) -> Trial:
        """Return the next trial, pending from now on, as searches ask it."""
        with self._lock, one_blas_thread():
            trial = self._design.next_trial(self._n_asked)
            trial = trial or self._turns.propose(self._n_asked)
            self._add(trial)
            self._n_asked += 1
            return trial

    def _enter(self, trial: Trial) -> None:
        """Take over a trial of an earlier run, pending from now on."""
        with self._lock:
            self._add(trial)

    def _add(self, trial: Trial) -> None:
        trial.number = len(self._trials.trials) - self._trials.n_before
        self._trials.add(trial)
        self._branches[trial.branch].history.add(trial)

    # Tell ----------------------------------------------------------------------------

    def tell(
        self,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        value: float | Sequence[float],
    ) -> None:
        """Record the value of one or several points, asked or not, in any order.

        Parameters
        ----------
        params : dict or list of dict
            Points of the space. A point in several branches counts for the first one.
        value : float or list of float
            Values of the objective; larger is better. nan and infinite values are
            failed evaluations: they are recorded, and similar points are avoided.

        Raises
        ------
        ValueError
            If a point is outside the space or a value is not a number. In this case,
            nothing is recorded.
        """
        checked = [(self._place(p), number) for p, number in paired(params, value)]
        with self._lock:
            for trial, number in checked:
                branch = self._branches[trial.branch]
                self._tell_trial(branch.history.find_pending(trial.x) or trial, number)

    def _tell_trial(self, trial: Trial, value: float, std: float = 0.0) -> None:
        """Record the value of a trial, asked or made of a point of the space.

        `std` is the standard deviation of an error of its own, if it is an estimate.
        """
        trial.value_std = std
        with self._lock:
            if trial.number < 0:
                self._add(trial)
            self._record(trial, value, time.time())
            self._branches[trial.branch].learn(trial)
            self._turns.learn(trial)

    def _tell_before(self, found: Sequence[tuple[Params, float]]) -> None:
        """Record values of an earlier search; trials are numbered from 0 after them."""
        self._trials.n_before = len(found)
        for params, value in found:
            self._tell_trial(self._place(params), value)

    def _record(self, trial: Trial, value: float, when: float) -> None:
        self._trials.tell(trial, value, when)
        self._branches[trial.branch].history.tell(trial, value, when)

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
        {'C': 5}
        """
        found = read_results(cv_results, metric)
        self = cls(space, policy, **settings)
        for params, value in fitting(found, self._place):
            self.tell(params, value)
        return self

    # JSON ----------------------------------------------------------------------------

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
            return written(self)

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
        self = cls.__new__(cls)
        with reading():
            settings = settings_read(d, space, policy)
            self._set_up(**settings, constraints=constraints)
            restore(self, d)
        return self


def _initial(params: Any) -> list[Params]:
    return [] if params is None else listed_params(params, "initial_params")
