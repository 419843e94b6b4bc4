"""Candidates in flight: which folds are to be fitted, and when each is told."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from skrobustbo._trials import FoldId, FoldResult, Trial
from skrobustbo.evaluation._folds import Fold
from skrobustbo.evaluation._racing import Estimate, Race, Racing

#: The turn of a result among all, where that matters; its fold; the result.
Known = tuple[int, FoldId, FoldResult]


@dataclass(frozen=True)
class Schedule:
    """When candidates are asked for and told.

    Attributes
    ----------
    n_in_flight : int, default=1
        Groups of candidates that are evaluated side by side; what is asked for at once
        is a group.
    in_order : bool, default=True
        Whether groups are told in the order asked, whichever is finished first.
    racing : Racing, default=None
        Stops candidates that cannot win; None: all folds of all candidates are fitted.
    """

    n_in_flight: int = 1
    in_order: bool = True
    racing: Racing | None = None

    @property
    def is_live(self) -> bool:
        """Whether it depends on results which folds are to be fitted next."""
        return self.n_in_flight > 1 or self.racing is not None

    @property
    def n_open(self) -> int | None:
        """Groups, the last ones asked, that may be unfinished; None for any."""
        return self.n_in_flight if self.in_order and self.racing is None else None


@dataclass(eq=False)
class Candidate:
    """A candidate in flight.

    Attributes
    ----------
    trial : Trial
        The candidate.
    race : Race or None
        None if it is not raced.
    results : dict of int to dict
        Results by split.
    errors : dict of int to Exception
        What folds raised, by split, while they were not known to be needed.
    n_used : int
        Folds, the first ones, that have been looked at: what is decided depends on no
        others.
    is_over : bool
        Whether no more folds are needed.
    chance : float
        Probability that it beats the best, after its latest fold; 1 before.
    estimate : (float, float) or None
        What its folds let expect of its score, if it was stopped.
    """

    trial: Trial
    race: Race | None
    results: dict[int, FoldResult] = field(default_factory=dict)
    errors: dict[int, Exception] = field(default_factory=dict)
    n_used: int = 0
    is_over: bool = False
    chance: float = 1.0
    estimate: Estimate | None = None

    @property
    def folds(self) -> list[FoldResult]:
        """The results that count."""
        return [self.results[split] for split in range(self.n_used)]


@dataclass(eq=False)
class Group:
    """Candidates asked for at once, and the task of theirs that callbacks see."""

    candidates: list[Candidate]
    task: Any

    @property
    def is_over(self) -> bool:
        """Whether all are."""
        return all(candidate.is_over for candidate in self.candidates)


class Ground(Protocol):
    """What candidates come from and go to."""

    def ask(self) -> list[Trial]:
        """Return the next candidates; none when it is over."""
        ...

    def begin(self, trials: Sequence[Trial]) -> Any:
        """Return the task that callbacks see of some candidates."""
        ...

    def folds(self, trial: Trial, task: Any) -> list[Fold]:
        """Return the folds of a candidate."""
        ...

    def known(self, trial: Trial) -> list[Known]:
        """Return results of an earlier run, each with its turn."""
        ...

    def tell(self, candidate: Candidate) -> None:
        """Take note of a candidate that is over."""
        ...

    def end(self, task: Any) -> bool:
        """End a task; tell whether a callback asks to stop."""
        ...


class Flight:
    """The candidates in flight.

    Parameters
    ----------
    ground : Ground
        What candidates come from and go to.
    schedule : Schedule
        When they are asked for and told.
    n_splits : int
        Folds of a candidate.

    Attributes
    ----------
    waiting : deque of Fold
        Folds to be fitted, the first one first.
    is_stopped : bool
        Whether a callback asked to stop.
    """

    def __init__(self, ground: Ground, schedule: Schedule, n_splits: int) -> None:
        self._ground, self._schedule, self._n_splits = ground, schedule, n_splits
        self.waiting: deque[Fold] = deque()
        self.is_stopped = self._is_last = False
        self._groups: list[Group] = []
        self._candidates: dict[int, Candidate] = {}
        self._known: list[Known] = []

    def fill(self) -> bool:
        """Tell what is over and ask for more; tell whether any are in flight.

        One group is told at a time, and the next is asked for before another is told:
        what is asked depends on the order of the groups, not on what was faster.
        """
        while True:
            if not self._is_full:
                trials = self._ground.ask()
                self._is_last = not trials
                self._add(trials)
            elif not (self._tell_next() or self._take_known()):
                return bool(self._groups)

    @property
    def _is_full(self) -> bool:
        ended = self.is_stopped or self._is_last
        return ended or len(self._groups) >= self._schedule.n_in_flight

    def _add(self, trials: Sequence[Trial]) -> None:
        """Take up a group, if there is one."""
        if not trials:
            return
        task = self._ground.begin(trials)
        group = Group([Candidate(trial, self._race(trial)) for trial in trials], task)
        self._groups.append(group)
        for candidate in group.candidates:
            trial = candidate.trial
            self._candidates[trial.number] = candidate
            known = self._ground.known(trial)
            self._known += known
            keys = {key for _, key, _ in known}
            folds = self._ground.folds(trial, task)
            self.waiting.extend(fold for fold in folds if fold.key not in keys)
        self._sort()

    def _take_known(self) -> bool:
        """Take what an earlier run has, in its order; tell whether there was any."""
        if not self._known:
            return False
        first = min(self._known, key=lambda known: known[:2])
        self._known.remove(first)
        self.take(*first[1:])
        return True

    def _race(self, trial: Trial) -> Race | None:
        racing = self._racing_of(trial)
        return None if racing is None else racing.race(trial)

    def _racing_of(self, trial: Trial) -> Racing | None:
        """Return the races that a candidate is in: those of full evaluations."""
        return self._schedule.racing if trial.resource is None else None

    def take(self, key: FoldId, result: FoldResult | Exception) -> None:
        """Take the result of a fold, or what it raised.

        A fold that comes after the end of its candidate is used nowhere, and what it
        raised in a race waits for the folds before it: nothing depends on what was
        faster.
        """
        number, split = key
        candidate = self._candidates.get(number)
        if candidate is None or candidate.is_over:
            return
        if isinstance(result, Exception):
            if self._schedule.racing is None:
                raise result
            candidate.errors[split] = result
        else:
            candidate.results[split] = result
            self._look_at(candidate)
        if candidate.n_used in candidate.errors and not candidate.is_over:
            raise candidate.errors[candidate.n_used]
        self._sort()

    def _look_at(self, candidate: Candidate) -> None:
        """Look at the folds of a candidate, in their order, until one is missing."""
        while candidate.n_used in candidate.results:
            candidate.n_used += 1
            if self._is_over(candidate):
                candidate.is_over = True
                self._drop(candidate.trial.number)
                break

    def _is_over(self, candidate: Candidate) -> bool:
        """Tell whether a candidate is over after one more of its folds."""
        racing, race = self._schedule.racing, candidate.race
        if racing is None or candidate.n_used == self._n_splits:
            return candidate.n_used == self._n_splits
        scores = [racing.score(result) for result in candidate.folds]
        if math.isnan(scores[-1]):  # it has failed
            return True
        if race is None:
            return False
        candidate.chance = race.chance(scores)
        loses = candidate.chance <= race.allowance
        if loses:
            candidate.estimate = race.folds.estimate(scores)
        return loses

    def _drop(self, number: int) -> None:
        """Take the folds of a candidate that is over from those that wait."""
        kept = [fold for fold in self.waiting if fold.candidate != number]
        self._replace(kept)

    def _replace(self, folds: Sequence[Fold]) -> None:
        # In place, as the workers look at it.
        self.waiting.clear()
        self.waiting.extend(folds)

    def _sort(self) -> None:
        """Put the fold first that matters most; without races, the order stays.

        That is the next one of the candidate most likely to win, then the first ones
        of new candidates. Folds that come after one that is not known yet may turn out
        not to be needed, and come last.
        """
        if self._schedule.racing is None:
            return
        # A fold comes back when its worker dies; its candidate may be over by then.
        needed = [fold for fold in self.waiting if self.needs(fold)]
        self._replace(sorted(needed, key=self._rank))

    def needs(self, fold: Fold) -> bool:
        """Tell whether the candidate of a fold is still in flight and not over."""
        candidate = self._candidates.get(fold.candidate)
        return candidate is not None and not candidate.is_over

    def _rank(self, fold: Fold) -> tuple[int, bool, float, int]:
        candidate = self._candidates[fold.candidate]
        ahead, is_new = fold.split - candidate.n_used, not candidate.n_used
        return ahead, is_new, -candidate.chance, fold.candidate

    # Telling --------------------------------------------------------------------------

    def _tell_next(self) -> bool:
        """Tell a group that is over and has the turn; tell whether there was one."""
        in_turn = self._groups[:1] if self._schedule.in_order else self._groups
        group = next((group for group in in_turn if group.is_over), None)
        if group is None:
            return False
        self._groups.remove(group)
        self._tell(group)
        self._is_last = False  # there may be more to ask now
        return True

    def _tell(self, group: Group) -> None:
        for candidate in group.candidates:
            if candidate.is_over:  # the end may have come first
                self._note(candidate)
                self._ground.tell(candidate)
            del self._candidates[candidate.trial.number]
        self.is_stopped |= self._ground.end(group.task)

    def _note(self, candidate: Candidate) -> None:
        if (racing := self._racing_of(candidate.trial)) is None:
            return
        if candidate.estimate is not None:
            racing.stopped(candidate.race, candidate.chance)
        else:
            scores = [racing.score(result) for result in candidate.folds]
            racing.complete(candidate.race, scores)

    def land(self) -> None:
        """Tell what is over, in the order asked, and leave the rest: it is the end."""
        groups, self._groups = self._groups, []
        for group in groups:
            self._tell(group)
