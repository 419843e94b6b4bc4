"""Estimate the optimism of the best of many noisy scores.

Let y be the scores of the candidates on all rows. In each bag, the scores have errors
e, which are their deviations from the mean over all bags. Choose the candidate with the
largest y + e. The luck of this candidate is its error e. The mean luck over all bags,
L, measures how optimistic such a choice is.

However, y has errors too, so the scores y + e vary more than the scores y. Assume
normal distributions, and let v be the variance of the differences in y divided by the
variance of the differences in e. The luck of the best of several scores with variance v
is proportional to 1 / sqrt(v). With variance v + 1, it is proportional to 1 / sqrt(v +
1). The optimism of y is therefore L sqrt(1 + 1/v), where v is at least 1. We use v = 1,
which is exact if the differences are pure noise. Otherwise, L is smaller, and the
correction is too large by at most about two fifths of L. The search compensates for
this, because it tries many candidates similar to the best one, which have almost the
same errors in all bags.

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
    """Estimated score of the best candidate, with its 95% interval."""

    score: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)


def first_best(scores: Array) -> Array:
    """Return the index of the best score in each row; the first index wins ties."""
    best = scores.max(axis=-1, keepdims=True)
    return np.argmax(scores >= best - _ROUNDING * np.abs(best), axis=-1)


def score_of_winner(of_all: Array, bags: Array, n_units: float) -> Honest:
    """Return the estimated score of the best candidate on new rows.

    Parameters
    ----------
    of_all : array of shape (m,)
        Scores of the candidates on all rows.
    bags : array of shape (b, m)
        Scores of the candidates in each bag. Bags with undefined scores are ignored.
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
    """Return the effective number of rows that determine the spread of a score.

    This number of normally distributed values would give an equally accurate estimate
    of the spread. If the score depends mostly on a few rows, as with a rare class, it
    is much smaller than the number of rows, because the accuracy of an estimated
    variance depends on the fourth moment.

    Parameters
    ----------
    n_units : int
        Number of rows or groups of rows.
    without : array of shape (k,)
        Scores with one unit left out at a time. Undefined scores are ignored.
    """
    known = without[np.isfinite(without)]
    spread = _spread(known) if len(known) else 0.0
    if not spread > _ROUNDING * np.abs(known).max(initial=0.0):
        return n_units
    kurtosis = float(np.mean(((known - known.mean()) / spread) ** 4))
    return n_units * 2 / max(2.0, kurtosis - 1)


def _spread(values: Array) -> Array:
    """Return the standard deviation of each column, avoiding overflow and underflow."""
    size = np.abs(values).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    return size * (values / size).std(axis=0)


def _widening(spread: Array, winner: int, near: Array, shown: float) -> float:
    """Return the factor by which to widen the interval around the winner's score.

    The best candidate differs between bags. In each bag, its score on all rows minus
    its luck simulates the winner's score on new rows, and `shown` is the spread of
    these simulated scores. The scores of a simple model vary less than those of a
    better model, and the simple model wins if the rows contain little information. The
    interval is therefore widened to the largest spread among the candidates within one
    standard error of the winner. Its variance is limited to the sum of the variances of
    the simulated scores and of this candidate, because the winner's own scores may
    hardly vary at all.
    """
    own, most = spread[winner], spread.max(where=near, initial=spread[winner])
    with np.errstate(all="ignore"):  # scores may be constant
        factor = min(shown * most / own, np.hypot(shown, most)) / own
    return float(factor) if math.isfinite(factor) else 1.0
