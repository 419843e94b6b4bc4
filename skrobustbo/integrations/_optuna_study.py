"""Conversion of a search to an Optuna study."""

from __future__ import annotations

import ast
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrobustbo._names import shown, wrong
from skrobustbo.integrations._shared import optional_module
from skrobustbo.model_selection import LoadedSearch, load_checkpoint
from skrobustbo.space import plain

Params = dict[str, Any]
#: Types that Optuna accepts as choices.
_PLAIN = (type(None), bool, int, float, str)


@dataclass(frozen=True)
class Row:
    """A candidate with its score (nan if unknown) and the scores of its folds."""

    params: Params
    score: float
    folds: Sequence[float]
    is_whole: bool
    said: Mapping[str, Any]


def to_study(
    search: Any,
    *,
    metric: str | None = None,
    storage: Any = None,
    study_name: str | None = None,
) -> Any:
    """Convert a search to an Optuna study, for use with Optuna's plots and dashboard.

    Parameters
    ----------
    search : RobustBayesSearchCV, LoadedSearch, str or path
        A fitted search, the path of a checkpoint, or the result of `load_checkpoint`.
    metric : str, default=None
        The metric to use as the value of the trials, if the search has several metrics.
        By default, the metric named by `refit` or, for a checkpoint, the metric that
        the search optimised.
    storage : str or optuna.storages.BaseStorage, default=None
        Where to store the study, such as ``"sqlite:///study.db"``. By default, the
        study is kept in memory.
    study_name : str, default=None
        Name of the study. By default, Optuna generates a name.

    Returns
    -------
    study : optuna.study.Study
        The study, with one trial for each candidate. The intermediate values of a trial
        are the running means of the candidate's fold scores. Candidates that were
        stopped by a race or used only part of a resource become pruned trials. Failed
        candidates become failed trials.

    Raises
    ------
    ImportError
        If Optuna is not installed.
    ValueError
        If `metric` is unknown, or if it is required because there are several metrics.

    Notes
    -----
    Scores are maximized, as in scikit-learn. Choices whose types Optuna does not
    support, such as estimators, are converted to text. Optuna cannot store values
    outside a range. If an untuned estimator is outside the space, its parameters are
    therefore stored as user attributes of its trial. The trials have the time of the
    conversion as their timestamps.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skrobustbo import Real, RobustBayesSearchCV
    >>> from skrobustbo.integrations.optuna import to_study
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"C": Real(1e-3, 1e3, log=True)}
    >>> search = RobustBayesSearchCV(SVC(), space, n_iter=6, random_state=0).fit(X, y)
    >>> study = to_study(search)  # doctest: +SKIP
    >>> study.best_value == search.best_score_  # doctest: +SKIP
    True
    """
    optuna = optional_module("optuna", "to_study", "Optuna", "optuna")
    if isinstance(search, str | os.PathLike):
        search = load_checkpoint(search)
    is_loaded = isinstance(search, LoadedSearch)
    if not is_loaded and not hasattr(search, "cv_results_"):
        raise TypeError(
            "The 'search' of to_study must be a fitted search, a checkpoint or its "
            f"path. Got {search!r} instead; fit it first."
        )
    rows = list((_of_checkpoint if is_loaded else _of_results)(search, metric))
    ends = _written(search) if is_loaded else _searched(search)
    names = dict.fromkeys(name for row in rows for name in row.params)
    axes = {name: _axis(optuna.distributions, name, ends, rows) for name in names}
    study = optuna.create_study(
        direction="maximize", storage=storage, study_name=study_name
    )
    study.add_trials([_trial(optuna, row, axes) for row in rows])
    return study


# Facts about a search -----------------------------------------------------------------


def _of_results(search: Any, metric: str | None) -> Iterator[Row]:
    results = search.cv_results_
    if search.multimetric_ and metric is None:
        metric = search.refit if isinstance(search.refit, str) else None
    name = metric if search.multimetric_ else "score"
    if f"mean_test_{name}" not in results:
        known = [key[10:] for key in results if key.startswith("mean_test_")]
        raise _unknown(metric, known)
    splits = [results[f"split{i}_test_{name}"] for i in range(search.n_splits_)]
    full = search.max_resources_ if "n_resources" in results else None
    for i, params in enumerate(results["params"]):
        raced = "raced" in results and bool(results["raced"][i])
        in_part = full is not None and results["n_resources"][i] < full
        seconds = {key: float(results[key][i]) for key in _TIMES}
        score, folds = float(results[f"mean_test_{name}"][i]), [s[i] for s in splits]
        yield Row(params, score, folds, not (raced or in_part), seconds)


_TIMES = ("mean_fit_time", "mean_score_time")


def _unknown(metric: str | None, known: Iterable[str]) -> ValueError:
    return wrong("metric", "to_study", f"one of {', '.join(known)}", metric)


def _of_checkpoint(loaded: LoadedSearch, metric: str | None) -> Iterator[Row]:
    if metric is not None and loaded.metrics and metric not in loaded.metrics:
        raise _unknown(metric, loaded.metrics)
    for trial in loaded.trials:
        score, folds = trial["score"], trial["split_scores"]
        if isinstance(folds, Mapping):
            folds = folds[metric or loaded.metric]
            if metric not in (None, loaded.metric):
                score = float(np.mean(folds))
        whole = trial["status"] in ("complete", "failed")
        said = {key: trial[key] for key in ("fit_time", "score_time", "failure")}
        yield Row(trial["params"], score, folds, whole, said)


# Ranges as distributions --------------------------------------------------------------

#: Maps each parameter to its range in each of its branches: the lower end, the upper
#: end, and whether the scale is logarithmic; None for choices.
Ends = dict[str, list[tuple[float, float, bool] | None]]


def _searched(search: Any) -> Ends:
    found: Ends = {}
    for branch in search.optimizer_.space.branches:
        for name, dimension in branch.dimensions.items():
            is_range = hasattr(dimension, "low")
            ends = (dimension.low, dimension.high, dimension.log) if is_range else None
            found.setdefault(name, []).append(ends)
    return found


def _written(loaded: LoadedSearch) -> Ends:
    """Return the parameter ranges that are described in a checkpoint."""
    found: Ends = {}
    for item, text in loaded.settings["space"].items():
        ends = None
        if text.startswith(("Real(", "Integer(")):
            call: Any = ast.parse(text, mode="eval").body
            given = {k.arg: ast.literal_eval(k.value) for k in call.keywords}
            ends = given["low"], given["high"], given["log"]
        found.setdefault(item.split(" ")[-1], []).append(ends)
    return found


def _axis(kinds_of: Any, name: str, ends: Ends, rows: Iterable[Row]) -> Any:
    """Return the Optuna distribution of a parameter."""
    values = [_plain(row.params[name]) for row in rows if name in row.params]
    known = [each for each in ends.get(name, ()) if each is not None]
    kinds = {type(value) for value in values}
    if len(known) < len(ends.get(name, [None])) or not kinds <= {int, float}:
        return kinds_of.CategoricalDistribution(list(dict.fromkeys(values)))
    low, high, log = min(e[0] for e in known), max(e[1] for e in known), known[0][2]
    kind = "IntDistribution" if kinds == {int} else "FloatDistribution"
    return getattr(kinds_of, kind)(low, high, log=log and low > 0)


def _plain(value: Any) -> Any:
    value = plain(value)
    return value if type(value) in _PLAIN else " ".join(shown(value).split())


def _trial(optuna: Any, row: Row, axes: Mapping[str, Any]) -> Any:
    """Convert a candidate to a finished Optuna trial."""
    states = optuna.trial.TrialState
    params = {name: _plain(value) for name, value in row.params.items()}
    found = {name: axes[name] for name in params}
    inside = all(
        axis._contains(axis.to_internal_repr(params[name]))
        for name, axis in found.items()
    )
    said = {key: value for key, value in row.said.items() if value is not None}
    if not inside:
        said["params"] = params
    scores = np.asarray(row.folds, dtype=float)
    means = np.cumsum(scores) / np.arange(1, len(scores) + 1)
    state = states.COMPLETE if math.isfinite(row.score) else states.FAIL
    state = state if row.is_whole else states.PRUNED
    return optuna.trial.create_trial(
        state=state,
        value=row.score if math.isfinite(row.score) else None,
        params=params if inside else {},
        distributions=found if inside else {},
        user_attrs=said,
        intermediate_values={
            i: float(mean) for i, mean in enumerate(means) if math.isfinite(mean)
        },
    )
