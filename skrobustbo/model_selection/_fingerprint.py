"""What tells one search from another, in words, for its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skrobustbo.checkpoint import describe, describe_data, shortened
from skrobustbo.model_selection._before import policy_of
from skrobustbo.space import Space

#: Settings that are described in a part of their own, or have no influence on what has
#: been done: on where and how fast it runs, when it ends, and what is made of it.
_NOT_COMPARED = {
    "estimator",
    "param_space",
    "scoring",
    "cv",
    "n_iter",
    "n_jobs",
    "verbose",
    "pre_dispatch",
    "refit",
    "max_time",
    "tol",
    "checkpoint",
    "retry_failed",
    "random_state",  # compared with the seed that the checkpoint holds
    "search_metric",
}


def fingerprint(
    search: Any,
    space: Space,
    data: Mapping[str, Any],
    metric: str | None,
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
    metric : str or None
        The metric that it searches for.

    Returns
    -------
    parts : dict of dict of str
        For each part its items, described.
    """
    settings = search.get_params(deep=False)
    settings["policy"] = policy_of(search.policy, search.tol)
    compared = {k: v for k, v in settings.items() if k not in _NOT_COMPARED}
    return {
        "data": {name: describe_data(value) for name, value in data.items()},
        "estimator": _of_estimator(search.estimator),
        "space": _of_space(space),
        "cv": {"": describe(search.cv)},
        "scoring": {"": describe(search.scoring)},
        "settings": _described({**compared, "search_metric": metric}),
    }


def _described(items: Mapping[str, Any]) -> dict[str, str]:
    return {name: describe(value) for name, value in items.items()}


def _of_estimator(estimator: Any) -> dict[str, str]:
    """Return the class of an estimator and all its parameters, those inside, too."""
    return {
        "": describe(type(estimator)),
        **_described(estimator.get_params(deep=True)),
    }


def _of_space(space: Space) -> dict[str, str]:
    branches = space.branches
    if len(branches) == 1:
        return _of_branch(branches[0])
    found = {
        f"branch {i}{f' {name}' if name else ''}": text
        for i, branch in enumerate(branches)
        for name, text in _of_branch(branch).items()
    }
    return {"": f"{len(branches)} branches", **found}


def _of_branch(space: Space) -> dict[str, str]:
    found = {name: _of_dimension(d) for name, d in space.dimensions.items()}
    # The order of the parameters is that of the columns, and counts.
    whole = f"{type(space).__name__} of {', '.join(found)}"
    points = getattr(space, "points", None)
    whole = whole if points is None else f"{whole}: {describe(points)}"
    return {"": whole, **found}


def _of_dimension(dimension: Any) -> str:
    if not hasattr(dimension, "choices"):
        return repr(dimension)
    # Values of parameters stand as they are: candidates show them, too.
    choices = ", ".join(describe(choice) for choice in dimension.choices)
    ordered = "ordered " if dimension.ordered else ""
    return shortened(f"{ordered}{describe(type(dimension))} [{choices}]")
