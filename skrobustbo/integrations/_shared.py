"""Helper functions of the integrations, for optional packages and seeds."""

from __future__ import annotations

import importlib
from numbers import Integral
from typing import Any

from skrobustbo._names import missing, wrong

_MOST_SEED = 2**32 - 1


def optional_base(module: str, name: str, package: str, extra: str) -> Any:
    """Return a class of an optional package, or a placeholder if it is missing."""
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
    """Import a module of an optional package, or raise an informative ImportError."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        _check_missing(error, module)
        raise missing(owner, package, extra) from error


def _check_missing(error: ModuleNotFoundError, module: str) -> None:
    """Re-raise an import error unless the package itself is not installed."""
    if str(error.name).partition(".")[0] != module.partition(".")[0]:
        raise error


def checked_seed(seed: Any, owner: str) -> int:
    """Return a seed as an int, or raise ValueError if it is not a valid seed."""
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    if not whole or not 0 <= seed <= _MOST_SEED:
        raise wrong("seed", owner, "an integer from 0 to 2**32 - 1 or None", seed)
    return int(seed)
