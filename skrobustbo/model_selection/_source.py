"""Propose the candidates of a search with an optimizer, round by round."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from numbers import Integral
from typing import Any
from warnings import warn

import numpy as np

from skrobustbo._arguments import drawn_seed
from skrobustbo._trials import COLUMNS, Evaluation, FoldResult, Trial
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.checkpoint import Asked, Journal
from skrobustbo.evaluation import Races, ResourceAxis, Schedule, Stops
from skrobustbo.model_selection._checks import check_settings, initial_points, metric_of
from skrobustbo.model_selection._default import DEFAULT, default_of, place_of
from skrobustbo.model_selection._ends import CRITERIA, check_tol, found_in
from skrobustbo.model_selection._failures import Outcome, check_fits
from skrobustbo.model_selection._listening import tell_listener
from skrobustbo.model_selection._outline import call_of, described, fingerprint, outline
from skrobustbo.model_selection._parameters import check_names
from skrobustbo.model_selection._previous import Before, known_before
from skrobustbo.model_selection._resource import staged
from skrobustbo.model_selection._settings import Data, Search, racing_of, resource_of
from skrobustbo.model_selection._softly import softly
from skrobustbo.model_selection._suggested import suggested_space
from skrobustbo.optimizer import Optimizer
from skrobustbo.space import Space

#: Number of candidates for each parameter in a suggested space, and minimum number of
#: parameters; `benchmarks/studies/suggested.py` compares alternatives.
_PER_PARAMETER, _FEWEST = 6, 4


class OptimizerSource:
    """Source of candidates proposed by an `Optimizer` based on mean test scores.

    Attributes
    ----------
    optimizer : Optimizer
        The optimizer of the search.
    metric : str or None
        Name of the metric to optimise, if there are several metrics.
    seconds : float
        Seconds spent in the optimizer.
    reason : str
        Reason why there are no more candidates: "n_iter", "space_exhausted" or one of
        `CRITERIA`.
    trials : list of Evaluation
        The finished candidates and the results of their folds.
    n_used : float
        Amount of `n_iter` that has been used.
    near : str
        Progress message if the remaining gain is close to `tol`, else "".
    resource : ResourceAxis or None
        The resource that is limited in evaluations, if any.
    schedule : Schedule
        Determines when to request candidates, and manages the races.
    """

    def __init__(
        self,
        search: Search,
        fresh: Callable[[], Optimizer],
        journal: Journal,
        n_iter: int,
        before: Before,
        resource: ResourceAxis | None,
        stops: Stops,
    ) -> None:
        self._search, self._fresh, self._journal = search, fresh, journal
        self.resource, self.optimizer, self._stops = resource, fresh(), stops
        check_tol(search, self.optimizer.policy)
        self._n_iter, self._before = int(n_iter), before
        self._n_outside = before.n_outside
        self.metric = metric_of(search)
        self.seconds, self.reason, self.near = 0.0, "n_iter", ""
        self.trials: list[Evaluation] = []
        #: The highest mean score so far, and the first candidate with it.
        self._best: tuple[float, Evaluation | None] = -math.inf, None
        #: All candidates, finished or not, in the order proposed.
        self._asked: list[Evaluation] = []
        self.n_used = self._n_done = 0.0
        self._diverged = False
        races = self._races()
        self.schedule = Schedule.named(search.schedule, search.batch_size, races)
        n_rounds, n_noted = journal.n_asked  # a smaller last round is possible
        n_new = max(self._n_iter - n_noted, 0)
        # Rounded up.
        self.n_rounds: int | None = n_rounds - (-n_new // self.schedule.n_at_once)
        if resource is not None:
            # An upper bound, reached if all evaluations use the smallest amount.
            least = self.optimizer._rungs.shares[0]
            self.n_rounds = math.ceil(self._n_iter / least) + 1

    @contextmanager
    def _timed(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start

    def check(self, metrics: list[str]) -> None:
        """Raise a ValueError if the metric to optimise is ambiguous or unknown."""
        if not metrics and self._search.search_metric is not None:
            raise ValueError(
                "The 'search_metric' of RobustBayesSearchCV must be None if 'scoring' "
                f"does not give several metrics. Got {self.metric!r} instead."
            )
        if len(metrics) == 1 and self.metric is None:
            self.metric = metrics[0]
        if metrics and self.metric not in metrics:
            raise ValueError(
                "The 'search_metric' of RobustBayesSearchCV must be one of the metrics "
                f"{sorted(metrics)}, if 'refit' names none of them. Got "
                f"{self.metric!r} instead."
            )

    def next_round(self) -> list[Evaluation]:
        """Return the next candidates; the list is empty if the search should end."""
        self._check_fits(last=False)
        with self._timed():
            # Pending candidates may change the answer, but the search ends anyway.
            if self.reason in CRITERIA or (self._n_left and self._meets_criterion()):
                return []
            n = min(self._n_left, self.schedule.n_at_once)
            asked = self._take(self._ask(n, self._horizon(n)))
        if not asked and len(self._asked) == len(self.trials):  # none is pending
            self._check_fits(last=True)
        return asked

    @property
    def n_planned(self) -> int:
        """Maximum number of candidates, limited by `n_iter` and the size of the space.

        With a resource, this assumes that all remaining evaluations are full.
        """
        if self.resource is not None:
            return len(self._asked) + self._n_left
        if self.optimizer.policy.repeats:
            return self._n_iter
        n_points = self.optimizer.space.size + self._n_outside
        return int(min(self._n_iter, n_points))

    @property
    def _n_left(self) -> int:
        return max(0, math.ceil(round(self._n_iter - self.n_used, 9)))

    def _horizon(self, n: int) -> int | None:
        """Return the horizon to use for the next `n` candidates.

        The horizon is the number of candidates planned by the first run, or fewer if
        the time is short. It does not change until durations are known.
        """
        expected = self._stops.expected(len(self.trials), self._n_done)
        if expected is None:
            return self.optimizer.horizon
        new = max(self.n_used + n, expected) - self._n_outside
        planned = self.optimizer._rungs.first_budget or math.inf
        return int(min(planned, self.optimizer._trials.n_before + new))

    def _ask(self, n: int, horizon: int | None) -> list[Evaluation]:
        default, asked = self._before.default, list[Evaluation]()
        before = self.optimizer.horizon
        if default is not None and default.is_outside and n and not self._asked:
            asked.append(default)
        with suppress(SpaceExhausted):
            self.reason = "space_exhausted"
            if horizon and horizon != before:
                self.optimizer.horizon = horizon
            while len(asked) < n:
                first = default is not None and not self._asked and not asked
                asked.append(self.optimizer._propose(first=first))
                if first:
                    asked[0].said["label"] = DEFAULT
            self.reason = "n_iter"
        if not asked:  # a failed request must not change anything
            self.optimizer.horizon = before
        return asked

    def _take(self, asked: list[Evaluation]) -> list[Evaluation]:
        """Record proposed evaluations and return them."""
        self._asked += asked
        self.n_used += sum(self.optimizer._rungs.cost(e.resource) for e in asked)
        return asked

    def _meets_criterion(self) -> bool:
        """Return whether a stopping criterion is met, and record the reason."""
        for reason, criterion in CRITERIA.items():
            so_far = self._search, self.optimizer, self.trials, self.metric
            is_met, self.near = criterion(*so_far)
            if is_met:
                self.reason = reason
                return True
        return False

    # Races ----------------------------------------------------------------------------

    def _races(self) -> Races | None:
        """Return the races of the search, or None if racing is disabled."""
        rules = racing_of(self._search)
        if rules is None:
            return None
        # The number of candidates that the first run planned.
        n = self.optimizer.horizon or self.n_planned
        n += self._n_outside - self.optimizer._trials.n_before
        given = rules.delta, rules.margin, n
        return Races(*given, score=self._score, beliefs=self._beliefs)

    def _score(self, result: FoldResult) -> float:
        """Return the score of a fold for racing, or nan if the fold failed."""
        score = result.score(self.metric)
        return score if math.isfinite(score) else math.nan

    def _beliefs(self, evaluation: Evaluation) -> list[tuple[float, float]]:
        with self._timed():
            return self.optimizer._beliefs(evaluation.trial)

    # Journal records ------------------------------------------------------------------

    def records(self, asked: Sequence[Evaluation]) -> list[Asked]:
        """Return journal records of new candidates, including model predictions."""
        return list(map(self._record_of, asked))

    def _record_of(self, evaluation: Evaluation) -> Asked:
        if evaluation.is_outside:
            params = {name: described(v) for name, v in evaluation.params.items()}
            return Asked(-1, params, evaluation.resource, evaluation.said)
        space = self.optimizer.space
        branch, _ = space.place(evaluation.params)
        params = space.branches[branch].params_to_json(evaluation.params)
        others = evaluation.resource, evaluation.said, evaluation.horizon
        return Asked(branch, params, *others)

    def read(self, asked: Asked) -> Evaluation:
        """Convert a journal record of `records` back to a candidate.

        Raises
        ------
        ValueError, TypeError, KeyError, IndexError
            If the record describes neither a point in the space nor the untuned
            estimator.
        """
        if asked.branch < 0:
            default = self._before.default
            if default is None or self._record_of(default).point != asked.point:
                raise ValueError("not the estimator as given")
            return replace(default, said=asked.said)
        branch = self.optimizer.space.branches[asked.branch]
        params = branch.params_from_json(asked.params)
        evaluation = Evaluation(Trial(params), asked.resource, asked.said)
        evaluation.horizon = asked.horizon
        if self._record_of(evaluation).point != asked.point:
            raise ValueError("not a point of the space")
        evaluation.trial.params = branch.own(params)
        return evaluation

    def resume(self, noted: Sequence[Asked]) -> list[Evaluation]:
        """Return the candidates of an earlier round by proposing them again.

        This restores the exact state of the optimizer, so its state does not have to be
        stored. If the optimizer proposes different candidates, for example because
        package versions differ, a new optimizer adopts the recorded candidates. The
        list is empty if no candidate can be proposed until a pending one finishes, as
        in the earlier run.

        Raises
        ------
        ValueError, TypeError, KeyError, IndexError
            If the journal records are not valid for this space.
        """
        read = [self.read(record) for record in noted]
        if not self._diverged:
            with self._timed():
                asked = self._ask(len(noted), read[0].horizon)
            if not asked and len(self._asked) > len(self.trials):
                return []  # until a pending candidate finishes
            points = [each.point for each in noted]
            if [each.point for each in self.records(asked)] == points:
                for each, earlier in zip(asked, read, strict=True):
                    each.said = earlier.said
                return self._take(asked)
            self._start_over()
        self._adopt(read)
        return self._take(read)

    def _adopt(self, earlier: Sequence[Evaluation]) -> None:
        for each in earlier:
            if not each.is_outside:
                self.optimizer._adopt(each)

    def _start_over(self) -> None:
        if not self._journal.retries:
            where = "earlier candidates"
            if self._journal.path is not None:
                where = "candidates in the checkpoint"
            warn(
                f"The {where} are not those that would be asked here, perhaps because "
                "package versions differ or failed folds were fitted again: they are "
                "used as they are, but the rest of the search may differ.",
                stacklevel=2,
            )
        self._diverged, self.reason = True, "n_iter"
        self.optimizer = self._fresh()
        self._adopt(self._asked)
        for each in self.trials:
            self._record(each)

    def tell(self, evaluation: Evaluation) -> None:
        """Pass the mean test score to the optimizer, or nan if a fold failed."""
        self.trials.append(evaluation)
        self._n_done += self.optimizer._rungs.cost(evaluation.resource)
        with self._timed():
            self._record(evaluation)
        score = evaluation.mean_score(self.metric)
        if score > self._best[0]:
            self._best = score, evaluation
        n_read = self._journal.n_read_of.get(evaluation.number, 0)
        if n_read < len(evaluation.folds):  # otherwise an earlier run called it
            tell_listener(self._search.on_trial, evaluation, self.metric)
        if len(self.trials) == self.n_planned:
            self._check_fits(last=True)

    def _record(self, evaluation: Evaluation) -> None:
        if evaluation.is_outside:
            return
        mean, std = evaluation.estimate or (evaluation.mean_of_folds(self.metric), 0.0)
        self.optimizer._record(evaluation, mean, std)

    def _check_fits(self, *, last: bool) -> None:
        """Raise an error if all fits have failed and others are likely to fail."""
        if self._best[1] is None:
            least = self.optimizer.n_initial_points
            check_fits(self.trials, self._search, self._journal, least=least, last=last)

    def progress(self) -> Mapping[str, Any]:
        """Return the number of candidates and the best score so far, for callbacks."""
        told: dict[str, Any] = {"n_candidates": len(self.trials)}
        score, best = self._best
        if best is not None:
            told |= {"best_score": score, "best_params": dict(best.params)}
        return told

    def columns(self) -> Mapping[str, Any]:
        """Return the additional columns of `cv_results_`, such as model predictions."""
        mean, std = np.full((2, len(self.trials)), np.nan)
        # An untuned estimator outside the space keeps its score as the posterior mean.
        for i in range(self._n_outside):
            mean[i] = self.trials[i].mean_score(self.metric)
        if found_in(self.trials, self.metric):
            inside = [i for i, trial in enumerate(self.trials) if not trial.is_outside]
            points = [self.trials[i].params for i in inside]
            what = "posterior_mean and posterior_std"
            with self._timed(), softly() as attempt, attempt(what):
                predicted = self.optimizer.predict(points, return_std=True)
                mean[inside], std[inside] = predicted
        chosen = {c: [t.said[v] for t in self.trials] for c, v in COLUMNS.items()}
        columns = {**chosen, "posterior_mean": mean, "posterior_std": std}
        columns |= self._race_columns() if self._search.racing else {}
        return columns | (self._resource_columns() if self.resource else {})

    def _race_columns(self) -> dict[str, Any]:
        """Return the columns of `cv_results_` that describe the races."""
        unknown = (math.nan, math.nan)
        estimates = [trial.estimate or unknown for trial in self.trials]
        return {
            "n_splits_evaluated": [len(trial.folds) for trial in self.trials],
            "raced": [trial.estimate is not None for trial in self.trials],
            "race_mean": [mean for mean, _ in estimates],
            "race_std": [std for _, std in estimates],
        }

    def _resource_columns(self) -> dict[str, Any]:
        """Return the columns of `cv_results_` that describe the resource."""
        rungs = self.optimizer._rungs
        iterations = [rungs.rung_of(trial.resource) for trial in self.trials]
        return {
            "iter": iterations,
            "n_resources": [rungs.amounts[rung] for rung in iterations],
            "resource_score": [t.mean_of_folds(self.metric) for t in self.trials],
        }

    def notes(self) -> Outcome:
        """Return the information that the report needs at the end of the search."""
        return Outcome(
            optimizer=self.optimizer,
            metric=self.metric,
            n_planned=max(self.n_planned, self._n_iter),
            n_used=self.n_used,
            is_resumed=self._n_iter != self._search.n_iter,
            trials=self.trials,
            previous=self._before.says,
            default=self._before.of_default,
            read=self._journal.read,
            n_read_failed=self._journal.n_read_failed,
        )


# Creating the source ------------------------------------------------------------------


def prepared(
    search: Search, journal: Journal, data: Data, n_iter: int, stops: Stops
) -> OptimizerSource:
    """Check the settings of a search and return the source of its candidates."""
    check_settings(search)
    space = searched(search, journal, data, n_iter)
    check_names(space, search.estimator)
    before = known_before(search, data, space)
    # Describing data takes time, so do it only if a file stores the description.
    described = {} if journal.path is None else data
    seed, drawn = search.random_state, not isinstance(search.random_state, Integral)
    seed, horizon = journal.begin(
        lambda: fingerprint(search, space, described, before.description),
        seed=drawn_seed(seed, "RobustBayesSearchCV") if drawn else int(seed),
        n_iter=n_iter,
        drawn=drawn,
        outline=lambda: outline(search, space),
        call=lambda: call_of(search),
    )
    given, amounts, axis = resource_of(search), None, None
    if given is not None:
        amounts, axis = staged(given, search.estimator, space, data, seed)
    first = [*initial_points(search, space), *before.first]
    default, says = default_of(search, space, before.told)
    before = replace(before, default=default, of_default=says)
    if default is not None and not before.n_outside:
        place = place_of(space, default.params)
        others = [params for params in first if place_of(space, params) != place]
        first = [default.params, *others]
    horizon = max(1, horizon - before.n_outside) + len(before.told)

    def fresh() -> Optimizer:
        optimizer = Optimizer(
            space,
            search.policy,
            n_initial_points=search.n_initial_points,
            initial_params=first,
            constraints=search.constraints,
            horizon=int(min(horizon, space.size)),
            resources=amounts,
            random_state=seed,
        )
        optimizer._tell_earlier(before.told, n_begun=before.n_outside)
        return optimizer

    return OptimizerSource(search, fresh, journal, n_iter, before, axis, stops)


def searched(search: Search, journal: Journal, data: Data, n_iter: int) -> Space:
    """Return the space of a search; a resumed search uses its original space."""
    space = search.param_space
    if isinstance(space, str):  # "suggested"
        resource, n_iter = resource_of(search), journal.horizon or n_iter
        found = suggested_space(search.estimator, data["X"], data.get("y"))
        others = [name for name in found if resource is None or name != resource.name]
        n_params = max(_FEWEST, n_iter // _PER_PARAMETER)
        space = {name: found[name] for name in others[:n_params]}
    return space if isinstance(space, Space) else Space(space)
