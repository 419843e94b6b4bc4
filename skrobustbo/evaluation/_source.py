"""Where candidates come from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from skrobustbo.evaluation._checks import real

Params = dict[str, Any]
FoldResult = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """A candidate and what came out of its folds.

    Attributes
    ----------
    params : dict
        The candidate.
    folds : list of dict
        For each fold, what scikit-learn notes of a fit: `test_scores` (a number, or a
        dict of several metrics), `fit_error` (a traceback or None), `fit_time`,
        `score_time` (seconds) and, if asked for, `train_scores`.
    """

    params: Params
    folds: Sequence[FoldResult]

    @classmethod
    def of(cls, params: Params, folds: Iterable[FoldResult]) -> Self:
        """Return an outcome in which scores without bounds are nan.

        A score of plus infinity, otherwise, would be the best of all; so would scores
        that add up to more than the largest number.
        """
        outcome = cls(params, [_bounded(fold) for fold in folds])
        named = any(isinstance(fold["test_scores"], dict) for fold in outcome.folds)
        names: list[Any] = outcome.metrics if named else [None]
        for metric in names:
            scores = outcome.scores(metric)
            if all(map(math.isfinite, scores)) and math.isinf(_mean(scores)):
                outcome = cls(params, [_without(metric, f) for f in outcome.folds])
        return outcome

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics; none if there is a single one."""
        found = [fold["test_scores"] for fold in self.folds]
        return next((list(s) for s in found if isinstance(s, dict)), [])

    def scores(self, metric: str | None) -> list[float]:
        """Return the test score of each fold.

        Where a callable scorer returns several metrics, a failed fit has one number.
        """
        found = [fold["test_scores"] for fold in self.folds]
        return [float(s[metric] if isinstance(s, dict) else s) for s in found]

    def mean(self, metric: str | None) -> float:
        """Return the mean test score, nan if one is not finite."""
        mean = _mean(self.scores(metric))
        return mean if math.isfinite(mean) else math.nan

    @property
    def errors(self) -> list[str]:
        """Tracebacks of the failed fits."""
        return [fold["fit_error"] for fold in self.folds if fold["fit_error"]]


def _bounded(fold: FoldResult) -> FoldResult:
    scores = fold["test_scores"]
    if isinstance(scores, dict):
        bounded: Any = {name: real(score) for name, score in scores.items()}
    else:
        bounded = real(scores)
    return {**fold, "test_scores": bounded}


def _mean(scores: Sequence[float]) -> float:
    with np.errstate(over="ignore"):
        return float(np.mean(scores))


def _without(metric: str | None, fold: FoldResult) -> FoldResult:
    """Return a fold whose score of a metric is nan."""
    scores = fold["test_scores"]
    lost = {**scores, metric: math.nan} if isinstance(scores, dict) else math.nan
    return {**fold, "test_scores": lost}


class Source(Protocol):
    """What a search asks for candidates, round by round."""

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

    def next_round(self) -> list[Params]:
        """Return the candidates to evaluate side by side; none when it is over."""
        ...

    def tell(self, outcome: Outcome) -> None:
        """Take note of the outcome of a candidate."""
        ...

    def progress(self) -> Mapping[str, Any]:
        """Return what callbacks are told of the search so far."""
        ...

    def columns(self, candidates: Sequence[Params]) -> Mapping[str, Any]:
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
        self._left = list(candidates)
        self.n_planned = len(self._left)
        self._batch_size = batch_size or max(1, self.n_planned)

    def check(self, metrics: list[str]) -> None:
        """Accept any metrics."""

    def next_round(self) -> list[Params]:
        """Return the next candidates of the list."""
        now, self._left = (
            self._left[: self._batch_size],
            self._left[self._batch_size :],
        )
        return now

    def tell(self, outcome: Outcome) -> None:
        """Learn nothing."""

    def progress(self) -> Mapping[str, Any]:
        """Tell nothing."""
        return {}

    def columns(self, candidates: Sequence[Params]) -> Mapping[str, Any]:
        """Add nothing."""
        return {}
