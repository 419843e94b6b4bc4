"""What can be known of a search before its first fit."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone

from skrobustbo._arguments import drawn_seed
from skrobustbo._names import canonical, did_you_mean
from skrobustbo.checkpoint import NoJournal, describe, describe_data, shortened
from skrobustbo.model_selection._outline import outline
from skrobustbo.optimizer import Optimizer
from skrobustbo.policies import Policy, RobustUCB, make_policy
from skrobustbo.space import Space

Params = dict[str, Any]

#: Numbers and the number of jobs, with operators between them, as joblib reads them.
_TERM = r"(?:n_jobs|\d+\.?\d*)"
_ARITHMETIC = re.compile(rf"(?=.{{1,30}}$){_TERM}(?: *[-+*/] *{_TERM})*")


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
    "on_trial",
    "honest_score",  # compared where folds depend on it
    "random_state",  # compared with the seed that the checkpoint holds
    "search_metric",
}


#: Of these, the ones whose change is said when a checkpoint is resumed.
_OF_A_CALL = _NOT_COMPARED - {
    "estimator",
    "param_space",
    "scoring",
    "cv",
    "checkpoint",
    "random_state",
    "search_metric",
}

#: Settings that older checkpoints do not know, and their defaults: described only where
#: they are others.
_ADDED = {
    "schedule": "rounds",
    "racing": None,
    "racing_delta": 0.05,
    "racing_margin": 0.25,
}


def prepared(
    search: Any, journal: NoJournal, data: Mapping[str, Any]
) -> Callable[[], Optimizer]:
    """Return what makes the optimizer of a search; all that needs no fit is checked.

    Parameters
    ----------
    search : RobustBayesSearchCV
        The search.
    journal : NoJournal
        Knows the seed and the horizon of an earlier run.
    data : dict
        What is passed to `fit`, by name.
    """
    check_estimator(search.estimator)
    check_scoring(search.scoring)
    check_pre_dispatch(search.pre_dispatch)
    space = search.param_space
    space = space if isinstance(space, Space) else Space(space)
    check_names(space, search.estimator)
    seed = search.random_state
    drawn = not isinstance(seed, Integral)
    seed, horizon = journal.begin(
        lambda: fingerprint(search, space, data),
        seed=drawn_seed(seed, "RobustBayesSearchCV") if drawn else int(seed),
        n_iter=search.n_iter,
        drawn=drawn,
        outline=lambda: outline(search, space, metric_of(search)),
        call=lambda: call_of(search),
    )
    return partial(
        Optimizer,
        space,
        policy_of(search.policy, search.tol),
        n_initial_points=search.n_initial_points,
        initial_params=completed(search.initial_params, space, search.estimator),
        constraints=search.constraints,
        horizon=int(min(horizon, space.size)),
        random_state=seed,
    )


def metric_of(search: Any) -> str | None:
    """Return the metric to search for where there are several, None if not known."""
    named = search.refit if isinstance(search.refit, str) else None
    metric: str | None = search.search_metric
    return named if metric is None else metric


def score_metric(search: Any, names: Sequence[str]) -> str | None:
    """Return the metric that `best_score_` is of, None where there is a single one.

    Where `refit` names none of several, that is the metric to search for.
    """
    if not names:
        return None
    named = search.refit if isinstance(search.refit, str) else search.search_metric
    return names[0] if len(names) == 1 and named is None else named


def keeps_predictions(search: Any) -> bool:
    """Tell whether the honest score of a search is one of predictions."""
    return not isinstance(search.honest_score, str) and bool(search.honest_score)


def check_estimator(estimator: Any) -> None:
    """Raise a TypeError for what cannot be cloned with other parameters."""
    if isinstance(estimator, type):
        raise TypeError(
            "The 'estimator' of RobustBayesSearchCV must be an object. Got the class "
            f"{estimator.__name__} instead; write {estimator.__name__}()."
        )
    if not hasattr(estimator, "get_params"):
        raise TypeError(
            "The 'estimator' of RobustBayesSearchCV must have scikit-learn's "
            f"get_params. Got {estimator!r} instead; derive it from BaseEstimator."
        )


def check_scoring(scoring: Any) -> None:
    """Raise a ValueError for a collection that is not one of metrics."""
    if isinstance(scoring, dict):
        known = all(isinstance(m, str) or callable(m) for m in scoring.values())
    elif isinstance(scoring, list | tuple | set):
        known = all(isinstance(m, str) for m in scoring)
    else:
        return
    if known and scoring:
        return
    raise ValueError(
        "The 'scoring' of RobustBayesSearchCV must, for several metrics, be a list of "
        f"names or a dict of names or callables. Got {scoring!r} instead; "
        "leave it out for the estimator's own score."
    )


def check_pre_dispatch(pre_dispatch: int | str) -> None:
    """Raise a ValueError for what joblib would stumble over, with several jobs."""
    if isinstance(pre_dispatch, str):
        known = pre_dispatch == "all" or bool(_ARITHMETIC.fullmatch(pre_dispatch))
    else:
        known = pre_dispatch >= 1
    if not known:
        raise ValueError(
            "The 'pre_dispatch' of RobustBayesSearchCV must be a positive integer, "
            f"'all' or an expression such as '2*n_jobs'. Got {pre_dispatch!r} instead."
        )


def check_names(space: Space, estimator: Any) -> None:
    """Raise a ValueError if a parameter is none of the estimator's.

    What `set_params` takes is one, listed by `get_params` or not. A parameter of a
    component that is searched, too, must be one of all its values.
    """
    valid = estimator.get_params(deep=True)
    for branch in space.branches:
        for name in branch.names:
            component = _component(name, branch)
            if component is not None:
                _check_inside(name, component, branch)
            elif name not in valid and not _takes(estimator, name, branch):
                raise _unknown(name, valid, type(estimator).__name__)


def _takes(estimator: Any, name: str, branch: Space) -> bool:
    """Tell whether a copy of the estimator takes a value of a parameter."""
    dimension = branch.dimensions[name]
    (value,) = dimension.decode(dimension.from_uniform(np.zeros(1)))
    try:
        clone(estimator).set_params(**{name: clone(value, safe=False)})
    except Exception:  # whatever it raises, it does not take it
        return False
    return True


def _unknown(name: str, valid: Mapping[str, Any], owner: str) -> ValueError:
    hint = did_you_mean(name, valid)
    return ValueError(
        f"Invalid parameter {name!r} in 'param_space' for {owner}; "
        f"{hint + ' The' if hint else 'the'} valid parameters are {sorted(valid)}."
    )


def _component(name: str, branch: Space) -> str | None:
    """Return the innermost searched parameter whose values bring `name` along."""
    above = [other for other in branch.names if name.startswith(f"{other}__")]
    return max(above, key=len, default=None)


def _check_inside(name: str, component: str, branch: Space) -> None:
    inside, values = name[len(component) + 2 :], _choices(branch, component)
    for value in values:
        valid = value.get_params(deep=True) if hasattr(value, "get_params") else {}
        if inside in valid:
            continue
        kind = type(value).__name__ if valid else repr(value)
        if len(values) == 1:
            raise _unknown(name, {f"{component}__{key}": 0 for key in valid}, kind)
        raise ValueError(
            f"Invalid parameter {name!r} in 'param_space': {kind}, a value of "
            f"{component!r}, has no {inside!r}. Write a list of dicts, one for each "
            "kind of value, with the parameters of that kind."
        )


def _choices(branch: Space, name: str) -> Sequence[Any]:
    """Return the values of a parameter, none where they are not a list."""
    return getattr(branch.dimensions.get(name), "choices", ())


def policy_of(policy: str | Policy, tol: float | str | None) -> Policy:
    """Return the policy: for a search that a bound shall end, one of bounds."""
    by_default = isinstance(policy, str) and canonical(policy) == "robust"
    if by_default and tol is not None:
        return RobustUCB(weights=(1, 0.5, 0.1, 0.3), min_improvement=0)
    return make_policy(policy)


def completed(
    initial_params: Sequence[Mapping[str, Any]] | None, space: Space, estimator: Any
) -> list[Params] | None:
    """Return the initial points, completed from the estimator's present settings.

    Of several branches, the first that contains the completed point takes it.
    """
    if initial_params is None:
        return None
    for params in initial_params:
        if not isinstance(params, Mapping):
            raise ValueError(
                "The 'initial_params' of RobustBayesSearchCV must be a list of dicts. "
                f"Got {params!r} in it instead."
            )
    present = [_present(branch, estimator) for branch in space.branches]
    return [_complete(params, space.branches, present) for params in initial_params]


def _present(branch: Space, estimator: Any) -> Params:
    """Return the estimator's settings as they are in a branch."""
    settings = estimator.get_params(deep=True)
    for name in sorted(branch.names, key=len):
        choices = _choices(branch, name)
        if len(choices) != 1:
            continue
        settings[name] = value = choices[0]
        if hasattr(value, "get_params"):
            inside = value.get_params(deep=True)
            settings.update({f"{name}__{key}": inside[key] for key in inside})
    return {name: settings[name] for name in branch.names if name in settings}


def _complete(
    params: Mapping[str, Any], branches: Sequence[Space], present: Sequence[Params]
) -> Params:
    fitting = [
        {**settings, **params}
        for branch, settings in zip(branches, present, strict=True)
        if set(params) <= set(branch.names)
    ]
    found = (
        point for point in fitting if any(branch.contains(point) for branch in branches)
    )
    # Where nothing fits, the optimizer says what is wrong with the likeliest reading.
    return next(found, fitting[0] if fitting else {**present[0], **params})


# What tells one search from another, in words, for its checkpoint --------------------


def fingerprint(
    search: Any, space: Space, data: Mapping[str, Any]
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

    Returns
    -------
    parts : dict of dict of str
        For each part its items, described.
    """
    settings = search.get_params(deep=False)
    settings["policy"] = policy_of(search.policy, search.tol)
    compared = {
        name: value
        for name, value in settings.items()
        if name not in _NOT_COMPARED and not (name in _ADDED and value == _ADDED[name])
    }
    compared |= _kept_predictions(search)
    return {
        "data": {name: describe_data(value) for name, value in data.items()},
        "estimator": {
            "": describe(type(search.estimator)),
            **_described(search.estimator.get_params(deep=True)),
        },
        "space": _of_space(space),
        "cv": {"": describe(search.cv)},
        "scoring": {"": describe(search.scoring)},
        "settings": _described({**compared, "search_metric": metric_of(search)}),
    }


def call_of(search: Any) -> dict[str, str]:
    """Return the descriptions of the settings that may change from call to call."""
    settings = search.get_params(deep=False)
    with warnings.catch_warnings():
        # That functions are described by their names only is no harm here.
        warnings.simplefilter("ignore", UserWarning)
        return _described({k: v for k, v in settings.items() if k in _OF_A_CALL})


def _kept_predictions(search: Any) -> Params:
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
