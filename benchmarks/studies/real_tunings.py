"""Tunings as people run them, each with its untuned estimator as a point of its space.

The data are scikit-learn's own, paragraphs of Python's help, or made by a seed; a fit
takes at most a tenth of a second. Every tuning exists in two draws: other rows, other
made data and other splits, so that what was chosen on one is reported on the other.

Where a default is no point of a space, the untuned estimator has its numerical value
there (``gamma="scale"`` and ``max_features="sqrt"`` as numbers), or the nearest end: a
depth without limit is the largest depth, no penalty is the smallest one, all components
are the most. Forests have 16 trees, and networks and stochastic gradient descent 20
epochs, to be quick; that is part of the estimator that is given.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.datasets import (
    load_diabetes,
    load_digits,
    make_classification,
    make_friedman1,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import ElasticNet, LogisticRegression, SGDClassifier
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo_benchmarks.problems._tuned import SCALERS, scaled

N_SPLITS = 3


@dataclass(frozen=True)
class Tuning:
    """What is tuned.

    Parameters
    ----------
    load : callable
        Number of the draw, 0 or 1 -> data and targets.
    make : callable
        Hyperparameters -> estimator.
    scoring : str
        The score.
    space : dict or list of dict
        What is searched; the dicts of a list are branches.
    untuned : dict
        Candidate 0.
    needs : str, default=""
        A package that is imported for it.
    """

    load: Callable[[int], tuple[Any, Any]]
    make: Callable[..., Any]
    scoring: str
    space: Any
    untuned: dict[str, Any]
    needs: str = ""

    @property
    def n_parameters(self):
        """Parameters that vary in a candidate, the choice of a branch among them."""
        branches = Space(self.space).branches
        varying = [
            sum(dimension.size > 1 for dimension in branch.dimensions.values())
            for branch in branches
        ]
        return max(varying) + (len(branches) > 1)


@dataclass(frozen=True)
class Score:
    """The scores of the folds as a function of the hyperparameters.

    Parameters
    ----------
    tuning : Tuning
        What is tuned.
    draw : int
        Number of the draw of rows, made data and splits.
    """

    tuning: Tuning
    draw: int

    def __call__(self, params):
        """Return the score of each fold."""
        X, y = _data(self.tuning.load, self.draw)
        estimator = self.tuning.make(**params)
        folds = StratifiedKFold if is_classifier(estimator) else KFold
        cv = folds(N_SPLITS, shuffle=True, random_state=self.draw)
        given = {"scoring": self.tuning.scoring, "cv": cv, "error_score": "raise"}
        # Few epochs do not converge, which is part of a tuning.
        with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
            return cross_val_score(estimator, X, y, **given).tolist()


@cache
def _data(load, draw):
    return load(draw)


# Data -------------------------------------------------------------------------------


def digits(draw):
    X, y = load_digits(return_X_y=True)
    return X[draw::4] / 16, y[draw::4]


def few_digits(draw):
    X, y = load_digits(return_X_y=True)
    return X[draw::6] / 16, y[draw::6]


def diabetes(draw):
    return load_diabetes(return_X_y=True)


def standard_diabetes(draw):
    X, y = diabetes(draw)
    return X, (y - y.mean()) / y.std()


def friedman(draw):
    return make_friedman1(300, noise=1.0, random_state=draw)


def standard_friedman(draw):
    X, y = friedman(draw)
    return X, (y - y.mean()) / y.std()


def noisy_friedman(draw):
    X, y = make_friedman1(300, noise=3.0, random_state=draw)
    return X, (y - y.mean()) / y.std()


def unbalanced(draw):
    return make_classification(
        500,
        n_features=15,
        n_informative=6,
        weights=[0.85],
        flip_y=0.05,
        class_sep=0.7,
        random_state=draw,
    )


def distorted(draw):
    """Clusters among columns of noise, in units that differ."""
    X, y = make_classification(
        450, n_features=16, n_informative=6, shuffle=False, random_state=draw
    )
    return X * np.geomspace(1, 30, 16)[::-1], y


#: Topics of Python's help by their subject.
_SUBJECTS = (
    ("string-methods", "formatstrings", "strings"),
    ("typesseq", "typesmapping"),
    ("compound", "assignment", "import"),
    ("specialnames", "attribute-access"),
    ("debugger",),
    ("numeric-types", "comparisons", "operator-summary"),
    ("execmodel", "identifiers"),
)


def paragraphs(draw):
    """Paragraphs of Python's help, cut to 30 words, and the number of their subject."""
    from pydoc_data.topics import topics

    subjects: dict[str, int] = {}
    for subject, names in enumerate(_SUBJECTS):
        for text in re.split(r"\n\s*\n", "\n\n".join(topics[name] for name in names)):
            words = text.split()
            if len(words) >= 12:
                subjects.setdefault(" ".join(words[:30]), subject)
    texts, y = np.array(list(subjects)), np.array(list(subjects.values()))
    rows = np.random.default_rng(draw).permutation(len(y))
    kept = [row for of in range(len(_SUBJECTS)) for row in rows[y[rows] == of][:50]]
    return texts[kept], y[kept]


# Estimators, given their hyperparameters ----------------------------------------------


def _text(C, **params):
    return make_pipeline(TfidfVectorizer(**params), LogisticRegression(C=C))


def _lightgbm(**params):
    from lightgbm import LGBMClassifier

    same = {"deterministic": True, "force_col_wise": True, "random_state": 0}
    return LGBMClassifier(subsample_freq=1, n_jobs=1, verbose=-1, **same, **params)


def _xgboost(**params):
    from xgboost import XGBRegressor

    return XGBRegressor(n_jobs=1, random_state=0, **params)


def _forest(**params):
    return RandomForestClassifier(16, random_state=0, **params)


def _extra_trees(**params):
    return ExtraTreesClassifier(16, random_state=0, **params)


def _boosting(**params):
    return HistGradientBoostingRegressor(early_stopping=False, random_state=0, **params)


def _perceptron(n_hidden, n_layers, **params):
    layers = (n_hidden,) * n_layers
    return scaled(MLPClassifier(layers, max_iter=20, random_state=0, **params))


def _sgd(**params):
    return scaled(SGDClassifier(max_iter=20, random_state=0, **params))


def _reduced_svc(scaler, n_components, whiten, **params):
    pca = PCA(n_components, whiten=whiten, svd_solver="full")
    return make_pipeline(SCALERS[scaler](), pca, SVC(**params))


def _neighbours(scaler, n_components, whiten, **params):
    pca = PCA(n_components, whiten=whiten, svd_solver="full")
    return make_pipeline(SCALERS[scaler](), pca, KNeighborsClassifier(**params))


def _svr(**params):
    return scaled(SVR(max_iter=20_000, **params))


def _polynomial(degree, interaction_only, **params):
    features = PolynomialFeatures(
        degree, interaction_only=interaction_only, include_bias=False
    )
    net = ElasticNet(random_state=0, **params)
    return make_pipeline(StandardScaler(), features, StandardScaler(), net)


def _spline(alpha, l1_ratio, selection, **params):
    features = SplineTransformer(include_bias=False, **params)
    net = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, selection=selection)
    return make_pipeline(features, StandardScaler(), net.set_params(random_state=0))


def _logistic(scaler, **params):
    return make_pipeline(SCALERS[scaler](), LogisticRegression(max_iter=200, **params))


#: The models of the joint choices: those of classification, and of regression.
_CLASSIFIERS = {
    "logistic": _logistic,
    "svc": lambda scaler, **params: make_pipeline(SCALERS[scaler](), SVC(**params)),
    "forest": _forest,
}
_REGRESSORS = {
    "net": lambda **params: scaled(ElasticNet(**params)),
    "neighbours": lambda **params: scaled(KNeighborsRegressor(**params)),
    "svr": _svr,
    "boosting": lambda **params: _boosting(max_iter=50, **params),
}


def _classifier(model, **params):
    return _CLASSIFIERS[model](**params)


def _regressor(model, **params):
    return _REGRESSORS[model](**params)


# The tunings --------------------------------------------------------------------------

_SCALER = Categorical(["none", "standard", "minmax", "quantile"])
_WEIGHTS = Categorical(["uniform", "distance"])
_YES_NO = Categorical([False, True])
_CRITERION = Categorical(["gini", "entropy"])
_CLASS_WEIGHT = Categorical([None, "balanced"])

TUNINGS = {
    "lightgbm-distorted": Tuning(
        distorted,
        _lightgbm,
        "neg_log_loss",
        {
            "n_estimators": Integer(10, 100, log=True),
            "learning_rate": Real(0.01, 0.5, log=True),
            "num_leaves": Integer(2, 64, log=True),
            "max_depth": Integer(2, 12),
            "min_child_samples": Integer(2, 60, log=True),
            "subsample": Real(0.4, 1.0),
            "colsample_bytree": Real(0.3, 1.0),
            "reg_alpha": Real(1e-6, 10.0, log=True),
            "reg_lambda": Real(1e-6, 10.0, log=True),
        },
        {
            "n_estimators": 100,
            "learning_rate": 0.1,
            "num_leaves": 31,
            "max_depth": 12,
            "min_child_samples": 20,
            "subsample": 1.0,
            "colsample_bytree": 1.0,
            "reg_alpha": 1e-6,
            "reg_lambda": 1e-6,
        },
        needs="lightgbm",
    ),
    "xgboost-friedman": Tuning(
        noisy_friedman,
        _xgboost,
        "r2",
        {
            "n_estimators": Integer(10, 100, log=True),
            "learning_rate": Real(0.01, 0.5, log=True),
            "max_depth": Integer(1, 8),
            "min_child_weight": Real(0.5, 50.0, log=True),
            "subsample": Real(0.4, 1.0),
            "colsample_bytree": Real(0.3, 1.0),
            "reg_lambda": Real(1e-3, 100.0, log=True),
            "gamma": Real(1e-3, 10.0, log=True),
        },
        {
            "n_estimators": 100,
            "learning_rate": 0.3,
            "max_depth": 6,
            "min_child_weight": 1.0,
            "subsample": 1.0,
            "colsample_bytree": 1.0,
            "reg_lambda": 1.0,
            "gamma": 1e-3,
        },
        needs="xgboost",
    ),
    "text-help": Tuning(
        paragraphs,
        _text,
        "neg_log_loss",
        {
            "ngram_range": Categorical([(1, 1), (1, 2), (2, 2)]),
            "min_df": Integer(1, 5, log=True),
            "max_df": Real(0.1, 1.0),
            "sublinear_tf": _YES_NO,
            "use_idf": _YES_NO,
            "norm": Categorical([None, "l1", "l2"]),
            "C": Real(1e-3, 1e3, log=True),
        },
        {
            "ngram_range": (1, 1),
            "min_df": 1,
            "max_df": 1.0,
            "sublinear_tf": False,
            "use_idf": True,
            "norm": "l2",
            "C": 1.0,
        },
    ),
    "joint-digits": Tuning(
        digits,
        _classifier,
        "accuracy",
        [
            {
                "model": ["logistic"],
                "scaler": _SCALER,
                "C": Real(1e-4, 1e3, log=True),
                "class_weight": _CLASS_WEIGHT,
            },
            {
                "model": ["svc"],
                "scaler": _SCALER,
                "C": Real(1e-2, 1e3, log=True),
                "gamma": Real(1e-4, 1.0, log=True),
            },
            {
                "model": ["forest"],
                "max_depth": Integer(1, 20, log=True),
                "max_features": Real(0.02, 1.0, log=True),
                "min_samples_leaf": Integer(1, 20, log=True),
                "max_samples": Real(0.3, 1.0),
                "criterion": _CRITERION,
            },
        ],
        {"model": "logistic", "scaler": "standard", "C": 1.0, "class_weight": None},
    ),
    "joint-diabetes": Tuning(
        standard_diabetes,
        _regressor,
        "r2",
        [
            {
                "model": ["net"],
                "alpha": Real(1e-4, 10.0, log=True),
                "l1_ratio": Real(0.0, 1.0),
            },
            {
                "model": ["neighbours"],
                "n_neighbors": Integer(1, 50, log=True),
                "p": Real(1.0, 4.0),
                "weights": _WEIGHTS,
            },
            {
                "model": ["svr"],
                "C": Real(1e-2, 100.0, log=True),
                "gamma": Real(1e-4, 1.0, log=True),
                "epsilon": Real(1e-3, 1.0, log=True),
            },
            {
                "model": ["boosting"],
                "learning_rate": Real(1e-2, 1.0, log=True),
                "max_leaf_nodes": Integer(2, 40, log=True),
                "min_samples_leaf": Integer(1, 60, log=True),
                "l2_regularization": Real(1e-6, 100.0, log=True),
                "max_features": Real(0.2, 1.0),
            },
        ],
        {
            "model": "boosting",
            "learning_rate": 0.1,
            "max_leaf_nodes": 31,
            "min_samples_leaf": 20,
            "l2_regularization": 1e-6,
            "max_features": 1.0,
        },
    ),
    "boosting-diabetes": Tuning(
        diabetes,
        _boosting,
        "r2",
        {
            "max_iter": Integer(10, 60, log=True),
            "learning_rate": Real(1e-2, 1.0, log=True),
            "max_leaf_nodes": Integer(2, 40, log=True),
            "min_samples_leaf": Integer(1, 60, log=True),
            "l2_regularization": Real(1e-6, 100.0, log=True),
            "max_features": Real(0.2, 1.0),
            "max_bins": Integer(8, 255, log=True),
        },
        {
            "max_iter": 60,
            "learning_rate": 0.1,
            "max_leaf_nodes": 31,
            "min_samples_leaf": 20,
            "l2_regularization": 1e-6,
            "max_features": 1.0,
            "max_bins": 255,
        },
    ),
    "forest-unbalanced": Tuning(
        unbalanced,
        _forest,
        "balanced_accuracy",
        {
            "max_depth": Integer(1, 20, log=True),
            "max_features": Real(0.05, 1.0),
            "min_samples_leaf": Integer(1, 30, log=True),
            "min_samples_split": Integer(2, 40, log=True),
            "max_samples": Real(0.2, 1.0),
            "criterion": _CRITERION,
            "class_weight": _CLASS_WEIGHT,
        },
        {
            "max_depth": 20,
            "max_features": 0.258,
            "min_samples_leaf": 1,
            "min_samples_split": 2,
            "max_samples": 1.0,
            "criterion": "gini",
            "class_weight": None,
        },
    ),
    "extra-trees-distorted": Tuning(
        distorted,
        _extra_trees,
        "neg_log_loss",
        {
            "max_depth": Integer(1, 20, log=True),
            "max_features": Real(0.05, 1.0),
            "min_samples_leaf": Integer(1, 30, log=True),
            "criterion": _CRITERION,
            "class_weight": _CLASS_WEIGHT,
        },
        {
            "max_depth": 20,
            "max_features": 0.25,
            "min_samples_leaf": 1,
            "criterion": "gini",
            "class_weight": None,
        },
    ),
    "perceptron-digits": Tuning(
        few_digits,
        _perceptron,
        "neg_log_loss",
        {
            "n_hidden": Integer(8, 64, log=True),
            "n_layers": Integer(1, 2),
            "alpha": Real(1e-6, 10.0, log=True),
            "learning_rate_init": Real(1e-4, 0.1, log=True),
            "batch_size": Integer(32, 200, log=True),
            "activation": Categorical(["relu", "tanh", "logistic"]),
        },
        {
            "n_hidden": 64,
            "n_layers": 1,
            "alpha": 1e-4,
            "learning_rate_init": 1e-3,
            "batch_size": 200,
            "activation": "relu",
        },
    ),
    "sgd-digits": Tuning(
        few_digits,
        _sgd,
        "neg_log_loss",
        {
            "loss": Categorical(["log_loss", "modified_huber"]),
            "penalty": Categorical(["l2", "l1", "elasticnet"]),
            "alpha": Real(1e-6, 0.1, log=True),
            "l1_ratio": Real(0.0, 1.0),
            "learning_rate": Categorical(
                ["optimal", "constant", "invscaling", "adaptive"]
            ),
            "eta0": Real(1e-4, 0.1, log=True),
            "power_t": Real(0.05, 1.0),
            "average": _YES_NO,
        },
        {
            "loss": "log_loss",
            "penalty": "l2",
            "alpha": 1e-4,
            "l1_ratio": 0.15,
            "learning_rate": "optimal",
            "eta0": 0.01,
            "power_t": 0.5,
            "average": False,
        },
    ),
    "svc-digits": Tuning(
        digits,
        _reduced_svc,
        "accuracy",
        {
            "scaler": _SCALER,
            "n_components": Integer(2, 60),
            "whiten": _YES_NO,
            "kernel": Categorical(["rbf", "poly", "sigmoid"]),
            "C": Real(1e-2, 1e3, log=True),
            "gamma": Real(1e-4, 1.0, log=True),
        },
        {
            "scaler": "standard",
            "n_components": 60,
            "whiten": False,
            "kernel": "rbf",
            "C": 1.0,
            "gamma": 0.0167,
        },
    ),
    "neighbours-distorted": Tuning(
        distorted,
        _neighbours,
        "roc_auc",
        {
            "scaler": _SCALER,
            "n_components": Integer(2, 16),
            "whiten": _YES_NO,
            "n_neighbors": Integer(1, 60, log=True),
            "p": Real(1.0, 4.0),
            "weights": _WEIGHTS,
        },
        {
            "scaler": "standard",
            "n_components": 16,
            "whiten": False,
            "n_neighbors": 5,
            "p": 2.0,
            "weights": "uniform",
        },
    ),
    "svr-friedman": Tuning(
        standard_friedman,
        _svr,
        "r2",
        {
            "kernel": Categorical(["rbf", "poly", "linear"]),
            "C": Real(1e-2, 100.0, log=True),
            "gamma": Real(1e-3, 1.0, log=True),
            "epsilon": Real(1e-3, 1.0, log=True),
        },
        {"kernel": "rbf", "C": 1.0, "gamma": 0.1, "epsilon": 0.1},
    ),
    "net-friedman": Tuning(
        friedman,
        _polynomial,
        "r2",
        {
            "degree": Integer(1, 3),
            "interaction_only": _YES_NO,
            "alpha": Real(1e-2, 100.0, log=True),
            "l1_ratio": Real(0.0, 1.0),
        },
        {"degree": 2, "interaction_only": False, "alpha": 1.0, "l1_ratio": 0.5},
    ),
    "spline-friedman": Tuning(
        friedman,
        _spline,
        "r2",
        {
            "n_knots": Integer(2, 20, log=True),
            "degree": Integer(1, 4),
            "knots": Categorical(["uniform", "quantile"]),
            "extrapolation": Categorical(["constant", "linear", "continue"]),
            "alpha": Real(1e-2, 100.0, log=True),
            "l1_ratio": Real(0.0, 1.0),
            "selection": Categorical(["cyclic", "random"]),
        },
        {
            "n_knots": 5,
            "degree": 3,
            "knots": "uniform",
            "extrapolation": "constant",
            "alpha": 1.0,
            "l1_ratio": 0.5,
            "selection": "cyclic",
        },
    ),
}

#: Scores of the folds of the best candidates that other searches found, by tuning and
#: by what the runs are for, with scikit-learn 1.9.
NOTED: dict[tuple[str, str], list[float]] = {}
