"""Values in the order asked: `ConvergenceDisplay` and `ResetDisplay`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._base import (
    ALL,
    Array,
    Display,
    Records,
    branch_names,
    checked_branch,
    computed,
    metric_name,
    optimizer_of,
    told_records,
    values_of,
)
from skrobustbo.displays._plotly import convergence
from skrobustbo.displays._scales import drawable, padded, value_range
from skrobustbo.displays._style import (
    BAND,
    BEST,
    EACH,
    FIRST,
    Look,
    Ticks,
    legend_above,
    panels,
)
from skrobustbo.displays._text import unlike
from skrobustbo.model_selection import largest_of, last_initial

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
    steps : array of int, shape (n,), or None
        Numbers of the candidates, from 1; None: all up to n.
    params : list of dict
        The candidates.
    """

    name: str
    values: Array
    best: Array
    n_initial: int
    bound: float | None
    value_stds: Array
    steps: NDArray[np.intp] | None = None
    params: Sequence[dict[str, Any]] = field(default_factory=list, repr=False)

    @property
    def numbers(self) -> NDArray[np.intp]:
        """Numbers of the candidates, from 1."""
        return np.arange(1, len(self.values) + 1) if self.steps is None else self.steps


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay(Display):
    """The best value so far against the number of candidates.

    Every value is a dot, failures are crosses at the bottom, and the initial design is
    shaded. Values far below the rest are triangles at the lower edge. A candidate that
    was stopped early is a bar: two standard deviations on either side of the score
    predicted from its folds.

    Parameters
    ----------
    curves : list of Curve
        One for each search: `name`, `values`, `best`, `n_initial`, `bound`,
        `value_stds`.
    value_name : str, default="score"
        Label of the value axis.

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
    value_name: str = "score"

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
        """Compute the data of one or several fitted searches and plot them.

        Parameters
        ----------
        search : RobustBayesSearchCV, or list or dict of them
            Several are overlaid; the keys of a dict name them.
        ax : matplotlib axes, default=None
            Axes to draw on, as in `plot`.
        names : str or list of str, default=None
            Names for the legend. None: of their policies.
        **options : dict
            Further arguments of `from_optimizer`.

        Returns
        -------
        display : ConvergenceDisplay
        """
        searches, names = _named(search, names)
        optimizers = [optimizer_of(one) for one in searches]
        options.setdefault("value_name", metric_name(searches[0]))
        options.setdefault("largest", [largest_of(one) for one in searches])
        options.setdefault("earlier", False)
        return cls.from_optimizer(optimizers, ax=ax, names=names, **options)

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        branch: Any = None,
        names: Any = None,
        value_name: str = "value",
        largest: Any = None,
        earlier: bool = True,
    ) -> Self:
        """Compute the data of one or several optimizers and plot them.

        Parameters
        ----------
        optimizer : Optimizer, or list or dict of them
            Several are overlaid; the keys of a dict name them.
        ax : matplotlib axes, default=None
            Axes to draw on, as in `plot`.
        branch : int, str or None, default=None
            A branch by its number or name, or "all" for a line for each, at the numbers
            that its candidates have in the search. None: all candidates together.
        names : str or list of str, default=None
            Names for the legend. None: of their policies.
        value_name : str, default="value"
            Label of the value axis.
        largest : float or list of float, default=None
            The largest possible value, such as 1 for an accuracy. The shaded area of
            what is left to gain ends there. None: not known.
        earlier : bool, default=True
            Whether to draw values that were told before the first point was asked. The
            default of `from_search` is False: those of `previous` are left out.

        Returns
        -------
        display : ConvergenceDisplay
        """
        optimizers, names = _named(optimizer, names)
        if branch is not None:
            curves = _curves_by_branch(cls.__name__, optimizers, names, branch)
            display = cls(curves=curves, value_name=value_name)
            display.branch_name = curves[0].name if branch != ALL else ""
            return display.plot(ax=ax)
        if names is None:
            names = unlike([type(one.policy).__name__ for one in optimizers])
        if len(names) != len(optimizers):
            raise ValueError(
                f"The 'names' of ConvergenceDisplay must be one for each of the "
                f"{len(optimizers)} searches. Got {names!r} instead."
            )
        tops = largest if isinstance(largest, list) else [largest] * len(names)
        given = zip(names, optimizers, tops, strict=True)
        curves = [_curve_of_search(*one, earlier=earlier) for one in given]
        return cls(curves=curves, value_name=value_name).plot(ax=ax)

    def to_plotly(self) -> Any:
        """Return the same data as an interactive figure.

        The pointer over a dot shows the params of the candidate. It needs plotly:
        ``pip install "skrobustbo[interactive]"``.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Its background is transparent.
        """
        return convergence(self.curves, self.value_name, self._limits(False))

    def _height(self, look: Look) -> float:
        return 0.7

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, axes = panels(ax, 1, 1, height=self._height(look))
        self.ax_ = axes[0, 0]
        before = sum(line.get_gid() == _BEST for line in self.ax_.lines)
        alone = before + len(self.curves) == 1
        low, high = self._limits(before > 0)
        if not alone:
            self._draw_marks(look, low)
        for i, curve in enumerate(self.curves):
            _draw(self.ax_, look, curve, before + i, low, alone)
        lines = [line for line in self.ax_.lines if line.get_gid() == _BEST]
        last = max(line.get_xdata()[-1] for line in lines)
        finish(self.ax_, look, last, (low, high), self.value_name)

    def _draw_marks(self, look: Look, floor: float) -> None:
        """Explain the marks where colours say of which search they are."""
        mark = {"color": look.ink, "ls": "none", "mew": 0, "ms": look.dot}
        self.ax_.plot([], [], color=look.ink, lw=1.3 * look.line, label=BEST)
        self.ax_.plot([], [], "o", label=EACH, alpha=0.6, **mark)
        if any(
            math.isfinite(curve.bound or 0) and curve.bound for curve in self.curves
        ):
            shade = {"color": look.ink, "alpha": 0.15, "lw": 0}
            self.ax_.fill_between([], [], label=BAND, **shade)
        if any((drawable(curve.values) < floor).any() for curve in self.curves):
            self.ax_.plot([], [], "v", label="below the axis", **mark)

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


def _curves_by_branch(
    cls: str, optimizers: Sequence[Any], names: Any, branch: Any
) -> list[Curve]:
    """Return a curve for each branch asked for of one search."""
    if len(optimizers) > 1:
        raise ValueError(
            f"The 'branch' of {cls} must be None for several searches. Got {branch!r} "
            f"and {len(optimizers)} searches instead; draw one search at a time."
        )
    (optimizer,) = optimizers
    told_records(optimizer)  # there must be some
    chosen = checked_branch(cls, optimizer, branch)
    known = branch_names(optimizer.space)
    shown = list(range(len(known))) if chosen in (ALL, None) else [chosen]
    shown = [i for i in shown if told_records(optimizer, i)]
    labels = [known[i] for i in shown] if names is None else names
    if len(labels) != len(shown):
        raise ValueError(
            f"The 'names' of {cls} must be one for each of the {len(shown)} branches. "
            f"Got {names!r} instead."
        )
    pairs = zip(labels, shown, strict=True)
    return [_curve_of_branch(name, optimizer, i) for name, i in pairs]


def _curve_of_branch(name: str, optimizer: Any, branch: int) -> Curve:
    """Return the curve of a branch; the bound and the design are of the search."""
    owner = optimizer.space.owner
    records = told_records(optimizer)
    own = [i for i, record in enumerate(records) if owner(record["params"]) == branch]
    steps = np.array(own, dtype=np.intp) + 1
    return _curve(name, [records[i] for i in own], None, steps)


def _curve_of_search(
    name: str, optimizer: Any, largest: float | None, *, earlier: bool
) -> Curve:
    records = told_records(optimizer)
    if not earlier:
        own = list(dropwhile(lambda record: record["kind"] == "told", records))
        records = own or records
    return _curve(name, records, _bound(optimizer, largest), None)


def _bound(optimizer: Any, largest: float | None) -> float | None:
    """Return what is left to gain at most, None if the optimizer does not know."""
    try:
        bound = float(optimizer.regret_bound(calibrated=True))
    except ValueError:  # the policy seeks something else, or no value is known
        return None
    left = math.inf if largest is None else largest - optimizer.best_value_
    return min(bound, max(0.0, left))


def _curve(
    name: str, records: Records, bound: float | None, steps: NDArray[np.intp] | None
) -> Curve:
    values = values_of(records)
    stds = np.array([record["value_std"] for record in records])
    best = np.fmax.accumulate(np.where(stds > 0, math.nan, values))
    # Among branches the design is mixed; only that of a whole search is marked.
    labels = [record["model_label"] for record in records if steps is None]
    design = last_initial(labels)
    params = [record["params"] for record in records]
    return Curve(name, values, best, design, bound, stds, steps, params)


def _draw(
    ax: Any, look: Look, curve: Curve, number: int, floor: float, alone: bool
) -> None:
    colour = look.palette[(0, 2, 3, 4, 5, 1)[number % 6]]
    steps = curve.numbers
    if curve.n_initial and alone:
        ends = 0.5, curve.n_initial + 0.5
        ax.axvspan(*ends, color=look.ink, alpha=0.08, lw=0, label="initial")
    elif curve.n_initial:  # of several searches, only the end is marked
        ax.axvline(
            curve.n_initial + 0.5, color=colour, alpha=0.6, lw=0.7, ls=":", label=FIRST
        )
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
    look.mark(ax, steps, values, floor, colour, "below the axis" if alone else None)


def finish(
    ax: Any,
    look: Look,
    last: int,
    limits: tuple[float, float],
    name: str,
    x: str = "candidate",
) -> None:
    """Frame values over the number of the candidate."""
    ax.set(xlim=(0.5, last + 0.5), ylim=limits)
    look.dress(ax, x=x, y=name)
    legend = legend_above(ax, 0.9 * look.size)
    look.parts += [Ticks(ax.xaxis, whole=True), Ticks(ax.yaxis), legend]


# Resets -------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class ResetDisplay(Display):
    """Values over time, the resets of the policy, and what it remembers.

    Resets are vertical lines. The values that the policy currently uses are shaded;
    forgotten ones are pale. A grey bar shows the prediction before each evaluation,
    with two standard deviations on either side. A value outside its bar may trigger a
    reset.

    Parameters
    ----------
    values : array of shape (n,)
        Values in the order asked, nan for failures.
    resets : array of int
        Numbers, from 1, of the candidates whose value caused a reset.
    remembered : array of bool, shape (n,)
        Whether the policy currently uses a value.
    expected, deviation : array of shape (n,)
        Predictions of the model before the evaluation, nan if there was none.
    value_name : str, default="score"
        Label of the value axis.

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
    value_name: str = "score"

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        branch: Any = None,
        value_name: str = "value",
    ) -> Any:
        """Compute the data of an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
        ax : matplotlib axes, default=None
            Axes to draw on, as in `plot`.
        branch : int, str or None, default=None
            A branch by its number or name, or "all" for each on its own; see
            `BranchesDisplay`. None: all candidates.
        value_name : str, default="value"
            Label of the value axis.

        Returns
        -------
        display : ResetDisplay, or BranchesDisplay for "all"
        """
        return computed(cls, optimizer, branch, ax, value_name=value_name)

    @classmethod
    def _of(cls, optimizer: Any, branch: int | None, value_name: str) -> Self:
        records = told_records(optimizer, branch)
        kept = set(optimizer.remembered_)
        told = [
            i
            for i, record in enumerate(optimizer.history_)
            if not record["pending"]
            and (branch is None or optimizer.space.owner(record["params"]) == branch)
        ]
        reset = [i for i, record in enumerate(records, 1) if record["reset"]]
        return cls(
            values=values_of(records),
            resets=np.array(reset, dtype=np.intp),
            remembered=np.array([i in kept for i in told]),
            expected=np.array([record["model_mean"] for record in records]),
            deviation=np.array([record["model_std"] for record in records]),
            value_name=value_name,
        )

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, axes = panels(ax, 1, 1, height=self._height(look))
        self.ax_ = axes[0, 0]
        limits = padded(*value_range(self.values, cut=100.0), share=0.1)
        self._draw_memory(look)
        self._draw_expected(look)
        self._draw_values(look, limits[0])
        last = len(self.values)
        finish(self.ax_, look, last, limits, self.value_name, self._counted)

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
        look.mark(self.ax_, steps, values, floor, look.ink, "below the axis")
