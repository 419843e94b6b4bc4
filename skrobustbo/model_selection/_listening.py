"""What is told of a candidate that is finished, to a listener and in a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any
from warnings import warn

from skrobustbo._names import printable
from skrobustbo._trials import Trial
from skrobustbo.model_selection._failures import causes

Record = dict[str, Any]


def record_of(trial: Trial, metric: str | None) -> Record:
    """Return what is told of a finished candidate.

    Parameters
    ----------
    trial : Trial
        The candidate, with its folds.
    metric : str or None
        The metric searched for where there are several.
    """
    score = trial.mean_score(metric)
    status = "complete" if math.isfinite(score) else "failed"
    if trial.estimate is not None:
        status = "stopped"
    elif trial.resource is not None and math.isfinite(trial.mean_of_folds(metric)):
        status = "partial"
    return {
        "number": trial.number,
        "status": status,
        "params": dict(trial.params),
        "branch": int(trial.branch),
        "score": score,
        "split_scores": _split_scores(trial),
        "fit_time": sum(fold["fit_time"] for fold in trial.folds),
        "score_time": sum(fold["score_time"] for fold in trial.folds),
        "failure": next(causes(trial, metric), None),
        "model_label": trial.label,
        "model_mean": trial.mean,
        "model_std": trial.std,
    }


def _split_scores(trial: Trial) -> list[float] | dict[str, list[float]]:
    names = trial.metrics
    if not names:
        return trial.scores(None)
    return {name: trial.scores(name) for name in names}


def tell_listener(
    listener: Callable[[Record], Any] | None, trial: Trial, metric: str | None
) -> None:
    """Call a listener, if there is one.

    What it raises becomes a warning: the search is worth more.
    """
    if listener is None:
        return
    try:
        listener(record_of(trial, metric))
    except Exception as error:
        warn(
            f"The 'on_trial' of RobustBayesSearchCV raised {type(error).__name__} for "
            f"candidate {trial.number}: {printable(str(error))}. The search continues.",
            stacklevel=2,
        )


def table_of(records: Iterable[Record]) -> Any:
    """Return a DataFrame with a line for each candidate, in the order asked.

    Raises
    ------
    ImportError
        Without pandas.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "Expected pandas to be installed, because the table needs it; install it "
            "with: pip install pandas"
        ) from error
    lines = [_line(record) for record in sorted(records, key=lambda r: r["number"])]
    table = pd.DataFrame(lines)
    for name in table.columns:
        values = [line.get(name, math.nan) for line in lines]
        if name.startswith("param_") and None in values:
            # pandas would take the choice None for a missing value.
            table[name] = pd.Series(values, dtype=object)
    return table.set_index("number")


def _line(record: Record) -> Record:
    """Return a record without dicts: a column for each parameter and each metric."""
    rest = {k: v for k, v in record.items() if k not in ("params", "split_scores")}
    of_params = {f"param_{name}": value for name, value in record["params"].items()}
    scores = record["split_scores"]
    of_metrics = scores if isinstance(scores, dict) else {"score": scores}
    of_splits = {
        f"split{k}_test_{name}": score
        for name, values in of_metrics.items()
        for k, score in enumerate(values)
    }
    return rest | of_params | of_splits
