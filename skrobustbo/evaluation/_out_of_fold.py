"""Collect the out-of-fold predictions of a search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._trials import FoldResult
from skrobustbo.evaluation._folds import Job
from skrobustbo.evaluation._predictions import Recorder

Array = NDArray[Any]


@dataclass
class OutOfFold:
    """Predictions of each candidate for the test rows of all folds.

    Attributes
    ----------
    recorder : Recorder or None
        Recorder of predictions, or None if they are not needed.
    job : Job
        The data, splits and settings that all folds share.
    kept : dict of int to list of (array or None)
        Predictions of each finished candidate by split; None if a fold has no
        predictions.
    """

    recorder: Recorder | None = None
    job: Job = field(init=False)
    kept: dict[int, list[Array | None]] = field(default_factory=dict)

    @property
    def n_classes(self) -> int | None:
        """Number of classes (0 for a regressor), or None if nothing is recorded."""
        return None if self.recorder is None else len(self.recorder.classes)

    def check(self, splits: Sequence[tuple[Any, Any]], n_samples: int) -> None:
        """Raise a ValueError if predictions are needed but splits are in time order.

        The rows of a time series depend on each other, and each split trains on more
        rows than the previous one. Bootstrapping the rows would therefore greatly
        underestimate the noise. The rows may also be in reverse order.
        """
        if self.recorder is None:
            return
        rows = np.arange(n_samples)
        pairs = [pair for pair in splits if all(map(len, pair))]
        before = [rows[train].max() < rows[test].min() for train, test in pairs]
        after = [rows[train].min() > rows[test].max() for train, test in pairs]
        if pairs and (all(before) or all(after)):
            where = "before" if before[0] else "after"
            raise ValueError(
                "The 'honest_score' of RobustBayesSearchCV can only be True if rows "
                "do not depend on each other. Got splits whose training rows all come "
                f"{where} their test rows, as in time series; pass "
                "honest_score='folds', which needs only the scores of the folds."
            )

    def take(self, number: int, results: Iterable[FoldResult]) -> None:
        """Store the predictions of a candidate."""
        self.kept[number] = [result.predictions for result in results]
