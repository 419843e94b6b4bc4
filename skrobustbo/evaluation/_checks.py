"""Checks of what a search is given besides params: splits, weights, scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from skrobustbo._sklearn_compat import NO_FITS, OTHER_SPLITS, num_samples
from skrobustbo._trials import Evaluation, FoldResult


def checked_cv(cv: Any, owner: str) -> Any:
    """Return `cv`, an iterable of splits as a list; ValueError unless of pairs."""
    if hasattr(cv, "get_n_splits") or not isinstance(cv, Iterable):
        return cv
    splits = list(cv)
    for split in splits:
        if not isinstance(split, Sequence | np.ndarray) or len(split) != 2:
            raise ValueError(
                f"The 'cv' of {owner} must hold pairs of training and test rows. Got "
                f"{_kind(split)} in it instead; write (train, test) for each split."
            )
    return splits


def check_splits(
    splits: Sequence[tuple[Any, Any]], n_splits: int, n_samples: int, owner: str
) -> None:
    """Raise a ValueError unless there are splits of the data, as many as announced."""
    if not splits:
        raise ValueError(NO_FITS)
    if len(splits) != n_splits:
        raise ValueError(
            f"{OTHER_SPLITS} Expected {n_splits} splits, got {len(splits)}"
        )
    _check_rows(splits, n_samples, owner)


def _check_rows(splits: Iterable[tuple[Any, Any]], n_samples: int, owner: str) -> None:
    """Raise a ValueError for a split that is not of rows of the data."""
    for split in splits:
        for rows in map(np.asarray, split):
            if not _are_rows(rows, n_samples):
                raise ValueError(
                    f"The 'cv' of {owner} must give numbers of rows of the data, from "
                    f"0 to {n_samples - 1}, or one True or False for each. Got "
                    f"{_kind(rows)} instead; draw the splits from these data."
                )


def _kind(value: Any) -> str:
    """Return what kind of value it is: row numbers in full, what may be data not."""
    if isinstance(value, np.ndarray):
        of_rows = value.dtype.kind in "iub" or not value.size
        return repr(value) if of_rows else f"an array of {value.dtype}"
    size = f" of {len(value)} items" if hasattr(value, "__len__") else ""
    return f"a {type(value).__name__}{size}"


def _are_rows(rows: Any, n: int) -> bool:
    if rows.ndim != 1:
        return False
    if rows.dtype.kind == "b":
        return len(rows) == n
    whole = rows.dtype.kind in "iu" or not len(rows)
    return whole and bool(np.all((rows >= -n) & (rows < n)))


def check_weights(params: Mapping[str, Any], n_samples: int) -> None:
    """Raise a ValueError for weights of other than the data."""
    weights = params.get("sample_weight")
    if weights is None or not np.ndim(weights):
        return
    if num_samples(weights) != n_samples:
        raise ValueError(
            f"The 'sample_weight' passed to fit must have one number for each of the "
            f"{n_samples} samples. Got {num_samples(weights)} instead."
        )


def real(score: Any, owner: str = "a search") -> Any:
    """Return a score, nan for an infinite one; ValueError unless it is real."""
    try:
        return math.nan if math.isinf(score) else score
    except (TypeError, OverflowError):
        raise ValueError(
            f"The 'scoring' of {owner} must return real numbers in the range of "
            f"floats. Got {score!r} instead."
        ) from None


def check_scores(fold: FoldResult, owner: str) -> None:
    """Raise a ValueError if a score is none that may be kept."""
    for kind in fold.keys() & {"test_scores", "train_scores"}:
        scores = fold[kind]
        for score in scores.values() if isinstance(scores, dict) else [scores]:
            real(score, owner)


def in_form(fold: FoldResult, metrics: Sequence[str] | None) -> FoldResult:
    """Return a fold whose seconds are not negative and whose metrics are in order.

    The system's clock may be set back during a fit. A callable scorer may return its
    metrics in another order each time; they take that of `metrics`, if they are those.
    """
    formed = dict(fold)
    for kind in ("fit_time", "score_time"):
        if fold[kind] < 0:
            formed[kind] = 0.0
    for kind in fold.keys() & {"test_scores", "train_scores"}:
        scores = fold[kind]
        if metrics and isinstance(scores, dict) and scores.keys() == set(metrics):
            formed[kind] = {name: scores[name] for name in metrics}
    return formed


def returned(fold: FoldResult, error_score: Any) -> list[str] | None:
    """Return the names of a fold's metrics: none for a single one, None if it failed.

    A callable that fails to score has given nothing but `error_score`, too.
    """
    scores = fold["test_scores"]
    if fold["fit_error"]:
        return None
    if isinstance(scores, dict):
        if not scores or not all(isinstance(name, str) for name in scores):
            raise ValueError(
                "The 'scoring' of a search must return a number, or a dict of one or "
                f"more names and numbers. Got {scores!r} instead."
            )
        return list(scores)
    return [] if math.isfinite(scores) and scores != error_score else None


def check_same(names: list[str], before: list[str], owner: str) -> None:
    """Raise a ValueError unless a callable scorer returns what it did before."""
    if set(names) != set(before):
        said = [f"metrics {sorted(n)}" if n else "one number" for n in (before, names)]
        raise ValueError(
            f"The 'scoring' of {owner} must return the same metrics for every fold. "
            f"Got {said[1]} after {said[0]}; let it return nan where there is no score."
        )


def spread_failures(folds: Sequence[FoldResult]) -> None:
    """Give folds whose one number stands for several metrics a number for each."""
    found = (fold["test_scores"] for fold in folds)
    names = next((list(scores) for scores in found if isinstance(scores, dict)), None)
    if names is None:
        return
    for fold in folds:
        for key in ("test_scores", "train_scores"):
            if key in fold and not isinstance(fold[key], dict):
                fold[key] = dict.fromkeys(names, fold[key])


def take_folds(trial: Evaluation, results: Iterable[FoldResult]) -> None:
    """Give a trial the results of its folds, with nan for scores without bounds.

    A score of plus infinity, otherwise, would be the best of all; so would scores that
    add up to more than the largest number.
    """
    trial.folds = [_bounded(result) for result in results]
    named = any(isinstance(fold["test_scores"], dict) for fold in trial.folds)
    names: list[Any] = trial.metrics if named else [None]
    for metric in names:
        finite = all(map(math.isfinite, trial.scores(metric)))
        if finite and math.isnan(trial.mean_of_folds(metric)):
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
