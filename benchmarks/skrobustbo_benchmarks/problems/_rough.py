"""Tunings whose scores are rough: neighbours, single trees, few trees, few samples.

A step of a parameter changes the score by jumps, and neighbouring values of it say
little of each other. No model has much to go by.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skrobustbo.space import Categorical, Integer, Real
from skrobustbo_benchmarks.problems._tuned import SCALERS, Tuning, scaled


def _neighbours(make: Callable[..., Any], n_components: int, **params: Any) -> Any:
    scaler, whiten = SCALERS[params.pop("scaler")](), params.pop("whiten")
    turned = PCA(n_components, whiten=whiten, svd_solver="full")
    return make_pipeline(scaler, turned, make(**params))


def _of_neighbours() -> dict[str, Real | Integer | Categorical]:
    return {
        "scaler": Categorical(list(SCALERS)),
        "whiten": Categorical([False, True]),
        "n_neighbors": Integer(1, 60, log=True),
        "p": Real(1.0, 5.0),
        "weights": Categorical(["uniform", "distance"]),
    }


def _of_tree(criteria: list[str]) -> dict[str, Real | Integer | Categorical]:
    return {
        "max_depth": Integer(1, 20),
        "max_features": Real(0.05, 1.0),
        "min_samples_leaf": Integer(1, 40),
        "min_samples_split": Integer(2, 40),
        "criterion": Categorical(criteria),
        "splitter": Categorical(["best", "random"]),
    }


ROUGH = {
    "knn-digits": Tuning(
        "digits",
        "neg_log_loss",
        _of_neighbours(),
        partial(_neighbours, KNeighborsClassifier, 20),
        "nearest neighbours after a choice of scaling and whitening",
    ),
    "knn-diabetes": Tuning(
        "diabetes",
        "r2",
        _of_neighbours(),
        partial(_neighbours, KNeighborsRegressor, 10),
        "nearest neighbours after a choice of scaling and whitening",
    ),
    "tree-digits": Tuning(
        "digits",
        "accuracy",
        _of_tree(["gini", "entropy"]),
        partial(DecisionTreeClassifier, random_state=0),
        "a decision tree",
    ),
    "tree-diabetes": Tuning(
        "diabetes",
        "r2",
        _of_tree(["squared_error", "absolute_error"]),
        partial(DecisionTreeRegressor, random_state=0),
        "a decision tree",
    ),
    "trees-wine": Tuning(
        "wine",
        "neg_log_loss",
        {
            "max_depth": Integer(1, 12),
            "max_features": Real(0.05, 1.0),
            "min_samples_leaf": Integer(1, 20),
            "max_samples": Real(0.1, 1.0),
        },
        partial(ExtraTreesClassifier, n_estimators=5, bootstrap=True, random_state=0),
        "five extremely randomised trees",
    ),
    "svm-wine": Tuning(
        "wine",
        "accuracy",
        {"C": Real(1e-3, 1e4, log=True), "gamma": Real(1e-6, 10.0, log=True)},
        lambda **params: scaled(SVC(**params)),
        "a support vector machine on few samples",
    ),
}
