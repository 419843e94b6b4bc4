"""Where candidates come from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from skrobustbo._trials import FoldResult, Trial
from skrobustbo.evaluation._checks import real

Params = dict[str, Any]


def take_folds(trial: Trial, results: Iterable[FoldResult]) -> None:
    """Give a trial the results of its folds, with nan for scores without bounds.

    A score of plus infinity, otherwise, would be the best of all; so would scores that
    add up to more than the largest number.
    """
    trial.folds = [_bounded(result) for result in results]
    named = any(isinstance(fold["test_scores"], dict) for fold in trial.folds)
    names: list[Any] = trial.metrics if named else [None]
    for metric in names:
        finite = all(map(math.isfinite, trial.scores(metric)))
        if finite and math.isnan(trial.mean_score(metric)):
            trial.folds = [_without(metric, fold) for fold in trial.folds]


def _bounded(fold: FoldResult) -> FoldResult:
    scores = fold["test_scores"]
    if isinstance(scores, dict):
        bounded: Any = {name: real(score) for name, score in scores.items()}
    else:
        bounded = real(scores)
    return {**fold, "test_scores": bounded}


def _without(metric: str | None, fold: FoldResult) -> FoldResult:
    """Return a fold whose score of a metric is nan."""
    scores = fold["test_scores"]
    lost = {**scores, metric: math.nan} if isinstance(scores, dict) else math.nan
    return {**fold, "test_scores": lost}


class Source(Protocol):
    """What a search asks for candidates, round by round.

    Attributes
    ----------
    trials : list of Trial
        Those told so far.
    """

    trials: list[Trial]

    @property
    def n_planned(self) -> int:
        """Number of candidates there will be at most."""
        ...

    @property
    def n_rounds(self) -> int | None:
        """Number of rounds at most, None where all candidates are known beforehand."""
        ...

    def check(self, metrics: list[str]) -> None:
        """Raise a ValueError if the source cannot do with these metrics.

        There are none where a single one has no name. Called before the first fit, or
        after it if only then it is known what a callable scorer returns.
        """
        ...

    def next_round(self) -> list[Trial]:
        """Return the candidates to evaluate side by side; none when it is over.

        They are numbered from 0 on.
        """
        ...

    def tell(self, trial: Trial) -> None:
        """Take note of a candidate whose folds are known."""
        ...

    def progress(self) -> Mapping[str, Any]:
        """Return what callbacks are told of the search so far."""
        ...

    def columns(self) -> Mapping[str, Any]:
        """Return the columns to add to the table of results."""
        ...


class FixedSource:
    """Candidates that are all known beforehand, such as a grid.

    Parameters
    ----------
    candidates : iterable of dict
        The candidates.
    batch_size : int or None, default=None
        Candidates per round; all at once if None.
    """

    n_rounds: int | None = None

    def __init__(
        self, candidates: Iterable[Params], batch_size: int | None = None
    ) -> None:
        self.trials: list[Trial] = []
        self._left = [Trial(params, number=i) for i, params in enumerate(candidates)]
        self.n_planned = len(self._left)
        self._batch_size = batch_size or max(1, self.n_planned)

    def check(self, metrics: list[str]) -> None:
        """Accept any metrics."""

    def next_round(self) -> list[Trial]:
        """Return the next candidates of the list."""
        now, self._left = (
            self._left[: self._batch_size],
            self._left[self._batch_size :],
        )
        return now

    def tell(self, trial: Trial) -> None:
        """Keep the trial, and learn nothing."""
        self.trials.append(trial)

    def progress(self) -> Mapping[str, Any]:
        """Tell nothing."""
        return {}

    def columns(self) -> Mapping[str, Any]:
        """Add nothing."""
        return {}
