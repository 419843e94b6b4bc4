"""Trials, from ask to tell, and their containers."""

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
    """A surviving candidate model, with its length scales if these identify it."""

    label: str
    length_scales: list[float] | None


class RungValue(TypedDict):
    """The value of a point at a rung, and its error; None while pending."""

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
    """The result of one fold.

    Attributes
    ----------
    test_scores : dict of str to float
        Scores of the test rows by metric; an unnamed metric has the name `SINGLE`.
    train_scores : dict of str to float, default=None
        Scores of the training rows, if requested.
    n_test_samples : int, default=0
        Number of test rows.
    fit_time, score_time : float, default=nan
        Seconds.
    fit_error : str, default=None
        Traceback of a failed fit.
    predictions : array, default=None
        Predictions for the test rows, if stored.
    turn : int, default=0
        Position among the results of a search that depends on their order.
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
        """Return the test score of a metric; None means the only metric.

        If a callable scorer returns several metrics, a failure has a single score until
        their names are known.
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
    """One point, from the ask to the tell.

    Attributes
    ----------
    params : dict
        The point as the user sees it.
    x : array of shape (n_columns,)
        The point as encoded by its branch; empty if no optimizer asked for it.
    branch : int
        Position of its branch; -1 for an estimator as given outside the space.
    number : int
        Position among the trials of its optimizer, from 0; -1 at first.
    kind : {"initial", "model", "fallback", "told"}
        "initial": part of the initial design; "model": chosen by a model; "fallback": a
        design point that replaces a model's choice because the model failed; "told":
        told without being asked.
    label : str
        The model that chose the point; the trial's kind if there is none.
    length_scales : list of float or None
        Length scales of this model, in unit-cube coordinates, either one for all
        parameters or one per column. None if they do not identify the model.
    divisor : float or None
        The number by which an estimate was divided; None if it is not an estimate.
    mean, std : float
        The model's prediction before the evaluation, in units of the objective.
    alive : list of dict
        The surviving models at the time: `label` and `length_scales` of each.
    metadata : dict or None
        Metadata of the policy for the point, in JSON types; None without a model.
    width : float
        How far the value may lie below the branch's promise, in units of the objective;
        nan if there was no promise.
    rungs : list of dict
        With a resource, the value at each rung, in the order of evaluation.
    value : float or None
        The value told; None while pending. With a resource, the value at the full
        amount or its prediction.
    value_std : float
        Standard deviation of the value's error: positive if estimated from some of the
        folds, 0 if fully measured.
    time : float or None
        When the value was told, in seconds since the epoch.
    reset : bool
        Whether the value made the policy forget earlier values.
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
        """Why the evaluation counts as failed; None if it does not."""
        if self.value is None or math.isfinite(self.value):
            return None
        return f"the value was {self.value}"


@dataclass(eq=False)
class Evaluation:
    """One evaluation of a trial, shown to users as a trial and as a row of results.

    With a resource, a trial may have several evaluations, each with a larger amount
    than the one before.

    Attributes
    ----------
    trial : Trial
        The evaluated trial.
    resource : float or None
        With a resource, the amount used; None for the full amount.
    said : dict of str to object
        Facts known when the evaluation is requested: the fields of a trial in
        `COLUMNS`, for this evaluation.
    number : int
        Position among the evaluations of a search, from 0; -1 at first.
    folds : list of FoldResult
        In a search, the results of its folds.
    estimate : (float, float) or None
        If only the first folds were fitted, the predicted mean score and the standard
        deviation of its error.
    horizon : int or None
        Total number of expected evaluations, as known when the evaluation was
        requested.
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
        """The point as the user sees it."""
        return self.trial.params

    @property
    def branch(self) -> int:
        """Position of its branch; -1 outside the space."""
        return self.trial.branch

    @property
    def is_outside(self) -> bool:
        """Whether this is the estimator as given, outside the space.

        The optimizer does not know it, and no parameters are set.
        """
        return self.trial.branch < 0

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics; empty if there is a single one."""
        return [name for fold in self.folds[:1] for name in fold.test_scores if name]

    def scores(self, metric: str | None) -> list[float]:
        """Return the test score of each fold."""
        return [fold.score(metric) for fold in self.folds]

    @property
    def is_partial(self) -> bool:
        """Whether it was evaluated with only a part of the folds or the resource."""
        return self.estimate is not None or self.resource is not None

    def mean_score(self, metric: str | None) -> float:
        """Return the mean test score; nan if any score is unknown or not finite."""
        return math.nan if self.is_partial else self.mean_of_folds(metric)

    def mean_of_folds(self, metric: str | None) -> float:
        """Return the mean of the existing test scores; nan if one is not finite."""
        with np.errstate(over="ignore"):
            mean = float(np.mean(self.scores(metric)))
        return mean if math.isfinite(mean) else math.nan

    @property
    def errors(self) -> list[str]:
        """Tracebacks of the failed fits."""
        return [fold.fit_error for fold in self.folds if fold.fit_error]


class Trials:
    """Trials of all branches, in the order asked and told.

    Trials store raw values. The model's scale changes with every value, so it is
    computed on demand.

    Attributes
    ----------
    n_before : int
        Number of trials from an earlier search, which come first; later ones are
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
        """Trials that were asked but not told, in the order asked."""
        return [trial for trial in self.trials if trial.value is None]

    @property
    def best(self) -> int | None:
        """Index of the first best finite value told; None if there is none.

        Estimates count only if there are no other values.
        """
        values = self._without_estimates(self._told_values)
        finite = np.isfinite(values)
        return int(np.where(finite, values, -np.inf).argmax()) if finite.any() else None

    def _without_estimates(self, values: Array) -> Array:
        """Return the values, with nan for estimates unless all are estimates."""
        stds = self.value_stds
        if stds is None or not np.isfinite(values[stds == 0]).any():
            return values
        return np.where(stds > 0, np.nan, values)

    @property
    def pending_metadata(self) -> list[dict[str, Any]]:
        """The policy's metadata of the pending points that a model chose."""
        return [t.metadata for t in self.pending if t.metadata is not None]

    @property
    def value_stds(self) -> Array | None:
        """Standard deviations of the errors of the values; None if all are zero."""
        stds = np.array([trial.value_std for trial in self.told])
        return stds if stds.any() else None

    @property
    def values(self) -> Array:
        """Values of the told points, shape (n,); nan for failures.

        The values are as told, except that values near the largest float become
        +-1e300.
        """
        values = self._told_values
        return np.where(np.isfinite(values), values.clip(-_LARGEST, _LARGEST), np.nan)

    @property
    def _told_values(self) -> Array:
        return np.array([trial.value for trial in self.told], dtype=float)


@dataclass(frozen=True)
class Measured:
    """Values without estimates, and a mask of the values that a policy chose."""

    values: Array
    chosen: NDArray[np.intp]


class BranchTrials(Trials):
    """The trials of one branch, with all or some of the told ones.

    Attributes
    ----------
    only_full : bool
        Whether it holds only values at full resource.
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
        """Keep only these told trials, and from now on only full values."""
        self.told, self.only_full = list(full), True

    @property
    def chosen(self) -> NDArray[np.intp]:
        """Indices of the told points that a policy chose."""
        return np.flatnonzero([trial.metadata is not None for trial in self.told])

    @property
    def measured(self) -> Measured:
        """The values without estimates, unless all are estimates."""
        return Measured(self._without_estimates(self.values), self.chosen)

    def seen(self, x: Array) -> bool:
        """Return whether an encoded point has been asked or told."""
        return x.tobytes() in self._seen

    @property
    def incumbent(self) -> int | None:
        """Index of the best value; the first one if values differ only by rounding."""
        best, values = self.best, self.values
        if best is None or not is_constant(values[np.isfinite(values)]):
            return best
        return int(np.argmax(np.isfinite(self._without_estimates(values))))

    def is_pending(self, x: Array) -> bool:
        """Return whether an encoded point has been asked but not told."""
        known = self.find(x)
        return known is not None and known.pending

    def find(self, x: Array) -> Trial | None:
        """Return the trial of an encoded point; a pending one if there are several."""
        key = x.tobytes()
        if key not in self._seen:
            return None
        known = [trial for trial in self.trials if trial.x.tobytes() == key]
        return next((trial for trial in known if trial.pending), known[0])


def limited(value: float) -> float:
    """Return a value clipped to the range that models can handle."""
    return min(max(value, -_LARGEST), _LARGEST)


def rounding(size: float) -> float:
    """Return the largest rounding error of values of a given size."""
    return _ULPS * math.ulp(size)


def is_constant(finite: Array) -> bool:
    """Return whether finite values are all equal up to rounding."""
    if not len(finite):
        return True
    low, high = float(finite.min()), float(finite.max())
    return high - low <= rounding(max(-low, high))
