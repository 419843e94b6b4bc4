"""`ResourceDisplay`: the learning curves of the candidates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._base import Array, Display, Tried, drawn_by_branch
from skrobustbo.displays._scales import Scale, drawable, padded, value_range
from skrobustbo.displays._style import Look, panels


@dataclass(kw_only=True, eq=False, repr=False)
class ResourceDisplay(Display):
    """Learning curves: the value of each candidate by amount of the resource.

    A line joins the values of one candidate. Candidates evaluated with the full amount
    are coloured, and the best of them has a thicker line. If lines cross, the values at
    smaller amounts are poor predictors of the values at the full amount.

    Parameters
    ----------
    values : array of shape (n_candidates, n_amounts)
        Values of the candidates; nan if an evaluation failed or was not made.
    failed : array of bool, shape (n_candidates, n_amounts)
        Whether each evaluation failed.
    amounts : list of float
        Amounts of the resource, in ascending order.
    value_name : str, default="score"
        Label of the value axis.
    resource_name : str, default="resource"
        Label of the axis of amounts.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure

    Examples
    --------
    >>> from skrobustbo.displays import ResourceDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"x": Real(0, 1)}, resources=[1, 3], random_state=0)
    >>> optimizer.tell({"x": 0.1}, 0.5, resource=1)
    >>> optimizer.tell({"x": 0.1}, 0.8, resource=3)
    >>> optimizer.tell({"x": 0.7}, 0.2, resource=1)
    >>> ResourceDisplay.from_optimizer(optimizer).values
    array([[0.5, 0.8],
           [0.2, nan]])
    """

    values: Array
    failed: NDArray[np.bool_]
    amounts: list[float]
    value_name: str = "score"
    resource_name: str = "resource"

    @classmethod
    def from_search(cls, search: Any, *, ax: Any = None, **options: Any) -> Self:
        """Compute the data for a fitted search and plot them.

        Parameters
        ----------
        search : RobustBayesSearchCV
            A fitted search with a `resource`.
        ax : matplotlib axes, default=None
            Axes on which to plot, as in `plot`.
        **options : dict
            Additional arguments for `from_optimizer`.

        Returns
        -------
        display : ResourceDisplay

        Raises
        ------
        ValueError
            If the search has no resource.
        """
        given = getattr(search, "resource", None)
        options.setdefault("resource_name", getattr(given, "name", given))
        return super().from_search(search, ax=ax, **options)

    @classmethod
    @drawn_by_branch
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        branch: Any = None,
        value_name: str = "value",
        resource_name: str = "resource",
    ) -> Any:
        """Compute the data for an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
            An optimizer with `resources`.
        ax : matplotlib axes, default=None
            Axes on which to plot, as in `plot`.
        branch : int, str or None, default=None
            Number or name of a branch, or "all" for one plot per branch (see
            `BranchesDisplay`). If None, all candidates are shown.
        value_name : str, default="value"
            Label of the value axis.
        resource_name : str, default="resource"
            Label of the axis of amounts.

        Returns
        -------
        display : ResourceDisplay, or BranchesDisplay for "all"

        Raises
        ------
        ValueError
            If the optimizer has no resources.
        """
        records = Tried(optimizer, branch).records
        found = [record.get("resource_values", {}) for record in records]
        amounts = list(found[0])
        if not amounts:
            raise ValueError(
                "Expected a search or an optimizer with a resource, got one without, "
                "which has no learning curves; ConvergenceDisplay shows its values."
            )
        table = [[values[amount] for amount in amounts] for values in found]
        values = np.array(table, dtype=float)  # nan replaces None
        told = np.array([[value is not None for value in row] for row in table])
        return cls(
            values=np.where(np.isfinite(values), values, math.nan),
            failed=told & ~np.isfinite(values),
            amounts=amounts,
            value_name=value_name,
            resource_name=resource_name,
        )

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, [[self.ax_]] = panels(ax, 1, 1, height=self._height(look))
        self._draw_curves(look)
        at = np.flatnonzero(self.failed.any(axis=0))
        look.draw_rug(self.ax_, at, "x", color=look.failure, label="failed")
        labels = tuple(f"{amount:.12g}" for amount in self.amounts)
        name = self.resource_name
        scale = Scale(name, name, "category", labels=labels)
        limits = padded(*value_range(self.values.ravel(), cut=100.0), share=0.1)
        look.ticks(self.ax_.xaxis, scale)
        self._frame(look, limits, name)

    def _draw_curves(self, look: Look) -> None:
        """Draw the learning curves, with full evaluations on top."""
        full = np.isfinite(self.values[:, -1])
        best = int(np.nanargmax(self.values[:, -1])) if full.any() else -1
        blue, thin = look.palette[0], look.line
        is_best = np.arange(len(full)) == best
        kinds = [
            (~full, "partial", {"color": look.ink, "alpha": 0.35, "lw": thin}),
            (full & ~is_best, "full", {"color": blue, "alpha": 0.6, "lw": thin}),
            (is_best, "best", {"color": blue, "lw": 1.8 * thin, "zorder": 3}),
        ]
        for chosen, name, style in kinds:
            for i, curve in enumerate(drawable(self.values[chosen])):
                at = np.flatnonzero(np.isfinite(curve))
                dots = {"marker": "o", "ms": look.dot, "mew": 0, **style}
                self.ax_.plot(at, curve[at], label="_" if i else name, **dots)
