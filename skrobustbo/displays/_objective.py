"""`ObjectiveDisplay`: what the model makes of the objective."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from skrobustbo.displays._base import (
    SCORE,
    VALUE,
    Array,
    Display,
    checked_names,
    params_of,
    scales_of,
    told_records,
    values_of,
    varying,
)
from skrobustbo.displays._importance import most_important
from skrobustbo.displays._layout import Fitted
from skrobustbo.displays._scales import Scale
from skrobustbo.displays._slices import Slice, slices_of
from skrobustbo.displays._style import Look, drawable, padded, panels, value_range
from skrobustbo.displays._surfaces import Scene, draw_pair, draw_single

#: Panels unless parameters are named.
_MOST = 6
#: Inches from which on there are three panels side by side.
_WIDE = 5.5


@dataclass(kw_only=True, eq=False, repr=False)
class ObjectiveDisplay(Display):
    """The posterior along parameters, the others fixed at the recommended point.

    Along one parameter, a line is the posterior mean and its band two deviations to
    either side; categories have bars. Along two, there is a map of the mean and one of
    the deviation. Dots are the trials: their other parameters differ, so that they
    need not lie on the line. The recommended point is a dashed line, or a star.

    Parameters
    ----------
    slices : list of Slice
        One for each parameter, or pair, drawn: `names`, `positions` (of the grid; one
        array for each parameter), `mean` and `std` (shape of the grid; nan where the
        space has no such point), in units of the values.
    params : dict
        The recommended point.
    trials : list of dict
        The points evaluated.
    values : array of shape (n,)
        Their values, nan for failures.
    scales : dict of str to Scale
        The axes: full and short names, kind, ends, categories.
    value_name : str, default="score"
        What the values are, on the axes.

    Attributes
    ----------
    axes_ : array of matplotlib axes
        One for each parameter, two for a pair.
    figure_ : matplotlib figure

    Notes
    -----
    The posterior is that of `Optimizer.predict`: a MAP model on all the data. It sees
    the values as they are, whatever a policy makes of them for its search.

    Examples
    --------
    >>> from skrobustbo.displays import ObjectiveDisplay
    >>> from skrobustbo import Optimizer, Real
    >>> optimizer = Optimizer({"x": Real(0, 1)}, random_state=0)
    >>> optimizer.tell([{"x": 0.1}, {"x": 0.5}, {"x": 0.9}], [1.0, 3.0, 2.0])
    >>> ObjectiveDisplay.from_optimizer(optimizer).slices[0].names
    ('x',)
    """

    slices: Sequence[Slice]
    params: dict[str, Any]
    trials: Sequence[dict[str, Any]]
    values: Array
    scales: dict[str, Scale]
    value_name: str = SCORE

    @classmethod
    def from_optimizer(
        cls,
        optimizer: Any,
        *,
        ax: Any = None,
        parameters: Sequence[str | tuple[str, str]] | str | None = None,
        value_name: str = VALUE,
    ) -> Self:
        """Compute the data of an optimizer and draw them.

        Parameters
        ----------
        optimizer : Optimizer
            One that was told at least one finite value.
        ax : matplotlib axes, default=None
            Where to draw, as in `plot`.
        parameters : str or list of str and pairs of str, default=None
            Parameters to go along, one by one or two at once: ``["C"]``,
            ``[("C", "gamma")]``. None: those that vary, of more than six the six that
            matter most (see `SensitivityDisplay`).
        value_name : str, default="value"
            What the values are, on the axes.

        Returns
        -------
        display : ObjectiveDisplay
        """
        records = told_records(optimizer)
        params = optimizer.recommend()
        asked = _asked(cls.__name__, optimizer, parameters)
        names = varying(optimizer) if asked is None else [n for ns in asked for n in ns]
        scales = scales_of(optimizer, records, list(dict.fromkeys(names)))
        if asked is None:
            here = {name: scales[name] for name in names if name in params}
            asked = [(name,) for name in most_important(optimizer, here, _MOST)]
        trials = params_of(records)
        return cls(
            slices=slices_of(optimizer, params, asked, scales, trials),
            params=params,
            trials=trials,
            values=values_of(records),
            scales=scales,
            value_name=value_name,
        ).plot(ax=ax)

    def _draw(self, look: Look, ax: Any) -> list[Fitted]:
        n = sum(len(one.names) for one in self.slices)
        pairs = any(len(one.names) == 2 for one in self.slices)
        wide = look.width >= _WIDE and not pairs
        n_columns = min(n, 3 if wide else 2)
        n_rows = math.ceil(n / n_columns)
        height = (0.7 if n_columns == 1 else 0.85 / n_columns + 0.05) * n_rows
        self.figure_, axes = panels(ax, n_rows, n_columns, height=height)
        for unused in axes.ravel()[n:]:
            unused.set_axis_off()
        self.axes_ = axes.ravel()[:n]
        return self._draw_panels(look, n_columns)

    def _draw_panels(self, look: Look, n_columns: int) -> list[Fitted]:
        parts: list[Fitted] = []
        scene = Scene(
            look, self.scales, self.params, self.trials, self.values, self.value_name
        )
        limits = self._limits()
        place = 0
        for one in self.slices:
            axes = self.axes_[place : place + len(one.names)]
            if len(one.names) == 2:
                parts += draw_pair(self.figure_, axes, scene, one)
            else:
                left = place % n_columns == 0
                parts += draw_single(axes[0], scene, one, limits, left)
            place += len(one.names)
        return parts

    def _limits(self) -> tuple[float, float]:
        """Return the range of values that all panels share."""
        low, high = value_range(self.values)
        means = [drawable(s.mean).ravel() for s in self.slices if len(s.names) == 1]
        inside = np.concatenate([[low, high], *means])
        inside = inside[np.isfinite(inside) & (inside >= low)]
        return padded(low, float(inside.max()), share=0.12)


def _asked(cls: str, optimizer: Any, parameters: Any) -> list[tuple[str, ...]] | None:
    """Return the parameters to go along, each a tuple of one or two."""
    if parameters is None:
        return None
    listed = [parameters] if isinstance(parameters, str) else list(parameters)
    asked = [(one,) if isinstance(one, str) else tuple(one) for one in listed]
    for names in asked:
        checked_names(cls, optimizer, names)
        if len(set(names)) not in (1, 2) or len(set(names)) < len(names):
            raise ValueError(
                f"The 'parameters' of {cls} must be names and pairs of two names. "
                f"Got {names!r} among them instead."
            )
    if not asked:
        raise ValueError(f"The 'parameters' of {cls} must name at least one. Got none.")
    return asked
