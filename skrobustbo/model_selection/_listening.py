"""Call listeners during a search, and create the table of its candidates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from types import NoneType
from typing import Any
from warnings import warn

from skrobustbo._names import missing, printable
from skrobustbo._trials import COLUMNS, Evaluation
from skrobustbo.model_selection._failures import causes
from skrobustbo.model_selection._settings import Search
from skrobustbo.space import fresh

Record = dict[str, Any]
Listener = Callable[[Record], Any] | None


def record_of(trial: Evaluation, metric: str | None) -> Record:
    """Return the dict that describes a finished candidate to listeners."""
    score = trial.mean_score(metric)
    status = "complete" if math.isfinite(score) else "failed"
    if trial.estimate is not None:
        status = "stopped"
    elif trial.resource is not None and math.isfinite(trial.mean_of_folds(metric)):
        status = "partial"
    return {
        "number": trial.number,
        "status": status,
        "params": fresh(trial.params),
        "branch": int(trial.branch),
        "score": score,
        "split_scores": {name: trial.scores(name) for name in trial.metrics}
        or trial.scores(None),
        "fit_time": sum(fold.fit_time for fold in trial.folds),
        "score_time": sum(fold.score_time for fold in trial.folds),
        "failure": next(causes(trial, metric), None),
        **{column: trial.said[part] for column, part in COLUMNS.items()},
    }


def tell_listener(listener: Listener, trial: Evaluation, metric: str | None) -> None:
    """Call the listener for a finished candidate, if there is a listener.

    If the listener raises an exception, a warning is issued and the search continues.
    """
    if listener is not None:
        about = f"for candidate {trial.number}"
        _call(lambda: listener(record_of(trial, metric)), about)


@contextmanager
def listening(search: Search) -> Iterator[Callable[[str], None]]:
    """Call the listener's optional methods at the beginning and end of the search.

    ``on_search_begin(search, identity)`` is called before the first fit. The identity
    of a search stays the same when the search is resumed. ``on_search_end(search,
    records)`` is called after the refit with the records of all candidates (see
    `record_of`), or with None if an error occurred.

    Yields
    ------
    begin : callable
        Function to call with the identity of the search when it begins.
    """
    begins = getattr(search.on_trial, "on_search_begin", None)
    ends = getattr(search.on_trial, "on_search_end", None)
    has_begun = False

    def begin(identity: str) -> None:
        nonlocal has_begun
        has_begun = True
        if begins is not None:
            _call(lambda: begins(search, identity), "at the beginning")

    records = None
    try:
        yield begin
        notes = search._notes
        records = [record_of(trial, notes.metric) for trial in notes.trials]
    finally:
        if has_begun and ends is not None:
            _call(lambda: ends(search, records), "at the end")


def _call(listener: Callable[[], Any], about: str) -> None:
    """Call a listener and turn any exception into a warning."""
    try:
        listener()
    except Exception as error:
        warn(
            f"The 'on_trial' of RobustBayesSearchCV raised {type(error).__name__} "
            f"{about}: {printable(str(error))}. The search continues.",
            stacklevel=3,
        )


def table_of(records: Iterable[Record]) -> Any:
    """Return a DataFrame with one row per candidate, sorted by number.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise missing("The table of candidates", "pandas", "pandas") from error
    lines = [_line(record) for record in sorted(records, key=lambda r: r["number"])]
    names = sorted(dict.fromkeys(chain.from_iterable(lines or [_FIRST])), key=_place)
    columns = {name: _column(pd, name, lines) for name in names}
    return pd.DataFrame(columns).set_index("number")


#: The columns of an empty table.
_FIRST = ("number", "status", "branch", "score", "fit_time", "score_time", "failure")


def _column(pd: Any, name: str, lines: Sequence[Record]) -> Any:
    values = [line.get(name, math.nan) for line in lines]
    kinds = {type(line[name]) for line in lines if name in line}
    # pandas would read the choice None as a missing value, and 1 as 1.0.
    taken = name.startswith("param_") and (NoneType in kinds or {int, float} <= kinds)
    try:
        return pd.Series(values, dtype=object if taken else None)
    except ValueError:  # it cannot encode a text
        return pd.Series(values, dtype=object)


def _line(record: Record) -> Record:
    """Flatten a record so that each parameter and split score has its own column."""
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


def _place(column: str) -> int:
    """Return a sort key that orders columns: number, parameters, score, others."""
    if column.startswith("param_"):
        return 1
    return {"number": 0, "score": 2}.get(column, 3)
