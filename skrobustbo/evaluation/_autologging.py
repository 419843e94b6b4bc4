"""Turn off MLflow's autologging while folds are fitted.

Otherwise, MLflow would log each fit as a separate run. Autologging is switched on or
off for the whole process. When one thread finishes, it must stay off for the other
threads, so the threads are counted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
)
from threading import Lock
from typing import Any


class _Switch:
    """Turns autologging off while any thread needs it to be off.

    Attributes
    ----------
    n : int
        Number of threads that need autologging to be off.
    off : ExitStack
        Turns autologging on again when it is closed.
    lock : Lock
        Protects the other attributes.
    """

    def __init__(self) -> None:
        self.n = 0
        self.off = ExitStack()
        self.renew_lock()

    def renew_lock(self) -> None:
        """Create a new lock, because the old one may stay locked in a forked child."""
        self.lock = Lock()

    @contextmanager
    def turned_off(self, mlflow: Any) -> Iterator[None]:
        """Turn autologging off in a context, unless it is already off."""
        with self.lock:
            if not self.n and not getattr(
                mlflow, "_AUTOLOGGING_GLOBALLY_DISABLED", False
            ):
                self.off.enter_context(
                    getattr(mlflow, "disable_autologging", nullcontext)()
                )
            self.n += 1
        try:
            yield
        finally:
            with self.lock:
                self.n -= 1
                if not self.n:
                    self.off.close()


_switch = _Switch()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_switch.renew_lock)


def no_autologging() -> AbstractContextManager[None]:
    """Return a context manager that turns MLflow's autologging off."""
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    return nullcontext() if mlflow is None else _switch.turned_off(mlflow)
