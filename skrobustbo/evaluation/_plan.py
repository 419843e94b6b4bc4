"""The plan of a search: which fold is next, and when a candidate is finished."""

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
    """Decides when to ask the optimizer for candidates and tell it their values.

    Attributes
    ----------
    n_at_once : int, default=1
        Number of candidates requested at once. They form a batch.
    n_in_flight : int, default=1
        Number of batches evaluated at the same time.
    in_order : bool, default=True
        Whether to pass on batches in the order requested, even if a later one finishes
        first.
    racing : Races, default=None
        Stops candidates that cannot win. None: every fold of every candidate is fitted.
    """

    n_at_once: int = 1
    n_in_flight: int = 1
    in_order: bool = True
    racing: Races | None = None

    @classmethod
    def named(cls, name: str, batch_size: int, racing: Races | None = None) -> Schedule:
        """Return a schedule by name."""
        n = int(batch_size)
        n_at_once, n_in_flight = (n, 1) if name == "rounds" else (1, n)
        return cls(n_at_once, n_in_flight, name != "free", racing)

    @property
    def is_live(self) -> bool:
        """Whether the next folds to fit depend on results of other folds."""
        return self.n_in_flight > 1 or self.racing is not None

    @property
    def n_open(self) -> int | None:
        """Number of the latest batches that may be unfinished; None for any number."""
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
        The candidate's race; None to fit all its folds.
    results : dict of int to FoldResult
        Results by split.
    errors : dict of int to Exception
        Exceptions by split, for folds that may not be needed.
    n_used : int
        Number of folds used so far, in the order of the splits. Decisions depend only
        on these folds.
    is_over : bool
        Whether no more folds are needed.
    chance : float
        Probability that the candidate beats the best one; initially 1.
    estimate : (float, float) or None
        The expected mean score of a stopped candidate, and its standard deviation.
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
    """The candidates of one request, and their task in scikit-learn's callbacks."""

    candidates: list[Running]
    task: Any = None

    @property
    def over(self) -> list[Running]:
        """The finished candidates; a search may end before all are finished."""
        return [candidate for candidate in self.candidates if candidate.is_over]


class Plan:
    """The running candidates, and the folds that wait for a worker.

    Attributes
    ----------
    waiting : deque of Fold
        Folds to fit, the most urgent first.
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
        """Pass on finished batches and request new ones; return whether any are left.

        A new batch is requested after each finished one, so the candidates depend on
        the order of the batches, and not on which fold was faster.
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
        """Take the outcome of a fold; return whether its candidate is finished.

        Results must not depend on which fold was faster. A fold that arrives after its
        candidate has finished is therefore ignored, and an exception in a race is
        raised only after all earlier folds of the candidate.
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
        if candidate.is_over:
            self._replace([fold for fold in self.waiting if fold.candidate != number])
        if self._schedule.racing is not None:
            self._sort()
        return candidate.is_over

    def needs(self, fold: Fold) -> bool:
        """Return whether a fold's candidate still needs it."""
        candidate = self._candidates.get(fold.candidate)
        return candidate is not None and not candidate.is_over

    def finish(self) -> None:
        """End the search: pass on the finished candidates and drop the others."""
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
        """Use the next result from an earlier run; return whether there was one."""
        if not self._known:
            return False
        first = min(self._known, key=lambda known: (known[1].turn, known[0]))
        self._known.remove(first)
        self.take(*first)
        return True

    def _tell_next(self) -> bool:
        """Pass on the next finished batch; return whether there was one."""
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
        """Return the racing rules; None for evaluations with part of the resource."""
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
        """Sort the waiting folds of races by urgency.

        First comes the next fold of the candidate that is most likely to win, then the
        first folds of new candidates. Folds after an unknown result come last, because
        they may not be needed.
        """
        # A fold comes back when its worker dies; by then, its candidate may be
        # finished.
        needed = [fold for fold in self.waiting if self.needs(fold)]
        self._replace(sorted(needed, key=self._rank))

    def _rank(self, fold: Fold) -> tuple[int, bool, float, int]:
        candidate = self._candidates[fold.candidate]
        ahead, is_new = fold.split - candidate.n_used, not candidate.n_used
        return ahead, is_new, -candidate.chance, fold.candidate

    def _replace(self, folds: Sequence[Fold]) -> None:
        # In place, because the workers have a reference to it.
        self.waiting.clear()
        self.waiting.extend(folds)
