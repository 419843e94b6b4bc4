"""Racing: stop candidates early if they are unlikely to win.

Notation: the score of candidate i on fold k of K is y_ik = f_i + b_k + e_ik. The fold
effect b_k is common to all candidates, because some splits are easier than others. The
error e_ik has variance s**2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from skrobustbo._trials import Evaluation, FoldResult, rounding

Array = NDArray[np.float64]
#: Mean and standard deviation of a score before any fold.
Belief = tuple[float, float]
#: Estimate of a score, and the standard deviation of its error.
Estimate = tuple[float, float]

#: Units for squares differ by this many powers of two.
_STEP = 256
#: Number of complete candidates before the first one may be stopped.
_LEAST = 3


@dataclass(frozen=True)
class FoldEffects:
    """Fold effects, estimated from candidates with scores on all folds.

    Attributes
    ----------
    effects : array of shape (n_splits,)
        Mean deviation of the scores on each fold; the deviations sum to zero.
    variance : float
        Residual variance s**2 after removing candidate and fold effects.
    df : int
        Degrees of freedom of `variance`.
    unit : float, default=1.0
        Unit of the scores in `variance`. This is 1, or another power of two if the
        squares of the scores would otherwise overflow or underflow.
    """

    effects: Array
    variance: float
    df: int
    unit: float = 1.0

    @classmethod
    def of(cls, scores: Array) -> FoldEffects | None:
        """Estimate the fold effects from the better half of the candidates.

        Return None if there are fewer than three candidates, if there is only one
        split, or if the variance is zero or overflows.
        """
        n, n_splits = scores.shape
        if n < _LEAST or n_splits < 2:
            return None
        order = np.argsort(-scores.mean(axis=1), kind="stable")
        better = scores[order[: max(_LEAST, -(-n // 2))]]
        centred = better - better.mean(axis=1, keepdims=True)
        effects = centred.mean(axis=0)
        df = (len(better) - 1) * (n_splits - 1)
        largest = float(np.abs(better).max())
        unit = 2.0 ** (_STEP * int((math.frexp(largest)[1] - 1) / _STEP))
        with np.errstate(over="ignore"):
            variance = float((((centred - effects) / unit) ** 2).sum() / df)
        # Rounding errors do not count as variance, and overflow gives no information.
        known = rounding(largest) < unit * math.sqrt(variance) < math.inf
        return cls(effects, variance, df, unit) if known else None

    def estimate(self, scores: Sequence[float]) -> Estimate:
        """Predict the mean score over all folds from the first folds.

        Return the prediction and its standard error. After j of K folds, the error has
        variance s**2 (1/j - 1/K). Folds are drawn without replacement, so no
        uncertainty remains after the last fold.
        """
        j, n_splits = len(scores), len(self.effects)
        mean = float(np.mean(np.asarray(scores) - self.effects[:j]))
        return mean, self.unit * math.sqrt(self.variance * (1 / j - 1 / n_splits))

    @property
    def standard_error(self) -> float:
        """Standard error of a mean score over all folds, excluding fold effects."""
        return self.unit * math.sqrt(self.variance / len(self.effects))

    @property
    def error_of_difference(self) -> float:
        """Standard error of the difference between two means over the same folds."""
        return math.sqrt(2) * self.standard_error


@dataclass(frozen=True)
class Race:
    """Stopping rule for one candidate, fixed when the candidate is proposed.

    Attributes
    ----------
    folds : FoldEffects
        The fold effects.
    beliefs : list of (float, float)
        Prior mean and standard deviation of the candidate's score under each plausible
        model, excluding the noise of a mean over folds. The list is empty if there is
        no model.
    to_beat : float
        Mean score to beat: the best mean score over all folds so far, plus the margin.
    allowance : float
        Maximum probability of error at which the candidate may be stopped.
    """

    folds: FoldEffects
    beliefs: Sequence[Belief]
    to_beat: float
    allowance: float

    def chance(self, scores: Sequence[float]) -> float:
        """Return the probability that the candidate beats the best one so far.

        The scores update the prior of each model, and the result is the largest
        probability over the models. Student's t distribution is used, because the
        variance is estimated from few folds.
        """
        unit = self.folds.unit
        mean, std = (value / unit for value in self.folds.estimate(scores))
        # The mean to beat is noisy too, because it is taken over folds.
        own = self.folds.variance / len(self.folds.effects)
        priors = [
            (mu / unit, math.sqrt((sigma / unit) ** 2 + own))
            for mu, sigma in self.beliefs
        ]
        posteriors = [_updated(prior, mean, std) for prior in priors]
        return max(
            float(student.sf((self.to_beat / unit - mu) / sigma, self.folds.df))
            for mu, sigma in posteriors or [(mean, std)]
        )


def _updated(belief: Belief, mean: float, std: float) -> Belief:
    """Return the posterior of a normal prior, given an estimate with normal error."""
    prior_mean, prior_std = belief
    precisions = np.array([1 / prior_std**2, 1 / std**2])
    updated = float(precisions @ [prior_mean, mean] / precisions.sum())
    return updated, float(precisions.sum() ** -0.5)


class Races:
    """Stopping rules for the candidates of a search, which share one error budget.

    Under each model, the probability of ever stopping a candidate that is better than
    the best one by more than the margin is at most `delta`. Stopping a candidate uses
    up its posterior probability of being better. By the union bound, the sum of these
    probabilities must not exceed `delta`. Each new candidate receives a share of the
    remaining budget, which is divided by the number of planned candidates that are
    left, but at least by two. Unused shares are returned to the budget. The sum
    therefore never exceeds `delta`, regardless of how many candidates are running.

    Parameters
    ----------
    delta : float
        Error budget, which is a probability.
    margin : float
        Smallest relevant improvement over the best candidate, in standard errors of a
        mean score without fold effects.
    n_planned : int
        Number of planned candidates.
    score : callable
        Returns the score of a fold result, or nan if the fold failed.
    beliefs : callable
        Returns each model's prediction of the score of a trial.
    """

    def __init__(
        self,
        delta: float,
        margin: float,
        n_planned: int,
        *,
        score: Callable[[FoldResult], float],
        beliefs: Callable[[Evaluation], Sequence[Belief]],
    ) -> None:
        self.score, self._beliefs = score, beliefs
        self._left, self._margin, self._n_to_ask = delta, margin, n_planned
        self._complete: list[Sequence[float]] = []

    def race(self, trial: Evaluation) -> Race | None:
        """Return the stopping rule for a new candidate, or None if there is none."""
        n_to_ask, self._n_to_ask = self._n_to_ask, self._n_to_ask - 1
        if len(self._complete) < _LEAST:
            return None
        scores = np.array(self._complete)
        folds = FoldEffects.of(scores)
        if folds is None:
            return None
        means = scores.mean(axis=1)
        # The best candidate's scores also differ by fold effects, which its rivals
        # share.
        to_beat = float(means.max() + self._margin * folds.standard_error)
        allowance = self._left / max(n_to_ask, 2)
        self._left -= allowance
        return Race(folds, self._beliefs(trial), to_beat, allowance)

    def complete(self, race: Race | None, scores: Sequence[float]) -> None:
        """Record the scores of a candidate that was not stopped."""
        self.stopped(race, 0.0)
        if all(map(math.isfinite, scores)):
            self._complete.append(scores)

    def stopped(self, race: Race | None, spent: float) -> None:
        """Record a stopped candidate and its probability of error."""
        if race is not None:
            self._left += race.allowance - spent
