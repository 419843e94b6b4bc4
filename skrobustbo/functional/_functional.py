"""Functions that maximise or minimise an objective in a single call."""

from __future__ import annotations

import os
import reprlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult

from skrobustbo._arguments import checked_callable, checked_count
from skrobustbo._names import be, count, every, wrong
from skrobustbo._trials import FoldId, RawResult
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.evaluation import (
    Batch,
    Fold,
    JoblibPool,
    Plan,
    Running,
    Schedule,
    ScheduleName,
    Stops,
)
from skrobustbo.optimizer import Optimizer, checked_value
from skrobustbo.policies import Policy
from skrobustbo.space import Space, fresh

Objective = Callable[[dict[str, Any]], float]
Callback = Callable[[OptimizeResult], Any]

_UNDER_WAY = "The run is in progress."


class SearchResult(OptimizeResult):
    """`OptimizeResult` whose attribute ``values`` contains the function values.

    `OptimizeResult` is a subclass of dict, where ``values`` is a method.
    """

    @property
    def values(self) -> NDArray[np.float64]:  # type: ignore[override]
        """Function values in the order of evaluation, shape (nfev,)."""
        return self["values"]


def maximize(
    func: Objective,
    space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    n_iter: int = 50,
    policy: str | Policy = "robust",
    n_initial_points: int | None = None,
    initial_params: Sequence[Mapping[str, Any]] | None = None,
    constraints: Callable[[dict[str, Any]], bool] | None = None,
    n_jobs: int | None = None,
    batch_size: int = 1,
    schedule: ScheduleName = "rounds",
    callback: Callback | None = None,
    random_state: Any = None,
) -> OptimizeResult:
    """Maximise a function of a params dict.

    Parameters
    ----------
    func : callable
        Function that takes a params dict and returns a number, or nan if the evaluation
        failed. Exceptions are passed on to the caller, and their attribute ``result``
        contains the result so far. The function must be picklable if it runs in several
        processes.
    space : Space, dict or list of dict
        The search space. The dicts in a list define branches of the space.
    n_iter : int, default=50
        Total number of evaluations.
    policy : str or Policy, default="robust"
        Policy that chooses the points to evaluate.
    n_initial_points : int, default=None
        Number of evaluations before a model chooses the points. See `Optimizer`.
    initial_params : list of dict, default=None
        Points to evaluate first.
    constraints : callable, default=None
        Function that takes a params dict and returns whether it is allowed.
    n_jobs : int, default=None
        Number of evaluations to run in parallel on joblib's current backend, each in a
        separate worker. It does not affect which points are evaluated.
    batch_size : int, default=1
        Number of points to propose before the value of the first one is known.
    schedule : {"rounds", "window", "free"}, default="rounds"
        When to propose the next points. With "rounds", they are proposed after a whole
        round has been evaluated. With "window", a point is proposed after the oldest
        running evaluation has finished, and the model receives the values in the order
        in which the points were proposed. With "free", a point is proposed after any
        evaluation has finished, so the points depend on the duration of the
        evaluations.
    callback : callable, default=None
        Function that is called as ``callback(intermediate_result)`` after every
        evaluation, where ``intermediate_result`` is the result so far. It can raise
        `StopIteration` to end the run. Other exceptions are handled like exceptions
        from `func`.
    random_state : int, RandomState or None, default=None
        Controls the randomness of the run.

    Returns
    -------
    result : scipy.optimize.OptimizeResult
        The attributes are ``x`` (params dict with the best value), ``fun`` (the best
        value), ``params_history``, ``values``, ``optimizer``, ``nfev``, ``success`` and
        ``message``. After Ctrl-C or SIGTERM, the result so far is returned, and
        ``success`` is False.

    Raises
    ------
    ValueError
        If an argument is invalid or `func` does not return a number.
    KeyboardInterrupt
        If the run is interrupted before the first evaluation has finished. After
        SIGTERM, SystemExit is raised instead.

    Examples
    --------
    >>> from skrobustbo import Real, maximize
    >>> result = maximize(
    ...     lambda p: -abs(p["x"] - 2), {"x": Real(0, 5)}, n_iter=15, random_state=0
    ... )
    >>> abs(result.x["x"] - 2) < 0.1
    True
    """
    return _run(sign=1.0, **locals())


def minimize(
    func: Objective,
    space: Space | Mapping[str, Any] | Sequence[Mapping[str, Any]],
    *,
    n_iter: int = 50,
    policy: str | Policy = "robust",
    n_initial_points: int | None = None,
    initial_params: Sequence[Mapping[str, Any]] | None = None,
    constraints: Callable[[dict[str, Any]], bool] | None = None,
    n_jobs: int | None = None,
    batch_size: int = 1,
    schedule: ScheduleName = "rounds",
    callback: Callback | None = None,
    random_state: Any = None,
) -> OptimizeResult:
    """Minimise a function of a params dict.

    Parameters
    ----------
    func : callable
        Function that takes a params dict and returns a number, or nan if the evaluation
        failed.
    space, n_iter, policy, n_initial_points, initial_params, constraints, n_jobs, \
    batch_size, schedule, callback, random_state
        Same as in `maximize`.

    Returns
    -------
    result : scipy.optimize.OptimizeResult
        Same as in `maximize`. ``fun`` and ``values`` contain values of `func`, while
        ``optimizer`` maximises the negative of `func`.

    Raises
    ------
    ValueError, KeyboardInterrupt
        Same as in `maximize`.

    Examples
    --------
    >>> from skrobustbo import Real, minimize
    >>> result = minimize(
    ...     lambda p: (p["x"] - 2) ** 2, {"x": Real(0, 5)}, n_iter=15, random_state=0
    ... )
    >>> result.fun < 0.01
    True
    """
    return _run(sign=-1.0, **locals())


def _run(
    *,
    sign: float,
    func: Objective,
    space: Any,
    n_iter: int,
    n_jobs: int | None,
    batch_size: int,
    schedule: str,
    callback: Callback | None,
    **settings: Any,
) -> OptimizeResult:
    """Run `maximize` if `sign` is 1, or `minimize` if `sign` is -1."""
    owner = "maximize" if sign > 0 else "minimize"
    n_iter = checked_count("n_iter", n_iter, owner)
    checked_callable("func", func, owner, "a params dict")
    if callback is not None:
        checked_callable("callback", callback, owner, "the result so far")
    batch_size = checked_count("batch_size", batch_size, owner)
    known = list(get_args(ScheduleName))
    if schedule not in known:
        raise wrong("schedule", owner, f"one of {known}", schedule)
    optimizer = Optimizer(space, horizon=n_iter, **settings)
    named = Schedule.named(schedule, batch_size)
    run = _Calls(optimizer, n_iter, named.n_at_once, callback, sign)
    plan, stops = Plan(named, 1, run.ask, run.tell), Stops(interruptible=True)
    pool = JoblibPool(_Evaluation(func), n_jobs, stops)
    with stops.watched(), pool:
        try:
            _evaluate(run, plan, pool, stops)
        except BaseException as error:
            run.stop(error)
        for key, result in pool.finished():
            if "error" not in result:
                plan.take(key, result)
        plan.finish()
        found = _result(optimizer, sign, run.message)
        if run.error is None and stops.reason and found.nfev < n_iter:
            run.stop(KeyboardInterrupt())
        if isinstance(run.error, KeyboardInterrupt) and not found.nfev:
            raise run.error
    # Raised outside, because context managers change exceptions that pass through.
    return found if run.error is None else _cut_short(found, run.error, n_iter)


def _evaluate(run: _Calls, plan: Plan, pool: JoblibPool, stops: Stops) -> None:
    """Evaluate points until none are left or the run is stopped."""
    plan.fill()
    for key, result in stops.guard(pool.run(plan.waiting, plan.needs)):
        if not isinstance(result, Exception):
            result = result.get("error", result)
        plan.take(key, result)
        plan.fill()
        if run.error is not None:
            return


def _cut_short(
    result: OptimizeResult, error: BaseException, n_iter: int
) -> OptimizeResult:
    """Return the result of an interrupted run, or raise the error that ended it.

    If possible, the result so far is stored in the attribute ``result`` of the
    exception.
    """
    interrupted = isinstance(error, KeyboardInterrupt)
    what = "Interrupted" if interrupted else f"Ended by {type(error).__name__}"
    result["message"] = f"{what} after {result.nfev} of {n_iter} evaluations."
    result["success"] = False
    if interrupted:
        return result
    with suppress(Exception):
        error.result = result  # type: ignore[attr-defined] # for whoever catches it
        if result.nfev:
            best = "no value" if result.x is None else f"the best value {result.fun}"
            at = "" if result.x is None else f" with {result.x}"
            error.add_note(
                "The attribute 'result' of this exception is the result so far: "
                f"{count(result.nfev, 'evaluation')}, {best}{at}."
            )
    raise error


class _Evaluation:
    """Evaluator of the function, with the interface for fitting folds."""

    def __init__(self, func: Objective) -> None:
        self._func, self.nested, self._pid = func, False, os.getpid()
        self.settings: dict[str, Any] = {"error_score": "raise"}

    def fit(self, fold: Fold) -> tuple[FoldId, RawResult, float]:
        """Evaluate a point and return its key, result and duration in seconds."""
        start = time.perf_counter()
        try:
            value = _number(self._func(fresh(fold.params, equal=False)), fold.params)
        except Exception as error:
            if os.getpid() != self._pid:  # joblib also sends the traceback
                raise
            result: RawResult = {"error": error}
        else:
            result = {"value": value}
        return fold.key, result, time.perf_counter() - start

    def alone(self, fold: Fold) -> Self:
        """Return the evaluator itself, because it works for every point."""
        return self

    def failed(self, fold: Fold, reason: str) -> RawResult:
        """Raise an error, because this method should never be called."""
        raise AssertionError(reason)


def _number(value: Any, params: Mapping[str, Any]) -> float:
    """Check that a function value is a number and return it as a float."""
    try:
        return checked_value(value)
    except ValueError:
        raise ValueError(
            f"The function must return a number. Got {reprlib.repr(value)} with "
            f"{dict(params)}; return a float, or nan for a failed evaluation."
        ) from None


class _Calls:
    """Interface between the optimizer and the evaluation of points."""

    def __init__(
        self,
        optimizer: Optimizer,
        n_iter: int,
        n_at_once: int,
        callback: Callback | None,
        sign: float,
    ) -> None:
        self._optimizer, self._n_left, self._n_at_once = optimizer, n_iter, n_at_once
        self._callback, self._sign, self._is_stopped = callback, sign, False
        self.error: BaseException | None = None
        made = be(n_iter, "was made", "were made")
        self.message = f"{every(n_iter, 'evaluation')} {made}."

    def ask(self) -> Batch | None:
        """Return the next points to evaluate, or None if there are none left."""
        n = 0 if self._is_stopped else min(self._n_at_once, self._n_left)
        points: list[Running] = []
        while len(points) < n:
            try:
                asked = self._optimizer._propose()
            except SpaceExhausted as stop:
                self.message = str(stop)
                break
            points.append(Running(asked, [Fold(asked.number, 0, asked.params, {})]))
        self._n_left -= len(points)
        return Batch(points) if points else None

    def tell(self, batch: Batch) -> None:
        """Pass values to the optimizer and call the callback after each value."""
        for point in batch.over:
            (result,) = point.used
            self._optimizer._record(point.trial, self._sign * result["value"])
            if self._callback is None or self._is_stopped:
                continue
            try:
                self._callback(_result(self._optimizer, self._sign, _UNDER_WAY))
            except StopIteration:
                self._is_stopped, self.message = True, "The callback ended the run."
            except BaseException as error:
                self.stop(error)  # after recording the other points in the batch

    def stop(self, error: BaseException) -> None:
        """End the run because of an exception, and ignore later exceptions."""
        self._is_stopped, self.error = True, self.error or error


def _result(optimizer: Optimizer, sign: float, message: str) -> OptimizeResult:
    history = [record for record in optimizer.history_ if not record["pending"]]
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
