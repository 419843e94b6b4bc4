"""Distributions as dimensions, encoded by the cdf and decoded by the ppf.

The dimensions wrap frozen scipy distributions. Other distributions are converted to
this form. Newer scipy objects have the same functions under different names. A
distribution that can only be sampled is replaced by the distribution of its samples.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from copy import deepcopy
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.stats
from numpy.typing import NDArray

from skrobustbo._names import shown
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
from skrobustbo.space._values import (
    distinct,
    from_json,
    have_order,
    is_finite,
    is_listing,
    plain,
    same,
    to_json,
)

#: An unbounded law is restricted to the range between these quantiles.
_TAIL = 0.001
_MAX_SUPPORT = 100_000
#: Number of samples of a law that can only be sampled.
_DRAWS = 2048
#: If samples have at most this many distinct values, these are all possible values.
_MOST_VALUES = 100
#: Otherwise, the law is uniform between neighbours among this many quantiles.
_QUANTILES = 129
#: Longer lists are shown as digests.
_FEW = 10


def is_frozen(value: Any) -> bool:
    """Return whether a value is a frozen scipy.stats distribution."""
    functions = (getattr(value, name, None) for name in ("cdf", "ppf", "support"))
    return hasattr(value, "dist") and all(map(callable, functions))


def is_law(value: Any) -> bool:
    """Return whether a value is a distribution, but not a frozen scipy one."""
    if is_frozen(value) or is_listing(value):
        return False
    return any(callable(getattr(value, name, None)) for name in ("rvs", "ppf", "icdf"))


def as_frozen(law: Any) -> Any:
    """Convert a distribution to a frozen scipy.stats distribution.

    A distribution with few values becomes a list of these values if they are not all
    numbers of the same type.
    """
    generic = isinstance(law, scipy.stats.rv_continuous | scipy.stats.rv_discrete)
    # scipy's named distributions accept at least a location and a scale.
    whole = generic and not law.numargs
    whole = whole and getattr(scipy.stats, str(law.name), None) is not law
    if isinstance(law, type) or (generic and not whole):
        name = getattr(law, "__name__", None) or law.name
        raise ValueError(
            f"expected a frozen distribution, got {name} without its parameters; call "
            "it with its parameters"
        )
    if generic:
        return law()
    modules = (cls.__module__ for cls in type(law).__mro__)
    if hasattr(law, "icdf") and any(name.startswith("scipy.") for name in modules):
        return _renamed(law)
    return _law_of(_drawn(law), law)


def _renamed(law: Any) -> Any:
    # Copies and pickles of scipy 1.17's Normal are standard normal, for any mean.
    if type(law).__name__ in ("Normal", "StandardNormal"):
        return scipy.stats.norm(*vars(law).get("_original_parameters", {}).values())
    text = " ".join(str(law).split())
    if str(deepcopy(law)) != str(law) or "StandardNormal(mu" in text:
        raise ValueError(
            f"expected a distribution that can be copied, got {text}; use a frozen "
            "one such as scipy.stats.norm(0, 1), or Real"
        )
    return _Renamed(law)


class _Renamed:
    """Adapter that gives a newer scipy distribution the methods of a frozen one."""

    args: tuple[Any, ...] = ()
    kwds: ClassVar[dict[str, Any]] = {}

    def __init__(self, law: Any) -> None:
        self.dist, self.support = law, law.support
        self.cdf, self.ppf, self.pmf = law.cdf, law.icdf, getattr(law, "pmf", None)


def _drawn(law: Any) -> list[Any]:
    """Return fixed samples from a distribution, or its quantiles if available."""

    def draws(n: int) -> list[Any]:
        generator = np.random.RandomState(0)
        return [plain(law.rvs(random_state=generator)) for _ in range(n)]

    try:
        quantile = getattr(law, "ppf", getattr(law, "icdf", None))
        if quantile is not None:
            return [plain(quantile((i + 0.5) / _DRAWS)) for i in range(_DRAWS)]
        found, again = draws(_DRAWS), draws(_FEW)
    except Exception as error:
        raise ValueError(
            f"expected a distribution with rvs(random_state=...), got {shown(law)}, "
            f"which raised {error!r}; use Real, Integer or a list"
        ) from None
    if not same(found[:_FEW], again):
        raise ValueError(
            "expected a distribution whose rvs depends on random_state alone, got "
            f"{shown(law)}; use Real, Integer or a list"
        )
    return found


def _law_of(drawn: list[Any], law: Any) -> Any:
    """Return the distribution of the samples, or their values if unordered."""
    values = distinct(drawn)
    kinds = {type(value) for value in values}
    if len(values) <= _MOST_VALUES:
        if not have_order(values) or len(kinds) > 1:
            return values
        return _weighted(*np.unique(drawn, return_counts=True))
    if not all(map(is_finite, values)):
        raise ValueError(
            f"expected a distribution of finite numbers, or of at most {_MOST_VALUES} "
            f"other values, got {shown(law)}; use Real, Integer or a list"
        )
    at = np.linspace(0, 1, _QUANTILES)
    ends = np.quantile(np.array(drawn, dtype=float), at, method="inverted_cdf")
    ends, counts = np.unique(ends, return_counts=True)
    low, high = int(ends[0]), int(ends[-1])
    many = high - low >= _MAX_SUPPORT
    if many and kinds == {int}:
        raise _too_many(law)
    if many or not all(float(value).is_integer() for value in values):
        counts[1] += counts[0] - 1
        return scipy.stats.rv_histogram((counts[1:], ends), density=False)()
    below = np.cumsum([0, *counts]) / counts.sum()
    places = np.arange(low - 1, high + 1)
    shares = np.diff(np.interp(places, [low - 1, *ends], below))
    return _weighted(places[1:].astype(int if kinds == {int} else float), shares)


def _weighted(values: Any, weights: Any) -> Any:
    return scipy.stats.rv_discrete(values=(values, weights / weights.sum()))()


def _too_many(law: Any) -> ValueError:
    return ValueError(
        f"the distribution {shown(law)} has more than {_MAX_SUPPORT} values; use "
        "Integer"
    )


def from_frozen(frozen: Any) -> Dimension:
    """Convert a frozen scipy.stats distribution to a dimension."""
    kinds = {kind.__name__ for kind in type(frozen.dist).__mro__}
    if not kinds & {"rv_discrete", "DiscreteDistribution"}:
        return _Continuous(frozen)
    law = _Discrete(frozen)
    if isinstance(frozen.dist, type(scipy.stats.randint)) and law.low < law.high:
        return Integer(int(law.low), int(law.high))
    law.check_size()
    return law


class _Frozen(Dimension):
    """Common base class of continuous and discrete distributions."""

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
        dist = self.frozen.dist
        if isinstance(self.frozen, _Renamed):
            return " ".join(str(dist).split())
        args = [repr(plain(arg)) for arg in self.frozen.args]
        kwds = [f"{key}={plain(value)!r}" for key, value in self.frozen.kwds.items()]
        name = dist.name
        if hasattr(dist, "xk"):
            name = "rv_discrete"
            args.insert(0, f"values=({_listed(dist.xk)}, {_listed(dist.pk)})")
        elif isinstance(dist, scipy.stats.rv_histogram):
            name = "rv_histogram"
            args.insert(0, _listed(dist.ppf(np.linspace(0, 1, _QUANTILES))))
        return f"{name}({', '.join(args + kwds)})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other) or repr(self) != repr(other):
            return False
        renamed = isinstance(self.frozen, _Renamed)  # of its own class
        return renamed or type(self.frozen.dist) is type(other.frozen.dist)

    def __hash__(self) -> int:
        return hash(repr(self))

    def to_dict(self) -> dict[str, Any]:
        dist, values = self.frozen.dist, {}
        name = getattr(dist, "name", "")
        if type(dist).__name__ == "rv_sample":
            name = "rv_discrete"
            values = {"values": [dist.xk.tolist(), dist.pk.tolist()]}
        elif type(getattr(scipy.stats, name, None)) is not type(dist):
            raise TypeError(
                f"Expected a distribution of scipy.stats to write as JSON, got "
                f"{self!r}; pass the space again when the state is read back."
            )
        kwds = {key: to_json(value) for key, value in self.frozen.kwds.items()}
        args = [to_json(arg) for arg in self.frozen.args]
        return {"type": "frozen", "name": name, "args": args, "kwds": kwds, **values}


def _listed(values: NDArray[Any]) -> str:
    """Format numbers as text, or as a digest if there are many."""
    if len(values) <= _FEW:
        return repr(values.tolist())
    text = " ".join(f"{value:.9g}" for value in values.tolist())
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return f"<{len(values)} numbers, digest {digest}>"


class _Continuous(_Frozen, Continuous):
    """Continuous distribution, with distances measured by differences of the cdf."""

    def __init__(self, frozen: Any) -> None:
        super().__init__(frozen)
        if self.low == self.high or self._bits == 0:
            raise ValueError(
                f"the distribution {self!r} cannot be searched, because its quantile "
                "function does not invert its distribution function; use Real"
            )

    @property
    def steps(self) -> float:
        return 2.0**self._bits

    @cached_property
    def _ends(self) -> tuple[float, float]:
        return float(self.frozen.cdf(self.low)), float(self.frozen.cdf(self.high))

    @cached_property
    def _bits(self) -> int:
        """Bits of the finest grid on which the cdf reliably inverts the ppf."""
        for bits in (32, 28, 24, 20, 16, 12):
            # For laws with a pole at an end, the inverse fails only there.
            ends = 2.0 ** -np.arange(1, bits + 1)
            u = np.concatenate([np.linspace(0, 1, 513), ends, 1 - ends])
            u = np.rint(u * 2.0**bits) / 2.0**bits
            with warnings.catch_warnings():
                # If scipy warns of a bad quantile, the grid is unsuitable.
                warnings.simplefilter("ignore", RuntimeWarning)
                error = np.abs(self._unit(self._values(u)) - u)
            if np.all(error < 2.0 ** -(bits + 3)):
                return bits
        return 0

    def _unit(self, values: Any) -> Rows:
        low, high = self._ends
        return np.clip((self.frozen.cdf(values) - low) / (high - low), 0.0, 1.0)

    def _values(self, u: Rows) -> NDArray[np.float64]:
        low, high = self._ends
        inner = np.clip(self.frozen.ppf(low + u * (high - low)), self.low, self.high)
        return np.where(u == 0, self.low, np.where(u == 1, self.high, inner))

    def encode(self, value: Any) -> Rows:
        value = checked_number(value, self.low, self.high)
        return self.snap(self._unit(np.array([float(value)])))

    def decode(self, rows: Rows) -> list[float]:
        return self._values(rows[:, 0]).tolist()


class _Discrete(_Frozen, Listed):
    """Discrete distribution that encodes each value by the middle of its cdf step."""

    def __init__(self, frozen: Any) -> None:
        super().__init__(frozen)
        if not hasattr(frozen.dist, "xk") and not self.low.is_integer():
            raise ValueError(
                f"the distribution {self!r} has values that are not whole numbers; "
                "use a list"
            )

    def check_size(self) -> None:
        """Raise a ValueError if there are too many values to list."""
        listed = hasattr(self.frozen.dist, "xk")
        n = len(self.frozen.dist.xk) if listed else self.high - self.low + 1
        if n > _MAX_SUPPORT:
            raise _too_many(self)

    @cached_property
    def _shares(self) -> tuple[NDArray[np.float64], Rows]:
        """The values with positive probability, and their probabilities."""
        dist = self.frozen.dist
        if hasattr(dist, "xk"):
            share = np.asarray(dist.pk, dtype=float)
            drawn = self.frozen.ppf(np.cumsum(share) - share / 2)
            values, at = np.unique(drawn[share > 0], return_inverse=True)
            return values, np.bincount(at, share[share > 0]).astype(float)
        values = np.arange(self.low, self.high + 1)
        # A value without probability would share its neighbour's position.
        values = values[np.asarray(self.frozen.pmf(values)) > 0]
        return values, np.asarray(self.frozen.pmf(values), dtype=float)

    @property
    def _support(self) -> NDArray[np.float64]:
        return self._shares[0]

    @cached_property
    def _kind(self) -> type[int] | type[float]:
        """Type of the values: int if all values are whole and not given as floats."""
        listed = np.asarray(getattr(self.frozen.dist, "xk", 0))
        whole = np.all(self._support == np.rint(self._support))
        return int if whole and listed.dtype.kind in "iu" else float

    @cached_property
    def _table(self) -> Rows:
        share = self._shares[1]
        # Values of tiny probability also have a position of their own.
        share = np.maximum(share, MIN_GAP * share.sum())
        middle = np.cumsum(share) - share / 2
        span = middle[-1] - middle[0]
        levels: Rows = (middle - middle[0]) / (span or 1.0)
        return levels[:, None][:, : self.n_columns]

    @property
    def n_columns(self) -> int:
        return 1 if len(self._support) > 1 else 0

    @property
    def climbable(self) -> bool:
        return self.size > MAX_SWEEP

    @property
    def size(self) -> float:
        return len(self._support)

    def encode(self, value: Any) -> Rows:
        value = float(checked_number(value, self.low, self.high))
        found = np.flatnonzero(self._support == value)
        if len(found) == 0:
            kind = "whole number" if self._kind is int else "number"
            raise ValueError(f"expected a {kind} that {self!r} can draw")
        return np.array(self._table[found[0]])

    def _indices(self, rows: Rows) -> NDArray[np.intp]:
        return self._nearest(rows)

    def decode(self, rows: Rows) -> list[float]:
        return [self._kind(value) for value in self._support[self._indices(rows)]]

    def from_uniform(self, u: Rows) -> Rows:
        share = self._shares[1]
        index = np.searchsorted(np.cumsum(share) / share.sum(), u, side="right")
        return self._table[np.minimum(index, len(self._support) - 1)]


def from_dict(state: dict[str, Any]) -> Dimension:
    """Restore a distribution from the output of `to_dict`."""
    law = getattr(scipy.stats, str(state["name"]), None)
    if law is scipy.stats.rv_discrete and "values" in state:
        law = law(values=state["values"])
    if not isinstance(law, scipy.stats.rv_continuous | scipy.stats.rv_discrete):
        raise ValueError(
            f"Expected the name of a scipy.stats distribution, got {state['name']!r}."
        )
    args = [from_json(arg) for arg in state["args"]]
    kwds = {key: from_json(value) for key, value in state["kwds"].items()}
    return from_frozen(law(*args, **kwds))
