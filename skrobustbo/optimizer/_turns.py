"""Generation of new points, first by the initial design and then by branches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from skrobustbo._names import be, count, every
from skrobustbo._trials import Trial, Trials
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.optimizer._balancer import BranchBalancer, OptimisticBound
from skrobustbo.optimizer._branch import Branch, warn_of_failure
from skrobustbo.policies import Policy
from skrobustbo.surrogate import NUMERICAL

#: Minimum number of initial points of a branch, if the horizon allows it.
_LEAST = 2


class Turns:
    """Source of new points: the initial design, then branches chosen by the balancer.

    Attributes
    ----------
    n_points : int
        Number of initial points, including points given by the user or told without
        being asked.
    """

    def __init__(
        self,
        branches: Sequence[Branch],
        trials: Trials,
        policy: Policy,
        first: Sequence[Trial],
        n_points: int | None,
        horizon: int | None,
    ) -> None:
        self._branches, self._trials, self._policy = branches, trials, policy
        self.first = first
        for trial in first:
            branches[trial.branch].design.add_known(trial.x)
        k = len(branches)
        self._least = _LEAST if horizon is None else min(_LEAST, horizon // k)
        self.n_points = self._n_points(n_points, horizon)
        n, total = self.n_points - len(first), sum(branch.share for branch in branches)
        for branch in branches:
            branch.design.n_planned = math.ceil(n * branch.share / total)
        # Where points may be asked again, no branch is eliminated: the values may
        # change.
        self.balancer = BranchBalancer(k, policy.noise, eliminate=not policy.repeats)

    def _n_points(self, given: int | None, horizon: int | None) -> int:
        k = len(self._branches)
        least = _LEAST * k if k > 1 else 1
        if given is None:
            given = sum(branch.share for branch in self._branches)
            if horizon is not None:
                given = max(1, min(given, horizon // 3))
        if horizon is not None:
            least = min(least, horizon)
        return max(len(self.first), given, least)

    # The initial design ---------------------------------------------------------------

    def _of_design(self, n_asked: int) -> Trial | None:
        """Return the next trial of the initial design, or None if it is complete.

        The design continues until at least one value is finite.
        """
        for given in self.first:
            branch = self._branches[given.branch]
            if not branch.history.seen(given.x):
                return branch.trial(given.x, "initial", params=dict(given.params))
        over = len(self._trials.trials) >= self.n_points and self._filled
        if over and self._trials.best is not None:
            return None
        return self._from_sequence(n_asked)

    @property
    def _filled(self) -> bool:
        """Whether every branch has its minimum number of points or all its points."""
        return len(self._branches) == 1 or all(
            branch.is_empty
            or len(branch.history.trials) >= min(self._least, branch.region.size)
            for branch in self._branches
        )

    def _from_sequence(self, n_asked: int) -> Trial:
        """Return a design point from the branch that is furthest below its share."""
        for branch in sorted(self._branches, key=_fill):
            with suppress(SpaceExhausted):
                return self._trial_of(branch, n_asked)
        raise self._exhausted()

    def _trial_of(self, branch: Branch, n_asked: int) -> Trial:
        """Return the next design point of a branch, or raise SpaceExhausted."""
        given = sum(trial.branch == branch.index for trial in self.first)
        position = len(branch.history.trials) - given
        x = branch.initial_point(position, n_asked)
        return branch.trial(x, "initial")

    def _exhausted(self) -> SpaceExhausted:
        n = sum(branch.region.size for branch in self._branches)
        return SpaceExhausted(
            f"{every(n, 'point')} of the space {be(n, 'has', 'have')} been proposed; "
            "widen the space to continue."
        )

    # Turns of the branches ------------------------------------------------------------

    def next_trial(self, n_asked: int) -> Trial:
        """Return the next new trial, or raise SpaceExhausted if no point is left.

        After the initial design, the balancer chooses the branch of each trial.
        """
        if (given := self._of_design(n_asked)) is not None:
            return given
        if len(self._branches) == 1:
            return self._branches[0].propose(n_asked)
        left = [branch for branch in self._branches if not branch.is_empty]
        bounds: dict[int, OptimisticBound] = {}
        while left:
            branch = self._turn(self._eligible(left), bounds)
            try:
                if len(branch.history):
                    trial = branch.propose(n_asked)  # line 8
                else:  # all its points are pending, and no other branch has points left
                    trial = self._trial_of(branch, n_asked)
            except SpaceExhausted:
                left.remove(branch)
            else:
                # A single branch needs neither a promise nor a test.
                if branch.index in bounds:
                    with suppress(*NUMERICAL):
                        trial.width = bounds[branch.index].width(trial.x)
                return trial
        raise self._exhausted()

    def _eligible(self, left: list[Branch]) -> list[Branch]:
        """Return the branches to choose from, preferably survivors with values."""
        alive = [branch for branch in left if branch.index in self.balancer.state.alive]
        among = alive or left
        return [branch for branch in among if len(branch.history)] or among

    def _turn(self, among: list[Branch], bounds: dict[int, OptimisticBound]) -> Branch:
        """Return the branch for the next point, and add the bounds to `bounds`."""
        if not any(len(branch.history) for branch in among):
            return min(among, key=_fill)
        if len(among) == 1:
            return among[0]
        try:
            found = {branch.index: branch.optimistic_bound() for branch in among}
        except NUMERICAL as error:
            warn_of_failure(error)
            return min(among, key=_fill)
        bounds |= found
        chosen = self.balancer.choose(
            {i: bound.upper for i, bound in found.items()},
            max(bound.reached for bound in found.values()),
            [t.branch for t in self._trials.pending if t.metadata is not None],
            [branch.index for branch in among if branch.failing],
        )
        return self._branches[chosen]

    def learn(self, trial: Trial) -> None:
        """Update the balancer with an evaluated trial."""
        if len(self._branches) == 1 or trial.metadata is None:
            return
        values = self._trials.values
        z, _, scale = self._policy.targets(values)
        z = np.where(np.isfinite(values), z, np.nan)
        position = len(self._trials) - 1
        self.balancer.learn(trial.branch, position, trial.width, z, scale)


def _fill(branch: Branch) -> tuple[bool, float]:
    """Return a sort key: the fraction of its initial points that a branch has."""
    n = len(branch.history.trials)
    return n >= _LEAST, (n + 1) / branch.share


def check_feasible(branches: Sequence[Branch]) -> None:
    """Raise a ValueError if no branch has a feasible point."""
    if not all(branch.is_empty for branch in branches):
        return
    tried = sum(branch.design.n_tried for branch in branches)
    raise ValueError(
        "The 'constraints' of Optimizer must allow some point of the space. Got "
        f"none among {count(tried, 'point')} tried; loosen them, widen the space or "
        "give a feasible point in 'initial_params'."
    )
