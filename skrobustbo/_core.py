"""The search over all branches: what `Optimizer` wraps."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._arguments import about
from skrobustbo._branches import BranchBalancer, BranchState
from skrobustbo._engine import NUMERICAL, Engine, Promise, warn_of_failure
from skrobustbo._regret_bound import regret_bound
from skrobustbo._state import (
    policy_state,
    rebuilt,
    to_json_state,
    trial_from_dict,
    trial_to_dict,
)
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.history import Log, Trial
from skrobustbo.policies._base import Policy
from skrobustbo.space import Constraint, Space
from skrobustbo.surrogate import IncrementalGPR

Array = NDArray[np.float64]
Params = dict[str, Any]

#: Initial points of every branch, as far as the horizon allows.
_LEAST = 2


@dataclass(frozen=True)
class Point:
    """A params dict, the branch that it belongs to, and its place there."""

    branch: int
    params: Params
    x: Array


class Core:
    """Branches, their shared log, and the balancer above them.

    Parameters
    ----------
    space : Space
        What is searched.
    policy : Policy
        How points are chosen; every branch has a state of its own.
    horizon : int or None
        Evaluations planned.
    constraint : Constraint or None
        What has to hold for a point to be proposed.
    first : list of dict
        Points to ask first.
    n_initial : int or None
        Points before the model takes over.
    seed : int
        Seeds everything random.
    """

    def __init__(
        self,
        space: Space,
        policy: Policy,
        *,
        horizon: int | None,
        constraint: Constraint | None,
        first: Sequence[Params],
        n_initial: int | None,
        seed: int,
    ) -> None:
        self.space, self.policy, self.horizon = space, policy, horizon
        self.constraint, self.seed = constraint, seed
        self.branches = space.branches
        self.first = [self._given(params) for params in first]
        self.n_initial = self._n_initial(n_initial)
        self.log, self.n_asked = Log(), 0
        self.engines = [
            Engine(i, *spaces, policy, horizon, seed, self.log)
            for i, spaces in enumerate(zip(self.branches, self._regions(), strict=True))
        ]
        for point in self.first:
            self.engines[point.branch].design.add_known(point.x)
        # What may be asked twice may have changed, so no branch is given up for good.
        self.balancer = BranchBalancer(
            len(self.branches), policy.noise, eliminate=not policy.repeats
        )

    def _regions(self) -> list[Space]:
        """Return the branches, each with only those points that it may propose."""
        owned = self.space.owned
        if self.constraint is None:
            return owned
        return [space.within(self.constraint) for space in owned]

    def _n_initial(self, given: int | None) -> int:
        least = _LEAST * len(self.branches) if len(self.branches) > 1 else 1
        if given is None:
            given = sum(map(_share, self.branches))
            if self.horizon is not None:
                given = max(1, min(given, self.horizon // 3))
        if self.horizon is not None:
            least = min(least, self.horizon)
        return max(len(self.first), given, least)

    def check_feasible(self) -> None:
        """Raise a ValueError if no branch has a point that may be proposed."""
        self._check_first()
        if self.constraint is None or not all(e.barren for e in self.engines):
            return
        tried = sum(engine.design.n_tried for engine in self.engines)
        raise ValueError(
            "The 'constraints' of Optimizer must allow some point of the space. Got "
            f"none among {tried} points tried; loosen them, widen the space or give a "
            "feasible point in 'initial_params'."
        )

    def _check_first(self) -> None:
        """Raise a ValueError if a point to ask first may not be proposed."""
        for point in self.first:
            if self.constraint is not None and not self.constraint(point.params):
                raise ValueError(
                    "The 'initial_params' of Optimizer must satisfy 'constraints'. Got "
                    f"{point.params!r}, which does not; change it or leave it out."
                )

    def _given(self, params: Params) -> Point:
        try:
            return self.point(params)
        except ValueError as error:
            raise about("'initial_params'", error) from None

    def point(self, params: Mapping[str, Any]) -> Point:
        """Return the place of a params dict; ValueError if it has none."""
        branch, x = self.space.place(params)
        return Point(branch, dict(params), x)

    # Ask -----------------------------------------------------------------------------

    def ask(self) -> Trial:
        """Return the next trial, pending from now on."""
        trial = self._initial_trial() or self._model_trial()
        self._add(trial)
        self.n_asked += 1
        return trial

    def _add(self, trial: Trial) -> None:
        self.log.add(trial)
        self.engines[trial.branch].add(trial)

    def _initial_trial(self) -> Trial | None:
        """Return the next point of the initial design, None if it is over."""
        for point in self.first:
            engine = self.engines[point.branch]
            if not engine.history.seen(point.x):
                return engine.trial(point.x, dict(point.params), label="initial")
        over = len(self.log.trials) >= self.n_initial and self._filled
        if over and self.log.best is not None:
            return None
        return self._design_trial()

    @property
    def _filled(self) -> bool:
        """Whether every branch has its least share of points, or all that it has."""
        k = len(self.engines)
        least = _LEAST if self.horizon is None else min(_LEAST, self.horizon // k)
        return k == 1 or all(engine.holds(least) for engine in self.engines)

    def _design_trial(self) -> Trial:
        """Return a design point of the branch that is furthest from its share."""
        for i in sorted(range(len(self.engines)), key=self._fill):
            try:
                return self._designed(i)
            except SpaceExhausted:
                continue
        raise self._exhausted()

    def _fill(self, i: int) -> tuple[bool, float]:
        """Return how full a branch is, to be compared: the least comes first."""
        n = len(self.engines[i].history.trials)
        return n >= _LEAST, (n + 1) / _share(self.branches[i])

    def _designed(self, i: int) -> Trial:
        """Return the next design point of a branch; SpaceExhausted if none is left."""
        engine = self.engines[i]
        given = sum(point.branch == i for point in self.first)
        position = len(engine.history.trials) - given
        x = engine.initial_point(position, self.n_asked)
        return engine.trial(x, label="initial")

    def _exhausted(self) -> SpaceExhausted:
        size = sum(engine.region.size for engine in self.engines)
        return SpaceExhausted(
            f"All {size:.0f} points of the space have been proposed; widen the space "
            "to go on."
        )

    def _model_trial(self) -> Trial:
        if len(self.engines) == 1:
            return self.engines[0].propose(self.n_asked)
        left = [i for i, engine in enumerate(self.engines) if not engine.barren]
        promises: dict[int, Promise] = {}
        while left:
            i = self._turn(self._eligible(left), promises)
            try:
                trial = self._proposed(i)  # line 8
            except SpaceExhausted:
                left.remove(i)
            else:
                # Where a single branch is left there is no promise, nor a test.
                if i in promises:
                    with suppress(*NUMERICAL):
                        trial.width = promises[i].width(trial.x)
                return trial
        raise self._exhausted()

    def _proposed(self, i: int) -> Trial:
        """Return what the policy asks in a branch; a design point while none is told.

        That happens where points are under way there, and the others are used up.
        """
        if not len(self.engines[i].history):
            return self._designed(i)
        return self.engines[i].propose(self.n_asked)

    def _eligible(self, left: Sequence[int]) -> list[int]:
        """Return the branches to choose from: survivors with values, if there are."""
        alive = [i for i in left if i in self.balancer.state.alive]
        among = alive or list(left)
        return [i for i in among if len(self.engines[i].history)] or among

    def _turn(self, among: Sequence[int], promises: dict[int, Promise]) -> int:
        """Return the branch to ask; its promise and those compared are noted."""
        if not any(len(self.engines[i].history) for i in among):
            return min(among, key=self._fill)
        if len(among) == 1:
            return among[0]
        try:
            return self._balanced(among, promises)
        except NUMERICAL as error:
            warn_of_failure(error)
            return min(among, key=self._fill)

    def _balanced(self, among: Sequence[int], promises: dict[int, Promise]) -> int:
        """Return the branch whose turn it is, going by what each promises."""
        promises |= {i: self.engines[i].promise() for i in among}
        pending = [t.branch for t in self.log.pending if t.memo is not None]
        return self.balancer.choose(
            {i: promises[i].upper for i in among},
            max(promises[i].reached for i in among),
            pending,
            [i for i in among if self.engines[i].failing],
        )

    # Tell ----------------------------------------------------------------------------

    def tell(self, point: Point, value: float) -> None:
        """Record the value of a point, pending or not."""
        engine = self.engines[point.branch]
        trial = engine.history.find_pending(point.x)
        if trial is None:
            trial = engine.trial(point.x, point.params)
            self._add(trial)
        now = time.time()
        self.log.tell(trial, value, now)
        engine.tell(trial, value, now)
        if len(self.engines) > 1 and trial.memo is not None:
            z, _, scale = self.policy.targets(self.log.values)
            z = np.where(np.isfinite(self.log.values), z, np.nan)
            self.balancer.learn(trial.branch, len(self.log) - 1, trial.width, z, scale)

    # Look ----------------------------------------------------------------------------

    def recommend(self) -> Params:
        """Return the point to deploy, of those of the branches the one of best mean."""
        found = [e for e in self.engines if e.history.best is not None]
        points = [engine.recommend(self.n_asked) for engine in found]
        i = 0
        if len(found) > 1:
            worth = [e.worth(x) for e, x in zip(found, points, strict=True)]
            i = int(np.argmax(worth))
        engine, x = found[i], points[i]
        trials = engine.history.trials
        known = next((t for t in trials if np.array_equal(t.x, x)), None)
        return engine.space.decode(x) if known is None else dict(known.params)

    def predict(self, points: Sequence[Point]) -> tuple[Array, Array]:
        """Return mean and deviation at points, in units of the objective."""
        mean, std = np.empty(len(points)), np.empty(len(points))
        for engine in self.engines:
            rows = [i for i, p in enumerate(points) if p.branch == engine.index]
            X = np.array([points[row].x for row in rows])
            if not rows:
                continue
            mean[rows], std[rows] = engine.predict(X)
        return mean, std

    def regressors(self) -> dict[str, IncrementalGPR]:
        """Return copies of the regressors in use, by label, with several by branch."""
        found = [engine.regressors(self.n_asked) for engine in self.engines]
        if len(found) == 1:
            return found[0]
        return {
            f"branch {i}: {label}": regressor
            for i, regressors in enumerate(found)
            for label, regressor in regressors.items()
        }

    def regret_bound(self, delta: float) -> float:
        """Return a bound on what is left to gain; infinite if a branch is unknown."""
        engines = [engine for engine in self.engines if not engine.barren]
        share = delta / len(engines)
        found = [engine.bands(self.n_asked, share) for engine in engines]
        known = [models for models in found if models is not None]
        return regret_bound(known) if len(known) == len(found) else math.inf

    # JSON ----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return all but the space and the policy in JSON types."""
        order = {id(trial): i for i, trial in enumerate(self.log.trials)}
        several = len(self.engines) > 1
        return {
            "horizon": self.horizon,
            "constrained": self.constraint is not None,
            "n_initial": self.n_initial,
            "first": [
                [p.branch, self.branches[p.branch].params_to_json(p.params)]
                for p in self.first
            ],
            "seed": self.seed,
            "n_asked": self.n_asked,
            "states": [policy_state(self.policy, e.state) for e in self.engines],
            "balancer": to_json_state(self.balancer.state) if several else None,
            "trials": [trial_to_dict(t, self.branches) for t in self.log.trials],
            "told": [order[id(trial)] for trial in self.log.told],
        }

    @classmethod
    def from_dict(
        cls,
        d: Mapping[str, Any],
        space: Space,
        policy: Policy,
        constraint: Constraint | None,
    ) -> Core:
        """Return what `to_dict` wrote, of this space and policy."""
        branches = space.branches
        core = cls(
            space,
            policy,
            horizon=d["horizon"],
            constraint=constraint,
            first=[branches[i].params_from_json(params) for i, params in d["first"]],
            n_initial=int(d["n_initial"]),
            seed=int(d["seed"]),
        )
        core.n_asked = int(d["n_asked"])
        for engine, state in zip(core.engines, d["states"], strict=True):
            if state is not None:
                engine.state = rebuilt(policy.state_type, state)
        if (d["balancer"] is None) != (len(core.engines) == 1):
            raise ValueError(
                f"{d['balancer']!r} to balance {len(core.engines)} branches"
            )
        if d["balancer"] is not None:
            core.balancer.state = rebuilt(BranchState, d["balancer"])
        trials = [trial_from_dict(t, branches) for t in d["trials"]]
        if {i for i, t in enumerate(trials) if not t.pending} != set(d["told"]):
            raise ValueError("values of what was not told, or none of what was")
        core.restore(trials, d["told"])
        core.check_restored()
        return core

    def check_restored(self) -> None:
        """Raise a ValueError unless the parts of what was read back fit together."""
        self._check_first()
        for engine in self.engines:
            engine.check_restored()
        n = len(self.engines)
        if n > 1 and not self.balancer.state.consistent(n, len(self.log)):
            raise ValueError("a state of the balancer out of place")

    def restore(self, trials: Sequence[Trial], told: Sequence[int]) -> None:
        """Enter trials as they came and were told, learning nothing from them anew."""
        for trial in trials:
            self._add(trial)
        for i in told:
            trial = trials[i]
            # Not `value or ...`, which makes 0.0 of -0.0.
            value = math.nan if trial.value is None else float(trial.value)
            when = float(trial.time or 0.0)
            self.log.tell(trial, value, when)
            self.engines[trial.branch].history.tell(trial, value, when)


def _share(space: Space) -> int:
    """Return the default number of initial points of one branch."""
    return max(3, 2 * len(space.groups) + 2)
