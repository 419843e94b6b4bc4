"""Determine the amounts of a resource that the evaluations of a search use."""

from __future__ import annotations

from numbers import Integral
from typing import Any
from warnings import warn

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target

from skrobustbo._names import did_you_mean
from skrobustbo._sklearn_compat import num_samples
from skrobustbo.evaluation import ROWS, ResourceAxis, flat
from skrobustbo.model_selection._parameters import first_refusal, present_values, slips
from skrobustbo.model_selection._settings import Data, Resource
from skrobustbo.space import Space

#: Number of rungs below the full resource, unless `min` is set.
_BELOW = 2
#: Number of rows of each class at the lowest rung, unless `min` is set.
_ROWS = 20
#: Stack level of warnings: the line that calls `fit`.
_TO_FIT = 6


def staged(
    given: Resource, estimator: Any, space: Space, data: Data, seed: int
) -> tuple[list[int], ResourceAxis]:
    """Return the ascending amounts of a resource, and the object that applies them.

    Raises
    ------
    ValueError
        If a setting is not valid for the data or the estimator.
    """
    n, strata, groups = num_samples(data["X"]), None, data.get("groups")
    if given.name == ROWS:
        _check_most("max", given.max, n, "the number of rows")
        full, strata = int(given.max or n), _strata(estimator, data.get("y"))
        rows = _ROWS * (1 if strata is None else int(strata.max()) + 1)
    else:
        full, rows = _full_value(given, estimator, space), 1
    _check_most("min", given.min, full, f"the full {given.name}")
    least = given.min or min(max(-(-full // given.factor**_BELOW), rows), full)
    amounts = [full]
    while (lower := -(-full // given.factor ** len(amounts))) >= least:
        if lower == amounts[0]:
            break
        amounts.insert(0, lower)
    if len(amounts) == 1:
        warn(
            f"All folds get the full {given.name}, {full}: a smaller amount would be "
            f"below min={least}.",
            stacklevel=_TO_FIT,
        )
    if groups is not None:
        groups = np.unique(flat(groups), return_inverse=True)[1]
    return amounts, ResourceAxis(given.name, full, n, seed, strata, groups)


def _strata(estimator: Any, y: Any) -> Any:
    """Return the class number of each row, or None if there are no classes."""
    if not is_classifier(estimator) or y is None:
        return None
    has_classes = type_of_target(y) in ("binary", "multiclass")
    return np.unique(flat(y), return_inverse=True)[1] if has_classes else None


def _full_value(given: Resource, estimator: Any, space: Space) -> int:
    """Return the full amount of a parameter, by default its value in the estimator."""
    name = given.name
    _check_parameter(given, estimator, space)
    slip = slips(estimator, space, {name: 1}, also=[ROWS]).get(name)
    present = present_values(estimator, space, name)
    full: Any = given.max or (present[0] if len(present) == 1 else None)
    if not _is_amount(full):
        shown = " or ".join("not set" if v is None else repr(v) for v in present)
        raise ValueError(
            f"The 'max' of Resource must be given where the estimator's {name!r} is "
            f"not a positive integer. It is {shown}; set it, or pass "
            f"Resource({name!r}, max=...).{' Note that ' + slip if slip else ''}"
        )
    if slip:
        warn(f"In 'resource', {slip}", stacklevel=_TO_FIT + 1)
    return int(full)


def _check_most(name: str, value: int | None, most: int, what: str) -> None:
    if value is not None and value > most:
        raise ValueError(
            f"The '{name}' of Resource must be at most {what}, {most}. Got {value!r} "
            "instead."
        )


def _check_parameter(given: Resource, estimator: Any, space: Space) -> None:
    """Raise a ValueError if the parameter cannot be used as a resource."""
    name = given.name
    if any(name in branch.names for branch in space.branches):
        raise ValueError(
            "The 'resource' of RobustBayesSearchCV must not be in 'param_space'. Got "
            f"{name!r}, which is; remove it there."
        )
    extra = {name: given.max or 1}
    for branch in space.branches:
        refusal = first_refusal(estimator, branch, extra)
        if refusal is not None:
            # Parameters that could be a resource.
            named = [n for n, v in refusal.valid.items() if v is None or _is_amount(v)]
            hint = did_you_mean(name, [ROWS, *named])
            raise ValueError(
                "The 'resource' of RobustBayesSearchCV must be 'n_samples' or a "
                f"parameter of the estimator. Got {name!r} instead"
                f"{'; ' + hint if hint else '.'} {refusal.says}"
            )


def _is_amount(value: Any) -> bool:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and value >= 1
