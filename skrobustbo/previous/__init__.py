"""Reuse candidates from earlier searches, including those of other packages."""

from skrobustbo.previous._candidates import PreviousCandidates
from skrobustbo.previous._sources import from_cv_results, from_optuna, from_skopt

__all__ = ["PreviousCandidates", "from_cv_results", "from_optuna", "from_skopt"]
