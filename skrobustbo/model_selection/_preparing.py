"""What a search begins with: its optimizer, and the description of a checkpoint."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral
from typing import Any

from skrobustbo._arguments import drawn_seed
from skrobustbo.checkpoint import Journal, describe, describe_data, shortened
from skrobustbo.evaluation import ResourceAxis
from skrobustbo.model_selection._checks import (
    check_estimator,
    check_pre_dispatch,
    check_refit,
    check_scoring,
    initial_points,
    keeps_predictions,
    metric_of,
    policy_of,
)
from skrobustbo.model_selection._outline import outline
from skrobustbo.model_selection._parameters import check_names
from skrobustbo.model_selection._resource import SearchResource
from skrobustbo.model_selection._settings import Search, racing_of, resource_of
from skrobustbo.optimizer import Optimizer
from skrobustbo.space import Space

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


def prepared(
    search: Search,
    journal: Journal,
    data: Mapping[str, Any],
    n_iter: int,
    known: Callable[[Space], Any],
) -> tuple[Callable[[], Optimizer], Any, ResourceAxis | None]:
    """Return what makes a search's optimizer, what is known before it, its resource.

    All that needs no fit is checked.

    Parameters
    ----------
    search : RobustBayesSearchCV
        The search.
    journal : Journal
        Knows the seed and the horizon of an earlier run.
    data : dict
        What is passed to `fit`, by name.
    n_iter : int
        Candidates in all.
    known : callable
        Returns, for the space, the candidates of an earlier search; None without any.
    """
    check_estimator(search.estimator)
    check_scoring(search.scoring)
    check_refit(search.refit)
    check_pre_dispatch(search.pre_dispatch)
    space = search.param_space
    space = space if isinstance(space, Space) else Space(space)
    check_names(space, search.estimator)
    given = resource_of(search)
    resource = None
    if given is not None:
        resource = SearchResource(given, search.estimator, space, data)
    before = known(space)
    seed = search.random_state
    drawn = not isinstance(seed, Integral)
    # Data are described, which takes a while, where the description goes to a file.
    described = {} if journal.path is None else data
    seed, horizon = journal.begin(
        lambda: fingerprint(search, space, described, before),
        seed=drawn_seed(seed, "RobustBayesSearchCV") if drawn else int(seed),
        n_iter=n_iter,
        drawn=drawn,
        outline=lambda: outline(search, space, metric_of(search)),
        call=lambda: call_of(search),
    )
    first = initial_points(search, space)
    if before is not None:
        first, horizon = [*(first or []), *before.first], horizon + len(before.told)
    amounts = None if resource is None else resource.amounts

    def fresh() -> Optimizer:
        optimizer = Optimizer(
            space,
            policy_of(search.policy, search.tol),
            n_initial_points=search.n_initial_points,
            initial_params=first,
            constraints=search.constraints,
            horizon=int(min(horizon, space.size)),
            resources=amounts,
            random_state=seed,
        )
        if before is not None:
            optimizer._tell_earlier(before.told)
        return optimizer

    return fresh, before, None if resource is None else resource.axis(seed)


def fingerprint(
    search: Search, space: Space, data: Mapping[str, Any], before: Any
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
    before : Before or None
        What is known of an earlier search.

    Returns
    -------
    parts : dict of dict of str
        For each part its items, described.
    """
    settings = search.get_params(deep=False)
    settings["policy"] = policy_of(search.policy, search.tol)
    settings["previous"] = None if before is None else before.description
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
    with warnings.catch_warnings():
        # That functions are described by their names only is no harm here.
        warnings.simplefilter("ignore", UserWarning)
        return _described({k: v for k, v in settings.items() if k in _OF_A_CALL})


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
