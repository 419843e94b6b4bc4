"""Overview figure that `RobustBayesSearchCV.plot` returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from skrobustbo.displays._base import Tried, optimizer_of
from skrobustbo.displays._importance import ImportanceDisplay
from skrobustbo.displays._steps import ConvergenceDisplay
from skrobustbo.displays._style import look_of, pyplot

#: Height of the upper part, relative to the width.
_ABOVE = 0.55


def overview(search: Any) -> Any:
    """Plot the progress of a search and the importance of the parameters.

    The importance is left out if there is no model.

    Parameters
    ----------
    search : RobustBayesSearchCV
        A fitted search.

    Returns
    -------
    figure : matplotlib figure
        A new figure.
    """
    optimizer = optimizer_of(search)
    look, heights, importance = look_of(None), [_ABOVE], None
    if optimizer.policy.has_model and np.isfinite(Tried(optimizer).values).any():
        importance = ImportanceDisplay._of(optimizer)
        heights.append(importance._height(look))
    size = look.width, look.width * sum(heights)
    figure = pyplot().figure(figsize=size, layout="constrained")
    parts = np.ravel(figure.subfigures(len(heights), 1, height_ratios=heights))
    ConvergenceDisplay.from_search(search, ax=parts[0].subplots())
    if importance is not None:
        importance.plot(ax=parts[1].subplots())
    return figure
