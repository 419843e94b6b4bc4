"""What the winner scores on new rows, of the scores of all candidates in bootstraps.

See `_bootstrap` for the method.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Scores that differ by less, relative to their size, are equal: the first one counts.
_ROUNDING = 1e-12
_LEVEL = 0.95


class Honest(NamedTuple):
    """A score of the winner, and its interval."""

    score: float = math.nan
    interval: tuple[float, float] = (math.nan, math.nan)


def score_of_winner(of_all: Array, bags: Array, by_model: Array) -> Honest:
    """Return what the best candidate scores on new rows.

    Parameters
    ----------
    of_all : array of shape (m,)
        Scores of the candidates on all rows, in the order in which they were told.
    bags : array of shape (b, m)
        Scores in bootstrapped samples; nan where undefined.
    by_model : array of bool, shape (m,)
        Which candidates were chosen by a model.
    """
    with np.errstate(all="ignore"):  # of undefined scores
        return _score_of_winner(of_all, bags, by_model)


def _score_of_winner(of_all: Array, bags: Array, by_model: Array) -> Honest:
    follows = followed(bags, by_model)
    data, every = of_all[None, :], np.ones((1, len(of_all)), dtype=bool)
    there = proposed(data, bags, every, follows)
    truth, draws = _reflected(data, bags, there)
    # Of each bag, whose truth is known, another bag: with the noise of its neighbour.
    again = bags + np.roll(bags - of_all, 1, axis=0)
    _, repeated = _reflected(bags, again, proposed(bags, again, there, follows))
    known = np.isfinite(draws) & np.isfinite(repeated)
    if not known.any():
        return Honest()
    draws, bias = draws[known], (repeated - truth)[known].mean()
    tail = (1 - _LEVEL) / 2
    away = np.quantile(draws, [tail, 1 - tail]) - draws.mean()
    score = draws.mean() - bias
    low, high = score + _widening(of_all, bags, draws.std()) * away
    return Honest(float(score), (float(min(low, score)), float(max(high, score))))


def followed(bags: Array, by_model: Array) -> list[int | None]:
    """Return for each candidate which earlier one it is most like, None for no matter.

    That is the one of the largest correlation of their scores in the bags, for a
    candidate that a model has chosen.
    """
    known = bags[np.isfinite(bags).all(axis=1)]
    if len(known) < 2:
        return [None] * len(by_model)
    scaled = known - known.mean(axis=0)
    lengths = np.linalg.norm(scaled, axis=0)
    scaled /= np.where(lengths > 0, lengths, 1.0)
    return [
        int(np.argmax(scaled[:, i] @ scaled[:, :i])) if i and by_model[i] else None
        for i in range(len(by_model))
    ]


def proposed(
    data: Array, bags: Array, among: Array, follows: Sequence[int | None]
) -> Array:
    """Return which candidates a search would also have proposed in a bag of the data.

    A candidate that follows another is one of a bag if that one is, and is behind the
    best before it by no more than in the data.

    Parameters
    ----------
    data : array of shape (b, m) or (1, m)
        Scores on the data.
    bags : array of shape (b, m)
        Scores in the bags.
    among : array of bool, shape (b, m) or (1, m)
        The candidates of the search of the data.
    follows : list of int or None
        Whom each candidate follows; None if it is in every bag.

    Returns
    -------
    proposed : array of bool, shape (b, m)
    """
    found = np.broadcast_to(among, bags.shape).copy()
    best, best_of_data = bags[:, 0], data[:, 0]
    for i, like in enumerate(follows):
        if like is not None:
            usual = best_of_data - data[:, like] + _ROUNDING * np.abs(best)
            found[:, i] &= found[:, like] & ~(best - bags[:, like] > usual)
        best = np.where(found[:, i], np.fmax(best, bags[:, i]), best)
        more = np.fmax(best_of_data, data[:, i])
        best_of_data = np.where(among[:, i], more, best_of_data)
    return found


def _reflected(data: Array, bags: Array, there: Array) -> tuple[Array, Array]:
    """Return the best candidate's score in the data, and that less the bag's luck."""
    means = np.where(np.isfinite(bags) & there, bags, -np.inf)
    best = means.max(axis=1)
    least = best - _ROUNDING * np.abs(best)
    chosen = np.argmax(means >= least[:, None], axis=1)[:, None]
    truth = np.take_along_axis(np.broadcast_to(data, bags.shape), chosen, axis=1)[:, 0]
    return truth, np.where(np.isfinite(best), 2 * truth - best, np.nan)


def _widening(of_all: Array, bags: Array, shown: float) -> float:
    """Return how much wider the interval is than what the draws show.

    The scores of a simple model spread less than those of a better one, and it wins
    where the rows happen to say little. So the interval is as wide as it is for that
    candidate within one standard error of the winner whose scores spread the most. Its
    variance is at most that of the draws and of this candidate together: the scores of
    a winner may hardly spread at all.
    """
    known = bags[np.isfinite(bags).all(axis=1)]
    if len(known) < 2:
        return 1.0
    winner = int(np.nanargmax(of_all))
    spread = known.std(axis=0)
    near = of_all[winner] - of_all <= (known - known[:, [winner]]).std(axis=0)
    most = spread.max(where=near, initial=spread[winner])
    factor = min(most / spread[winner], np.hypot(shown, most) / shown)
    return float(factor) if math.isfinite(factor) else 1.0
