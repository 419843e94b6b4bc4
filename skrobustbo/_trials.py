"""Trials, from ask to tell, and the store that holds them."""

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
FoldId = tuple[int, int]  # number of the trial, and of the split
#: What a worker returns of a fold, before it is checked.
RawResult = dict[str, Any]
#: The name, in the scores of a fold, of a metric that is the only one and has no name.
SINGLE = ""

#: Values are clipped to this size before a model sees them, so that differences and
#: sums of values are finite, too.
_LARGEST = 1e300
#: Values that differ by no more units in the last place than this differ by rounding.
_ULPS = 16

#: Columns of the results that are known when a candidate is asked, and the part of a
#: trial that each is. Checkpoints have them, too.
COLUMNS = {"model_label": "label", "model_mean": "mean", "model_std": "std"}


class Survivor(TypedDict):
    """A candidate model that survives; its length scales where it is told by them."""

    label: str
    length_scales: list[float] | None


class RungValue(TypedDict):
    """The value of a point at a rung: None while pending, with an error of its own."""

    rung: Count
    value: float | None
    std: NotNegative


#: A number that a float can hold, to be kept as it is.
Score = Annotated[
    bool | int | float,
    lambda score: isinstance(score, float) or abs(score) <= sys.float_info.max,
]
Scores = Annotated[dict[str, Score], bool]
#: A time that it took; nan where it is not known.
Seconds = Annotated[float, lambda seconds: not seconds < 0 and seconds != math.inf]


@dataclass(frozen=True)
class FoldResult:
    """What came of one fold.

    Attributes
    ----------
    test_scores : dict of str to float
        Scores of the test rows, by the names of the metrics; `SINGLE` names one without
        a name.
    train_scores : dict of str to float, default=None
        Those of the training rows, if asked for.
    n_test_samples : int, default=0
        Number of test rows.
    fit_time, score_time : float, default=nan
        Seconds.
    fit_error : str, default=None
        The traceback of a fit that failed.
    predictions : array, default=None
        Those for the test rows, if kept.
    turn : int, default=0
        Its place among all results of a search that depends on which came first.
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
        """Return the test score in a metric, None for the only one.

        Where a callable scorer returns several metrics, a failure has one number until
        its names are known.
        """
        scores = self.test_scores
        return float(scores.get(metric or SINGLE, scores.get(SINGLE, math.nan)))

    @property
    def has_failed(self) -> bool:
        """Whether it has raised, or has a score that is no number."""
        finite = all(map(math.isfinite, self.test_scores.values()))
        return bool(self.fit_error) or not finite


#: A finished fold, and its result.
Done = tuple[FoldId, FoldResult]


@dataclass(eq=False)
class Trial:
    """One point, from the ask to the tell.

    Attributes
    ----------
    params : dict
        The point as the user sees it.
    x : array of shape (n_columns,)
        The same point, encoded by its branch; empty where no optimizer asked it.
    branch : int
        Position of the branch that it is a point of; -1 for an estimator as given that
        is a point of none.
    number : int
        Its place among all the trials of its optimizer, from 0; -1 before it has one.
    kind : {"initial", "model", "fallback", "told"}
        Whether it is of the initial design, asked by a model, a design point in the
        place of a model that failed, or told without being asked.
    label : str
        The model that chose it; its kind where none did.
    length_scales : list of float or None
        Those of that model, in unit-cube coordinates, one for all parameters or one for
        each column; None where the model is not one of length scales.
    divisor : float or None
        What divides the estimate in them; None where they are none of an estimate.
    mean, std : float
        That model's prediction before the evaluation, in units of the objective.
    alive : list of dict
        The models surviving at the time: `label` and `length_scales` of each.
    metadata : dict or None
        What the policy noted when it proposed the point, in JSON types; None where no
        model chose it.
    width : float
        How far below the branch's promise its value may lie, in units of the
        objective; nan where no promise was made.
    rungs : list of dict
        In an optimizer with a resource, the value at each rung asked, in the order
        asked.
    value : float or None
        The value told, as told; None while pending. With a resource, the value at the
        full amount, or what is expected of it.
    value_std : float
        Standard deviation of the value's own error: positive where it was estimated
        from a part of the folds, 0 where it was measured in full.
    time : float or None
        When it was told, in seconds since the epoch.
    reset : bool
        Whether its value made the policy forget what came before.
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
        """Whether the point has been asked and not told."""
        return self.value is None

    @property
    def failed_reason(self) -> str | None:
        """Why the evaluation counts as failed, None if it does not."""
        if self.value is None or math.isfinite(self.value):
            return None
        return f"the value was {self.value}"


@dataclass(eq=False)
class Evaluation:
    """One evaluation of a trial: what a search calls a trial, and shows as a row.

    With a resource, a trial may have several, each with a larger amount.

    Attributes
    ----------
    trial : Trial
        What is evaluated.
    resource : float or None
        In a search with a resource, the amount of it; None if that is the full one.
    said : dict of str to object
        What is known of it when it is asked: the parts of a trial in `COLUMNS`. Where
        the trial was evaluated before, they are of this evaluation.
    number : int
        Its place among all the evaluations of a search, from 0; -1 before it has one.
    folds : list of FoldResult
        In a search, what came of each fold.
    estimate : (float, float) or None
        Where only the first folds were fitted, the mean score that they let expect, and
        the standard deviation of its error.
    horizon : int or None
        The number of evaluations to expect in all, as known when it was asked.
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
        """Position of the branch that it is a point of; -1 for none."""
        return self.trial.branch

    @property
    def is_outside(self) -> bool:
        """Whether it is an estimator as given that is no point of the space.

        No optimizer knows of it, and no parameters are set.
        """
        return self.trial.branch < 0

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics; none if there is a single one."""
        return [name for fold in self.folds[:1] for name in fold.test_scores if name]

    def scores(self, metric: str | None) -> list[float]:
        """Return the test score of each fold."""
        return [fold.score(metric) for fold in self.folds]

    @property
    def is_partial(self) -> bool:
        """Whether it was evaluated with a part of the folds or of the resource."""
        return self.estimate is not None or self.resource is not None

    def mean_score(self, metric: str | None) -> float:
        """Return the mean test score, nan if one is not finite or not known."""
        return math.nan if self.is_partial else self.mean_of_folds(metric)

    def mean_of_folds(self, metric: str | None) -> float:
        """Return the mean of the test scores there are, nan if one is not finite."""
        with np.errstate(over="ignore"):
            mean = float(np.mean(self.scores(metric)))
        return mean if math.isfinite(mean) else math.nan

    @property
    def errors(self) -> list[str]:
        """Tracebacks of the failed fits."""
        return [fold.fit_error for fold in self.folds if fold.fit_error]


class Trials:
    """Trials of all branches, in the order in which they came and were told.

    Values are kept raw, in the trials. What a model sees of them, on which scale, is
    derived when asked for, as that scale changes with every value.

    Attributes
    ----------
    n_before : int
        Trials, the first ones, that are of an earlier search; those after them are
        numbered from 0 on.
    """

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self.told: list[Trial] = []
        self.n_before = 0

    def __len__(self) -> int:
        return len(self.told)

    @property
    def pending(self) -> list[Trial]:
        """Trials asked and not told, in the order asked."""
        return [trial for trial in self.trials if trial.value is None]

    @property
    def best(self) -> int | None:
        """Index of the first best finite value among the told, None if there is none.

        A value that is an estimate is best only where there are no others.
        """
        values = self._without_estimates(self._told_values)
        finite = np.isfinite(values)
        return int(np.where(finite, values, -np.inf).argmax()) if finite.any() else None

    def _without_estimates(self, values: Array) -> Array:
        """Return values, with nan for estimates unless all are estimates."""
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
        """Standard deviations of the values' own errors; None if all are zero."""
        stds = np.array([trial.value_std for trial in self.told])
        return stds if stds.any() else None

    @property
    def values(self) -> Array:
        """Values of the told points, shape (n,); nan where a point failed.

        They are as told, but for those near the largest float, which are +-1e300.
        """
        values = self._told_values
        return np.where(np.isfinite(values), values.clip(-_LARGEST, _LARGEST), np.nan)

    @property
    def _told_values(self) -> Array:
        return np.array([trial.value for trial in self.told], dtype=float)


@dataclass(frozen=True)
class Measured:
    """Values of which only those measured in full count, and which a policy chose."""

    values: Array
    chosen: NDArray[np.intp]


class BranchTrials(Trials):
    """The trials of one branch, which may use a part of those told.

    Attributes
    ----------
    only_full : bool
        Whether only values at the full resource are among those told.
    """

    def __init__(self) -> None:
        super().__init__()
        self.only_full = False
        self._seen: set[bytes] = set()

    def add(self, trial: Trial) -> None:
        """Add a trial, asked or told."""
        self.trials.append(trial)
        self._seen.add(trial.x.tobytes())

    def keep(self, full: Sequence[Trial]) -> None:
        """Keep only these of the told trials, and from now on only full values."""
        self.told, self.only_full = list(full), True

    @property
    def chosen(self) -> NDArray[np.intp]:
        """Indices of the told points that a policy has chosen."""
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
        """Index of the best value: if they differ by rounding only, the first one."""
        best, values = self.best, self.values
        if best is None or not is_constant(values[np.isfinite(values)]):
            return best
        return int(np.argmax(np.isfinite(self._without_estimates(values))))

    def is_pending(self, x: Array) -> bool:
        """Return whether an encoded point has been asked and not told."""
        known = self.find(x)
        return known is not None and known.pending

    def find(self, x: Array) -> Trial | None:
        """Return the trial of an encoded point, a pending one if there are several."""
        key = x.tobytes()
        if key not in self._seen:
            return None
        known = [trial for trial in self.trials if trial.x.tobytes() == key]
        return next((trial for trial in known if trial.pending), known[0])


def limited(value: float) -> float:
    """Return a value, clipped to the range that models can handle."""
    return min(max(value, -_LARGEST), _LARGEST)


def rounding(size: float) -> float:
    """Return the largest difference of values of a size that may be rounding."""
    return _ULPS * math.ulp(size)


def is_constant(finite: Array) -> bool:
    """Return whether finite values are all equal, but for rounding."""
    if not len(finite):
        return True
    low, high = float(finite.min()), float(finite.max())
    return high - low <= rounding(max(-low, high))
