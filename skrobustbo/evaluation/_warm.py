"""Fitted models of evaluations with a part of a resource, for those with more of it."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from joblib.externals.loky.backend import reduction
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from skrobustbo._sklearn_compat import has_callbacks
from skrobustbo._trials import FoldId, Trial

#: Bytes of all models that are kept, at most.
_MOST = 2**30
#: Estimators whose `max_iter` counts the iterations of all fits together.
_TOTAL = HistGradientBoostingClassifier, HistGradientBoostingRegressor


class WarmModels:
    """The fitted models of candidates that may get more of the resource.

    They are kept as bytes. Those kept first are forgotten first, once all together are
    too large: a candidate without models is fitted anew, with the same result.
    """

    def __init__(self) -> None:
        self._kept: dict[FoldId, bytes] = {}
        self._size = 0
        self._latest: dict[tuple[int, bytes], int] = {}

    def keep(self, key: FoldId, model: bytes | None) -> None:
        """Keep the model of a fold, if there is one."""
        if model is None:
            return
        self._kept[key] = model
        self._size += len(model)
        while self._size > _MOST:
            self._pop(next(iter(self._kept)))

    def take(self, trial: Trial, n_splits: int) -> list[bytes | None]:
        """Return the models of a candidate's evaluation before this one, by split."""
        point = trial.branch, trial.x.tobytes()
        earlier = self._latest.get(point)
        self._latest[point] = trial.number
        if earlier is None:
            return [None] * n_splits
        return [self._pop((earlier, split)) for split in range(n_splits)]

    def _pop(self, key: FoldId) -> bytes | None:
        model = self._kept.pop(key, None)
        self._size -= len(model or b"")
        return model


def goes_on(estimator: Any, resource: str) -> bool:
    """Tell whether a fitted estimator that is fitted again with more goes on.

    It must become exactly what it would be if it was fitted anew. So its parameter has
    to count the total, nothing may depend on a random state that is not an integer, and
    no early stopping may start counting again. Nor may it have callbacks, of which it
    would have a copy of its own.
    """
    params = estimator.get_params()
    step, _, name = resource.rpartition("__")
    owner = params[step] if step else estimator
    own: Mapping[str, Any] = owner.get_params(deep=False)
    is_total = name == "n_estimators" or (
        name == "max_iter" and isinstance(owner, _TOTAL)
    )
    states = (v for k, v in params.items() if k.split("__")[-1] == "random_state")
    stops_early = (
        getattr(owner, "do_early_stopping_", False)
        if isinstance(owner, _TOTAL)
        else own.get("n_iter_no_change") is not None
    )
    return (
        own.get("warm_start") is True
        and is_total
        and all(isinstance(state, Integral) for state in states)
        and not stops_early
        and not has_callbacks(estimator)
    )


def packed(estimator: Any, resource: str) -> bytes | None:
    """Return a fitted model as bytes; None if it cannot go on, or is too large."""
    if not goes_on(estimator, resource):
        return None
    try:
        model = bytes(reduction.dumps(estimator))
    except Exception:  # whatever a class raises that cannot be pickled
        return None
    return model if len(model) <= _MOST else None


def unpacked(model: bytes) -> Any:
    """Return a model that `packed` made in a worker of this search."""
    return pickle.loads(model)
