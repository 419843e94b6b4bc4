"""Convert nested Ray Tune configs to a flat space and back.

Ray's domains are recognised by their module, name and attributes, without importing
Ray.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import scipy.stats

from skrobustbo.space import (
    Categorical,
    Integer,
    Real,
    Space,
    as_dimension,
    distinct,
    have_order,
)

Params = dict[str, Any]
Path = tuple[str | int, ...]

#: Separates the keys of a path, as in the columns of Ray's tables.
_BETWEEN = "/"


@dataclass(frozen=True)
class RayAxis:
    """A Ray Tune domain and the corresponding dimension of the space.

    Attributes
    ----------
    dimension : object
        The dimension of the space.
    """

    dimension: Any

    def inside(self, value: Any) -> Any:
        """Convert a value of the domain to a value of the dimension."""
        return value

    def outside(self, found: Any) -> Any:
        """Convert a value of the dimension to a value of the domain."""
        return found


@dataclass(frozen=True)
class Choice(RayAxis):
    """A choice among values that is searched by index."""

    values: list[Any]

    @classmethod
    def of(cls, values: list[Any]) -> Choice:
        """Return the axis of a choice, with numbers in ascending order."""
        numbers = have_order(distinct(values))
        codes = Categorical(list(range(len(values))), ordered=numbers)
        return cls(codes, sorted(values) if numbers else values)

    def inside(self, value: Any) -> int:
        """Return the index of a value, preferring an equal value of the same type."""
        equal = [i for i, each in enumerate(self.values) if each == value]
        same = [i for i in equal if type(self.values[i]) is type(value)]
        if not equal:
            raise ValueError(f"Expected one of {self.values!r}, got {value!r}.")
        return (same or equal)[0]

    def outside(self, found: int) -> Any:
        return self.values[found]


@dataclass(frozen=True)
class Multiples(RayAxis):
    """Multiples of q between two bounds, searched by the integer factor."""

    q: Any
    digits: int
    kind: type

    @classmethod
    def of(cls, domain: Any, q: Any, log: bool, kind: type) -> RayAxis:
        """Return the axis of a quantized domain."""
        low = _factor(domain.lower, q, math.ceil)
        high = _factor(domain.upper, q, math.floor)
        # Use decimals as the user wrote them: 3 * 0.1 is 0.3.
        largest = max(abs(low), abs(high), 1) * q
        digits = max(0, 12 - math.floor(math.log10(largest)))
        dimension = _between(Integer, low, high, log)
        return cls(dimension, q, digits, kind)

    def inside(self, value: Any) -> int:
        return round(value / self.q)

    def outside(self, found: int) -> Any:
        return self.kind(round(found * self.q, self.digits))


@dataclass(frozen=True)
class Rounded(RayAxis):
    """An unbounded distribution whose values are rounded to multiples of q."""

    q: Any

    def outside(self, found: Any) -> float:
        return float(round(found / self.q) * self.q)


def _axis(domain: Any) -> RayAxis:
    """Return the axis of a domain, or raise ValueError if it is not supported."""
    name = type(domain).__name__
    if name == "Categorical":
        return Choice.of(list(domain.categories))
    if name not in ("Float", "Integer"):
        raise ValueError("its values are those of a function")
    sampler, q = domain.get_sampler(), None
    if type(sampler).__name__ == "Quantized":
        sampler, q = sampler.get_sampler(), sampler.q
    kind = type(sampler).__name__.strip("_")
    if kind == "Normal":
        law = as_dimension("normal", scipy.stats.norm(sampler.mean, sampler.sd))
        return RayAxis(law) if q is None else Rounded(law, q)
    if kind not in ("Uniform", "LogUniform"):
        raise ValueError(f"its sampler is a {kind}")
    log = kind == "LogUniform"
    if name == "Integer" and q in (None, 1):  # they exclude the upper end
        return RayAxis(_between(Integer, domain.lower, domain.upper - 1, log))
    if q is None:
        return RayAxis(_between(Real, domain.lower, domain.upper, log))
    return Multiples.of(domain, q, log, int if name == "Integer" else float)


def _between(cls: Any, low: Any, high: Any, log: bool) -> Any:
    """Return a range, or a constant if both ends are equal."""
    return Categorical([low]) if low == high else cls(low, high, log=log)


def _factor(bound: float, q: float, inwards: Callable[[float], int]) -> int:
    """Return a bound divided by q, rounded inwards if it is not a multiple of q."""
    factor = bound / q
    nearest = round(factor)
    return nearest if math.isclose(factor, nearest) else inwards(factor)


class RaySpace:
    """A nested Ray Tune config, with its domains converted to a flat space.

    Attributes
    ----------
    space : Space
        The space of all domains. The name of each parameter consists of the keys that
        lead to its domain, joined by slashes.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        self.paths: dict[str, Path] = {}
        self.axes: dict[str, RayAxis] = {}
        for path, domain in _domains(config, ()):
            name = _BETWEEN.join(map(str, path))
            if name in self.paths:
                raise ValueError(
                    f"The space has two parameters {name!r}; rename one of their keys."
                )
            self.paths[name], self.axes[name] = path, _checked_axis(name, domain)
        if not self.axes:
            raise ValueError(
                f"Expected a space with at least one domain of Ray Tune, such as "
                f"tune.uniform(0, 1), got {config!r}; add one."
            )
        self.space = Space({name: axis.dimension for name, axis in self.axes.items()})

    def config_of(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the config for a point in the space, including the constants."""
        config = _copied(self.config)
        for name, axis in self.axes.items():
            *parents, last = self.paths[name]
            place = config
            for key in parents:
                place = place[key]
            place[last] = axis.outside(point[name])
        return config

    def point_of(self, config: Mapping[str, Any]) -> Params:
        """Return the point for a config, or raise ValueError if it is invalid."""
        return {
            name: axis.inside(_found(config, name, self.paths[name]))
            for name, axis in self.axes.items()
        }


def _found(config: Any, name: str, path: Path) -> Any:
    if isinstance(config, Mapping) and name in config:  # already flat
        return config[name]
    try:
        for key in path:
            config = config[key]
    except (LookupError, TypeError):
        raise ValueError(
            f"Expected a config with a value for {name!r}, got {config!r}; give one."
        ) from None
    return config


def _domains(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """Yield each domain of a nested config, with the keys that lead to it."""
    if isinstance(value, Mapping):
        if set(value) == {"grid_search"}:
            yield path, value
            return
        for key, inner in value.items():
            yield from _domains(inner, (*path, key))
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _domains(inner, (*path, i))
    elif _is_domain(value):
        yield path, value


def _is_domain(value: Any) -> bool:
    return any(
        cls.__name__ == "Domain" and str(cls.__module__).startswith("ray.")
        for cls in type(value).__mro__
    )


def _checked_axis(name: str, domain: Any) -> RayAxis:
    if isinstance(domain, Mapping):
        raise ValueError(
            f"Parameter {name!r}: a grid search cannot be combined with a searcher; "
            "write tune.choice."
        )
    try:
        return _axis(domain)
    except ValueError as error:
        raise ValueError(
            f"Parameter {name!r}: {domain!r} cannot be searched, as "
            f"{str(error).removesuffix('.')}; use another domain of Ray Tune."
        ) from None


def _copied(value: Any) -> Any:
    """Copy a nested config, except for its domains."""
    if isinstance(value, Mapping):
        return {key: _copied(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_copied(inner) for inner in value]
    return value if _is_domain(value) else copy.deepcopy(value)
