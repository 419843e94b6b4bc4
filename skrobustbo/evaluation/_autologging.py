"""Turn off MLflow's autologging while folds are fitted.

Otherwise, MLflow would log each fit as a separate result. MLflow has one switch for the
whole process. If two threads fit folds, the first to finish must not turn autologging
on again for the other, so we count the running threads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from threading import Lock
from typing import Any


class _Switch:
    """Count of the threads that need autologging off.

    Attributes
    ----------
    n : int
        The number of these threads.
    off : ExitStack
        Turns autologging on again; the last thread closes it.
    lock : Lock
        Held while any of this changes.
    """

    def __init__(self) -> None:
        self.n = 0
        self.off = ExitStack()
        self.renew_lock()

    def renew_lock(self) -> None:
        """Replace the lock: in a forked child, nobody can release the old one."""
        self.lock = Lock()

    def turn_off(self, mlflow: Any) -> None:
        """Turn autologging off if it is on, because MLflow's switch does not nest."""
        with self.lock:
            if not self.n and not getattr(
                mlflow, "_AUTOLOGGING_GLOBALLY_DISABLED", False
            ):
                self.off.enter_context(
                    getattr(mlflow, "disable_autologging", nullcontext)()
                )
            self.n += 1

    def give_back(self) -> None:
        """Turn autologging on again if no other thread needs it off."""
        with self.lock:
            self.n -= 1
            if not self.n:
                self.off.close()


_switch = _Switch()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_switch.renew_lock)


@contextmanager
def no_autologging() -> Iterator[None]:
    """Run the body without MLflow's autologging, if this process uses MLflow."""
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    if mlflow is None:
        yield
        return
    _switch.turn_off(mlflow)
    try:
        yield
    finally:
        _switch.give_back()
