"""Checks of what a search is given besides params: splits, weights, scores."""

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


def check_splits(splits: Splits, n_splits: int, n_samples: int, owner: str) -> None:
    """Raise a ValueError unless there are splits of the data, as many as announced."""
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


def result_of(raw: RawResult, owner: str) -> FoldResult:
    """Return what came of a fold, checked.

    ValueError if a score is none that may be kept. The system's clock may be set back
    during a fit: seconds are not negative.
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
    """Return the names of a fold's metrics: none for a single one, None if it failed.

    A callable that fails to score has given nothing but `error_score`, too.
    """
    if fold.fit_error:
        return None
    score = fold.test_scores.get(SINGLE)
    if score is None:
        return list(fold.test_scores)
    return [] if math.isfinite(score) and score != error_score else None


def check_same(names: list[str], before: list[str], owner: str) -> None:
    """Raise a ValueError unless a callable scorer returns what it did before."""
    if set(names) != set(before):
        said = [f"metrics {sorted(n)}" if n else "one number" for n in (before, names)]
        raise ValueError(
            f"The 'scoring' of {owner} must return the same metrics for every fold. "
            f"Got {said[1]} after {said[0]}; let it return nan where there is no score."
        )


def take_folds(
    trial: Evaluation, results: Iterable[FoldResult], metrics: Sequence[str] = ()
) -> None:
    """Give a trial the results of its folds, without predictions, which are large.

    Scores without bounds become nan: a score of plus infinity, otherwise, would be the
    best of all; so would scores that add up to more than the largest number.

    Parameters
    ----------
    trial : Evaluation
        The trial.
    results : iterable of FoldResult
        The results of the folds that it used.
    metrics : sequence of str, default=()
        The metrics that a callable scorer returns, if they are known and have names.
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
    """Return scores by the names, and in the order, of some metrics.

    A callable scorer may return them in another order each time. One number that stands
    for a failure becomes that of each metric.
    """
    return {name: scores.get(name, scores.get(SINGLE)) for name in metrics or scores}
