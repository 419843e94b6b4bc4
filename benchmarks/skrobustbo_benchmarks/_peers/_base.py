"""What all peers have in common: the initial design, failed values, silence, axes.

The axes are a space in terms that all share: floats, integers and choices by number.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from skrobustbo.space import Categorical, Real, Space
from skrobustbo_benchmarks._methods import Method, Params, Setup


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


@dataclass(frozen=True)
class Axis:
    """One parameter that varies.

    Parameters
    ----------
    name : str
        Name of the parameter.
    kind : {"real", "integer", "choice"}
        Ordered choices are integers, 0 for the first; unordered ones are "choice".
    low, high : float
        Ends of the range, both included.
    log : bool, default=False
        Whether distances are measured on a log scale.
    categories : Categorical, default=None
        The choices that the numbers stand for.
    """

    name: str
    kind: Literal["real", "integer", "choice"]
    low: float
    high: float
    log: bool = False
    categories: Categorical | None = None

    @property
    def numbers(self) -> list[int]:
        """All values of an axis of choices, as numbers."""
        return list(range(int(self.low), int(self.high) + 1))

    def to_number(self, value: Any) -> float | int:
        """Return what stands for a value."""
        if self.categories is not None:
            return self.categories.index(value)
        return float(value) if self.kind == "real" else int(value)

    def to_value(self, number: Any) -> Any:
        """Return the value that a number stands for, within the range."""
        if self.kind == "real":  # peers return the ends of log ranges a rounding off
            return min(max(float(number), self.low), self.high)
        value = int(number)
        return value if self.categories is None else self.categories.choices[value]


class Axes:
    """The axes of a space without its constants, which no peer is shown."""

    def __init__(self, space: Space):
        self._axes = [_axis(name, space) for name in space.names]
        self.varying = [axis for axis in self._axes if axis.low < axis.high]
        self._constants = {
            axis.name: axis.to_value(axis.low)
            for axis in self._axes
            if axis.low == axis.high
        }

    def to_numbers(self, params: Mapping[str, Any]) -> dict[str, float | int]:
        """Return the numbers of a params dict, by name."""
        return {axis.name: axis.to_number(params[axis.name]) for axis in self.varying}

    def to_params(self, numbers: Mapping[str, Any]) -> Params:
        """Return the params dict of numbers by name, constants included."""
        values = {axis.name: axis.to_value(numbers[axis.name]) for axis in self.varying}
        return self._in_order(self._constants | values)

    def from_list(self, numbers: Iterable[Any]) -> Params:
        """Return the params dict of numbers in the order of `varying`."""
        names = [axis.name for axis in self.varying]
        return self.to_params(dict(zip(names, numbers, strict=True)))

    def _in_order(self, values: Mapping[str, Any]) -> Params:
        return {axis.name: values[axis.name] for axis in self._axes}


def _axis(name: str, space: Space) -> Axis:
    dimension: Any = space.dimensions[name]
    if isinstance(dimension, Categorical):
        top = len(dimension.choices) - 1
        kind: Any = "integer" if dimension.ordered else "choice"
        return Axis(name, kind, 0, top, categories=dimension)
    kind = "real" if isinstance(dimension, Real) else "integer"
    return Axis(name, kind, dimension.low, dimension.high, log=dimension.log)
