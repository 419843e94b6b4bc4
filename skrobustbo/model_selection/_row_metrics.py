"""Compute metrics for many bootstrap samples at once from the counts of the rows.

A rule takes the true values of n rows and the predictions of m candidates. It returns a
function that maps weights of shape (b, n), the counts of each row, to metric values of
shape (b, m), which are nan where the metric is undefined. If the rule is not
applicable, it returns None. The functions in scikit-learn are a hundred times slower,
because they score one sample of one candidate at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

Array = NDArray[Any]
Weighted = Callable[[Array], Array]
Rule = Callable[..., Weighted | None]


def _mean(values: Array) -> Weighted:
    def scores(weights: Array) -> Array:
        return weights @ values.T / weights.sum(axis=1, keepdims=True)

    return scores


def _accuracy(y: Array, predicted: Sequence[Array]) -> Weighted | None:
    if any(labels.shape != y.shape for labels in predicted):
        return None
    hits = [(labels == y).reshape(len(y), -1).all(axis=1) for labels in predicted]
    return _mean(np.array(hits, dtype=float))


def _total(weights: Array, column: Array) -> Array:
    """Return the number of rows in each sample, with shape (b,)."""
    return weights.sum(axis=1)


def _spread(weights: Array, column: Array) -> Array:
    """Return the sum of squared deviations in each sample, with shape (b,)."""
    size = weights @ np.square(column)
    spread: Array = size - np.square(weights @ column) / weights.sum(axis=1)
    # Constant values leave nothing to explain.
    spread[spread <= 1e-12 * size] = np.nan
    return spread


def _of_errors(
    y: Array,
    predicted: Sequence[Array],
    *,
    loss: Callable[[Array], Array],
    of: Callable[[Array, Array], Array] = _total,
    link: Callable[[Array], Array] = np.positive,
) -> Weighted | None:
    """Return a function that computes normalised losses, averaged over outputs."""
    if y.dtype.kind not in "biuf" or any(p.size != y.size for p in predicted):
        return None
    columns = y.reshape(len(y), -1).astype(float)
    errors = [p.reshape(columns.shape).astype(float) - columns for p in predicted]
    losses = loss(np.array(errors).transpose(2, 0, 1))
    centred = (columns - columns.mean(axis=0)).T

    def scores(weights: Array) -> Array:
        ratios = [
            weights @ each.T / of(weights, column)[:, None]
            for each, column in zip(losses, centred, strict=True)
        ]
        return np.mean(link(np.array(ratios)), axis=0)

    return scores


def _log_loss(y: Array, predicted: Sequence[Array]) -> Weighted | None:
    if y.ndim != 1:
        return None
    labels, places = np.unique(y, return_inverse=True)
    losses = []
    for p in predicted:
        both = np.stack([1 - p, p], axis=1) if p.ndim == 1 else p
        if both.shape[1] != len(labels):
            return None
        least = np.finfo(both.dtype).eps
        of_label = both[np.arange(len(y)), places]
        losses.append(-np.log(np.clip(of_label, least, 1 - least).astype(float)))
    return _mean(np.array(losses))


def _roc_auc(y: Array, predicted: Sequence[Array]) -> Weighted | None:
    labels = np.unique(y)
    if len(labels) != 2 or any(p.ndim != 1 for p in predicted):
        return None
    positive = (y == labels[1]).astype(float)
    areas = [_area(positive, p) for p in predicted]
    return lambda weights: np.stack([area(weights) for area in areas], axis=1)


def _area(positive: Array, predicted: Array) -> Weighted:
    """Return a function that computes the area under a candidate's ROC curve."""
    order = np.argsort(predicted, kind="stable")
    ranked = predicted[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    positive = positive[order]

    def area(weights: Array) -> Array:
        drawn = weights[:, order]
        # A pair of equal predictions counts as half.
        above = np.add.reduceat(drawn * positive, starts, axis=1)
        below = np.add.reduceat(drawn * (1 - positive), starts, axis=1)
        ahead = np.cumsum(below, axis=1) - below / 2
        n_pairs = above.sum(axis=1) * below.sum(axis=1)
        return (above * ahead).sum(axis=1) / n_pairs

    return area


def _by_label(
    of_guessed: float,
    of_true: float,
    y: Array,
    predicted: Sequence[Array],
    average: str | None = "binary",
    pos_label: Any = 1,
) -> Weighted | None:
    """Return a function that computes the share of hits, averaged over labels.

    The number of hits is divided by a weighted sum of the numbers of predicted and true
    occurrences, with weights `of_guessed` and `of_true`.
    """
    if average not in _AVERAGES or y.ndim != 1 or any(p.ndim != 1 for p in predicted):
        return None
    labels = np.unique(np.concatenate([y, *predicted]))
    if average == "binary":
        labels = labels[labels == pos_label]
    if not len(labels):
        return None
    true = (y[:, None] == labels).astype(float)
    guesses = [(p[:, None] == labels).astype(float) for p in predicted]

    def one(weights: Array, guess: Array) -> Array:
        counts = [weights @ rows for rows in (guess * true, guess, true)]
        if average == "micro":
            counts = [each.sum(axis=1, keepdims=True) for each in counts]
        hits, n_guessed, n_true = counts
        below = of_guessed * n_guessed + of_true * n_true
        ratios = np.where(below > 0, hits / below, 0.0)
        # Labels that occur are weighted by frequency or equally.
        shares = {
            "weighted": n_true,
            "macro": n_guessed + n_true > 0,
            "recall": n_true > 0,
        }
        share = shares.get(str(average), np.ones_like(ratios)).astype(float)
        return (share * ratios).sum(axis=1) / share.sum(axis=1)

    def scores(weights: Array) -> Array:
        drawn = weights.sum(axis=1, keepdims=True) > 0
        found = np.stack([one(weights, guess) for guess in guesses], axis=1)
        return np.where(drawn, found, np.nan)

    return scores


#: scikit-learn's averages, and recall averaged over the labels that occur.
_AVERAGES = ("binary", "macro", "micro", "weighted", "recall")

#: Rules take the metric's settings by name; the counts include sample weights.
RULES: dict[Callable[..., Any], Rule] = {
    metrics.accuracy_score: _accuracy,
    metrics.balanced_accuracy_score: partial(_by_label, 0, 1, average="recall"),
    metrics.f1_score: partial(_by_label, 0.5, 0.5),
    metrics.precision_score: partial(_by_label, 1, 0),
    metrics.recall_score: partial(_by_label, 0, 1),
    metrics.mean_squared_error: partial(_of_errors, loss=np.square),
    metrics.mean_absolute_error: partial(_of_errors, loss=np.abs),
    metrics.root_mean_squared_error: partial(_of_errors, loss=np.square, link=np.sqrt),
    metrics.r2_score: partial(
        _of_errors, loss=np.square, of=_spread, link=partial(np.subtract, 1)
    ),
    metrics.log_loss: _log_loss,
    metrics.roc_auc_score: _roc_auc,
}


def weighted(
    function: Callable[..., Any],
    y: Array,
    predicted: Sequence[Array],
    settings: Mapping[str, Any],
) -> Weighted | None:
    """Return the metric as a function of row weights, or None if no rule applies."""
    rule = RULES.get(function)
    if rule is None:
        return None
    try:
        signature(rule).bind(y, predicted, **settings)
    except TypeError:  # unknown settings
        return None
    return rule(y, predicted, **settings)
