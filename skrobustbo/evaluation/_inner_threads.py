"""Limit the number of threads that each fold uses."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from joblib import cpu_count
from sklearn.base import clone

from skrobustbo._sklearn_compat import has_params

#: Parameters that set the number of threads or jobs of an estimator.
_NAMES = ("n_jobs", "nthread", "nthreads", "num_thread", "num_threads", "thread_count")
#: Packages that use every core by default, and the parameter that limits them.
_EAGER = {"catboost": "thread_count", "lightgbm": "n_jobs", "xgboost": "n_jobs"}


def limit_of(backend: Any) -> int:
    """Return the backend's number of threads per fold, which is one by default.

    Raises
    ------
    ValueError
        If the backend's setting is not a positive integer.
    """
    n_threads = getattr(backend, "inner_max_num_threads", None)
    if n_threads is None:
        return 1
    if not isinstance(n_threads, Integral) or n_threads < 1:
        raise ValueError(
            "The 'inner_max_num_threads' of joblib.parallel_config must be an integer "
            f"of at least 1. Got {n_threads!r}; pass the number of threads of a fold."
        )
    return int(n_threads)


def held(estimator: Any, n_threads: int) -> Any:
    """Return a clone of an estimator that uses at most `n_threads` threads."""
    own = clone(estimator)
    names = _beyond(own, n_threads)
    return own.set_params(**dict.fromkeys(names, n_threads)) if names else own


def held_params(
    estimator: Any, params: Mapping[str, Any], n_threads: int
) -> Mapping[str, Any]:
    """Return a candidate's params, and limit the threads of estimators in them.

    Thread settings that the candidate contains stay unchanged.
    """
    # Lists such as the steps of a pipeline also contain estimators.
    if not any(has_params(v) or isinstance(v, list | tuple) for v in params.values()):
        return params
    whole = clone(estimator).set_params(**clone(dict(params), safe=False))
    names = _beyond(whole, n_threads).keys() - params.keys()
    return {**params, **dict.fromkeys(sorted(names), n_threads)}


def warn_of_idle_cores(
    estimator: Any, n_threads: int, n_workers: int, owner: str
) -> None:
    """Warn if the thread limit prevents an estimator from using idle cores."""
    wants = {k: v for k, v in _beyond(estimator, n_threads).items() if v is not None}
    if not wants or n_workers >= cpu_count():
        return
    given = ", ".join(f"{name}={value}" for name, value in wants.items())
    number = f"{n_threads} thread{'s' * (n_threads > 1)}"
    warnings.warn(
        f"{owner} fits each fold with {number}, whatever its 'n_jobs', so it does not "
        f"use {given} of {type(estimator).__name__} before the refit; to use more "
        f"cores, set 'n_jobs' of {owner}, or allow more threads in a fold with "
        "joblib.parallel_config('loky', inner_max_num_threads=...).",
        stacklevel=7,
    )


def _beyond(estimator: Any, n_threads: int) -> dict[str, Any]:
    """Return the parameters with which an estimator exceeds `n_threads` threads.

    Parameters of nested estimators are included. A value of None means that the
    parameter is not set. By scikit-learn's convention, ``n_jobs=None`` means one job;
    for other parameters, the default depends on the library.
    """
    params = estimator.get_params()
    parts = {f"{name}__": part for name, part in params.items() if has_params(part)}
    found = {}
    for prefix, part in {"": estimator, **parts}.items():
        eager = _eager_name(part)
        for name in _NAMES:
            value = params.get(prefix + name)
            if value is None:
                is_beyond = name == eager or (
                    name != "n_jobs" and prefix + name in params
                )
            else:
                is_beyond = isinstance(value, Integral) and not (
                    1 <= int(value) <= n_threads
                )
            if is_beyond:
                found[prefix + name] = value
    return found


def _eager_name(estimator: Any) -> str | None:
    """Return the thread parameter of an estimator that uses all cores by default."""
    roots = (str(cls.__module__).partition(".")[0] for cls in type(estimator).__mro__)
    name = next((_EAGER[root] for root in roots if root in _EAGER), None)
    if name is None or name in estimator.get_params(deep=False):
        return name
    return name if name in inspect.signature(type(estimator)).parameters else None
