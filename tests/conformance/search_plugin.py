"""Run scikit-learn's own tests of `GridSearchCV` with our search.

A pytest plugin: `python -m pytest -p search_plugin ...` with this folder on the path.
Load it before the tests import the searches, with the environment variable
`SKROBUSTBO_SEARCH_INSTEAD` set. The search asks for the points of the grid, in order.
With `SKROBUSTBO_SEARCH_RACES` also set, it races them, three at a time.
"""

import os

import numpy as np
import sklearn.model_selection
from sklearn.model_selection import ParameterGrid

from skrobustbo import RobustBayesSearchCV

RACES = {"racing": "confident", "schedule": "window", "batch_size": 3}
SETTINGS = RACES if "SKROBUSTBO_SEARCH_RACES" in os.environ else {}


class GridSearchCV(RobustBayesSearchCV):
    """Our search with the constructor of scikit-learn's."""

    _parameter_constraints = {  # noqa: RUF012 - as sklearn's
        **RobustBayesSearchCV._parameter_constraints,
        "param_grid": [dict, list],
    }

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        error_score=np.nan,
        return_train_score=False,
    ):
        super().__init__(
            estimator,
            param_grid,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
            policy="random",
            include_default=False,
            random_state=0,
            **SETTINGS,
        )
        self.param_grid = param_grid

    def fit(self, X, y=None, **params):
        points = list(ParameterGrid(self.param_grid))
        self.param_space, self.initial_params = self.param_grid, points
        self.n_iter = len(points)
        several = isinstance(self.scoring, list | tuple | dict)
        if several and not isinstance(self.refit, str):
            self.search_metric = next(iter(self.scoring))
        return super().fit(X, y, **params)


if "SKROBUSTBO_SEARCH_INSTEAD" in os.environ:
    sklearn.model_selection.GridSearchCV = GridSearchCV
