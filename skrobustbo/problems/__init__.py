"""Test problems with what is known about them, for benchmarks and examples.

Every problem is maximised. A problem is built, and its module imported, only when `get`
asks for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from skrobustbo._names import canonical, unknown_name
from skrobustbo.problems._base import Problem

if TYPE_CHECKING:
    from skrobustbo.problems._mnist import (
        mnist_logistic_distributions,
        mnist_logistic_space,
    )
    from skrobustbo.problems._softmax import SoftmaxRegression

__all__ = [
    "Problem",
    "SoftmaxRegression",
    "available",
    "get",
    "mnist_logistic_distributions",
    "mnist_logistic_space",
]

#: Public name -> module here that is imported when the name is first used.
_LAZY: dict[str, str] = {
    "SoftmaxRegression": "_softmax",
    "mnist_logistic_distributions": "_mnist",
    "mnist_logistic_space": "_mnist",
}

#: Name of a problem -> module here and the function in it that builds the problem.
_FACTORIES: dict[str, tuple[str, str]] = {
    "abrupt-change": ("_changing", "abrupt_change"),
    "berkenkamp": ("_synthetic", "berkenkamp"),
    "berkenkamp-trap": ("_synthetic", "berkenkamp_trap"),
    "branin": ("_synthetic", "branin"),
    "hartmann6": ("_synthetic", "hartmann6"),
    "michalewicz5": ("_synthetic", "michalewicz5"),
    "mnist-logistic": ("_mnist", "mnist_logistic"),
    "rkhs": ("_rkhs", "rkhs"),
    "slow-change": ("_changing", "slow_change"),
    "tv-within-model": ("_changing", "tv_within_model"),
    "unknown-decomposition": ("_unknown", "unknown_decomposition"),
    "unknown-mean": ("_unknown", "unknown_mean"),
    "unknown-period": ("_unknown", "unknown_period"),
    "wang-trap": ("_synthetic", "wang_trap"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)


def available() -> list[str]:
    """Return the names that `get` knows, in alphabetical order.

    Examples
    --------
    >>> from skrobustbo import problems
    >>> "branin" in problems.available()
    True
    """
    return sorted(_FACTORIES)


def get(name: str, **settings: Any) -> Problem:
    """Return a problem by name.

    Parameters
    ----------
    name : str
        One of `available`; `_` and `-` are the same.
    **settings
        Settings of the problem, for those that have some: ``n_train`` and ``n_epochs``
        of ``"mnist-logistic"``, ``seed`` of ``"rkhs"``, ``seed`` and ``hill`` of
        ``"unknown-mean"``, ``seed``, ``epsilon`` and ``n_grid`` of
        ``"tv-within-model"``.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If there is no such problem or setting; the message lists those that there are.

    Examples
    --------
    >>> from skrobustbo import problems
    >>> problem = problems.get("berkenkamp")
    >>> round(problem.optimum, 4)
    0.7452
    >>> problem.func({"x": 1.0}) < problem.stuck_below
    True
    >>> problems.get("tv-within-model", epsilon=0.05, n_grid=15).space.size
    225
    """
    try:
        module, function = _FACTORIES[canonical(name)]
    except KeyError:
        raise unknown_name("name of a problem", name, available()) from None
    factory = getattr(import_module(f"{__name__}.{module}"), function)
    _check_settings(canonical(name), factory, settings)
    problem: Problem = factory(**settings)
    return problem


def _check_settings(
    name: str, factory: Callable[..., Problem], settings: dict[str, Any]
) -> None:
    known = list(inspect.signature(factory).parameters)
    for setting in settings:
        if not known:
            raise ValueError(
                f"The problem {name!r} has no settings. Got {setting!r}; leave it out."
            )
        if setting not in known:
            raise unknown_name(f"setting of the problem {name!r}", setting, known)
