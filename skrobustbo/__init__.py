"""Robust Bayesian hyperparameter search for scikit-learn."""

from importlib.metadata import version

from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.functional import maximize, minimize
from skrobustbo.model_selection import (
    Racing,
    Resource,
    RobustBayesSearchCV,
    best_posterior_mean,
    default_unless_better,
    load_checkpoint,
    one_standard_error,
    suggested_space,
)
from skrobustbo.optimizer import Optimizer
from skrobustbo.space import Categorical, Integer, Real, Space
from skrobustbo.surrogate import Candidate

__version__ = version("skrobustbo")

__all__ = [
    "Candidate",
    "Categorical",
    "Integer",
    "Optimizer",
    "Racing",
    "Real",
    "Resource",
    "RobustBayesSearchCV",
    "Space",
    "SpaceExhausted",
    "__version__",
    "best_posterior_mean",
    "default_unless_better",
    "load_checkpoint",
    "maximize",
    "minimize",
    "one_standard_error",
    "suggested_space",
]
