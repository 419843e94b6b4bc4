"""Candidates that an optimizer asks for, one round after the other."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.evaluation import Outcome
from skrobustbo.optimizer import Optimizer

Params = dict[str, Any]

#: Candidates tried at least before a search without any score is given up.
_CHANCES = 3
_COLUMNS = ("model_label", "model_mean", "model_std")


class OptimizerSource:
    """The candidates of an `Optimizer`, told their mean test scores.

    Parameters
    ----------
    optimizer : Optimizer
        Asked and told.
    n_iter : int
        Candidates to ask for in all.
    batch_size : int
        Candidates per round.
    search_metric : str or None
        The metric to search for where there are several.
    refit : bool, str or callable
        Names that metric, if it is a name, where `search_metric` does not.
    name : str
        Name of the estimator that is tuned, for messages.

    Attributes
    ----------
    metric : str or None
        The metric searched for where there are several.
    seconds : float
        Time spent in the optimizer.
    exhausted : bool
        Whether the space has no more points to ask.
    outcomes : list of Outcome
        What has been told.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        *,
        n_iter: int,
        batch_size: int = 1,
        search_metric: str | None = None,
        refit: Any = True,
        name: str = "estimator",
    ) -> None:
        self.optimizer = optimizer
        self.n_planned = n_iter
        self.n_rounds = math.ceil(n_iter / batch_size)
        self.metric = refit if isinstance(refit, str) else None
        if search_metric is not None:
            self.metric = search_metric
        self.seconds = 0.0
        self.exhausted = False
        self.outcomes: list[Outcome] = []
        self._batch_size, self._name = batch_size, name
        self._given = search_metric is not None

    @contextmanager
    def _timed(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start

    def check(self, metrics: list[str]) -> None:
        """Raise a ValueError if it is not clear which metric to search for."""
        if not metrics and self._given:
            raise ValueError(
                "The 'search_metric' of RobustBayesSearchCV must be None where "
                f"'scoring' does not give several metrics. Got {self.metric!r} instead."
            )
        if metrics and self.metric not in metrics:
            raise ValueError(
                "The 'search_metric' of RobustBayesSearchCV must be one of the metrics "
                f"{sorted(metrics)}, where 'refit' names none of them. Got "
                f"{self.metric!r} instead."
            )

    def next_round(self) -> list[Params]:
        """Ask for the next candidates; none if the budget or the space is used up."""
        n_left = self.n_planned - len(self.outcomes)
        if len(self.outcomes) >= max(_CHANCES, self.optimizer.n_initial_points):
            self.stop_if_hopeless()
        candidates: list[Params] = []
        with self._timed():
            while len(candidates) < min(n_left, self._batch_size):
                try:
                    candidates.append(self.optimizer.ask())
                except SpaceExhausted:
                    self.exhausted = True
                    break
        return candidates

    def tell(self, outcome: Outcome) -> None:
        """Tell the optimizer the mean test score, nan if a fold failed."""
        self.outcomes.append(outcome)
        with self._timed():
            self.optimizer.tell(outcome.params, outcome.mean(self.metric))

    def stop_if_hopeless(self) -> None:
        """Raise if nothing has succeeded: the rest of the budget would not, either.

        Where some fits fail and others do not, the search goes on.
        """
        n, folds = len(self.outcomes), sum(len(o.folds) for o in self.outcomes)
        errors = [error for outcome in self.outcomes for error in outcome.errors]
        if len(errors) == folds:
            raise ValueError(
                f"All {folds} fits of the first {n} candidates failed, the last with "
                f"{exception_line(errors[-1])!r}: mend {self._name}, the data or "
                "'param_space', or pass error_score='raise' to see the traceback."
            )
        if not errors and not self._n_finite:
            raise ValueError(
                f"None of the first {n} candidates of {self._name} got a finite score: "
                "check 'scoring' and the data, or pass error_score='raise' to see the "
                "error."
            )

    @property
    def _n_finite(self) -> int:
        """Number of folds with a finite score."""
        scores = (score for o in self.outcomes for score in o.scores(self.metric))
        return sum(map(math.isfinite, scores))

    @property
    def found(self) -> bool:
        """Whether any candidate has a finite mean score."""
        return any(math.isfinite(o.mean(self.metric)) for o in self.outcomes)

    def progress(self) -> Mapping[str, Any]:
        """Return the best so far and the count of candidates, for callbacks."""
        told: dict[str, Any] = {"n_candidates": len(self.outcomes)}
        if self.found:
            told["best_score"] = self.optimizer.best_value_
            told["best_params"] = self.optimizer.best_params_
        return told

    def columns(self, candidates: Sequence[Params]) -> Mapping[str, Any]:
        """Return what the models said of each candidate, before and after."""
        nothing = np.full(len(candidates), np.nan)
        with self._timed():
            mean, std = nothing, nothing
            if self.found:
                mean, std = self.optimizer.predict(candidates, return_std=True)
            records = [r for r in self.optimizer.history_ if not r["pending"]]
        chosen = {key: [record[key] for record in records] for key in _COLUMNS}
        return {**chosen, "posterior_mean": mean, "posterior_std": std}


def exception_line(traceback: str) -> str:
    """Return the first line of the exception that a traceback ends with."""
    lines = traceback.strip().splitlines()
    frames = [i for i, line in enumerate(lines) if line.startswith('  File "')]
    rest = lines[frames[-1] :] if frames else lines
    return next((line for line in rest if not line.startswith(" ")), rest[-1])
