"""The table of results, of candidates some of which have not run on every fold."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from skrobustbo._sklearn_compat import BaseSearchCV
from skrobustbo._trials import FoldResult, Trial


def results_of(
    search: BaseSearchCV, trials: Sequence[Trial], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `cv_results_`: scikit-learn's table, with more columns.

    Where a candidate has not run on every fold, scores of the others are nan, and so is
    its mean score, which is not known. Its times are those of the folds that ran.

    Parameters
    ----------
    search : BaseSearchCV
        Formats the table.
    trials : list of Trial
        The candidates, with their folds.
    columns : dict of str to list
        Columns to add.
    """
    n_splits = search.n_splits_
    params = [trial.params for trial in trials]
    folds = [fold for trial in trials for fold in _padded(trial.folds, n_splits)]
    with _no_warning_of_raced(trials):
        results: dict[str, Any] = search._format_results(
            params, n_splits, folds, columns
        )
    for i, trial in enumerate(trials):
        if len(trial.folds) < n_splits:
            for name in ("fit_time", "score_time"):
                seconds = [fold[name] for fold in trial.folds]
                results[f"mean_{name}"][i] = np.mean(seconds)
                results[f"std_{name}"][i] = np.std(seconds)
    return results


def _padded(folds: Sequence[FoldResult], n_splits: int) -> list[FoldResult]:
    """Return the results of all folds, with nan for those that did not run."""
    missing = n_splits - len(folds)
    return [*folds, *[_blank(folds[0])] * missing] if missing else list(folds)


def _blank(fold: FoldResult) -> FoldResult:
    blank: FoldResult = {"fit_time": math.nan, "score_time": math.nan}
    for kind in fold.keys() & {"test_scores", "train_scores"}:
        scores = fold[kind]
        several = isinstance(scores, dict)
        blank[kind] = dict.fromkeys(scores, math.nan) if several else math.nan
    return {**fold, **blank}


@contextmanager
def _no_warning_of_raced(trials: Sequence[Trial]) -> Iterator[None]:
    """Leave out the warning of scores that are nan if only races have made them so."""
    raced = any(trial.estimate is not None for trial in trials)
    complete = [fold for t in trials if t.estimate is None for fold in t.folds]
    with warnings.catch_warnings():
        if raced and all(map(_is_finite, complete)):
            warnings.filterwarnings("ignore", "One or more of the .* are non-finite")
        yield


def _is_finite(fold: FoldResult) -> bool:
    kinds = (fold[kind] for kind in fold.keys() & {"test_scores", "train_scores"})
    return all(
        math.isfinite(score)
        for scores in kinds
        for score in (scores.values() if isinstance(scores, dict) else [scores])
    )
