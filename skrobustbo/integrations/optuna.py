"""Optuna integration: a sampler, and the conversion of searches to studies."""

from __future__ import annotations

import importlib
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from skrobustbo._arguments import checked_callable, optional_count
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.integrations._optuna import (
    CONSTRAINTS,
    Group,
    OptunaAxis,
    Reader,
    can_be_searched,
    groups_of,
    single_value,
    split,
)
from skrobustbo.integrations._optuna_study import to_study
from skrobustbo.integrations._shared import checked_seed, optional_base
from skrobustbo.optimizer import Memory, Optimizer, StoredTrial, ask_noted, replay
from skrobustbo.policies import Policy, make_policy

__all__ = ["RobustSampler", "to_study"]

Params = dict[str, Any]

_BaseSampler: Any = optional_base("optuna.samplers", "BaseSampler", "Optuna", "optuna")
#: Number of attempts to avoid a clash with other workers' simultaneous proposals; after
#: that, the point is random.
_MOST_ATTEMPTS = 8
_PAUSE = 0.01


class RobustSampler(_BaseSampler):
    """Optuna sampler that chooses parameters with one of this package's policies.

    The sampler stores all its data in the study and rebuilds its models from the trials
    at each step. Several processes can therefore work on one study, each with its own
    sampler, and you can resume a study at any time.

    Parameters
    ----------
    policy : str or Policy, default="robust"
        The rule for choosing points: a name from `skrobustbo.policies.available` or a
        policy object.
    seed : int, default=None
        Random seed. Workers that share a study should use different seeds or no seed.
    n_startup_trials : int, default=None
        Number of initial trials. The default is 2 d + 2 for d parameters.
    horizon : int, default=None
        Total number of planned trials, if known. Some policies use it.
    independent_sampler : optuna.samplers.BaseSampler, default=None
        Sampler for parameters that do not occur in any finished trial, such as those of
        the first trial. By default, these parameters are sampled at random.
    constraints_func : callable, default=None
        Function that takes a finished trial and returns a sequence of numbers. Any
        number above 0 is a violation. Constraints set with ``trial.set_constraint`` are
        also used.

    Raises
    ------
    ImportError
        If Optuna is not installed.
    ValueError
        If an argument is invalid, or the study has several objectives.

    Notes
    -----
    Parameters that always occur together share the same models. Parameters that occur
    in only some trials form separate groups with their own models.

    The running trials of all workers count as pending points. Trials that fail or
    violate a constraint count as failures. The value of a pruned trial is its last
    intermediate value or the median value of the trials completed before it, whichever
    is worse.

    Examples
    --------
    >>> import optuna
    >>> from skrobustbo.integrations.optuna import RobustSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=RobustSampler(seed=0, horizon=15))
    >>> study.optimize(lambda t: (t.suggest_float("x", -1, 1) - 0.3) ** 2, n_trials=15)
    >>> abs(study.best_params["x"] - 0.3) < 0.01
    True
    """

    def __init__(
        self,
        *,
        policy: str | Policy = "robust",
        seed: int | None = None,
        n_startup_trials: int | None = None,
        horizon: int | None = None,
        independent_sampler: Any = None,
        constraints_func: Callable[[Any], Sequence[float]] | None = None,
    ) -> None:
        self._policy = make_policy(policy)
        self._policy.check()
        self._seed = _seed_of() if seed is None else checked_seed(seed, "RobustSampler")
        self._n_startup_trials = optional_count(
            "n_startup_trials", n_startup_trials, "RobustSampler"
        )
        self._horizon = optional_count("horizon", horizon, "RobustSampler")
        if constraints_func is not None:
            checked_callable(
                "constraints_func", constraints_func, "RobustSampler", "a trial"
            )
        # What a note depends on besides the space, as workers' policies may differ.
        self._settings = zlib.crc32(f"{self._policy!r} {self._horizon}".encode())
        self._constraints_func = constraints_func
        self._independent_sampler = independent_sampler
        self._forget()

    def _forget(self) -> None:
        """Clear all caches, which can be rebuilt from the study."""
        self._lock = threading.RLock()
        self._reader = Reader()
        self._warned: set[str] = set()
        self._memories: dict[tuple[str, ...], tuple[int, Memory]] = {}

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_lock", "_reader", "_memories", "_warned")
        return {key: v for key, v in vars(self).items() if key not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    # Methods called by Optuna ---------------------------------------------------------

    def reseed_rng(self) -> None:
        """Draw a new random seed.

        Optuna calls this method when trials run in several threads.
        """
        with self._lock:
            self._seed = _seed_of()
            if self._independent_sampler is not None:
                self._independent_sampler.reseed_rng()

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        """Return the search space of finished trials, excluding constant parameters.

        Parameters
        ----------
        study : optuna.Study
        trial : optuna.trial.FrozenTrial

        Returns
        -------
        search_space : dict of str to distribution

        Warns
        -----
        UserWarning
            If a parameter cannot be modelled and is therefore drawn at random. There is
            one warning for each such parameter.
        """
        known: dict[str, Any] = {}
        for each in _finished(study.get_trials(deepcopy=False)):
            known.update(each.distributions)
        for name in known.keys() - self._warned:
            if not can_be_searched(name, known[name]):
                self._warned.add(name)
                warnings.warn(
                    f"RobustSampler has no model for the parameter {name!r}, "
                    f"{known[name]}: its values are drawn at random. Give it a wider "
                    "range or a larger step.",
                    stacklevel=2,
                )
        return {
            name: d for name, d in known.items() if OptunaAxis.of(name, d) is not None
        }

    def sample_relative(
        self, study: Any, trial: Any, search_space: Mapping[str, Any]
    ) -> Params:
        """Return the parameters chosen by the policy.

        Parameters
        ----------
        study : optuna.Study
        trial : optuna.trial.FrozenTrial
            The trial for which parameters are chosen.
        search_space : dict of str to distribution

        Returns
        -------
        params : dict
        """
        _check_single_objective(study)
        single = {n: single_value(d) for n, d in search_space.items() if d.single()}
        wanted = {name: d for name, d in search_space.items() if not d.single()}
        if not wanted:
            return single
        with self._lock:
            return {**single, **self._agreed(study, trial, wanted)}

    def sample_independent(
        self, study: Any, trial: Any, param_name: str, param_distribution: Any
    ) -> Any:
        """Return a value for one parameter, independently of other trials.

        Parameters
        ----------
        study : optuna.Study
        trial : optuna.trial.FrozenTrial
        param_name : str
        param_distribution : optuna.distributions.BaseDistribution

        Returns
        -------
        value : object
        """
        _check_single_objective(study)
        sampler = self._independent_sampler
        if sampler is None:
            # Depends only on the seed and the trial, so workers need no common
            # generator.
            name = zlib.crc32(param_name.encode())
            seed = _seed_of(self._seed, trial.number, name)
            samplers = importlib.import_module("optuna.samplers")
            sampler = samplers.RandomSampler(seed=seed)
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Any, trial: Any) -> None:
        """Call the `before_trial` method of the independent sampler.

        Parameters
        ----------
        study : optuna.Study
        trial : optuna.trial.FrozenTrial
        """
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self, study: Any, trial: Any, state: Any, values: Sequence[float] | None
    ) -> None:
        """Store the constraints of a finished trial.

        Parameters
        ----------
        study : optuna.Study
        trial : optuna.trial.FrozenTrial
        state : optuna.trial.TrialState
        values : sequence of float or None
        """
        if self._constraints_func is not None and state.name in ("COMPLETE", "PRUNED"):
            found = _checked_constraints(self._constraints_func(trial))
            study._storage.set_trial_system_attr(trial._trial_id, CONSTRAINTS, found)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    # Proposals -----------------------------------------------------------------------

    def _agreed(self, study: Any, trial: Any, wanted: Mapping[str, Any]) -> Params:
        """Return params that no other worker has proposed.

        A proposal is written to the storage before the proposals of other workers are
        read again. If two workers propose the same point, at least one of them detects
        this and proposes another point.
        """
        for attempt in range(_MOST_ATTEMPTS + 1):
            others = _others(study, trial)
            groups = groups_of(_finished(others), wanted)
            made = [
                self._proposal(study, trial, group, others, attempt) for group in groups
            ]
            proposals = [proposal for proposal, _ in made]
            for key, piece in split(proposals).items():
                study._storage.set_trial_system_attr(trial._trial_id, key, piece)
            new = [proposal for proposal, is_new in made if is_new]
            known = {other.number for other in others if other.state.is_finished()}
            latest = [o for o in _others(study, trial) if o.number not in known]
            if not self._taken(new, latest):
                break
            # Without a pause, synchronised workers would choose the same point again.
            time.sleep(_PAUSE * attempt * (1 + trial.number % 7))
        points = [proposal["point"] for proposal in proposals]
        found = [g.outside(p) for g, p in zip(groups, points, strict=True)]
        return {name: value for params in found for name, value in params.items()}

    def _taken(self, new: Sequence[Params], others: Sequence[Any]) -> bool:
        """Return whether another trial has one of the new points."""
        return any(
            proposal["space"] == each["space"] and proposal["point"] == each["point"]
            for other in others
            for each in self._reader.proposals(other)
            for proposal in new
        )

    def _proposal(
        self, study: Any, trial: Any, group: Group, others: Sequence[Any], attempt: int
    ) -> tuple[Params, bool]:
        """Return a proposal for a group of parameters, and whether its point is new."""
        sign = 1 if study.direction.name == "MAXIMIZE" else -1
        noted = self._reader.noted(others, group, self._settings, sign)
        n_asked = self._reader.count(others, group)
        told = [each for each in noted if each.value is not None]
        # Pending points may be repeated if no others are left.
        choices = [noted, told] if attempt < _MOST_ATTEMPTS else []
        made = {"space": group.key, "settings": self._settings}
        for known in choices:
            with suppress(SpaceExhausted):
                point, note = self._ask(group, known, n_asked)
                return {**made, "point": point, "note": note}, known is noted
        seed = _seed_of(self._seed, trial.number)
        (point,) = group.space.sample(1, random_state=seed)
        return {**made, "point": point, "note": {}}, False

    def _ask(
        self, group: Group, noted: Sequence[StoredTrial], n_asked: int
    ) -> tuple[Params, Params]:
        key, memory = self._memories.get(group.names, (group.key, None))
        memory = memory if key == group.key else None
        optimizer = self._new(group)
        try:
            memory = replay(optimizer, noted, n_asked=n_asked, memory=memory)
        except ValueError:  # notes from another version are not needed
            optimizer = self._new(group)
            bare = [StoredTrial(each.params, each.value, {}) for each in noted]
            memory = replay(optimizer, bare, n_asked=n_asked)
        self._memories[group.names] = group.key, memory
        return ask_noted(optimizer)

    def _new(self, group: Group) -> Optimizer:
        return Optimizer(
            group.space,
            self._policy,
            n_initial_points=self._n_startup_trials,
            horizon=self._horizon,
            random_state=self._seed,
        )


def _finished(trials: Sequence[Any]) -> list[Any]:
    """Return the completed and pruned trials."""
    return [trial for trial in trials if trial.state.name in ("COMPLETE", "PRUNED")]


def _others(study: Any, trial: Any) -> list[Any]:
    trials = study.get_trials(deepcopy=False)
    return [other for other in trials if other.number != trial.number]


def _check_single_objective(study: Any) -> None:
    n = len(study.directions)
    if n > 1:
        raise ValueError(
            f"RobustSampler expects a study with one objective, got one with {n}; use "
            "another sampler for several objectives."
        )


def _checked_constraints(values: Any) -> tuple[float, ...]:
    try:
        found = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        found = (np.nan,)
    if np.isnan(found).any():
        raise ValueError(
            "The 'constraints_func' of RobustSampler must return a sequence of "
            f"numbers. Got {values!r} instead."
        )
    return found


def _seed_of(*where: int) -> int:
    """Return a seed derived from numbers, or a random seed if there are none."""
    entropy = np.random.SeedSequence(where or None)
    return int(entropy.generate_state(1)[0])
