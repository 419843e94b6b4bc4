"""Parts common to the integrations: optional packages and seeds."""

from __future__ import annotations

import importlib
from numbers import Integral
from typing import Any

from skrobustbo._names import missing, wrong

_MOST_SEED = 2**32 - 1


def optional_base(module: str, name: str, package: str, extra: str) -> Any:
    """Return an optional package's class, or one that says what to install."""
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        _check_missing(error, module)

    class Missing:
        """Placeholder for a class from a package that is not installed."""

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            raise missing(cls.__name__, package, extra)

    return Missing


def optional_module(module: str, owner: str, package: str, extra: str) -> Any:
    """Return an optional package's module; ImportError if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        _check_missing(error, module)
        raise missing(owner, package, extra) from error


def _check_missing(error: ModuleNotFoundError, module: str) -> None:
    """Reraise the error unless it says that the package itself is missing."""
    if str(error.name).partition(".")[0] != module.partition(".")[0]:
        raise error


def checked_seed(seed: Any, owner: str) -> int:
    """Return a seed unchanged; ValueError unless it is an integer in range."""
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    if not whole or not 0 <= seed <= _MOST_SEED:
        raise wrong("seed", owner, "an integer from 0 to 2**32 - 1 or None", seed)
    return int(seed)
