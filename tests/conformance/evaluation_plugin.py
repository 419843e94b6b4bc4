"""Run scikit-learn's own tests of its searches with our evaluation.

A pytest plugin: `python -m pytest -p evaluation_plugin ...` with this folder on the
path. Load it before the tests import the searches. The environment variable
`SKROBUSTBO_EVALUATION_BATCH` sets the number of candidates in a batch ("all" or a
number); "off" leaves the searches unchanged.
"""

import os

from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    ParameterSampler,
    RandomizedSearchCV,
)

from fixed_source import FixedSource
from skrobustbo._sklearn_compat import fit_context
from skrobustbo.evaluation import SearchRun


def _grid(search):
    return ParameterGrid(search.param_grid)


def _sample(search):
    return ParameterSampler(
        search.param_distributions, search.n_iter, random_state=search.random_state
    )


def _fit_with(candidates, batch_size):
    def fit(self, X, y=None, **params):
        SearchRun(self, FixedSource(candidates(self), batch_size), X, y, params).run()
        return self

    fit.__doc__ = GridSearchCV.fit.__doc__
    return fit_context(prefer_skip_nested_validation=False)(fit)


def install(batch):
    """Replace `fit` of the grid and the randomized search."""
    batch_size = None if batch == "all" else int(batch)
    GridSearchCV.fit = _fit_with(_grid, batch_size)
    RandomizedSearchCV.fit = _fit_with(_sample, batch_size)


if os.environ.get("SKROBUSTBO_EVALUATION_BATCH", "off") != "off":
    install(os.environ["SKROBUSTBO_EVALUATION_BATCH"])
