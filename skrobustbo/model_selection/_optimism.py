"""Optimism of the best score: the best of many noisy scores is probably lucky.

Let y be the candidates' scores on all rows. In a bag, they have errors e, the
differences from the mean over all bags. Choose the candidate with the largest y + e.
Its luck is its own e. The mean luck over all bags, L, measures how optimistic such a
choice is.

But y has errors of its own, so the scores y + e differ by more than y does. Assume
normal distributions, and let v be the variance of the differences in y, relative to the
variance of the differences in e. The luck of the best of several scores with variance v
is proportional to 1 / sqrt(v); with variance v + 1, it is proportional to 1 / sqrt(v +
1). The optimism of y is therefore L sqrt(1 + 1/v), with v at least 1. We take v = 1.
This is exact if the differences are pure noise. Otherwise, L is smaller, and we
subtract at most two fifths of it too much. A search that follows its luck compensates
for this: it tries candidates similar to the best one, and these share its luck in all
bags.

References
----------
Efron (1983), Estimating the error rate of a prediction rule: improvement on
cross-validation. Journal of the American Statistical Association 78, on the optimism
that a bootstrap shows.

Tsamardinos, Greasidou, Borboudakis (2018), Bootstrapping the out-of-sample predictions
for efficient and accurate cross-validation. Machine Learning 107, on the choice of the
best candidate in each bag.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

Array = NDArray[Any]

#: Scores with a smaller relative difference count as equal, and the first one wins.
_ROUNDING = 1e-12
#: Probability outside the interval on each side.
_TAIL = 0.025


class Honest(NamedTuple):
    """The winner's score, with its interval."""

    score: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)


def first_best(scores: Array) -> Array:
    """Return the index of each row's first score that equals the best."""
    best = scores.max(axis=-1, keepdims=True)
    return np.argmax(scores >= best - _ROUNDING * np.abs(best), axis=-1)


def score_of_winner(of_all: Array, bags: Array, n_units: float) -> Honest:
    """Return the estimated score of the best candidate on new rows.

    Parameters
    ----------
    of_all : array of shape (m,)
        Scores of the candidates on all rows.
    bags : array of shape (b, m)
        Scores in each bag. Bags with an undefined score do not count.
    n_units : float
        Effective number of rows; see `effective`.
    """
    known = bags[np.isfinite(bags).all(axis=1)]
    if len(known) < 2:
        return Honest()
    noise = known - known.mean(axis=0)
    winner = int(first_best(of_all))
    chosen = first_best(of_all + noise)
    luck = noise[np.arange(len(noise)), chosen]
    score = float(of_all[winner] - math.sqrt(2) * luck.mean())
    near = of_all[winner] - of_all <= _spread(noise[:, [winner]] - noise)
    shown = float(_spread(of_all[chosen] - luck))
    away = noise[:, winner] * _widening(_spread(noise), winner, near, shown)
    heavier = stdtrit(n_units - 1, _TAIL) / ndtri(_TAIL)
    low, high = score + heavier * np.quantile(away, [_TAIL, 1 - _TAIL])
    return Honest(score, (float(min(low, score)), float(max(high, score))))


def effective(n_units: int, without: Array) -> float:
    """Return the effective number of rows behind the spread of a score.

    This many normally distributed rows would determine the spread equally well. If a
    few rows matter most, as with a rare class, it is far below the number of rows,
    because the error of a variance depends on the fourth moment.

    Parameters
    ----------
    n_units : int
        Number of rows, or of groups of rows.
    without : array of shape (k,)
        The score without each unit in turn. Undefined scores do not count.
    """
    known = without[np.isfinite(without)]
    spread = _spread(known) if len(known) else 0.0
    if not spread > _ROUNDING * np.abs(known).max(initial=0.0):
        return n_units
    kurtosis = float(np.mean(((known - known.mean()) / spread) ** 4))
    return n_units * 2 / max(2.0, kurtosis - 1)


def _spread(values: Array) -> Array:
    """Return the columns' standard deviations without over- or underflow."""
    size = np.abs(values).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    return size * (values / size).std(axis=0)


def _widening(spread: Array, winner: int, near: Array, shown: float) -> float:
    """Return the ratio of the interval's width to the spread of the winner's scores.

    The best candidate differs between bags. Its score on all rows, minus its luck, is a
    draw of the winner's score on new rows; `shown` is the spread of these draws. A
    simple model's scores spread less than a better model's, and the simple model wins
    if the rows contain little information. The interval is therefore widened to the
    largest spread among the candidates within one standard error of the winner. Its
    variance is at most the sum of the variances of the draws and of this candidate,
    because a winner's scores may hardly vary at all.
    """
    own, most = spread[winner], spread.max(where=near, initial=spread[winner])
    with np.errstate(all="ignore"):  # scores may be constant
        factor = min(shown * most / own, np.hypot(shown, most)) / own
    return float(factor) if math.isfinite(factor) else 1.0
