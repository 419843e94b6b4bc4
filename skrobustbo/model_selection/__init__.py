"""The `RobustBayesSearchCV` estimator, its settings and its refit strategies."""

from skrobustbo.model_selection._ends import ENDS as ENDS
from skrobustbo.model_selection._findings import last_initial as last_initial
from skrobustbo.model_selection._html import limits as limits
from skrobustbo.model_selection._html import svg_curve as svg_curve
from skrobustbo.model_selection._limits import largest_of as largest_of  # for displays
from skrobustbo.model_selection._loaded import LoadedSearch as LoadedSearch
from skrobustbo.model_selection._loaded import load_checkpoint
from skrobustbo.model_selection._refit import (
    best_posterior_mean,
    default_unless_better,
    one_standard_error,
)
from skrobustbo.model_selection._search import RobustBayesSearchCV
from skrobustbo.model_selection._settings import Racing, Resource
from skrobustbo.model_selection._suggested import suggested_space

__all__ = [
    "Racing",
    "Resource",
    "RobustBayesSearchCV",
    "best_posterior_mean",
    "default_unless_better",
    "load_checkpoint",
    "one_standard_error",
    "suggested_space",
]
