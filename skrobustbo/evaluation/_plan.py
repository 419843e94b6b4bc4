"""Plan which fold is fitted next, and when a candidate is finished."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from skrobustbo._trials import Done, Evaluation, FoldId
from skrobustbo.evaluation._folds import Fold
from skrobustbo.evaluation._racing import Estimate, Race, Races

#: Names of the schedules; see `Schedule.named`.
ScheduleName = Literal["rounds", "window", "free"]


@dataclass(frozen=True)
class Schedule:
    """Rules for when to ask the optimizer for candidates and tell it their values.

    Attributes
    ----------
    n_at_once : int, default=1
        Number of candidates in a batch, which are requested together.
    n_in_flight : int, default=1
        Number of batches evaluated at the same time.
    in_order : bool, default=True
        Whether to tell the optimizer about batches in the order in which they were
        requested, even if a later batch finishes first.
    racing : Races, default=None
        Rules for stopping candidates early. If None, every fold of every candidate is
        fitted.
    """

    n_at_once: int = 1
    n_in_flight: int = 1
    in_order: bool = True
    racing: Races | None = None

    @classmethod
    def named(cls, name: str, batch_size: int, racing: Races | None = None) -> Schedule:
        """Return the schedule with the given name."""
        n = int(batch_size)
        n_at_once, n_in_flight = (n, 1) if name == "rounds" else (1, n)
        return cls(n_at_once, n_in_flight, name != "free", racing)

    @property
    def is_live(self) -> bool:
        """Whether the next folds to fit depend on the results of other folds."""
        return self.n_in_flight > 1 or self.racing is not None

    @property
    def n_open(self) -> int | None:
        """Number of the latest batches that may be unfinished, or None for no limit."""
        return self.n_in_flight if self.in_order and self.racing is None else None


@dataclass(eq=False)
class Running:
    """A candidate that is being evaluated.

    Attributes
    ----------
    trial : Evaluation
        The candidate.
    folds : list of Fold
        The folds that must be fitted.
    known : list of (FoldId, FoldResult)
        Results of the other folds, taken from an earlier run.
    race : Race or None
        Stopping rule for the candidate. If None, all its folds are fitted.
    results : dict of int to FoldResult
        Results by split.
    errors : dict of int to Exception
        Exceptions by split. An exception is ignored if its fold is not needed.
    n_used : int
        Number of folds used so far. Folds are used in the order of the splits, and
        decisions depend only on these folds.
    is_over : bool
        Whether no more folds are needed.
    chance : float
        Probability that the candidate beats the best one so far; initially 1.
    estimate : (float, float) or None
        Expected mean score of a candidate that was stopped early, and its standard
        deviation.
    """

    trial: Evaluation
    folds: Sequence[Fold]
    known: Sequence[Done] = ()
    race: Race | None = None
    results: dict[int, Any] = field(default_factory=dict)
    errors: dict[int, Exception] = field(default_factory=dict)
    n_used: int = 0
    is_over: bool = False
    chance: float = 1.0
    estimate: Estimate | None = None

    @property
    def used(self) -> list[Any]:
        """The results of the folds used so far."""
        return [self.results[split] for split in range(self.n_used)]


@dataclass(eq=False)
class Batch:
    """Candidates that were requested together, and their callback task."""

    candidates: list[Running]
    task: Any = None

    @property
    def over(self) -> list[Running]:
        """The candidates that are finished."""
        return [candidate for candidate in self.candidates if candidate.is_over]


class Plan:
    """The running candidates and the folds that are waiting for a worker.

    Attributes
    ----------
    waiting : deque of Fold
        Folds to fit, with the most urgent fold first.
    """

    def __init__(
        self,
        schedule: Schedule,
        n_splits: int,
        ask: Callable[[], Batch | None],
        tell: Callable[[Batch], None],
    ) -> None:
        self._schedule, self._n_splits = schedule, n_splits
        self._ask, self._tell = ask, tell
        self.waiting: deque[Fold] = deque()
        self._is_last = False
        self._batches: list[Batch] = []
        self._candidates: dict[int, Running] = {}
        self._known: list[Done] = []

    def fill(self) -> bool:
        """Process finished batches and request new ones.

        Return whether any batches are left. A new batch is requested after each
        finished one, so the candidates depend on the order of the batches and not on
        the speed of individual folds.
        """
        while True:
            if not self._is_last and len(self._batches) < self._schedule.n_in_flight:
                batch = self._ask()
                self._is_last = batch is None
                if batch is not None:
                    self._add(batch)
            elif not (self._tell_next() or self._take_known()):
                return bool(self._batches)

    def take(self, key: FoldId, result: Any) -> bool:
        """Record the outcome of a fold and return whether its candidate is finished.

        The search must not depend on which fold finishes first. A result that arrives
        after its candidate has finished is therefore ignored. In a race, an exception
        is raised only after all earlier folds of the candidate have been used.
        """
        number, split = key
        candidate = self._candidates.get(number)
        if candidate is None or candidate.is_over:
            return False
        if isinstance(result, Exception):
            if self._schedule.racing is None:
                raise result
            candidate.errors[split] = result
        else:
            candidate.results[split] = result
        # Use the folds in order, up to the first missing one.
        while candidate.n_used in candidate.results and not candidate.is_over:
            candidate.n_used += 1
            candidate.is_over = self._is_over(candidate)
        if candidate.n_used in candidate.errors and not candidate.is_over:
            raise candidate.errors[candidate.n_used]
        if self._schedule.racing is not None:
            self._sort()
        return candidate.is_over

    def needs(self, fold: Fold) -> bool:
        """Return whether a fold is still needed."""
        candidate = self._candidates.get(fold.candidate)
        return candidate is not None and not candidate.is_over

    def finish(self) -> None:
        """Report the finished candidates, drop the others and end the search."""
        while self._batches:
            self._leave(self._batches[0])

    # Start and end of candidates ------------------------------------------------------

    def _add(self, batch: Batch) -> None:
        self._batches.append(batch)
        for candidate in batch.candidates:
            if (racing := self._racing_of(candidate)) is not None:
                candidate.race = racing.race(candidate.trial)
            self._candidates[candidate.trial.number] = candidate
            self._known += candidate.known
            self.waiting.extend(candidate.folds)
        if self._schedule.racing is not None:
            self._sort()

    def _take_known(self) -> bool:
        """Use the next result from an earlier run and return whether there was one."""
        if not self._known:
            return False
        first = min(self._known, key=lambda known: (known[1].turn, known[0]))
        self._known.remove(first)
        self.take(*first)
        return True

    def _tell_next(self) -> bool:
        """Report the next finished batch and return whether there was one."""
        in_turn = self._batches[:1] if self._schedule.in_order else self._batches
        for batch in in_turn:
            if all(candidate.is_over for candidate in batch.candidates):
                self._leave(batch)
                self._is_last = False  # the source may have more candidates now
                return True
        return False

    def _leave(self, batch: Batch) -> None:
        self._batches.remove(batch)
        for candidate in batch.candidates:
            del self._candidates[candidate.trial.number]
            if candidate.is_over:
                self._update_race(candidate)
        self._tell(batch)

    # Races ----------------------------------------------------------------------------

    def _racing_of(self, candidate: Running) -> Races | None:
        """Return the racing rules, or None if the candidate does not race."""
        return self._schedule.racing if candidate.trial.resource is None else None

    def _is_over(self, candidate: Running) -> bool:
        """Return whether a candidate is finished after the folds used so far."""
        racing, race = self._schedule.racing, candidate.race
        if racing is None or candidate.n_used == self._n_splits:
            return candidate.n_used == self._n_splits
        scores = [racing.score(result) for result in candidate.used]
        if math.isnan(scores[-1]):  # it has failed
            return True
        if race is None:
            return False
        candidate.chance = race.chance(scores)
        loses = candidate.chance <= race.allowance
        if loses:
            candidate.estimate = race.folds.estimate(scores)
        return loses

    def _update_race(self, candidate: Running) -> None:
        if (racing := self._racing_of(candidate)) is None:
            return
        if candidate.estimate is not None:
            racing.stopped(candidate.race, candidate.chance)
        else:
            scores = [racing.score(result) for result in candidate.used]
            racing.complete(candidate.race, scores)

    def _sort(self) -> None:
        """Sort the waiting folds by urgency when candidates race.

        The next fold of the candidate that is most likely to win comes first, followed
        by the first folds of new candidates. Folds that follow a missing result come
        last, because they may not be needed.
        """
        # A fold comes back when its worker dies; by then, its candidate may be
        # finished.
        needed = [fold for fold in self.waiting if self.needs(fold)]
        # In place, because the workers have a reference to it.
        self.waiting.clear()
        self.waiting.extend(sorted(needed, key=self._rank))

    def _rank(self, fold: Fold) -> tuple[int, bool, float, int]:
        candidate = self._candidates[fold.candidate]
        ahead, is_new = fold.split - candidate.n_used, not candidate.n_used
        return ahead, is_new, -candidate.chance, fold.candidate
