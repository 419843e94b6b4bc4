"""Base classes of the displays, and the data that they plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skrobustbo._names import shown, wrong
from skrobustbo.displays._scales import Scale, pooled
from skrobustbo.displays._style import Look, look_of, place_of, pyplot
from skrobustbo.displays._text import is_estimator, short_names, unlike
from skrobustbo.space import constants, is_number, plain

Array = NDArray[np.float64]
Records = list[dict[str, Any]]
#: Selects every branch, each on its own.
ALL = "all"
Compute = TypeVar("Compute", bound=Callable[..., Any])


class Drawing:
    """Base class for all objects with a `plot` method."""

    figure_: Any
    #: Name of the drawn branch; empty for all branches or a single one.
    branch_name: str = ""

    def plot(self, ax: Any = None) -> Self:
        """Plot the data.

        Parameters
        ----------
        ax : matplotlib axes or array of them, default=None
            Axes on which to plot. If None, a new figure is created. A single axes is
            divided into the panels that the display needs. `ConvergenceDisplay` adds
            its curves to an existing plot.

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
                look.title(self.figure_, self.branch_name)
        return self

    @property
    def _counted(self) -> str:
        """Label of the axis that shows candidate numbers."""
        return "candidate of the branch" if self.branch_name else "candidate"

    def _height(self, look: Look) -> float:
        """Return the height of a new figure, relative to its width."""
        return 0.65

    def _draw_key(self, look: Look, figure: Any) -> None:
        """Add a legend to the figure if the panels have none."""

    def _draw(self, look: Look, ax: Any) -> None:
        """Draw the data."""
        raise NotImplementedError


class Display(Drawing):
    """Base class of the displays.

    As in scikit-learn, `from_search` and `from_optimizer` compute and plot the data.
    The method `plot` plots the same data again.
    """

    #: Whether an axis shows values and is labelled with their name.
    shows_values: ClassVar[bool] = True
    value_name: str
    ax_: Any
    #: Defined by each display with its own options.
    from_optimizer: ClassVar[Any]

    @classmethod
    def from_search(cls, search: Any, *, ax: Any = None, **options: Any) -> Self:
        """Compute the data for a fitted search and plot them.

        Parameters
        ----------
        search : RobustBayesSearchCV
            A fitted search.
        ax : matplotlib axes, default=None
            Axes on which to plot, as in `plot`.
        **options : dict
            Additional arguments for `from_optimizer`.

        Returns
        -------
        display : Display

        Raises
        ------
        TypeError
            If `search` is not a `RobustBayesSearchCV`.
        NotFittedError
            If the search has not been fitted.
        """
        optimizer = optimizer_of(search)
        if cls.shows_values:
            options.setdefault("value_name", metric_name(search))
        return cls.from_optimizer(optimizer, ax=ax, **options)

    def _frame(self, look: Look, limits: tuple[float, float], x: str) -> None:
        """Set up the axes of a display that shows values in a single panel."""
        self.ax_.set_ylim(limits)
        look.dress(self.ax_, x=x, y=self.value_name)
        look.numbers(self.ax_.yaxis)
        look.explain(self.ax_)


def optimizer_of(search: Any) -> Any:
    if not hasattr(search, "search_metric"):
        raise TypeError(
            "Expected a fitted RobustBayesSearchCV, got an object of type "
            f"{type(search).__name__}; other searches have no optimizer to draw."
        )
    check_is_fitted(search, "optimizer_")
    return search.optimizer_


def metric_name(search: Any) -> str:
    """Return the name of the metric that a search maximises, "score" by default."""
    names = search.search_metric, search.refit, search.scoring
    return next((name for name in names if isinstance(name, str)), "score")


def drawn_by_branch(compute: Compute) -> Compute:
    """Extend a `from_optimizer` method so that it plots one or all branches.

    The decorated method takes all public parameters except `ax`. Its argument `branch`
    is the number of a branch, or None for all candidates.
    """

    @wraps(compute)
    def from_optimizer(
        cls: Any, optimizer: Any, *, ax: Any = None, branch: Any = None, **options: Any
    ) -> Any:
        chosen = checked_branch(cls.__name__, optimizer, branch)
        names = branch_names(optimizer.space)
        if chosen != ALL:
            display = compute(cls, optimizer, branch=chosen, **options)
            display.branch_name = "" if chosen is None else names[chosen]
            return display.plot(ax=ax)
        displays = {
            name: compute(cls, optimizer, branch=i, **options)
            for i, name in enumerate(names)
            if np.isfinite(Tried(optimizer, i).values).any()
        }
        for name, display in displays.items():
            display.branch_name = name
        if not displays:
            raise ValueError(
                "Expected a search with at least one finite value, got none, so "
                f"{cls.__name__} has nothing to draw; tell one first."
            )
        return BranchesDisplay(displays=displays).plot(ax=ax)

    return cast(Compute, from_optimizer)


class Tried:
    """Evaluated candidates of an optimizer, in the order in which they were proposed.

    Parameters
    ----------
    optimizer : Optimizer
    branch : int or None, default=None
        Number of a branch. If None, all branches are included.

    Attributes
    ----------
    space : Space
        Space of the branch, or the whole space if `branch` is None.
    rows : list of int
        Positions of the candidates in the history of the optimizer.
    records, points : list of dict
        Records and params of the candidates.
    values : array of shape (n,)
        Values of the candidates; nan for failed evaluations.
    """

    def __init__(self, optimizer: Any, branch: int | None = None) -> None:
        space = optimizer.space
        self.optimizer, self.branch = optimizer, branch
        # A point in several branches belongs to the first of them.
        self.space = space if branch is None else space.owned[branch]
        history = optimizer.history_
        told = [i for i, record in enumerate(history) if not record["pending"]]
        if not told:
            raise ValueError(
                "Expected an optimizer that was told at least one value, got one "
                "without any; tell one first."
            )
        self.rows = [
            i
            for i in told
            if branch is None or space.owner(history[i]["params"]) == branch
        ]
        self.records = [history[i] for i in self.rows]
        self.points = [record["params"] for record in self.records]
        values = np.array([record["value"] for record in self.records], dtype=float)
        self.values = np.where(np.isfinite(values), values, math.nan)

    def recommended(self) -> dict[str, Any]:
        """Return the recommended point.

        If it is in another branch, return the evaluated point of this branch that has
        the largest posterior mean.
        """
        params: dict[str, Any] = self.optimizer.recommend()
        if self.branch in (None, self.optimizer.space.owner(params)):
            return params
        pairs = zip(self.points, self.values, strict=True)
        points = [point for point, value in pairs if math.isfinite(value)]
        if not points:
            raise ValueError(
                f"Expected a branch with at least one finite value, got branch "
                f"{self.branch} without any; choose another."
            )
        return points[int(np.argmax(self.optimizer.predict(points)))]

    def varying(self) -> list[str]:
        """Return the parameters that vary, or all parameters if none of them vary."""
        names = list(self.space.names)
        return [
            name for name in names if any(d.size > 1 for d in self._dimensions(name))
        ] or names

    def differing(self) -> list[str]:
        """Return the varying parameters, and constants that differ between branches."""
        names = self.varying()
        return [
            name
            for name in self.space.names
            for first, *others in [self._dimensions(name)]
            if name in names or any(other != first for other in others)
        ]

    def _dimensions(self, name: str) -> list[Any]:
        """Return the dimensions of a parameter, one for each branch that has it."""
        spaces = [branch.dimensions for branch in self.space.branches]
        return [dimensions[name] for dimensions in spaces if name in dimensions]

    def scales(self, names: Sequence[str]) -> dict[str, Scale]:
        """Return the scale of the axis of each parameter, by name."""
        asked = [record["params"] for record in self.optimizer.history_]
        return {
            name: pooled(name, short, self._dimensions(name), asked)
            for name, short in short_names(names).items()
        }

    def checked_names(self, cls: str, names: Any) -> list[str]:
        """Return the requested parameters as a list, after checking their names."""
        known = list(self.space.names)
        listed = [names] if isinstance(names, str) else list(names)
        for name in listed:
            if name not in known:
                raise wrong("parameters", cls, f"among {known}", name)
        return listed


# Branches -----------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class BranchesDisplay(Drawing):
    """Displays of all branches of a space, one below the other.

    This display is returned for ``branch="all"``. The name of each branch, such as the
    class of its estimator, appears above its panels. Branches without values are left
    out.

    Parameters
    ----------
    displays : dict of str to display
        Displays by branch name.

    Attributes
    ----------
    axes_ : array of matplotlib axes
        The axes of all branches, in order.
    figure_ : matplotlib figure

    Examples
    --------
    >>> from skrobustbo.displays import ParallelCoordinatesDisplay
    >>> from skrobustbo import Integer, Optimizer, Real
    >>> optimizer = Optimizer(
    ...     [
    ...         {"model": ["svc"], "C": Real(0.01, 100, log=True)},
    ...         {"model": ["knn"], "k": Integer(1, 9)},
    ...     ]
    ... )
    >>> optimizer.tell({"model": "svc", "C": 1.0}, 0.9)
    >>> optimizer.tell({"model": "knn", "k": 5}, 0.8)
    >>> both = ParallelCoordinatesDisplay.from_optimizer(optimizer, branch="all")
    >>> both.displays["model=knn"].names
    ['k']
    """

    displays: dict[str, Any]

    def _height(self, look: Look) -> float:
        return sum(self._heights(look))

    def _heights(self, look: Look) -> list[float]:
        """Return the height of each branch, including its title."""
        above = look.lines(2)
        return [one._height(look) + above for one in self.displays.values()]

    def _draw(self, look: Look, ax: Any) -> None:
        heights = self._heights(look)
        n = len(heights)
        if ax is None:
            size = look.width, look.width * sum(heights)
            self.figure_ = pyplot().figure(figsize=size, layout="constrained")
            place = self.figure_
        else:
            figure = np.ravel(np.asarray(ax, dtype=object))[0].figure
            place = figure.add_subfigure(place_of(ax, "the branches"))
            self.figure_ = figure.figure
        parts = np.ravel(place.subfigures(n, 1, height_ratios=heights))
        found: list[Any] = []
        for part, (name, display) in zip(parts, self.displays.items(), strict=True):
            look.title(part, name)
            display._draw(look, part.subplots())
            if ax is None:
                display._draw_key(look, part)
            drawn = getattr(display, "axes_", None)
            found += [display.ax_] if drawn is None else list(np.ravel(drawn))
        self.axes_ = np.array([one for one in found if one is not None], dtype=object)


def checked_branch(cls: str, optimizer: Any, branch: Any) -> Any:
    """Check the argument `branch` and return a branch number, None or "all"."""
    Tried(optimizer)  # raises an error if there are no values
    if branch is None:
        return None
    names = branch_names(optimizer.space)
    if isinstance(branch, str) and branch == ALL:
        return ALL if len(names) > 1 else None
    if isinstance(branch, str) and branch in names:
        found = names.index(branch)
    else:
        number = plain(branch)
        found = number if is_number(number) and isinstance(number, int) else -1
    if not 0 <= found < len(names):
        known = f"'all', one of {names}, or a number from 0 to {len(names) - 1}"
        raise wrong("branch", cls, known, branch)
    if not Tried(optimizer, found).records:
        raise ValueError(
            f"The 'branch' of {cls} must be one with an evaluated candidate. Got "
            f"{branch!r}, which has none so far; evaluate one first."
        )
    return found


def branch_names(space: Any) -> list[str]:
    """Return unique names for the branches.

    A name consists of the constants that distinguish the branches, such as the class of
    an estimator. If there are no such constants, the name lists the parameters or is a
    number.
    """
    spaces = space.branches
    fixed = [constants(branch) for branch in spaces]
    names = [name for one in fixed for name in one]
    telling = [
        name
        for name in dict.fromkeys(names)
        if len({shown(one.get(name)) for one in fixed}) > 1
    ]
    scales = {}
    for name, short in short_names(telling).items():
        have = [s for s, one in zip(spaces, fixed, strict=True) if name in one]
        scales[name] = pooled(name, short, [s.dimensions[name] for s in have])
    found = []
    for i, (one, branch) in enumerate(zip(fixed, spaces, strict=True)):
        parts = []
        for name in [name for name in telling if name in one]:
            text = scales[name].labels[int(scales[name].position(one))]
            is_plain = is_estimator(one[name])
            parts.append(text if is_plain else f"{scales[name].short}={text}")
        own = [name for name in branch.names if name not in telling]
        listed = parts or list(short_names(own).values())
        found.append(", ".join(listed) if len(spaces) > 1 else f"branch {i}")
    return unlike(found)
