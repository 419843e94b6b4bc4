"""Build the table of results, including partly evaluated candidates."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from skrobustbo._sklearn_compat import BaseSearchCV
from skrobustbo._trials import Evaluation, FoldResult


def results_of(
    search: BaseSearchCV, trials: Sequence[Evaluation], columns: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `cv_results_`: scikit-learn's table with additional columns.

    If some folds of a candidate did not run, their scores and the mean score are nan,
    and the mean times cover only the folds that ran. The mean score is also nan if the
    folds used only part of the resource.
    """
    n_splits = search.n_splits_
    params = [trial.params for trial in trials]
    folds = [fold for trial in trials for fold in _counted(trial, n_splits)]
    with _no_warning_of_partial(trials):
        results: dict[str, Any] = search._format_results(
            params, n_splits, folds, columns
        )
    for i, trial in enumerate(trials):
        if len(trial.folds) < n_splits:
            for name in ("fit_time", "score_time"):
                seconds = [getattr(fold, name) for fold in trial.folds]
                results[f"mean_{name}"][i] = np.mean(seconds)
                results[f"std_{name}"][i] = np.std(seconds)
        if trial.resource is not None:
            _fill(results, i, trial.folds)
    _rank_in_part(results, trials)
    if all(trial.resource is not None for trial in trials):
        warnings.warn(
            "The search ended before any candidate was evaluated with the full "
            "resource: 'best_params_' are the best of those with the largest part of "
            "it, and 'best_score_' is nan. Continue with 'resume'.",
            UserWarning,
            stacklevel=7,
        )
    return results


def _rank_in_part(results: dict[str, Any], trials: Sequence[Evaluation]) -> None:
    """Rank full evaluations above partial ones, even if all of them failed.

    If there is no mean score, scikit-learn ranks all rows first. If the search ended
    before the first full evaluation, candidates are ranked by the amount of the
    resource and then by score.
    """
    in_part = np.array([trial.resource is not None for trial in trials])
    for name in [name for name in results if name.startswith("rank_test_")]:
        metric = name.removeprefix("rank_test_")
        if in_part.all():
            results[name] = _ranks_in_part(trials, metric)
        elif in_part.any() and np.isnan(results[f"mean_test_{metric}"]).all():
            results[name][in_part] = np.sum(~in_part) + 1


def _ranks_in_part(trials: Sequence[Evaluation], metric: str) -> NDArray[np.int32]:
    scores = np.nan_to_num([t.mean_of_folds(metric) for t in trials], nan=-np.inf)
    amounts = np.array([trial.resource for trial in trials], dtype=float)
    keys = np.column_stack([amounts, scores])
    _, place = np.unique(keys, axis=0, return_inverse=True)
    return rankdata(-place.ravel(), method="min").astype(np.int32)


def _fill(results: dict[str, Any], i: int, folds: Sequence[FoldResult]) -> None:
    """Fill in the scores of individual folds, but not their mean."""
    for k, fold in enumerate(folds):
        for which, scores in (("test", fold.test_scores), ("train", fold.train_scores)):
            for name, score in (scores or {}).items():
                results[f"split{k}_{which}_{name or 'score'}"][i] = score


def _counted(trial: Evaluation, n_splits: int) -> list[dict[str, Any]]:
    """Return the results of all folds in scikit-learn's format.

    Scores that must not enter the mean are nan.
    """
    n_missing, in_part = n_splits - len(trial.folds), trial.resource is not None
    folds = [_formatted(fold, blank=in_part) for fold in trial.folds]
    if n_missing:
        nothing = {"fit_time": math.nan, "score_time": math.nan}
        folds += [{**_formatted(trial.folds[0], blank=True), **nothing}] * n_missing
    return folds


def _formatted(fold: FoldResult, *, blank: bool) -> dict[str, Any]:
    found = vars(fold).copy()
    for kind in ("test_scores", "train_scores"):
        scores = found.pop(kind)
        if scores is not None:
            named = {name or "score": score for name, score in scores.items()}
            found[kind] = dict.fromkeys(named, math.nan) if blank else named
    return found


@contextmanager
def _no_warning_of_partial(trials: Sequence[Evaluation]) -> Iterator[None]:
    """Suppress warnings about nan scores if only partial evaluations cause them."""
    partial = any(trial.is_partial for trial in trials)
    complete = [fold for t in trials if not t.is_partial for fold in t.folds]
    with warnings.catch_warnings():
        if partial and all(map(_is_finite, complete)):
            warnings.filterwarnings("ignore", "One or more of the .* are non-finite")
        yield


def _is_finite(fold: FoldResult) -> bool:
    scores = [*fold.test_scores.values(), *(fold.train_scores or {}).values()]
    return all(map(math.isfinite, scores))
