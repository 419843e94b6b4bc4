"""`LengthScaleDisplay`: the models that chose the candidates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skrobustbo.displays._base import Array, Display, Records, Tried, drawn_by_branch
from skrobustbo.displays._scales import Scale
from skrobustbo.displays._style import Look, panels
from skrobustbo.displays._text import plain_text

_BINS = 15


@dataclass(kw_only=True, eq=False, repr=False)
class LengthScaleDisplay(Display):
    """Length scales of the models that chose the candidates.

    Each dot is a query, drawn at the length scale of the model that chose it. If the
    model has a length scale for each parameter, their geometric mean is used. If the
    policy keeps several models, a line shows how long each model survives, and a cross
    marks its elimination. The bars on the right show the share of queries at each
    length scale or by each model.

    Parameters
    ----------
    numbers : array of int, shape (n,)
        Numbers of the candidates that a model chose, starting at 0.
    labels : list of str
        Label of the model that chose each candidate.
    length_scales : array of shape (n,)
        Length scales of these models in the unit cube, relative to the estimate for the
        policy "robust"; nan for models without a length scale.
    length_scale_of : dict of str to float
        Length scales by label, including models that survive; empty if the axis shows
        models.
    axis : {"length scale", "length scale / estimate", "model"}
        Quantity on the vertical axis.
    alive : list of list of str
        Labels of the surviving models when each candidate was chosen.
    share : dict of str to float
        Share of the queries by model label.
    introduced_at, eliminated_at : dict of str to int
        Numbers of the candidates at which each model was introduced and eliminated;
        empty for policies that do not keep several models.

    Attributes
    ----------
    axes_ : array of matplotlib axes, shape (2,)
    figure_ : matplotlib figure

    Examples
    --------
    >>> from skrobustbo.displays import LengthScaleDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"x": Real(0, 1)}, "lb-gp-ucb", random_state=0)
    >>> for _ in range(6):
    ...     params = optimizer.ask()
    ...     optimizer.tell(params, params["x"])
    >>> LengthScaleDisplay.from_optimizer(optimizer).axis
    'length scale'
    """

    shows_values = False

    numbers: NDArray[np.intp]
    labels: list[str]
    length_scales: Array
    length_scale_of: dict[str, float]
    axis: str
    alive: list[list[str]]
    share: dict[str, float]
    introduced_at: dict[str, int]
    eliminated_at: dict[str, int]

    @classmethod
    @drawn_by_branch
    def from_optimizer(
        cls, optimizer: Any, *, ax: Any = None, branch: Any = None
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

        Returns
        -------
        display : LengthScaleDisplay, or BranchesDisplay for "all"
        """
        told = Tried(optimizer, branch).records
        numbers = [i for i, one in enumerate(told) if one["kind"] == "model"]
        records = [told[i] for i in numbers]
        labels = [record["model_label"] for record in records]
        axis = _axis(records)
        places = _places(records, axis)
        introduced, eliminated = _lives(numbers, records)
        return cls(
            numbers=np.array(numbers, dtype=np.intp),
            labels=labels,
            length_scales=np.array([places.get(label, math.nan) for label in labels]),
            length_scale_of=places,
            axis=axis,
            alive=[list(record["alive"]) for record in records],
            share={k: labels.count(k) / len(labels) for k in dict.fromkeys(labels)},
            introduced_at=introduced,
            eliminated_at=eliminated,
        )

    def _draw(self, look: Look, ax: Any) -> None:
        height = self._height(look)
        self.figure_, axes = panels(ax, 1, 2, height=height, width_ratios=(3, 1))
        self.axes_ = axes[0]
        main, side = self.axes_
        side.sharey(main)
        scale, heights = self._heights()
        self._draw_lives(main, look, heights)
        places = [heights[label] for label in self.labels]
        label = "chosen by" if self.axis == "model" else "length scale used"
        dots = {"color": look.palette[0], "ms": look.dot, "mew": 0, "label": label}
        main.plot(self.numbers, places, "o", **dots)
        self._draw_shares(side, look, scale, heights)
        self._finish(look, scale)

    def _heights(self) -> tuple[Scale, dict[str, float]]:
        """Return the vertical axis and the position of each label."""
        labels = list(dict.fromkeys([*self.introduced_at, *self.labels]))
        if self.axis == "model":
            texts = tuple(map(plain_text, labels)) or ("",)
            scale = Scale("model", "model", "category", labels=texts)
            return scale, {label: float(i) for i, label in enumerate(labels)}
        heights = {label: self.length_scale_of[label] for label in labels}
        low, high = min(heights.values()), max(heights.values())
        if high < 2 * low:
            low, high = low / 2, high * 2
        return Scale("theta", self.axis, "log", low, high), heights

    def _draw_lives(self, ax: Any, look: Look, heights: dict[str, float]) -> None:
        line = {"color": look.ink, "alpha": 0.35, "lw": 1.4 * look.line}
        for label, start in self.introduced_at.items():
            stop = self.eliminated_at.get(label, self.numbers[-1] + 1)
            ends = start - 0.5, stop - 0.5
            ax.hlines(heights[label], *ends, label="still in use", **line)
        cross = {"ms": 1.2 * look.dot, "mew": look.line, "color": look.palette[1]}
        for label, stop in self.eliminated_at.items():
            place = stop - 0.5, heights[label]
            ax.plot(*place, "x", label="eliminated", zorder=4, **cross)

    def _draw_shares(
        self, ax: Any, look: Look, scale: Scale, heights: dict[str, float]
    ) -> None:
        bars: dict[str, Any] = {"color": look.palette[0], "alpha": 0.75}
        if self.axis == "model" or self.introduced_at:
            places = np.array([heights[label] for label in self.share])
            shares = 100 * np.array(list(self.share.values()))
            thick = 0.66 if self.axis == "model" else _thickness(places, scale)
            ax.barh(places, shares, thick, **bars)
        else:
            bins = np.geomspace(scale.low, scale.high * (1 + 1e-12), _BINS + 1)
            weights = np.full(len(self.labels), 100 / max(len(self.labels), 1))
            bars |= {"orientation": "horizontal", "rwidth": 0.94}
            ax.hist(self.length_scales, bins, weights=weights, **bars)
        ax.set_xlim(0, 1.05 * max([5.0, *(bar.get_width() for bar in ax.patches)]))

    def _finish(self, look: Look, scale: Scale) -> None:
        main, side = self.axes_
        look.dress(main, x=self._counted, y=self.axis, grid="")
        look.dress(side, x="use (%)", grid="x")
        first, last = self.numbers[[0, -1]] if len(self.numbers) else (0, 0)
        main.set_xlim(first - 0.5, last + 0.5)
        look.numbers(main.xaxis, whole=True)
        look.numbers(side.xaxis, whole=True)
        look.ticks(main.yaxis, scale)
        look.explain(main)
        side.tick_params(axis="y", labelleft=False, length=0)
        if scale.kind == "category":
            main.invert_yaxis()
        if not self.labels:
            look.note(main, "no model has chosen yet")


def _thickness(places: Array, scale: Scale) -> Array:
    """Return the thickness of bars on a log axis, with gaps between neighbours."""
    gaps = np.diff(np.log(np.unique(places)))
    least = min([*gaps, math.log(scale.high / scale.low) / 8])
    return 2 * math.tanh(0.4 * least) * places


def _axis(records: Records) -> str:
    """Return a quantity for the vertical axis that is known for all models."""
    if records and all(record["divisor"] is not None for record in records):
        return "length scale / estimate"
    if records and all(record["length_scales"] is not None for record in records):
        return "length scale"
    return "model"


def _places(records: Records, axis: str) -> dict[str, float]:
    """Return the axis position of each model that chose a query or survived."""
    if axis == "model":
        return {}
    if axis == "length scale / estimate":
        return {r["model_label"]: 1 / r["divisor"] for r in records}
    models = {}
    for r in records:
        models[r["model_label"]] = r["length_scales"]
        models |= dict(zip(r["alive"], r["alive_length_scales"], strict=True))
    return {k: float(np.exp(np.mean(np.log(theta)))) for k, theta in models.items()}


def _lives(
    numbers: Sequence[int], records: Records
) -> tuple[dict[str, int], dict[str, int]]:
    """Return when each model was introduced and when it was eliminated.

    If a policy has a single estimate, `alive` contains the estimate before the query.
    When the estimate changes, `alive` therefore does not contain the model that chose
    the query.
    """
    held = all(r["model_label"] in r["alive"] for r in records if r["alive"])
    if not held or not any(r["alive"] for r in records):
        return {}, {}
    introduced: dict[str, int] = {}
    eliminated: dict[str, int] = {}
    for number, record in zip(numbers, records, strict=True):
        for label in record["alive"]:
            introduced.setdefault(label, number)
            eliminated.pop(label, None)
        for label in introduced:
            if label not in record["alive"]:
                eliminated.setdefault(label, number)
    return introduced, eliminated
