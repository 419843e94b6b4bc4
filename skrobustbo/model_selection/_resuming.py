"""Runs of a search: the first one by `fit`, and later ones by `resume`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self, cast
from warnings import warn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skrobustbo._arguments import checked_count
from skrobustbo._sklearn_compat import fit_context
from skrobustbo._trials import Trial
from skrobustbo.checkpoint import CheckpointError, NoJournal, open_journal
from skrobustbo.evaluation import (
    OutOfFold,
    ResourceAxis,
    Schedule,
    Stops,
    run_search,
)
from skrobustbo.model_selection._before import keeps_predictions, score_metric
from skrobustbo.model_selection._failures import Notes
from skrobustbo.model_selection._honest import collector, honest
from skrobustbo.model_selection._listening import listening
from skrobustbo.model_selection._memory import MemoryJournal
from skrobustbo.model_selection._preparing import prepared
from skrobustbo.model_selection._previous import known_before
from skrobustbo.model_selection._rung_source import RungSource
from skrobustbo.model_selection._softly import softly
from skrobustbo.model_selection._source import OptimizerSource
from skrobustbo.model_selection._winner import Honest
from skrobustbo.optimizer import Optimizer

Params = dict[str, Any]

_HONEST = ("honest_score_", "honest_interval_", "honest_optimism_")


@dataclass(frozen=True)
class _Run:
    """The parts of a run of `fit` or `resume`."""

    source: OptimizerSource
    stops: Stops
    journal: NoJournal
    on_start: Callable[[], None]
    schedule: Schedule
    predictions: OutOfFold | None
    resource: ResourceAxis | None

    @property
    def settings(self) -> Params:
        """Arguments of `run_search` other than the source and the data."""
        return {name: value for name, value in vars(self).items() if name != "source"}


class ResumeMixin:
    """Runs a search, and resumes it with more candidates."""

    n_iter: int
    batch_size: int
    checkpoint: Any
    honest_score: bool | str
    n_resources_: list[float]
    n_candidates_: list[int]
    min_resources_: float
    max_resources_: float
    _notes: Notes
    #: The record of the run for `resume`; None if there is a checkpoint.
    _memory: MemoryJournal | None = None
    n_iter_: int
    tuner_time_: float
    stop_reason_: str
    optimizer_: Optimizer
    best_score_: Any

    # The estimator is not validated before the search itself is.
    @fit_context(prefer_skip_nested_validation=False)
    def resume(self, X: Any, y: Any = None, *, n_iter: int, **params: Any) -> Self:
        """Go on with a fitted search: evaluate more candidates and refit the best.

        The splits, the seed, the candidates and their scores are kept: nothing is
        fitted again but the best candidate. It needs no `checkpoint`; where there is
        one, it goes on, too. The fitted attributes then are those of the whole search:
        `n_iter_` counts all candidates, while the setting `n_iter` stays what it is.

        Parameters
        ----------
        X, y : array-like
            The data of `fit`, which are not kept. Without a checkpoint, only their
            size is checked.
        n_iter : int
            Candidates to evaluate in addition. Those that were under way when the
            search was interrupted are finished first and are among them.
        **params : dict
            What was passed to `fit` besides.

        Returns
        -------
        self : RobustBayesSearchCV

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            If the data have another size, or a setting has changed that the candidates
            depend on. As `skrobustbo.checkpoint.CheckpointError` if the checkpoint
            cannot be used.

        Notes
        -----
        ``fit`` with ``n_iter=20`` and then ``resume(X, y, n_iter=10)`` evaluates the
        candidates that ``fit`` with ``n_iter=30`` would have evaluated, if two things
        are equal: the size of the initial design, which by default is at most a third
        of `n_iter` (set `n_initial_points`), and what the policy makes of the planned
        number of candidates. The plan stays that of `fit`: "robust" spends the last of
        its 20 candidates on refining the best, which the longer search would do later.
        With a checkpoint, the result is that of repeating `fit` with a larger `n_iter`.

        Changes of `optimizer_` from outside, by `ask` or `tell`, are not taken over.
        `max_time` counts anew. With `racing`, and with other schedules than "rounds",
        the earlier candidates are asked once more, which takes the time of the tuner,
        but fits nothing. If `resume` raises, the results of before stay; with
        `honest_score=True`, a fitted search without a checkpoint keeps the predictions.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import SVC
        >>> from skrobustbo import Real, RobustBayesSearchCV
        >>> X, y = load_iris(return_X_y=True)
        >>> space = {"C": Real(1e-2, 1e3, log=True)}
        >>> search = RobustBayesSearchCV(SVC(), space, n_iter=6, random_state=0)
        >>> search.fit(X, y).n_iter_
        6
        >>> search.resume(X, y, n_iter=4).n_iter_
        10
        """
        check_is_fitted(self, "_notes")
        more = checked_count("n_iter", n_iter, "RobustBayesSearchCV.resume")
        if self.checkpoint is None:
            self._check_memory(X)
        else:
            _check_exists(self.checkpoint)
        before, n_done = dict(vars(self)), len(self._notes.trials)
        with listening(self) as begin:
            try:
                data = {"X": X, "y": y, **params}
                total = self._total(more)
                with self._set_up(data, begin, total, resuming=True) as run:
                    reason = run_search(self, run.source, X, y, params, **run.settings)
                    run.journal.end(reason or run.source.reason)
                self._conclude(run, reason, data)
            except BaseException:
                self._restore(before)
                raise
            if self.n_iter_ < n_done:
                reason = self.stop_reason_
                self._restore(before)
                self.stop_reason_ = reason
                warn(
                    "The search ended before the earlier candidates had been asked "
                    "again: its results are those of before.",
                    stacklevel=3,
                )
        return self

    def _total(self, more: int) -> int:
        """Return `n_iter` of the whole search with `more` further candidates."""
        search: Any = self
        notes = self._notes
        if search.resource is not None:
            return math.ceil(notes.n_used) + more
        n_asked = notes.n_used if self._memory is None else self._memory.noted[1]
        return max(len(notes.trials) + more, int(n_asked))

    def _restore(self, attributes: Params) -> None:
        vars(self).clear()
        vars(self).update(attributes)

    def _check_memory(self, X: Any) -> None:
        if self._memory is None:
            raise ValueError(
                "The 'checkpoint' of RobustBayesSearchCV must be that of fit when "
                "resume is called. Got None instead; set it again, as the file has "
                "the earlier candidates."
            )
        self._memory.start_resume(X)

    @contextmanager
    def _set_up(
        self,
        data: Params,
        begin: Callable[[str], None],
        n_iter: int | None = None,
        *,
        resuming: bool = False,
    ) -> Iterator[_Run]:
        """Return the parts of a run as a context, after all checks that need no fit.

        `begin` is called with the identity of the search right before the first fit.
        """
        search: Any = self
        stops = Stops(search.max_time, search.fit_timeout, interruptible=True)
        with self._open_journal(resuming) as journal:
            source = self._source(journal, data, n_iter)
            kept = collector(self, source.optimizer.space, data["y"], journal)

            def on_start() -> None:
                # On resuming, the earlier results stay until there are new ones.
                if not resuming:
                    self._forget(source)
                begin(journal.identity)

            how = source.schedule(), kept, source.resource
            yield _Run(source, stops, journal, on_start, *how)

    def _conclude(self, run: _Run, reason: str, data: Params) -> None:
        """Set the fitted attributes that `run_search` does not."""
        source = run.source
        self._memory = run.journal if isinstance(run.journal, MemoryJournal) else None
        self.optimizer_ = source.optimizer
        self.n_iter_ = len(source.trials)
        if run.resource is not None:
            self._set_resources(source)
        self.tuner_time_ = source.seconds
        self.stop_reason_ = reason or source.reason
        self._notes = source.notes()
        for name in _HONEST:  # of before a `resume`, which may do without
            vars(self).pop(name, None)
        # The search is complete by now, whatever becomes of the rest.
        with softly() as attempt:
            if self._memory is not None:
                note = partial(self._memory.note_data, data["X"])
                attempt("the shape of X, for 'resume'", note, None)
            if self.honest_score:
                self._set_honest_score(Honest())
                groups = data.get("groups")
                compute = partial(self._honest, source, run.predictions, groups)
                self._set_honest_score(attempt("honest_score_", compute, Honest()))

    def _set_resources(self, source: OptimizerSource) -> None:
        """Set the attributes that scikit-learn's halving searches also have."""
        amounts = source.optimizer._ladder.amounts
        rungs: Any = cast(Any, self).cv_results_["iter"]
        self.n_resources_ = list(amounts)
        self.n_candidates_ = np.bincount(rungs, minlength=len(amounts)).tolist()
        self.min_resources_, self.max_resources_ = amounts[0], amounts[-1]

    @contextmanager
    def _open_journal(self, resuming: bool) -> Iterator[NoJournal]:
        search: Any = self
        if search.checkpoint is None:
            yield (
                self._memory
                if resuming and self._memory is not None
                else MemoryJournal()
            )
            return
        retry = search.retry_failed
        with open_journal(search.checkpoint, retry_failed=retry) as journal:
            yield journal

    def _forget(self, source: OptimizerSource) -> None:
        """Delete the results of an earlier fit, once this one has passed all checks."""
        for name in ("_notes", "_memory", "best_score_", *_HONEST):
            vars(self).pop(name, None)
        self.optimizer_ = source.optimizer

    def _honest(
        self, source: OptimizerSource, kept: OutOfFold | None, groups: Any
    ) -> Honest:
        search: Any = self
        return honest(
            source.trials,
            kept if keeps_predictions(self) else None,
            metric=score_metric(self, source.trials[0].metrics),
            error_score=search.error_score,
            groups=groups,
            seed=source.optimizer._seed,
            verbose=search.verbose,
        )

    def _set_honest_score(self, found: Honest) -> None:
        self.honest_score_, self.honest_interval_ = found.score, found.interval
        if hasattr(self, "best_score_"):
            self.honest_optimism_ = float(self.best_score_ - found.score)

    def _source(
        self,
        journal: NoJournal | None = None,
        data: Params | None = None,
        n_iter: int | None = None,
    ) -> OptimizerSource:
        """Return the source of candidates, after all checks that need no fit."""
        journal, n = journal or NoJournal(), n_iter or self.n_iter
        data = data or {}
        known = partial(known_before, self, data)
        fresh, before, resource = prepared(self, journal, data, n, known)
        if resource is not None:
            return RungSource(self, fresh, journal, n, before, resource=resource)
        if n_iter is not None and self._can_continue_in_place(journal):
            return ContinuedSource(self, fresh, journal, n, before)
        return OptimizerSource(self, fresh, journal, n, before)

    def _can_continue_in_place(self, journal: NoJournal) -> bool:
        """Return whether `resume` can continue with the optimizer as it is.

        It can if the search proceeds in rounds, so that no candidate was proposed while
        another one was pending, and if nobody has used the optimizer since.
        """
        search: Any = self
        if not isinstance(journal, MemoryJournal) or search.racing is not None:
            return False
        trials, n_told = self.optimizer_._trials, len(self._notes.trials)
        n = trials.n_before
        same = len(trials.trials) == journal.noted[1] + n and len(trials) == n_told + n
        return search.schedule == "rounds" and same


class ContinuedSource(OptimizerSource):
    """A source that continues with the optimizer of a fitted search."""

    def __init__(
        self,
        search: Any,
        fresh: Callable[[], Optimizer],
        journal: NoJournal,
        n_iter: int,
        before: Any,
    ) -> None:
        super().__init__(search, fresh, journal, n_iter, before)
        self.optimizer, self.seconds = search.optimizer_, search.tuner_time_

    def resume(self, noted: Sequence[Mapping[str, Any]]) -> list[Trial]:
        """Return the candidates of an earlier round; the optimizer already has them."""
        every = self.optimizer._trials
        first = every.n_before + len(self.trials) + len(self._in_flight)
        trials = every.trials[first : first + len(noted)]
        self._in_flight += trials
        return trials

    def _tell(self, trial: Trial) -> None:
        if trial.pending:
            super()._tell(trial)
        else:
            self._in_flight.remove(trial)
            self.trials.append(trial)


def _check_exists(path: Any) -> None:
    """Raise a CheckpointError if the file does not exist."""
    name = os.fsdecode(path)
    if not os.path.exists(name):
        raise CheckpointError(
            f"The checkpoint {name!r} is not there, and resume needs it: give the path "
            "of the file that fit wrote."
        )
