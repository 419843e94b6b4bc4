"""Read the results of a search from its checkpoint without running the search."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from skrobustbo._trials import SINGLE, Evaluation, Trial
from skrobustbo.checkpoint import Asked, Contents, damaged, read_contents
from skrobustbo.evaluation import take_folds
from skrobustbo.model_selection._listening import record_of, table_of
from skrobustbo.model_selection._outline import as_described
from skrobustbo.space import from_json

Record = dict[str, Any]
Trials = list[Evaluation]
#: Maps each parameter to its choices, or to None if it is numeric.
Branch = Mapping[str, Sequence[Any] | None]
#: Returns a choice, given the branch, the parameter's name and the index.
Choice = Callable[[int, str, int], Any]


@dataclass(frozen=True)
class LoadedSearch:
    """Contents of a checkpoint, as returned by `load_checkpoint`.

    Attributes
    ----------
    path : str
        Path of the checkpoint.
    trials : list of dict
        The finished candidates, sorted by number. Each dict has the keys of `on_trial`:
        ``number``, ``status`` ("complete", "failed", "stopped" or "partial"),
        ``params``, ``branch``, ``score``, ``split_scores``, ``fit_time``,
        ``score_time``, ``failure``, ``model_label``, ``model_mean`` and ``model_std``.
    n_unfinished : int
        Number of candidates that are still running or were interrupted.
    n_folds : int
        Number of finished folds.
    status : {"running", "finished", "unfinished"} or None
        "unfinished" means that the process no longer exists or that the search ended
        with an error. To resume the search, repeat the call. None means that the status
        is unknown, for example on another machine.
    stop_reason : str or None
        `stop_reason_` of the latest call to `fit`; "error" if it raised an error, None
        if it has not ended.
    running_time : float
        Total time of all calls to `fit` in seconds, excluding calls that were killed.
    estimator, policy : str
        Class name of the estimator, and name or class name of the policy.
    n_iter : int
        Number of candidates planned by the latest call to `fit`.
    n_splits, n_samples : int
        Number of folds per candidate, and number of rows in X.
    random_state : int
        Seed of the search.
    metrics : list of str
        Names of the metrics; empty if there is only one metric or no fold is finished.
    metric : str or None
        Name of the metric in ``score``; None if there is only one metric.
    space : list of dict
        One dict per branch, which maps each parameter to its list of choices, or to
        None if it is numeric. Objects such as estimators are represented as text.
    settings : dict of dict
        Text descriptions of everything that must match when the search is resumed: the
        data, the parameters of the estimator, the search space, ``cv``, ``scoring`` and
        other settings.
    versions : dict
        Versions of the packages that were used to write the checkpoint.
    """

    path: str
    trials: Sequence[Record] = field(repr=False)
    n_unfinished: int
    n_folds: int
    status: str | None
    stop_reason: str | None
    running_time: float
    estimator: str
    policy: str
    n_iter: int
    n_splits: int
    n_samples: int
    random_state: int
    metrics: Sequence[str]
    metric: str | None
    space: Sequence[Branch]
    settings: Mapping[str, Mapping[str, str]] = field(repr=False)
    versions: Mapping[str, str]

    @property
    def best(self) -> Record | None:
        """Complete candidate with the highest score; None if there is none."""
        complete = [trial for trial in self.trials if trial["status"] == "complete"]
        return max(complete, key=lambda trial: trial["score"], default=None)

    def trials_dataframe(self) -> Any:
        """Return the finished candidates as a pandas DataFrame.

        Returns
        -------
        table : DataFrame
            Table in the format of `RobustBayesSearchCV.trials_dataframe`. Objects such
            as estimators are represented as text.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return table_of(self.trials)


def load_checkpoint(path: str | os.PathLike[str]) -> LoadedSearch:
    """Read the results of a search from its checkpoint without running the search.

    The search may be running, finished or interrupted. Reading its checkpoint does not
    affect it. To resume a search, repeat the original call.

    Parameters
    ----------
    path : str or path
        Path that was passed to `RobustBayesSearchCV` as `checkpoint`.

    Returns
    -------
    loaded : LoadedSearch
        Contents of the checkpoint. The settings of the search are ``estimator``,
        ``policy``, ``n_iter``, ``n_splits``, ``n_samples``, ``random_state``,
        ``metrics``, ``metric``, ``space``, ``settings`` and ``versions``. The progress
        is described by ``status`` ("running", "finished", "unfinished", or None if
        unknown), ``stop_reason``, ``running_time``, ``n_folds`` and ``n_unfinished``.
        The finished candidates are available as ``trials`` (a list of dicts, as passed
        to `on_trial`), ``best`` and ``trials_dataframe()``.

    Raises
    ------
    CheckpointError
        If the checkpoint does not exist, is damaged, or was written by another version.
        This error is a subclass of ValueError.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skrobustbo import Real, RobustBayesSearchCV, load_checkpoint
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "search.ckpt")
    ...     space = {"C": Real(1e-2, 1e3, log=True)}
    ...     search = RobustBayesSearchCV(
    ...         SVC(), space, n_iter=8, random_state=0, checkpoint=path
    ...     )
    ...     best_score = search.fit(X, y).best_score_
    ...     loaded = load_checkpoint(path)
    >>> loaded.status, loaded.policy, len(loaded.trials)
    ('finished', 'robust', 8)
    >>> bool(loaded.best["score"] == best_score)
    True
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            "The 'path' of load_checkpoint must be a str or a path. Got "
            f"{path!r} instead; give the checkpoint of a search."
        )
    return _loaded(read_contents(path))


def _loaded(contents: Contents) -> LoadedSearch:
    started, last = contents.started, contents.runs[-1]
    outline = started.outline
    space = _space(contents)

    def choice(branch: int, name: str, index: int) -> Any:
        """Return a choice, or its index if the choices were too long to store."""
        choices = space[branch][name]
        return choices[index] if choices else index

    trials, metrics = trials_in(contents, choice)
    metric = _metric(contents, metrics)
    over = _finished(contents, trials, metric)
    return LoadedSearch(
        path=contents.path,
        trials=[record_of(trial, metric) for trial in over],
        n_unfinished=len(trials) - len(over),
        n_folds=len(contents.done),
        status=_status(contents),
        stop_reason=last.reason,
        running_time=_running_time(contents),
        estimator=outline["estimator"],
        policy=outline["policy"],
        n_iter=last.n_iter,
        n_splits=started.n_splits,
        n_samples=started.n_samples,
        random_state=started.seed,
        metrics=metrics,
        metric=metric,
        space=space,
        settings=started.search,
        versions=started.versions,
    )


def _metric(contents: Contents, metrics: Sequence[str]) -> str | None:
    """Return the metric of the candidates' scores, or None if there is only one."""
    metric: str | None = contents.started.outline["metric"]
    if not metrics or metric in metrics:
        return metric if metrics else None
    if metric is None and len(metrics) == 1:
        return metrics[0]
    raise damaged(contents.path, "its metric")


# Progress -----------------------------------------------------------------------------


def _status(contents: Contents) -> str | None:
    if contents.is_running is None:
        return None
    if contents.is_running:
        return "running"
    reason = contents.runs[-1].reason
    return "unfinished" if reason in (None, "error") else "finished"


def _running_time(contents: Contents) -> float:
    runs, goes_on = contents.runs, contents.is_running is not False
    ends = [run.ended or run.started for run in runs[:-1]]
    now = time.time() if goes_on else runs[-1].started
    spans = zip(runs, [*ends, runs[-1].ended or now], strict=True)
    return float(sum(max(0.0, end - run.started) for run, end in spans))


# The candidates -----------------------------------------------------------------------


@contextmanager
def _readable(contents: Contents, what: str) -> Iterator[None]:
    """Raise a CheckpointError if a part of the contents cannot be read."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as e:
        raise damaged(contents.path, what) from e


def _space(contents: Contents) -> list[Branch]:
    """Return the choices of each parameter, or None if the parameter is numeric."""
    with _readable(contents, "its choices"):
        return [
            {
                name: None if choices is None else list(map(as_described, choices))
                for name, choices in branch.items()
            }
            for branch in contents.started.outline["branches"]
        ]


def trials_in(contents: Contents, choice: Choice) -> tuple[Trials, list[str]]:
    """Return the candidates and the metrics stored in a checkpoint.

    Returns
    -------
    trials : list of Evaluation
        The candidates with their finished folds, sorted by number.
    metrics : list of str
        Names of the metrics; empty if there is only one metric or no fold is finished.

    Raises
    ------
    CheckpointError
        If a candidate is not a valid point in the space of the checkpoint.
    """
    # Failures recorded before the metrics were known have no names.
    scores = (fold.test_scores for _, fold in contents.done)
    named = (found for found in scores if SINGLE not in found)
    metrics = list(next(named, {}))
    trials = []
    with _readable(contents, "a candidate"):
        branches = contents.started.outline["branches"]
        for number, asked in enumerate(chain(*contents.rounds)):
            params = _params(asked, number, branches, choice)
            trial = Trial(params, branch=asked.branch)
            trials.append(Evaluation(trial, asked.resource, asked.said, number))
            take_folds(trials[-1], contents.folds.get(number, {}).values(), metrics)
    return trials, metrics


def _params(
    asked: Asked, number: int, branches: Sequence[Mapping[str, Any]], choice: Choice
) -> dict[str, Any]:
    if asked.branch < 0:
        if number or not asked.params.keys() <= set().union(*branches):
            raise ValueError("not the estimator as given")
        return {name: as_described(value) for name, value in asked.params.items()}
    known = branches[asked.branch]
    if asked.params.keys() != known.keys():
        raise ValueError("other parameters")
    params = {}
    for name in known:
        value = asked.params[name]
        if known[name] is None:
            params[name] = from_json(value)
            if type(params[name]) not in (int, float):
                raise TypeError("a parameter that is not a number")
        else:
            if type(value) is not int or value < 0:
                raise TypeError("a choice that is not an index")
            params[name] = choice(asked.branch, name, value)
    return params


def _finished(contents: Contents, trials: Trials, metric: str | None) -> Trials:
    """Return the finished candidates, including those that were stopped early."""
    n_splits, finished = contents.started.n_splits, []
    for trial in trials:
        is_short = len(trial.folds) < n_splits
        if is_short and trial.number not in contents.over:
            continue
        if is_short and math.isfinite(trial.mean_of_folds(metric)):
            trial.estimate = (math.nan, math.nan)  # stopped by a race
        finished.append(trial)
    return finished
