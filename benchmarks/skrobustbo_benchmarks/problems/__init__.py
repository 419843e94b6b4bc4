"""Test problems with what is known about them, for benchmarks and examples.

Every problem is maximised. A problem is built, and its module imported, only when `get`
asks for it.
"""

from __future__ import annotations

import inspect
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from skrobustbo_benchmarks._names import canonical, unknown_name
from skrobustbo_benchmarks.datasets import available_hpo_tables, available_lcbench_tasks
from skrobustbo_benchmarks.problems._base import Problem, Resource

if TYPE_CHECKING:
    from skrobustbo_benchmarks.problems._mnist import (
        mnist_logistic_distributions,
        mnist_logistic_space,
    )
    from skrobustbo_benchmarks.problems._softmax import SoftmaxRegression

__all__ = [
    "Problem",
    "Resource",
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

#: Module here -> the problems that it builds, each by the function of its name.
_MODULES: dict[str, str] = {
    "_arms": "stocks temperature",
    "_cart_pole": "cart-pole",
    "_changing": "abrupt-change slow-change tv-within-model",
    "_choices": "choices",
    "_gaussian": "rkhs",
    "_many": "many",
    "_mnist": "mnist-logistic",
    "_ordinary": "ordinary",
    "_resources": "learning-curves",
    "_synthetic": "ackley20 ackley5 berkenkamp berkenkamp-trap branin branin-noisy "
    "hartmann6 hartmann6-noisy levy20 levy4 michalewicz5 rosenbrock20 rosenbrock4 "
    "wang-trap",
    "_tables": "agnp autoam crossed-barrel p3ht perovskite",
    "_traps": "trap",
    "_unknown": "unknown-decomposition unknown-mean unknown-period",
}
_MODULE_OF = {
    name: module for module, names in _MODULES.items() for name in names.split()
}

#: Names of the tunings of scikit-learn's estimators, built by ``_tunings.tuning``.
_TUNINGS = (
    *("enet-diabetes", "hgb-diabetes", "knn-cancer", "krr-diabetes", "mlp-wine"),
    *("pipeline-cancer", "rf-cancer", "sgd-digits", "svm-digits", "svr-diabetes"),
    # Rough ones.
    *("knn-diabetes", "knn-digits", "svm-wine", "tree-diabetes", "tree-digits"),
    "trees-wine",
)

#: What the names of hyperparameter tables begin with.
_TABLES = ("hpobench-", "hpolib-")
#: What the names of the tasks of LCBench begin with.
_CURVES = "lcbench-"


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _attribute(_LAZY[name], name)


def available() -> list[str]:
    """Return the names that `get` knows, in alphabetical order.

    Of the tables ``"hpobench-..."`` and ``"hpolib-..."``, only those that need no
    download (`datasets.available_hpo_tables`) are listed; `get` knows all of them. The
    same applies to ``"lcbench-..."``, which also need onnxruntime. All other problems
    are listed, even if their data have to be downloaded first.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from skrobustbo_benchmarks import problems
    >>> "branin" in problems.available()
    True
    """
    tables = available_hpo_tables()
    return sorted([*_MODULE_OF, *_TUNINGS, *tables, *_available_curves()])


def get(name: str, **settings: Any) -> Problem:
    """Return a problem by name.

    Parameters
    ----------
    name : str
        A name from `available`, a table of `datasets.fetch_hpo_table`, or
        ``"lcbench-"`` and a task of `datasets.fetch_lcbench`; `_` and `-` are the same.
    **settings
        Settings of the problem, if it has any: ``n_train`` and ``n_epochs``
        of ``"mnist-logistic"``, ``seed`` of ``"rkhs"``, ``seed`` and ``hill`` of
        ``"unknown-mean"``, ``seed``, ``epsilon`` and ``n_grid`` of
        ``"tv-within-model"``, ``d``, ``share``, ``kind``, ``seed`` and ``hidden`` of
        ``"trap"``, ``function``, ``d``, ``relevant`` and ``seed`` of ``"many"``,
        ``family``, ``d`` and ``seed`` of ``"ordinary"``, ``n_choices``, ``k``,
        ``n_numbers`` and ``seed`` of ``"choices"``, ``d``, ``kind``, ``threshold`` and
        ``seed`` of ``"learning-curves"``,
        ``data_home`` of problems based on a data set, ``changing`` and ``raw`` of
        ``"stocks"``, ``first_day`` of ``"temperature"``.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If there is no such problem or setting; the message lists the existing ones.
    FileNotFoundError
        If the data of the problem are not on disk and cannot be downloaded.

    Examples
    --------
    >>> from skrobustbo_benchmarks import problems
    >>> problem = problems.get("berkenkamp")
    >>> round(problem.optimum, 4)
    0.7452
    >>> problem.func({"x": 1.0}) < problem.stuck_below
    True
    >>> problems.get("tv-within-model", epsilon=0.05, n_grid=15).space.size
    225
    """
    known_as = canonical(name)
    factory = _factory(known_as)
    if factory is None:
        raise unknown_name("name of a problem", name, available())
    known = list(inspect.signature(factory).parameters)
    for setting in settings:
        if not known:
            raise ValueError(
                f"The problem {known_as!r} has no settings. Got {setting!r}; leave it "
                "out."
            )
        if setting not in known:
            raise unknown_name(f"setting of the problem {known_as!r}", setting, known)
    problem: Problem = factory(**settings)
    return problem


def _available_curves() -> list[str]:
    """Return the names of the tasks of LCBench if they can be had at once."""
    if find_spec("onnxruntime") is None:
        return []
    return [f"{_CURVES}{task}" for task in available_lcbench_tasks()]


def _factory(name: str) -> Any:
    """Return the function that builds a problem, None if there is none."""
    if name in _MODULE_OF:
        return _attribute(_MODULE_OF[name], name.replace("-", "_"))
    if name in _TUNINGS:
        return partial(_attribute("_tunings", "tuning"), name)
    if name.startswith(_TABLES):
        return partial(_attribute("_tables", "hpo_table"), name)
    if name.startswith(_CURVES):
        return partial(_attribute("_lcbench", "lcbench"), name)
    return None


def _attribute(module: str, name: str) -> Any:
    return getattr(import_module(f"{__name__}.{module}"), name)
