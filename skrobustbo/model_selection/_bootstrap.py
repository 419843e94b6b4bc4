"""Bootstrap out-of-fold predictions to estimate the noise in scores.

Rows are drawn with replacement, and every candidate is scored on the resulting sample,
called a bag. Scores vary about as much between bags as between data sets. The
correlations between candidates show which of them do well on the same rows. The
`_optimism` module uses the bags to estimate the optimism of the best score.

No models are refitted.

References
----------
Tsamardinos, Greasidou, Borboudakis (2018), Bootstrapping the out-of-sample predictions
for efficient and accurate cross-validation. Machine Learning 107.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context

from skrobustbo.model_selection._row_metrics import weighted

Array = NDArray[Any]

#: Number of bootstrap replicates, and a smaller number for metrics that score one
#: sample at a time.
N_REPLICATES, N_SLOW = 1000, 200
#: Maximum number of entries in a table of draws, to limit memory.
_BLOCK = 4_000_000


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


class FoldScores:
    """Compute the scores of all candidates on samples of a fold's test rows.

    Parameters
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

    def __init__(
        self, metric: Metric, y: Array, predicted: Sequence[Array], units: Array
    ) -> None:
        self.metric, self._y, self._predicted = metric, y, predicted
        self.units = units
        plain = metric.of_rows.keys() <= {"sample_weight"}
        by_rule = weighted(metric.function, y, predicted, metric.settings)
        self._weighted = by_rule if plain else None
        #: Whether many samples can be scored at once.
        self.is_fast = self._weighted is not None

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
        if self._weighted is not None:
            weights = counts * self.metric.of_rows.get("sample_weight", 1.0)
            return self.metric.sign * self._weighted(weights)
        n = len(self._predicted)
        found = [[self._score(i, drawn) for i in range(n)] for drawn in counts]
        return np.array(found)

    def of(self, candidates: Sequence[int]) -> FoldScores:
        """Return a copy that contains only some of the candidates."""
        predicted = [self._predicted[i] for i in candidates]
        return FoldScores(self.metric, self._y, predicted, self.units)

    def _score(self, candidate: int, drawn: Array) -> float:
        rows = np.repeat(np.arange(len(drawn)), drawn)
        if not len(rows):
            return np.nan
        predicted = self._predicted[candidate][rows]
        return self.metric.at(rows)(self._y[rows], predicted)


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
    n, step = _amounts(folds, n_units)
    bags: list[Array] = []
    with _quiet():
        of_all = _means(folds, np.ones((1, n_units), dtype=int))[0]
        for start in range(0, n, step):
            drawn = [
                rng.integers(n_units, size=n_units)
                for _ in range(start, min(start + step, n))
            ]
            # Number of draws of each unit, one row per bag.
            draws = [np.bincount(units, minlength=n_units) for units in drawn]
            bags.append(_means(folds, np.array(draws)))
            tell(min(step * len(bags), n), n)
    scores = np.concatenate(bags)
    if np.isfinite(scores).all(axis=1).sum() < 2:
        raise ValueError(
            "the metric has no score for rows drawn with replacement"
        ) from next(
            (fold.metric.errors[0] for fold in folds if fold.metric.errors), None
        )
    return of_all, scores


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
    n, step = _amounts(folds, n_units)
    left_out = rng.permutation(n_units)[:n]
    found: list[Array] = []
    with _quiet():
        for start in range(0, len(left_out), step):
            some = left_out[start : start + step]
            draws = np.ones((len(some), n_units), dtype=int)
            draws[np.arange(len(some)), some] = 0
            found.append(_means(folds, draws))
    return np.concatenate(found)


def _amounts(folds: Sequence[FoldScores], n_units: int) -> tuple[int, int]:
    """Return the number of samples and the number to score at once."""
    if all(fold.is_fast for fold in folds):
        return N_REPLICATES, max(1, _BLOCK // n_units)
    return N_SLOW, 1


@contextmanager
def _quiet() -> Iterator[None]:
    """Disable parameter validation and warnings while samples are scored."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        config_context(assume_finite=True, skip_parameter_validation=True),
    ):
        warnings.simplefilter("ignore")
        yield


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
