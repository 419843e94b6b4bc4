"""The tunings of the study of the resource axis: real fits, on data that is at hand."""

import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from racing_tunings import TUNINGS as RACED
from racing_tunings import cancer, wine
from skrobustbo import Integer, Real, Space
from skrobustbo.evaluation import ROWS, ResourceAxis
from skrobustbo_benchmarks.datasets import fetch_mnist
from skrobustbo_benchmarks.problems import (
    Resource,
    SoftmaxRegression,
    mnist_logistic_space,
)

N_SPLITS = 3


def mnist():
    X, y = fetch_mnist(return_X_y=True)
    return X[:60_000:10] / np.float32(255), y[:60_000:10]


class Tuning(NamedTuple):
    """A tuning, before its data are there.

    Attributes
    ----------
    load : callable
        Returns the data.
    estimator : estimator
        What is tuned; it has the full amount of a resource that is a parameter.
    space : dict
        What is searched, numbers only.
    scoring : str
        The score.
    resource : str
        The resource: "n_samples", or a parameter.
    """

    load: object
    estimator: object
    space: dict
    scoring: str
    resource: str = ROWS


_, SGD, SGD_SPACE, _ = RACED["sgd-digits"]
TREES = {
    "learning_rate": Real(1e-3, 1.0, log=True),
    "max_leaf_nodes": Integer(2, 64, log=True),
    "min_samples_leaf": Integer(1, 60, log=True),
}
TUNINGS = {
    "svm-rows": Tuning(
        lambda: load_digits(return_X_y=True),
        *RACED["svm-digits"][1:],
    ),
    "mnist-rows": Tuning(
        mnist,
        SoftmaxRegression(n_epochs=10, random_state=0),
        mnist_logistic_space(),
        "accuracy",
    ),
    "histogram-iterations": Tuning(
        lambda: load_diabetes(return_X_y=True),
        HistGradientBoostingRegressor(
            max_iter=81, early_stopping=False, random_state=0
        ),
        {**TREES, "l2_regularization": Real(1e-6, 1e3, log=True)},
        "r2",
        "max_iter",
    ),
    "boosting-trees": Tuning(
        lambda: load_diabetes(return_X_y=True),
        GradientBoostingRegressor(n_estimators=81, random_state=0),
        {**TREES, "subsample": Real(0.2, 1.0)},
        "r2",
        "n_estimators",
    ),
    "forest-trees": Tuning(
        cancer,
        RandomForestClassifier(81, random_state=0),
        {
            "max_depth": Integer(1, 20, log=True),
            "max_features": Real(0.05, 1.0),
            "min_samples_leaf": Integer(1, 50, log=True),
        },
        "neg_log_loss",
        "n_estimators",
    ),
    "mlp-epochs": Tuning(
        wine,
        make_pipeline(
            StandardScaler(), MLPClassifier((16,), max_iter=81, random_state=0)
        ),
        {
            "mlpclassifier__alpha": Real(1e-6, 10.0, log=True),
            "mlpclassifier__learning_rate_init": Real(1e-4, 1.0, log=True),
            "mlpclassifier__batch_size": Integer(8, 100, log=True),
        },
        "neg_log_loss",
        "mlpclassifier__max_iter",
    ),
    "sgd-epochs": Tuning(
        lambda: load_digits(return_X_y=True),
        clone(SGD).set_params(max_iter=27),
        SGD_SPACE,
        "accuracy",
        "max_iter",
    ),
}


def splits_with(axis, splits, amount):
    """Return splits whose training rows are those of an amount of a resource."""
    return [
        (axis.rows(train, k, amount), test) for k, (train, test) in enumerate(splits)
    ]


class LiveTuning:
    """A tuning with its data, as a problem with a resource.

    Parameters
    ----------
    tuning : Tuning
        What is tuned.

    Attributes
    ----------
    space : Space
        What is searched.
    resource : Resource
        Its value is the mean score of three folds. Each evaluation fits anew, but
        equal ones are remembered.
    """

    def __init__(self, tuning):
        self._tuning, self.space = tuning, Space(tuning.space)
        self._X, self._y = tuning.load()
        n = len(self._y)
        is_classifier = tuning.scoring != "r2"
        splitter = (StratifiedKFold if is_classifier else KFold)(
            N_SPLITS, shuffle=True, random_state=0
        )
        self._splits = list(splitter.split(self._X, self._y))
        rows = tuning.resource == ROWS
        full = n if rows else tuning.estimator.get_params()[tuning.resource]
        strata = np.unique(self._y, return_inverse=True)[1] if is_classifier else None
        self._axis = ResourceAxis(tuning.resource, full, n, 0, strata)
        self._scores = {}
        self.resource = Resource(
            name=tuning.resource,
            low=max(1, full // 9),
            high=full,
            value=self._score,
            cost=self._cost,
        )

    def _score(self, params, amount):
        key = (*sorted(params.items()), amount)
        if key not in self._scores:
            self._scores[key] = self._fitted_score(params, amount)
        return self._scores[key]

    def _fitted_score(self, params, amount):
        estimator = clone(self._tuning.estimator)
        estimator.set_params(**params, **self._axis.params(amount))
        splits = splits_with(self._axis, self._splits, amount)
        scoring = self._tuning.scoring
        # Few epochs do not converge.
        with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
            scores = cross_val_score(
                estimator, self._X, self._y, cv=splits, scoring=scoring
            )
        return float(np.mean(np.nan_to_num(scores, nan=-10.0, neginf=-10.0)))

    def _cost(self, params, amount):
        return float(amount)


@cache
def live(name):
    """Return a tuning by its name, with its data."""
    return LiveTuning(TUNINGS[name])
