"""Trials, their evaluations and containers of trials."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from skrobustbo._forms import Count, NotNegative

Array = NDArray[np.float64]
FoldId = tuple[int, int]  # number of the trial, and number of the split
#: A worker's result for a fold, before validation.
RawResult = dict[str, Any]
#: Name of a single, unnamed metric in the scores of a fold.
SINGLE = ""

#: Values are clipped to this size for models, so that differences and sums are finite.
_LARGEST = 1e300
#: Values that differ by at most this many units in the last place count as equal.
_ULPS = 16

#: Columns of the results that are known when a candidate is asked, and the fields of a
#: trial that hold them. Checkpoints store them as well.
COLUMNS = {"model_label": "label", "model_mean": "mean", "model_std": "std"}


class Survivor(TypedDict):
    """Label of a surviving candidate model, and any length scales that identify it."""

    label: str
    length_scales: list[float] | None


class RungValue(TypedDict):
    """Value of a point at a rung with its error, or None while it is pending."""

    rung: Count
    value: float | None
    std: NotNegative


#: A number that fits into a float, stored unchanged.
Score = Annotated[
    bool | int | float,
    lambda score: isinstance(score, float) or abs(score) <= sys.float_info.max,
]
Scores = Annotated[dict[str, Score], bool]
#: A duration; nan if unknown.
Seconds = Annotated[float, lambda seconds: not seconds < 0 and seconds != math.inf]


@dataclass(frozen=True)
class FoldResult:
    """Result of a single fold.

    Attributes
    ----------
    test_scores : dict of str to float
        Test scores by metric. A metric without a name has the key `SINGLE`.
    train_scores : dict of str to float, default=None
        Training scores by metric, if requested.
    n_test_samples : int, default=0
        Number of test samples.
    fit_time, score_time : float, default=nan
        Times for fitting and scoring, in seconds.
    fit_error : str, default=None
        Traceback if the fit failed.
    predictions : array, default=None
        Predictions for the test samples, if they are stored.
    turn : int, default=0
        Position among the results, if the search depends on their order.
    """

    test_scores: Scores
    train_scores: Scores | None = None
    n_test_samples: Count = 0
    fit_time: Seconds = math.nan
    score_time: Seconds = math.nan
    fit_error: str | None = None
    predictions: NDArray[Any] | None = None
    turn: Count = 0

    def score(self, metric: str | None) -> float:
        """Return the test score of a metric, or of the only metric if it is None.

        If a callable scorer returns several metrics, a failed fold has a single score
        until the names of the metrics are known.
        """
        scores = self.test_scores
        return float(scores.get(metric or SINGLE, scores.get(SINGLE, math.nan)))

    @property
    def has_failed(self) -> bool:
        """Whether the fold raised an error or has a score that is nan or infinite."""
        finite = all(map(math.isfinite, self.test_scores.values()))
        return bool(self.fit_error) or not finite


#: A finished fold and its result.
Done = tuple[FoldId, FoldResult]


@dataclass(eq=False)
class Trial:
    """Record of a point that was asked or told.

    Attributes
    ----------
    params : dict
        The point as a dict of parameter values.
    x : array of shape (n_columns,)
        The point in the encoding of its branch, or an empty array if no optimizer
        created the trial.
    branch : int
        Index of the branch, or -1 for the original estimator if it is outside the
        space.
    number : int
        Index among the trials of the optimizer, or -1 before it is assigned.
    kind : {"initial", "model", "fallback", "told"}
        "initial" for points of the initial design, "model" for points chosen by a
        model, "fallback" for design points used after a model failed, and "told" for
        points that were told without being asked.
    label : str
        Label of the model that chose the point, or the trial's kind if there is none.
    length_scales : list of float or None
        Length scales of this model in unit-cube coordinates, either one for all
        parameters or one per column. None if they do not identify the model.
    divisor : float or None
        Number by which the estimated length scales were divided, or None if they were
        not estimated.
    mean, std : float
        Mean and standard deviation predicted by the model before the evaluation, in
        units of the objective.
    alive : list of dict
        `label` and `length_scales` of each candidate model that had survived when the
        point was asked.
    metadata : dict or None
        Metadata of the policy in JSON types, or None if no model chose the point.
    width : float
        Difference between the upper bound on the values of the branch and the lower
        confidence limit at the point, in units of the objective. It is nan if there was
        no upper bound.
    rungs : list of dict
        Values at the rungs of a resource, in the order of evaluation.
    value : float or None
        The told value, or None while the point is pending. In a search with a resource,
        this is the value at the full amount or its prediction.
    value_std : float
        Standard deviation of the error of the value. It is positive if the value was
        estimated from some of the folds, and 0 if it was fully measured.
    time : float or None
        Time at which the value was told, in seconds since the epoch.
    reset : bool
        Whether the policy forgot earlier values because of this value.
    """

    params: dict[str, Any]
    x: Array = field(default_factory=lambda: np.empty(0))
    branch: Count = 0
    number: int = -1
    kind: str = "told"
    label: str = "told"
    length_scales: list[float] | None = None
    divisor: float | None = None
    mean: float = math.nan
    std: float = math.nan
    alive: list[Survivor] = field(default_factory=list)
    metadata: dict[str, Any] | None = None
    width: float = math.nan
    rungs: list[RungValue] = field(default_factory=list)
    value: float | None = None
    value_std: NotNegative = 0.0
    time: float | None = None
    reset: bool = False

    @property
    def pending(self) -> bool:
        """Whether the point has been asked but not told."""
        return self.value is None

    @property
    def failed_reason(self) -> str | None:
        """Reason why the evaluation counts as failed, or None if it does not."""
        if self.value is None or math.isfinite(self.value):
            return None
        return f"the value was {self.value}"


@dataclass(eq=False)
class Evaluation:
    """Single evaluation of a trial, which is one row of the results.

    If the search uses a resource, a trial may be evaluated several times with
    increasing amounts.

    Attributes
    ----------
    trial : Trial
        The evaluated trial.
    resource : float or None
        Amount of the resource, or None for the full amount.
    said : dict of str to object
        Values of the trial's fields in `COLUMNS` when the evaluation was requested.
    number : int
        Index among the evaluations of the search, or -1 before it is assigned.
    folds : list of FoldResult
        Results of the folds, if there are any.
    estimate : (float, float) or None
        Predicted mean score and the standard deviation of its error, if only the first
        folds were fitted.
    horizon : int or None
        Expected total number of evaluations when the evaluation was requested.
    """

    trial: Trial
    resource: float | None = None
    said: dict[str, Any] = field(default_factory=dict)
    number: int = -1
    folds: Sequence[FoldResult] = ()
    estimate: tuple[float, float] | None = None
    horizon: int | None = None

    @property
    def params(self) -> dict[str, Any]:
        """The point as a dict of parameter values."""
        return self.trial.params

    @property
    def branch(self) -> int:
        """Index of the branch, or -1 outside the space."""
        return self.trial.branch

    @property
    def is_outside(self) -> bool:
        """Whether this is the original estimator, which is outside the space.

        It is evaluated without setting parameters, and the optimizer does not use it.
        """
        return self.trial.branch < 0

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics, or an empty list if the metric has no name."""
        return [name for fold in self.folds[:1] for name in fold.test_scores if name]

    def scores(self, metric: str | None) -> list[float]:
        """Return the test score of each fold."""
        return [fold.score(metric) for fold in self.folds]

    @property
    def is_partial(self) -> bool:
        """Whether only a part of the folds or of the resource was used."""
        return self.estimate is not None or self.resource is not None

    def mean_score(self, metric: str | None) -> float:
        """Return the mean test score, or nan if a score is unknown or not finite."""
        return math.nan if self.is_partial else self.mean_of_folds(metric)

    def mean_of_folds(self, metric: str | None) -> float:
        """Return the mean of the existing test scores, or nan if it is not finite."""
        with np.errstate(over="ignore"):
            mean = float(np.mean(self.scores(metric)))
        return mean if math.isfinite(mean) else math.nan

    @property
    def errors(self) -> list[str]:
        """Tracebacks of the failed fits."""
        return [fold.fit_error for fold in self.folds if fold.fit_error]


class Trials:
    """Container of the trials of all branches.

    The values are stored in units of the objective. They are scaled on demand, because
    the model's scale changes with every value.

    Attributes
    ----------
    n_before : int
        Number of trials from an earlier search. They come first, and later trials are
        numbered from 0.
    """

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self.told: list[Trial] = []
        self.n_before = 0

    def __len__(self) -> int:
        return len(self.told)

    @property
    def pending(self) -> list[Trial]:
        """Trials that were asked but not told, in the order of the `ask` calls."""
        return [trial for trial in self.trials if trial.value is None]

    @property
    def best(self) -> int | None:
        """Index of the first of the best finite values, or None if there is none.

        Estimates are only considered if there are no other values.
        """
        values = self._without_estimates(self._told_values)
        finite = np.isfinite(values)
        return int(np.where(finite, values, -np.inf).argmax()) if finite.any() else None

    def _without_estimates(self, values: Array) -> Array:
        """Replace estimates with nan, unless all values are estimates."""
        stds = self.value_stds
        if stds is None or not np.isfinite(values[stds == 0]).any():
            return values
        return np.where(stds > 0, np.nan, values)

    @property
    def pending_metadata(self) -> list[dict[str, Any]]:
        """Policy metadata of the pending points that were chosen by a model."""
        return [t.metadata for t in self.pending if t.metadata is not None]

    @property
    def value_stds(self) -> Array | None:
        """Standard deviations of the errors of the values, or None if all are zero."""
        stds = np.array([trial.value_std for trial in self.told])
        return stds if stds.any() else None

    @property
    def values(self) -> Array:
        """Values of the told points, with nan for failures, shape (n,).

        Values outside the range from -1e300 to 1e300 are clipped to this range.
        """
        values = self._told_values
        return np.where(np.isfinite(values), values.clip(-_LARGEST, _LARGEST), np.nan)

    @property
    def _told_values(self) -> Array:
        return np.array([trial.value for trial in self.told], dtype=float)


@dataclass(frozen=True)
class Measured:
    """Values without estimates, and the indices of the points that a policy chose."""

    values: Array
    chosen: NDArray[np.intp]


class BranchTrials(Trials):
    """Container of the trials of one branch.

    Attributes
    ----------
    only_full : bool
        Whether only values at the full resource are stored.
    """

    def __init__(self) -> None:
        super().__init__()
        self.only_full = False
        self._seen: set[bytes] = set()

    def add(self, trial: Trial) -> None:
        """Add an asked or told trial."""
        self.trials.append(trial)
        self._seen.add(trial.x.tobytes())

    def keep(self, full: Sequence[Trial]) -> None:
        """Replace the told trials with trials at the full resource.

        From then on, only values at the full resource are stored.
        """
        self.told, self.only_full = list(full), True

    @property
    def chosen(self) -> NDArray[np.intp]:
        """Indices of the told points that a policy chose."""
        return np.flatnonzero([trial.metadata is not None for trial in self.told])

    @property
    def measured(self) -> Measured:
        """The values and the indices of the chosen points.

        Estimates are replaced with nan, unless all values are estimates.
        """
        return Measured(self._without_estimates(self.values), self.chosen)

    def seen(self, x: Array) -> bool:
        """Return whether an encoded point has been asked or told."""
        return x.tobytes() in self._seen

    @property
    def incumbent(self) -> int | None:
        """Index of the best value, or of the first one if all are nearly equal."""
        best, values = self.best, self.values
        if best is None or not is_constant(values[np.isfinite(values)]):
            return best
        return int(np.argmax(np.isfinite(self._without_estimates(values))))

    def is_pending(self, x: Array) -> bool:
        """Return whether an encoded point has been asked but not told."""
        known = self.find(x)
        return known is not None and known.pending

    def find(self, x: Array) -> Trial | None:
        """Return the trial of an encoded point, or None if there is none.

        If there are several trials, a pending one is preferred.
        """
        key = x.tobytes()
        if key not in self._seen:
            return None
        known = [trial for trial in self.trials if trial.x.tobytes() == key]
        return next((trial for trial in known if trial.pending), known[0])


def limited(value: float) -> float:
    """Clip a value to the range that models can handle."""
    return min(max(value, -_LARGEST), _LARGEST)


def rounding(size: float) -> float:
    """Return the largest rounding error to expect in values of a given size."""
    return _ULPS * math.ulp(size)


def is_constant(finite: Array) -> bool:
    """Return whether all finite values are equal up to rounding."""
    if not len(finite):
        return True
    low, high = float(finite.min()), float(finite.max())
    return high - low <= rounding(max(-low, high))
