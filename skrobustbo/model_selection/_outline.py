"""What a checkpoint says of its search to those who only read it."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from typing import Any

from skrobustbo._names import canonical, shown
from skrobustbo.checkpoint import TEXT, describe, shortened
from skrobustbo.model_selection._settings import Search
from skrobustbo.space import Space, to_json

#: Characters of the choices of a parameter; of longer ones, candidates show the index.
_LONGEST = 1_000_000
#: Items of a dict that is shown as it is.
_FEW = 10


def outline(search: Search, space: Space, metric: str | None) -> dict[str, Any]:
    """Return the outline of a search, in JSON types.

    Parameters
    ----------
    search : RobustBayesSearchCV
        The search.
    space : Space
        What it searches.
    metric : str or None
        The metric to search for where there are several, None if not known.
    """
    policy, rounds = search.policy, search.schedule == "rounds"
    named = isinstance(policy, str)
    return {
        "estimator": type(search.estimator).__name__,
        "policy": canonical(policy) if named else type(policy).__name__,
        "metric": metric,
        "racing": bool(search.racing),
        "n_in_flight": 1 if rounds else int(search.batch_size),
        "branches": [
            {name: _choices(d) for name, d in branch.dimensions.items()}
            for branch in space.branches
        ],
    }


def _choices(dimension: Any) -> list[Any] | None:
    """Return the choices of a parameter; None for numbers."""
    choices = getattr(dimension, "choices", None)
    if choices is None:
        return None
    written, left = [], _LONGEST
    with warnings.catch_warnings():  # the description of the search has warned
        warnings.simplefilter("ignore")
        for value in choices:
            written.append(_choice(value))
            left -= len(json.dumps(written[-1]))
            if left < 0:
                return []
    return written


def _choice(value: Any) -> Any:
    """Return a choice as it is where its description shows it, else described.

    A small dict, such as of class weights, is shown where each of its items would be.
    """
    text = describe(value)
    if type(value) is dict and len(value) <= _FEW:
        items = [item for pair in value.items() for item in pair]
        if all(describe(item) == shown(item) for item in items):
            text = shortened(shown(value))
    with suppress(TypeError):  # for what JSON does not have
        if text == shown(value):
            return to_json(value)
    return {TEXT: text}
