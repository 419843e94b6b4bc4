"""`SensitivityDisplay`: how much a miss of the optimum costs, and what matters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo._names import wrong
from skrobustbo.displays._base import Array, Display, Tried, drawn_by_branch
from skrobustbo.displays._scales import Scale
from skrobustbo.displays._style import Look, Ticks, panels
from skrobustbo.displays._text import short_names

#: Radii of the worst case, as fractions of the largest one.
_STEPS = 16
#: Styles of the parameters with a curve of their own, and the maximum number of bars.
_CURVES, _BARS = ("--", "-.", ":"), 12
#: Number of quasi-random points for the posterior mean, and of bins per axis.
_POINTS, _BINS = 2048, 64
#: Width in inches below which the panels are stacked.
_NARROW = 5.0


@dataclass(kw_only=True, eq=False, repr=False)
class SensitivityDisplay(Display):
    """How the score falls around the recommended point, and which parameters matter.

    The left or upper plot shows the worst posterior mean within a distance of the
    recommended point, in unit-cube coordinates: for all numeric and ordered parameters
    together, and for each of the three most sensitive ones alone. The right or lower
    plot shows the share of the variance of the posterior mean over the space that each
    parameter explains alone (first-order Sobol indices). The rest is interaction.

    Parameters
    ----------
    params : dict
        The recommended point.
    mean : float
        Posterior mean there.
    eps : array of shape (n,)
        Distances, from 0.
    worst : array of shape (n,)
        Worst posterior mean within each distance.
    worst_of : dict of str to array of shape (n,)
        The same if only one parameter moves, for each ordered one.
    importance : dict of str to float
        First-order Sobol index of each parameter that varies, in [0, 1].
    value_name : str, default="score"
        Label of the value axis.

    Attributes
    ----------
    axes_ : array of matplotlib axes, shape (2,)
    figure_ : matplotlib figure

    Notes
    -----
    The worst case is the smallest posterior mean over the points of `Space.ball`,
    including those of smaller balls: a fixed set of perturbations, exact in spaces of
    up to 4,096 points. Unordered choices are not perturbed. Importance is computed at
    2,048 fixed quasi-random points of the whole space. In a table of points
    (`Space.from_points`), correlated parameters share their importance.

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
    importance: dict[str, float]
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
        """Compute the data of an optimizer and plot them.

        Parameters
        ----------
        optimizer : Optimizer
            An optimizer that was told at least one finite value.
        ax : matplotlib axes, default=None
            Axes to draw on, as in `plot`.
        branch : int, str or None, default=None
            A branch by its number or name, or "all" for each on its own; see
            `BranchesDisplay`. None: the branch of the recommended point on the
            left, and all parameters on the right.
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
            importance=first_order(tried, tried.scales(tried.varying())),
            value_name=value_name,
        )

    def _height(self, look: Look) -> float:
        bars = self._height_of_bars(look)
        return 0.6 + bars if look.width < _NARROW else max(0.45, bars)

    def _height_of_bars(self, look: Look) -> float:
        return look.lines(min(len(self.importance), _BARS) + 3)

    def _draw(self, look: Look, ax: Any) -> None:
        short = short_names(list(self.importance))
        narrow, bars = look.width < _NARROW, self._height_of_bars(look)
        shape = (2, 1) if narrow else (1, 2)
        ratios: dict[str, Any] = {"height_ratios": (0.6, bars)} if narrow else {}
        self.figure_, axes = panels(ax, *shape, height=self._height(look), **ratios)
        self.axes_ = axes.ravel()
        left, right = self.axes_
        self._draw_curves(left, look, short)
        look.dress(left, x="distance moved", y=f"worst {self.value_name}")
        left.set_xlim(0, self.eps[-1])
        scale = self._draw_bars(right, look, short)
        look.dress(right, x="importance (%)", grid="x")
        look.parts += [
            Ticks(left.xaxis, most=5),
            Ticks(left.yaxis),
            Ticks(right.xaxis, most=5),
            Ticks(right.yaxis, scale),
        ]
        look.explain(left)
        right.invert_yaxis()
        right.tick_params(axis="y", length=0)

    def _draw_curves(self, ax: Any, look: Look, short: dict[str, str]) -> None:
        label = "all moved" if len(self.worst_of) != 1 else "moved"
        ax.plot(self.eps, self.worst, color=look.ink, lw=1.6 * look.line, label=label)
        delicate = sorted(self.worst_of, key=lambda name: self.worst_of[name][-1])
        several = delicate if len(delicate) > 1 else []
        for name, style, colour in zip(several, _CURVES, look.palette, strict=False):
            line = {"color": colour, "lw": 1.2 * look.line, "label": short[name]}
            ax.plot(self.eps, self.worst_of[name], style, **line)

    def _draw_bars(self, ax: Any, look: Look, short: dict[str, str]) -> Scale:
        ranked = sorted(self.importance, key=lambda name: -self.importance[name])
        shown = ranked[: max(1, min(_BARS, look.room(ax)))]
        shares = [100 * self.importance[name] for name in shown]
        bars = ax.barh(range(len(shown)), shares, color=look.palette[0], alpha=0.8)
        texts = [f"{share:.0f}" if share >= 0.5 else "<1" for share in shares]
        text = {"padding": 0.4 * look.size, "fontsize": 0.9 * look.size}
        ax.bar_label(bars, texts, color=look.ink, **text)
        ax.set_xlim(0, min(max(shares) * 1.2 + 8, 112))
        labels = tuple(short[name] for name in shown)
        return Scale("", "", "category", labels=labels)


def _worst(
    optimizer: Any, params: dict[str, Any], eps: Array
) -> tuple[Array, dict[str, Array]]:
    """Return the worst means within each distance, jointly and by parameter."""
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


# Importance ---------------------------------------------------------------------------


def first_order(tried: Tried, scales: Mapping[str, Scale]) -> dict[str, float]:
    """Return the first-order Sobol index of each parameter.

    It is Var(E[f | x_i]) / Var(f), the share of the variance that vanishes once the
    parameter is known, of the posterior mean f at fixed space-filling points. E[f |
    x_i] is the mean of f over the points of one bin. Quasi-random points fill every bin
    evenly in the other parameters, so bin means have little random variation:
    thousandths of the variance, up to 0.03 if twenty parameters act only together. All
    indices are 0 if f is constant.
    """
    points = tried.space.sample(_POINTS, random_state=0)
    mean = np.asarray(tried.optimizer.predict(points), dtype=float)
    known = np.isfinite(mean)  # values that did not overflow
    size = float(np.abs(mean[known]).max(initial=0.0)) or 1.0
    f = mean[known] / size  # squares of the largest floats would overflow
    f = f - f.mean() if len(f) else f
    total = float(np.sum(f**2))
    if total <= 1e-24 * len(f):
        return dict.fromkeys(scales, 0.0)
    shares = {}
    for name, scale in scales.items():
        groups = _groups(scale.positions(points)[known])
        counts, sums = np.bincount(groups), np.bincount(groups, f)
        between = float(np.sum(sums**2 / np.maximum(counts, 1)))
        shares[name] = min(between / total, 1.0)
    return shares


def _groups(positions: Array) -> NDArray[np.intp]:
    """Return the bin of each point; points without the parameter share one."""
    found, codes = np.unique(positions, return_inverse=True)
    if len(found) <= _BINS:
        return np.asarray(codes, dtype=np.intp)
    present = np.isfinite(positions)
    edges = np.quantile(positions[present], np.linspace(0, 1, _BINS + 1)[1:-1])
    bins = np.searchsorted(edges, positions, side="right")
    return np.where(present, bins, _BINS).astype(np.intp)


def most_important(tried: Tried, scales: Mapping[str, Scale], most: int) -> list[str]:
    """Return the `most` most important parameters, in their own order."""
    names = list(scales)
    if len(names) <= most or np.isnan(tried.values).all():
        return names[:most]
    shares = first_order(tried, scales)
    chosen = sorted(names, key=lambda name: -shares[name])[:most]
    return [name for name in names if name in chosen]
