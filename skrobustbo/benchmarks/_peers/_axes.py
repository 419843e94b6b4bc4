"""A space in the terms that all peers share: floats, integers and choices by number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from skrobustbo.space import Categorical, Real, Space

Params = dict[str, Any]


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
