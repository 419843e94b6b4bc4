"""Store models fitted with part of a resource, to continue their fits later."""

from __future__ import annotations

import pickle
from numbers import Integral
from typing import Any

from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import Pipeline

from skrobustbo._sklearn_compat import has_callbacks
from skrobustbo._trials import Evaluation, FoldId, Trial

#: Maximum total size of the stored models, in bytes.
_MOST = 2**30
#: Estimators whose `max_iter` limits the total number of iterations over all fits.
_TOTAL = HistGradientBoostingClassifier, HistGradientBoostingRegressor


class WarmModels:
    """Fitted models of candidates that may receive more of the resource.

    The models are stored as bytes. If their total size exceeds a limit, the oldest
    models are dropped. Their candidates are then fitted from scratch, with the same
    result.
    """

    def __init__(self) -> None:
        self._kept: dict[FoldId, bytes] = {}
        self._size = 0
        self._latest: dict[Trial, int] = {}

    def keep(self, key: FoldId, model: bytes | None) -> None:
        """Store the model of a fold, unless it is None."""
        if model is None:
            return
        self._pop(key)
        self._kept[key] = model
        self._size += len(model)
        while self._size > _MOST:
            self._pop(next(iter(self._kept)))

    def take(self, evaluation: Evaluation, n_splits: int) -> list[bytes | None]:
        """Return the models of a candidate's previous evaluation, by split."""
        earlier = self._latest.pop(evaluation.trial, None)
        if evaluation.resource is not None:
            self._latest[evaluation.trial] = evaluation.number
        if earlier is None:
            return [None] * n_splits
        return [self._pop((earlier, split)) for split in range(n_splits)]

    def _pop(self, key: FoldId) -> bytes | None:
        model = self._kept.pop(key, None)
        self._size -= len(model or b"")
        return model


def owner_of(estimator: Any, resource: str) -> Any:
    """Return the estimator that has the resource parameter, or None.

    This is the estimator itself or the last step of a pipeline. Other composite
    estimators clone their components, so their fits cannot be continued.
    """
    step, _, _ = resource.rpartition("__")
    if not step:
        return estimator
    if isinstance(estimator, Pipeline) and estimator.steps[-1][0] == step:
        return estimator.steps[-1][1]
    return None


def goes_on(estimator: Any, resource: str) -> bool:
    """Return whether a fit with more of the resource can continue an earlier fit.

    The result must be the same as for a fit from scratch. The parameter must therefore
    be the total number of iterations, every random state must be an integer, and early
    stopping must be off. The estimator must not have callbacks, because they would be
    copied.
    """
    owner = owner_of(estimator, resource)
    if getattr(owner, "warm_start", False) is not True or has_callbacks(estimator):
        return False
    name = resource.rpartition("__")[2]
    if isinstance(owner, _TOTAL):
        is_total = name == "max_iter"
        stops_early = getattr(owner, "do_early_stopping_", False)
    else:
        is_total = name == "n_estimators"
        stops_early = getattr(owner, "n_iter_no_change", None) is not None
    params = estimator.get_params()
    states = [v for k, v in params.items() if k.split("__")[-1] == "random_state"]
    fixed = all(isinstance(state, Integral) for state in states)
    return is_total and fixed and not stops_early


def packed(estimator: Any, resource: str) -> bytes | None:
    """Return a fitted model as bytes, or None if it cannot be reused."""
    try:
        if not goes_on(estimator, resource):
            return None
        model = pickle.dumps(owner_of(estimator, resource))
    except Exception:  # classes may raise anything when inspected or pickled
        return None
    return model if len(model) <= _MOST else None


def with_model(estimator: Any, model: bytes, resource: str) -> Any:
    """Return the estimator with a model that was stored by `packed`."""
    try:
        owner = pickle.loads(model)
    except Exception:  # classes may raise anything when unpickled
        return estimator
    step, _, _ = resource.rpartition("__")
    return estimator.set_params(**{step: owner}) if step else owner
