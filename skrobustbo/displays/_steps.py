"""`ConvergenceDisplay` and `ResetDisplay`: values over the course of a search."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skrobustbo._names import wrong
from skrobustbo.displays._base import (
    ALL,
    Array,
    Display,
    Tried,
    branch_names,
    checked_branch,
    drawn_by_branch,
    metric_name,
    optimizer_of,
)
from skrobustbo.displays._plotly import convergence
from skrobustbo.displays._scales import drawable, padded, value_range
from skrobustbo.displays._style import GAIN, Look, panels
from skrobustbo.displays._text import unlike
from skrobustbo.model_selection import largest_of, last_initial

#: Marks the lines of best values, so that later plots can count them.
_BEST = "skrobustbo-best"


@dataclass(frozen=True)
class Curve:
    """One search in a `ConvergenceDisplay`.

    Attributes
    ----------
    name : str
    values : array of shape (n,)
        Values in chronological order; nan for failures.
    best : array of shape (n,)
        Best value so far; nan before the first value.
    n_initial : int
        Number of candidates up to the end of the initial design, or 0 if there is none.
    bound : float or None
        Upper bound on the remaining gain, or None if it is unknown.
    value_stds : array of shape (n,)
        Standard deviations of the errors of the values. They are positive for
        candidates that were stopped early, which are never the best, and 0 otherwise.
    numbers : array of int, shape (n,)
        Numbers of the candidates, starting at 0, as in the report.
    params : list of dict
        Params of the candidates. They are empty for an untuned estimator outside the
        space.
    """

    name: str
    values: Array
    best: Array
    n_initial: int
    bound: float | None
    value_stds: Array
    numbers: NDArray[np.intp]
    params: Sequence[dict[str, Any]] = field(repr=False)

    @property
    def gain(self) -> dict[str, float] | None:
        """Band of the remaining gain above the best value, or None if unknown."""
        if self.bound is None or not math.isfinite(self.bound):
            return None
        best = drawable(self.best)
        x0, y0 = int(self.numbers[np.argmax(best == best[-1])]), float(best[-1])
        return {"x0": x0, "x1": self.numbers[-1] + 0.5, "y0": y0, "y1": y0 + self.bound}


@dataclass(kw_only=True, eq=False, repr=False)
class ConvergenceDisplay(Display):
    """Best value so far by number of candidates.

    Dots show the values, crosses at the bottom mark failures, and the initial design is
    shaded. Triangles at the lower edge mark values far below the others. If a candidate
    was stopped early, a bar shows two standard deviations on either side of the score
    predicted from its folds. A band above the line, starting at the best candidate,
    shows how much the score may still improve. Candidates have the same numbers as in
    the report. If the untuned estimator was evaluated, it is candidate 0.

    Parameters
    ----------
    curves : list of Curve
        One curve for each search, with the attributes `name`, `values`, `best`,
        `n_initial`, `bound`, `value_stds` and `numbers`.
    value_name : str, default="score"
        Label of the value axis.

    Attributes
    ----------
    values, best : array of shape (n,)
        Attributes of the first curve.
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
        """Compute the data for one or more fitted searches and plot them.

        Parameters
        ----------
        search : RobustBayesSearchCV, or list or dict of them
            Search or searches to plot. The keys of a dict are used as names.
        ax : matplotlib axes, default=None
            Axes on which to plot, as in `plot`.
        names : str or list of str, default=None
            Names for the legend. If None, the names of the policies are used.
        **options : dict
            Additional arguments for `from_optimizer`.

        Returns
        -------
        display : ConvergenceDisplay
        """
        searches, names = _named(search, names)
        optimizers = [optimizer_of(one) for one in searches]
        options.setdefault("value_name", metric_name(searches[0]))
        options.setdefault("largest", [largest_of(one) for one in searches])
        options.setdefault("untuned", [_untuned(one) for one in searches])
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
        untuned: Any = None,
        earlier: bool = True,
    ) -> Self:
        """Compute the data for one or more optimizers and plot them.

        Parameters
        ----------
        optimizer : Optimizer, or list or dict of them
            Optimizer or optimizers to plot. The keys of a dict are used as names.
        ax : matplotlib axes, default=None
            Axes on which to plot, as in `plot`.
        branch : int, str or None, default=None
            Number or name of a branch, or "all" for one line per branch. Candidates
            keep their numbers in the search. If None, all candidates are plotted
            together.
        names : str or list of str, default=None
            Names for the legend. If None, the names of the policies are used.
        value_name : str, default="value"
            Label of the value axis.
        largest : float or list of float, default=None
            Largest possible value, such as 1 for an accuracy. It limits the band of the
            remaining gain. If None, the band has no such limit.
        untuned : float or list of float, default=None
            Score of an untuned estimator outside the space, shown as candidate 0. If
            None or nan, there is none.
        earlier : bool, default=True
            Whether to plot values that the optimizer received before it proposed any
            point. In `from_search`, the default is False, so that values from
            `previous` are left out.

        Returns
        -------
        display : ConvergenceDisplay
        """
        optimizers, names = _named(optimizer, names)
        parts: list[tuple[Any, Any]] = [(one, None) for one in optimizers]
        labels, kind = [type(one.policy).__name__ for one in optimizers], "searches"
        if branch is not None:
            # Bounds and the untuned estimator only belong to the whole search.
            parts = _branches(cls.__name__, optimizers, branch)
            largest = untuned = None
            every = branch_names(optimizers[0].space)
            labels, kind = [every[i] for _, i in parts], "branches"
        names = unlike(labels) if names is None else names
        if len(names) != len(parts):
            expected = f"one for each of the {len(parts)} {kind}"
            raise wrong("names", cls.__name__, expected, names)
        given = zip(names, parts, _each(largest), _each(untuned), strict=False)
        curves = [
            _curve(name, *part, top, base, earlier) for name, part, top, base in given
        ]
        display = cls(curves=curves, value_name=value_name)
        if branch not in (None, ALL):
            display.branch_name = curves[0].name
        return display.plot(ax=ax)

    def to_plotly(self) -> Any:
        """Return the same data as an interactive figure.

        Hover over a dot to see the params of the candidate. This method requires
        plotly, which is installed with the extra ``interactive``.

        Returns
        -------
        figure : plotly.graph_objects.Figure
            Figure with a transparent background.
        """
        return convergence(self)

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, [[self.ax_]] = panels(ax, 1, 1, height=self._height(look))
        before = sum(line.get_gid() == _BEST for line in self.ax_.lines)
        alone = before + len(self.curves) == 1
        low, high = self.limits
        if before:
            below, above = self.ax_.get_ylim()
            low, high = min(low, below), max(high, above)
        for i, curve in enumerate(self.curves):
            _draw(self.ax_, look, curve, before + i, low, alone)
        if not alone:  # colours show which search a line belongs to
            line = {"color": look.ink, "lw": 1.3 * look.line}
            self.ax_.plot([], [], label="line: best so far", **line)
        lines = [line for line in self.ax_.lines if line.get_gid() == _BEST]
        last = max(line.get_xdata()[-1] for line in lines)
        self.ax_.set_xlim(-0.5, last + 0.5)
        look.numbers(self.ax_.xaxis, whole=True)
        self._frame(look, (low, high), "candidate")

    @property
    def limits(self) -> tuple[float, float]:
        """Range of values to draw."""
        values = np.concatenate([one.values for one in self.curves])
        low, high = padded(*value_range(values), share=0.08)
        tops = [curve.gain["y1"] for curve in self.curves if curve.gain is not None]
        # A loose bound must not squeeze the values into one line.
        return low, max([high, *(min(top, high + (high - low) / 3) for top in tops)])


def _named(several: Any, names: Any) -> tuple[list[Any], list[str] | None]:
    if isinstance(several, Mapping):
        return list(several.values()), [str(key) for key in several]
    listed = list(several) if isinstance(several, list | tuple) else [several]
    if not listed:
        raise ValueError("Expected one or more searches, got none; give at least one.")
    return listed, [names] if isinstance(names, str) else names


def _each(given: Any) -> Iterable[Any]:
    """Return a setting of each search."""
    return given if isinstance(given, list) else itertools.repeat(given)


def _untuned(search: Any) -> float:
    """Return the score of an untuned estimator outside the space, or nan."""
    results, optimizer = search.cv_results_, search.optimizer_
    allowed = optimizer.constraints or (lambda params: True)
    for i in np.flatnonzero(results["model_label"] == "default"):
        params = results["params"][i]
        if not (optimizer.space.contains(params) and allowed(params)):
            # No model predicts this candidate, so its mean is its score.
            return float(results["posterior_mean"][i])
    return math.nan


def _branches(cls: str, optimizers: Sequence[Any], branch: Any) -> list[Any]:
    """Return the requested branches that have evaluated candidates."""
    if len(optimizers) > 1:
        raise ValueError(
            f"The 'branch' of {cls} must be None for several searches. Got {branch!r} "
            f"and {len(optimizers)} searches instead; draw one search at a time."
        )
    (optimizer,) = optimizers
    chosen = checked_branch(cls, optimizer, branch)
    every = range(len(optimizer.space.branches)) if chosen in (ALL, None) else [chosen]
    return [(optimizer, i) for i in every if Tried(optimizer, i).records]


def _bound(optimizer: Any, largest: float | None, untuned: float) -> float | None:
    """Return the bound on the remaining gain, or None if there is none."""
    try:
        bound = float(optimizer.regret_bound(calibrated=True))
    except ValueError:  # the policy has another goal, or no value is known
        return None
    reached = optimizer.best_value_
    best = np.fmax(reached, untuned)
    left = math.inf if largest is None else largest - best
    return float(min(max(0.0, reached + bound - best), max(0.0, left)))


def _curve(
    name: str,
    optimizer: Any,
    branch: Any,
    largest: float | None,
    untuned: float | None,
    earlier: bool,
) -> Curve:
    """Return the curve of a search or of one of its branches."""
    told, tried, is_whole = Tried(optimizer), Tried(optimizer, branch), branch is None
    own = [i for i, one in enumerate(told.records) if one["kind"] != "told"]
    start = own[0] if own and is_whole and not earlier else 0
    records, values = tried.records[start:], tried.values[start:]
    stds = np.array([record["value_std"] for record in records])
    labels, points = [one["model_label"] for one in records], tried.points[start:]
    untuned = math.nan if untuned is None else untuned
    if math.isfinite(untuned):
        labels, points = ["", *labels], [{}, *points]
        values, stds = np.insert(values, 0, untuned), np.insert(stds, 0, 0.0)
    # Earlier candidates that are left out do not count.
    places = np.arange(len(values))
    numbers = places if is_whole else np.searchsorted(told.rows, tried.rows)
    return Curve(
        name=name,
        values=values,
        best=np.fmax.accumulate(np.where(stds > 0, math.nan, values)),
        # A branch has no design or bound of its own.
        n_initial=last_initial(labels) if is_whole else 0,
        bound=_bound(optimizer, largest, untuned) if is_whole else None,
        value_stds=stds,
        numbers=numbers,
        params=points,
    )


def _draw(
    ax: Any, look: Look, curve: Curve, number: int, floor: float, alone: bool
) -> None:
    colour = look.palette[(0, 2, 3, 4, 5, 1)[number % 6]]
    steps, values = curve.numbers, drawable(curve.values)
    end = curve.n_initial - 0.5
    if curve.n_initial and alone:
        ax.axvspan(-0.5, end, color=look.ink, alpha=0.08, lw=0, label="initial")
    elif curve.n_initial:  # with several searches, mark only its end
        line = {"color": colour, "alpha": 0.6, "lw": 0.7, "ls": ":"}
        ax.axvline(end, label="end of the initial design", **line)
    # Dashes on top of a wide line keep equal lines visible.
    dashes = ("-", "--", "-.", ":")[number % 4]
    width = (1.3 if alone or number else 2.6) * look.line
    line = {"color": colour, "lw": width, "ls": dashes, "zorder": 3}
    label = f"{curve.name}: best so far" if alone else curve.name
    best = drawable(curve.best)
    ax.plot(steps, best, drawstyle="steps-post", label=label, gid=_BEST, **line)
    if curve.gain is not None:
        x0, x1, y0, y1 = curve.gain.values()
        band = {"color": colour, "alpha": 0.15, "lw": 0, "label": GAIN}
        ax.fill_between([x0, x1], y0, y1, **band)
    alpha = 0.6 if alone else 0.4
    raced = curve.value_stds > 0
    dots = ~raced | (values < floor)
    look.draw_values(ax, steps[dots], values[dots], floor, colour, alpha=alpha)
    if raced.any():
        at, spread = steps[raced], 2 * curve.value_stds[raced]
        bars = {"color": colour, "alpha": alpha, "lw": look.line, "fmt": "none"}
        ax.errorbar(at, values[raced], spread, label="stopped early", **bars)


# Resets -------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class ResetDisplay(Display):
    """Values over time, with the resets of the policy.

    Vertical lines mark resets. Values that the policy currently uses are shaded, and
    values that it no longer uses are pale. Each grey bar shows the prediction before an
    evaluation, with two standard deviations on either side. A value outside its bar may
    trigger a reset.

    Parameters
    ----------
    values : array of shape (n,)
        Values in chronological order; nan for failures.
    resets : array of int
        Numbers of the candidates whose values caused a reset, starting at 0.
    remembered : array of bool, shape (n,)
        Whether the policy currently uses each value.
    expected, deviation : array of shape (n,)
        Mean and standard deviation predicted before each evaluation; nan if there was
        no prediction.
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
    @drawn_by_branch
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        branch: Any = None,
        value_name: str = "value",
    ) -> Any:
        """Compute the data for an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
        ax : matplotlib axes, default=None
            Axes on which to plot, as in `plot`.
        branch : int, str or None, default=None
            Number or name of a branch, or "all" for one plot per branch (see
            `BranchesDisplay`). If None, all candidates are shown.
        value_name : str, default="value"
            Label of the value axis.

        Returns
        -------
        display : ResetDisplay, or BranchesDisplay for "all"
        """
        tried = Tried(optimizer, branch)
        records, kept = tried.records, set(optimizer.remembered_)
        resets = [i for i, record in enumerate(records) if record["reset"]]
        return cls(
            values=tried.values,
            resets=np.array(resets, dtype=np.intp),
            remembered=np.array([i in kept for i in tried.rows]),
            expected=np.array([record["model_mean"] for record in records]),
            deviation=np.array([record["model_std"] for record in records]),
            value_name=value_name,
        )

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, [[self.ax_]] = panels(ax, 1, 1, height=self._height(look))
        spread = 2 * self.deviation
        shown = [self.values, self.expected - spread, self.expected + spread]
        limits = padded(*value_range(np.concatenate(shown), cut=100.0), share=0.1)
        self._draw_memory(look)
        self._draw_expected(look)
        self._draw_values(look, limits[0])
        self.ax_.set_xlim(-0.5, len(self.values) - 0.5)
        look.numbers(self.ax_.xaxis, whole=True)
        self._frame(look, limits, self._counted)

    def _draw_memory(self, look: Look) -> None:
        """Shade the values that are in use, and draw the resets."""
        label = "remembered" if self.remembered.any() else None
        shade = {"color": look.palette[0], "alpha": 0.14, "lw": 0, "fill": True}
        edges = np.arange(len(self.values) + 1) - 0.5
        over_all = self.ax_.get_xaxis_transform()
        self.ax_.stairs(
            self.remembered, edges, transform=over_all, label=label, **shade
        )
        for step in self.resets:
            line = {"color": look.ink, "lw": look.line, "clip_on": False}
            self.ax_.axvline(step - 0.5, label="reset", **line)

    def _draw_expected(self, look: Look) -> None:
        steps = np.arange(len(self.values))
        if not np.isfinite(self.expected).any():
            return
        label = "expected \N{PLUS-MINUS SIGN} 2\N{GREEK SMALL LETTER SIGMA}"
        bars = {"ecolor": look.ink, "elinewidth": look.line, "alpha": 0.3}
        mean, spread = drawable(self.expected), 2 * drawable(self.deviation)
        self.ax_.errorbar(steps, mean, spread, ls="none", label=label, **bars)

    def _draw_values(self, look: Look, floor: float) -> None:
        values = drawable(self.values)
        steps = np.arange(len(values))
        kinds = (True, look.palette[0], 1.0), (False, look.ink, 0.5)
        for kept, colour, alpha in kinds:
            chosen = self.remembered == kept
            x, y = steps[chosen], values[chosen]
            look.draw_values(self.ax_, x, y, floor, colour, alpha=alpha)
