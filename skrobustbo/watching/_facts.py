"""Format information about a search for a terminal or a web page."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from skrobustbo._names import count, printable
from skrobustbo._text import clipped, duration
from skrobustbo.model_selection import ENDS, LoadedSearch, last_initial

#: Maximum characters of a text, such as a choice, and of a failure's cause.
_LONG, _CAUSE = 60, 200
#: Statuses of candidates without a full score, and statuses that are counted.
_PARTIAL = ("stopped", "partial")
_KINDS = ("failed", *_PARTIAL)
#: Number of latest candidates to show, and of most frequent causes of failures.
_LATEST, _CAUSES = 6, 2

#: Names of the columns in `rows`.
HEADS = ("candidate", "score", "fit time", "parameters")


def clean(value: Any, most: int = _LONG) -> str:
    """Return a value as a short printable text on one line.

    Text from a file may contain terminal control characters.
    """
    if isinstance(value, float):
        return f"{value:.5g}"
    return clipped(printable(str(value)), most)


def title(found: LoadedSearch) -> str:
    return f"Search of {clean(found.estimator)}, policy {clean(found.policy)}"


def state(found: LoadedSearch) -> str:
    """Return a text that says whether the search is running or why it ended."""
    spent = duration(found.running_time)
    if found.status == "running":
        return f"Running for {spent}"
    if found.status == "finished":
        reason = str(found.stop_reason)
        why = ENDS.get(reason, clean(reason))
        return f"Finished: {why}; the last call took {spent}"
    if found.status is None:
        return f"Begun {spent} ago on another machine: it is unknown whether it runs"
    how = "Ended with an error" if found.stop_reason else "Its process has ended"
    return f"{how}: repeat the call to resume"


def counts(found: LoadedSearch) -> str:
    """Return a text with the numbers of candidates and folds."""
    number = Counter(trial["status"] for trial in found.trials)
    n = len(found.trials)
    # With a resource, n_iter counts full evaluations, so there are more evaluations in
    # all.
    in_parts = number["partial"] > 0
    planned = count(found.n_iter, "candidate")
    parts = [
        count(n, "evaluation") if in_parts else f"{n} of {planned}",
        count(found.n_folds, "fold"),
        *[f"{number[kind]} {kind}" for kind in _KINDS if number[kind]],
    ]
    if found.n_unfinished:
        parts.append(f"{found.n_unfinished} not finished")
    return ", ".join(parts)


def score_name(found: LoadedSearch) -> str:
    return clean(found.metric or "score")


def params_text(trial: Mapping[str, Any]) -> str:
    """Return the parameters of a candidate on one line."""
    parts = [f"{clean(k)}={clean(v)}" for k, v in trial["params"].items()]
    return ", ".join(parts)


def score_text(trial: Mapping[str, Any]) -> str:
    """Return the score of a candidate as text, or its status if it has no score."""
    score = trial["score"]
    return f"{score:.5g}" if math.isfinite(score) else str(trial["status"])


def rows(found: LoadedSearch) -> list[tuple[str, str, str, str]]:
    """Return the number, score, fit time and parameters of the latest candidates."""
    return [
        (
            str(trial["number"]),
            score_text(trial),
            duration(trial["fit_time"]),
            params_text(trial),
        )
        for trial in list(found.trials)[-_LATEST:]
    ]


def failures(found: LoadedSearch) -> list[str]:
    """Return the most frequent causes of failures, with their counts."""
    causes = Counter(trial["failure"] for trial in found.trials if trial["failure"])
    return [f"{n} x {clean(cause, _CAUSE)}" for cause, n in causes.most_common(_CAUSES)]


def curve_data(found: LoadedSearch) -> tuple[list[float], int]:
    """Return the scores in order, and the number of the last initial candidate.

    Candidates without a full score are left out.
    """
    trials = [trial for trial in found.trials if trial["status"] not in _PARTIAL]
    n_initial = last_initial(trial["model_label"] for trial in trials)
    return [trial["score"] for trial in trials], n_initial
