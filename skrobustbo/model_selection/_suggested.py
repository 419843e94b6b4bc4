"""Suggested search ranges for well-known estimators.

The ranges are based on large studies of hyperparameter tuning. The comments in this
module refer to the studies by these names:

- *tunability*: Probst, Boulesteix, Bischl (2019), Tunability: importance of
  hyperparameters of machine learning algorithms. JMLR 20.
- *rbv2*: Pfisterer, Schneider, Moosbauer, Binder, Bischl (2022), YAHPO Gym, whose
  surrogates cover the ranges of random searches on over a hundred data sets.
- *auto-sklearn*: Feurer et al. (2015), Efficient and robust automated machine learning.
- *importance*: van Rijn, Hutter (2018), Hyperparameter importance across datasets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from skrobustbo._arguments import optional_count
from skrobustbo._names import entry_of_class
from skrobustbo._sklearn_compat import num_samples
from skrobustbo.space import Categorical, Integer, Real

Params = dict[str, Any]
Range = tuple[str, Any]


@dataclass(frozen=True)
class Data:
    """Properties of the data that affect the suggested ranges.

    Attributes
    ----------
    n_rows : int
        Number of training rows in five-fold cross-validation; 1,000 if unknown.
    n_columns : int or None
        Number of columns in X; None if unknown.
    variance : float
        Variance of the values in X; 1 if unknown.
    spread : float
        Standard deviation of y; 1 if unknown.
    """

    n_rows: int = 1000
    n_columns: int | None = None
    variance: float = 1.0
    spread: float = 1.0


def _whole(low: int, high: float, *, log: bool = False) -> Any:
    """Return a range of integers, or a constant if its ends are equal."""
    high = max(low, int(high))
    return Integer(low, high, log=log) if high > low else Categorical([low])


# The table, by importance -------------------------------------------------------------


def _penalty(data: Data, given: Params) -> Iterator[Range]:
    yield "alpha", Real(1e-4, 1e4, log=True)  # rbv2 (glmnet)


def _sparse_penalty(data: Data, given: Params) -> Iterator[Range]:
    # In the target's units: beyond one standard deviation, hardly any variation is
    # left.
    yield "alpha", Real(1e-5 * data.spread, 2 * data.spread, log=True)
    if "l1_ratio" in given:
        yield "l1_ratio", Real(0.0, 1.0)  # rbv2 (glmnet)


def _inverse_penalty(data: Data, given: Params) -> Iterator[Range]:
    yield "C", Real(2**-10, 2**10, log=True)  # tunability
    if given["class_weight"] in (None, "balanced"):
        yield "class_weight", [None, "balanced"]  # auto-sklearn


def _linear_margin(data: Data, given: Params) -> Iterator[Range]:
    yield "C", Real(2**-5, 2**15, log=True)  # auto-sklearn
    if "epsilon" in given:
        yield "epsilon", Real(1e-3 * data.spread, data.spread, log=True)  # auto-sklearn


def _margin(data: Data, given: Params) -> Iterator[Range]:
    if given["kernel"] in ("rbf", "poly", "sigmoid"):  # importance: gamma, then C
        scale = 1 / (data.variance * (data.n_columns or 10))
        yield "gamma", Real(1e-3 * scale, 1e2 * scale, log=True)
    yield "C", Real(2**-5, 2**15, log=True)  # auto-sklearn
    if "epsilon" in given:
        yield "epsilon", Real(1e-3 * data.spread, data.spread, log=True)  # auto-sklearn


def _neighbours(data: Data, given: Params) -> Iterator[Range]:
    most = min(100, data.n_rows // 2)  # auto-sklearn: 100
    yield "n_neighbors", _whole(1, most, log=True)
    yield "weights", ["uniform", "distance"]  # auto-sklearn
    yield "p", [1, 2]  # auto-sklearn


def _tree(data: Data, given: Params) -> Iterator[Range]:
    # Both come from tunability.
    yield "min_samples_leaf", _whole(1, min(60, data.n_rows / 4), log=True)
    yield "max_depth", _whole(1, 30, log=True)
    yield "max_features", Real(0.1, 1.0)


def _forest(data: Data, given: Params) -> Iterator[Range]:
    yield "max_features", Real(0.05, 1.0)  # tunability: the first
    yield "min_samples_leaf", _whole(1, min(20, data.n_rows / 8), log=True)
    if given["bootstrap"]:
        yield "max_samples", Real(0.1, 1.0)  # tunability: the second
    if given["criterion"] in ("gini", "entropy"):
        yield "criterion", ["gini", "entropy"]  # auto-sklearn


def _histogram_boosting(data: Data, given: Params) -> Iterator[Range]:
    yield "learning_rate", Real(0.01, 1.0, log=True)  # auto-sklearn
    yield "max_leaf_nodes", _whole(4, 256, log=True)  # auto-sklearn: to 2047
    yield "min_samples_leaf", _whole(1, min(200, data.n_rows / 4), log=True)
    yield "l2_regularization", Real(1e-6, 1e2, log=True)
    if "max_features" in given:
        yield "max_features", Real(0.3, 1.0)
    yield "max_iter", _whole(30, 500, log=True)


def _boosting(data: Data, given: Params) -> Iterator[Range]:
    yield "learning_rate", Real(0.01, 1.0, log=True)  # auto-sklearn
    yield "max_depth", _whole(1, 10)  # auto-sklearn
    yield "n_estimators", _whole(50, 500, log=True)  # auto-sklearn
    yield "subsample", Real(0.3, 1.0)
    yield "min_samples_leaf", _whole(1, min(20, data.n_rows / 8), log=True)
    yield "max_features", Real(0.1, 1.0)  # auto-sklearn


def _network(data: Data, given: Params) -> Iterator[Range]:
    if given["solver"] != "lbfgs":
        yield "learning_rate_init", Real(1e-4, 0.1, log=True)  # auto-sklearn: to 0.5
    yield "alpha", Real(1e-7, 10.0, log=True)  # auto-sklearn: to 0.1
    yield (
        "hidden_layer_sizes",
        Categorical([(16,), (32,), (64,), (128,), (32, 32), (64, 64), (128, 128)]),
    )
    if given["solver"] != "lbfgs":
        yield "batch_size", _whole(8, min(256, data.n_rows), log=True)
    yield "activation", ["relu", "tanh"]  # auto-sklearn


def _gradient_descent(data: Data, given: Params) -> Iterator[Range]:
    yield "alpha", Real(1e-7, 0.1, log=True)  # auto-sklearn
    yield "penalty", ["l2", "l1", "elasticnet"]  # auto-sklearn
    yield "average", [False, True]  # auto-sklearn


def _components(data: Data, given: Params) -> Iterator[Range]:
    if given["svd_solver"] in ("auto", "full", "covariance_eigh"):
        yield "n_components", Real(0.5, 0.9999)  # auto-sklearn: the variance to keep


def _selection(data: Data, given: Params) -> Iterator[Range]:
    if data.n_columns is not None:
        yield "k", _whole(1, data.n_columns, log=True)


def _share_selected(data: Data, given: Params) -> Iterator[Range]:
    yield "percentile", Real(1.0, 100.0, log=True)  # auto-sklearn: 1 to 99


def _words(data: Data, given: Params) -> Iterator[Range]:
    yield "ngram_range", Categorical([(1, 1), (1, 2)])
    yield "min_df", _whole(1, min(20, data.n_rows / 50), log=True)
    yield "max_df", Real(0.5, 1.0)
    if "sublinear_tf" in given:
        yield "sublinear_tf", [False, True]


def _lightgbm(data: Data, given: Params) -> Iterator[Range]:
    yield "learning_rate", Real(0.01, 0.3, log=True)
    yield "num_leaves", _whole(4, 256, log=True)
    yield "min_child_samples", _whole(1, min(100, data.n_rows / 4), log=True)
    yield "colsample_bytree", Real(0.3, 1.0)
    yield "n_estimators", _whole(50, 1000, log=True)
    yield "reg_lambda", Real(1e-8, 10.0, log=True)
    yield "reg_alpha", Real(1e-8, 10.0, log=True)


def _xgboost(data: Data, given: Params) -> Iterator[Range]:
    yield "learning_rate", Real(0.01, 1.0, log=True)  # tunability: the first
    yield "max_depth", _whole(1, 15)  # tunability, rbv2
    yield "subsample", Real(0.1, 1.0)  # tunability, rbv2
    yield "min_child_weight", Real(1.0, 2**7, log=True)  # tunability, rbv2
    yield "colsample_bytree", Real(0.1, 1.0)  # rbv2
    yield "n_estimators", _whole(50, 1000, log=True)  # rbv2: to 2981
    yield "reg_lambda", Real(2**-10, 2**10, log=True)  # tunability, rbv2
    yield "reg_alpha", Real(2**-10, 2**10, log=True)  # tunability, rbv2


def _catboost(data: Data, given: Params) -> Iterator[Range]:
    yield "learning_rate", Real(0.01, 0.3, log=True)
    yield "depth", _whole(4, 10)
    yield "l2_leaf_reg", Real(1.0, 30.0, log=True)
    yield "random_strength", Real(0.1, 10.0, log=True)


Suggestion = Callable[[Data, Params], Iterator[Range]]
#: Maps each package to classes and their ranges. Classes are identified by name, so
#: that LightGBM, XGBoost and CatBoost need not be installed.
_PREDICTORS: dict[str, dict[str, Suggestion]] = {
    "sklearn": {
        "Ridge RidgeClassifier KernelRidge": _penalty,
        "Lasso ElasticNet": _sparse_penalty,
        "LogisticRegression": _inverse_penalty,
        "LinearSVC LinearSVR": _linear_margin,
        "SVC SVR": _margin,
        "KNeighborsClassifier KNeighborsRegressor": _neighbours,
        "DecisionTreeClassifier DecisionTreeRegressor": _tree,
        "RandomForestClassifier RandomForestRegressor": _forest,
        "ExtraTreesClassifier ExtraTreesRegressor": _forest,
        "HistGradientBoostingClassifier HistGradientBoostingRegressor": (
            _histogram_boosting
        ),
        "GradientBoostingClassifier GradientBoostingRegressor": _boosting,
        "MLPClassifier MLPRegressor": _network,
        "SGDClassifier SGDRegressor": _gradient_descent,
    },
    "lightgbm": {"LGBMClassifier LGBMRegressor": _lightgbm},
    "xgboost": {"XGBClassifier XGBRegressor": _xgboost},
    "catboost": {"CatBoostClassifier CatBoostRegressor": _catboost},
}
_TRANSFORMERS: dict[str, dict[str, Suggestion]] = {
    "sklearn": {
        "PCA": _components,
        "SelectKBest": _selection,
        "SelectPercentile": _share_selected,
        "TfidfVectorizer CountVectorizer": _words,
    },
}


def _flat(table: dict[str, dict[str, Suggestion]]) -> dict[tuple[str, str], Suggestion]:
    return {
        (package, name): suggestion
        for package, families in table.items()
        for names, suggestion in families.items()
        for name in names.split()
    }


_KNOWN_PREDICTORS, _KNOWN_TRANSFORMERS = _flat(_PREDICTORS), _flat(_TRANSFORMERS)


# The function -------------------------------------------------------------------------


def suggested_space(
    estimator: Any, X: Any = None, y: Any = None, *, n_params: int | None = None
) -> Params:
    """Return suggested search ranges for an estimator, most important first.

    You can print and edit the returned dict before you pass it to
    `RobustBayesSearchCV`. It includes ranges for the components of pipelines, column
    transformers and other composite estimators. The parameters of the predictor come
    first, followed by the parameters of the preceding steps.

    Parameters
    ----------
    estimator : estimator
        A supported estimator from scikit-learn, LightGBM, XGBoost or CatBoost, or a
        composite estimator that contains one.
    X : array-like of shape (n_samples, n_features), default=None
        Training data, used to set the limits of some ranges. Without data, these ranges
        are suitable for a thousand rows of scaled data.
    y : array-like of shape (n_samples,), default=None
        Target values, used to scale some ranges for regressors.
    n_params : int, default=None
        Maximum number of parameters to return. By default, all are returned.

    Returns
    -------
    space : dict
        Maps parameter names to `Real`, `Integer` or `Categorical` ranges, or to lists
        of choices.

    Raises
    ------
    ValueError
        If the estimator contains no supported predictor.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skrobustbo import suggested_space
    >>> model = make_pipeline(StandardScaler(), KNeighborsClassifier())
    >>> for name, values in suggested_space(model).items():
    ...     print(name, values)
    kneighborsclassifier__n_neighbors Integer(low=1, high=100, log=True)
    kneighborsclassifier__weights ['uniform', 'distance']
    kneighborsclassifier__p [1, 2]
    """
    n_params = optional_count("n_params", n_params, "suggested_space")
    parts = {"": estimator, **_parts(estimator)}
    predicting = _ranges(parts, _KNOWN_PREDICTORS, X, y)
    if not predicting:
        raise _unknown(estimator, parts)
    others = _ranges(parts, _KNOWN_TRANSFORMERS, X, y)
    ordered = [*_in_turn(predicting), *_in_turn(others)]
    return dict(ordered[:n_params])


def _parts(estimator: Any) -> Params:
    """Return the components of an estimator, by name."""
    try:
        listed = estimator.get_params(deep=True)
    except AttributeError:
        raise TypeError(
            "The 'estimator' of suggested_space must be an estimator, an object with "
            f"'get_params'. Got {estimator!r} instead."
        ) from None
    return {
        name: value
        for name, value in listed.items()
        if hasattr(value, "get_params") and not isinstance(value, type)
    }


def _ranges(
    parts: Mapping[str, Any],
    known: Mapping[tuple[str, str], Suggestion],
    X: Any,
    y: Any,
) -> list[list[Range]]:
    """Return the ranges for each supported component, with full parameter names."""
    found = []
    for name, part in parts.items():
        suggestion = entry_of_class(part, known)
        if suggestion is not None:
            prefix = f"{name}__" if name else ""
            data = _facts(part, X, y, is_alone=not name)
            ranges = suggestion(data, part.get_params(deep=False))
            found.append([(prefix + parameter, each) for parameter, each in ranges])
    return found


def _facts(part: Any, X: Any, y: Any, *, is_alone: bool) -> Data:
    """Return the known properties of the data that a component receives.

    Within a pipeline, the variance is unknown, because steps usually scale the data.
    """
    facts: Params = {}
    if X is not None:
        facts["n_rows"] = max(1, num_samples(X) * 4 // 5)
        if np.ndim(X) == 2:
            facts["n_columns"] = np.shape(X)[1]
        if is_alone:
            facts["variance"] = _positive(lambda: np.var(_numbers(X)))
    if y is not None and is_regressor(part):
        facts["spread"] = _positive(lambda: np.std(_numbers(y)))
    return Data(**facts)


def _numbers(values: Any) -> Any:
    dense = values.toarray() if hasattr(values, "toarray") else values
    return np.asarray(dense, dtype=float)


def _positive(compute: Callable[[], Any]) -> float:
    """Return a positive number computed from data, or 1 if this is not possible."""
    try:
        found = float(compute())
    except (TypeError, ValueError):  # words, dates
        return 1.0
    return found if 0 < found < math.inf else 1.0


def _in_turn(parts: list[list[Range]]) -> Iterator[Range]:
    """Yield the first range of each component, then the second ones, and so on."""
    for ranges in zip_longest(*parts):
        yield from (each for each in ranges if each is not None)


def _unknown(estimator: Any, parts: Mapping[str, Any]) -> ValueError:
    """Return the error for an estimator without a supported predictor."""
    names = sorted({name for _, name in _KNOWN_PREDICTORS})
    inner = {
        name: part
        for name, part in parts.items()
        if (is_classifier(part) or is_regressor(part)) and not _parts(part)
    }
    prefix, part = next(iter(inner.items()), ("", estimator))
    numbers = (
        name
        for name, value in part.get_params(deep=False).items()
        if type(value) in (int, float)
    )
    name = "__".join(filter(None, [prefix, next(numbers, "alpha")]))
    return ValueError(
        "The 'estimator' of suggested_space must be, or contain, one of "
        f"{', '.join(names)}. Got {type(part).__name__} instead; write down its space, "
        f"such as {{{name!r}: Real(1e-3, 1e3, log=True)}}."
    )
