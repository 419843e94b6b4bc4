"""Ask and tell: the optimizer behind every search."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skrobustbo._regret_bound import regret_bound
from skrobustbo._sobol import sobol
from skrobustbo._threads import one_blas_thread
from skrobustbo.acquisition import Maximizer, SpaceExhausted
from skrobustbo.history import History, Trial
from skrobustbo.policies._base import Policy, map_posterior
from skrobustbo.policies._interface import Setup
from skrobustbo.policies._registry import (
    make_policy,
    policy_from_dict,
    policy_to_dict,
)
from skrobustbo.space import Space
from skrobustbo.space._values import from_json, plain, to_json
from skrobustbo.surrogate import FactorBank, Models, Posterior
from skrobustbo.surrogate._posterior import Ground

Array = NDArray[np.float64]
Params = dict[str, Any]

#: Finite spaces up to this size are bounded whole, others on a Sobol sample.
_GROUND, _GROUND_SAMPLE = 4096, 512
_FORMAT = 1  # of to_dict; to be raised when an older reader would misread it


class Optimizer:
    """Maximise an expensive function by asking for points and telling their values.

    Parameters
    ----------
    space : Space or dict
        What is searched; a dict is what `Space` takes.
    policy : str or Policy, default="robust"
        How points are chosen: a name of `skrobustbo.policies.available` or an object.
    n_initial_points : int, default=None
        Points asked before the model takes over, `initial_params` and points told
        without being asked included; the rest is a scrambled Sobol sequence. Default:
        2 d + 2 for d parameters, at least 3, at most a third of the horizon.
    initial_params : list of dict, default=None
        Points to ask first.
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
        space: Space | Mapping[str, Any],
        policy: str | Policy = "robust",
        *,
        n_initial_points: int | None = None,
        initial_params: Sequence[Mapping[str, Any]] | None = None,
        horizon: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.space = space if isinstance(space, Space) else Space(space)
        self.policy = make_policy(policy)
        self.policy.check()
        self.horizon = _checked_count("horizon", horizon)
        first = [_plain_params(params) for params in initial_params or []]
        self._first = [(params, self.space.encode(params)) for params in first]
        n_initial = _checked_count("n_initial_points", n_initial_points)
        self.n_initial_points = max(len(first), n_initial or self._default_n_initial())
        self._seed = int(check_random_state(random_state).randint(2**31 - 1))
        self._reset()

    def _reset(self) -> None:
        self._history = History(self.space.n_columns)
        self._bank = FactorBank(self.policy.noise)
        self._state: Any = None
        self._n_asked = 0
        self._lock = threading.RLock()

    def _default_n_initial(self) -> int:
        n = max(3, 2 * len(self.space.groups) + 2)
        return n if self.horizon is None else max(1, min(n, self.horizon // 3))

    def __repr__(self) -> str:
        told = len(self._history)
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
        if n is not None:
            return [self._ask_one() for _ in range(_checked_count("n", n) or 0)]
        return self._ask_one()

    def _ask_one(self) -> Params:
        with self._lock, one_blas_thread():
            trial = self._initial_trial() or self._model_trial()
            self._history.add(trial)
            self._n_asked += 1
            return dict(trial.params)

    def _initial_trial(self) -> Trial | None:
        """Return the next point of the initial design, None if it is over."""
        for params, x in self._first:
            if not self._history.seen(x):
                return Trial(dict(params), x, label="initial")
        position = len(self._history.trials)
        if position >= self.n_initial_points and self._history.best is not None:
            return None
        x = self._design_point(position)
        if self._history.seen(x):
            x = self._random_point()
        return Trial(self.space.decode(x), x, label="initial")

    def _random_point(self) -> Array:
        """Return a random point; a new one, as long as there are any."""
        try:
            return self._maximizer(repeats=False).random()
        except SpaceExhausted:
            return self._maximizer(repeats=self.policy.repeats).random()

    def _design_point(self, position: int) -> Array:
        position -= len(self._first)
        U = sobol(max(position, 0) + 1, self.space.n_uniform, self._seed)
        x: Array = self.space.from_uniform(U)[-1]
        return x

    def _model_trial(self) -> Trial:
        models = self._models()
        if self._state is None:
            self._state = self.policy.start(self._setup(), self._models(pending=False))
        pending = [t.memo for t in self._history.pending if t.memo is not None]
        argmax = self._maximizer(repeats=self.policy.repeats)
        x, memo = self.policy.suggest(self._state, models, argmax, pending)
        return Trial(
            self.space.decode(x),
            x,
            memo,
            label=memo["label"],
            mean=memo.get("mean", math.nan),
            std=memo.get("std", math.nan),
            alive=self.policy.alive(self._state),
        )

    def _setup(self) -> Setup:
        size = self.space.size
        return Setup(
            len(self.space.groups),
            self.horizon,
            n_points=int(size) if math.isfinite(size) else None,
        )

    def _models(self, *, pending: bool = True) -> Models:
        history = self._history
        z, shift, scale = self.policy.targets(history.values)
        waiting = [trial.x for trial in history.pending if pending]
        return Models(
            self._bank,
            history.X,
            z,
            X_pending=np.array(waiting).reshape(-1, self.space.n_columns),
            shift=shift,
            scale=scale,
            groups=self.space.groups,
            rng=np.random.default_rng([self._seed, self._n_asked, 1]),
            ground=self._ground,
            ball=self.space.ball,
        )

    @cached_property
    def _ground(self) -> Ground:
        """The feasible points, or the same sample of them whatever the seed."""
        space, n_points = self.space, self._setup().n_points
        if n_points is not None and n_points <= _GROUND:
            return Ground(space.enumerate(), n_points)
        U = sobol(_GROUND_SAMPLE, space.n_uniform, 0)
        return Ground(space.from_uniform(U), n_points)

    def _maximizer(self, *, repeats: bool) -> Maximizer:
        """Return the maximiser of this ask; its draws depend on the count of asks."""
        history = self._history
        barred = history.pending if repeats else history.trials
        best = history.best
        return Maximizer(
            self.space,
            [trial.x for trial in barred],
            rng=np.random.default_rng([self._seed, self._n_asked]),
            around=None if best is None else history.X[[best]],
        )

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
            Points of the space.
        value : float or list of float
            Values of the objective, larger is better. nan and infinities are failed
            evaluations: remembered, and avoided from then on.

        Raises
        ------
        ValueError
            If a point is outside the space or a value is not a number. Nothing is
            recorded then.
        """
        if isinstance(params, Mapping):
            points, values = [params], [value]
        else:
            points, values = list(params), list(np.ravel(value))
        if len(points) != len(values):
            raise ValueError(
                f"Expected one value for each of the {len(points)} points, got "
                f"{len(values)} values."
            )
        checked = [
            (_plain_params(point), self.space.encode(point), _checked_value(number))
            for point, number in zip(points, values, strict=True)
        ]
        with self._lock:
            for point, x, number in checked:
                self._tell_one(point, x, number)

    def _tell_one(self, params: Params, x: Array, value: float) -> None:
        trial = self._history.find_pending(x)
        if trial is None:
            trial = Trial(params, x)
            self._history.add(trial)
        self._history.tell(trial, value, time.time())
        if trial.memo is not None:
            trial.reset = bool(
                self.policy.learn(self._state, trial.memo, self._history)
            )

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
        return [_record(trial) for trial in self._history.trials]

    def recommend(self) -> Params:
        """Return the point to deploy: in most policies the told one of best mean.

        The mean is that of a model with MAP length scales on all the data, which
        trusts no single lucky value. Policies for perturbed or changing objectives have
        rules of their own.
        """
        self._best()
        with self._lock, one_blas_thread():
            models = self._models(pending=False)
            x = self.policy.recommend(self._state, models, self._history)
        known = next((t for t in self._history.trials if np.array_equal(t.x, x)), None)
        return self.space.decode(x) if known is None else dict(known.params)

    def predict(
        self,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        return_std: bool = False,
    ) -> Any:
        """Return the mean of a MAP model on all the data, in units of the objective.

        Values enter that model as they enter the policy's: the default raises those far
        below the middle.

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
        """
        self._best()
        points = [params] if isinstance(params, Mapping) else params
        Z = np.array([self.space.encode(point) for point in points])
        with self._lock, one_blas_thread():
            posterior = self._map_posterior()
            mu, sigma = posterior.predict(Z.reshape(-1, self.space.n_columns))
            _, shift, scale = self.policy.targets(self._history.values)
        mean, std = mu * scale + shift, sigma * scale
        if isinstance(params, Mapping):
            return (float(mean[0]), float(std[0])) if return_std else float(mean[0])
        return (mean, std) if return_std else mean

    def _map_posterior(self) -> Posterior:
        return map_posterior(self.policy, self._models(pending=False))

    def regret_bound(self, delta: float = 0.05) -> float:
        """Return an upper bound on what is left to gain.

        With probability 1 - `delta` at least, the maximum of the objective exceeds its
        best value at the points told by no more than that, *if* the policy's assumption
        is true: that the objective is drawn from one of its surviving models, or, with
        a policy or a `beta` that is about norms, within the norm bound of one. Without
        a model of its own, a policy is given that of `predict`. For "robust", one of
        the length scales between the estimate and half of it has to be right.

        Parameters
        ----------
        delta : float, default=0.05
            Probability that the bound may fail.

        Returns
        -------
        bound : float
            In units of the objective; infinite while the initial design goes on.

        Raises
        ------
        ValueError
            If `delta` is out of range, no value has been told, or the policy is for
            objectives that change or that are perturbed.

        Notes
        -----
        Failed evaluations count as the worst value seen. The bands are those of theory,
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
        if not 0 < delta < 1:
            raise ValueError(
                "The 'delta' of regret_bound must be between 0 and 1. Got "
                f"{delta!r} instead."
            )
        if not self.policy.seeks_maximum:
            raise ValueError(
                "The 'policy' of an Optimizer must be one for the maximum of one fixed "
                f"objective, for a bound on its regret. Got {self.policy!r} instead."
            )
        self._best()
        with self._lock, one_blas_thread():
            if self._state is None:
                return math.inf
            models = self._models(pending=False)
            return regret_bound(
                self.policy.plausible(self._state, models),
                models,
                self._maximizer(repeats=True),
                told=np.isfinite(self._history.values),
                n_parameters=len(self.space.groups),
                delta=delta,
                norm_bounded=self.policy.norm_bounded,
            )

    # JSON ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state in JSON types.

        An optimizer read back by `from_dict` asks exactly what this one would have.
        Categories are stored by their index.

        Raises
        ------
        TypeError
            If the space or the policy holds an object that JSON cannot, such as an
            estimator or a callable.
        """
        with self._lock:
            order = {id(trial): i for i, trial in enumerate(self._history.trials)}
            return {
                "format": _FORMAT,
                "space": _or_none(self.space.to_dict),
                "policy": _or_none(lambda: policy_to_dict(self.policy)),
                "horizon": self.horizon,
                "n_initial": self.n_initial_points,
                "first": [self.space.params_to_json(p) for p, _ in self._first],
                "seed": self._seed,
                "n_asked": self._n_asked,
                "state": None if self._state is None else to_json_state(self._state),
                "trials": [self._trial_to_dict(t) for t in self._history.trials],
                "told": [order[id(trial)] for trial in self._history.told],
            }

    def _trial_to_dict(self, trial: Trial) -> dict[str, Any]:
        record = {
            key: value
            for key, value in vars(trial).items()
            if key not in ("x", "params")
        }
        record["params"] = self.space.params_to_json(trial.params)
        written: dict[str, Any] = to_json_state(record)
        return written

    @classmethod
    def from_dict(
        cls,
        d: Mapping[str, Any],
        *,
        space: Space | Mapping[str, Any] | None = None,
        policy: Policy | None = None,
    ) -> Self:
        """Return the optimizer whose `to_dict` gave `d`.

        Parameters
        ----------
        d : dict
            The state.
        space : Space or dict, default=None
            The space, where it holds values that JSON cannot.
        policy : Policy, default=None
            The policy, where its settings hold objects that JSON cannot.

        Raises
        ------
        ValueError
            If `d` is not such a state, or lacks a space or policy that is not given.
        """
        _check_format(d)
        if space is None:
            space = Space.from_dict(_given(d, "space"))
        if policy is None:
            policy = policy_from_dict(_given(d, "policy"))
        self = cls(space, policy, horizon=d["horizon"], random_state=0)
        first = [self.space.params_from_json(p) for p in d["first"]]
        self._first = [(params, self.space.encode(params)) for params in first]
        self.n_initial_points, self._seed = int(d["n_initial"]), int(d["seed"])
        self._n_asked = int(d["n_asked"])
        if d["state"] is not None:
            self._state = self.policy.state_type(**from_json_state(d["state"]))
        self._restore(d["trials"], d["told"])
        return self

    def _restore(
        self, records: Sequence[Mapping[str, Any]], told: Sequence[int]
    ) -> None:
        trials = []
        for record in records:
            fields = from_json_state(dict(record))
            params = self.space.params_from_json(fields.pop("params"))
            trials.append(Trial(params=params, x=self.space.encode(params), **fields))
        for trial in trials:
            self._history.add(trial)
        for i in told:
            value, when = trials[i].value, trials[i].time
            self._history.tell(trials[i], float(value), float(when))  # type: ignore[arg-type]


def _record(trial: Trial) -> dict[str, Any]:
    return {
        "params": dict(trial.params),
        "value": trial.value,
        "time": trial.time,
        "model_label": trial.label,
        "model_mean": trial.mean,
        "model_std": trial.std,
        "alive": list(trial.alive),
        "pending": trial.pending,
        "failed_reason": trial.failed_reason,
        "reset": trial.reset,
    }


def to_json_state(state: Any) -> Any:
    """Return nested dicts and lists of plain types with non-finite numbers tagged."""
    if hasattr(state, "__dataclass_fields__"):
        state = asdict(state)
    if isinstance(state, dict):
        return {key: to_json_state(value) for key, value in state.items()}
    if isinstance(state, list):
        return [to_json_state(value) for value in state]
    return to_json(state)


def from_json_state(state: Any) -> Any:
    """Return what `to_json_state` wrote."""
    if isinstance(state, dict) and not any(key.startswith("$") for key in state):
        return {key: from_json_state(value) for key, value in state.items()}
    if isinstance(state, list):
        return [from_json_state(value) for value in state]
    return from_json(state)


def _or_none(write: Any) -> Any:
    try:
        return write()
    except TypeError:  # holds an object: the reader has to be given it again
        return None


def _given(d: Mapping[str, Any], name: str) -> Any:
    if d[name] is None:
        raise ValueError(
            f"Expected a state that holds its {name}, got one whose {name} has objects "
            f"that JSON cannot hold; pass '{name}' to from_dict."
        )
    return d[name]


def _check_format(d: Any) -> None:
    found = d.get("format") if isinstance(d, Mapping) else d
    if found != _FORMAT:
        raise ValueError(
            f"Expected a state written by Optimizer.to_dict in format {_FORMAT}, got "
            f"{found!r}; read it with the version that wrote it."
        )


def _plain_params(params: Any) -> Params:
    if not isinstance(params, Mapping):
        raise ValueError(f"Expected a dict of parameters, got {params!r}.")
    return {key: plain(value) for key, value in params.items()}


def _checked_count(name: str, value: Any) -> int | None:
    value = plain(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            f"The '{name}' of Optimizer must be a positive integer or None. Got "
            f"{value!r} instead."
        )
    return value


def _checked_value(value: Any) -> float:
    value = plain(value)
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(
            f"Expected the value told to be a number (nan for a failure), got "
            f"{value!r}."
        )
    return float(value)
