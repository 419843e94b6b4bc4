"""A search from the first split to the refit, whatever its candidates come from."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from joblib.parallel import get_active_backend
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from skrobustbo._sklearn_compat import (
    NO_FITS,
    BaseSearchCV,
    SilentTask,
    check_method_params,
    has_callbacks,
    insert_error_scores,
    metric_names,
    num_samples,
    root_task,
    warn_or_raise_about_fit_failures,
)
from skrobustbo._trials import FoldId, FoldResult, Trial
from skrobustbo.checkpoint import NoJournal
from skrobustbo.evaluation._checks import (
    check_same,
    check_scores,
    check_splits,
    check_weights,
    checked_cv,
    returned,
    spread_failures,
    take_folds,
)
from skrobustbo.evaluation._dask import DaskPool, is_dask
from skrobustbo.evaluation._folds import Fold, FoldPool, Job
from skrobustbo.evaluation._predictions import OutOfFold
from skrobustbo.evaluation._solo import SoloPool
from skrobustbo.evaluation._stops import Stops
from skrobustbo.evaluation._timed import TimedPool


class Source(Protocol):
    """What a search asks for candidates, round by round.

    Attributes
    ----------
    trials : list of Trial
        Those told so far.
    n_planned : int
        Number of candidates there will be at most.
    n_rounds : int or None
        Number of rounds at most, None where all candidates are known beforehand.
    """

    trials: list[Trial]
    n_planned: int
    n_rounds: int | None

    def check(self, metrics: list[str]) -> None:
        """Raise a ValueError if the source cannot do with these metrics.

        There are none where a single one has no name. Called before the first fit, or
        after it if only then it is known what a callable scorer returns.
        """
        ...

    def next_round(self) -> list[Trial]:
        """Return the candidates to evaluate side by side; none when it is over.

        They are numbered from 0 on.
        """
        ...

    def tell(self, trial: Trial) -> None:
        """Take note of a candidate whose folds are known."""
        ...

    def progress(self) -> Mapping[str, Any]:
        """Return what callbacks are told of the search so far."""
        ...

    def columns(self) -> Mapping[str, Any]:
        """Return the columns to add to the table of results."""
        ...


def run_search(
    search: BaseSearchCV,
    source: Source,
    X: Any,
    y: Any = None,
    params: Mapping[str, Any] | None = None,
    stops: Stops | None = None,
    journal: NoJournal | None = None,
    on_start: Callable[[], None] | None = None,
    predictions: OutOfFold | None = None,
) -> str:
    """Evaluate the candidates of `source` and set the fitted attributes of `search`.

    Parameters
    ----------
    search : BaseSearchCV
        Its settings say how; it gets the attributes of `GridSearchCV`.
    source : Source
        Where candidates come from.
    X, y : array-like
        The data.
    params : dict, default=None
        What was passed to `fit` besides: for the estimator, the scorer, the splitter.
    stops : Stops, default=None
        What may end the search early; None lets it go on to its end.
    journal : NoJournal, default=None
        Keeps what is done, and gives back what an earlier run did.
    on_start : callable, default=None
        Called once all that needs no fit has been checked.
    predictions : OutOfFold, default=None
        Collects the predictions of all candidates for the test rows of their folds.

    Returns
    -------
    reason : str
        "callback" if a callback asked to stop, "" if the source came to its end,
        otherwise the reason of `stops`.

    Raises
    ------
    TimeoutError, KeyboardInterrupt
        If `stops` ended the search before any candidate was finished.
    """
    stops = stops or Stops()
    kept = journal or NoJournal(), predictions or OutOfFold()
    fit = _Fit(search, source, X, y, dict(params or {}), stops, *kept)
    if on_start is not None:
        on_start()
    with stops.watched():
        stopped = fit.search()
        fit.conclude()
    stops.warn(len(source.trials), source.n_planned)
    if search.refit:
        fit.refit()
    fit.root.call_on_fit_task_end(**fit.told())
    return stops.reason or ("callback" if stopped else "")


@dataclass
class _Fit:
    """One call of `fit`."""

    estimator: BaseSearchCV
    source: Source
    X: Any
    y: Any
    params: dict[str, Any]
    stops: Stops
    journal: NoJournal
    predictions: OutOfFold

    def __post_init__(self) -> None:
        search = self.estimator
        self.scorers, self.refit_metric = search._get_scorers()
        self.owner = type(search).__name__
        #: Names of the metrics; None until a callable scorer has returned some.
        self.metrics: list[str] | None = None
        if not callable(search.scoring):
            self._know(metric_names(self.scorers))
        self.X, self.y = indexable(self.X, self.y)
        self.params = check_method_params(self.X, params=self.params)
        check_weights(self.params, num_samples(self.X))
        self.routed = search._get_routed_params_for_fit(self.params)
        self.root = root_task(search, 1 + (search.refit is not False))
        self.root.call_on_fit_task_begin(**self.told())
        splits = self.journal.splits(
            self._splits,
            n_samples=num_samples(self.X),
            metrics=self.metrics,
            train=search.return_train_score,
            n_classes=self.predictions.n_classes,
        )
        self.job = Job(
            clone(search.estimator), self.X, self.y, splits, self._settings()
        )
        self.predictions.job = self.job
        search.n_splits_ = len(self.job.splits)

    def told(self, **more: Any) -> dict[str, Any]:
        """Return what callbacks are told of a task that concerns all the data."""
        weights = self.params.get("sample_weight")
        metadata = {} if weights is None else {"sample_weight": weights}
        return {
            "estimator": self.estimator,
            "X": self.X,
            "y": self.y,
            "metadata": {**metadata, **more} or None,
        }

    def _splits(self) -> list[tuple[Any, Any]]:
        """Draw the folds of all candidates, once."""
        search, told = self.estimator, self.routed.splitter.split
        cv = checked_cv(search.cv, self.owner)
        cv = check_cv(cv, self.y, classifier=is_classifier(search.estimator))
        n_splits = cv.get_n_splits(self.X, self.y, **told)
        splits = list(cv.split(self.X, self.y, **told))
        check_splits(splits, n_splits, num_samples(self.X), self.owner)
        return splits

    def _settings(self) -> dict[str, Any]:
        search = self.estimator
        return {
            "scorer": self.scorers,
            "fit_params": self.routed.estimator.fit,
            "score_params": self.routed.scorer.score,
            "return_train_score": search.return_train_score,
            "return_n_test_samples": True,
            "return_times": True,
            "return_parameters": False,
            "error_score": search.error_score,
            "verbose": search.verbose,
            "recorder": self.predictions.recorder,
        }

    # The candidates -------------------------------------------------------------------

    def search(self) -> bool:
        """Evaluate the source's candidates; tell whether a callback ended it."""
        source, stopped = self.source, False
        n_splits, n = len(self.job.splits), source.n_planned
        if self.estimator.verbose > 0:
            print(
                f"Fitting {n_splits} folds for each of {n} candidates, "
                f"totalling {n_splits * n} fits"
            )
        in_rounds = source.n_rounds is not None
        task = self.root.subcontext(
            task_name="search",
            max_subtasks=source.n_rounds if in_rounds else n * n_splits,
            sequential_subtasks=in_rounds,
        ).call_on_fit_task_begin(estimator=self.estimator)
        with self._pool() as pool:
            self.stops.plan(n_splits, pool.n_workers)
            while not stopped:
                over = len(source.trials) < n and self.stops.over()
                if over or not (trials := self.journal.next_round(source)):
                    break
                stopped = self._round(pool, trials, task)
        if not source.trials:
            raise self.stops.nothing_finished() or ValueError(NO_FITS)
        task.call_on_fit_task_end(**self.told(**source.progress()))
        return stopped

    def _pool(self) -> FoldPool | SoloPool:
        search, timeout = self.estimator, self.stops.fit_timeout
        backend, _ = get_active_backend()
        if is_dask(backend):
            seconds = math.inf if timeout is None else timeout
            return DaskPool(self.job, backend, seconds, search.pre_dispatch, self.stops)
        if timeout is not None:
            return TimedPool(self.job, search.n_jobs, timeout, self.stops)
        return FoldPool(self.job, search.n_jobs, search.pre_dispatch, self.stops)

    def _round(
        self, pool: FoldPool | SoloPool, trials: Sequence[Trial], search_task: Any
    ) -> bool:
        """Evaluate candidates side by side; tell whether a callback asks to stop."""
        n_splits, source = len(self.job.splits), self.source
        task, in_rounds = search_task, source.n_rounds is not None
        if in_rounds:
            task = search_task.subcontext(
                task_name="round",
                max_subtasks=len(trials) * n_splits,
                sequential_subtasks=False,
            ).call_on_fit_task_begin(**self.told(**source.progress()))
        results = self._results(pool, trials, task)
        for trial in trials:
            # Told in the order asked, so that nothing depends on which fold was faster.
            keys = [(trial.number, split) for split in range(n_splits)]
            if results.keys() >= set(keys):  # the end may have come first
                self.predictions.take(trial.number, [results[key] for key in keys])
                take_folds(trial, [results[key] for key in keys])
                if callable(self.estimator.scoring):
                    self._check_returned(trial)
                source.tell(trial)
        told = self.told(**source.progress()) if in_rounds else {}
        return in_rounds and task.call_on_fit_task_end(**told)

    def _results(
        self, pool: FoldPool | SoloPool, trials: Sequence[Trial], task: Any
    ) -> dict[FoldId, FoldResult]:
        """Return the results of the folds of a round; what is known is not fitted."""
        results = self.journal.done(trials[0].number, len(trials))
        folds = self._folds(trials, task, results)
        for key, result in self.stops.guard(pool.run(folds)) if folds else ():
            check_scores(result, self.owner)
            self.journal.record(key, result)
            results[key] = result
        return results

    def _check_returned(self, trial: Trial) -> None:
        """Check the metrics that a callable scorer turned out to return."""
        for fold in trial.folds:
            names = returned(fold, self.estimator.error_score)
            if names is not None and self.metrics is not None:
                check_same(names, self.metrics, self.owner)
            elif names is not None:
                if names:
                    self.estimator._check_refit_for_multimetric(names)
                self._know(names)

    def _know(self, metrics: list[str]) -> None:
        """Take note of the metrics; ValueError if the source cannot do with them."""
        self.source.check(metrics)
        self.metrics = metrics

    def _folds(
        self, trials: Sequence[Trial], task: Any, known: Container[FoldId]
    ) -> list[Fold]:
        """Return the folds of some trials, each with its callback task."""
        n_splits, watched = len(self.job.splits), self._watched(trials)
        return [
            Fold(
                trial.number,
                split,
                trial.params,
                self._progress(trial.number, split, task if watched else None),
            )
            for trial in trials
            for split in range(n_splits)
            if (trial.number, split) not in known
        ]

    def _watched(self, trials: Iterable[Trial]) -> bool:
        """Tell whether anybody could hear of the folds.

        Otherwise the tree of tasks, which grows and travels with each fold, is spared.
        """
        if isinstance(self.root, SilentTask):
            return False
        values = [value for trial in trials for value in trial.params.values()]
        return any(map(has_callbacks, [self.estimator, self.job.estimator, *values]))

    def _progress(self, number: int, split: int, task: Any) -> dict[str, Any]:
        """Return what scikit-learn prints of a fold, and tells callbacks."""
        n_splits = len(self.job.splits)
        progress = {
            "split_progress": (split, n_splits),
            "candidate_progress": (number, self.source.n_planned),
        }
        if task is None:
            return progress
        leaf = task.subcontext(
            task_name="candidate-split-evaluation", task_id=number * n_splits + split
        )
        return {**progress, "caller": self.estimator, "callback_ctx": leaf}

    # The results ----------------------------------------------------------------------

    def conclude(self) -> None:
        """Set the table of results and the best candidate."""
        search = self.estimator
        folds = [fold for trial in self.source.trials for fold in trial.folds]
        warn_or_raise_about_fit_failures(folds, search.error_score)
        if callable(search.scoring):  # what it returns is known only now
            spread_failures(folds)
            insert_error_scores(folds, search.error_score)
        candidates = [trial.params for trial in self.source.trials]
        columns = self.source.columns()
        results = search._format_results(candidates, search.n_splits_, folds, columns)
        search.multimetric_ = isinstance(folds[0]["test_scores"], dict)
        if callable(search.scoring) and search.multimetric_:
            self.refit_metric = search.refit
        search.scorer_ = getattr(self.scorers, "_scorers", self.scorers)
        search.cv_results_ = results
        if search.refit or not search.multimetric_:
            metric = self.refit_metric
            best = search._select_best_index(search.refit, metric, results)
            search.best_index_, search.best_params_ = best, results["params"][best]
            if not callable(search.refit):
                search.best_score_ = results[f"mean_test_{metric}"][best]

    def refit(self) -> None:
        """Fit the best candidate on all the data."""
        search = self.estimator
        # Parameters are cloned, too: they may be estimators.
        best = clone(search.best_params_, safe=False)
        search.best_estimator_ = clone(self.job.estimator).set_params(**best)
        task = self.root.subcontext(task_name="refit-with-best-params")
        data = (self.X,) if self.y is None else (self.X, self.y)
        with task.propagate_callback_context(search.best_estimator_):
            task.call_on_fit_task_begin(**self.told())
            start = time.perf_counter()
            search.best_estimator_.fit(*data, **self.routed.estimator.fit)
            search.refit_time_ = time.perf_counter() - start
        if hasattr(search.best_estimator_, "feature_names_in_"):
            search.feature_names_in_ = search.best_estimator_.feature_names_in_
        task.call_on_fit_task_end(**self.told())
