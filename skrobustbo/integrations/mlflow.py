"""Log searches to MLflow, with a nested run for each candidate."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import get_ident
from typing import Any
from warnings import warn

import numpy as np
from sklearn.base import BaseEstimator

from skrobustbo.integrations._shared import optional_module

__all__ = ["MLflowCallback"]

Record = dict[str, Any]

#: Tags that identify the runs of a search and of its candidates.
_SEARCH, _CANDIDATE = "skrobustbo.search", "skrobustbo.candidate"
_PARENT = "mlflow.parentRunId"
#: Tags that candidates' runs copy from the run of their search.
_SHARED = {"mlflow.user", "mlflow.source.name", "mlflow.source.type"}
#: Maximum number of entries per request, and text lengths that every MLflow store
#: accepts.
_AT_ONCE, _LONGEST_NAME, _LONGEST_VALUE = 100, 250, 500


class MLflowCallback(BaseEstimator):
    """Callback that logs a search to MLflow.

    Pass an instance as the `on_trial` parameter of a search. The search is logged as
    one run. Each candidate is logged as a nested run as soon as it finishes. Parameters
    and metrics have the names that MLflow's autologging uses for `RandomizedSearchCV`.
    If the search uses a `checkpoint`, it resumes its run after being interrupted or
    killed.

    Parameters
    ----------
    run_name : str, default=None
        Name of the run of the search. If None, MLflow generates a name.

    Attributes
    ----------
    run_id_ : str
        Run ID of the latest search. To log more data to this run, use
        ``mlflow.start_run(run_id=...)``.

    Raises
    ------
    ImportError
        If MLflow is not installed.

    Notes
    -----
    The runs are logged to MLflow's current tracking server and experiment. If a run is
    active when you call `fit`, and it does not belong to another search, the search
    uses this run and leaves it active. Otherwise, a new run starts and ends with `fit`.
    The run is active during `fit`, so autologging, if enabled, logs the refitted best
    model to this run.

    At the end of the search, its run gets the parameters ``best_<name>``, the metric
    ``best_cv_score``, and the tags ``best_candidate`` and ``stop_reason``. MLflow does
    not allow the parameters of a run to change. If a continued search finds a better
    candidate in the same run, the new values are stored as tags with the same names.

    The run of a candidate has its parameters and the tags ``skrobustbo.candidate`` (its
    number), ``status``, ``model_label`` and ``failure``. The metrics are
    ``mean_test_score``, ``std_test_score``, ``split0_test_score`` and so on,
    ``mean_fit_time``, ``mean_score_time``, ``model_mean`` and ``model_std``. If there
    are several metrics, their names replace ``score``. If a candidate was stopped by a
    race or used only part of a resource, the mean and standard deviation of its scores
    are not logged.

    If MLflow raises an error, the search issues one warning and continues. Missing
    entries are logged at the end of the search if MLflow works again.

    Examples
    --------
    >>> import tempfile
    >>> import mlflow
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skrobustbo import Real, RobustBayesSearchCV
    >>> from skrobustbo.integrations.mlflow import MLflowCallback
    >>> folder = tempfile.TemporaryDirectory()
    >>> mlflow.set_tracking_uri(f"sqlite:///{folder.name}/runs.db")
    >>> experiment = mlflow.set_experiment("iris")
    >>> X, y = load_iris(return_X_y=True)
    >>> callback = MLflowCallback()
    >>> space = {"C": Real(1e-2, 1e3, log=True)}
    >>> search = RobustBayesSearchCV(SVC(), space, n_iter=5, on_trial=callback)
    >>> search = search.fit(X, y)
    >>> run = mlflow.get_run(callback.run_id_)
    >>> run.data.params["best_C"] == str(search.best_params_["C"])
    True
    >>> len(mlflow.search_runs(output_format="list"))
    6
    >>> folder.cleanup()
    """

    run_id_: str

    def __init__(self, *, run_name: str | None = None) -> None:
        _mlflow()
        self.run_name = run_name

    def on_search_begin(self, search: Any, identity: str) -> None:
        """Start the run of a search, or resume it.

        Parameters
        ----------
        search : RobustBayesSearchCV
            The search.
        identity : str
            Identifier of the search, which stays the same after a crash.
        """
        self.__dict__.pop("run_id_", None)
        # Searches in different threads may share the callback.
        self.__dict__.setdefault("_logs", {})[get_ident()] = _Log(identity)
        self._attempt(self._begin)

    def __call__(self, trial: Record) -> None:
        """Log a candidate.

        Parameters
        ----------
        trial : dict
            The dict that is passed to `on_trial`.
        """
        if not self._log.has_failed:
            self._attempt(lambda: self._begin().log(trial))

    def on_search_end(self, search: Any, trials: Sequence[Record] | None) -> None:
        """Log all missing entries and end the run.

        Parameters
        ----------
        search : RobustBayesSearchCV
            The search.
        trials : list of dict or None
            All candidates, in the order of `cv_results_`, or None if the search ended
            with an error.
        """
        try:
            self._attempt(lambda: self._end(search, trials))
        finally:
            del self._logs[get_ident()]

    @property
    def _log(self) -> _Log:
        """The logging state of the search in the current thread."""
        log: _Log | None = getattr(self, "_logs", {}).get(get_ident())
        if log is None:
            raise RuntimeError(
                "Expected MLflowCallback to be told when a search begins, but only a "
                "candidate was told; pass it as on_trial itself, or inherit from it "
                "and extend its __call__ to do more."
            )
        return log

    def _attempt(self, what: Callable[[], Any]) -> None:
        """Call a function, warn about the first error, and ignore later errors."""
        try:
            what()
        except Exception as error:
            has_failed, self._log.has_failed = self._log.has_failed, True
            if not has_failed:
                warn(
                    f"MLflow failed to log the search ({type(error).__name__}: "
                    f"{error}): the search continues, and its run may be incomplete.",
                    stacklevel=3,
                )

    def _begin(self) -> _Runs:
        log = self._log
        if log.runs is None:
            log.runs = _Runs(self.run_name, log.identity)
            self.run_id_ = log.runs.run_id
        return log.runs

    def _end(self, search: Any, trials: Sequence[Record] | None) -> None:
        runs = self._begin()
        try:
            for trial in trials or ():
                if trial["number"] not in runs.logged:
                    runs.log(trial)
            if trials is not None:
                runs.conclude(search, trials)
        finally:
            runs.end("FAILED" if trials is None else "FINISHED")


@dataclass
class _Log:
    """The logging state of a search, and whether logging has failed."""

    identity: str
    runs: _Runs | None = None
    has_failed: bool = False


class _Runs:
    """The MLflow runs of a search and of its candidates.

    Attributes
    ----------
    run_id : str
        Run ID of the search.
    logged : set of int
        Numbers of the candidates whose runs are finished.
    """

    def __init__(self, name: str | None, identity: str) -> None:
        mlflow = _mlflow()
        client, active = mlflow.MlflowClient(), mlflow.active_run()
        where = None if active is None else [active.info.experiment_id]
        known = _found(where, _SEARCH, identity)
        run: Any = known[0] if known else None
        if run is None and active is not None:
            now = client.get_run(active.info.run_id)
            # A run that belongs to another search becomes the parent of the new run.
            run = None if _SEARCH in now.data.tags else now
        #: Whether we started the run, and so must end it.
        self._is_ours = run is None or active is None or _id(run) != _id(active)
        if self._is_ours:
            run = mlflow.start_run(
                run_id=None if run is None else _id(run),
                run_name=None if known else name,
                nested=active is not None,
                tags={_SEARCH: identity},
            )
        else:
            client.set_tag(_id(run), _SEARCH, identity)
        self.run_id, self._experiment = _id(run), run.info.experiment_id
        tags = run.data.tags
        self._shared = {name: tags[name] for name in _SHARED & set(tags)}
        below = _found([self._experiment], _PARENT, self.run_id) if known else []
        numbered = [(each.data.tags.get(_CANDIDATE, ""), each) for each in below]
        numbered = [(int(n), each) for n, each in numbered if n.isdecimal()]
        self._candidates = {n: _id(each) for n, each in numbered}
        self.logged = {n for n, each in numbered if each.info.status != "RUNNING"}

    def log(self, trial: Record) -> None:
        """Write the run of a candidate, or update the run if it already exists."""
        number, status = trial["number"], trial["status"]
        client = _mlflow().MlflowClient()
        if number not in self._candidates:
            seconds = np.nan_to_num(trial["fit_time"] + trial["score_time"])
            run = client.create_run(
                self._experiment,
                start_time=int(1000 * (time.time() - seconds)),
                run_name=f"candidate {number}",
                tags={**self._shared, _PARENT: self.run_id, _CANDIDATE: str(number)},
            )
            self._candidates[number] = _id(run)
        run_id = self._candidates[number]
        tags = {name: trial[name] for name in ("status", "model_label", "failure")}
        tags = {name: _text(value) for name, value in tags.items() if value is not None}
        _write(run_id, _texts(trial["params"]), _metrics(trial), tags)
        client.set_terminated(run_id, "FAILED" if status == "failed" else "FINISHED")
        self.logged.add(number)

    def conclude(self, search: Any, trials: Sequence[Record]) -> None:
        """Write the results of the search to its run."""
        client = _mlflow().MlflowClient()
        best = getattr(search, "best_params_", {})
        params = _texts({f"best_{name}": value for name, value in best.items()})
        before = client.get_run(self.run_id).data
        tags = {
            name: value
            for name, value in params.items()
            if before.params.get(name, value) != value or name in before.tags
        }
        params = {name: params[name] for name in params.keys() - before.params}
        kind = type(search)
        tags["estimator_name"] = kind.__name__
        tags["estimator_class"] = f"{kind.__module__}.{kind.__name__}"
        tags["stop_reason"] = search.stop_reason_
        if hasattr(search, "best_index_"):
            tags["best_candidate"] = str(trials[search.best_index_]["number"])
        score = float(getattr(search, "best_score_", math.nan))
        metrics = {"best_cv_score": score} if math.isfinite(score) else {}
        _write(self.run_id, params, metrics, tags, step=len(trials))

    def end(self, status: str) -> None:
        """End the run of the search, unless the user started it."""
        mlflow = _mlflow()
        active = mlflow.active_run()
        if not self._is_ours:
            return
        if active is not None and _id(active) == self.run_id:
            mlflow.end_run(status)
        else:
            mlflow.MlflowClient().set_terminated(self.run_id, status)


def _mlflow() -> Any:
    return optional_module("mlflow", "MLflowCallback", "MLflow", "mlflow")


def _id(run: Any) -> str:
    return str(run.info.run_id)


def _found(experiments: list[str] | None, tag: str, value: str) -> list[Any]:
    """Return the runs with a tag, oldest first.

    If `experiments` is None, only the current experiment is searched.
    """
    return _mlflow().search_runs(
        experiments,
        f"tags.`{tag}` = '{value}'",
        order_by=["attributes.start_time ASC"],
        output_format="list",
    )


def _metrics(trial: Record) -> dict[str, float]:
    """Return the metrics of a candidate, named like the columns of `cv_results_`."""
    scores = trial["split_scores"]
    if not isinstance(scores, dict):
        scores = {"score": scores}
    n_folds = max(map(len, scores.values()))
    times = "fit_time", "score_time"
    found = {f"mean_{name}": trial[name] / n_folds for name in times}
    found |= {name: trial[name] for name in ("model_mean", "model_std")}
    for name, values in scores.items():
        found |= {f"split{k}_test_{name}": value for k, value in enumerate(values)}
        if trial["status"] not in ("stopped", "partial") and np.isfinite(values).all():
            found[f"mean_test_{name}"] = float(np.mean(values))
            found[f"std_test_{name}"] = float(np.std(values))
    return {name: value for name, value in found.items() if math.isfinite(value)}


def _texts(params: Mapping[str, Any]) -> dict[str, str]:
    return {_name(name): _text(value) for name, value in params.items()}


def _name(name: str) -> str:
    """Return a name without the characters that MLflow does not accept."""
    return re.sub(r"[^\w.\- /]", "_", name)[:_LONGEST_NAME]


def _text(value: Any) -> str:
    """Convert a value to text that every MLflow store accepts."""
    try:
        text = str(value)
    except Exception:  # user objects may raise anything
        text = f"<{type(value).__name__}>"
    return text.encode("utf-8", "replace").decode().replace("\0", "?")[:_LONGEST_VALUE]


def _write(
    run_id: str,
    params: Mapping[str, str],
    metrics: Mapping[str, float],
    tags: Mapping[str, str],
    *,
    step: int = 0,
) -> None:
    """Write the parameters, metrics and tags of a run, in batches of limited size."""
    mlflow, now = _mlflow(), int(1000 * time.time())
    entities = mlflow.entities
    kinds = {
        "params": [entities.Param(*item) for item in params.items()],
        "metrics": [
            entities.Metric(_name(name), float(value), now, step)
            for name, value in metrics.items()
        ],
        "tags": [entities.RunTag(*item) for item in tags.items()],
    }
    for i in range(0, max(map(len, kinds.values())), _AT_ONCE):
        some = {kind: items[i : i + _AT_ONCE] for kind, items in kinds.items()}
        mlflow.MlflowClient().log_batch(run_id, **some)
