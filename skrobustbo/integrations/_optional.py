"""Base classes of packages that may not be installed."""

from __future__ import annotations

import importlib
from typing import Any


def optional_base(module: str, name: str, package: str, extra: str) -> Any:
    """Return a class of an optional package, or one that says what to install.

    Parameters
    ----------
    module, name : str
        Where the class is.
    package, extra : str
        The package's name for users, and the extra that installs it.
    """
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != module.partition(".")[0]:
            raise
    return _placeholder(package, extra)


def _placeholder(package: str, extra: str) -> type:
    class Missing:
        """Stands for a class of a package that is not installed."""

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            raise ImportError(
                f"{cls.__name__} needs {package}, which is not installed; run pip "
                f'install "skrobustbo[{extra}]".'
            )

    return Missing
