"""Displays that plot a search, in the style of scikit-learn.

Each display has class methods `from_search` and `from_optimizer`, which compute and
plot the data. The method `plot(ax=None)` plots the same data again. The data are
attributes of the display, and the plot is stored in `figure_` and in `ax_` or `axes_`.
Matplotlib is imported when you create the first plot.
"""

from skrobustbo.displays._base import BranchesDisplay
from skrobustbo.displays._evaluations import EvaluationsDisplay
from skrobustbo.displays._importance import ImportanceDisplay
from skrobustbo.displays._length_scales import LengthScaleDisplay
from skrobustbo.displays._objective import ObjectiveDisplay
from skrobustbo.displays._overview import overview as overview
from skrobustbo.displays._parallel import ParallelCoordinatesDisplay
from skrobustbo.displays._resource import ResourceDisplay
from skrobustbo.displays._sensitivity import SensitivityDisplay
from skrobustbo.displays._steps import ConvergenceDisplay, ResetDisplay

__all__ = [
    "BranchesDisplay",
    "ConvergenceDisplay",
    "EvaluationsDisplay",
    "ImportanceDisplay",
    "LengthScaleDisplay",
    "ObjectiveDisplay",
    "ParallelCoordinatesDisplay",
    "ResetDisplay",
    "ResourceDisplay",
    "SensitivityDisplay",
]
