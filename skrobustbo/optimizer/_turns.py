"""Which branch is asked next, and what is asked there."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from skrobustbo._trials import Trial, Trials
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.optimizer._balancer import BranchBalancer, OptimisticBound
from skrobustbo.optimizer._branch import Branch, warn_of_failure
from skrobustbo.optimizer._initial import InitialDesign
from skrobustbo.policies._base import Policy
from skrobustbo.surrogate._cholesky import NUMERICAL


class Turns:
    """The branches, as the balancer lets them take turns.

    Parameters
    ----------
    branches : list of Branch
        The branches.
    trials : Trials
        The trials of all branches.
    design : InitialDesign
        Has the points of branches without a model.
    policy : Policy
        How points are chosen.
    """

    def __init__(
        self,
        branches: Sequence[Branch],
        trials: Trials,
        design: InitialDesign,
        policy: Policy,
    ) -> None:
        self._branches, self._trials = branches, trials
        self._design, self._policy = design, policy
        # What may be asked twice may have changed, so no branch is given up for good.
        self.balancer = BranchBalancer(
            len(branches), policy.noise, eliminate=not policy.repeats
        )

    def propose(self, n_asked: int) -> Trial:
        """Return what the branch whose turn it is asks; SpaceExhausted at the end."""
        if len(self._branches) == 1:
            return self._branches[0].propose(n_asked)
        left = [i for i, branch in enumerate(self._branches) if not branch.is_empty]
        bounds: dict[int, OptimisticBound] = {}
        while left:
            i = self._turn(self._eligible(left), bounds)
            try:
                trial = self._proposed(i, n_asked)  # line 8
            except SpaceExhausted:
                left.remove(i)
            else:
                # Where a single branch is left there is no promise, nor a test.
                if i in bounds:
                    with suppress(*NUMERICAL):
                        trial.width = bounds[i].width(trial.x)
                return trial
        raise self._design.exhausted()

    def _proposed(self, i: int, n_asked: int) -> Trial:
        """Return what the policy asks in a branch; a design point while none is told.

        That happens where points are under way there, and the others are used up.
        """
        if not len(self._branches[i].history):
            return self._design.trial_of(i, n_asked)
        return self._branches[i].propose(n_asked)

    def _eligible(self, left: Sequence[int]) -> list[int]:
        """Return the branches to choose from: survivors with values, if there are."""
        alive = [i for i in left if i in self.balancer.state.alive]
        among = alive or list(left)
        return [i for i in among if len(self._branches[i].history)] or among

    def _turn(self, among: Sequence[int], bounds: dict[int, OptimisticBound]) -> int:
        """Return the branch to ask; its promise and those compared are noted."""
        if not any(len(self._branches[i].history) for i in among):
            return min(among, key=self._design.fill)
        if len(among) == 1:
            return among[0]
        try:
            return self._balanced(among, bounds)
        except NUMERICAL as error:
            warn_of_failure(error)
            return min(among, key=self._design.fill)

    def _balanced(
        self, among: Sequence[int], bounds: dict[int, OptimisticBound]
    ) -> int:
        """Return the branch whose turn it is, going by what each promises."""
        bounds |= {i: self._branches[i].optimistic_bound() for i in among}
        pending = [t.branch for t in self._trials.pending if t.metadata is not None]
        return self.balancer.choose(
            {i: bounds[i].upper for i in among},
            max(bounds[i].reached for i in among),
            pending,
            [i for i in among if self._branches[i].failing],
        )

    def learn(self, trial: Trial) -> None:
        """Credit a trial that has just been told to its branch."""
        if len(self._branches) == 1 or trial.metadata is None:
            return
        values = self._trials.values
        z, _, scale = self._policy.targets(values)
        z = np.where(np.isfinite(values), z, np.nan)
        position = len(self._trials) - 1
        self.balancer.learn(trial.branch, position, trial.width, z, scale)
