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
#: Fields that a trial keeps when another optimizer takes it over.
_KEPT = (
    *("params", "x", "branch", *COLUMNS.values()),
    *("folds", "estimate", "resource"),
)


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
        Position of the branch that it is a point of.
    number : int
        Its identity: its place among all the trials of a search, from 0; -1 before it
        has one.
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
    folds : list of FoldResult
        In a search, what came of each fold.
    estimate : (float, float) or None
        Where only the first folds were fitted, the mean score that they let expect, and
        the standard deviation of its error.
    resource : float or None
        In a search with a resource, the amount that the folds had; None where it was
        the full one.
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
    folds: Sequence[FoldResult] = ()
    estimate: tuple[float, float] | None = None
    resource: float | None = None
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
    def point(self) -> tuple[int, bytes]:
        """The key of its point: the branch and the encoded params."""
        return self.branch, self.x.tobytes()

    @property
    def failed_reason(self) -> str | None:
        """Why the evaluation counts as failed, None if it does not."""
        if self.value is None or math.isfinite(self.value):
            return None
        return f"the value was {self.value}"

    def renew(self) -> None:
        """Reset all fields that depend on the optimizer, before another takes over."""
        kept = {name: getattr(self, name) for name in _KEPT}
        vars(self).update(vars(Trial(**kept)))

    # Folds ---------------------------------------------------------------------------

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

    Values are kept raw. What a model sees of them, on which scale, is derived when
    asked for, as that scale changes with every value.

    Attributes
    ----------
    n_before : int
        Trials, the first ones, that are of an earlier search; those after them are
        numbered from 0 on.
    best : int or None
        Index of the best finite value among the told, None if there is none. A value
        that is an estimate is best only where there are no others.
    """

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self.told: list[Trial] = []
        #: Trials asked and not told, in the order asked.
        self.pending: list[Trial] = []
        self.n_before = 0
        self.best: int | None = None
        self._values = np.empty(16)
        self._has_estimates = False

    def __len__(self) -> int:
        return len(self.told)

    def add(self, trial: Trial) -> None:
        """Add a trial, which is pending if it has no value."""
        self.trials.append(trial)
        if trial.pending:
            self.pending.append(trial)

    def tell(self, trial: Trial, value: float, time: float) -> None:
        """Record the value of a trial that was added before."""
        self.drop(trial)
        trial.value, trial.time = value, time
        self.show(trial)

    def drop(self, trial: Trial) -> None:
        """Remove a trial from the pending ones."""
        self.pending = [other for other in self.pending if other is not trial]

    def show(self, trial: Trial) -> None:
        """Append a trial to the told ones."""
        n = len(self.told)
        if n == len(self._values):
            self._values = np.concatenate([self._values, np.empty_like(self._values)])
        self.told.append(trial)
        self._take_value(n)

    def revalue(self) -> None:
        """Update the stored values from the told trials."""
        self.best = None
        for n in range(len(self.told)):
            self._take_value(n)

    def _take_value(self, n: int) -> None:
        """Store the value of a told trial, and update the best one."""
        trial = self.told[n]
        value = math.nan if trial.value is None else trial.value
        finite = math.isfinite(value)
        self._values[n] = limited(value) if finite else math.nan
        self._has_estimates |= trial.value_std > 0
        if finite and (self.best is None or self._rank(n) > self._rank(self.best)):
            self.best = n

    @property
    def pending_metadata(self) -> list[dict[str, Any]]:
        """The policy's metadata of the pending points that a model chose."""
        return [t.metadata for t in self.pending if t.metadata is not None]

    def _rank(self, i: int) -> tuple[bool, float]:
        trial = self.told[i]
        return trial.value_std == 0, trial.value  # type: ignore[return-value] # told

    @property
    def value_stds(self) -> Array | None:
        """Standard deviations of the values' own errors; None if all are zero."""
        if not self._has_estimates:
            return None
        return np.array([trial.value_std for trial in self.told])

    @property
    def values(self) -> Array:
        """Values of the told points, shape (n,); nan where a point failed.

        They are as told, but for those near the largest float, which are +-1e300.
        """
        return self._values[: len(self.told)]


@dataclass(frozen=True)
class Measured:
    """Values of which only those measured in full count, and which a policy chose."""

    values: Array
    chosen: NDArray[np.intp]


class BranchTrials(Trials):
    """The trials of one branch, with the rows of told points in the order told.

    Attributes
    ----------
    only_full : bool
        Whether only values at the full resource are among those told.
    """

    def __init__(self, n_columns: int) -> None:
        super().__init__()
        self.only_full = False
        self._seen: set[bytes] = set()
        self._X = np.empty((16, n_columns))

    def add(self, trial: Trial) -> None:
        """Add a trial; it is pending if it has no value."""
        super().add(trial)
        self._seen.add(trial.x.tobytes())

    def show(self, trial: Trial) -> None:
        """Append a trial to the told ones."""
        n = len(self.told)
        super().show(trial)
        if n == len(self._X):
            self._X = np.concatenate([self._X, np.empty_like(self._X)])
        self._X[n] = trial.x

    def keep(self, full: Sequence[Trial]) -> None:
        """Keep only these of the told trials, and from now on only full values."""
        self.told, self.best = [], None
        self.only_full, self._has_estimates = True, False
        for trial in full:
            self.show(trial)

    @property
    def X(self) -> Array:
        """Encoded told points, shape (n, n_columns)."""
        return self._X[: len(self.told)]

    @property
    def chosen(self) -> NDArray[np.intp]:
        """Indices of the told points that a policy has chosen."""
        return np.flatnonzero([trial.metadata is not None for trial in self.told])

    @property
    def measured(self) -> Measured:
        """The values without estimates, unless all are estimates."""
        values, stds = self.values, self.value_stds
        if stds is not None and np.isfinite(values[stds == 0]).any():
            values = np.where(stds > 0, np.nan, values)
        return Measured(values, self.chosen)

    def seen(self, x: Array) -> bool:
        """Return whether an encoded point has been asked or told."""
        return x.tobytes() in self._seen

    @property
    def incumbent(self) -> int | None:
        """Index of the best value: if they differ by rounding only, the first one."""
        values, stds = self.values, self.value_stds
        if self.best is None or not is_constant(values[np.isfinite(values)]):
            return self.best
        known = np.isfinite(values)
        if stds is not None and stds[self.best] == 0:
            known &= stds == 0
        return int(np.argmax(known))

    def is_pending(self, x: Array) -> bool:
        """Return whether an encoded point has been asked and not told."""
        return self.find_pending(x) is not None

    def find_pending(self, x: Array) -> Trial | None:
        """Return the first pending trial of an encoded point, or None."""
        key = x.tobytes()
        return next((t for t in self.pending if t.x.tobytes() == key), None)

    def find(self, x: Array) -> Trial | None:
        """Return the first trial of an encoded point, told or pending, or None."""
        key = x.tobytes()
        if key not in self._seen:
            return None
        return next(trial for trial in self.trials if trial.x.tobytes() == key)


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
