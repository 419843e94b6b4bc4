"""Settings of a search, including the `Racing` and `Resource` classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator

from skrobustbo._arguments import LARGEST_COUNT
from skrobustbo._sklearn_compat import (
    BaseSearchCV,
    Interval,
    StrOptions,
    clone_parametrized,
    nested_params,
)
from skrobustbo.evaluation import ScheduleName
from skrobustbo.optimizer import Optimizer
from skrobustbo.policies import Policy
from skrobustbo.space import Space

Params = dict[str, Any]
Constraints = dict[str, Any]
#: The arguments to `fit`, by name.
Data = Mapping[str, Any]


class Racing(BaseEstimator):
    """Settings for racing, which stops poor candidates early.

    Pass an instance to `RobustBayesSearchCV` as `racing`. It is validated by `fit`.

    Parameters
    ----------
    delta : float, default=0.05
        Upper bound on the probability that racing stops a candidate that is better than
        the best one by more than `margin`. The bound covers the whole search, under the
        models that the policy considers plausible.
    margin : float, default=0.25
        Margin, in standard errors of a mean score. The standard error excludes effects
        that make a fold easier or harder for all candidates.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skrobustbo import Racing, Real, RobustBayesSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> space = {"C": Real(1e-3, 1e3, log=True), "gamma": Real(1e-5, 10, log=True)}
    >>> search = RobustBayesSearchCV(
    ...     SVC(), space, n_iter=16, racing=Racing(delta=0.2), random_state=0
    ... )
    >>> bool(search.fit(X, y).cv_results_["raced"].any())
    True
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 - as sklearn's
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "margin": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, delta: float = 0.05, margin: float = 0.25) -> None:
        self.delta = delta
        self.margin = margin


class Resource(BaseEstimator):
    """Settings for a resource that is limited in the first evaluations.

    Pass an instance to `RobustBayesSearchCV` as `resource`. It is validated by `fit`.

    Parameters
    ----------
    name : str
        "n_samples", or an integer parameter of the estimator such as "n_estimators" or
        "max_iter".
    min : int, default=None
        The smallest amount. The default is a ninth of the full amount (with
        ``factor=3``). For "n_samples", it is at least 20 rows per class.
    max : int, default=None
        The full amount. The default is all rows, or the current value of the parameter.
        Required if `get_params` of the estimator does not list the parameter.
    factor : int, default=3
        Ratio of each amount to the next smaller amount.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> from skrobustbo import Real, Resource, RobustBayesSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> space, rows = {"C": Real(1e-3, 1e3, log=True)}, Resource("n_samples", min=50)
    >>> search = RobustBayesSearchCV(SVC(), space, n_iter=4, resource=rows)
    >>> search.set_params(random_state=0).fit(X, y).n_resources_
    [50, 150]
    """

    _parameter_constraints: Constraints = {  # noqa: RUF012 - as sklearn's
        "name": [str],
        "min": [Interval(Integral, 1, LARGEST_COUNT, closed="both"), None],
        "max": [Interval(Integral, 1, LARGEST_COUNT, closed="both"), None],
        "factor": [Interval(Integral, 2, LARGEST_COUNT, closed="both")],
    }

    def __init__(
        self, name: str, min: int | None = None, max: int | None = None, factor: int = 3
    ) -> None:
        self.name = name
        self.min = min
        self.max = max
        self.factor = factor


class Search(BaseSearchCV):
    """Base class of `RobustBayesSearchCV` that contains its settings."""

    optimizer_: Optimizer
    stop_reason_: str

    _parameter_constraints: Constraints = {  # noqa: RUF012 - as sklearn's
        **BaseSearchCV._parameter_constraints,
        "param_space": [Mapping, list, Space, StrOptions({"suggested"})],
        "n_iter": [Interval(Integral, 1, LARGEST_COUNT, closed="both")],
        "policy": [str, Policy],
        "n_initial_points": [Interval(Integral, 1, None, closed="left"), None],
        "initial_params": [list, tuple, None],
        "include_default": ["boolean"],
        "previous": "no_validation",  # reading it gives better error messages
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "schedule": [StrOptions(set(get_args(ScheduleName)))],
        "racing": ["boolean", StrOptions({"confident"}), Racing, None],
        "resource": [str, Resource, None],
        "constraints": [callable, None],
        "search_metric": [str, None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "fit_timeout": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="left"), StrOptions({"noise"}), None],
        "checkpoint": [str, os.PathLike, None],
        "retry_failed": ["boolean"],
        "honest_score": ["boolean", StrOptions({"folds"})],
        "on_trial": [callable, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        param_space: (
            Mapping[str, Any]
            | Sequence[Mapping[str, Any]]
            | Space
            | Literal["suggested"]
        ),
        *,
        n_iter: int = 50,
        policy: str | Policy = "robust",
        n_initial_points: int | None = None,
        initial_params: Sequence[Mapping[str, Any]] | None = None,
        include_default: bool = True,
        previous: Any = None,
        batch_size: int = 1,
        schedule: ScheduleName = "rounds",
        racing: bool | Literal["confident"] | Racing | None = None,
        resource: str | Resource | None = None,
        constraints: Callable[[Params], bool] | None = None,
        search_metric: str | None = None,
        max_time: float | None = None,
        fit_timeout: float | None = None,
        tol: float | Literal["noise"] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: float | Literal["raise"] = np.nan,
        return_train_score: bool = False,
        retry_failed: bool = False,
        honest_score: bool | Literal["folds"] = False,
        on_trial: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.param_space = param_space
        self.n_iter = n_iter
        self.policy = policy
        self.n_initial_points = n_initial_points
        self.initial_params = initial_params
        self.include_default = include_default
        self.previous = previous
        self.batch_size = batch_size
        self.schedule = schedule
        self.racing = racing
        self.resource = resource
        self.constraints = constraints
        self.search_metric = search_metric
        self.max_time = max_time
        self.fit_timeout = fit_timeout
        self.tol = tol
        self.checkpoint = checkpoint
        self.retry_failed = retry_failed
        self.honest_score = honest_score
        self.on_trial = on_trial
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> Params:
        """Return the settings of the search and, optionally, of nested estimators.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the settings of `estimator`. The settings of `previous`
            are never included.

        Returns
        -------
        params : dict
        """
        found: Params = super().get_params(deep=False)
        return found | (nested_params({**found, "previous": None}) if deep else {})

    def __sklearn_clone__(self) -> Any:
        bare = copy(self)
        bare.previous = None
        cloned = clone_parametrized(bare)
        # A clone of a fitted search would not be fitted.
        cloned.previous = self.previous
        return cloned

    def _validate_params(self) -> None:
        super()._validate_params()
        for given in (racing_of(self), resource_of(self)):
            if given is not None:
                given._validate_params()


def racing_of(search: Search) -> Racing | None:
    if not search.racing:
        return None
    return search.racing if isinstance(search.racing, Racing) else Racing()


def resource_of(search: Search) -> Resource | None:
    name = search.resource
    return Resource(name) if isinstance(name, str) else name


# Python's own errors name the function by this.
Search.__init__.__qualname__ = "RobustBayesSearchCV.__init__"
