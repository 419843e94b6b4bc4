"""What the winner scores on new rows, of the scores of all candidates in bags of rows.

The best of many noisy scores is likely to be lucky: its noise is not zero on average.
This is empirical Bayes. The noise of the candidates is normally distributed, and the
bags show its covariance. True differences between the candidates are taken for
normally distributed, too, with the same covariance times an unknown factor. The
differences that were seen have the covariance of the noise times v, with v >= 1. The
expected noise of the winner, given all scores and v, is its regression on the
differences, divided by v: they are nothing but noise if v is 1, and next to none of it
if v is large. The prior of v is uniform in its logarithm.

Candidates that are shown to be worse than the winner are left out. They say how bad
some regions are, and not how much those that might be the best differ.

A posterior mean does not depend on why the candidates were tried. So it needs no
correction for a search that proposes candidates where scores were high.

References
----------
Efron, Morris (1973), Stein's estimation rule and its competitors: an empirical Bayes
approach. Journal of the American Statistical Association 68.

Efron (2011), Tweedie's formula and selection bias. Journal of the American Statistical
Association 106, on estimates of the largest of many effects.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc, ndtri

Array = NDArray[Any]

#: Scores that differ by less, relative to their size, are equal: the first one counts.
_ROUNDING = 1e-12
#: Directions in which differences vary by less, relative to the first, are rounding.
_RANK = 1e-9
_LEVEL = 0.95


class Honest(NamedTuple):
    """A score of the winner, and its interval."""

    score: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)


def score_of_winner(of_all: Array, bags: Array, n_units: int) -> Honest:
    """Return what the best candidate scores on new rows.

    Parameters
    ----------
    of_all : array of shape (m,)
        Scores of the candidates on all rows.
    bags : array of shape (b, m)
        Scores in bootstrapped samples. Those with an undefined score do not count.
    n_units : int
        How many rows, or groups of rows, were drawn for each sample.
    """
    known = bags[np.isfinite(bags).all(axis=1)]
    if len(known) < 2:
        return Honest()
    winner = int(_first_best(of_all[None, :])[0])
    gaps, apart = of_all[winner] - of_all, known[:, [winner]] - known
    errors = _spread(apart)
    rivals = gaps <= _shown_worse(len(of_all)) * errors
    rivals &= errors > _ROUNDING * abs(of_all[winner])  # or it is the winner again
    seen, differences = gaps[rivals] / errors[rivals], apart[:, rivals] / errors[rivals]
    luck = _expected_noise(known[:, winner], differences, seen, n_units)
    score = float(of_all[winner] - luck)
    low, high = score + _interval(of_all, known, winner, gaps <= errors)
    return Honest(score, (float(min(low, score)), float(max(high, score))))


def _first_best(scores: Array) -> Array:
    """Return for each line of scores the first that is as good as the best."""
    best = scores.max(axis=1, keepdims=True)
    return np.argmax(scores >= best - _ROUNDING * np.abs(best), axis=1)


def _expected_noise(
    noise: Array, differences: Array, seen: Array, n_units: int
) -> float:
    """Return the expected noise of one score, given its differences from others.

    Parameters
    ----------
    noise : array of shape (b,)
        The score in each bag: its noise, up to a constant.
    differences : array of shape (b, m)
        The differences in each bag, in standard errors.
    seen : array of shape (m,)
        The differences on all rows, in standard errors.
    n_units : int
        How many rows, or groups of rows, were drawn for a bag.
    """
    if not len(seen):
        return 0.0
    noise, differences = noise - noise.mean(), differences - differences.mean(axis=0)
    draws, lengths, axes = np.linalg.svd(differences, full_matrices=False)
    kept = lengths**2 > _RANK * lengths[0] ** 2
    kept[max(1, min(len(noise), n_units) // 2) :] = False
    independent = axes[kept] @ seen / lengths[kept]
    # The covariance is estimated, too: its inverse is too large by these two factors.
    used = kept.sum() + 1
    too_large = (1 - used / len(noise)) * (1 - used / n_units)
    total = len(noise) * float(independent @ independent) * too_large
    by_regression = float(noise @ draws[:, kept] @ independent)
    return by_regression * _share_of_noise(total, used - 1)


def _share_of_noise(total: float, k: int) -> float:
    """Return the expected value of 1 / v, with log v uniform from 0 on.

    Parameters
    ----------
    total : float
        Sum of the squares of `k` independent differences, in standard errors.
    """
    reached = gammainc(k / 2, total / 2)
    if not reached:  # the differences are next to none, and what is their share, too
        return 1.0
    return float(k / total * gammainc(k / 2 + 1, total / 2) / reached)


def _spread(values: Array) -> Array:
    """Return the standard deviations of columns, however large or small they are."""
    size = np.abs(values).max(axis=0)
    size = np.where(size > 0, size, 1.0)
    return size * (values / size).std(axis=0)


def _shown_worse(m: int) -> float:
    """Return how many standard errors behind is shown worse, whichever of m wins."""
    n_pairs = max(1, m * (m - 1) / 2)
    return float(ndtri(1 - (1 - _LEVEL) / 2 / n_pairs))


def _interval(of_all: Array, bags: Array, winner: int, near: Array) -> Array:
    """Return the ends of the interval, relative to the score.

    In each bag another candidate is the best, and its luck there is known. Its score on
    all rows, less this luck, is a draw of what the winner scores on new rows.
    """
    best = _first_best(bags)
    draws = 2 * of_all[best] - bags[np.arange(len(bags)), best]
    tail = (1 - _LEVEL) / 2
    ends: Array = np.quantile(draws - draws.mean(), [tail, 1 - tail])
    return _widening(_spread(bags), winner, near, float(_spread(draws))) * ends


def _widening(spread: Array, winner: int, near: Array, shown: float) -> float:
    """Return how much wider the interval is than what the draws show.

    The scores of a simple model spread less than those of a better one, and it wins
    where the rows happen to say little. So the interval is as wide as it is for that
    candidate within one standard error of the winner whose scores spread the most. Its
    variance is at most that of the draws and of this candidate together: the scores of
    a winner may hardly spread at all.
    """
    most = spread.max(where=near, initial=spread[winner])
    with np.errstate(all="ignore"):  # of scores that do not spread
        factor = min(most / spread[winner], np.hypot(shown, most) / shown)
    return float(factor) if math.isfinite(factor) else 1.0
