"""`load_checkpoint`: read a search from its checkpoint, without running it."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from skrobustbo._trials import Evaluation
from skrobustbo.checkpoint import Contents, damaged, read_contents
from skrobustbo.model_selection._listening import record_of, table_of
from skrobustbo.model_selection._outline import as_described
from skrobustbo.model_selection._records import trials_in

Record = dict[str, Any]
Trials = list[Evaluation]
#: Maps each parameter to its choices, or to None if it is numeric.
Branch = Mapping[str, Sequence[Any] | None]


@dataclass(frozen=True)
class LoadedSearch:
    """A search as stored in its checkpoint; see `load_checkpoint`.

    Attributes
    ----------
    path : str
        The checkpoint.
    trials : list of dict
        The finished candidates, in the order proposed, with the fields of `on_trial`:
        ``number``, ``status`` ("complete", "failed", "stopped" or "partial"),
        ``params``, ``branch``, ``score``, ``split_scores``, ``fit_time``,
        ``score_time``, ``failure``, ``model_label``, ``model_mean``, ``model_std``.
    n_unfinished : int
        Number of candidates with missing folds: running or interrupted ones.
    n_folds : int
        Number of finished folds.
    status : {"running", "finished", "unfinished"} or None
        "unfinished": the process is gone, or the search ended with an error; repeat the
        call to resume. None: unknown, for example on another machine.
    stop_reason : str or None
        `stop_reason_` of the latest call to `fit`; "error" if it failed, None if it has
        not ended.
    running_time : float
        Seconds spent in all calls to `fit` that were not killed.
    estimator, policy : str
        Name of the estimator's class, and name of the policy or its class.
    n_iter : int
        Number of candidates planned by the latest call.
    n_splits, n_samples : int
        Number of folds per candidate, and number of rows in the data.
    random_state : int
        The seed.
    metrics : list of str
        The metrics; empty if there is only one, or before any fold.
    metric : str or None
        The metric in ``score``; None if there is only one metric.
    space : list of dict
        For each branch, maps each parameter to a list of choices, or to None if it is
        numeric. Choices that are objects, such as estimators, appear as text.
    settings : dict of dict
        Everything that a resumed call must match, in words: the data, the estimator's
        parameters, the ranges of the space, ``cv``, ``scoring`` and settings.
    versions : dict
        Versions of the packages that wrote the checkpoint.
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
        """The complete candidate with the highest score; None if there is none."""
        complete = [trial for trial in self.trials if trial["status"] == "complete"]
        return max(complete, key=lambda trial: trial["score"], default=None)

    def trials_dataframe(self) -> Any:
        """Return the finished candidates as a pandas DataFrame.

        Returns
        -------
        table : DataFrame
            As returned by `RobustBayesSearchCV.trials_dataframe`. Choices that are
            objects, such as estimators, appear as text.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return table_of(self.trials)


def load_checkpoint(path: str | os.PathLike[str]) -> LoadedSearch:
    """Read a checkpoint without repeating the call that wrote it.

    The search may be running, finished or interrupted; reading does not affect it. To
    resume a search, repeat its call.

    Parameters
    ----------
    path : str or path
        The `checkpoint` of a `RobustBayesSearchCV`.

    Returns
    -------
    loaded : LoadedSearch
        The settings of the search: ``estimator``, ``policy``, ``n_iter``, ``n_splits``,
        ``n_samples``, ``random_state``, ``metrics``, ``metric``, ``space``,
        ``settings``, ``versions``. Its progress: ``status`` ("running", "finished",
        "unfinished", None if unknown), ``stop_reason``, ``running_time``, ``n_folds``,
        ``n_unfinished``. Its finished candidates: ``trials`` (a list of dicts, as
        passed to `on_trial`), ``best``, and ``trials_dataframe()``.

    Raises
    ------
    CheckpointError
        A ValueError. Raised if there is no checkpoint, it is damaged, or another
        version wrote it.

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
        """Return a choice, or its index if there are too many."""
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
    """Return the metric of the scores, or None if there is only one metric."""
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


def _space(contents: Contents) -> list[Branch]:
    """Return each parameter's choices, with objects as text; None if it is numeric."""
    try:
        return [
            {
                name: None if choices is None else list(map(as_described, choices))
                for name, choices in branch.items()
            }
            for branch in contents.started.outline["branches"]
        ]
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as e:
        raise damaged(contents.path, "its choices") from e


def _finished(contents: Contents, trials: Trials, metric: str | None) -> Trials:
    """Return the candidates whose folds are all fitted or no longer needed."""
    n_splits, finished = contents.started.n_splits, []
    for trial in trials:
        is_short = len(trial.folds) < n_splits
        if is_short and trial.number not in contents.over:
            continue
        if is_short and math.isfinite(trial.mean_of_folds(metric)):
            trial.estimate = (math.nan, math.nan)  # stopped by a race
        finished.append(trial)
    return finished
