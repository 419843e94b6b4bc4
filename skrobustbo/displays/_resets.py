"""`ResetDisplay`: what a policy remembers of an objective that changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._base import (
    SCORE,
    VALUE,
    Array,
    Display,
    told_records,
    values_of,
)
from skrobustbo.displays._branches import computed
from skrobustbo.displays._scales import drawable, padded, value_range
from skrobustbo.displays._steps import finish
from skrobustbo.displays._style import Look, panels


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
    value_name: str = SCORE

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        branch: Any = None,
        value_name: str = VALUE,
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

    def _height(self, look: Look) -> float:
        return 0.6

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
