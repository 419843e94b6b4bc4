"""How optimistic the best score is: the best of many noisy scores is likely lucky.

Let y be the scores of the candidates on all rows. In a bag, they have errors e: their
differences from the mean over all bags. Choose the candidate with the largest y + e.
Its luck is known, as it is its own e. The mean of this luck over the bags, L, is how
optimistic such a choice is.

But y has errors of its own, so the scores y + e differ by more than y does. Let all be
normally distributed, and v the variance of the differences in y, in units of that of
the differences in e. The best of scores with variance v is lucky by an amount in
proportion to 1 / sqrt(v), and the best of scores with variance v + 1 by 1 / sqrt(v + 1)
only. So y is optimistic by L sqrt(1 + 1/v), where v is at least 1. We take v = 1. This
is exact if the differences are nothing but noise. Otherwise L is smaller, and at most
two fifths too much of it are taken off. A search that follows its luck makes up for it:
it tries candidates that are like the best one, and share its luck in all bags.

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

#: Scores that differ by less, relative to their size, are equal: the first one counts.
_ROUNDING = 1e-12
#: What the interval leaves out at each end.
_TAIL = 0.025


class Honest(NamedTuple):
    """A score of the winner, and its interval."""

    score: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)


def first_best(scores: Array) -> Array:
    """Return the first of some scores that is as good as the best, of each line."""
    best = scores.max(axis=-1, keepdims=True)
    return np.argmax(scores >= best - _ROUNDING * np.abs(best), axis=-1)


def score_of_winner(of_all: Array, bags: Array, n_units: float) -> Honest:
    """Return what the best candidate scores on new rows.

    Parameters
    ----------
    of_all : array of shape (m,)
        Scores of the candidates on all rows.
    bags : array of shape (b, m)
        Scores in bootstrapped samples. Those with an undefined score do not count.
    n_units : float
        From how many rows the spread of the winner's scores is known: `effective`.
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
    """Return from how many rows the spread of a score is known.

    It is as well known as from this many normally distributed rows. Where few rows
    matter most, such as those of a rare class, their number is far below that of all:
    the error of a variance depends on the fourth moment.

    Parameters
    ----------
    n_units : int
        How many rows, or groups of rows, there are.
    without : array of shape (k,)
        The score without one of them. Undefined ones do not count.
    """
    known = without[np.isfinite(without)]
    spread = _spread(known) if len(known) else 0.0
    if not spread > _ROUNDING * np.abs(known).max(initial=0.0):
        return n_units
    kurtosis = float(np.mean(((known - known.mean()) / spread) ** 4))
    return n_units * 2 / max(2.0, kurtosis - 1)


def _spread(values: Array) -> Array:
    """Return the standard deviations of columns, however large or small they are."""
    size = np.abs(values).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    return size * (values / size).std(axis=0)


def _widening(spread: Array, winner: int, near: Array, shown: float) -> float:
    """Return how much wider the interval is than the spread of the winner's scores.

    In each bag another candidate is the best. Its score on all rows, less its luck, is
    a draw of what the winner scores on new rows: these spread by `shown`. The scores of
    a simple model spread less than those of a better one, and it wins where the rows
    happen to say little. So the interval is wider by as much as those of that candidate
    spread more which spreads the most within one standard error of the winner. Its
    variance is at most that of the draws and of this candidate together: the scores of
    a winner may hardly spread at all.
    """
    own, most = spread[winner], spread.max(where=near, initial=spread[winner])
    with np.errstate(all="ignore"):  # of scores that do not spread
        factor = min(shown * most / own, np.hypot(shown, most)) / own
    return float(factor) if math.isfinite(factor) else 1.0
