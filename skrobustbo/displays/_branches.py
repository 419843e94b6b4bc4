"""One display for each branch of a space: `BranchesDisplay`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skrobustbo._names import shown
from skrobustbo.displays._base import Drawing, told_records, values_of
from skrobustbo.displays._fit import title
from skrobustbo.displays._style import Look, pyplot
from skrobustbo.displays._text import is_estimator, short_names, short_values, unlike
from skrobustbo.space import Categorical, distinct, is_number, plain

#: What stands for all branches.
ALL = "all"


@dataclass(kw_only=True, eq=False, repr=False)
class BranchesDisplay(Drawing):
    """One display for each branch of a space, one below the other.

    It is what the displays return for ``branch="all"``. The name of each branch, such
    as its estimator, stands above its panels. A branch without a value to draw has no
    panels.

    Parameters
    ----------
    displays : dict of str to display
        The displays by the names of their branches.

    Attributes
    ----------
    axes_ : array of matplotlib axes
        Those of all branches, in order.
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
        """Return the height of each branch with its title."""
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
            place = _inside(ax)
            self.figure_ = ax.figure.figure
        parts = np.ravel(place.subfigures(n, 1, height_ratios=heights))
        found: list[Any] = []
        for part, (name, display) in zip(parts, self.displays.items(), strict=True):
            look.parts.append(title(part, name, look.size))
            display._draw(look, part.subplots())
            drawn = getattr(display, "axes_", None)
            found += [display.ax_] if drawn is None else list(np.ravel(drawn))
        if ax is None:
            display._draw_key(look, parts[-1])
        self.axes_ = np.array([one for one in found if one is not None], dtype=object)


def _inside(ax: Any) -> Any:
    """Return a figure within a figure, in the place of an axes."""
    place = None if np.ndim(ax) else ax.get_subplotspec()
    if place is None:
        raise ValueError(
            "The 'ax' of plot must be one axes of a grid, which the branches then "
            f"divide. Got {ax!r} instead; leave it out for a new figure."
        )
    ax.set_axis_off()
    return ax.figure.add_subfigure(place)


def computed(cls: Any, optimizer: Any, branch: Any, ax: Any, **options: Any) -> Any:
    """Compute a display of all candidates, of a branch or of each, and draw it."""
    told_records(optimizer)  # there must be some
    chosen = checked_branch(cls.__name__, optimizer, branch)
    names = branch_names(optimizer.space)
    if chosen != ALL:
        display = cls._of(optimizer, chosen, **options)
        display.branch_name = "" if chosen is None else names[chosen]
        return display.plot(ax=ax)
    displays = {
        name: cls._of(optimizer, i, **options)
        for i, name in enumerate(names)
        if _has_values(optimizer, i)
    }
    for name, display in displays.items():
        display.branch_name = name
    if not displays:
        raise ValueError(
            f"Expected a search with at least one finite value, got none, so that "
            f"{cls.__name__} has nothing to draw; tell one first."
        )
    return BranchesDisplay(displays=displays).plot(ax=ax)


def _has_values(optimizer: Any, branch: int) -> bool:
    values = values_of(told_records(optimizer, branch))
    return bool(np.isfinite(values).any())


def checked_branch(cls: str, optimizer: Any, branch: Any) -> Any:
    """Return the number of the branch asked for, None, or "all"."""
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
        raise ValueError(
            f"The 'branch' of {cls} must be 'all', one of {names}, or a number from 0 "
            f"to {len(names) - 1}. Got {branch!r} instead."
        )
    if not told_records(optimizer, found):
        raise ValueError(
            f"The 'branch' of {cls} must be one with an evaluated candidate. Got "
            f"{branch!r}, which has none so far; evaluate one first."
        )
    return found


def branch_names(space: Any) -> list[str]:
    """Return the names of the branches, all different.

    They are what tells the branches apart: the class of an estimator, or a constant
    with its value; the parameters where no constant does; else their numbers.
    """
    spaces = space.branches
    fixed = [_constants(branch.dimensions) for branch in spaces]
    names = [name for one in fixed for name in one]
    telling = [
        name
        for name in dict.fromkeys(names)
        if len({shown(one.get(name)) for one in fixed}) > 1
    ]
    short, texts = short_names(telling), _value_texts(fixed, telling)
    found = []
    for i, (one, branch) in enumerate(zip(fixed, spaces, strict=True)):
        parts = [
            texts[name][i]
            if is_estimator(one[name])
            else f"{short[name]}={texts[name][i]}"
            for name in telling
            if name in one
        ]
        own = [name for name in branch.names if name not in telling]
        listed = parts or list(short_names(own).values())
        found.append(", ".join(listed) if len(spaces) > 1 else f"branch {i}")
    return unlike(found)


def _constants(dimensions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the parameters that have one value only."""
    return {
        name: dimension.choices[0]
        for name, dimension in dimensions.items()
        if dimension.size == 1 and hasattr(dimension, "choices")
    }


def _value_texts(
    fixed: list[dict[str, Any]], names: list[str]
) -> dict[str, dict[int, str]]:
    """Return the texts of constants by name and branch."""
    found = {}
    for name in names:
        have = [i for i, one in enumerate(fixed) if name in one]
        values = distinct(fixed[i][name] for i in have)
        texts, index = short_values(values), Categorical(values).index
        found[name] = {i: texts[index(fixed[i][name])] for i in have}
    return found
