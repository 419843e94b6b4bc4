"""Validation of splits, sample weights and scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from skrobustbo._sklearn_compat import NO_FITS, OTHER_SPLITS, num_samples
from skrobustbo._trials import SINGLE, Evaluation, FoldResult, RawResult

Splits = Sequence[tuple[Any, Any]]


def checked_cv(cv: Any, owner: str) -> Any:
    """Return `cv`, converted to a list of pairs if it is an iterable of splits.

    Raise a ValueError if a split is not a pair.
    """
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


def check_splits(splits: Splits, n_splits: int, n_samples: int, owner: str) -> None:
    """Raise a ValueError if the splits do not match the data or `n_splits`."""
    if not splits:
        raise ValueError(NO_FITS)
    if len(splits) != n_splits:
        raise ValueError(
            f"{OTHER_SPLITS} Expected {n_splits} splits, got {len(splits)}"
        )
    for rows in map(np.asarray, chain(*splits)):
        if not _are_rows(rows, n_samples):
            raise ValueError(
                f"The 'cv' of {owner} must give numbers of rows of the data, from 0 to "
                f"{n_samples - 1}, or one True or False for each. Got {_kind(rows)} "
                "instead; draw the splits from these data."
            )


def _kind(value: Any) -> str:
    """Describe a value, but omit its content if it may be data."""
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
    """Raise a ValueError if the number of sample weights is wrong."""
    weights = params.get("sample_weight")
    if weights is None or not np.ndim(weights):
        return
    if num_samples(weights) != n_samples:
        raise ValueError(
            f"The 'sample_weight' passed to fit must have one number for each of the "
            f"{n_samples} samples. Got {num_samples(weights)} instead."
        )


def real(score: Any, owner: str = "a search") -> Any:
    """Return a score, or nan if it is infinite.

    Raise a ValueError if the score is not a real number.
    """
    try:
        return math.nan if math.isinf(score) else score
    except (TypeError, OverflowError):
        raise ValueError(
            f"The 'scoring' of {owner} must return real numbers in the range of "
            f"floats. Got {score!r} instead."
        ) from None


def result_of(raw: RawResult, owner: str) -> FoldResult:
    """Check the result of a fold and return it.

    Raise a ValueError if a score is invalid. Negative durations become zero, because
    the system clock may be set back during a fit.
    """
    checked = dict(raw)
    for kind in ("test_scores", "train_scores"):
        if kind in raw:
            checked[kind] = _scores(raw[kind], owner)
    for kind in ("fit_time", "score_time"):
        if raw[kind] < 0:
            checked[kind] = 0.0
    return FoldResult(**checked)


def _scores(found: Any, owner: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        real(found, owner)
        return {SINGLE: found}
    if not found or not all(isinstance(name, str) for name in found):
        raise ValueError(
            "The 'scoring' of a search must return a number, or a dict of one or "
            f"more names and numbers. Got {found!r} instead."
        )
    for score in found.values():
        real(score, owner)
    return found


def returned(fold: FoldResult, error_score: Any) -> list[str] | None:
    """Return the names of a fold's metrics, or None if the fold failed.

    The list is empty for a single metric. If a callable scorer fails, its only score is
    `error_score`.
    """
    if fold.fit_error:
        return None
    score = fold.test_scores.get(SINGLE)
    if score is None:
        return list(fold.test_scores)
    return [] if math.isfinite(score) and score != error_score else None


def check_same(names: list[str], before: list[str], owner: str) -> None:
    """Raise a ValueError if a callable scorer has changed its metrics."""
    if set(names) != set(before):
        said = [f"metrics {sorted(n)}" if n else "one number" for n in (before, names)]
        raise ValueError(
            f"The 'scoring' of {owner} must return the same metrics for every fold. "
            f"Got {said[1]} after {said[0]}; let it return nan where there is no score."
        )


def take_folds(
    trial: Evaluation, results: Iterable[FoldResult], metrics: Sequence[str] = ()
) -> None:
    """Store the results of a trial's folds, except for the predictions.

    Infinite scores become nan, because positive infinity would count as the best score.
    If the sum of the scores overflows, all of them become nan.
    """
    trial.folds = []
    for fold in results:
        scores, train = _named(fold.test_scores, metrics), fold.train_scores
        kept = {
            "test_scores": {name: real(score) for name, score in scores.items()},
            "train_scores": train and _named(train, metrics),
            "predictions": None,
        }
        trial.folds.append(FoldResult(**{**vars(fold), **kept}))  # faster than replace
    for metric in trial.folds[0].test_scores if trial.folds else ():
        unbounded = math.isnan(trial.mean_of_folds(metric))
        if unbounded and all(map(math.isfinite, trial.scores(metric))):
            for fold in trial.folds:
                fold.test_scores[metric] = math.nan


def _named(scores: Mapping[str, float], metrics: Sequence[str]) -> dict[str, Any]:
    """Return the scores by metric, in the order of `metrics`.

    A callable scorer may return the metrics in another order. The single score of a
    failed fold is used for every metric.
    """
    return {name: scores.get(name, scores.get(SINGLE)) for name in metrics or scores}
