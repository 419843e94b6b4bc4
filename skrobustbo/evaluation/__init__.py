"""Evaluation of candidates, including failures, callbacks and the results table."""

from skrobustbo.evaluation._checks import take_folds
from skrobustbo.evaluation._folds import Fold as Fold
from skrobustbo.evaluation._joblib_pool import JoblibPool as JoblibPool
from skrobustbo.evaluation._out_of_fold import OutOfFold
from skrobustbo.evaluation._plan import Batch as Batch
from skrobustbo.evaluation._plan import Plan as Plan
from skrobustbo.evaluation._plan import Running as Running
from skrobustbo.evaluation._plan import Schedule
from skrobustbo.evaluation._plan import ScheduleName as ScheduleName
from skrobustbo.evaluation._predictions import Recorder, flat
from skrobustbo.evaluation._progress import counter
from skrobustbo.evaluation._racing import FoldEffects, Races
from skrobustbo.evaluation._resource import ROWS, ResourceAxis
from skrobustbo.evaluation._run import SearchRun
from skrobustbo.evaluation._stops import Stops

__all__ = [
    "ROWS",
    "FoldEffects",
    "OutOfFold",
    "Races",
    "Recorder",
    "ResourceAxis",
    "Schedule",
    "SearchRun",
    "Stops",
    "counter",
    "flat",
    "take_folds",
]
