"""Running folds on joblib: taken as they finish, completed if a worker dies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any, Self

from joblib import cpu_count, effective_n_jobs, parallel_config
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from skrobustbo._sklearn_compat import fit_and_score, metric_names

FoldResult = dict[str, Any]
Key = tuple[int, int]  # candidate and split

#: Times that a fold, alone, may take its worker down before it counts as failed.
_LIVES = 2


@dataclass(frozen=True)
class Fold:
    """One candidate on one split.

    Attributes
    ----------
    candidate, split : int
        Which candidate of the search, and which split.
    params : dict
        The candidate.
    settings : dict
        What is passed on to scikit-learn's fit and score.
    """

    candidate: int
    split: int
    params: dict[str, Any]
    settings: dict[str, Any] = field(repr=False)

    @property
    def key(self) -> Key:
        """What tells the fold from the others of its search."""
        return self.candidate, self.split


@dataclass
class Job:
    """What all folds of a search share."""

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]]
    settings: dict[str, Any]

    def call(self, fold: Fold, *, nested: bool) -> Any:
        """Return the task of one fold for joblib.

        With `nested`, the estimator may run jobs of its own.
        """
        train, test = self.splits[fold.split]
        return delayed(_fit_fold)(
            fold,
            nested,
            clone(self.estimator),
            self.X,
            self.y,
            train=train,
            test=test,
            **self.settings,
        )

    def failed(self, fold: Fold, reason: str) -> FoldResult:
        """Return the result of a fold that never came back."""
        error_score = self.settings["error_score"]
        named = metric_names(self.settings["scorer"])
        scores = dict.fromkeys(named, error_score) if named else error_score
        result = {"fit_error": reason, "test_scores": scores}
        if self.settings["return_train_score"]:
            result["train_scores"] = scores
        nothing = {"n_test_samples": 0, "fit_time": math.nan, "score_time": math.nan}
        return {**result, **nothing}


class FoldPool:
    """Workers that fit folds; used as a context.

    Parameters
    ----------
    job : Job
        What all folds share.
    n_jobs : int or None
        As joblib has it.
    pre_dispatch : int or str
        As joblib has it.
    """

    def __init__(self, job: Job, n_jobs: int | None, pre_dispatch: int | str) -> None:
        self._job = job
        self._settings = {"n_jobs": n_jobs, "pre_dispatch": pre_dispatch}
        self._parallel = self._workers()
        # Where folds take every core, what is inside them would only get in the way.
        self._nested = effective_n_jobs(n_jobs) < max(2, cpu_count())

    def _workers(self) -> Parallel:
        # joblib 1.3 gives results back in order only, some backends only all at once.
        for way in ("generator_unordered", "generator"):
            with suppress(ValueError):
                return Parallel(**self._settings, return_as=way)
        return Parallel(**self._settings)

    def __enter__(self) -> Self:
        self._parallel.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._parallel.__exit__(*error)

    def run(self, folds: Sequence[Fold]) -> Iterator[tuple[Key, FoldResult]]:
        """Fit folds and give the result of each as soon as it is there.

        If a worker dies, others are started. The folds under way then are fitted again
        one at a time, so that the one that kills workers is known: when it has done so
        twice, it counts as failed, and what is left of its candidate with it.
        """
        left = {fold.key: fold for fold in folds}
        sent: list[Fold] = []
        try:
            for key, result in self._parallel(self._calls(folds, sent)):
                del left[key]
                yield key, result
        except Exception as error:
            if not _is_loss(error):
                raise
            self._restart()
            for fold in [fold for fold in sent if fold.key in left]:
                yield from self._one_at_a_time(fold, left)
            if left:
                yield from self.run(list(left.values()))

    def _one_at_a_time(
        self, fold: Fold, left: dict[Key, Fold]
    ) -> Iterator[tuple[Key, FoldResult]]:
        """Fit a suspect; if it is guilty, take its candidate out of what is left."""
        if fold.key not in left:
            return
        result = self._alone(left.pop(fold.key))
        if result is not None:
            yield fold.key, result
            return
        rest = [other for other in left.values() if other.candidate == fold.candidate]
        for other in [fold, *rest]:
            left.pop(other.key, None)
            yield other.key, self._job.failed(other, _death(fold))

    def _calls(self, folds: Sequence[Fold], sent: list[Fold]) -> Iterator[Any]:
        """Return the tasks of folds, keeping note of those sent to the workers."""
        for fold in folds:
            sent.append(fold)
            yield self._job.call(fold, nested=self._nested)

    def _alone(self, fold: Fold) -> FoldResult | None:
        """Fit one fold with no other under way; None if it kills its workers."""
        for _ in range(_LIVES):
            try:
                ((_, result),) = self._parallel(self._calls([fold], []))
            except Exception as error:
                if not _is_loss(error):
                    raise
                self._restart()
            else:
                alone: FoldResult = result
                return alone
        if self._job.settings["error_score"] == "raise":
            raise BrokenProcessPool(_death(fold))
        return None

    def _restart(self) -> None:
        """Replace workers of which one has died."""
        self._parallel.__exit__(None, None, None)
        self._parallel = self._workers()
        self._parallel.__enter__()


def _is_loss(error: Exception) -> bool:
    """Tell whether an error says that a worker died.

    A pool of processes is broken then. A cluster may have lost data that it was sent,
    and cancels; Dask gives up a task that took several workers down, with an error that
    is recognised by name, as Dask need not be there.
    """
    known = isinstance(error, BrokenProcessPool | CancelledError)
    return known or type(error).__name__ == "KilledWorker"


def _death(fold: Fold) -> str:
    return (
        f"The worker process died {_LIVES} times while it fitted {fold.params}, "
        "perhaps for want of memory."
    )


def _fit_fold(
    fold: Fold, nested: bool, *args: Any, **kwargs: Any
) -> tuple[Key, FoldResult]:
    """Fit and score one fold with one inner thread.

    The limit is the same for every number of jobs, so that scores are, too; the cores
    are used by the folds.
    """
    inside = nullcontext() if nested else parallel_config(backend="sequential")
    with threadpool_limits(limits=1), inside:
        result: FoldResult = fit_and_score(
            *args, parameters=fold.params, **fold.settings, **kwargs
        )
    return fold.key, result
