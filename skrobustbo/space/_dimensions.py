"""The values of one parameter and their encoding in the unit cube.

Every dimension maps a value to one row of encoded columns and back. The mapping is
exact for feasible points: ``decode(encode(value)) == value`` for every value that
decoding can return. Rounding errors make this impossible for arbitrary floats, so a
continuous range is represented by a fine grid (of 2**32 steps if double precision
allows).
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrobustbo._arguments import checked_flag
from skrobustbo._names import shown, wrong
from skrobustbo.space._values import (
    distinct,
    from_json,
    is_finite,
    is_listing,
    is_number,
    key_of,
    plain,
    same,
    to_json,
)

Rows = NDArray[np.float64]

#: Grid steps of a continuous range: no search resolves steps as small as 2 ** -32.
_MAX_BITS = 32
#: Up to this many ordered values are swept one by one; longer ranges are climbed by
#: gradient.
MAX_SWEEP = 64
#: Minimum distance between distinct values of one parameter.
MIN_GAP = 2.0**-40
_MAX_INTEGER = 2**40


class Dimension(ABC):
    """Base class of all dimensions of a `Space`."""

    @property
    def n_columns(self) -> int:
        """Number of columns of the parameter in an encoded point."""
        return 1

    @property
    def climbable(self) -> bool:
        """Whether the column can be optimised by gradient ascent and then rounded."""
        return False

    @property
    def nominal(self) -> bool:
        """Whether the column contains codes of unordered choices."""
        return False

    @property
    @abstractmethod
    def size(self) -> float:
        """Number of feasible values (`inf` for a continuous range)."""

    @abstractmethod
    def encode(self, value: Any) -> Rows:
        """Encode a value as a row of shape (n_columns,), or raise ValueError."""

    def contains(self, value: Any) -> bool:
        """Return whether a value is valid for the parameter."""
        try:
            self.encode(value)
        except ValueError:
            return False
        return True

    def own(self, value: Any) -> Any:
        """Convert a value to the parameter's type, or raise ValueError if invalid."""
        return self.decode(self.encode(value)[None, :])[0]

    def has(self, value: Any) -> bool:
        """Return whether a value is valid and has the parameter's type."""
        return self.contains(value) and same(self.own(value), value)

    @abstractmethod
    def decode(self, rows: Rows) -> list[Any]:
        """Return the values of feasible rows, shape (n, n_columns)."""

    @abstractmethod
    def snap(self, rows: Rows) -> Rows:
        """Round each of `rows`, shape (n, n_columns), to the nearest feasible row."""

    @abstractmethod
    def from_uniform(self, u: Rows) -> Rows:
        """Convert uniform draws, shape (n,), to rows, shape (n, n_columns)."""

    @abstractmethod
    def table(self) -> Rows:
        """Return all feasible rows of a finite dimension, shape (size, n_columns)."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the dimension as a dict of JSON types."""

    def value_to_json(self, value: Any) -> Any:
        """Convert a value of the dimension to JSON types."""
        return to_json(value)

    def value_from_json(self, value: Any) -> Any:
        """Restore a value from the output of `value_to_json`."""
        return from_json(value)


@dataclass(frozen=True, repr=False)
class _Range:
    """Common base class of `Real` and `Integer`."""

    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    hard: bool | str = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        cls = type(self).__name__
        low = self._bound("low", plain(self.low))
        high = self._bound("high", plain(self.high))
        log = checked_flag("log", self.log, cls)
        checked: dict[str, Any] = {"low": low, "high": high, "log": log}
        if self.hard not in ("low", "high"):
            if not isinstance(self.hard, bool | np.bool_):
                raise wrong("hard", cls, "True, False, 'low' or 'high'", self.hard)
            checked["hard"] = bool(self.hard)
        if not low < high:
            raise ValueError(
                f"{cls}({low!r}, {high!r}) is empty: 'low' must be below 'high'; swap "
                f"the two, or write [{low!r}] for a constant."
            )
        if log and low <= 0:
            raise ValueError(
                f"{cls}({low!r}, {high!r}, log=True) has no logarithm at its lower "
                "end: 'low' must be positive on a log scale; raise it or drop log=True."
            )
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _bound(self, name: str, value: Any) -> float:
        """Return an end of the range as a number, or raise ValueError if invalid."""
        if not is_finite(value):
            raise wrong(name, type(self).__name__, "a finite number", value)
        return float(value)

    def __repr__(self) -> str:
        hard = f", hard={self.hard!r}" if self.hard else ""
        ends = f"low={self.low!r}, high={self.high!r}, log={self.log!r}"
        return f"{type(self).__name__}({ends}{hard})"

    def to_dict(self) -> dict[str, Any]:
        """Return the range as a dict of JSON types."""
        found = {name: getattr(self, name) for name in ("low", "high", "log")}
        hard = {"hard": self.hard} if self.hard else {}
        return {"type": type(self).__name__, **found, **hard}


def on_grid(u: ArrayLike, steps: float | Rows) -> Rows:
    """Round `u` to multiples of 1 / `steps` in [0, 1]."""
    inside: Rows = np.minimum(np.maximum(u, 0.0), 1.0)
    return np.rint(inside * steps) / steps + 0.0


class Continuous(Dimension):
    """A range of floats, represented by a fine grid on the unit interval."""

    @property
    @abstractmethod
    def steps(self) -> float:
        """Number of grid steps, which is a power of two."""

    @property
    def climbable(self) -> bool:
        return True

    @property
    def size(self) -> float:
        return math.inf

    def own(self, value: Any) -> float:
        self.encode(value)
        return float(plain(value))  # exact, even off the grid

    def snap(self, rows: Rows) -> Rows:
        return on_grid(rows, self.steps)

    def from_uniform(self, u: Rows) -> Rows:
        return on_grid(u, self.steps)[:, None]

    def table(self) -> Rows:
        raise TypeError("a continuous range has no table")


class Listed(Dimension):
    """A finite set of values, each with a row in a table."""

    @cached_property
    @abstractmethod
    def _table(self) -> Rows:
        """All encoded rows, shape (size, n_columns)."""

    @abstractmethod
    def _indices(self, rows: Rows) -> NDArray[np.intp]:
        """Return the positions of the values nearest to `rows`."""

    def _nearest(self, rows: Rows) -> NDArray[np.intp]:
        """Return the positions of the nearest values in an ascending table."""
        if self.n_columns == 0:
            return np.zeros(len(rows), dtype=np.intp)
        edges = (self._table[1:, 0] + self._table[:-1, 0]) / 2
        return np.searchsorted(edges, rows[:, 0])

    def snap(self, rows: Rows) -> Rows:
        return self._table[self._indices(rows)]

    def table(self) -> Rows:
        return self._table


def checked_number(value: Any, low: float, high: float) -> float | int:
    """Return a value as a plain number, or raise ValueError if it is out of range."""
    value = plain(value)
    if not is_number(value) or not low <= value <= high:
        raise ValueError(f"expected a number in [{low}, {high}]")
    return value


@dataclass(frozen=True, repr=False)
class Real(_Range, Continuous):
    """A continuous range of floats.

    Parameters
    ----------
    low, high : float
        Ends of the range, both included, in units of the parameter.
    log : bool, default=False
        Whether to measure distances on a log scale. If True, `low` must be positive.
    hard : bool or {"low", "high"}, default=False
        Which end is a natural limit of the parameter, beyond which values make no
        sense. True means both ends. The search ignores this setting, but the report
        does not suggest widening the range there.

    Raises
    ------
    ValueError
        If the bounds are not finite, not in order, not positive on a log scale, or so
        close that double precision cannot distinguish values between them.

    Examples
    --------
    >>> from skrobustbo import Real
    >>> C = Real(1e-3, 1e3, log=True)
    >>> C.encode(1.0)
    array([0.5])
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._bits < 1:
            raise ValueError(
                f"Real({self.low!r}, {self.high!r}) holds too few floats to search: "
                "widen the range or shift the parameter's origin."
            )

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = self.low, self.high
        return (math.log(low), math.log(high)) if self.log else (low, high)

    @cached_property
    def _bits(self) -> int:
        """Number of bits of the grid, whose steps must far exceed rounding errors."""
        low, high = self._ends
        scale = max(abs(low), abs(high))
        error = math.ulp(scale)
        if self.log:
            error = max(error, sys.float_info.epsilon, math.ulp(self.low) / self.low)
        # Both are divided by the scale, because their difference may exceed all floats.
        ratio = (high / scale - low / scale) / (error / scale)
        return min(_MAX_BITS, int(math.log2(ratio)) - 4) if ratio > 0 else 0

    @property
    def steps(self) -> float:
        # Not cached: a search must not change its parameters.
        return 2.0**self._bits

    def encode(self, value: Any) -> Rows:
        value = checked_number(value, self.low, self.high)
        low, high = self._ends
        t = math.log(value) if self.log else value
        # Halves keep the difference finite if the range spans all floats.
        return on_grid([(t / 2 - low / 2) / (high / 2 - low / 2)], self.steps)

    def decode(self, rows: Rows) -> list[float]:
        u = rows[:, 0]
        low, high = self._ends
        t = low * (1 - u) + high * u
        values = np.clip(np.exp(t) if self.log else t, self.low, self.high)
        # exp(log(low)) may differ from the user's bound by rounding.
        values = np.where(u == 0, self.low, np.where(u == 1, self.high, values))
        return values.tolist()


@dataclass(frozen=True, repr=False)
class Integer(_Range, Dimension):
    """A range of integers.

    Parameters
    ----------
    low, high : int
        Ends of the range, **both included**.
    log : bool, default=False
        Whether to measure distances on a log scale. If True, `low` must be positive.
    hard : bool or {"low", "high"}, default=False
        Which end is a natural limit of the parameter, beyond which values make no
        sense. True means both ends. The search ignores this setting, but the report
        does not suggest widening the range there.

    Raises
    ------
    ValueError
        If the bounds are not integers, not in order, or not positive on a log scale.

    Examples
    --------
    >>> from skrobustbo import Integer
    >>> Integer(1, 5).table().ravel()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    low: int
    high: int

    def _bound(self, name: str, value: Any) -> int:
        super()._bound(name, value)
        if value != int(value) or abs(value) > _MAX_INTEGER:
            known = "a whole number of at most 2**40 in size"
            raise wrong(name, "Integer", known, value, "use Real for anything else")
        return int(value)

    @property
    def size(self) -> float:
        return self.high - self.low + 1

    @property
    def climbable(self) -> bool:
        return self.size > MAX_SWEEP

    @cached_property
    def _logs(self) -> tuple[float, float]:
        # NumPy's logarithm, whose last digit may differ from Python's.
        low, high = np.log([float(self.low), float(self.high)])
        return float(low), float(high)

    def _unit(self, values: NDArray[np.float64]) -> Rows:
        if self.log:
            low, high = self._logs
            unit: Rows = (np.log(values) - low) / (high - low)
        else:
            unit = (values - self.low) / (self.high - self.low)
        # Never -0.0: points are compared by their bytes.
        return np.clip(unit, 0.0, 1.0) + 0.0

    def _values(self, u: Rows) -> NDArray[np.float64]:
        if self.log:
            low, high = self._logs
            t = np.exp(low * (1 - u) + high * u)
            below = np.floor(t)
            # On the log scale, the geometric mean separates two neighbours.
            nearest = np.where(t > np.sqrt(below * (below + 1)), below + 1, below)
        else:
            nearest = np.rint(self.low + (self.high - self.low) * u)
        return np.clip(nearest, self.low, self.high)

    def encode(self, value: Any) -> Rows:
        value = plain(value)
        inside = is_number(value) and self.low <= value <= self.high
        if not inside or value != int(value):
            raise ValueError(f"expected a whole number in [{self.low}, {self.high}]")
        return self._unit(np.array([float(value)]))

    def decode(self, rows: Rows) -> list[int]:
        return [int(value) for value in self._values(rows[:, 0])]

    def snap(self, rows: Rows) -> Rows:
        return self._unit(self._values(np.clip(rows, 0.0, 1.0)))

    def from_uniform(self, u: Rows) -> Rows:
        # Half a step beyond each end, so that the ends are drawn as often as other
        # values.
        low, high = self.low - 0.5, self.high + 0.5
        if self.log:
            t = np.exp(math.log(low) * (1 - u) + math.log(high) * u)
        else:
            t = low + (high - low) * u
        return self._unit(np.clip(np.rint(t), self.low, self.high))[:, None]

    def table(self) -> Rows:
        return self._unit(np.arange(self.low, self.high + 1, dtype=float))[:, None]


# Choices ------------------------------------------------------------------------------


#: Up to this many unordered choices have a column each; a longer list shares one column
#: of codes.
MAX_ONE_HOT = 100
#: Maximum number of choices shown in a message.
_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Listed):
    """A choice among given values.

    Parameters
    ----------
    choices : sequence
        The possible values, which must be distinct. A value may be any object. Types
        matter: 1, 1.0 and True are three different choices.
    ordered : bool, default=False
        Whether the order of `choices` is meaningful. Ordered choices are evenly spaced
        along one axis; unordered choices are all at the same distance (1) from each
        other.

    Raises
    ------
    ValueError
        If `choices` is empty, not a sequence, or contains a value twice.

    Examples
    --------
    >>> from skrobustbo import Categorical
    >>> Categorical(["small", "medium", "large"], ordered=True).encode("medium")
    array([0.5])
    """

    choices: Sequence[Any]
    ordered: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        ordered = checked_flag("ordered", self.ordered, "Categorical")
        object.__setattr__(self, "ordered", ordered)
        if not is_listing(self.choices):
            remedy = "write a list, also for a single value"
            known = "a list of values"
            raise wrong("choices", "Categorical", known, self.choices, remedy)
        choices = tuple(plain(choice) for choice in self.choices)
        if not choices:
            raise ValueError(
                "The 'choices' of Categorical must hold at least one value. Got an "
                "empty sequence instead; add a value or drop the parameter."
            )
        object.__setattr__(self, "choices", choices)
        once = distinct(choices)
        if len(once) < len(choices):
            pairs = zip(choices, [*once, object()], strict=False)
            twice = next(a for a, b in pairs if not same(a, b))
            raise ValueError(
                f"The 'choices' of Categorical must differ. Got {shown(twice)} twice; "
                "drop one of the two."
            )

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and self.ordered == other.ordered
            and same(self.choices, other.choices)
        )

    def __repr__(self) -> str:
        return f"Categorical(choices={shown(self.choices)}, ordered={self.ordered})"

    def __hash__(self) -> int:
        return hash((type(self), len(self.choices), self.ordered))

    @property
    def n_columns(self) -> int:
        """Number of columns: 0 for a constant, 1 for an axis, or 1 per choice."""
        k = len(self.choices)
        one_hot = 2 < k <= MAX_ONE_HOT and not self.ordered
        return k if one_hot else min(k - 1, 1)

    @property
    def nominal(self) -> bool:
        return len(self.choices) > MAX_ONE_HOT and not self.ordered

    @cached_property
    def _table(self) -> Rows:
        k = len(self.choices)
        if self.nominal:
            return np.arange(1, k + 1)[:, None] / k  # 0 is the code of no choice
        if self.n_columns > 1:
            return np.eye(k) * math.sqrt(0.5)  # so that any two rows are at distance 1
        return np.linspace(0.0, 1.0, k)[:, None][:, : self.n_columns]

    @cached_property
    def _lookup(self) -> dict[Hashable, list[int]]:
        lookup: dict[Hashable, list[int]] = {}
        for i, choice in enumerate(self.choices):
            lookup.setdefault(key_of(choice), []).append(i)
        return lookup

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(choice): i for i, choice in enumerate(self.choices)}

    def __getstate__(self) -> dict[str, Any]:
        # Hashes of strings and identities differ between processes.
        kept = vars(self).items()
        return {k: v for k, v in kept if k not in ("_lookup", "_places")}

    def index(self, value: Any) -> int:
        """Return the index of a value in `choices`, or raise ValueError if missing.

        A choice of the same type has priority. Otherwise, a number matches an equal
        choice of another type if there is exactly one such choice.
        """
        place = self._places.get(id(value))
        if place is not None:  # an object may have changed in the meantime
            return place
        equal = self._lookup.get(key_of(value), [])
        for i in equal:
            if same(self.choices[i], value):
                return i
        alike = [i for i in equal if same(self.choices[i], value, typed=False)]
        if len(alike) == 1:
            return alike[0]
        if alike:
            texts = " or ".join(shown(self.choices[i]) for i in alike)
            raise ValueError(f"expected {texts}, which differ in type only")
        texts = ", ".join(map(shown, self.choices[:_SHOWN]))
        more = ", ..." if len(self.choices) > _SHOWN else ""
        raise ValueError(f"expected one of [{texts}{more}]")

    @property
    def size(self) -> float:
        return len(self.choices)

    def encode(self, value: Any) -> Rows:
        return np.array(self._table[self.index(value)])

    def _indices(self, rows: Rows) -> NDArray[np.intp]:
        if self.n_columns == 0:
            return np.zeros(len(rows), dtype=np.intp)
        if self.n_columns > 1:
            return np.argmax(rows, axis=1)
        if self.nominal:
            codes = np.rint(rows[:, 0] * len(self.choices))
            return np.clip(codes.astype(np.intp) - 1, 0, len(self.choices) - 1)
        top = len(self.choices) - 1
        return np.rint(np.clip(rows[:, 0], 0.0, 1.0) * top).astype(np.intp)

    def decode(self, rows: Rows) -> list[Any]:
        return [self.choices[i] for i in self._indices(rows)]

    def from_uniform(self, u: Rows) -> Rows:
        k = len(self.choices)
        return self._table[np.minimum((u * k).astype(np.intp), k - 1)]

    def value_to_json(self, value: Any) -> int:
        return self.index(value)

    def value_from_json(self, value: Any) -> Any:
        return self.choices[int(value)]

    def to_dict(self) -> dict[str, Any]:
        choices = [to_json(choice) for choice in self.choices]
        return {"type": "Categorical", "choices": choices, "ordered": self.ordered}
