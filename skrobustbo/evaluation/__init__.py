"""Running candidates: folds on joblib, failures, callbacks, one table of results."""

from skrobustbo.evaluation._checks import spread_failures, take_folds
from skrobustbo.evaluation._flight import Schedule
from skrobustbo.evaluation._predictions import OutOfFold, Recorder
from skrobustbo.evaluation._racing import Racing
from skrobustbo.evaluation._run import run_search
from skrobustbo.evaluation._sources import Source
from skrobustbo.evaluation._stops import Stops

__all__ = [
    "OutOfFold",
    "Racing",
    "Recorder",
    "Schedule",
    "Source",
    "Stops",
    "run_search",
    "spread_failures",
    "take_folds",
]
