"""The bootstrap of out-of-fold predictions: choose in the bag, score outside of it.

References
----------
Tsamardinos, Greasidou, Borboudakis (2018), Bootstrapping the out-of-sample predictions
for efficient and accurate cross-validation. Machine Learning 107, algorithm 4.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context

from skrobustbo.model_selection._weighted import RULES

Array = NDArray[Any]

#: Bootstrap replicates.
N_REPLICATES = 1000
#: Entries of a table of draws, which bounds the memory.
_BLOCK = 4_000_000
#: Scores that differ by less, relative to their size, are equal: the first one counts.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Metric:
    """What scores predictions, larger values being better.

    Attributes
    ----------
    function : callable
        Takes true and predicted values of some rows.
    sign : {1, -1}
        What its values are multiplied by.
    settings : dict
        Passed on, the same for all rows.
    of_rows : dict of arrays of shape (n,)
        Passed on for the rows that are scored, such as their weights.
    """

    function: Callable[..., Any]
    sign: int
    settings: Mapping[str, Any]
    of_rows: Mapping[str, Array]

    def at(self, rows: Array) -> Metric:
        """Return the metric of some rows."""
        of_rows = {name: values[rows] for name, values in self.of_rows.items()}
        return Metric(self.function, self.sign, self.settings, of_rows)

    def __call__(self, y: Array, predicted: Array) -> float:
        """Return the score of predictions, nan where it is undefined."""
        try:
            score = self.function(y, predicted, **self.settings, **self.of_rows)
            return self.sign * float(score)
        except Exception:  # whatever a metric raises for too few rows, or one class
            return np.nan


class FoldScores:
    """The scores of all candidates in one fold, of any sample of its test rows.

    Parameters
    ----------
    metric : Metric
        For these rows.
    y : array of shape (n,) or (n, n_outputs)
        True values.
    predicted : list of arrays, one for each candidate
        Predictions for the same rows.
    units : array of shape (n,)
        What is drawn with each row: its own number, or that of its group.
    """

    def __init__(
        self, metric: Metric, y: Array, predicted: Sequence[Array], units: Array
    ) -> None:
        self._metric, self._y, self._predicted = metric, y, predicted
        self.units = units
        rule = RULES.get(metric.function)
        plain = not metric.settings and metric.of_rows.keys() <= {"sample_weight"}
        self._weighted = rule(y, predicted) if rule is not None and plain else None

    def all(self, counts: Array) -> Array:
        """Return the scores of all candidates, by how often rows were drawn.

        Parameters
        ----------
        counts : array of shape (b, n)
            For each sample and each row, how often it was drawn.

        Returns
        -------
        scores : array of shape (b, m)
            nan where undefined.
        """
        if self._weighted is not None:
            weights = counts * self._metric.of_rows.get("sample_weight", 1.0)
            return self._metric.sign * self._weighted(weights)
        n = len(self._predicted)
        found = [[self._score(i, drawn) for i in range(n)] for drawn in counts]
        return np.array(found)

    def of(self, chosen: Array, counts: Array) -> Array:
        """Return the score of one chosen candidate for each sample, shape (b,)."""
        if self._weighted is not None:
            return np.take_along_axis(self.all(counts), chosen[:, None], axis=1)[:, 0]
        pairs = zip(chosen, counts, strict=True)
        return np.array([self._score(i, drawn) for i, drawn in pairs])

    def _score(self, candidate: int, drawn: Array) -> float:
        rows = np.repeat(np.arange(len(drawn)), drawn)
        if not len(rows):
            return np.nan
        predicted = self._predicted[candidate][rows]
        return self._metric.at(rows)(self._y[rows], predicted)


def replicates(
    folds: Sequence[FoldScores], rng: np.random.Generator, n: int = N_REPLICATES
) -> Array:
    """Return what candidates chosen in a bag score outside of it, for each replicate.

    Units, rows or groups of rows, are drawn with replacement, as many as there are. A
    drawn row brings its predictions of all folds along. The score of a sample is the
    mean of the folds' scores, as in cross-validation, in which a fold counts by the
    share of its rows that is in the sample. Folds in which the metric is undefined do
    not count.

    Parameters
    ----------
    folds : list of FoldScores
        The folds; their units are numbers from 0 on, all of which occur.
    rng : Generator
        Draws the units.
    n : int, default=N_REPLICATES
        Number of replicates.

    Returns
    -------
    scores : array of shape (n,)
        nan where there was nothing to choose from, or to score.
    """
    n_units = 1 + max(int(fold.units.max()) for fold in folds)
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        config_context(assume_finite=True, skip_parameter_validation=True),
    ):
        warnings.simplefilter("ignore")  # of metrics that are undefined
        found = [_outside(folds, draws) for draws in _draws(n_units, rng, n)]
    return np.concatenate(found)


def _draws(n_units: int, rng: np.random.Generator, n: int) -> Iterator[Array]:
    """Give tables of how often units are drawn, a line for each replicate."""
    step = max(1, _BLOCK // n_units)
    for start in range(0, n, step):
        lines = range(min(step, n - start))
        drawn = [rng.integers(n_units, size=n_units) for _ in lines]
        yield np.array([np.bincount(units, minlength=n_units) for units in drawn])


def _outside(folds: Sequence[FoldScores], draws: Array) -> Array:
    """Return the scores, outside of each bag, of the candidate chosen in it."""
    inside = np.array([fold.all(draws[:, fold.units]) for fold in folds])
    shares = np.array([draws[:, fold.units].mean(axis=1) for fold in folds])
    defined = np.isfinite(inside).any(axis=2)
    shares = np.where(defined, shares, 0.0)[:, :, None]
    # A candidate that has no score where another has one cannot be chosen.
    inside = np.where(defined[:, :, None], inside, 0.0)
    means = (shares * inside).sum(axis=0) / shares.sum(axis=0)
    means = np.where(np.isfinite(means), means, -np.inf)
    best = means.max(axis=1, keepdims=True)
    chosen = np.argmax(means >= best - _ROUNDING * np.abs(best), axis=1)
    left = (draws == 0).astype(int)
    scores = np.array([fold.of(chosen, left[:, fold.units]) for fold in folds])
    shares = np.array([left[:, fold.units].mean(axis=1) for fold in folds])
    shares = np.where(np.isfinite(scores), shares, 0.0)
    scores = np.where(np.isfinite(scores), scores, 0.0)
    found: Array = (shares * scores).sum(axis=0) / shares.sum(axis=0)
    return np.where(np.isfinite(best[:, 0]), found, np.nan)
