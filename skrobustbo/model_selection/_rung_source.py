"""The candidates of a search with a resource: evaluations at rungs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from skrobustbo._trials import Trial
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.evaluation import ResourceAxis
from skrobustbo.model_selection._source import OptimizerSource

#: The label of evaluations of a candidate that was evaluated before, with less.
PROMOTED = "promoted"


class RungSource(OptimizerSource):
    """Evaluations of the candidates of an optimizer with a resource.

    Each evaluation has its own number, and its own row in `cv_results_`. The
    evaluations of a candidate have the same params.

    Parameters
    ----------
    *given
        The arguments of `OptimizerSource`. `n_iter` is the budget of the resource, in
        units of full evaluations.
    resource : ResourceAxis
        The resource.
    """

    def __init__(self, *given: Any, resource: ResourceAxis) -> None:
        super().__init__(*given)
        self.resource = resource
        #: For the number of each evaluation, the trial of the optimizer and the rung.
        self._candidates: dict[int, tuple[Trial, int]] = {}
        # At most: if all evaluations had the smallest amount.
        self.n_rounds = math.ceil(self._n_iter / self.optimizer._ladder.shares[0]) + 1

    @property
    def n_used(self) -> float:
        """The resource used by all evaluations so far, in units of full ones."""
        shares = self.optimizer._ladder.shares
        return sum(shares[rung] for _, rung in self._candidates.values())

    @property
    def n_planned(self) -> int:
        """The number of evaluations, if all further ones are full evaluations."""
        return len(self.trials) + len(self._in_flight) + self._n_left

    @property
    def _n_left(self) -> int:
        left = self._n_iter - self.n_used
        return max(0, math.ceil(round(left, 9)))

    def _ask(self, n: int) -> list[Trial]:
        trials: list[Trial] = []
        with self._timed(), suppress(SpaceExhausted):
            self.reason = "space_exhausted"
            while len(trials) < n:
                trials.append(self._evaluation(*self.optimizer._ask_rung()))
            self.reason = "n_iter"
        self._in_flight += trials
        return trials

    def _evaluation(self, candidate: Trial, rung: int) -> Trial:
        """Return a new evaluation of a candidate at a rung."""
        ladder, number = self.optimizer._ladder, len(self._candidates)
        prediction = candidate.label, candidate.mean, candidate.std
        if candidate.value is not None:
            prediction = PROMOTED, candidate.value, candidate.value_std
        self._candidates[number] = candidate, rung
        label, mean, std = prediction
        return Trial(
            *(candidate.params, candidate.x, candidate.branch, number, candidate.kind),
            *(label, candidate.length_scales, candidate.divisor, mean, std),
            resource=None if rung == ladder.top else ladder.amounts[rung],
        )

    def _added(self, trial: Trial) -> Trial:
        return self._evaluation(*self._candidate_of(trial))

    def _add_again(self, trial: Trial) -> None:
        self._candidates[trial.number] = self._candidate_of(trial)

    def _candidate_of(self, trial: Trial) -> tuple[Trial, int]:
        """Return the optimizer's trial of an earlier evaluation, and its rung."""
        placed, rung = self.optimizer._place(trial.params), self._rung(trial)
        return self.optimizer._add_earlier_rung(placed, rung), rung

    def _rung(self, trial: Trial) -> int:
        ladder = self.optimizer._ladder
        if trial.resource is None:
            return ladder.top
        return ladder.amounts.index(trial.resource)

    def _start_over(self) -> None:
        # The numbers of candidates that were asked in vain are free again.
        kept = {trial.number for trial in [*self.trials, *self._in_flight]}
        self._candidates = {n: c for n, c in self._candidates.items() if n in kept}
        super()._start_over()

    def _tell(self, trial: Trial) -> None:
        self._in_flight = [other for other in self._in_flight if other is not trial]
        self.trials.append(trial)
        mean, std = trial.estimate or (trial.mean_of_folds(self.metric), 0.0)
        candidate, rung = self._candidates[trial.number]
        self.optimizer._tell_rung(candidate, rung, mean, std)

    def columns(self) -> Mapping[str, Any]:
        """Return the columns of any search, and those about the resource."""
        full = self.optimizer._ladder.amounts[-1]
        return {
            **super().columns(),
            "iter": [self._rung(trial) for trial in self.trials],
            "n_resources": [trial.resource or full for trial in self.trials],
            "resource_score": [t.mean_of_folds(self.metric) for t in self.trials],
        }
