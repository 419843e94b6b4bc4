"""Create the descriptions of a search that are stored in its checkpoint."""

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

#: Settings that do not affect earlier results, but only where and how fast the search
#: runs, when it ends, and how its results are used. A resumed run reports changes to
#: them.
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
    "honest_score",  # compared if folds depend on this
}
#: These settings, and settings described in another part.
_NOT_COMPARED = _OF_A_CALL | {
    "estimator",
    "param_space",
    "scoring",
    "cv",
    "checkpoint",
    "random_state",  # compared with the seed in the checkpoint
    "search_metric",
}

#: Maximum characters of a parameter's choices; candidates show longer ones by
#: index.
_LONGEST = 1_000_000
#: Maximum number of items in a dict that is stored unchanged.
_FEW = 10


def fingerprint(
    search: Search, space: Space, data: Data, previous: str | None
) -> dict[str, dict[str, str]]:
    """Return text descriptions of everything that affects the results of a search.

    Returns
    -------
    parts : dict of dict of str
        Maps each part, such as the data, to descriptions of its items.
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
    """Return descriptions of the settings that may change between calls."""
    settings = search.get_params(deep=False)
    return {k: describe(v, quiet=True) for k, v in settings.items() if k in _OF_A_CALL}


def _kept_predictions(search: Search) -> Params:
    """Return the `honest_score` setting and its metric if predictions are stored."""
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
    # The parameters' order determines the order of the columns, so it matters.
    whole = f"{type(space).__name__} of {', '.join(found)}"
    points = getattr(space, "points", None)
    whole = whole if points is None else f"{whole}: {describe(points)}"
    return {"": whole, **found}


def of_dimension(dimension: Any) -> str:
    if getattr(dimension, "hard", False):  # this does not affect the search
        dimension = replace(dimension, hard=False)
    if not hasattr(dimension, "choices"):
        return repr(dimension)
    # Parameter values are stored unchanged, because candidates show them too.
    choices = ", ".join(describe(choice) for choice in dimension.choices)
    ordered = "ordered " if dimension.ordered else ""
    return shortened(f"{ordered}{describe(type(dimension))} [{choices}]")


# For readers --------------------------------------------------------------------------


def outline(search: Search, space: Space) -> dict[str, Any]:
    """Return a summary of a search that can be stored as JSON."""
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
    """Return the choices of a parameter, or None if it is numeric."""
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
    """Return a simple value in JSON types, or a text description of any other value.

    A small dict, such as class weights, is stored unchanged if all its items can be.
    """
    text = describe(value, quiet=True)  # the search's description has already warned
    if type(value) is dict and len(value) <= _FEW:
        items = [item for pair in value.items() for item in pair]
        if all(describe(item, quiet=True) == shown(item) for item in items):
            text = shortened(shown(value))
    with suppress(TypeError):  # JSON cannot store all values
        if text == shown(value):
            return to_json(value)
    return {TEXT: text}


def as_described(written: Any) -> Any:
    """Convert the result of `described` back to a value or a text."""
    is_text = isinstance(written, dict) and written.keys() == {TEXT}
    return str(written[TEXT]) if is_text else from_json(written)
