"""Running candidates: folds on joblib, failures, callbacks, one table of results."""

from skrobustbo.evaluation._run import run_search
from skrobustbo.evaluation._source import FixedSource, Outcome, Source
from skrobustbo.evaluation._stops import Stops

__all__ = ["FixedSource", "Outcome", "Source", "Stops", "run_search"]
