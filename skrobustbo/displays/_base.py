"""What all displays share: where their data come from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skrobustbo.displays._fit import settle, title
from skrobustbo.displays._scales import Scale, pooled, scale_of
from skrobustbo.displays._style import Look, look_of
from skrobustbo.displays._text import short_names

Array = NDArray[np.float64]
Records = list[dict[str, Any]]
#: What the values of a search, and those of an optimizer, are called on axes.
SCORE, VALUE = "score", "value"


class Drawing:
    """What can be drawn, and drawn again elsewhere by `plot`."""

    figure_: Any
    #: Name of the branch that is drawn; empty for all of them, or the only one.
    branch_name: str = ""

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
        with look.settings():
            self._draw(look, ax)
            if ax is None:
                self._draw_key(look, self.figure_)
            if self.branch_name and ax is None:
                look.parts.append(title(self.figure_, self.branch_name, look.size))
            settle(self.figure_, look.parts)
        return self

    @property
    def _counted(self) -> str:
        """What the numbers of candidates count."""
        return "candidate of the branch" if self.branch_name else "candidate"

    def _height(self, look: Look) -> float:
        """Return the height of a new figure, in shares of its width."""
        raise NotImplementedError

    def _draw_key(self, look: Look, figure: Any) -> None:
        """Explain the marks in a figure of its own, where the panels have no legend."""

    def _draw(self, look: Look, ax: Any) -> None:
        """Draw the data; what is to be fitted into the figure are the look's parts."""
        raise NotImplementedError


class Display(Drawing):
    """Base class of displays.

    `from_search` and `from_optimizer` compute the data and draw them at once, as
    scikit-learn's displays do; `plot` draws them again elsewhere.
    """

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

        Raises
        ------
        TypeError
            If it is another kind of search.
        NotFittedError
            If it is not fitted.
        """
        optimizer = optimizer_of(search)
        if cls.shows_values:
            options.setdefault("value_name", metric_name(search))
        make: Any = cls  # every display has a from_optimizer with options of its own
        display: Self = make.from_optimizer(optimizer, ax=ax, **options)
        return display


def optimizer_of(search: Any) -> Any:
    """Return the optimizer of a fitted search."""
    if not hasattr(search, "search_metric"):
        raise TypeError(
            "Expected a fitted RobustBayesSearchCV, got an object of type "
            f"{type(search).__name__}; other searches have no optimizer to draw."
        )
    check_is_fitted(search, "optimizer_")
    return search.optimizer_


def metric_name(search: Any) -> str:
    """Return the name of the metric that a search maximises, "score" if it has none."""
    for name in (search.search_metric, search.refit, search.scoring):
        if isinstance(name, str):
            return name
    return SCORE


def told_records(optimizer: Any, branch: int | None = None) -> Records:
    """Return the records of the evaluated points, in the order asked; of one branch."""
    records = [r for r in optimizer.history_ if not r["pending"]]
    if not records:
        raise ValueError(
            "Expected an optimizer that was told at least one value, got one without "
            "any; tell one first."
        )
    if branch is None:
        return records
    owner = optimizer.space.owner
    return [record for record in records if owner(record["params"]) == branch]


def recommended(optimizer: Any, branch: int | None = None) -> dict[str, Any]:
    """Return the recommended point; of a branch, the evaluated one of largest mean."""
    params: dict[str, Any] = optimizer.recommend()
    if branch is None or optimizer.space.owner(params) == branch:
        return params
    records = told_records(optimizer, branch)
    known = np.isfinite(values_of(records))
    points = [p for p, ok in zip(params_of(records), known, strict=True) if ok]
    if not points:
        raise ValueError(
            f"Expected a branch with at least one finite value, got branch {branch} "
            "without any; choose another."
        )
    return points[int(np.argmax(optimizer.predict(points)))]


def values_of(records: Records) -> Array:
    """Return the values, nan where an evaluation failed, shape (n,)."""
    values = np.array([record["value"] for record in records], dtype=float)
    return np.where(np.isfinite(values), values, math.nan)


def params_of(records: Records) -> list[dict[str, Any]]:
    """Return the params dicts."""
    return [record["params"] for record in records]


def space_of(optimizer: Any, branch: int | None) -> Any:
    """Return the space that is drawn: all of it, or that of a branch."""
    # A point that several branches contain is of the first of them only.
    return optimizer.space if branch is None else optimizer.space.owned[branch]


def varying(optimizer: Any, branch: int | None = None) -> list[str]:
    """Return the names of the parameters that are not constant (all, if all are)."""
    space = space_of(optimizer, branch)
    names = [
        name
        for name in space.names
        if any(dimension.size > 1 for dimension in _dimensions(space, name))
    ]
    return names or list(space.names)


def differing(optimizer: Any, branch: int | None = None) -> list[str]:
    """Return the same, and constants that differ between branches."""
    space = space_of(optimizer, branch)
    names = varying(optimizer, branch)
    for name in space.names:
        first, *others = _dimensions(space, name)
        if name not in names and any(other != first for other in others):
            names.append(name)
    return [name for name in space.names if name in names]


def _dimensions(space: Any, name: str) -> list[Any]:
    """Return what each branch that has a parameter makes of it."""
    spaces = [branch.dimensions for branch in space.branches]
    return [dimensions[name] for dimensions in spaces if name in dimensions]


def scales_of(
    optimizer: Any, names: Sequence[str], branch: int | None = None
) -> dict[str, Scale]:
    """Return the axes of parameters by name, as a branch or as all have them."""
    space, short = space_of(optimizer, branch), short_names(names)
    scales = {}
    for name in names:
        dimensions = _dimensions(space, name)
        if len(dimensions) == 1:
            scales[name] = scale_of(name, short[name], dimensions[0])
            continue
        records = optimizer.history_
        tried = [r["params"][name] for r in records if name in r["params"]]
        scales[name] = pooled(name, short[name], dimensions, tried)
    return scales


def checked_names(
    cls: str, optimizer: Any, names: Any, branch: int | None = None
) -> list[str]:
    """Return the parameters asked for; an error names the unknown ones."""
    known = list(space_of(optimizer, branch).names)
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if name not in known:
            raise ValueError(
                f"The 'parameters' of {cls} must be among {known}. Got {name!r} "
                "instead."
            )
    return listed
