"""Ask and tell: the optimizer behind every search."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, overload

from skrobustbo._arguments import checked_count, checked_probability, drawn_seed
from skrobustbo._checks import listed_params, paired, plain_params
from skrobustbo._core import Core
from skrobustbo._state import (
    FORMAT,
    check_constraints,
    check_format,
    check_parts,
    given,
    history_record,
    or_none,
    reading,
)
from skrobustbo._threads import one_blas_thread
from skrobustbo._warm import fitting, read_results
from skrobustbo.history import Log, Trial
from skrobustbo.policies._base import Policy
from skrobustbo.policies._registry import (
    make_policy,
    policy_from_dict,
    policy_to_dict,
)
from skrobustbo.space import Constraint, Space
from skrobustbo.surrogate import IncrementalGPR, Models

Params = dict[str, Any]


class Optimizer:
    """Maximise an expensive function by asking for points and telling their values.

    Parameters
    ----------
    space : Space, dict or list of dict
        What is searched; dicts are what `Space` takes. The dicts of a list are branches
        of one search: each has models of its own, and the more one promises, the more
        of the evaluations it gets.
    policy : str or Policy, default="robust"
        How points are chosen: a name of `skrobustbo.policies.available` or an object.
    n_initial_points : int, default=None
        Points asked before the model takes over, `initial_params` and points told
        without being asked included; the rest is a scrambled Sobol sequence. Default:
        2 d + 2 for d parameters, at least 3, of every branch, at most a third of the
        horizon. Every branch gets two at least, as far as the horizon allows.
    initial_params : list of dict, default=None
        Points to ask first.
    constraints : callable, default=None
        Takes a params dict of plain Python values and returns True where it may be
        asked. Points told may violate it.
    horizon : int, default=None
        Evaluations planned in all, if known; some policies make use of it.
    random_state : int, RandomState or None, default=None
        Seeds everything random. Equal seeds ask equal points, given equal values.

    Attributes
    ----------
    space : Space
    policy : Policy
    n_initial_points : int
        Points asked before the model takes over.
    best_params_ : dict
        The point of the best value told.
    best_value_ : float
        The best value told.
    history_ : list of dict
        All points asked or told, with the predictions made.
    remembered_ : list of int
        Places in `history_` of the values that the policy goes by at present.
    models_ : dict of str to IncrementalGPR
        The Gaussian processes in use, each a regressor of scikit-learn's, fitted.

    Raises
    ------
    ValueError
        If an argument is not understood; the message says what to write instead.

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
        core = Core(
            space if isinstance(space, Space) else Space(space),
            policy,
            horizon=_count("horizon", horizon),
            constraint=None if constraints is None else Constraint(constraints),
            first=_initial(initial_params),
            n_initial=_count("n_initial_points", n_initial_points),
            seed=drawn_seed(random_state, "Optimizer"),
        )
        core.check_feasible()
        self._set_up(core)

    def _set_up(self, core: Core) -> None:
        self._core, self._lock = core, threading.RLock()
        self.space, self.policy, self.horizon = core.space, core.policy, core.horizon
        self.n_initial_points = core.n_initial
        self.constraints = (
            None if core.constraint is None else core.constraint.predicate
        )

    def __repr__(self) -> str:
        told = len(self._history)
        return f"Optimizer({self.space!r}, {self.policy!r}) with {told} values told"

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock = threading.RLock()

    # Inside, for tests and studies ---------------------------------------------------

    @property
    def _history(self) -> Log:
        return self._core.log

    @property
    def _state(self) -> Any:
        """The policy's run-time state in the first branch."""
        return self._core.engines[0].state

    def _models(self, *, pending: bool = True) -> Models:
        core = self._core
        return core.engines[0].models(core.n_asked, pending=pending)

    # Ask -----------------------------------------------------------------------------

    @overload
    def ask(self, n: None = None) -> Params: ...
    @overload
    def ask(self, n: int) -> list[Params]: ...
    def ask(self, n: int | None = None) -> Params | list[Params]:
        """Return the next point to evaluate, or a list of `n` points.

        Points asked and not told yet are pending: they are never asked again, and the
        models take them into account (deviations narrow, means stay).

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
            return self._ask_one()
        n = checked_count("n", n, "Optimizer.ask")
        return [self._ask_one() for _ in range(n)]

    def _ask_one(self) -> Params:
        with self._lock, one_blas_thread():
            return dict(self._core.ask().params)

    # Tell ----------------------------------------------------------------------------

    def tell(
        self,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        value: float | Sequence[float],
    ) -> None:
        """Record the value of a point, or of several, asked or not, in any order.

        Parameters
        ----------
        params : dict or list of dict
            Points of the space; one of several branches counts for the first.
        value : float or list of float
            Values of the objective, larger is better. nan and infinities are failed
            evaluations: remembered, and avoided from then on.

        Raises
        ------
        ValueError
            If a point is outside the space or a value is not a number. Nothing is
            recorded then.
        """
        checked = [
            (self._core.point(point), number) for point, number in paired(params, value)
        ]
        with self._lock:
            for point, number in checked:
                self._core.tell(point, number)

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
        """Return an optimizer that knows the candidates of an earlier search.

        Parameters
        ----------
        cv_results : dict of arrays
            The ``cv_results_`` of a search of scikit-learn's kind, or a table of it.
            Candidates whose score is nan are failures.
        space : Space, dict or list of dict
            What is searched from now on. Candidates outside are left out.
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
            If some candidates are not of the space: how many, and why the first is not.

        Examples
        --------
        >>> from skrobustbo import Optimizer, Real
        >>> results = {"params": [{"C": 1}, {"C": 5}], "mean_test_score": [0.8, 0.9]}
        >>> Optimizer.from_cv_results(results, {"C": Real(0.1, 10)}).best_params_
        {'C': 5}
        """
        found = read_results(cv_results, metric)
        self = cls(space, policy, **settings)
        for params, value in fitting(found, self._core.point):
            self.tell(params, value)
        return self

    # Look ----------------------------------------------------------------------------

    @property
    def best_params_(self) -> Params:
        """The point of the best value told."""
        return dict(self._best().params)

    @property
    def best_value_(self) -> float:
        """The best value told, in units of the objective."""
        value = self._best().value
        return float(value)  # type: ignore[arg-type]

    def _best(self) -> Trial:
        best = self._history.best
        if best is None:
            raise ValueError(
                "Expected at least one finite value, got none so far; tell one first."
            )
        return self._history.told[best]

    @property
    def history_(self) -> list[dict[str, Any]]:
        """Records of all points, in the order in which they came."""
        return [history_record(trial) for trial in self._history.trials]

    @property
    def remembered_(self) -> list[int]:
        """Places in `history_` of the values that the policy goes by at present.

        All that were told, but for policies that forget at once: those for changing
        objectives with resets or a window.
        """
        with self._lock:
            kept = {id(t) for e in self._core.engines for t in e.remembered}
            trials = self._history.trials
            return [i for i, trial in enumerate(trials) if id(trial) in kept]

    def recommend(self) -> Params:
        """Return the point to deploy: in most policies the told one of best mean.

        The mean is that of a model with MAP length scales on all the data, which
        trusts no single lucky value. Policies for perturbed or changing objectives have
        rules of their own.

        Returns
        -------
        params : dict

        Raises
        ------
        ValueError
            If no finite value has been told.
        """
        self._best()
        with self._lock, one_blas_thread():
            return self._core.recommend()

    @property
    def models_(self) -> dict[str, IncrementalGPR]:
        """Copies of the Gaussian processes in use, by label.

        Each is a `GaussianProcessRegressor` of scikit-learn's, fitted to all that the
        policy goes by: those of the models that survive, under "robust" those of its
        rungs, and the one of MAP length scales where a policy estimates or draws them.
        Labels are as in the results, such as ``"theta=0.25"``; with several branches,
        ``"branch 0: theta=0.25"``. Empty while the initial design goes on. What is done
        to them does not touch the optimizer.

        Notes
        -----
        They are in units of the search. Points are encoded, as by ``space.encode`` (of
        the branch, if there are several); in models of time ("tv-gp-ucb", "ui-tvbo")
        the last column is time, counted in values told from 1. Targets are values as
        the policy shapes and standardises them, less the prior mean if a candidate has
        one: with attributes of the regressor, a mean is ``mean * scale_ + shift_`` in
        units of the objective, a deviation ``std * scale_``.

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
            return self._core.regressors()

    def predict(
        self,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        return_std: bool = False,
    ) -> Any:
        """Return the mean of a MAP model on all the data, in units of the objective.

        Values enter that model as they are, even where the policy shapes them for its
        search. Only one that is far outside all others, as of a fit that diverged, is
        raised under the default. A branch of which no value has been told is predicted
        by the mean and the deviation of all values.

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
        points = [self._core.point(point) for point in given]
        with self._lock, one_blas_thread():
            mean, std = self._core.predict(points)
        if single:
            return (float(mean[0]), float(std[0])) if return_std else float(mean[0])
        return (mean, std) if return_std else mean

    def regret_bound(self, delta: float = 0.05) -> float:
        """Return an upper bound on what is left to gain.

        With probability 1 - `delta` at least, the maximum of the objective exceeds its
        best value at the points told by no more than that, *if* the policy's assumption
        is true: that the objective is drawn from one of its surviving models, or, with
        a policy or a `beta` that is about norms, within the norm bound of one. Without
        a model of its own, a policy is given that of `predict`. For "robust", the
        right length scales have to be those of the estimate, or half of them.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound may fail.

        Returns
        -------
        bound : float
            In units of the objective; infinite while the initial design goes on, or
            there is a branch that no model has asked yet.

        Raises
        ------
        ValueError
            If `delta` is out of range, no value has been told, or the policy is for
            objectives that change or that are perturbed.

        Notes
        -----
        Failed evaluations count as the worst value seen; in a branch that has only
        failed, as the worst of all branches, whose mean and scale its model takes over.
        So the bound is finite there, but for the model to be right is to assume that
        points between failures fail as well. The bands are those of theory,
        wider than the ones that choose the points: the self-normalised one for norms,
        the Bayesian ones otherwise.

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
                "The 'policy' of an Optimizer must be one for the maximum of one fixed "
                f"objective, for a bound on its regret. Got {self.policy!r} instead."
            )
        self._best()
        with self._lock, one_blas_thread():
            return self._core.regret_bound(delta)

    # JSON ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state in JSON types.

        An optimizer read back by `from_dict` asks exactly what this one would have.
        Categories are stored by their index. A space or a policy with objects that JSON
        cannot hold, such as estimators or callables, is left out, to be given again.

        Returns
        -------
        state : dict
        """
        with self._lock:
            return {
                "format": FORMAT,
                "space": or_none(self.space.to_dict),
                "policy": or_none(lambda: policy_to_dict(self.policy)),
                **self._core.to_dict(),
            }

    @classmethod
    def from_dict(
        cls,
        d: Mapping[str, Any],
        *,
        space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        policy: Policy | None = None,
        constraints: Callable[[Params], bool] | None = None,
    ) -> Self:
        """Return the optimizer whose `to_dict` gave `d`.

        Parameters
        ----------
        d : dict
            The state.
        space : Space, dict or list of dict, default=None
            The space, where it holds values that JSON cannot.
        policy : Policy, default=None
            The policy, where its settings hold objects that JSON cannot.
        constraints : callable, default=None
            The constraints, where there were some: JSON cannot hold them.

        Returns
        -------
        optimizer : Optimizer

        Raises
        ------
        ValueError
            If `d` is not such a state, or lacks what is not given.
        """
        check_format(d)
        check_parts(d)
        check_constraints(d, constraints)
        constraint = None if constraints is None else Constraint(constraints)
        if space is not None and not isinstance(space, Space):
            space = Space(space)
        policy = None if policy is None else make_policy(policy)
        written_space = given(d, "space") if space is None else {}
        written_policy = given(d, "policy") if policy is None else {}
        with reading():
            space = space or Space.from_dict(written_space)
            policy = policy or policy_from_dict(written_policy)
            policy.check()
            core = Core.from_dict(d, space, policy, constraint)
        self = cls.__new__(cls)
        self._set_up(core)
        return self


def _count(name: str, value: Any) -> int | None:
    return None if value is None else checked_count(name, value, "Optimizer")


def _initial(params: Any) -> list[Params]:
    return [] if params is None else listed_params(params, "initial_params")
