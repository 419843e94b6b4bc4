"""Fit folds with joblib, and recover when a worker process dies."""

from __future__ import annotations

import math
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

from joblib import cpu_count, effective_n_jobs, parallel_config
from joblib.parallel import SequentialBackend, get_active_backend
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skrobustbo._names import printable_lines, shown
from skrobustbo._sklearn_compat import fit_and_score, metric_names
from skrobustbo._threads import limited_threads
from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._autologging import no_autologging
from skrobustbo.evaluation._inner_threads import held, held_params
from skrobustbo.evaluation._predictions import Recorder
from skrobustbo.evaluation._resource import ROWS, ResourceAxis
from skrobustbo.evaluation._stops import Stops, signals_held
from skrobustbo.evaluation._warm import packed, with_model

#: Number of times that a fold may kill its worker while running alone before it fails.
LIVES = 2
#: Number of times that idle workers may die before they get a fold anyway.
STARTS = 10


@dataclass(frozen=True)
class Fold:
    """A candidate to evaluate on one split.

    Attributes
    ----------
    candidate, split : int
        Numbers of the candidate and the split.
    params : dict
        Parameters of the candidate.
    settings : dict
        Arguments for scikit-learn's fit-and-score function.
    amount : float or None
        Amount of the resource, or None for the full amount.
    model : bytes or None
        Pickled model that was fitted with a smaller amount. The fit continues from it,
        or starts from scratch if it is None.
    """

    candidate: int
    split: int
    params: dict[str, Any]
    settings: dict[str, Any] = field(repr=False)
    amount: float | None = None
    model: bytes | None = field(default=None, repr=False)

    @property
    def key(self) -> FoldId:
        """Numbers of the candidate and the split, which identify the fold."""
        return self.candidate, self.split


class Work(Protocol):
    """Interface of an object that fits the folds of a search.

    Attributes
    ----------
    nested : bool
        Whether a fold may start parallel jobs.
    settings : dict
        Settings that include `error_score`.
    """

    nested: bool
    settings: dict[str, Any]

    def fit(self, fold: Fold) -> tuple[FoldId, RawResult, float]:
        """Fit a fold and return its key, its result and its duration in seconds."""

    def failed(self, fold: Fold, reason: str) -> RawResult:
        """Return the result of a fold that failed for the given reason."""

    def alone(self, fold: Fold) -> Work:
        """Return a copy that contains only the data for one fold."""


@dataclass
class Job:
    """Data and settings that all folds of a search share.

    If `nested` is true, the estimator may start parallel jobs. A fold may use part of
    `resource` and at most `n_threads` threads.
    """

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]] | Mapping[int, tuple[Any, Any]]
    settings: dict[str, Any]
    nested: bool = False
    resource: ResourceAxis | None = None
    n_threads: int = 1

    @cached_property
    def _held(self) -> Any:
        return held(self.estimator, self.n_threads)

    def _task(self, fold: Fold) -> dict[str, Any]:
        train, test = self.splits[fold.split]
        resource = ""
        if self.resource is not None:
            train = self.resource.rows(train, fold.split, fold.amount)
            resource = self.resource.name
        data = {"X": self.X, "y": self.y, "train": train, "test": test}
        own = {"nested": self.nested, "n_threads": self.n_threads}
        own["estimator"] = clone(self._held)
        return {"fold": fold, "resource": resource, **own, **data, **self.settings}

    def call(self, fold: Fold) -> Any:
        """Return a joblib task that fits one fold."""
        return delayed(_fit_fold)(**self._task(fold))

    def fit(self, fold: Fold) -> tuple[FoldId, RawResult, float]:
        return _fit_fold(**self._task(fold))

    def alone(self, fold: Fold) -> Job:
        """Return a copy of the job with only the split of one fold."""
        return replace(self, splits={fold.split: self.splits[fold.split]})

    def failed(self, fold: Fold, reason: str) -> RawResult:
        return _failed(self.settings, reason)


class BatchPool:
    """Pool of workers that fit folds, used as a context manager.

    Attributes
    ----------
    n_workers : int
        Number of folds that run in parallel.
    """

    def __init__(
        self, job: Job, n_jobs: int | None, pre_dispatch: int | str, stops: Stops
    ) -> None:
        self._job, self._stops = job, stops
        self._settings: dict[str, Any] = {
            "n_jobs": n_jobs,
            "pre_dispatch": pre_dispatch,
        }
        if stops.on_time:
            self._settings |= {"pre_dispatch": "n_jobs", "batch_size": 1}
        self._lazy = True
        self._parallel = self._workers()
        self.n_workers = effective_n_jobs(n_jobs)
        job.nested = leaves_cores(self.n_workers)

    def _workers(self) -> Parallel:
        for return_as in ("generator_unordered", "generator"):
            try:
                return Parallel(**self._settings, return_as=return_as)
            except ValueError:  # an older joblib, or a backend without this
                continue
        self._lazy = False
        return Parallel(**self._settings)

    def __enter__(self) -> Self:
        with signals_held():  # some workers start here
            self._parallel.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._parallel.__exit__(*error)

    def run(
        self, waiting: deque[Fold], needs: Callable[[Fold], bool] | None = None
    ) -> Generator[tuple[FoldId, RawResult]]:
        """Fit the waiting folds and yield each result as soon as it is available.

        Folds that are added during a call are left for the next call. If a worker dies,
        new workers are started. To find the fold that kills workers, the running folds
        are then fitted again one at a time. A fold that kills its worker twice counts
        as failed, and so do the remaining folds of its candidate. Folds that must not
        start any more are skipped. `needs` is ignored, because all folds are needed.
        """
        folds = list(waiting)
        waiting.clear()
        return self._run(folds)

    def _run(self, folds: Sequence[Fold]) -> Generator[tuple[FoldId, RawResult]]:
        left = {fold.key: fold for fold in folds}
        sent: list[Fold] = []
        try:
            # Workers start here; a call that is not lazy also waits here for all
            # results.
            with signals_held() if self._lazy else nullcontext():
                results = self._parallel(self._calls(folds, sent))
            for key, result, seconds in results:
                self._stops.note(seconds)
                del left[key]
                yield key, result
        except Exception as error:
            if not is_loss(error):
                raise
            self._restart()
            for fold in [fold for fold in sent if fold.key in left]:
                yield from self._one_at_a_time(fold, left)
            if left:
                yield from self._run(list(left.values()))

    def _one_at_a_time(
        self, fold: Fold, left: dict[FoldId, Fold]
    ) -> Iterator[tuple[FoldId, RawResult]]:
        """Fit a fold alone; if it kills its workers, mark its candidate as failed."""
        if fold.key not in left or not self._stops.admits(fold.candidate):
            return
        result = self._alone(left.pop(fold.key))
        if result is not None:
            yield fold.key, result
            return
        rest = [other for other in left.values() if other.candidate == fold.candidate]
        for other in [fold, *rest]:
            left.pop(other.key, None)
            yield other.key, self._job.failed(other, death(fold))

    def _calls(self, folds: Sequence[Fold], sent: list[Fold]) -> Iterator[Any]:
        """Yield the task of each fold, and append the fold to `sent`."""
        for fold in folds:
            if not self._stops.admits(fold.candidate):
                return
            sent.append(fold)
            yield self._job.call(fold)

    def _alone(self, fold: Fold) -> RawResult | None:
        """Fit one fold alone, or return None if it repeatedly kills its worker."""
        for _ in range(LIVES):
            self._wake()
            if found := self._survived([self._job.call(fold)]):
                ((_, result, _),) = found
                return result
        if self._job.settings["error_score"] == "raise":
            raise BrokenProcessPool(death(fold))
        return None

    def _wake(self) -> None:
        """Wait for the workers, so that no fold is blamed for an earlier death."""
        for _ in range(STARTS):
            if self._survived([delayed(_nothing)()] * self.n_workers):
                return

    def _survived(self, calls: list[Any]) -> list[Any] | None:
        """Return the results of tasks, or None if a worker died and was replaced."""
        try:
            return list(self._parallel(calls))
        except Exception as error:
            if not is_loss(error):
                raise
            self._restart()
            return None

    def _restart(self) -> None:
        """Replace the workers after one has died."""
        self._parallel.__exit__(None, None, None)
        self._parallel = self._workers()
        self.__enter__()


def is_loss(error: Exception) -> bool:
    """Return whether an error means that a worker process died.

    Ray's error is recognised by its class name, because Ray may not be installed.
    """
    names = {cls.__name__ for cls in type(error).__mro__}
    return isinstance(error, BrokenProcessPool) or "RayActorError" in names


def leaves_cores(n_workers: int) -> bool:
    """Return whether the workers leave cores for parallel jobs inside folds.

    If the workers use every core, such jobs would only slow them down.
    """
    return bool(n_workers < max(2, cpu_count()))


def death(fold: Fold) -> str:
    """Return the error message for a fold that kills its workers."""
    return (
        f"The worker process died {LIVES} times or more while it fitted "
        f"{shown(fold.params)}, perhaps because it ran out of memory."
    )


def _failed(settings: dict[str, Any], reason: str) -> RawResult:
    """Return the result of a fold that failed for the given reason."""
    error_score = settings["error_score"]
    named = metric_names(settings["scorer"])
    scores = dict.fromkeys(named, error_score) if named else error_score
    result = {"fit_error": reason, "test_scores": scores}
    if settings["return_train_score"]:
        result["train_scores"] = scores
    nothing = {"n_test_samples": 0, "fit_time": math.nan, "score_time": math.nan}
    return {**result, **nothing}


def _nothing() -> None:
    """Do nothing, but show that a worker has started and imported its modules."""


def _can_be_printed(params: dict[str, Any]) -> bool:
    """Return whether the parameters are safe to print in a terminal.

    scikit-learn prints them unchanged in its messages about folds.
    """
    with suppress(Exception):
        text = "".join(f"{name}={value}" for name, value in params.items())
        text = text.replace("\t", " ")
        return text == printable_lines(text)
    return False


def _inside(nested: bool, n_threads: int) -> Any:
    """Return a joblib context that limits the threads of jobs inside a fold."""
    if not nested:
        backend = SequentialBackend(inner_max_num_threads=n_threads)
        return parallel_config(backend=backend)
    if n_threads > 1:  # one is the default, as in a worker
        backend, _ = get_active_backend()
        backend.inner_max_num_threads = n_threads
    return nullcontext()


def _fit_fold(
    fold: Fold,
    nested: bool,
    n_threads: int,
    resource: str,
    recorder: Recorder | None = None,
    **kwargs: Any,
) -> tuple[FoldId, RawResult, float]:
    """Fit and score one fold with a thread limit and without autologging.

    The thread limit, and therefore the scores, do not depend on the number of jobs. If
    the fold uses part of a resource, the result includes the fitted model if a later
    fit can continue from it.
    """
    start = time.perf_counter()
    keeps = fold.amount is not None and resource != ROWS
    if fold.model is not None:
        kwargs["estimator"] = with_model(kwargs["estimator"], fold.model, resource)
    if kwargs["verbose"] > 1 and not _can_be_printed(fold.params):
        kwargs["verbose"] = 0
    own = kwargs["estimator"], fold.params, n_threads
    evaluate = fit_and_score if recorder is None else recorder.fit_and_score
    inside = _inside(nested, n_threads)
    with limited_threads(n_threads, openmp=True), inside, no_autologging():
        try:
            result: RawResult = evaluate(
                parameters=held_params(*own),
                return_estimator=keeps,
                **fold.settings,
                **kwargs,
            )
        except SystemExit:  # raised by a fit; scikit-learn would let it end the program
            if kwargs["error_score"] == "raise":
                raise
            result = _failed(kwargs, traceback.format_exc())
    fitted = result.pop("estimator", None)
    if keeps and fitted is not None and not result["fit_error"]:
        result["model"] = packed(fitted, resource)
    return fold.key, result, time.perf_counter() - start
