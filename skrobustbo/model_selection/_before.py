"""What can be known of a search before its first fit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from skrobustbo._names import canonical, did_you_mean, shown
from skrobustbo.policies import Policy, RobustUCB, make_policy
from skrobustbo.space import Space

Params = dict[str, Any]

#: Numbers and the number of jobs, with operators between them, as joblib reads them.
_TERM = r"(?:n_jobs|\d+\.?\d*)"
_ARITHMETIC = re.compile(rf"(?=.{{1,30}}$){_TERM}(?: *[-+*/] *{_TERM})*")


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
    """Return whether the honest score of a search is one of predictions."""
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
    """Return whether a copy of the estimator takes a value of a parameter."""
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
        kind = type(value).__name__ if valid else shown(value)
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


def initial_points(search: Any, space: Space) -> list[Params] | None:
    """Return the initial points of a search, completed.

    Raises
    ------
    ValueError
        If a setting of the estimator that completes a point is outside the space.
    """
    given, branches = search.initial_params, space.branches
    points = completed(given, space, search.estimator)
    for params, point in zip(given or (), points or (), strict=True):
        for name in [name for name in point if name not in params]:
            among = [b.dimensions[name] for b in branches if name in b.names]
            if not any(dimension.contains(point[name]) for dimension in among):
                raise ValueError(
                    f"In 'initial_params', {shown(dict(params))} has no {name!r}, and "
                    f"the estimator's own value, {shown(point[name])}, is outside the "
                    f"space; give {name!r} a value in the space."
                )
    return points


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
