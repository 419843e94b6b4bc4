"""The tunings of the study of races, on data that scikit-learn carries, and MNIST."""

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
)
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet, LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from skrobustbo import Categorical, Integer, Real
from skrobustbo_benchmarks.datasets import fetch_mnist
from skrobustbo_benchmarks.problems import SoftmaxRegression, mnist_logistic_space


def piped(estimator, scaler=None):
    return Pipeline([("scale", scaler or StandardScaler()), ("fit", estimator)])


def digits():
    X, y = load_digits(return_X_y=True)
    return X[::3] / 16, y[::3]


def cancer():
    return load_breast_cancer(return_X_y=True)


def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X, (y - y.mean()) / y.std()


def wine():
    return load_wine(return_X_y=True)


def mnist():
    X, y = fetch_mnist(return_X_y=True)
    return X[::30] / np.float32(255), y[::30]


FEW = {"max_iter": 40, "random_state": 0}
SCALERS = [
    "passthrough",
    StandardScaler(),
    MinMaxScaler(),
    QuantileTransformer(n_quantiles=50, random_state=0),
]
#: Name -> data, estimator, space, score.
TUNINGS = {
    "svm-digits": (
        digits,
        SVC(),
        {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-6, 1e-1, log=True)},
        "accuracy",
    ),
    "sgd-digits": (
        digits,
        SGDClassifier(
            loss="log_loss",
            penalty="elasticnet",
            learning_rate="invscaling",
            max_iter=15,
            tol=None,
            random_state=0,
        ),
        {
            "alpha": Real(1e-6, 1.0, log=True),
            "l1_ratio": Real(0.0, 1.0),
            "eta0": Real(1e-4, 1.0, log=True),
            "power_t": Real(0.0, 1.0),
        },
        "accuracy",
    ),
    "knn-cancer": (
        cancer,
        piped(KNeighborsClassifier()),
        {
            "fit__n_neighbors": Integer(1, 50, log=True),
            "fit__p": Real(1.0, 6.0),
            "fit__weights": Categorical(["uniform", "distance"]),
        },
        "accuracy",
    ),
    "krr-diabetes": (
        diabetes,
        piped(KernelRidge(kernel="rbf")),
        {
            "fit__alpha": Real(1e-4, 1e2, log=True),
            "fit__gamma": Real(1e-5, 10.0, log=True),
        },
        "r2",
    ),
    "svr-diabetes": (
        diabetes,
        piped(SVR()),
        {
            "fit__C": Real(1e-3, 1e2, log=True),
            "fit__gamma": Real(1e-5, 1.0, log=True),
            "fit__epsilon": Real(1e-3, 1.0, log=True),
        },
        "r2",
    ),
    "hgb-diabetes": (
        diabetes,
        HistGradientBoostingRegressor(early_stopping=False, **FEW),
        {
            "learning_rate": Real(1e-3, 1.0, log=True),
            "max_leaf_nodes": Integer(2, 64, log=True),
            "min_samples_leaf": Integer(1, 60, log=True),
            "l2_regularization": Real(1e-6, 1e3, log=True),
        },
        "r2",
    ),
    "enet-diabetes": (
        diabetes,
        piped(ElasticNet(max_iter=10_000)),
        {"fit__alpha": Real(1e-5, 10.0, log=True), "fit__l1_ratio": Real(0.01, 1.0)},
        "r2",
    ),
    "rf-cancer": (
        cancer,
        RandomForestClassifier(n_estimators=20, random_state=0),
        {
            "max_depth": Integer(1, 20, log=True),
            "max_features": Real(0.05, 1.0),
            "min_samples_leaf": Integer(1, 50, log=True),
            "criterion": Categorical(["gini", "entropy"]),
        },
        "neg_log_loss",
    ),
    "pipeline-cancer": (
        cancer,
        Pipeline(
            [
                ("scale", StandardScaler()),
                ("reduce", PCA(svd_solver="full")),
                ("fit", LogisticRegression(max_iter=300)),
            ]
        ),
        {
            "scale": Categorical(SCALERS),
            "reduce__n_components": Integer(1, 30),
            "fit__C": Real(1e-4, 1e4, log=True),
        },
        "neg_log_loss",
    ),
    "mlp-wine": (
        wine,
        piped(MLPClassifier((16,), **FEW)),
        {
            "fit__alpha": Real(1e-6, 10.0, log=True),
            "fit__learning_rate_init": Real(1e-4, 1.0, log=True),
            "fit__batch_size": Integer(8, 100, log=True),
            "fit__activation": Categorical(["relu", "tanh", "logistic"]),
        },
        "neg_log_loss",
    ),
    "mnist": (
        mnist,
        SoftmaxRegression(n_epochs=10, random_state=0),
        mnist_logistic_space(),
        "accuracy",
    ),
}
