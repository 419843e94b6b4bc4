"""Metrics of many bootstrapped samples at once, by how often each row was drawn.

A rule takes the true values of n rows and, of each of m candidates, the predictions. It
returns a function from weights of shape (b, n), in which a row counts as often as it
was drawn, to the metric of shape (b, m), nan where it is undefined; or None where a
rule does not apply. scikit-learn's functions do the same for one sample of one
candidate at a time, which takes a hundred times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

Array = NDArray[Any]
Weighted = Callable[[Array], Array]
Rule = Callable[..., Weighted | None]


def _mean(values: Array) -> Weighted:
    """Return the mean of values of shape (m, n)."""

    def scores(weights: Array) -> Array:
        mean: Array = weights @ values.T / weights.sum(axis=1, keepdims=True)
        return mean

    return scores


def _accuracy(y: Array, predicted: Sequence[Array]) -> Weighted | None:
    if any(labels.shape != y.shape for labels in predicted):
        return None
    hits = [(labels == y).reshape(len(y), -1).all(axis=1) for labels in predicted]
    return _mean(np.array(hits, dtype=float))


def _errors(y: Array, predicted: Sequence[Array]) -> Array | None:
    """Return the errors, shape (n_outputs, m, n)."""
    if y.dtype.kind not in "biuf" or any(p.size != y.size for p in predicted):
        return None
    columns = y.reshape(len(y), -1)
    found = [p.reshape(columns.shape).astype(float) - columns for p in predicted]
    return np.array(found).transpose(2, 0, 1)


def _of_errors(power: Callable[[Array], Array]) -> Rule:
    def rule(y: Array, predicted: Sequence[Array]) -> Weighted | None:
        errors = _errors(y, predicted)
        return None if errors is None else _mean(power(errors).mean(axis=0))

    return rule


def _root_mean_squared(y: Array, predicted: Sequence[Array]) -> Weighted | None:
    errors = _errors(y, predicted)
    if errors is None:
        return None
    means = [_mean(each) for each in np.square(errors)]
    return lambda weights: np.mean([np.sqrt(mean(weights)) for mean in means], axis=0)


def _r2(y: Array, predicted: Sequence[Array]) -> Weighted | None:
    errors = _errors(y, predicted)
    if errors is None:
        return None
    squares = np.square(errors)
    columns = y.reshape(len(y), -1).astype(float)
    columns = columns - columns.mean(axis=0)

    def scores(weights: Array) -> Array:
        total = weights.sum(axis=1)
        found = []
        for column, square in zip(columns.T, squares, strict=True):
            size = weights @ np.square(column)
            spread = size - np.square(weights @ column) / total
            # Of equal values there is nothing to explain.
            spread[spread <= 1e-12 * size] = np.nan
            found.append(1 - weights @ square.T / spread[:, None])
        mean: Array = np.mean(found, axis=0)
        return mean

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
    """Return the area under the curve of one candidate, of shape (b,)."""
    order = np.argsort(predicted, kind="stable")
    ranked = predicted[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    positive = positive[order]

    def area(weights: Array) -> Array:
        drawn = weights[:, order]
        # A pair of equal predictions counts half.
        above = np.add.reduceat(drawn * positive, starts, axis=1)
        below = np.add.reduceat(drawn * (1 - positive), starts, axis=1)
        ahead = np.cumsum(below, axis=1) - below / 2
        n_pairs = above.sum(axis=1) * below.sum(axis=1)
        found: Array = (above * ahead).sum(axis=1) / n_pairs
        return found

    return area


def _by_label(
    top: Callable[..., Array], bottom: Callable[..., Array], own: tuple[str, ...] = ()
) -> Rule:
    """Return the rule of a ratio of counts of labels: hits, predicted and true ones.

    Parameters
    ----------
    top, bottom : callable
        Take the three counts and return what the ratio is of.
    own : tuple of str
        Averages that it has.
    """

    def rule(
        y: Array,
        predicted: Sequence[Array],
        average: str | None = "binary",
        pos_label: Any = 1,
    ) -> Weighted | None:
        if average not in own or y.ndim != 1 or any(p.ndim != 1 for p in predicted):
            return None
        labels = np.unique(np.concatenate([y, *predicted]))
        if average == "binary":
            labels = labels[labels == pos_label]
        if not len(labels):
            return None
        true = (y[:, None] == labels).astype(float)
        guesses = [(p[:, None] == labels).astype(float) for p in predicted]

        def scores(weights: Array) -> Array:
            n_true = weights @ true
            counts = [(weights @ (g * true), weights @ g, n_true) for g in guesses]
            found = [_averaged(average, top, bottom, *each) for each in counts]
            drawn = weights.sum(axis=1, keepdims=True) > 0
            return np.where(drawn, np.stack(found, axis=1), np.nan)

        return scores

    return rule


def _averaged(
    average: str | None,
    top: Callable[..., Array],
    bottom: Callable[..., Array],
    hits: Array,
    guessed: Array,
    true: Array,
) -> Array:
    """Return the average over labels, shape (b,), of counts of shape (b, n_labels)."""
    counts: tuple[Array, ...] = hits, guessed, true
    if average == "micro":
        counts = tuple(each.sum(axis=1, keepdims=True) for each in counts)
    above, below = top(*counts), bottom(*counts)
    ratios = np.where(below > 0, above / below, 0.0)
    # Labels count by how often they are true, or if they occur at all.
    of_label = {"weighted": true, "macro": guessed + true > 0, "recall": true > 0}
    share = of_label.get(str(average), np.ones_like(ratios)).astype(float)
    mean: Array = (share * ratios).sum(axis=1) / share.sum(axis=1)
    return mean


_AVERAGES = ("binary", "macro", "micro", "weighted")
_recall = _by_label(lambda h, g, t: h, lambda h, g, t: t, (*_AVERAGES, "recall"))


def _balanced_accuracy(y: Array, predicted: Sequence[Array]) -> Weighted | None:
    return _recall(y, predicted, average="recall")


#: Rules take the settings of the metric by name; weights of rows are in the counts.
RULES: dict[Callable[..., Any], Rule] = {
    metrics.accuracy_score: _accuracy,
    metrics.balanced_accuracy_score: _balanced_accuracy,
    metrics.f1_score: _by_label(
        lambda h, g, t: 2 * h, lambda h, g, t: g + t, _AVERAGES
    ),
    metrics.precision_score: _by_label(lambda h, g, t: h, lambda h, g, t: g, _AVERAGES),
    metrics.recall_score: _recall,
    metrics.mean_squared_error: _of_errors(np.square),
    metrics.mean_absolute_error: _of_errors(np.abs),
    metrics.root_mean_squared_error: _root_mean_squared,
    metrics.r2_score: _r2,
    metrics.log_loss: _log_loss,
    metrics.roc_auc_score: _roc_auc,
}


def weighted(
    function: Callable[..., Any],
    y: Array,
    predicted: Sequence[Array],
    settings: Mapping[str, Any],
) -> Weighted | None:
    """Return the metric as a function of weights, None where there is no rule."""
    rule = RULES.get(function)
    if rule is None:
        return None
    try:
        signature(rule).bind(y, predicted, **settings)
    except TypeError:  # settings that it does not know
        return None
    return rule(y, predicted, **settings)
