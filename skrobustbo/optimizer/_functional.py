"""`maximize` and `minimize`: the whole loop in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult

from skrobustbo._arguments import checked_callable, checked_count
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.optimizer._checks import checked_value
from skrobustbo.optimizer._optimizer import Optimizer
from skrobustbo.policies import Policy
from skrobustbo.space import Space

Objective = Callable[[dict[str, Any]], float]
Callback = Callable[[OptimizeResult], Any]


class SearchResult(OptimizeResult):
    """An `OptimizeResult` whose ``values`` are those of the function.

    The plain class is a dict, and would give its method of that name instead.
    """

    @property
    def values(self) -> NDArray[np.float64]:  # type: ignore[override]
        """Values of the function in the order of evaluation, shape (nfev,)."""
        found: NDArray[np.float64] = self["values"]
        return found


def maximize(
    func: Objective,
    space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    n_iter: int = 50,
    policy: str | Policy = "robust",
    n_initial_points: int | None = None,
    initial_params: Sequence[Mapping[str, Any]] | None = None,
    constraints: Callable[[dict[str, Any]], bool] | None = None,
    callback: Callback | None = None,
    random_state: Any = None,
) -> OptimizeResult:
    """Maximise a function of a params dict.

    Parameters
    ----------
    func : callable
        Takes a params dict, returns a number; nan is a failed evaluation. Exceptions
        are passed on.
    space : Space, dict or list of dict
        What is searched; the dicts of a list are branches of one search.
    n_iter : int, default=50
        Evaluations in all.
    policy : str or Policy, default="robust"
        How points are chosen.
    n_initial_points : int, default=None
        Evaluations before the model takes over; see `Optimizer`.
    initial_params : list of dict, default=None
        Points to evaluate first.
    constraints : callable, default=None
        Takes a params dict, returns True where the function may be evaluated.
    callback : callable, default=None
        Called with ``intermediate_result``, the result so far, after every evaluation;
        raising `StopIteration` ends the run.
    random_state : int, RandomState or None, default=None
        Seeds everything random.

    Returns
    -------
    result : scipy.optimize.OptimizeResult
        ``x`` (params dict of the best value), ``fun`` (that value), ``params_history``,
        ``values``, ``optimizer``, ``nfev``, ``success``, ``message``.

    Raises
    ------
    ValueError
        If an argument is not understood.

    Examples
    --------
    >>> from skrobustbo import Real, maximize
    >>> result = maximize(
    ...     lambda p: -abs(p["x"] - 2), {"x": Real(0, 5)}, n_iter=15, random_state=0
    ... )
    >>> abs(result.x["x"] - 2) < 0.1
    True
    """
    settings = {
        "policy": policy,
        "n_initial_points": n_initial_points,
        "initial_params": initial_params,
        "constraints": constraints,
        "random_state": random_state,
    }
    return _run(func, space, n_iter, callback, sign=1.0, **settings)


def minimize(
    func: Objective,
    space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    n_iter: int = 50,
    policy: str | Policy = "robust",
    n_initial_points: int | None = None,
    initial_params: Sequence[Mapping[str, Any]] | None = None,
    constraints: Callable[[dict[str, Any]], bool] | None = None,
    callback: Callback | None = None,
    random_state: Any = None,
) -> OptimizeResult:
    """Minimise a function of a params dict: `maximize` with the sign flipped.

    Parameters
    ----------
    func : callable
        Takes a params dict, returns a number; nan is a failed evaluation.
    space, n_iter, policy, n_initial_points, initial_params, constraints, callback, \
random_state
        As in `maximize`.

    Returns
    -------
    result : scipy.optimize.OptimizeResult
        As that of `maximize`. ``fun`` and ``values`` are those of `func`; ``optimizer``
        maximises its negative.

    Raises
    ------
    ValueError
        If an argument is not understood.

    Examples
    --------
    >>> from skrobustbo import Real, minimize
    >>> result = minimize(
    ...     lambda p: (p["x"] - 2) ** 2, {"x": Real(0, 5)}, n_iter=15, random_state=0
    ... )
    >>> result.fun < 0.01
    True
    """
    settings = {
        "policy": policy,
        "n_initial_points": n_initial_points,
        "initial_params": initial_params,
        "constraints": constraints,
        "random_state": random_state,
    }
    return _run(func, space, n_iter, callback, sign=-1.0, **settings)


def _run(
    func: Objective,
    space: Any,
    n_iter: int,
    callback: Callback | None,
    *,
    sign: float,
    **settings: Any,
) -> OptimizeResult:
    owner = "maximize" if sign > 0 else "minimize"
    n_iter = checked_count("n_iter", n_iter, owner)
    checked_callable("func", func, owner, "a params dict")
    if callback is not None:
        checked_callable("callback", callback, owner, "the result so far")
    optimizer = Optimizer(space, horizon=n_iter, **settings)
    message = f"All {n_iter} evaluations were made."
    for _ in range(n_iter):
        try:
            params: Any = optimizer.ask()
        except SpaceExhausted as stop:
            message = str(stop)
            break
        value = checked_value(func(dict(params)), "value of 'func'")
        optimizer.tell(params, sign * value)
        if callback is not None:
            try:
                callback(_result(optimizer, sign, "The run is under way."))
            except StopIteration:
                message = "The callback ended the run."
                break
    return _result(optimizer, sign, message)


def _result(optimizer: Optimizer, sign: float, message: str) -> OptimizeResult:
    history = optimizer.history_
    values = np.array([sign * record["value"] for record in history], dtype=float)
    found = bool(np.isfinite(values).any())
    return SearchResult(  # type: ignore[call-arg] # a dict of any keys
        x=optimizer.best_params_ if found else None,
        fun=sign * optimizer.best_value_ if found else np.nan,
        params_history=[record["params"] for record in history],
        values=values,
        optimizer=optimizer,
        nfev=len(history),
        success=found,
        message=message if found else "Every evaluation failed.",
    )
