"""`SensitivityDisplay`: how the score falls around the recommended point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skrobustbo._names import wrong
from skrobustbo.displays._base import Array, Display, Tried, drawn_by_branch
from skrobustbo.displays._style import Look, panels
from skrobustbo.displays._text import short_names

#: Number of radii at which the worst case is computed.
_STEPS = 16
#: Line styles of the parameters with their own curve.
_CURVES = ("--", "-.", ":")


@dataclass(kw_only=True, eq=False, repr=False)
class SensitivityDisplay(Display):
    """Decrease of the score around the recommended point.

    The curves show the worst posterior mean within a given distance of the recommended
    point, in unit-cube coordinates. One curve is for all numeric and ordered parameters
    together, and the others are for each of the three most sensitive parameters alone.

    Parameters
    ----------
    params : dict
        The recommended point.
    mean : float
        Posterior mean at the recommended point.
    eps : array of shape (n,)
        Distances from the recommended point, starting at 0.
    worst : array of shape (n,)
        Worst posterior mean within each distance.
    worst_of : dict of str to array of shape (n,)
        Worst posterior mean within each distance if only this parameter changes.
    value_name : str, default="score"
        Label of the value axis.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure

    Notes
    -----
    The worst case is the smallest posterior mean over the points in `Space.ball` for
    all distances up to the given one. These points are a fixed set of perturbations, or
    all neighbours in spaces of up to 4,096 points. Unordered choices are not perturbed.

    Examples
    --------
    >>> from skrobustbo.displays import SensitivityDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"x": Real(0, 1)}, random_state=0)
    >>> optimizer.tell([{"x": 0.1}, {"x": 0.5}, {"x": 0.9}], [1.0, 3.0, 2.0])
    >>> SensitivityDisplay.from_optimizer(optimizer).params
    {'x': 0.5}
    """

    params: dict[str, Any]
    mean: float
    eps: Array
    worst: Array
    worst_of: dict[str, Array]
    value_name: str = "score"

    @classmethod
    @drawn_by_branch
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        branch: Any = None,
        max_eps: float = 0.2,
        value_name: str = "value",
    ) -> Any:
        """Compute the data for an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
            An optimizer with at least one finite value.
        ax : matplotlib axes, default=None
            Axes on which to plot, as in `plot`.
        branch : int, str or None, default=None
            Number or name of a branch, or "all" for one plot per branch (see
            `BranchesDisplay`). If None, the branch of the recommended point is shown.
        max_eps : float, default=0.2
            Largest distance, in unit-cube coordinates.
        value_name : str, default="value"
            Label of the value axis.

        Returns
        -------
        display : SensitivityDisplay, or BranchesDisplay for "all"
        """
        if not 0 < max_eps <= 1:
            raise wrong("max_eps", "SensitivityDisplay", "in (0, 1]", max_eps)
        tried = Tried(optimizer, branch)
        params = tried.recommended()
        eps = np.linspace(0.0, max_eps, _STEPS + 1)
        worst, worst_of = _worst(optimizer, params, eps)
        return cls(
            params=params,
            mean=float(worst[0]),
            eps=eps,
            worst=worst,
            worst_of=worst_of,
            value_name=value_name,
        )

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, axes = panels(ax, 1, 1, height=self._height(look))
        self.ax_ = axes[0, 0]
        self._draw_curves(look)
        look.dress(self.ax_, x="distance moved", y=f"worst {self.value_name}")
        self.ax_.set_xlim(0, self.eps[-1])
        look.numbers(self.ax_.xaxis)
        look.numbers(self.ax_.yaxis)
        look.explain(self.ax_)

    def _draw_curves(self, look: Look) -> None:
        label = "all moved" if len(self.worst_of) != 1 else "moved"
        together = {"color": look.ink, "lw": 1.6 * look.line, "label": label}
        self.ax_.plot(self.eps, self.worst, **together)
        delicate = sorted(self.worst_of, key=lambda name: self.worst_of[name][-1])
        several = delicate if len(delicate) > 1 else []
        short = short_names(delicate)
        for name, style, colour in zip(several, _CURVES, look.palette, strict=False):
            line = {"color": colour, "lw": 1.2 * look.line, "label": short[name]}
            self.ax_.plot(self.eps, self.worst_of[name], style, **line)


def _worst(
    optimizer: Any, params: dict[str, Any], eps: Array
) -> tuple[Array, dict[str, Array]]:
    """Return the worst mean within each distance, jointly and by parameter."""
    space = optimizer.space.branches[optimizer.space.owner(params)]
    # Parameters that can move a little; an unordered choice has several columns.
    names = [
        name
        for name, dimension in space.dimensions.items()
        if len(space.columns(name)) == 1 and getattr(dimension, "ordered", True)
    ]
    moves = [*eps, *({name: float(radius)} for name in names for radius in eps)]
    around = space.encode(params)[None, :]
    balls = [space.ball(move)(around)[0] for move in moves]
    distinct, where = np.unique(np.concatenate(balls), axis=0, return_inverse=True)
    mean = np.asarray(optimizer.predict(space.decode_many(distinct)))[where.ravel()]
    starts = np.cumsum([0, *map(len, balls[:-1])])
    least = np.minimum.reduceat(mean, starts).reshape(-1, len(eps))
    worst = np.minimum.accumulate(least, axis=1)
    return worst[0], dict(zip(names, worst[1:], strict=True))
