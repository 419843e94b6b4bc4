"""What a checkpoint says of its search: to the call that goes on, and to readers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from skrobustbo._names import canonical, shown
from skrobustbo.checkpoint import TEXT, describe, describe_data, shortened
from skrobustbo.model_selection._checks import keeps_predictions, metric_of
from skrobustbo.model_selection._settings import Data, Search, racing_of, resource_of
from skrobustbo.policies import make_policy
from skrobustbo.space import Space, from_json, to_json

Params = dict[str, Any]

#: Settings that have no influence on what has been done, but on where and how fast it
#: runs, when it ends, and what is made of it: a resumed run says which have changed.
_OF_A_CALL = {
    "n_iter",
    "n_jobs",
    "verbose",
    "pre_dispatch",
    "refit",
    "max_time",
    "tol",
    "retry_failed",
    "on_trial",
    "honest_score",  # compared where folds depend on it
}
#: These and those that are described in a part of their own.
_NOT_COMPARED = _OF_A_CALL | {
    "estimator",
    "param_space",
    "scoring",
    "cv",
    "checkpoint",
    "random_state",  # compared with the seed that the checkpoint holds
    "search_metric",
}

#: Characters of the choices of a parameter; of longer ones, candidates show the index.
_LONGEST = 1_000_000
#: Items of a dict that is shown as it is.
_FEW = 10


def fingerprint(
    search: Search, space: Space, data: Data, previous: str | None
) -> dict[str, dict[str, str]]:
    """Return the descriptions of all that the results of a search depend on.

    Parameters
    ----------
    search : RobustBayesSearchCV
        The search.
    space : Space
        What it searches.
    data : dict
        What is passed to `fit`, by name.
    previous : str or None
        Describes the candidates of an earlier search, if there are any.

    Returns
    -------
    parts : dict of dict of str
        For each part its items, described.
    """
    settings = search.get_params(deep=False)
    settings["policy"] = make_policy(search.policy)
    settings["previous"] = previous
    settings["racing"], settings["resource"] = racing_of(search), resource_of(search)
    compared = {k: v for k, v in settings.items() if k not in _NOT_COMPARED}
    compared |= _kept_predictions(search)
    return {
        "data": {
            name: describe_data(value, of_fit=name not in ("X", "y"))
            for name, value in data.items()
        },
        "estimator": {
            "": describe(type(search.estimator)),
            **_described(search.estimator.get_params(deep=True)),
        },
        "space": _of_space(space),
        "cv": {"": describe(search.cv)},
        "scoring": {"": describe(search.scoring)},
        "settings": _described({**compared, "search_metric": metric_of(search)}),
    }


def call_of(search: Search) -> dict[str, str]:
    """Return the descriptions of the settings that may change from call to call."""
    settings = search.get_params(deep=False)
    return {k: describe(v, quiet=True) for k, v in settings.items() if k in _OF_A_CALL}


def _kept_predictions(search: Search) -> Params:
    """Return the setting by which folds have predictions, and of which metric."""
    if not keeps_predictions(search):
        return {}
    several = not (search.scoring is None or isinstance(search.scoring, str))
    named = search.refit if several and isinstance(search.refit, str) else None
    return {"honest_score": True if named is None else f"True for {named}"}


def _described(items: Mapping[str, Any]) -> dict[str, str]:
    return {name: describe(value) for name, value in items.items()}


def _of_space(space: Space) -> dict[str, str]:
    found = [_of_branch(branch) for branch in space.branches]
    if len(found) == 1:
        return found[0]
    items = ((i, *item) for i, texts in enumerate(found) for item in texts.items())
    named = {f"branch {i}{name and f' {name}'}": text for i, name, text in items}
    return {"": f"{len(found)} branches", **named}


def _of_branch(space: Space) -> dict[str, str]:
    found = {name: of_dimension(d) for name, d in space.dimensions.items()}
    # The order of the parameters is that of the columns, and counts.
    whole = f"{type(space).__name__} of {', '.join(found)}"
    points = getattr(space, "points", None)
    whole = whole if points is None else f"{whole}: {describe(points)}"
    return {"": whole, **found}


def of_dimension(dimension: Any) -> str:
    """Return the description of a dimension."""
    if getattr(dimension, "hard", False):  # which changes no search
        dimension = replace(dimension, hard=False)
    if not hasattr(dimension, "choices"):
        return repr(dimension)
    # Values of parameters stand as they are: candidates show them, too.
    choices = ", ".join(describe(choice) for choice in dimension.choices)
    ordered = "ordered " if dimension.ordered else ""
    return shortened(f"{ordered}{describe(type(dimension))} [{choices}]")


# For those who only read it -----------------------------------------------------------


def outline(search: Search, space: Space) -> dict[str, Any]:
    """Return the outline of a search, in JSON types.

    Parameters
    ----------
    search : RobustBayesSearchCV
        The search.
    space : Space
        What it searches.
    """
    policy, named = search.policy, isinstance(search.policy, str)
    return {
        "estimator": type(search.estimator).__name__,
        "policy": canonical(policy) if named else type(policy).__name__,
        "metric": metric_of(search),
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
    for value in choices:
        written.append(described(value))
        left -= len(json.dumps(written[-1]))
        if left < 0:
            return []
    return written


def described(value: Any) -> Any:
    """Return a value as it is where its description shows it, else described.

    A small dict, such as of class weights, is shown where each of its items would be.
    """
    text = describe(value, quiet=True)  # the description of the search has warned
    if type(value) is dict and len(value) <= _FEW:
        items = [item for pair in value.items() for item in pair]
        if all(describe(item, quiet=True) == shown(item) for item in items):
            text = shortened(shown(value))
    with suppress(TypeError):  # for what JSON does not have
        if text == shown(value):
            return to_json(value)
    return {TEXT: text}


def as_described(written: Any) -> Any:
    """Return what `described` wrote of a value: the value or a text."""
    is_text = isinstance(written, dict) and written.keys() == {TEXT}
    return str(written[TEXT]) if is_text else from_json(written)
