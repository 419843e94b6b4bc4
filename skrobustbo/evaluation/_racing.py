"""Racing: stop candidates that cannot win before all their folds are fitted.

Notation: candidate i scores y_ik = f_i + b_k + e_ik on fold k of K. The fold effect b_k
is common to all candidates, because some splits are easier; e_ik has variance s**2.
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
    """Fold effects, estimated from complete candidates.

    Attributes
    ----------
    effects : array of shape (n_splits,)
        How much higher the scores in each fold are; the effects sum to zero.
    variance : float
        Variance s**2 that neither candidates nor folds explain.
    df : int
        Degrees of freedom of `variance`.
    unit : float, default=1.0
        Unit of the scores in `variance`: a power of two, and 1 unless the squares of
        scores would over- or underflow.
    """

    effects: Array
    variance: float
    df: int
    unit: float = 1.0

    @classmethod
    def of(cls, scores: Array) -> FoldEffects | None:
        """Return the effects, estimated from the better half of the candidates.

        Return None for fewer than three candidates or scores without variance.
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
        """Return the mean score predicted from the first folds, and its error.

        After j of K folds, the error has variance s**2 (1/j - 1/K): folds are drawn
        without replacement, so no uncertainty is left at the end.
        """
        j, n_splits = len(scores), len(self.effects)
        mean = float(np.mean(np.asarray(scores) - self.effects[:j]))
        return mean, self.unit * math.sqrt(self.variance * (1 / j - 1 / n_splits))

    @property
    def standard_error(self) -> float:
        """The standard error of a mean over all folds, without fold effects."""
        return self.unit * math.sqrt(self.variance / len(self.effects))

    @property
    def error_of_difference(self) -> float:
        """Standard error of the difference between two such means on the same folds."""
        return math.sqrt(2) * self.standard_error


@dataclass(frozen=True)
class Race:
    """The race of one candidate, fixed when the candidate is proposed.

    Attributes
    ----------
    folds : FoldEffects
        The fold effects.
    beliefs : list of (float, float)
        Mean and standard deviation of the candidate's score, without the noise of a
        mean over folds, under each plausible model; empty without a model.
    to_beat : float
        The best mean score of a complete candidate, plus the margin.
    allowance : float
        Probability of error that stopping this candidate may use up.
    """

    folds: FoldEffects
    beliefs: Sequence[Belief]
    to_beat: float
    allowance: float

    def chance(self, scores: Sequence[float]) -> float:
        """Return the probability that the candidate beats the best.

        This is the largest probability over the models. The folds so far update each
        prior. Student's t applies, because the variance is estimated from few folds.
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
    """Return a normal belief, updated by an estimate with a normal error."""
    prior_mean, prior_std = belief
    precisions = np.array([1 / prior_std**2, 1 / std**2])
    updated = float(precisions @ [prior_mean, mean] / precisions.sum())
    return updated, float(precisions.sum() ** -0.5)


class Races:
    """The races of a search, which share one error budget.

    Under each model, the probability of ever stopping a candidate that is better than
    the best by more than the margin is at most `delta`. Each stop spends the posterior
    probability of an error; by the union bound, the sum must not exceed `delta`. Each
    new candidate gets an equal share of the remaining budget: the remainder divided by
    the number of planned candidates left or, beyond the plan, by two. Unused shares are
    returned. The sum therefore never exceeds `delta`, however many candidates are
    running.

    Parameters
    ----------
    delta : float
        The budget.
    margin : float
        How much better a candidate must be to count, in standard errors of a mean score
        without fold effects.
    n_planned : int
        Number of planned candidates.
    score : callable
        Returns the score of a fold's result; nan if it failed.
    beliefs : callable
        Returns the models' predictions for a trial before its folds.
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
        """Return the race of a new candidate; None if it does not race."""
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
