"""Small tunings of scikit-learn's estimators on data that it carries.

The value is the mean score of a threefold cross-validation whose splits are fixed, with
``random_state=0`` in the estimator: a deterministic function, up to the rounding of the
libraries below it. 50 evaluations take seconds. **No optimum is known.** `best_known`
is the best of three searches of 60 evaluations by the default policy (``random_state``
0, 1, 2), and of 60 random steps around the best point so far; another version of
scikit-learn gives slightly other values.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LogisticRegression, SGDClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from skrobustbo.space import Categorical, Integer, Real, Space
from skrobustbo_benchmarks.problems._base import Problem
from skrobustbo_benchmarks.problems._rough import ROUGH
from skrobustbo_benchmarks.problems._tuned import SCALERS, Tuning, scaled

Array = NDArray[Any]


# -- estimators, given their hyperparameters ------------------------------------------


def _sgd(**params: Any) -> Any:
    few = {"learning_rate": "invscaling", "max_iter": 15, "tol": None}
    loss = {"loss": "log_loss", "penalty": "elasticnet"}
    return SGDClassifier(**loss, **few, random_state=0, **params)


def _ridge(**params: Any) -> Any:
    # Kernel ridge has no intercept, and the targets are far from zero.
    ridge = KernelRidge(kernel="rbf", **params)
    return scaled(TransformedTargetRegressor(ridge, transformer=StandardScaler()))


def _boosting(**params: Any) -> Any:
    few = {"max_iter": 40, "early_stopping": False}
    return HistGradientBoostingRegressor(**few, random_state=0, **params)


def _perceptron(n_hidden: int, **params: Any) -> Any:
    return scaled(MLPClassifier((n_hidden,), max_iter=40, random_state=0, **params))


def _pipeline(scaler: str, n_components: int, C: float) -> Any:
    return make_pipeline(
        SCALERS[scaler](),
        PCA(n_components, svd_solver="full"),
        LogisticRegression(C=C, max_iter=300),
    )


_TUNINGS = {
    **ROUGH,
    "svm-digits": Tuning(
        "digits",
        "accuracy",
        {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-6, 1e-1, log=True)},
        SVC,
        "a support vector machine with Gaussian kernel",
    ),
    "sgd-digits": Tuning(
        "digits",
        "accuracy",
        {
            "alpha": Real(1e-6, 1.0, log=True),
            "l1_ratio": Real(0.0, 1.0),
            "eta0": Real(1e-4, 1.0, log=True),
            "power_t": Real(0.0, 1.0),
        },
        _sgd,
        "logistic regression by stochastic gradient descent, 15 epochs",
    ),
    "knn-cancer": Tuning(
        "cancer",
        "accuracy",
        {
            "n_neighbors": Integer(1, 50, log=True),
            "p": Real(1.0, 6.0),
            "weights": Categorical(["uniform", "distance"]),
        },
        lambda **params: scaled(KNeighborsClassifier(**params)),
        "nearest neighbours in Minkowski's distance",
    ),
    "krr-diabetes": Tuning(
        "diabetes",
        "r2",
        {"alpha": Real(1e-4, 1e2, log=True), "gamma": Real(1e-5, 10.0, log=True)},
        _ridge,
        "ridge regression with Gaussian kernel",
    ),
    "svr-diabetes": Tuning(
        "diabetes",
        "r2",
        {
            "C": Real(1e-1, 1e4, log=True),
            "gamma": Real(1e-5, 1.0, log=True),
            "epsilon": Real(1e-1, 1e2, log=True),
        },
        lambda **params: scaled(SVR(**params)),
        "support vector regression with Gaussian kernel",
    ),
    "hgb-diabetes": Tuning(
        "diabetes",
        "r2",
        {
            "learning_rate": Real(1e-3, 1.0, log=True),
            "max_leaf_nodes": Integer(2, 64, log=True),
            "min_samples_leaf": Integer(1, 60, log=True),
            "l2_regularization": Real(1e-6, 1e3, log=True),
        },
        _boosting,
        "gradient boosting of 40 trees on histograms",
    ),
    "enet-diabetes": Tuning(
        "diabetes",
        "r2",
        {"alpha": Real(1e-4, 1e2, log=True), "l1_ratio": Real(0.01, 1.0)},
        lambda **params: scaled(ElasticNet(max_iter=10_000, **params)),
        "linear regression with both penalties",
    ),
    "rf-cancer": Tuning(
        "cancer",
        "neg_log_loss",
        {
            "max_depth": Integer(1, 20, log=True),
            "max_features": Real(0.05, 1.0),
            "min_samples_leaf": Integer(1, 50, log=True),
            "criterion": Categorical(["gini", "entropy"]),
        },
        partial(RandomForestClassifier, n_estimators=20, random_state=0),
        "a random forest of 20 trees",
    ),
    "pipeline-cancer": Tuning(
        "cancer",
        "neg_log_loss",
        {
            "scaler": Categorical(list(SCALERS)),
            "n_components": Integer(1, 30),
            "C": Real(1e-4, 1e4, log=True),
        },
        _pipeline,
        "a choice of scaling, principal components and logistic regression",
    ),
    "mlp-wine": Tuning(
        "wine",
        "neg_log_loss",
        {
            "n_hidden": Integer(2, 64, log=True),
            "alpha": Real(1e-6, 10.0, log=True),
            "learning_rate_init": Real(1e-4, 1.0, log=True),
            "batch_size": Integer(8, 100, log=True),
            "activation": Categorical(["relu", "tanh", "logistic"]),
        },
        _perceptron,
        "a multilayer perceptron, 40 epochs of Adam",
    ),
}

#: Largest value known of each tuning, and where, with scikit-learn 1.9.
_BEST_KNOWN: dict[str, tuple[float, dict[str, float | int | str]]] = {
    "enet-diabetes": (0.490879, {"alpha": 0.108957, "l1_ratio": 0.01}),
    "hgb-diabetes": (
        0.467624,
        {
            "learning_rate": 0.149058,
            "max_leaf_nodes": 3,
            "min_samples_leaf": 11,
            "l2_regularization": 0.0596345,
        },
    ),
    "knn-cancer": (0.970129, {"n_neighbors": 6, "p": 1.59941, "weights": "distance"}),
    "krr-diabetes": (0.509659, {"alpha": 0.497296, "gamma": 0.0178419}),
    "mlp-wine": (
        -0.028314,
        {
            "n_hidden": 18,
            "alpha": 5.17151e-05,
            "learning_rate_init": 0.0162954,
            "batch_size": 25,
            "activation": "tanh",
        },
    ),
    "pipeline-cancer": (
        -0.069515,
        {"scaler": "minmax", "n_components": 22, "C": 104.118},
    ),
    "rf-cancer": (
        -0.124867,
        {
            "max_depth": 4,
            "max_features": 0.527937,
            "min_samples_leaf": 3,
            "criterion": "entropy",
        },
    ),
    "sgd-digits": (
        0.956608,
        {"alpha": 0.000360528, "l1_ratio": 1, "eta0": 0.908535, "power_t": 0.113858},
    ),
    "svm-digits": (0.985000, {"C": 6.08569, "gamma": 0.0576724}),
    "svr-diabetes": (0.517291, {"C": 86.9063, "gamma": 0.0229295, "epsilon": 23.1878}),
}

# -- the problems ---------------------------------------------------------------------


def tuning(name: str) -> Problem:
    """Return a small tuning of an estimator of scikit-learn.

    The score of a threefold cross-validation with fixed splits on a data set that
    scikit-learn carries: "digits" (every third of the 1,797 images, pixels / 16),
    "diabetes", "cancer", "wine". Noise-free.

    Parameters
    ----------
    name : str
        The data set's name is its last word.

    Returns
    -------
    Problem
        Its optimum is not known; `best_known` is the best value that searches
        found (see this module's docstring), None of the rough ones.
    """
    tuned = _TUNINGS[name]
    value, params = _BEST_KNOWN.get(name, (None, None))
    return Problem(
        name=name,
        space=Space(tuned.space),
        func=_Score(name),
        source=f"threefold cross-validated {tuned.scoring} of {tuned.what} on "
        f"scikit-learn's {tuned.data}",
        best_known=value,
        best_known_params=params and dict(params),
    )


@dataclass(frozen=True)
class _Score:
    """The mean score as a function of the hyperparameters (picklable)."""

    name: str

    def __call__(self, params: Mapping[str, Any]) -> float:
        """Return the mean score of a cross-validation."""
        tuned = _TUNINGS[self.name]
        X, y = _data(tuned.data)
        estimator = tuned.estimator(**params)
        folds = StratifiedKFold if is_classifier(estimator) else KFold
        # One thread: rounding, and so the value, is then the same on all machines.
        with threadpool_limits(1), warnings.catch_warnings():
            # The small budgets of epochs are part of the problems.
            warnings.simplefilter("ignore", ConvergenceWarning)
            cv = folds(3, shuffle=True, random_state=0)
            given = {"scoring": tuned.scoring, "cv": cv, "error_score": "raise"}
            scores = cross_val_score(estimator, X, y, **given)
        return float(np.mean(scores))


@cache
def _data(name: str) -> tuple[Array, Array]:
    """Return the points and targets of a data set."""
    loader = "load_breast_cancer" if name == "cancer" else f"load_{name}"
    X, y = getattr(datasets, loader)(return_X_y=True)
    return (X[::3] / 16, y[::3]) if name == "digits" else (X, y)
