"""What all displays share: where their data come from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skrobustbo.displays._scales import Scale, scale_of, short_names
from skrobustbo.displays._style import Look, look_of, settle

Array = NDArray[np.float64]
Records = list[dict[str, Any]]
#: What the values of a search, and those of an optimizer, are called on axes.
SCORE, VALUE = "score", "value"


class Display:
    """Base class of displays.

    `from_search` and `from_optimizer` compute the data and draw them at once, as
    scikit-learn's displays do; `plot` draws them again elsewhere.
    """

    figure_: Any
    #: Whether values are drawn, whose name stands on an axis.
    shows_values: ClassVar[bool] = True

    @classmethod
    def from_search(cls, search: Any, *, ax: Any = None, **options: Any) -> Self:
        """Compute the data of a fitted search and draw them.

        Parameters
        ----------
        search : RobustBayesSearchCV
            A fitted search.
        ax : matplotlib axes, default=None
            Axes to draw on, as in `plot`.
        **options : dict
            Further arguments of `from_optimizer`.

        Returns
        -------
        display : Display
            Drawn.
        """
        if cls.shows_values:
            options.setdefault("value_name", SCORE)
        make: Any = cls  # every display has a from_optimizer with options of its own
        display: Self = make.from_optimizer(optimizer_of(search), ax=ax, **options)
        return display

    def plot(self, ax: Any = None) -> Self:
        """Draw the data.

        Parameters
        ----------
        ax : matplotlib axes or array of them, default=None
            Where to draw; None for a new figure. One axes is divided into as many
            panels as the display has. `ConvergenceDisplay` keeps what is drawn there.

        Returns
        -------
        self : Display
        """
        look = look_of(ax)
        self._draw(look, ax)
        settle(self.figure_, look.parts)
        return self

    def _draw(self, look: Look, ax: Any) -> None:
        """Draw the data; what is to be fitted into the figure are the look's parts."""
        raise NotImplementedError


def optimizer_of(search: Any) -> Any:
    """Return the optimizer of a fitted search."""
    check_is_fitted(search, "optimizer_")
    return search.optimizer_


def told_records(optimizer: Any) -> Records:
    """Return the records of the evaluated points, in the order asked."""
    records = [r for r in optimizer.history_ if not r["pending"]]
    if not records:
        raise ValueError(
            "Expected an optimizer that was told at least one value, got one without "
            "any; tell one first."
        )
    return records


def values_of(records: Records) -> Array:
    """Return the values, nan where an evaluation failed, shape (n,)."""
    values = np.array([record["value"] for record in records], dtype=float)
    return np.where(np.isfinite(values), values, math.nan)


def params_of(records: Records) -> list[dict[str, Any]]:
    """Return the params dicts."""
    return [record["params"] for record in records]


def varying(optimizer: Any) -> list[str]:
    """Return the names of the parameters that are not constant (all, if all are)."""
    space = optimizer.space
    names = [name for name in space.names if space.dimensions[name].size > 1]
    return names or list(space.names)


def scales_of(optimizer: Any, names: Sequence[str]) -> dict[str, Scale]:
    """Return the axes of parameters by name."""
    dimensions, short = optimizer.space.dimensions, short_names(names)
    return {name: scale_of(name, short[name], dimensions[name]) for name in names}


def checked_names(cls: str, optimizer: Any, names: Any) -> list[str]:
    """Return the parameters asked for; an error names the unknown ones."""
    known = list(optimizer.space.names)
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if name not in known:
            raise ValueError(
                f"The 'parameters' of {cls} must be among {known}. Got {name!r} "
                "instead."
            )
    return listed
