"""The initial design of a search: points given, then each branch's share."""

from __future__ import annotations

from collections.abc import Sequence

from skrobustbo._trials import Trial, Trials
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.optimizer._branch import Branch
from skrobustbo.space import Constraint, Space

#: Initial points of every branch, as far as the horizon allows.
_LEAST = 2


class InitialDesign:
    """The points asked before the model takes over.

    Parameters
    ----------
    branches : list of Branch
        The branches.
    trials : Trials
        The trials of all branches.
    first : list of Trial
        Points to ask first.
    n_points : int or None
        Points asked before the model takes over; None for the default.
    horizon : int or None
        Evaluations planned.

    Attributes
    ----------
    n_points : int
        Points asked before the model takes over, those given and those told included.
    """

    def __init__(
        self,
        branches: Sequence[Branch],
        trials: Trials,
        first: Sequence[Trial],
        n_points: int | None,
        horizon: int | None,
    ) -> None:
        self.first, self._branches, self._trials = first, branches, trials
        for trial in first:
            branches[trial.branch].design.add_known(trial.x)
        k = len(branches)
        self._least = _LEAST if horizon is None else min(_LEAST, horizon // k)
        self.n_points = self._n_points(n_points, horizon)

    def _n_points(self, given: int | None, horizon: int | None) -> int:
        k = len(self._branches)
        least = _LEAST * k if k > 1 else 1
        if given is None:
            given = sum(_share(branch.space) for branch in self._branches)
            if horizon is not None:
                given = max(1, min(given, horizon // 3))
        if horizon is not None:
            least = min(least, horizon)
        return max(len(self.first), given, least)

    def next_trial(self, n_asked: int) -> Trial | None:
        """Return the next point of the design, None if it is over.

        It goes on until a value is a number.
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
        """Whether every branch has its least share of points, or all that it has."""
        return len(self._branches) == 1 or all(
            branch.is_empty
            or len(branch.history.trials) >= min(self._least, branch.region.size)
            for branch in self._branches
        )

    def _from_sequence(self, n_asked: int) -> Trial:
        """Return a design point of the branch that is furthest from its share."""
        for i in sorted(range(len(self._branches)), key=self.fill):
            try:
                return self.trial_of(i, n_asked)
            except SpaceExhausted:
                continue
        raise self.exhausted()

    def fill(self, i: int) -> tuple[bool, float]:
        """Return how full a branch is, to be compared: the least comes first."""
        n = len(self._branches[i].history.trials)
        return n >= _LEAST, (n + 1) / _share(self._branches[i].space)

    def trial_of(self, i: int, n_asked: int) -> Trial:
        """Return the next design point of a branch; SpaceExhausted if none is left."""
        branch = self._branches[i]
        given = sum(trial.branch == i for trial in self.first)
        position = len(branch.history.trials) - given
        x = branch.initial_point(position, n_asked)
        return branch.trial(x, "initial")

    def exhausted(self) -> SpaceExhausted:
        """Return the error for a space of which all points have been asked."""
        size = sum(branch.region.size for branch in self._branches)
        return SpaceExhausted(
            f"All {size:.0f} points of the space have been proposed; widen the space "
            "to go on."
        )


def _share(space: Space) -> int:
    """Return the default number of initial points of one branch."""
    return max(3, 2 * len(space.groups) + 2)


def check_first(first: Sequence[Trial], constraint: Constraint | None) -> None:
    """Raise a ValueError if a point to ask first may not be asked."""
    for trial in first:
        if constraint is not None and not constraint(trial.params):
            raise ValueError(
                "The 'initial_params' of Optimizer must satisfy 'constraints'. Got "
                f"{trial.params!r}, which does not; change it or leave it out."
            )


def check_feasible(branches: Sequence[Branch]) -> None:
    """Raise a ValueError if no branch has a point that may be asked."""
    if not all(branch.is_empty for branch in branches):
        return
    tried = sum(branch.design.n_tried for branch in branches)
    raise ValueError(
        "The 'constraints' of Optimizer must allow some point of the space. Got "
        f"none among {tried} points tried; loosen them, widen the space or give a "
        "feasible point in 'initial_params'."
    )
