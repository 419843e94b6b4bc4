"""Values in the order asked: `ConvergenceDisplay` and `ResetDisplay`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._base import (
    SCORE,
    VALUE,
    Array,
    Display,
    optimizer_of,
    told_records,
    values_of,
)
from skrobustbo.displays._scales import drawable, padded, unlike, value_range
from skrobustbo.displays._style import Legend, Look, Ticks, panels
from skrobustbo.model_selection import largest_of

#: Marks the lines of best values, so that later plots count them.
_BEST = "skrobustbo-best"


@dataclass(frozen=True)
class Curve:
    """One search in a `ConvergenceDisplay`.

    Attributes
    ----------
    name : str
    values : array of shape (n,)
        Values in the order asked, nan for failures.
    best : array of shape (n,)
        Best value so far, nan before the first.
    n_initial : int
        Number of the last point of the initial design, 0 if there is none.
    bound : float or None
        How much is left to gain at most, if the optimizer knows.
    value_stds : array of shape (n,)
        Standard deviations of the values' own errors: positive for candidates that were
        stopped early, and never the best; 0 for others.
    """

    name: str
    values: Array
    best: Array
    n_initial: int
    bound: float | None
    value_stds: Array


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The best value so far against the number of candidates.

    Every value is a dot, failures are crosses at the bottom, and the initial design is
    shaded. Values far below the rest are triangles at the lower edge. A candidate that
    was stopped early is a bar: two standard deviations to either side of what its folds
    let expect.

    Parameters
    ----------
    curves : list of Curve
        One for each search: `name`, `values`, `best`, `n_initial`, `bound`,
        `value_stds`.
    value_name : str, default="score"
        What the values are, on the axis.

    Attributes
    ----------
    values, best : array of shape (n,)
        Those of the first curve.
    ax_ : matplotlib axes
    figure_ : matplotlib figure

    Examples
    --------
    >>> from skrobustbo.displays import ConvergenceDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"x": Real(0, 1)}, random_state=0)
    >>> optimizer.tell([{"x": 0.1}, {"x": 0.2}, {"x": 0.3}], [1.0, 3.0, 2.0])
    >>> ConvergenceDisplay.from_optimizer(optimizer).best
    array([1., 3., 3.])
    """

    curves: Sequence[Curve]
    value_name: str = SCORE

    @property
    def values(self) -> Array:
        """Values of the first curve."""
        return self.curves[0].values

    @property
    def best(self) -> Array:
        """Best values so far of the first curve."""
        return self.curves[0].best

    @classmethod
    def from_search(
        cls, search: Any, *, ax: Any = None, names: Any = None, **options: Any
    ) -> Self:
        """Compute the data of one or several fitted searches and draw them.

        Parameters
        ----------
        search : RobustBayesSearchCV, or list or dict of them
            Several are overlaid; the keys of a dict name them.
        ax : matplotlib axes, default=None
            Where to draw, as in `plot`.
        names : str or list of str, default=None
            Names for the legend. None: of their policies.
        **options : dict
            Further arguments of `from_optimizer`.

        Returns
        -------
        display : ConvergenceDisplay
        """
        searches, names = _named(search, names)
        options.setdefault("value_name", SCORE)
        options.setdefault("largest", [largest_of(one) for one in searches])
        optimizers = [optimizer_of(one) for one in searches]
        return cls.from_optimizer(optimizers, ax=ax, names=names, **options)

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        names: Any = None,
        value_name: str = VALUE,
        largest: Any = None,
    ) -> Self:
        """Compute the data of one or several optimizers and draw them.

        Parameters
        ----------
        optimizer : Optimizer, or list or dict of them
            Several are overlaid; the keys of a dict name them.
        ax : matplotlib axes, default=None
            Where to draw, as in `plot`.
        names : str or list of str, default=None
            Names for the legend. None: of their policies.
        value_name : str, default="value"
            What the values are, on the axis.
        largest : float or list of float, default=None
            The largest value that there can be, such as 1 for an accuracy: what may be
            left to gain ends there. None: not known.

        Returns
        -------
        display : ConvergenceDisplay
        """
        optimizers, names = _named(optimizer, names)
        if names is None:
            names = unlike([type(one.policy).__name__ for one in optimizers])
        if len(names) != len(optimizers):
            raise ValueError(
                f"The 'names' of ConvergenceDisplay must be one for each of the "
                f"{len(optimizers)} searches. Got {names!r} instead."
            )
        tops = largest if isinstance(largest, list) else [largest] * len(names)
        given = zip(names, optimizers, tops, strict=True)
        curves = [_curve(name, one, top) for name, one, top in given]
        return cls(curves=curves, value_name=value_name).plot(ax=ax)

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, axes = panels(ax, 1, 1, height=0.7)
        self.ax_ = axes[0, 0]
        before = sum(line.get_gid() == _BEST for line in self.ax_.lines)
        alone = before + len(self.curves) == 1
        low, high = self._limits(before > 0)
        for i, curve in enumerate(self.curves):
            _draw(self.ax_, look, curve, before + i, low, alone)
        last = max(len(line.get_xdata()) for line in self.ax_.lines)
        _finish(self.ax_, look, last, (low, high), self.value_name)

    def _limits(self, again: bool) -> tuple[float, float]:
        values = np.concatenate([curve.values for curve in self.curves])
        low, high = padded(*value_range(values), share=0.08)
        tops = [
            float(curve.best[-1]) + curve.bound
            for curve in self.curves
            if curve.bound is not None and math.isfinite(curve.bound)
        ]
        # A loose bound must not press the values into one line.
        high = max([high, *(min(top, high + (high - low) / 3) for top in tops)])
        if again:
            below, above = self.ax_.get_ylim()
            return min(low, below), max(high, above)
        return low, high


def _named(several: Any, names: Any) -> tuple[list[Any], list[str] | None]:
    if isinstance(several, Mapping):
        return list(several.values()), [str(key) for key in several]
    listed = list(several) if isinstance(several, list | tuple) else [several]
    if not listed:
        raise ValueError("Expected one or more searches, got none; give at least one.")
    return listed, [names] if isinstance(names, str) else names


def _curve(name: str, optimizer: Any, largest: float | None) -> Curve:
    records = told_records(optimizer)
    values = values_of(records)
    initial = [i for i, r in enumerate(records, 1) if r["model_label"] == "initial"]
    try:
        bound: float | None = float(optimizer.regret_bound(calibrated=True))
    except ValueError:  # the policy seeks something else, or no value is known
        bound = None
    stds = np.array([record["value_std"] for record in records])
    best = np.fmax.accumulate(np.where(stds > 0, math.nan, values))
    if bound is not None and largest is not None:
        bound = min(bound, max(0.0, largest - float(best[-1])))
    return Curve(name, values, best, max(initial, default=0), bound, stds)


def _draw(
    ax: Any, look: Look, curve: Curve, number: int, floor: float, alone: bool
) -> None:
    colour = look.palette[(0, 2, 3, 4, 5, 1)[number % 6]]
    steps = np.arange(1, len(curve.values) + 1)
    if curve.n_initial and alone:
        ends = 0.5, curve.n_initial + 0.5
        ax.axvspan(*ends, color=look.ink, alpha=0.08, lw=0, label="initial")
    elif curve.n_initial:  # of several searches, only the end is marked
        ax.axvline(curve.n_initial + 0.5, color=colour, alpha=0.6, lw=0.7, ls=":")
    ax.plot(
        steps,
        drawable(curve.best),
        color=colour,
        lw=1.3 * look.line,
        ls=("-", "--", "-.", ":")[number // 6 % 4],
        drawstyle="steps-post",
        label="best so far" if alone else curve.name,
        gid=_BEST,
        zorder=3,
    )
    if curve.bound is not None and math.isfinite(curve.bound):
        best = float(curve.best[-1])
        band = ax.axhspan(best, best + curve.bound, color=colour, alpha=0.15)
        band.set(lw=0, label="what may be left to gain" if alone else None)
    values = drawable(curve.values)
    alpha, label = (0.6, "each candidate") if alone else (0.4, None)
    raced = curve.value_stds > 0
    shown = np.where((values < floor) | raced, math.nan, values)
    look.draw_dots(ax, steps, shown, colour, alpha=alpha, label=label)
    if raced.any():
        bars = ax.errorbar(
            steps[raced],
            values[raced],
            2 * curve.value_stds[raced],
            fmt="none",
            color=colour,
            alpha=alpha,
            lw=look.line,
        )
        bars.set_label("stopped early" if alone else "_")
    look.mark(ax, values, floor, colour, "below the axis" if alone else None)


def _finish(
    ax: Any, look: Look, last: int, limits: tuple[float, float], name: str
) -> None:
    """Frame values over the number of the candidate."""
    ax.set(xlim=(0.5, last + 0.5), ylim=limits)
    look.dress(ax, x="candidate", y=name)
    look.parts += [Ticks(ax.xaxis, whole=True), Ticks(ax.yaxis), Legend(ax, look)]


@dataclass(kw_only=True, eq=False, repr=False)
class ResetDisplay(Display):
    """Values over time, the resets of the policy, and what it remembers.

    Resets are vertical lines. The values that the policy goes by at present are shaded;
    forgotten ones are pale. What the model expected before each evaluation is a grey
    bar of two deviations to either side: a reset by an event comes where a value falls
    out of it.

    Parameters
    ----------
    values : array of shape (n,)
        Values in the order asked, nan for failures.
    resets : array of int
        Numbers, from 1, of the candidates whose value made the policy forget.
    remembered : array of bool, shape (n,)
        Whether a value counts at present.
    expected, deviation : array of shape (n,)
        Predictions of the model before the evaluation, nan where there was none.
    value_name : str, default="score"
        What the values are, on the axis.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure

    Examples
    --------
    >>> from skrobustbo.displays import ResetDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"x": Real(0, 1)}, "sw-gp-ucb", random_state=0)
    >>> optimizer.tell([{"x": 0.1}, {"x": 0.2}, {"x": 0.3}], [1.0, 3.0, 2.0])
    >>> ResetDisplay.from_optimizer(optimizer).remembered
    array([ True,  True,  True])
    """

    values: Array
    resets: NDArray[np.intp]
    remembered: NDArray[np.bool_]
    expected: Array
    deviation: Array
    value_name: str = SCORE

    @classmethod
    def from_optimizer(
        cls, optimizer: Any, *, ax: Any = None, value_name: str = VALUE
    ) -> Self:
        """Compute the data of an optimizer and draw them.

        Parameters
        ----------
        optimizer : Optimizer
        ax : matplotlib axes, default=None
            Where to draw, as in `plot`.
        value_name : str, default="value"
            What the values are, on the axis.

        Returns
        -------
        display : ResetDisplay
        """
        records = told_records(optimizer)
        history = optimizer.history_
        kept = set(optimizer.remembered_)
        told = [i for i, record in enumerate(history) if not record["pending"]]
        reset = [i for i, record in enumerate(records, 1) if record["reset"]]
        return cls(
            values=values_of(records),
            resets=np.array(reset, dtype=np.intp),
            remembered=np.array([i in kept for i in told]),
            expected=np.array([record["model_mean"] for record in records]),
            deviation=np.array([record["model_std"] for record in records]),
            value_name=value_name,
        ).plot(ax=ax)

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, axes = panels(ax, 1, 1, height=0.6)
        self.ax_ = axes[0, 0]
        limits = padded(*value_range(self.values, cut=100.0), share=0.1)
        self._draw_memory(look)
        self._draw_expected(look)
        self._draw_values(look, limits[0])
        last = len(self.values)
        _finish(self.ax_, look, last, limits, self.value_name)

    def _draw_memory(self, look: Look) -> None:
        """Shade the runs of values remembered and draw the resets."""
        self.ax_.stairs(
            self.remembered,
            np.arange(len(self.values) + 1) + 0.5,
            transform=self.ax_.get_xaxis_transform(),
            fill=True,
            color=look.palette[0],
            alpha=0.14,
            lw=0,
            label="remembered" if self.remembered.any() else None,
        )
        for step in self.resets:
            self.ax_.axvline(step - 0.5, color=look.ink, lw=look.line, label="reset")

    def _draw_expected(self, look: Look) -> None:
        steps = np.arange(1, len(self.values) + 1)
        if not np.isfinite(self.expected).any():
            return
        label = "expected \N{PLUS-MINUS SIGN} 2\N{GREEK SMALL LETTER SIGMA}"
        bars = {"ecolor": look.ink, "elinewidth": look.line, "alpha": 0.3}
        mean, spread = drawable(self.expected), 2 * drawable(self.deviation)
        self.ax_.errorbar(steps, mean, spread, ls="none", label=label, **bars)

    def _draw_values(self, look: Look, floor: float) -> None:
        values = drawable(self.values)
        steps = np.arange(1, len(values) + 1)
        for kept, alpha in ((True, 1.0), (False, 0.5)):
            chosen = (self.remembered == kept) & ~(values < floor)
            label = ("value" if kept else "forgotten") if chosen.any() else None
            colour = look.palette[0] if kept else look.ink
            x, y = steps[chosen], values[chosen]
            look.draw_dots(self.ax_, x, y, colour, alpha=alpha, label=label)
        look.mark(self.ax_, values, floor, look.palette[0], "below the axis")
