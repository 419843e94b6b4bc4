"""`ImportanceDisplay`: the importance of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._base import Array, Display, Tried, drawn_by_branch
from skrobustbo.displays._scales import Scale
from skrobustbo.displays._style import Look, panels, side_of
from skrobustbo.displays._text import short_names

#: The positions of points in each parameter, and the group of each point.
Places = dict[str, Array]
Groups = NDArray[np.intp]
#: Returns the share of the variance that groups explain.
Share = Callable[[Groups], float]

#: Number of quasi-random points for the posterior mean.
_POINTS = 2048
#: Number of bins for a parameter alone, and for each parameter in a pair.
_BINS, _COARSE = 64, 8
#: Number of parameters whose pairs are considered, and maximum number of bars for
#: pairs.
_PAIRED, _PAIRS = 6, 4
#: Share of the variance below which a pair or the rest has no bar.
_LEAST = 0.02
#: Maximum number of bars.
_BARS = 12
#: Number of candidates per parameter from which the shares are not rough.
_ENOUGH = 10
#: Characters of a label that fit on one line.
_LONG = 16


@dataclass(kw_only=True, eq=False, repr=False)
class ImportanceDisplay(Display):
    """Importance of the parameters, alone and in combination.

    Each bar shows a share of the variance of the posterior mean over the whole space.
    This share is explained by one parameter alone, by the interaction of two parameters
    or, in the last bar, by interactions of more than two parameters.

    Parameters
    ----------
    alone : dict of str to float
        Main effect (first-order Sobol index) of each parameter that varies, in [0, 1].
    together : dict of tuple of str to float
        Interactions (second-order Sobol indices) of at least 0.02 between pairs of the
        most important parameters, largest first.
    rest : float
        The remaining share of the variance.
    is_rough : bool, default=False
        Whether there are fewer than ten candidates per parameter. More candidates may
        then change the order of the shares.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure

    Notes
    -----
    The indices are computed from 2,048 fixed quasi-random points, using mean values in
    bins of one or two parameters. In a table of points (`Space.from_points`),
    correlated parameters share their importance, so the shares may sum to more than 1.
    The rest includes interactions on scales finer than an eighth of the range of a
    parameter.

    Examples
    --------
    >>> from skrobustbo.displays import ImportanceDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"x": Real(0, 1), "y": Real(0, 1)}, random_state=0)
    >>> for x in (0.1, 0.5, 0.9):
    ...     optimizer.tell([{"x": x, "y": y} for y in (0.2, 0.8)], [x, x])
    >>> alone = ImportanceDisplay.from_optimizer(optimizer).alone
    >>> alone["x"] > 0.9 > 0.1 > alone["y"]
    True
    """

    shows_values = False

    alone: dict[str, float]
    together: dict[tuple[str, str], float]
    rest: float
    is_rough: bool = False

    @classmethod
    @drawn_by_branch
    def from_optimizer(
        cls, optimizer: Any, *, ax: Any = None, branch: Any = None
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
            `BranchesDisplay`). If None, the parameters of all branches are shown.

        Returns
        -------
        display : ImportanceDisplay, or BranchesDisplay for "all"
        """
        return cls._of(optimizer, branch)

    @classmethod
    def _of(cls, optimizer: Any, branch: int | None = None) -> ImportanceDisplay:
        """Compute the data without plotting them."""
        tried = Tried(optimizer, branch)
        tried.recommended()  # raises an error if there is no finite value
        places, share = divided(tried, tried.scales(tried.varying()))
        alone = main_effects(places, share)
        together = interactions(places, share, alone)
        explained = sum(alone.values()) + sum(together.values())
        n = len(next(iter(places.values()), ()))
        everything = share(np.arange(n))  # 0 if the mean is constant
        rest = max(0.0, everything - explained)
        n_values = int(np.isfinite(tried.values).sum())
        is_rough = n_values < _ENOUGH * len(alone)
        return cls(alone=alone, together=together, rest=rest, is_rough=is_rough)

    def _bars(self) -> list[tuple[str, float, int]]:
        """Return the label, share and kind of each bar, from top to bottom."""
        short = short_names(list(self.alone))
        ranked = sorted(self.alone, key=lambda name: -self.alone[name])
        pairs = list(self.together.items())[:_PAIRS]
        last = [("rest", self.rest, 2)] if self.rest >= _LEAST else []
        n_alone = max(1, _BARS - len(pairs) - len(last))
        return [
            *((short[name], self.alone[name], 0) for name in ranked[:n_alone]),
            *((f"{short[a]} \u00d7 {short[b]}", share, 1) for (a, b), share in pairs),
            *last,
        ]

    def _height(self, look: Look) -> float:
        # A long label is broken over two lines.
        n_lines = sum(1 + (len(label) > _LONG) for label, *_ in self._bars())
        return look.lines(n_lines + 4)

    def _draw(self, look: Look, ax: Any) -> None:
        self.figure_, axes = panels(ax, 1, 1, height=self._height(look))
        self.ax_ = axes[0, 0]
        room = int(side_of(self.ax_.yaxis) / (1.15 * look.size))
        bars = self._bars()[: max(1, room)]
        colours = (look.palette[0], look.palette[1], "grey")
        for kind, name in enumerate(("alone", "together", "")):
            rows = [i for i, bar in enumerate(bars) if bar[2] == kind]
            shares = [100 * bars[i][1] for i in rows]
            if not rows:
                continue
            given = {"color": colours[kind], "alpha": 0.8, "label": name or None}
            drawn = self.ax_.barh(rows, shares, **given)
            texts = [f"{share:.0f}" if share >= 0.5 else "<1" for share in shares]
            text = {"padding": 0.4 * look.size, "fontsize": 0.9 * look.size}
            self.ax_.bar_label(drawn, texts, color=look.ink, **text)
        most = 100 * max(share for _, share, _ in bars)
        self.ax_.set_xlim(0, min(most * 1.2 + 8, 112))
        doubt = ", rough: few candidates" if self.is_rough else ""
        look.dress(self.ax_, x=f"importance (%){doubt}", grid="x")
        scale = Scale("", "", "category", labels=tuple(label for label, *_ in bars))
        look.numbers(self.ax_.xaxis)
        look.ticks(self.ax_.yaxis, scale)
        if self.together:
            look.explain(self.ax_)
        self.ax_.invert_yaxis()
        self.ax_.tick_params(axis="y", length=0)


# Computed -----------------------------------------------------------------------------


def divided(tried: Tried, scales: Mapping[str, Scale]) -> tuple[Places, Share]:
    """Return points that fill the space, and a function that divides the variance.

    Returns
    -------
    places : dict of str to array
        Positions of fixed quasi-random points along each parameter.
    share : callable
        Takes the group of each point, and returns the share of the variance of the
        posterior mean f that the groups explain, Var(E[f | group]) / Var(f). The share
        is 0 if f is constant.
    """
    points = tried.space.sample(_POINTS, random_state=0)
    mean = np.asarray(tried.optimizer.predict(points), dtype=float)
    known = np.isfinite(mean)  # values that did not overflow
    size = float(np.abs(mean[known]).max(initial=0.0)) or 1.0
    f = mean[known] / size  # squares of the largest floats would overflow
    f = f - f.mean() if len(f) else f
    total = float(np.sum(f**2))

    def share(groups: Groups) -> float:
        if total <= 1e-24 * len(f):
            return 0.0
        counts, sums = np.bincount(groups), np.bincount(groups, f)
        return min(float(np.sum(sums**2 / np.maximum(counts, 1))) / total, 1.0)

    places = {name: scale.positions(points)[known] for name, scale in scales.items()}
    return places, share


def main_effects(places: Places, share: Share) -> dict[str, float]:
    """Return the first-order Sobol index of each parameter.

    The points in a bin of the parameter form a group. In each bin, quasi-random points
    cover the other parameters evenly, so the random variation of the bin means is
    small. It is a few thousandths of the variance, or up to 0.03 if twenty parameters
    act only in combination.
    """
    return {name: share(_groups(each, _BINS)) for name, each in places.items()}


def interactions(
    places: Places, share: Share, alone: Mapping[str, float]
) -> dict[tuple[str, str], float]:
    """Return the relevant second-order Sobol indices in descending order.

    The first-order indices of both parameters, computed with bins of the same size, are
    subtracted.
    """
    ranked = sorted(alone, key=lambda name: -alone[name])
    coarse = {name: _groups(places[name], _COARSE) for name in ranked[:_PAIRED]}
    own = {name: share(groups) for name, groups in coarse.items()}
    pairs = {}
    for a, b in combinations([name for name in places if name in coarse], 2):
        cells = coarse[a] * (_COARSE + 1) + coarse[b]
        pairs[a, b] = share(cells) - own[a] - own[b]
    told = sorted(pairs, key=lambda pair: -pairs[pair])
    return {pair: pairs[pair] for pair in told if pairs[pair] >= _LEAST}


def _groups(positions: Array, n_bins: int) -> Groups:
    """Return the bin of each point; points without the parameter share a bin."""
    found, codes = np.unique(positions, return_inverse=True)
    if len(found) <= n_bins:
        return np.asarray(codes, dtype=np.intp)
    present = np.isfinite(positions)
    edges = np.quantile(positions[present], np.linspace(0, 1, n_bins + 1)[1:-1])
    bins = np.searchsorted(edges, positions, side="right")
    return np.where(present, bins, n_bins).astype(np.intp)


def most_important(tried: Tried, scales: Mapping[str, Scale], most: int) -> list[str]:
    """Return up to `most` of the most important parameters, in their given order."""
    names = list(scales)
    if len(names) <= most or np.isnan(tried.values).all():
        return names[:most]
    shares = main_effects(*divided(tried, scales))
    chosen = sorted(names, key=lambda name: -shares[name])[:most]
    return [name for name in names if name in chosen]
