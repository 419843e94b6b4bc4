"""Running candidates: folds on joblib, failures, one table of results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from threadpoolctl import threadpool_limits

from skrobustbo._sklearn_compat import (
    fit_and_score,
    insert_error_scores,
    warn_or_raise_about_fit_failures,
)

Params = dict[str, Any]
FoldResult = dict[str, Any]


@dataclass
class Evaluator:
    """Evaluates candidates on splits drawn once, and keeps what came out.

    Parameters
    ----------
    estimator : estimator
        Cloned for every fold.
    X, y : array-like
        The data.
    splits : list of (train, test)
        The folds of every candidate.
    settings : dict
        Arguments of the fit of one fold that do not change.
    metric : str or None
        The metric to be searched for where there are several.
    n_planned : int
        Candidates planned, for the progress that verbose fits print.
    """

    estimator: BaseEstimator
    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    settings: dict[str, Any]
    metric: str | None
    n_planned: int
    candidates: list[Params] = field(default_factory=list)
    results: list[FoldResult] = field(default_factory=list)

    def evaluate(self, params: Params, parallel: Parallel) -> float:
        """Fit and score one candidate on all folds; return its mean test score.

        The score is nan if a fold failed and `error_score` is nan.
        """
        progress = (len(self.candidates), self.n_planned)
        folds = parallel(
            delayed(_fit_fold)(
                clone(self.estimator),
                self.X,
                self.y,
                train=train,
                test=test,
                parameters=params,
                split_progress=(i, len(self.splits)),
                candidate_progress=progress,
                **self.settings,
            )
            for i, (train, test) in enumerate(self.splits)
        )
        self.candidates.append(params)
        self.results.extend(folds)
        return float(np.mean([self._score(fold) for fold in folds]))

    def _score(self, fold: FoldResult) -> float:
        """Return the score of one fold that the search maximises."""
        scores = fold["test_scores"]
        if not isinstance(scores, dict):
            return float(scores)
        if self.metric not in scores:
            raise ValueError(
                f"With the metrics {sorted(scores)}, 'refit' must be the name of the "
                f"one to search for. Got refit={self.metric!r} instead."
            )
        return float(scores[self.metric])

    @property
    def last_error(self) -> str | None:
        """Last line of the traceback of the latest failed fit, None without one."""
        for fold in reversed(self.results):
            if fold["fit_error"] is not None:
                return str(fold["fit_error"]).strip().splitlines()[-1]
        return None

    @property
    def all_fits_failed(self) -> bool:
        """Whether not one fit has succeeded."""
        return all(fold["fit_error"] is not None for fold in self.results)

    @property
    def any_finite(self) -> bool:
        """Whether any fold has a finite score."""
        return any(math.isfinite(self._score(fold)) for fold in self.results)

    def report_failures(self, error_score: Any, scoring: Any) -> None:
        """Warn of failed fits, once for the whole search, with counts."""
        warn_or_raise_about_fit_failures(self.results, error_score)
        if callable(scoring):  # what it returns is known only now
            insert_error_scores(self.results, error_score)


def _fit_fold(*args: Any, **kwargs: Any) -> FoldResult:
    """Fit and score one fold with one inner thread.

    The limit is the same for every number of jobs, so that scores are, too; the cores
    are used by the folds.
    """
    with threadpool_limits(limits=1):
        result: FoldResult = fit_and_score(*args, **kwargs)
    return result
