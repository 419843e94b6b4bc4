"""Stopping reasons and stopping criteria of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress

from skrobustbo._trials import Evaluation
from skrobustbo.model_selection._findings import AHEAD, is_spread, prospects
from skrobustbo.model_selection._settings import Search
from skrobustbo.optimizer import Optimizer
from skrobustbo.policies import Policy
from skrobustbo.surrogate import NUMERICAL

#: Describes each `stop_reason_`.
ENDS = {
    "n_iter": "all candidates are done",
    "space_exhausted": "every point of the space was tried",
    "max_time": "max_time was reached",
    "tol": "no more than tol is left to gain",
    "interrupted": "it was interrupted",
    "callback": "a callback asked to stop",
}

#: The remaining gain is near the tolerance if it is below this multiple of it.
_NEAR = 2.0


def check_tol(search: Search, policy: Policy) -> None:
    """Raise a ValueError if `tol` is set but the policy has no regret bound."""
    if search.tol is not None and not policy.seeks_maximum:
        raise ValueError(
            "The 'tol' of RobustBayesSearchCV must be None for policies whose "
            f"regret has no bound. Got {search.tol!r} with {policy!r} instead."
        )


def _within_tol(
    search: Search,
    optimizer: Optimizer,
    trials: Sequence[Evaluation],
    metric: str | None,
) -> tuple[bool, str]:
    """Return whether the remaining gain is within `tol`, and a progress message."""
    tol = search.tol
    if tol is None or not found_in(trials, metric):
        return False, ""
    with suppress(*NUMERICAL):
        if isinstance(tol, str):
            if not is_spread(optimizer, len(trials)):
                return False, ""
            left, tol = prospects(optimizer, trials, metric)
            near = f"{AHEAD} more: expected gain {left:.2g} (noise {tol:.2g})"
        else:
            left = optimizer.regret_bound()
            near = f"at most {left:.2g} to gain (tol {tol:.2g})"
        return left <= tol, near if tol < left <= _NEAR * tol else ""
    return False, ""


#: Criteria that may end a search before its budget is used up, checked before each
#: candidate. Each returns whether to end the search, and a text for the progress line
#: if the end is near.
CRITERIA: dict[str, Callable[..., tuple[bool, str]]] = {"tol": _within_tol}


def found_in(trials: Sequence[Evaluation], metric: str | None) -> bool:
    """Return whether any candidate in the space has a finite mean score."""
    known = (trial for trial in trials if not trial.is_outside)
    return any(math.isfinite(trial.mean_score(metric)) for trial in known)
