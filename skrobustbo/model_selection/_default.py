"""Use the untuned estimator as the first candidate of a search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from skrobustbo._names import short_names
from skrobustbo._text import setting
from skrobustbo._trials import COLUMNS, Evaluation, Trial
from skrobustbo.model_selection._parameters import placeholder
from skrobustbo.model_selection._settings import Search
from skrobustbo.space import Constraint, Space

Params = dict[str, Any]

#: Label of the estimator as given.
DEFAULT = "default"


def default_of(
    search: Search, space: Space, told: Sequence[tuple[Params, float]]
) -> tuple[Evaluation | None, str]:
    """Return the candidate for the untuned estimator, and a note for the report.

    The branch of the candidate is -1 if the estimator's current values are not a
    feasible point in the space. The candidate is None if the untuned estimator should
    not be evaluated.
    """
    if not search.include_default:
        return None, ""
    empty = placeholder(search.estimator, space)
    if empty is not None:
        return None, f"the estimator as given was left out, as it has no {empty!r} yet"
    listed = search.estimator.get_params(deep=True)
    named = [name for branch in space.branches for name in branch.names]
    params = {name: listed[name] for name in dict.fromkeys(named) if name in listed}
    for branch in space.branches:
        point = {name: params[name] for name in branch.names if name in params}
        place, allowed = place_of(space, point), search.constraints
        if place is not None and (allowed is None or Constraint(allowed)(point)):
            if any(place_of(space, earlier) == place for earlier, _ in told):
                return None, "the estimator as given is known from 'previous'"
            return Evaluation(Trial(point)), ""
    trial = Trial(params, branch=-1, label=DEFAULT)
    said = {part: getattr(trial, part) for part in COLUMNS.values()}
    outside = values_outside(space.branches[0], params)
    which = f" ({settings(outside)})" if outside and len(space.branches) == 1 else ""
    return Evaluation(trial, said=said, number=0), (
        f"candidate 0 is the estimator as given: outside the space{which}, so no model "
        "learnt from it"
    )


def settings(params: Params) -> str:
    """Return the text for some parameter values."""
    short = short_names(list(params))
    return ", ".join(f"{short[name]} = {setting(v)}" for name, v in params.items())


def values_outside(space: Space, params: Params) -> Params:
    """Return the parameters of a point whose values are outside their ranges."""
    return {
        name: params[name]
        for name, dimension in space.dimensions.items()
        if name in params
        and place_of(Space({name: dimension}), {name: params[name]}) is None
    }


def default_among(trials: Sequence[Evaluation]) -> int | None:
    """Return the index of the untuned estimator, or None if it is not a candidate."""
    labels = [trial.said.get("label") for trial in trials]
    return labels.index(DEFAULT) if DEFAULT in labels else None


def gain_over_default(trials: Sequence[Evaluation], metric: str | None) -> float:
    """Return the best mean score minus the score of the untuned estimator."""
    default = default_among(trials)
    if default is None:
        return math.nan
    scores = [trial.mean_score(metric) for trial in trials]
    return max(filter(math.isfinite, scores), default=math.nan) - scores[default]


def place_of(space: Space, params: Params) -> tuple[int, bytes] | None:
    """Return a hashable key for a point, or None if it is outside the space."""
    try:
        branch, x = space.place(params)
    except ValueError:
        return None
    return branch, x.tobytes()
