"""Start a search from the candidates of earlier searches, from any package."""

from skrobustbo.previous._candidates import PreviousCandidates
from skrobustbo.previous._sources import from_cv_results, from_optuna, from_skopt

__all__ = ["PreviousCandidates", "from_cv_results", "from_optuna", "from_skopt"]
