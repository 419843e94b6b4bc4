"""Scales of the axes: positions, limits and ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._text import short_values
from skrobustbo.space import Categorical, distinct, is_number

Array = NDArray[np.float64]

#: Up to this many numbers placed by value get their own ticks.
_FEW = 12
#: Largest logarithm that fits on an axis.
_MOST = 700.0
#: Values above this leave no room for margins.
_HUGE = 1e300


@dataclass(frozen=True)
class Scale:
    """Scale of an axis that shows a parameter or values.

    Attributes
    ----------
    name : str
        Full name of the parameter.
    short : str
        Label of the axis.
    kind : {"linear", "log", "category"}
    low, high : float
        Limits of the axis; ignored for categories, which have integer positions.
    choices : tuple
        The choices, in order.
    labels : tuple of str
        Unique labels for the choices.
    whole : bool
        Whether the values are whole numbers.
    """

    name: str
    short: str
    kind: str = "linear"
    low: float = 0.0
    high: float = 1.0
    choices: tuple[Any, ...] = ()
    labels: tuple[str, ...] = ()
    whole: bool = False
    index: Any = field(default=None, repr=False, compare=False)

    def position(self, params: Mapping[str, Any]) -> float:
        """Return the position of a point, or nan if it lacks the parameter."""
        if self.name not in params:
            return math.nan
        value = params[self.name]
        if self.kind != "category":
            return float(value)
        try:
            return float(self.index(value))
        except ValueError:  # a number never tried has no position
            return math.nan

    def text(self, params: Mapping[str, Any]) -> str:
        """Return the value of a point as text, with three digits for a number."""
        at = self.position(params)
        if self.kind == "category":
            return self.labels[int(at)]
        return number_label(float(f"{at:.3g}"))

    def positions(self, points: Iterable[Mapping[str, Any]]) -> Array:
        """Return the positions of several points as an array."""
        return np.array([self.position(params) for params in points], dtype=float)

    def unit(self, positions: Any) -> Array:
        """Return positions as fractions of the axis, from 0 to 1."""
        low, high = self._evenly(self.limits)
        # Halving the ends keeps their difference finite.
        return (self._evenly(positions) / 2 - low / 2) / (high / 2 - low / 2)

    @property
    def longest(self) -> int:
        """Length of the longest category, or 0 if there are no categories."""
        return max(map(len, self.labels), default=0)

    def _evenly(self, positions: Any) -> Array:
        """Return positions transformed to a linear scale."""
        at = np.asarray(positions, dtype=float)
        return np.log(at) if self.kind == "log" else at

    @property
    def limits(self) -> tuple[float, float]:
        """Limits of the axis, with room for dots at both ends."""
        if self.kind == "category":
            return -0.5, len(self.labels) - 0.5
        low, high = padded(*map(float, self._evenly([self.low, self.high])))
        if self.kind == "log":
            return math.exp(max(low, -_MOST)), math.exp(min(high, _MOST))
        return low, high

    def ticks(self, most: int) -> tuple[list[float], list[str]]:
        """Return up to about `most` ticks and their labels."""
        if self.kind == "category":
            step = max(1, math.ceil(len(self.labels) / most))
            places = range(0, len(self.labels), step)
            return [float(i) for i in places], [self.labels[i] for i in places]
        if self.kind == "log" and self.high >= 10 * self.low:
            at = log_ticks(self.low, self.high, most)
        else:
            at = linear_ticks(self.low, self.high, most, self.whole)
        return at, [number_label(tick) for tick in at]


def scale_of(name: str, short: str, dimension: Any) -> Scale:
    choice = isinstance(dimension, Categorical)
    if choice and not _placed_by_value(dimension):
        return _categories(name, short, dimension)
    low, middle, high = dimension.decode(np.array([[0.0], [0.5], [1.0]]))
    log = not choice and _is_log(dimension, low, middle, high)
    whole = all(isinstance(value, int) for value in (low, middle, high))
    kind = "log" if log else "linear"
    return Scale(name, short, kind, float(low), float(high), whole=whole)


def pooled(
    name: str,
    short: str,
    dimensions: Sequence[Any],
    points: Iterable[Mapping[str, Any]] = (),
) -> Scale:
    """Return a common scale for a parameter that differs between branches.

    The scale covers the ranges or the choices of all branches. If the values are
    numbers in one branch and categories in another, all of them are drawn as
    categories.
    """
    first, *others = dimensions
    if all(other == first for other in others):
        return scale_of(name, short, first)
    scales = [scale_of(name, short, dimension) for dimension in dimensions]
    low, high = min(s.low for s in scales), max(s.high for s in scales)
    whole = all(s.whole for s in scales)
    kinds = {s.kind for s in scales}
    if "category" not in kinds:
        kind = "log" if "log" in kinds and low > 0 else "linear"
        return Scale(name, short, kind, low, high, whole=whole)
    listed = [choice for s in scales for choice in s.choices]
    numbers = sorted(p[name] for p in points if is_number(p.get(name)))
    return _categories(name, short, Categorical(distinct([*listed, *numbers])))


def _categories(name: str, short: str, dimension: Categorical) -> Scale:
    choices, index = tuple(dimension.choices), dimension.index
    scale = Scale(name, short, "category", choices=choices, index=index)
    return replace(scale, labels=tuple(short_values(choices)))


def _placed_by_value(dimension: Categorical) -> bool:
    """Return whether to place choices by value because they are numbers.

    A small number of evenly spaced numbers is easier to read as categories.
    """
    choices = dimension.choices
    numbers = all(map(is_number, choices))
    if not dimension.ordered or not numbers or len(choices) < 3:
        return False
    places = dimension.table()[:, 0]
    values = np.asarray(choices, dtype=float) / 2
    shares = (values - values[0]) / ((values[-1] - values[0]) or 1.0)
    even = np.allclose(np.diff(places), places[1] - places[0], rtol=1e-6)
    return bool(np.allclose(places, shares)) and not (even and len(choices) <= _FEW)


def _is_log(dimension: Any, low: float, middle: float, high: float) -> bool:
    """Return whether a dimension is logarithmic, at least approximately."""
    if hasattr(dimension, "log"):
        return bool(dimension.log)
    if low <= 0 or high < 10 * low:
        return False
    return bool(abs(math.log(middle / math.sqrt(low) / math.sqrt(high))) < 0.1)


# Numbers on axes ----------------------------------------------------------------------


def locator(most: int, *, whole: bool = False) -> Any:
    """Return a tick locator for round numbers with at most `most` intervals."""
    from matplotlib.ticker import MaxNLocator

    steps = [1, 2, 5, 10] if whole else [1, 2, 2.5, 5, 10]
    return MaxNLocator(most, integer=whole, steps=steps, min_n_ticks=1)


def linear_ticks(low: float, high: float, most: int, whole: bool) -> list[float]:
    """Return at most `most` round numbers between `low` and `high`."""
    slack = 1e-9 * high - 1e-9 * low
    at = locator(most, whole=whole).tick_values(low, high)
    inside = [float(tick) for tick in at if low - slack <= tick <= high + slack]
    return inside[:: math.ceil(len(inside) / most) or 1] or [low]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return round numbers or powers of ten between `low` and `high`."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: list[float] = []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        numbers = [float(f"{digit}e{k}") for k in powers for digit in digits]
        ticks = [n for n in numbers if low * (1 - 1e-9) <= n <= high * (1 + 1e-9)]
        if len(ticks) <= most:
            break
    step = max(1, math.ceil((len(ticks) - 1) / max(most - 1, 1)))
    return ticks[::step][:most]


def number_label(number: float) -> str:
    """Return a number as text, with a power of ten if it is very large or small."""
    if number == 0 or 1e-3 <= abs(number) < 1e4:
        return f"{number:.12g}".replace("-", "\N{MINUS SIGN}")
    mantissa, power = f"{number:.11e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".")
    head = {"1": "", "-1": "-"}.get(mantissa, rf"{mantissa}\times ")
    return rf"${head}10^{{{int(power)}}}$"


def drawable(values: Any) -> Array:
    """Return values that fit on an axis, with infinite ones replaced by nan."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isfinite(values), np.clip(values, -_HUGE, _HUGE), math.nan)


def value_range(values: Any, cut: float = 10.0) -> tuple[float, float]:
    """Return the range of values to draw, without margins.

    A few values far below the rest would compress the others into one line. If the
    smallest value is farther below the median than `cut` times the distance from the
    median to the largest value, the range ends at 0.6 times this distance below the
    median.
    """
    finite = drawable(values)
    finite = finite[np.isfinite(finite)]
    if not len(finite):
        return 0.0, 1.0
    low, middle, high = finite.min(), float(np.median(finite)), finite.max()
    spread = high - middle
    if spread > 0 and middle - low > cut * spread:
        low = middle - 0.6 * cut * spread
    return float(low), float(high)


def filled_range(values: Any) -> tuple[float, float]:
    """Return the range of values to draw, with margins if all values are equal."""
    low, high = value_range(values)
    return (low, high) if high > low else padded(low, high)


def padded(low: float, high: float, share: float = 0.06) -> tuple[float, float]:
    """Return the range with margins; a range of width zero is widened."""
    wide = high > low
    extra = share * high - share * low if wide else 0.1 * abs(high) or 1.0
    return low - extra, high + extra
