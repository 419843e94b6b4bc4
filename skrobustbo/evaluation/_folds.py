"""Fit the folds of a search."""

from __future__ import annotations

import math
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import sklearn
from joblib import parallel_config
from joblib.parallel import SequentialBackend, get_active_backend
from sklearn.base import clone

from skrobustbo._names import printable_lines
from skrobustbo._sklearn_compat import fit_and_score, metric_names
from skrobustbo._threads import limited_threads
from skrobustbo._trials import FoldId, RawResult
from skrobustbo.evaluation._autologging import no_autologging
from skrobustbo.evaluation._inner_threads import held, held_params
from skrobustbo.evaluation._predictions import Recorder
from skrobustbo.evaluation._resource import ROWS, ResourceAxis
from skrobustbo.evaluation._warm import packed, with_model


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
    `resource` and at most `n_threads` threads. A `recorder` adds the predictions to the
    results.
    """

    estimator: Any
    X: Any
    y: Any
    splits: Sequence[tuple[Any, Any]] | Mapping[int, tuple[Any, Any]]
    settings: dict[str, Any]
    recorder: Recorder | None = None
    resource: ResourceAxis | None = None
    nested: bool = False
    n_threads: int = 1

    @cached_property
    def _held(self) -> Any:
        return held(self.estimator, self.n_threads)

    def fit(self, fold: Fold) -> tuple[FoldId, RawResult, float]:
        """Fit and score one fold with a thread limit and without autologging.

        The thread limit, and therefore the scores, do not depend on the number of jobs.
        If the fold uses part of a resource, the result includes the fitted model if a
        later fit can continue from it.
        """
        start = time.perf_counter()
        settings = {**self.settings, **fold.settings}
        if settings["verbose"] > 1 and not _can_be_printed(fold.params):
            settings["verbose"] = 0
        estimator, (train, test) = clone(self._held), self.splits[fold.split]
        name, keeps = "", False
        if self.resource is not None:
            name = self.resource.name
            keeps = fold.amount is not None and name != ROWS
            train = self.resource.rows(train, fold.split, fold.amount)
        if fold.model is not None:
            estimator = with_model(estimator, fold.model, name)
        fit = fit_and_score if self.recorder is None else self.recorder.fit_and_score
        with (
            sklearn.config_context(),
            warnings.catch_warnings(),
            limited_threads(self.n_threads, openmp=True),
            self._inside(),
            no_autologging(),
        ):
            try:
                result: RawResult = fit(
                    estimator=estimator,
                    X=self.X,
                    y=self.y,
                    train=train,
                    test=test,
                    parameters=held_params(estimator, fold.params, self.n_threads),
                    return_estimator=keeps,
                    **settings,
                )
            except SystemExit:  # scikit-learn would let it end the program
                if settings["error_score"] == "raise":
                    raise
                result = self.failed(fold, traceback.format_exc())
        fitted = result.pop("estimator", None)
        if keeps and fitted is not None and not result["fit_error"]:
            result["model"] = packed(fitted, name)
        return fold.key, result, time.perf_counter() - start

    def _inside(self) -> Any:
        """Return a joblib context that limits the threads of jobs inside a fold."""
        if not self.nested:
            backend = SequentialBackend(inner_max_num_threads=self.n_threads)
            return parallel_config(backend=backend)
        if self.n_threads > 1:  # one is the default, as in a worker
            backend, _ = get_active_backend()
            backend.inner_max_num_threads = self.n_threads
        return nullcontext()

    def alone(self, fold: Fold) -> Job:
        """Return a copy of the job with only the split of one fold."""
        return replace(self, splits={fold.split: self.splits[fold.split]})

    def failed(self, fold: Fold, reason: str) -> RawResult:
        error_score = self.settings["error_score"]
        named = metric_names(self.settings["scorer"])
        scores = dict.fromkeys(named, error_score) if named else error_score
        result = {"fit_error": reason, "test_scores": scores}
        if self.settings["return_train_score"]:
            result["train_scores"] = scores
        nothing = {"n_test_samples": 0, "fit_time": math.nan, "score_time": math.nan}
        return {**result, **nothing}


def _can_be_printed(params: dict[str, Any]) -> bool:
    """Return whether the parameters are safe to print in a terminal.

    scikit-learn prints them unchanged in its messages about folds.
    """
    with suppress(Exception):
        text = "".join(f"{name}={value}" for name, value in params.items())
        text = text.replace("\t", " ")
        return text == printable_lines(text)
    return False
