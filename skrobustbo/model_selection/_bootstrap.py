"""Estimate the optimism of the best score by bootstrapping out-of-fold predictions.

Rows are drawn with replacement, and every candidate is scored on the resulting sample,
called a bag. Scores vary about as much between bags as between data sets. The
correlations between candidates show which of them do well on the same rows. No models
are refitted.

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
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit
from sklearn import config_context

from skrobustbo.model_selection._row_metrics import Weighted, weighted

Array = NDArray[Any]

#: Number of bootstrap replicates, and a smaller number for metrics that score one
#: sample at a time.
N_REPLICATES, N_SLOW = 1000, 200
#: Maximum number of entries in a table of draws, to limit memory.
_BLOCK = 4_000_000
#: Scores with a smaller relative difference count as equal, and the first one wins.
_ROUNDING = 1e-12
#: Probability outside the interval on each side.
_TAIL = 0.025


@dataclass(frozen=True)
class Metric:
    """A metric that scores predictions; larger values are better.

    Attributes
    ----------
    function : callable
        Function of the true and predicted values.
    sign : {1, -1}
        Factor by which the values of the function are multiplied.
    settings : dict
        Additional arguments that are the same for all rows.
    of_rows : dict of arrays of shape (n,)
        Additional arguments with one value per row, such as sample weights.
    errors : list of Exception
        The last exception raised by the metric, if any.
    """

    function: Callable[..., Any]
    sign: int
    settings: Mapping[str, Any]
    of_rows: Mapping[str, Array]
    errors: list[Exception] = field(default_factory=list)

    def at(self, rows: Array) -> Metric:
        """Return the metric restricted to the given rows."""
        of_rows = {name: values[rows] for name, values in self.of_rows.items()}
        return replace(self, of_rows=of_rows)

    def __call__(self, y: Array, predicted: Array) -> float:
        """Return the score of the predictions, or nan if it is undefined."""
        try:
            score = self.function(y, predicted, **self.settings, **self.of_rows)
            return self.sign * float(score)
        # Metrics may raise anything for too few rows or a single class.
        except Exception as error:
            self.errors[:] = [error]
            return np.nan


@dataclass(frozen=True)
class FoldScores:
    """Compute the scores of all candidates on samples of a fold's test rows.

    Attributes
    ----------
    metric : Metric
        The metric, restricted to the test rows.
    y : array of shape (n,) or (n, n_outputs)
        True values of the test rows.
    predicted : list of arrays, one for each candidate
        Predictions for the test rows.
    units : array of shape (n,)
        Sampling unit of each row: the number of the row or of its group.
    """

    metric: Metric
    y: Array
    predicted: Sequence[Array]
    units: Array

    @cached_property
    def _by_rule(self) -> Weighted | None:
        """The scores as a function of row weights, or None if no rule applies."""
        metric = self.metric
        if not metric.of_rows.keys() <= {"sample_weight"}:
            return None
        return weighted(metric.function, self.y, self.predicted, metric.settings)

    @property
    def is_fast(self) -> bool:
        """Whether many samples can be scored at once."""
        return self._by_rule is not None

    def all(self, counts: Array) -> Array:
        """Return the scores of all candidates on several samples.

        Parameters
        ----------
        counts : array of shape (b, n)
            Number of times that each sample contains each row.

        Returns
        -------
        scores : array of shape (b, m)
            The scores; nan if undefined.
        """
        if self._by_rule is not None:
            weights = counts * self.metric.of_rows.get("sample_weight", 1.0)
            return self.metric.sign * self._by_rule(weights)
        n = len(self.predicted)
        return np.array([[self._score(i, drawn) for i in range(n)] for drawn in counts])

    def of(self, candidates: Sequence[int]) -> FoldScores:
        """Return a copy that contains only some of the candidates."""
        return replace(self, predicted=[self.predicted[i] for i in candidates])

    def _score(self, candidate: int, drawn: Array) -> float:
        rows = np.repeat(np.arange(len(drawn)), drawn)
        if not len(rows):
            return np.nan
        return self.metric.at(rows)(self.y[rows], self.predicted[candidate][rows])


def bootstrapped(
    folds: Sequence[FoldScores],
    n_units: int,
    rng: np.random.Generator,
    tell: Callable[[int, int], None],
) -> tuple[Array, Array]:
    """Return the scores of all candidates on all rows and on bootstrap samples.

    A bag is a bootstrap sample of `n_units` units (rows or groups of rows). Each drawn
    row is used in every fold that has predictions for it. As in cross-validation, the
    score of a bag is the mean over folds. Each fold is weighted by its number of drawn
    rows divided by its size. Folds in which the metric is undefined are ignored.

    Parameters
    ----------
    folds : list of FoldScores
        The folds, with units numbered consecutively from 0.
    n_units : int
        Number of units.
    rng : Generator
        Random number generator used to draw the units.
    tell : callable
        Called with the number of scored bags and the total number of bags.

    Returns
    -------
    of_all : array of shape (m,)
    bags : array of shape (n, m)
        Scores in `N_REPLICATES` or `N_SLOW` bags; nan if undefined.

    Raises
    ------
    ValueError
        If fewer than two bags have valid scores for all candidates.
    """

    def bag(_: int) -> Array:
        return np.bincount(rng.integers(n_units, size=n_units), minlength=n_units)

    (of_all,) = _scores(folds, n_units, lambda _: np.ones(n_units, dtype=int), 1)
    bags = _scores(folds, n_units, bag, _n_samples(folds), tell)
    if np.isfinite(bags).all(axis=1).sum() < 2:
        raise ValueError(
            "the metric has no score for rows drawn with replacement"
        ) from next(
            (fold.metric.errors[0] for fold in folds if fold.metric.errors), None
        )
    return of_all, bags


def without_one(
    folds: Sequence[FoldScores], n_units: int, rng: np.random.Generator
) -> Array:
    """Return the scores of all candidates with one unit left out at a time.

    Returns
    -------
    scores : array of shape (k, m)
        Scores without each of k units; nan if undefined. If there are more units than
        bags, k is the number of bags, and the units are chosen at random.
    """
    left_out = rng.permutation(n_units)[: _n_samples(folds)]

    def without(i: int) -> Array:
        return (np.arange(n_units) != left_out[i]).astype(int)

    return _scores(folds, n_units, without, len(left_out))


def _n_samples(folds: Sequence[FoldScores]) -> int:
    return N_REPLICATES if all(fold.is_fast for fold in folds) else N_SLOW


def _scores(
    folds: Sequence[FoldScores],
    n_units: int,
    draw: Callable[[int], Array],
    n: int,
    tell: Callable[[int, int], None] = lambda n_scored, n: None,
) -> Array:
    """Return the scores of all candidates on `n` samples, with shape (n, m).

    `draw(i)` returns how often sample i contains each unit.
    """
    is_fast = all(fold.is_fast for fold in folds)
    step = max(1, _BLOCK // n_units) if is_fast else 1
    found: list[Array] = []
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        config_context(assume_finite=True, skip_parameter_validation=True),
    ):
        warnings.simplefilter("ignore")
        for start in range(0, n, step):
            end = min(start + step, n)
            draws = np.array([draw(i) for i in range(start, end)])
            found.append(_means(folds, draws))
            tell(end, n)
    return np.concatenate(found)


def _means(folds: Sequence[FoldScores], draws: Array) -> Array:
    """Return mean scores over folds, with shape (b, n_candidates); nan if undefined."""
    counts = [draws[:, fold.units] for fold in folds]
    pairs = zip(folds, counts, strict=True)
    scores = np.array([fold.all(drawn) for fold, drawn in pairs])
    shares = np.array([drawn.mean(axis=1) for drawn in counts])
    # A candidate without a score in a fold that scores another candidate has no mean.
    defined = np.isfinite(scores).any(axis=2)
    shares = np.where(defined, shares, 0.0)[:, :, None]
    scores = np.where(defined[:, :, None], scores, 0.0)
    return (shares * scores).sum(axis=0) / shares.sum(axis=0)


# Optimism -----------------------------------------------------------------------------


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
