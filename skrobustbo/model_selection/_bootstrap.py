"""The bootstrap of out-of-fold predictions: how noisy the scores of candidates are.

Rows are drawn with replacement, and all candidates are scored on this sample, the bag.
Over many bags, the scores spread about as much as they would over many data sets, and
their correlations show which candidates share their luck. `_optimism` derives from
this how lucky the best candidate is.

The models of the folds are not fitted again: they are taken as given.

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

#: Bootstrap replicates; fewer where a metric is called for each sample and candidate.
N_REPLICATES, N_SLOW = 1000, 200
#: Entries of a table of draws, which bounds the memory.
_BLOCK = 4_000_000


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
    errors : list of Exception
        What it raised last, if it raised anything.
    """

    function: Callable[..., Any]
    sign: int
    settings: Mapping[str, Any]
    of_rows: Mapping[str, Array]
    errors: list[Exception] = field(default_factory=list)

    def at(self, rows: Array) -> Metric:
        """Return the metric of some rows."""
        of_rows = {name: values[rows] for name, values in self.of_rows.items()}
        return replace(self, of_rows=of_rows)

    def __call__(self, y: Array, predicted: Array) -> float:
        """Return the score of predictions, nan where it is undefined."""
        try:
            score = self.function(y, predicted, **self.settings, **self.of_rows)
            return self.sign * float(score)
        # Whatever a metric raises for too few rows, or one class.
        except Exception as error:
            self.errors[:] = [error]
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
        self.metric, self._y, self._predicted = metric, y, predicted
        self.units = units
        plain = metric.of_rows.keys() <= {"sample_weight"}
        by_rule = weighted(metric.function, y, predicted, metric.settings)
        self._weighted = by_rule if plain else None
        #: Whether many samples are scored at once.
        self.is_fast = self._weighted is not None

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
            weights = counts * self.metric.of_rows.get("sample_weight", 1.0)
            return self.metric.sign * self._weighted(weights)
        n = len(self._predicted)
        found = [[self._score(i, drawn) for i in range(n)] for drawn in counts]
        return np.array(found)

    def of(self, candidates: Sequence[int]) -> FoldScores:
        """Return the scores of some candidates alone."""
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
    """Return the scores of all candidates on all rows, and in bags of them.

    Units, rows or groups of rows, are drawn with replacement, as many as there are. A
    drawn row brings its predictions of all folds along. The score of a sample is the
    mean of the folds' scores, as in cross-validation, in which a fold counts by how
    many rows were drawn, relative to how many it has. Folds in which the metric is
    undefined do not count.

    Parameters
    ----------
    folds : list of FoldScores
        The folds; their units are numbers from 0 on, all of which occur.
    n_units : int
        How many units there are.
    rng : Generator
        Draws the units.
    tell : callable
        Told how many bags are scored, and how many there will be.

    Returns
    -------
    of_all : array of shape (m,)
    bags : array of shape (n, m)
        nan where undefined; n is `N_REPLICATES`, or `N_SLOW`.

    Raises
    ------
    ValueError
        If there are scores of all candidates in less than two bags.
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
            # How often units are drawn, a line for each bag.
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
    """Return the scores of all candidates on all rows but those of one unit.

    Parameters
    ----------
    folds, n_units, rng
        As in `bootstrapped`.

    Returns
    -------
    scores : array of shape (k, m)
        nan where undefined; of at most as many units as there are bags, drawn if there
        are more.
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
    """Return how many samples to score, and how many at once."""
    if all(fold.is_fast for fold in folds):
        return N_REPLICATES, max(1, _BLOCK // n_units)
    return N_SLOW, 1


@contextmanager
def _quiet() -> Iterator[None]:
    """Score samples without warnings of metrics that are undefined, and quickly."""
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        config_context(assume_finite=True, skip_parameter_validation=True),
    ):
        warnings.simplefilter("ignore")
        yield


def _means(folds: Sequence[FoldScores], draws: Array) -> Array:
    """Return the mean scores of samples, shape (b, n_candidates); nan if undefined."""
    counts = [draws[:, fold.units] for fold in folds]
    pairs = zip(folds, counts, strict=True)
    scores = np.array([fold.all(drawn) for fold, drawn in pairs])
    shares = np.array([drawn.mean(axis=1) for drawn in counts])
    # A candidate that has no score where another has one has no mean, either.
    defined = np.isfinite(scores).any(axis=2)
    shares = np.where(defined, shares, 0.0)[:, :, None]
    scores = np.where(defined[:, :, None], scores, 0.0)
    return (shares * scores).sum(axis=0) / shares.sum(axis=0)
