"""No autologging while folds are fitted: MLflow would log each as a result of its own.

MLflow has one switch for the whole process. Where two threads fit folds, the one that
ends first must not turn it on again for the other, so it is counted how many are under
way.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from threading import Lock
from typing import Any


class _Switch:
    """How many need autologging off, and what turns it on again.

    Attributes
    ----------
    n : int
        How many.
    off : ExitStack
        Closed by the last of them.
    lock : Lock
        Held while any of this changes.
    """

    def __init__(self) -> None:
        self.n = 0
        self.off = ExitStack()
        self.renew_lock()

    def renew_lock(self) -> None:
        """Take a lock that nobody has: in a forked child, who had it is not there."""
        self.lock = Lock()

    def turn_off(self, mlflow: Any) -> None:
        """Turn autologging off, unless it is: MLflow's own switch does not nest."""
        with self.lock:
            if not self.n and not getattr(
                mlflow, "_AUTOLOGGING_GLOBALLY_DISABLED", False
            ):
                self.off.enter_context(
                    getattr(mlflow, "disable_autologging", nullcontext)()
                )
            self.n += 1

    def give_back(self) -> None:
        """Turn autologging on again if nobody else needs it off."""
        with self.lock:
            self.n -= 1
            if not self.n:
                self.off.close()


_switch = _Switch()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_switch.renew_lock)


@contextmanager
def no_autologging() -> Iterator[None]:
    """Run the body without MLflow's autologging, where this process uses MLflow."""
    mlflow = sys.modules.get("mlflow.utils.autologging_utils")
    if mlflow is None:
        yield
        return
    _switch.turn_off(mlflow)
    try:
        yield
    finally:
        _switch.give_back()
