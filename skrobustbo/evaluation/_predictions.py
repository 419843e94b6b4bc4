"""Record out-of-fold predictions in a worker."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._sklearn_compat import (
    fit_and_score,
    score_function,
    score_sign,
    with_score_function,
    with_scorer,
)
from skrobustbo._trials import RawResult

Array = NDArray[Any]

#: Largest relative change in a score that rounding the predictions may cause.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Recorder:
    """Records the predictions from which the score of a fold is computed.

    The metric function is wrapped, so that no prediction is computed twice.

    Attributes
    ----------
    scorer : scorer of make_scorer
        The scorer of the folds, or an equivalent scorer.
    metric : str or None
        Name of the metric, or None if there is only one.
    classes : array of shape (n_classes,)
        Class labels; empty for a regressor. Predicted labels are stored as positions in
        this array.
    """

    scorer: Any
    metric: str | None
    classes: Array

    def fit_and_score(self, scorer: Any, **kwargs: Any) -> RawResult:
        """Fit and score a fold, and add its predictions if they can be stored."""
        tape: list[_Call] = []
        heard = with_score_function(
            self.scorer, _listening(score_function(self.scorer), tape)
        )
        if self.metric is not None:
            heard = with_scorer(scorer, self.metric, heard)
        result: RawResult = fit_and_score(scorer=heard, **kwargs)
        scores = result["test_scores"]
        score = scores if self.metric is None else scores[self.metric]
        # The test rows are scored first; if that fails, no predictions match their
        # score.
        if tape and score_sign(self.scorer) * tape[0].score == score:
            kept = self._kept(tape[0])
            if kept is not None:
                result["predictions"] = kept
        return result

    def _kept(self, call: _Call) -> Array | None:
        """Return the predictions in compact form, or None if they cannot be stored."""
        found = np.asarray(call.predicted)
        if found.ndim not in (1, 2) or len(found) != len(call.true):
            return None
        if found.dtype.kind in "biuUSO" and (codes := self._codes(found)) is not None:
            return codes
        if found.dtype.kind not in "biuf" or not np.isfinite(found).all():
            return None
        with np.errstate(over="ignore"):  # infinite numbers change the score
            short = found.astype(np.float32)
        return short if call.scores_the_same(short) else found.astype(np.float64)

    def _codes(self, labels: Array) -> Array | None:
        if not len(self.classes):
            return None
        try:
            places = np.searchsorted(self.classes, labels)
        except TypeError:  # labels of different types
            return None
        places = np.minimum(places, len(self.classes) - 1)
        if not np.array_equal(self.classes[places], labels):
            return None
        return places.astype(np.min_scalar_type(len(self.classes) - 1))

    def decoded(self, kept: Array) -> Array:
        """Return stored predictions in the form that the metric expects.

        A single column contains labels or the values of one target, never
        probabilities.
        """
        codes = kept.dtype.kind == "u"
        if codes or not len(self.classes):
            kept = flat(kept)
        return self.classes[kept] if codes else kept


@dataclass(frozen=True)
class _Call:
    """A call to a metric, and its result."""

    function: Callable[..., Any]
    true: Any
    predicted: Any
    settings: dict[str, Any]
    score: Any

    def scores_the_same(self, predicted: Array) -> bool:
        """Return whether other predictions have nearly the same score."""
        try:
            score = self.function(self.true, predicted, **self.settings)
        except Exception:  # metrics may raise anything for rounded numbers
            return False
        return math.isclose(score, self.score, rel_tol=_ROUNDING)


def _listening(function: Callable[..., Any], tape: list[_Call]) -> Callable[..., Any]:
    """Return the metric, wrapped so that it records its calls."""

    @wraps(function)
    def heard(true: Any, predicted: Any, **settings: Any) -> Any:
        score = function(true, predicted, **settings)
        tape.append(_Call(function, true, predicted, settings, score))
        return score

    return heard


def flat(values: Any) -> Array:
    """Return the values as an array, with a single column flattened."""
    found = np.asarray(values)
    return found.ravel() if found.shape[1:] == (1,) else found
