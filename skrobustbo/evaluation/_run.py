"""Run a search, from drawing the splits to refitting the best candidate."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joblib.parallel import get_active_backend
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import indexable

from skrobustbo._names import printable_lines
from skrobustbo._sklearn_compat import (
    NO_FITS,
    BaseSearchCV,
    check_method_params,
    has_callbacks,
    metric_names,
    num_samples,
    root_task,
    warn_or_raise_about_fit_failures,
)
from skrobustbo._trials import Evaluation, FoldId, FoldResult
from skrobustbo.checkpoint import Journal
from skrobustbo.evaluation._checks import (
    check_same,
    check_splits,
    check_weights,
    checked_cv,
    result_of,
    returned,
    take_folds,
)
from skrobustbo.evaluation._dask import DaskPool, is_dask
from skrobustbo.evaluation._folds import Fold, Job
from skrobustbo.evaluation._inner_threads import limit_of, warn_of_idle_cores
from skrobustbo.evaluation._joblib_pool import JoblibPool
from skrobustbo.evaluation._out_of_fold import OutOfFold
from skrobustbo.evaluation._plan import Batch, Plan, Running
from skrobustbo.evaluation._progress import Progress, announce
from skrobustbo.evaluation._results import results_of
from skrobustbo.evaluation._sources import Source
from skrobustbo.evaluation._stops import Stops
from skrobustbo.evaluation._timed import TimedPool
from skrobustbo.evaluation._warm import WarmModels
from skrobustbo.evaluation._workers import WorkerPool


@dataclass
class SearchRun:
    """One call to the `fit` method of a search.

    The constructor performs all checks that do not require a fit.
    """

    estimator: BaseSearchCV
    source: Source
    X: Any
    y: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    stops: Stops = field(default_factory=Stops)
    journal: Journal = field(default_factory=Journal)
    predictions: OutOfFold = field(default_factory=OutOfFold)

    def __post_init__(self) -> None:
        search, self.schedule = self.estimator, self.source.schedule
        self.scorers, self.refit_metric = search._get_scorers()
        self.owner = type(search).__name__
        #: Names of the metrics; None until a callable scorer has returned some.
        self.metrics: list[str] | None = None
        if not callable(search.scoring):
            self._set_metrics(metric_names(self.scorers))
        self.X, self.y = indexable(self.X, self.y)
        self.params = check_method_params(self.X, params=self.params)
        check_weights(self.params, num_samples(self.X))
        self.routed = search._get_routed_params_for_fit(self.params)
        self.root = root_task(search, 1 + (search.refit is not False))
        self.root.call_on_fit_task_begin(**self.callback_arguments())
        splits = self.journal.open(
            self._splits,
            n_samples=num_samples(self.X),
            metrics=self.metrics,
            train=search.return_train_score,
            n_open=self.schedule.n_open,
            n_classes=self.predictions.n_classes,
        )
        settings = {
            "scorer": self.scorers,
            "fit_params": self.routed.estimator.fit,
            "score_params": self.routed.scorer.score,
            "return_train_score": search.return_train_score,
            "return_n_test_samples": True,
            "return_times": True,
            "return_parameters": False,
            "error_score": search.error_score,
            "verbose": search.verbose,
        }
        what = clone(search.estimator), self.X, self.y, splits, settings
        self.job = Job(*what, self.predictions.recorder, self.source.resource)
        self.predictions.job = self.job
        self.models, self.n_asked, self.is_stopped = WarmModels(), 0, False
        #: Whether a callback may be called for any fold.
        self.is_watched = any(map(has_callbacks, (search, search.estimator)))
        search.n_splits_ = len(self.job.splits)

    def run(self) -> str:
        """Evaluate the candidates and set the fitted attributes of the search.

        Returns
        -------
        reason : str
            Why the search ended: the reason from `stops` if there is one, "callback" if
            a callback stopped the search, or the reason from the source.

        Raises
        ------
        TimeoutError, KeyboardInterrupt
            If `stops` ended the search before any candidate was finished.
        """
        with self.stops.watched():
            self.search()
            self.conclude()
        self.stops.warn(len(self.source.trials), self.source.n_planned)
        if self.estimator.refit:
            self.refit()
        self.root.call_on_fit_task_end(**self.callback_arguments())
        reason = "callback" if self.is_stopped else self.source.reason
        return self.stops.reason or reason

    def callback_arguments(self, **more: Any) -> dict[str, Any]:
        """Return the callback arguments for tasks that use all the data."""
        weights = self.params.get("sample_weight")
        metadata = {} if weights is None else {"sample_weight": weights}
        return {
            "estimator": self.estimator,
            "X": self.X,
            "y": self.y,
            "metadata": {**metadata, **more} or None,
        }

    def _splits(self) -> list[tuple[Any, Any]]:
        """Return the splits that all candidates share."""
        search, told = self.estimator, self.routed.splitter.split
        cv = checked_cv(search.cv, self.owner)
        cv = check_cv(cv, self.y, classifier=is_classifier(search.estimator))
        n_splits = cv.get_n_splits(self.X, self.y, **told)
        splits = list(cv.split(self.X, self.y, **told))
        check_splits(splits, n_splits, num_samples(self.X), self.owner)
        self.predictions.check(splits, num_samples(self.X))
        return splits

    # Candidates -----------------------------------------------------------------------

    def search(self) -> None:
        self._begin()
        n_splits = len(self.job.splits)
        workers = self._workers()
        with Progress(self.estimator, self.source, self.stops) as line, workers as pool:
            inner = self.job.n_threads, pool.n_workers
            warn_of_idle_cores(self.job.estimator, *inner, self.owner)
            # Concurrent candidates share the workers.
            beside = min(self.schedule.n_in_flight, pool.n_workers)
            self.stops.plan(n_splits * beside, pool.n_workers)
            plan = Plan(self.schedule, n_splits, self.ask, self.tell)
            if plan.fill():
                line.begin()
            for key, raw in self.stops.guard(pool.run(plan.waiting, plan.needs)):
                if plan.take(key, self._keep(key, raw)):
                    plan.fill()
                line.show()
            plan.finish()
        if not self.source.trials:
            raise self.stops.nothing_finished() or ValueError(NO_FITS)
        told = self.callback_arguments(**self.source.progress())
        self.task.call_on_fit_task_end(**told)

    def _workers(self) -> WorkerPool:
        """Return the pool of workers that fit the folds."""
        job, stops, n_jobs = self.job, self.stops, self.estimator.n_jobs
        backend, _ = get_active_backend()
        job.n_threads = limit_of(backend)
        pre_dispatch = "n_jobs" if stops.on_time else self.estimator.pre_dispatch
        if is_dask(backend):
            return DaskPool(job, backend, stops, pre_dispatch)
        if stops.fit_timeout < math.inf:
            return TimedPool(job, n_jobs, stops)
        if self.schedule.is_live:
            pre_dispatch = "n_jobs"
        return JoblibPool(job, n_jobs, stops, pre_dispatch)

    def _begin(self) -> None:
        """Print the plan of the search and start its callback task."""
        n_splits, n = len(self.job.splits), self.source.n_planned
        n_rounds = self.source.n_rounds
        if self.estimator.verbose > 0:
            announce(n_splits, self.source, self.journal)
        self.task = self.root.subcontext(
            task_name="search",
            max_subtasks=n * n_splits if n_rounds is None else n_rounds,
            sequential_subtasks=self.in_rounds,
        ).call_on_fit_task_begin(estimator=self.estimator)

    def _keep(self, key: FoldId, raw: Any) -> FoldResult | Exception:
        """Check the result of a fold, record it in the journal, and return it.

        An exception is returned unchanged, because the plan decides whether to raise
        it.
        """
        if isinstance(raw, Exception):
            return raw
        if "model" in raw:
            self.models.keep(key, raw.pop("model"))
        result = result_of(raw, self.owner)
        self.learn_metrics(result)
        self.journal.record(key, result, in_turn=not self.schedule.in_order)
        return result

    @property
    def in_rounds(self) -> bool:
        return self.source.n_rounds is not None and self.schedule.n_in_flight == 1

    # Batches --------------------------------------------------------------------------

    def ask(self) -> Batch | None:
        """Return the next candidates, or None if there are none to evaluate now."""
        is_new = self.n_asked < self.source.n_planned
        if self.is_stopped or (is_new and self.stops.over()):
            return None
        trials = self.journal.next_round(self.source)
        self.n_asked += len(trials)
        if not trials:
            return None
        task = self._begun(trials)
        return Batch([self._running(trial, task) for trial in trials], task)

    def _begun(self, trials: Sequence[Evaluation]) -> Any:
        if self.source.n_rounds is None:
            return self.task
        one_by_one = {"task_id": trials[0].number, "task_name": "candidate"}
        kind = {"task_name": "round"} if self.in_rounds else one_by_one
        return self.task.subcontext(
            **kind,
            max_subtasks=len(trials) * len(self.job.splits),
            sequential_subtasks=False,
        ).call_on_fit_task_begin(**self.callback_arguments(**self.source.progress()))

    def _running(self, trial: Evaluation, task: Any) -> Running:
        """Return a candidate with its known results and the folds to fit."""
        known = dict(self.journal.folds_of(trial.number))
        for result in known.values():
            self.learn_metrics(result)
        # Tasks cost memory and messages, so folds only have them if a callback needs
        # them.
        is_watched = self.is_watched or any(map(has_callbacks, trial.params.values()))
        params = self._settings_of(trial, trial.resource)
        n_splits, of = len(self.job.splits), (trial.number, self.source.n_planned)
        folds = []
        for split, model in enumerate(self.models.take(trial, n_splits)):
            told: dict[str, Any] = {
                "split_progress": (split, n_splits),
                "candidate_progress": of,
            }
            if is_watched:
                leaf = task.subcontext(
                    task_name="candidate-split-evaluation",
                    task_id=trial.number * n_splits + split,
                )
                told |= {"caller": self.estimator, "callback_ctx": leaf}
            if (trial.number, split) not in known:
                fold = trial.number, split, params, told, trial.resource, model
                folds.append(Fold(*fold))
        return Running(trial, folds, list(known.items()))

    def tell(self, batch: Batch) -> None:
        """Tell the source about the finished candidates of a batch."""
        for candidate in batch.over:
            self._tell(candidate)
        if self.source.n_rounds is not None:
            told = self.callback_arguments(**self.source.progress())
            self.is_stopped |= bool(batch.task.call_on_fit_task_end(**told))

    def _tell(self, candidate: Running) -> None:
        trial, folds = candidate.trial, candidate.used
        is_full = len(folds) == len(self.job.splits) and trial.resource is None
        if is_full and self.predictions.recorder is not None:
            self.predictions.take(trial.number, folds)
        if callable(self.estimator.scoring) and self.metrics is not None:
            for fold in folds:
                names = returned(fold, self.estimator.error_score)
                if names is not None:
                    check_same(names, self.metrics, self.owner)
        take_folds(trial, folds, self.metrics or ())
        trial.estimate = candidate.estimate
        self.journal.over(trial)
        self.source.tell(trial)

    def learn_metrics(self, result: FoldResult) -> None:
        """Set the names of the metrics from the first scores of a callable scorer.

        A race needs these names before its candidate is finished.
        """
        if self.metrics is not None or not callable(self.estimator.scoring):
            return
        names = returned(result, self.estimator.error_score)
        if names:
            self.estimator._check_refit_for_multimetric(names)
        if names is not None:
            self._set_metrics(names)

    def _set_metrics(self, metrics: list[str]) -> None:
        """Set the names of the metrics, after checking that the source can use them."""
        self.source.check(metrics)
        self.metrics = metrics

    def _settings_of(
        self, trial: Evaluation, amount: float | None = None
    ) -> dict[str, Any]:
        """Return the parameters to set for a candidate.

        The dict is empty for the unmodified estimator. Otherwise, it includes the
        amount of the resource if this is a parameter.
        """
        if trial.is_outside:
            return {}
        given = (
            {} if self.source.resource is None else self.source.resource.params(amount)
        )
        return {**trial.params, **given}

    # Results --------------------------------------------------------------------------

    def conclude(self) -> None:
        """Set `cv_results_` and the attributes of the best candidate."""
        search = self.estimator
        folds = [fold for trial in self.source.trials for fold in trial.folds]
        errors = [fold.fit_error for fold in folds]
        shown = [{"fit_error": error and printable_lines(error)} for error in errors]
        warn_or_raise_about_fit_failures(shown, search.error_score)
        if callable(search.scoring):  # early failures do not name the metrics
            for trial in self.source.trials:
                take_folds(trial, trial.folds, self.metrics or ())
        results = results_of(search, self.source.trials, self.source.columns())
        search.multimetric_ = bool(self.metrics)
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
        # Parameters are cloned too: they may be estimators.
        settings = self._settings_of(self.source.trials[search.best_index_])
        best = clone(settings, safe=False)
        search.best_estimator_ = clone(self.job.estimator).set_params(**best)
        task = self.root.subcontext(task_name="refit-with-best-params")
        data = (self.X,) if self.y is None else (self.X, self.y)
        with task.propagate_callback_context(search.best_estimator_):
            task.call_on_fit_task_begin(**self.callback_arguments())
            start = time.perf_counter()
            search.best_estimator_.fit(*data, **self.routed.estimator.fit)
            search.refit_time_ = time.perf_counter() - start
        if hasattr(search.best_estimator_, "feature_names_in_"):
            search.feature_names_in_ = search.best_estimator_.feature_names_in_
        task.call_on_fit_task_end(**self.callback_arguments())
