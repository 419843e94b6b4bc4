"""What the candidates of a search come from and go to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skrobustbo._trials import Trial
from skrobustbo.evaluation._flight import Candidate, Known
from skrobustbo.evaluation._folds import Fold


class SearchGround:
    """What the candidates of one `fit` come from and go to.

    Parameters
    ----------
    fit : _Fit
        The call of `fit`: what the folds share, where candidates come from.
    task : object
        Its search, as callbacks see it.
    """

    def __init__(self, fit: Any, task: Any) -> None:
        self._fit, self._task, self._n_asked = fit, task, 0

    def ask(self) -> list[Trial]:
        """Return the next candidates; none when it is over."""
        fit = self._fit
        if self._n_asked < fit.source.n_planned and fit.stops.over():
            return []
        trials: list[Trial] = fit.journal.next_round(fit.source)
        self._n_asked += len(trials)
        return trials

    def begin(self, trials: Sequence[Trial]) -> Any:
        """Return the task that callbacks see of some candidates."""
        fit = self._fit
        if fit.source.n_rounds is None:
            return self._task
        one_by_one = {"task_id": trials[0].number, "task_name": "candidate"}
        kind = {"task_name": "round"} if fit.in_rounds else one_by_one
        return self._task.subcontext(
            **kind,
            max_subtasks=len(trials) * len(fit.job.splits),
            sequential_subtasks=False,
        ).call_on_fit_task_begin(**fit.told(**fit.source.progress()))

    def folds(self, trial: Trial, task: Any) -> list[Fold]:
        """Return the folds of a candidate."""
        folds: list[Fold] = self._fit.folds(trial, task)
        return folds

    def known(self, trial: Trial) -> list[Known]:
        """Return results of an earlier run."""
        known: list[Known] = self._fit.journal.done(trial.number)
        for *_, result in known:
            self._fit.hear(result)
        return known

    def tell(self, candidate: Candidate) -> None:
        """Take note of a candidate that is over."""
        self._fit.tell(candidate)

    def end(self, task: Any) -> bool:
        """End a task; tell whether a callback asks to stop."""
        fit = self._fit
        if fit.source.n_rounds is None:
            return False
        told = fit.told(**fit.source.progress())
        return bool(task.call_on_fit_task_end(**told))
