"""Compute statistics of a fitted search and draw conclusions for the report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import f, rankdata, t

from skrobustbo._names import short_names
from skrobustbo._trials import Evaluation, is_constant, rounding
from skrobustbo.acquisition import distances
from skrobustbo.evaluation import FoldEffects
from skrobustbo.model_selection._default import default_among
from skrobustbo.model_selection._failures import Outcome
from skrobustbo.model_selection._limits import goes_on, largest_of
from skrobustbo.model_selection._refit import standard_error
from skrobustbo.model_selection._settings import Search
from skrobustbo.optimizer import Optimizer
from skrobustbo.space import Categorical, Space
from skrobustbo.surrogate import NUMERICAL

Array = NDArray[np.float64]
Params = dict[str, Any]

#: Distances from the edge of a range, in encoded units: at the edge, and inside for
#: comparison.
_AT, _INSIDE = 0.01, 0.25
#: Probability of declaring equal candidates different, and of declaring one of them
#: better.
_ALPHA = 0.02
#: Share of the variance below which a parameter does not matter, and number of test
#: points.
_IDLE, _POINTS = 0.01, 128
#: Number of points in a branch used to measure how well the candidates cover it.
_COVERED = 2048


@dataclass(frozen=True)
class Edge:
    """A parameter whose best value is at an end of its range or list of values."""

    name: str
    side: str
    bound: Any
    listed: bool
    #: Whether values beyond the end are known to be valid.
    legal: bool


#: Number of further candidates whose expected gain is reported.
AHEAD = 20
#: Number of candidates per parameter before the prospects of a search are meaningful.
#: The initial design uses a seventh of them, and by then every level of the default
#: policy has had turns.
_SPREAD = 15
#: Errors if there is no model yet, a model failed, or the policy has no certificate.
_NO_ANSWER = (ValueError, NotImplementedError, ArithmeticError)

#: Columns of `cv_results_` that are used, besides the scores.
_COLUMNS = (
    "params",
    "model_label",
    "posterior_mean",
    "posterior_std",
    "mean_fit_time",
    "mean_score_time",
)


def last_initial(labels: Iterable[str]) -> int:
    """Return the number of the last initial candidate, or 0 if there is none."""
    return max(
        (i for i, label in enumerate(labels, 1) if label == "initial"), default=0
    )


def prospects(
    optimizer: Optimizer, trials: Sequence[Evaluation], metric: str | None
) -> tuple[float, float]:
    """Return the expected gain from `AHEAD` more candidates, and the noise level.

    The noise level is the standard error of the difference between two mean scores on
    the same folds. Both values are nan if they are unknown.
    """
    unknown = math.nan, math.nan
    if not optimizer.policy.has_model:
        return unknown
    whole = [trial for trial in trials if math.isfinite(trial.mean_score(metric))]
    folds = FoldEffects.of(np.array([trial.scores(metric) for trial in whole], ndmin=2))
    if folds is None:
        return unknown
    try:
        gain = optimizer.expected_gain(AHEAD, noise=folds.standard_error)
    except _NO_ANSWER:
        return unknown
    return gain, folds.error_of_difference


def is_spread(optimizer: Optimizer, n: int) -> bool:
    """Return whether there are enough candidates for `prospects` to be meaningful."""
    d = max(len(branch.groups) for branch in optimizer.space.branches)
    return n >= _SPREAD * d


def missing_columns(search: Search, notes: Outcome) -> list[str]:
    """Return the names of required columns that are missing from `cv_results_`."""
    wanted = [*_COLUMNS, *_score_columns(search, notes)]
    return [name for name in wanted if name not in search.cv_results_]


def _score_columns(search: Search, notes: Outcome) -> list[str]:
    """Return the names of the columns with the mean score and the split scores."""
    key = f"test_{notes.metric if search.multimetric_ else 'score'}"
    return [f"mean_{key}", *[f"split{i}_{key}" for i in range(search.n_splits_)]]


class Findings:
    """Statistics and conclusions about a fitted search."""

    def __init__(self, search: Search, notes: Outcome) -> None:
        self.search, self.notes = search, notes
        self.results: Mapping[str, Any] = search.cv_results_
        self.params: Sequence[Params] = self.results["params"]
        found = [self.results[name] for name in _score_columns(search, notes)]
        means, *splits = np.array(found, dtype=float)
        self.scores: Array = np.where(np.isfinite(means), means, math.nan)
        self.folds: Array = np.array(splits).T

    @property
    def metric_name(self) -> str:
        if self.search.multimetric_:
            return str(self.notes.metric)
        scoring = self.search.scoring
        return scoring if isinstance(scoring, str) else "score"

    # Best candidate -------------------------------------------------------------------

    @cached_property
    def highest(self) -> int | None:
        """Index of the candidate with the highest score; None if there is no score."""
        found = np.isfinite(self.scores).any()
        return int(np.nanargmax(self.scores)) if found else None

    @cached_property
    def best(self) -> int | None:
        """Index of the candidate chosen by `refit`, by default the best-scoring one."""
        chosen = getattr(self.search, "best_index_", self.highest)
        if chosen is None or not math.isfinite(self.scores[chosen]):
            return self.highest
        return int(chosen)

    @cached_property
    def standard_error(self) -> float:
        """Standard error of the best mean score; nan if there is only one fold."""
        if self.best is None:
            return math.nan
        error, score = standard_error(self.folds[self.best]), self.scores[self.best]
        return 0.0 if error <= rounding(score) else error

    # Progress and noise ---------------------------------------------------------------

    @cached_property
    def so_far(self) -> Array:
        """Best score up to each candidate; nan before the first valid score."""
        return np.fmax.accumulate(self.scores)

    @cached_property
    def typical(self) -> float:
        """Difference between the highest score and the median initial score.

        Initial candidates cover the space, whereas later ones are close to the best.
        """
        if self.highest is None:
            return math.nan
        initial = self.scores[: self.n_initial]
        spread = initial if np.isfinite(initial).sum() >= 3 else self.scores
        return float(self.scores[self.highest] - np.nanmedian(spread))

    @cached_property
    def n_initial(self) -> int:
        """Number of the last candidate in the initial design, counted from 1."""
        return last_initial(self.results["model_label"])

    @cached_property
    def improving(self) -> bool:
        """Whether the last quarter of the candidates clearly improved the score."""
        n = len(self.scores)
        if n < 8 or n - n // 4 < self.n_initial or self.highest is None:
            return False
        before = self.so_far[n - n // 4 - 1]
        if not math.isfinite(before):
            return True
        least = max(self._noise.error, 0.01 * self.typical)
        return self.differ and bool(self.so_far[-1] - before > least)

    @cached_property
    def all_equal(self) -> bool:
        """Whether there are several scores that are all equal up to rounding."""
        finite = self.scores[np.isfinite(self.scores)]
        return len(finite) > 1 and is_constant(finite)

    @cached_property
    def _noise(self) -> Noise:
        """Noise in the mean scores, estimated from the scores of the folds."""
        whole = np.isfinite(self.folds).all(axis=1) & np.isfinite(self.scores)
        return noise_of(self.folds[whole], int(whole[: self.n_initial].sum()))

    @cached_property
    def differ(self) -> bool:
        """Whether the scores of the candidates differ by more than the noise."""
        return not self.all_equal and self._noise.p_equal <= _ALPHA

    @cached_property
    def noisy(self) -> bool:
        """Whether most initial candidates cannot be distinguished from the best one.

        Candidates are compared on the same folds, so the effects of the folds cancel.
        """
        spread = self.scores[: self.n_initial]
        rows = np.flatnonzero(np.isfinite(spread))
        if self.highest is None or len(rows) < 3 or self.search.n_splits_ < 2:
            return False
        gaps = self.folds[self.highest] - self.folds[rows]
        near = [gap.mean() <= 2 * standard_error(gap) for gap in gaps]
        return self.typical > 0 and bool(np.mean(near) > 0.5)

    # Branches and parameters ----------------------------------------------------------

    @cached_property
    def short(self) -> dict[str, str]:
        """Mapping from each parameter name to its short form."""
        branches = self.notes.optimizer.space.branches
        names = (*self.params, *(branch.names for branch in branches))
        return short_names(list(dict.fromkeys(chain.from_iterable(names))))

    @cached_property
    def owners(self) -> list[int]:
        """Branch index of each candidate; -1 for a candidate outside the space."""
        return [trial.branch for trial in self.notes.trials]

    @property
    def shares(self) -> list[tuple[int, float]]:
        """Number of candidates and best score in each branch; nan without scores."""
        owners, found = np.array(self.owners), []
        for i in range(len(self.notes.optimizer.space.branches)):
            scores = self.scores[owners == i]
            best = np.nanmax(scores) if np.isfinite(scores).any() else math.nan
            found.append((len(scores), float(best)))
        return found

    @property
    def default_won(self) -> bool:
        """Whether the best candidate is the untuned estimator and outside the space."""
        return self.best is not None and self.owners[self.best] < 0

    @property
    def may_gain_nothing(self) -> bool:
        """Whether the interval of the gain over the untuned estimator contains 0."""
        low, _ = getattr(self.search, "gain_interval_", (math.nan, math.nan))
        tuned = self.highest != default_among(self.notes.trials)
        return tuned and low <= 0 and not callable(self.search.refit)

    @property
    def _winner(self) -> int:
        return 0 if self.best is None else max(0, self.owners[self.best])

    @cached_property
    def branch(self) -> Space:
        """Branch of the best candidate; the first branch if it is outside the space."""
        return self.notes.optimizer.space.branches[self._winner]

    @cached_property
    def edges(self) -> list[Edge]:
        """Parameters whose best value is at the end of a range that could be extended.

        A parameter is included if two conditions hold. First, the scores of the
        candidates differ by more than the noise. Second, the model predicts a clearly
        better score at the end of the range than a quarter of the range further inside.
        The difference between the two predictions must exceed both `Noise.luck` and
        twice the standard deviation of the prediction inside the range.
        """
        # A list of points has no range to widen.
        if self.default_won or type(self.branch) is not Space or not self.differ:
            return []
        names = [name for name in self.branch.names if _has_ends(self.branch, name)]
        found = [self._edge(name) for name in names if name not in self.idle]
        return [edge for edge in found if edge is not None]

    def _edge(self, name: str) -> Edge | None:
        """Return the `Edge` at which a parameter is best, or None if there is none."""
        best = self.params[self.best]  # type: ignore[index]
        dimension = self.branch.dimensions[name]
        unit = float(dimension.encode(best[name])[0])
        end = float(round(unit))
        if abs(unit - end) > _AT:
            return None
        legal = goes_on(self.search, self.branch, name, "high" if end else "low")
        if legal is False:
            return None
        places = np.array([[end], [abs(end - _INSIDE)], [0.5]])
        bound, *inside = dimension.decode(dimension.snap(places))
        other = next(value for value in inside if value != bound)
        points = [{**best, name: value} for value in (bound, other)]
        try:
            mean, std = self.notes.optimizer.predict(points, return_std=True)
        except NUMERICAL:  # no verdict without a model
            return None
        if mean[0] - mean[1] <= max(self._noise.luck, 2 * std[1]):
            return None
        side, listed = "upper" if end else "lower", isinstance(dimension, Categorical)
        return Edge(name, side, bound, listed, legal is True)

    @cached_property
    def radius(self) -> float:
        """Largest distance between a point in the space and its nearest candidate.

        See the section "What the default guarantees" in the user guide.
        """
        space, radius = self.notes.optimizer.space, 0.0
        for i, branch in enumerate(space.branches):
            told = [each.params for each in self.notes.trials if each.branch == i]
            if not told:
                return 1.0
            draws = np.random.default_rng(0).random((_COVERED, branch.n_uniform))
            points = branch.from_uniform(draws)
            points = points[branch.allows(points)]
            apart = distances(points, np.array([branch.encode(p) for p in told]))
            radius = max(radius, float(apart.min(axis=1).max(initial=0.0)))
        return radius

    @cached_property
    def idle(self) -> list[str]:
        """Parameters that hardly affect the score, according to the model.

        The effect of a parameter is measured by its total Sobol index, the share of the
        posterior mean's variance that it explains, including interactions (Jansen's
        estimator). Posterior means below the median initial score are set to this
        median, because differences between poor candidates are irrelevant.
        """
        names = [n for n, d in self.branch.dimensions.items() if d.size > 1]
        seen = self.scores[np.array(self.owners) == self._winner]
        seen = seen[np.isfinite(seen)]
        enough = len(seen) >= max(15, 5 * len(names)) and self.differ
        if type(self.branch) is not Space or not enough:
            return []
        floor = float(np.median(seen[: max(5, self.n_initial)]))
        try:
            shares = _total_effects(self.notes.optimizer, self.branch, names, floor)
        except NUMERICAL:  # no verdict without a model
            return []
        return [name for name, share in shares.items() if share < _IDLE]

    # Models and time ------------------------------------------------------------------

    @cached_property
    def last_models(self) -> tuple[str, list[str]]:
        """Whether the latest models survive or were used last, and their labels."""
        told = [r for r in self.notes.optimizer.history_ if not r["pending"]]
        first = self.notes.optimizer._trials.n_before
        records = told[first : first + len(self.scores)]
        chosen = [r for r in records if r["kind"] == "model"]
        if chosen and chosen[-1]["alive"]:
            return "surviving", list(chosen[-1]["alive"])
        labels = [r["model_label"] for r in chosen[-8:]]
        return "used last", list(dict.fromkeys(labels))

    @cached_property
    def left_to_gain(self) -> float | None:
        """Upper bound on the remaining gain; None if it is uninformative.

        The bound takes the largest possible value of the metric into account. It is
        uninformative if it exceeds both the difference between the best and the median
        score and the standard error of the best score.
        """
        if self.best is None:
            return None
        try:
            left = float(self.notes.optimizer.regret_bound(calibrated=True))
        except _NO_ANSWER:
            return None
        if not math.isfinite(left):
            return None
        top, best = largest_of(self.search), float(self.scores[self.best])
        known = [best - float(np.nanmedian(self.scores)), self.standard_error]
        left = left if top is None else min(left, top - best)
        return left if left <= np.nanmax(known) else None

    @cached_property
    def prospects(self) -> tuple[float, float]:
        """Expected gain from more candidates, and the noise level; nan if unknown."""
        return prospects(self.notes.optimizer, self.notes.trials, self.notes.metric)

    @property
    def has_settled(self) -> bool:
        """Whether the remaining gain is no larger than the noise in the scores.

        If the expected gain is unknown, its upper bound decides.
        """
        gain, noise = self.prospects
        if math.isfinite(gain):
            spread = is_spread(self.notes.optimizer, len(self.scores))
            return bool(gain <= noise and spread)
        left = self.left_to_gain
        return left is not None and left <= self.standard_error

    @cached_property
    def seconds(self) -> Array:
        """Total seconds spent fitting and scoring for each row of `cv_results_`."""
        keys = ("mean_fit_time", "mean_score_time")
        each = sum(np.asarray(self.results[k], dtype=float) for k in keys)
        return np.nan_to_num(each * self.n_fitted)

    @property
    def fit_seconds(self) -> float:
        """Total time spent fitting and scoring, in seconds."""
        return float(self.seconds.sum())

    @property
    def full_seconds(self) -> float:
        """Estimate of `fit_seconds` if every candidate had been evaluated in full.

        The estimate is nan if no candidate was evaluated in full.
        """
        whole = [trial.resource is None for trial in self.notes.trials]
        if not any(whole):
            return math.nan
        n_candidates = len({id(evaluation.trial) for evaluation in self.notes.trials})
        return float(np.mean(self.seconds[whole])) * n_candidates

    # Races ----------------------------------------------------------------------------

    @cached_property
    def n_fitted(self) -> Array:
        """Number of folds that were run for each row of `cv_results_`."""
        every = np.full(len(self.scores), self.search.n_splits_)
        return np.asarray(self.results.get("n_splits_evaluated", every), dtype=float)


@dataclass(frozen=True)
class Noise:
    """Noise in the mean scores of candidates that are evaluated on the same folds.

    Attributes
    ----------
    error : float
        Standard error of a candidate's mean score; 0 if it is unknown.
    luck : float
        If all candidates were equally good, the best score would exceed their mean by
        more than this with a probability of at most 2%.
    p_equal : float
        p-value of the hypothesis that all candidates are equally good; 1 if the noise
        is unknown.
    """

    error: float = 0.0
    luck: float = 0.0
    p_equal: float = 1.0


def noise_of(folds: Array, n_initial: int) -> Noise:
    """Return the noise in mean scores, estimated from residuals of the fold scores.

    Parameters
    ----------
    folds : array of shape (n, n_splits)
        Finite scores of the candidates in each fold. The effect of a fold that is
        common to all candidates is subtracted.
    n_initial : int
        Number of candidates in the initial design.

    Notes
    -----
    The error is estimated from the better half of the candidates, because the scores of
    poor candidates vary more. If the better half of the initial candidates gives a
    larger estimate, it is used instead, because later candidates are often nearly
    identical.
    """
    n, k = folds.shape
    if n < 3 or k < 2:
        return Noise()
    # Use ranks, which a diverged candidate cannot distort.
    within, between = _deviations(rankdata(folds, axis=0))
    p_equal = 0.0
    if within > 0:
        p_equal = float(f.sf((between / within) ** 2, n - 1, (n - 1) * (k - 1)))
    halves = [_better(folds)]
    if n_initial > 2:
        halves.append(_better(folds[:n_initial]))
    error = max(_deviations(half)[0] for half in halves) / math.sqrt(k)
    luck = float(t.isf(_ALPHA / n, (len(halves[0]) - 1) * (k - 1)))
    return Noise(error, luck * error, p_equal)


def _better(folds: Array) -> Array:
    means = folds.mean(axis=1)
    return folds[means >= np.median(means)]


def _deviations(folds: Array) -> tuple[float, float]:
    """Return the standard deviation of a score within and between candidates."""
    n, k = folds.shape
    means = folds.mean(axis=1, keepdims=True)
    rest = folds - means - folds.mean(axis=0) + folds.mean()
    apart = means - folds.mean()
    # Unlike a sum of squares, hypot gives the same result in any unit.
    within = math.hypot(*rest.ravel()) / math.sqrt((n - 1) * (k - 1))
    return within, math.hypot(*apart.ravel()) * math.sqrt(k / (n - 1))


def _has_ends(branch: Space, name: str) -> bool:
    """Return whether a parameter has a numeric range or list that can be extended."""
    dimension = branch.dimensions[name]
    if dimension.n_columns != 1 or dimension.size <= 2:
        return False
    if not isinstance(dimension, Categorical):
        return True
    return dimension.ordered and all(
        isinstance(c, int | float) for c in dimension.choices
    )


def _total_effects(
    optimizer: Any, branch: Space, names: list[str], floor: float
) -> dict[str, float]:
    """Return the total Sobol index of each parameter, with means clipped at `floor`."""
    points = branch.sample(_POINTS, random_state=0)
    others = branch.sample(_POINTS, random_state=1)
    mean = np.maximum(optimizer.predict(points), floor)
    if is_constant(mean):  # the variance may still be rounding
        return {}
    size = np.abs(mean).max()  # keeps squares from over- or underflowing
    variance = float(np.var(mean / size))
    shares = {}
    for name in names:
        changed = [{**a, name: b[name]} for a, b in zip(points, others, strict=True)]
        moved = np.maximum(optimizer.predict(changed), floor) - mean
        shares[name] = float(np.mean((moved / size) ** 2)) / (2 * variance)
    return shares
