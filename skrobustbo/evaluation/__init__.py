"""Running candidates: folds on joblib, failures, callbacks, one table of results."""

from skrobustbo.evaluation._run import run_search
from skrobustbo.evaluation._source import FixedSource, Source, take_folds
from skrobustbo.evaluation._stops import Stops

__all__ = ["FixedSource", "Source", "Stops", "run_search", "take_folds"]
