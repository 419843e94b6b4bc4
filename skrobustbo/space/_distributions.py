"""Frozen scipy distributions as dimensions: cdf encodes, ppf decodes."""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import Any

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from skrobustbo.space._dimensions import (
    MAX_SWEEP,
    MIN_GAP,
    Continuous,
    Dimension,
    Integer,
    Listed,
    Rows,
    checked_number,
)
from skrobustbo.space._values import from_json, plain, to_json

#: An unbounded law is searched between these quantiles.
_TAIL = 0.001
_MAX_SUPPORT = 100_000


def is_frozen(value: Any) -> bool:
    """Return whether a value is a frozen scipy.stats distribution."""
    return all(hasattr(value, name) for name in ("dist", "cdf", "ppf", "support"))


def from_frozen(frozen: Any) -> Dimension:
    """Return the dimension of a frozen scipy.stats distribution."""
    if not isinstance(frozen.dist, scipy.stats.rv_discrete):
        return _Continuous(frozen)
    law = _Discrete(frozen)
    if isinstance(frozen.dist, type(scipy.stats.randint)) and law.low < law.high:
        return Integer(int(law.low), int(law.high))
    law.check_size()
    return law


class _Frozen(Dimension):
    """What the continuous and the discrete laws share: range, text, JSON."""

    def __init__(self, frozen: Any) -> None:
        self.frozen = frozen
        if np.ndim(frozen.support()) > 1:
            raise ValueError(
                f"the distribution {self!r} is an array of distributions; give it one "
                "number for each of its parameters"
            )
        low, high = (float(end) for end in frozen.support())
        # A bounded end is kept, an unbounded one is clipped.
        self.low = low if math.isfinite(low) else float(frozen.ppf(_TAIL))
        self.high = high if math.isfinite(high) else float(frozen.ppf(1 - _TAIL))
        if not self.low <= self.high or not math.isfinite(self.high - self.low):
            raise ValueError(
                f"the distribution {self!r} has no finite range of values; check its "
                "parameters"
            )

    def __repr__(self) -> str:
        args = [repr(plain(arg)) for arg in self.frozen.args]
        kwds = [f"{key}={plain(value)!r}" for key, value in self.frozen.kwds.items()]
        return f"{self.frozen.dist.name}({', '.join(args + kwds)})"

    def __eq__(self, other: object) -> bool:
        return (
            type(self) is type(other)
            and type(self.frozen.dist) is type(other.frozen.dist)
            and repr(self) == repr(other)
        )

    def __hash__(self) -> int:
        return hash(repr(self))

    def to_dict(self) -> dict[str, Any]:
        name = self.frozen.dist.name
        if type(getattr(scipy.stats, name, None)) is not type(self.frozen.dist):
            raise TypeError(
                f"Expected a distribution of scipy.stats to write as JSON, got "
                f"{self!r}; pass the space again when the state is read back."
            )
        kwds = {key: to_json(value) for key, value in self.frozen.kwds.items()}
        args = [to_json(arg) for arg in self.frozen.args]
        return {"type": "frozen", "name": name, "args": args, "kwds": kwds}


class _Continuous(_Frozen, Continuous):
    """A continuous law: distances are differences of its distribution function."""

    def __init__(self, frozen: Any) -> None:
        super().__init__(frozen)
        if self.low == self.high or self._bits == 0:
            raise ValueError(
                f"the distribution {self!r} cannot be searched, as its quantile and "
                "distribution functions are not inverse to each other; use Real"
            )

    @property
    def steps(self) -> float:
        return 2.0**self._bits

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return float(self.frozen.cdf(self.low)), float(self.frozen.cdf(self.high))

    @cached_property
    def _bits(self) -> int:
        """Bits of the finest grid on which cdf inverts ppf with room to spare."""
        for bits in (32, 28, 24, 20, 16, 12):
            # Laws with a pole at an end lose their inverse there, and only there.
            ends = 2.0 ** -np.arange(1, bits + 1)
            u = np.concatenate([np.linspace(0, 1, 513), ends, 1 - ends])
            u = np.rint(u * 2.0**bits) / 2.0**bits
            with warnings.catch_warnings():
                # Where scipy warns of a bad quantile, the grid is found unfit.
                warnings.simplefilter("ignore", RuntimeWarning)
                error = np.abs(self._unit(self._values(u)) - u)
            if np.all(error < 2.0 ** -(bits + 3)):
                return bits
        return 0

    def _unit(self, values: Any) -> Rows:
        low, high = self._ends
        unit: Rows = np.clip((self.frozen.cdf(values) - low) / (high - low), 0.0, 1.0)
        return unit

    def _values(self, u: Rows) -> NDArray[np.float64]:
        low, high = self._ends
        inner = np.clip(self.frozen.ppf(low + u * (high - low)), self.low, self.high)
        return np.where(u == 0, self.low, np.where(u == 1, self.high, inner))

    def encode(self, value: Any) -> Rows:
        value = checked_number(value, self.low, self.high)
        return self.snap(self._unit(np.array([float(value)])))

    def decode(self, rows: Rows) -> list[float]:
        return self._values(rows[:, 0]).tolist()  # type: ignore[no-any-return]


class _Discrete(_Frozen, Listed):
    """A law on the integers: values lie at the middle of their share of probability."""

    def __init__(self, frozen: Any) -> None:
        super().__init__(frozen)
        drawn = getattr(frozen.dist, "xk", 0)
        if not self.low.is_integer() or np.any(drawn != np.rint(drawn)):
            raise ValueError(
                f"the distribution {self!r} draws other values than whole numbers; "
                "use a list"
            )

    def check_size(self) -> None:
        """Raise ValueError if the values are too many to be listed."""
        if self.high - self.low >= _MAX_SUPPORT:
            raise ValueError(
                f"the distribution {self!r} has more than {_MAX_SUPPORT} values; use "
                "Integer"
            )

    @cached_property
    def _support(self) -> NDArray[np.float64]:
        values = np.arange(self.low, self.high + 1)
        # Values without probability would share one place with their neighbour.
        return values[np.asarray(self.frozen.pmf(values)) > 0]

    @cached_property
    def _table(self) -> Rows:
        share = np.asarray(self.frozen.pmf(self._support), dtype=float)
        # Values of next to no probability have a place of their own, too.
        share = np.maximum(share, MIN_GAP * share.sum())
        middle = np.cumsum(share) - share / 2
        span = middle[-1] - middle[0]
        levels: Rows = (
            (middle - middle[0]) / span if span > 0 else np.zeros_like(middle)
        )
        return levels[:, None][:, : self.n_columns]

    @property
    def n_columns(self) -> int:
        """No column for a constant."""
        return 1 if len(self._support) > 1 else 0

    @property
    def climbable(self) -> bool:
        """Whether there are too many values to sweep one by one."""
        return self.size > MAX_SWEEP

    @property
    def size(self) -> float:
        return len(self._support)

    def encode(self, value: Any) -> Rows:
        value = float(checked_number(value, self.low, self.high))
        found = np.flatnonzero(self._support == value)
        if len(found) == 0:
            raise ValueError(f"expected a whole number that {self!r} can draw")
        return np.array(self._table[found[0]])

    def _indices(self, rows: Rows) -> NDArray[np.intp]:
        return self._nearest(rows)

    def decode(self, rows: Rows) -> list[int]:
        return [int(value) for value in self._support[self._indices(rows)]]

    def from_uniform(self, u: Rows) -> Rows:
        share = np.asarray(self.frozen.pmf(self._support), dtype=float)
        index = np.searchsorted(np.cumsum(share) / share.sum(), u, side="right")
        rows: Rows = self._table[np.minimum(index, len(self._support) - 1)]
        return rows


def from_dict(state: dict[str, Any]) -> Dimension:
    """Return the law that `to_dict` wrote, by its name in scipy.stats alone."""
    law = getattr(scipy.stats, str(state["name"]), None)
    if not isinstance(law, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
        raise ValueError(
            f"Expected the name of a scipy.stats distribution, got {state['name']!r}."
        )
    args = [from_json(arg) for arg in state["args"]]
    kwds = {key: from_json(value) for key, value in state["kwds"].items()}
    return from_frozen(law(*args, **kwds))
