"""What all peers have in common: the initial design, failed values, silence."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from skrobustbo.benchmarks._methods import Method, Setup

Params = dict[str, Any]


class PeerMethod(Method):
    """An optimiser of another package.

    It is told the values of the run's initial design, and its own starts after that.
    A failed evaluation is told as the worst value so far; before there is one, it is
    not told. A point may be proposed again where the peer sees fit.

    Parameters
    ----------
    name : str
        Name of the peer.
    setup : Setup
        The run.
    """

    def __init__(self, name: str, setup: Setup):
        self._name = name
        self._setup = setup
        self._n_told = 0
        self._worst = math.inf

    def ask(self) -> Params:
        """Return the next point of the initial design, then of the peer."""
        if self._is_initial(self._n_told):
            return self._setup.initial[self._n_told]
        with _silence():
            return self.propose()

    def tell(self, params: Params, value: float) -> None:
        """Tell the peer, or the worst value so far in place of a failure."""
        self._n_told += 1
        if math.isfinite(value):
            self._worst = min(self._worst, value)
        if self._worst < math.inf:
            with _silence():
                self.learn(params, value if math.isfinite(value) else self._worst)

    @property
    def label(self) -> str:
        """Either "initial" or the peer's name."""
        return "initial" if self._is_initial(self._n_told - 1) else self._name

    def _is_initial(self, index: int) -> bool:
        return index < len(self._setup.initial)

    @abstractmethod
    def propose(self) -> Params:
        """Return the peer's next point."""

    @abstractmethod
    def learn(self, params: Params, value: float) -> None:
        """Tell the peer a finite value, which it maximises."""


@contextmanager
def _silence() -> Iterator[None]:
    """Drop warnings: what a peer deprecates or repeats is no concern of the user's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
