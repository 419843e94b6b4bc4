"""What the flight of candidates calls in a search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skrobustbo._trials import Evaluation
from skrobustbo.evaluation._flight import KnownResult, Running
from skrobustbo.evaluation._folds import Fold


class SearchHooks:
    """Asks for candidates, tells their results and runs callbacks, for one `fit`.

    Parameters
    ----------
    fit : _Fit
        The call of `fit`, with its data and its source of candidates.
    task : object
        The callback task of the search.
    """

    def __init__(self, fit: Any, task: Any) -> None:
        self._fit, self._task, self._n_asked = fit, task, 0

    def ask(self) -> list[Evaluation]:
        """Return the next candidates; an empty list at the end of the search."""
        fit = self._fit
        if self._n_asked < fit.source.n_planned and fit.stops.over():
            return []
        trials: list[Evaluation] = fit.journal.next_round(fit.source)
        self._n_asked += len(trials)
        return trials

    def begin(self, trials: Sequence[Evaluation]) -> Any:
        """Begin the callback task of a batch, and return it."""
        fit = self._fit
        if fit.source.n_rounds is None:
            return self._task
        one_by_one = {"task_id": trials[0].number, "task_name": "candidate"}
        kind = {"task_name": "round"} if fit.in_rounds else one_by_one
        return self._task.subcontext(
            **kind,
            max_subtasks=len(trials) * len(fit.job.splits),
            sequential_subtasks=False,
        ).call_on_fit_task_begin(**fit.callback_arguments(**fit.source.progress()))

    def folds(self, trial: Evaluation, task: Any) -> list[Fold]:
        """Return the folds of a candidate."""
        folds: list[Fold] = self._fit.folds(trial, task)
        return folds

    def known(self, trial: Evaluation) -> list[KnownResult]:
        """Return the results that an earlier run has of a candidate."""
        known: list[KnownResult] = self._fit.journal.folds_of(trial.number)
        for _, result in known:
            self._fit.learn_metrics(result)
        return known

    def tell(self, candidate: Running) -> None:
        """Tell the optimizer about a candidate that is over."""
        self._fit.tell(candidate)

    def end(self, task: Any) -> bool:
        """End a callback task; return whether a callback asks to stop the search."""
        fit = self._fit
        if fit.source.n_rounds is None:
            return False
        told = fit.callback_arguments(**fit.source.progress())
        return bool(task.call_on_fit_task_end(**told))
