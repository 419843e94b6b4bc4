"""The resource of a search: what it is, its amounts, and what folds get of it."""

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

#: Rungs below the full resource, where `min` does not say otherwise.
_BELOW = 2
#: Rows at least of each class at the lowest rung, where it does not.
_ROWS = 20
#: How far warnings are from the line that calls `fit`.
_TO_FIT = 7


class SearchResource:
    """The resource of a search.

    Parameters
    ----------
    given : Resource
        The setting.
    estimator : estimator
        The one to tune.
    space : Space
        What is searched.
    data : dict
        What is passed to `fit`, by name.

    Attributes
    ----------
    amounts : list of int
        The amounts of the rungs, ascending.

    Raises
    ------
    ValueError
        If a setting does not fit the data or the estimator.
    """

    def __init__(
        self, given: Resource, estimator: Any, space: Space, data: Data
    ) -> None:
        self.name, self._given, self._data = given.name, given, data
        self._is_classifier = is_classifier(estimator)
        slip = None
        if self.name != ROWS:
            _check_parameter(given, estimator, space)
            found = slips(estimator, space, {self.name: 1}, also=[ROWS])
            slip = found.get(self.name)
        self.full = self._full(estimator, space, slip)
        if slip:
            warn(f"In 'resource', {slip}", stacklevel=_TO_FIT)
        least = self._least()
        amounts = [self.full]
        while (lower := -(-self.full // given.factor ** len(amounts))) >= least:
            if lower == amounts[0]:
                break
            amounts.insert(0, lower)
        self.amounts = amounts
        if len(amounts) == 1:
            warn(
                f"All folds get the full {self.name}, {self.full}: a smaller amount "
                f"would be below min={least}.",
                stacklevel=_TO_FIT,
            )

    def axis(self, seed: int) -> ResourceAxis:
        """Return what folds get of it; `seed` draws subsets of rows."""
        X, y, groups = (self._data.get(name) for name in ("X", "y", "groups"))
        n = num_samples(X)
        strata = None
        if self.name == ROWS and self._n_classes() is not None:
            strata = np.unique(flat(y), return_inverse=True)[1]
        if groups is not None:
            groups = np.unique(flat(groups), return_inverse=True)[1]
        return ResourceAxis(self.name, self.full, n, seed, strata, groups)

    def _full(self, estimator: Any, space: Space, slip: str | None) -> int:
        """Return the full amount: all rows, or what the estimator has, by default."""
        given = self._given.max
        if self.name == ROWS:
            n = num_samples(self._data["X"])
            _check_most("max", given, n, "the number of rows")
            return int(given or n)
        present = present_values(estimator, space, self.name)
        full: Any = given or (present[0] if len(present) == 1 else None)
        if not _is_amount(full):
            shown = " or ".join("not set" if v is None else repr(v) for v in present)
            raise ValueError(
                "The 'max' of Resource must be given where the estimator's "
                f"{self.name!r} is not a positive integer. It is {shown}; set it, or "
                f"pass Resource({self.name!r}, max=...)."
                f"{' Note that ' + slip if slip else ''}"
            )
        return int(full)

    def _least(self) -> int:
        """Return the smallest amount allowed."""
        given = self._given
        if given.min is None:
            least = -(-self.full // given.factor**_BELOW)
            rows = _ROWS * (self._n_classes() or 1) if self.name == ROWS else 1
            return int(min(max(least, rows), self.full))
        _check_most("min", given.min, self.full, f"the full {self.name}")
        return int(given.min)

    def _n_classes(self) -> int | None:
        """Return the number of classes, None where rows have none."""
        y = self._data.get("y")
        if not self._is_classifier or y is None:
            return None
        kinds = ("binary", "multiclass")
        return len(np.unique(np.asarray(y))) if type_of_target(y) in kinds else None


def _check_most(name: str, value: int | None, most: int, what: str) -> None:
    if value is not None and value > most:
        raise ValueError(
            f"The '{name}' of Resource must be at most {what}, {most}. Got {value!r} "
            "instead."
        )


def _check_parameter(given: Resource, estimator: Any, space: Space) -> None:
    """Raise a ValueError unless a parameter of the estimator can be the resource."""
    name = given.name
    if any(name in branch.names for branch in space.branches):
        raise ValueError(
            "The 'resource' of RobustBayesSearchCV must not be searched for. Got "
            f"{name!r}, which is in 'param_space'; take it out there."
        )
    extra = {name: given.max or 1}
    for branch in space.branches:
        refusal = first_refusal(estimator, branch, extra)
        if refusal is not None:
            # Those that could be a resource.
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
