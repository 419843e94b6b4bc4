"""Rows on the search as an estimator."""

import pickle

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

from promises.tools import CS, LINE, MIXED, Instant, NotApplicableError, X, require, y
from searches import Floats, Ints

#: scikit-learn's own tests expect its two searches to fail these checks.
EXPECTED_FAILURES = {
    "check_supervised_y_2d": "GridSearchCV does not warn, either",
    "check_requires_y_none": "GridSearchCV has no sentence for it, either",
}
FITTED = (
    "cv_results_",
    "best_estimator_",
    "best_score_",
    "best_params_",
    "best_index_",
    "scorer_",
    "n_splits_",
    "refit_time_",
    "multimetric_",
    "classes_",
    "n_features_in_",
)


def base_class(peer):
    """Is a `BaseSearchCV`."""
    search = peer.search(Instant(), LINE)
    require(isinstance(search, GridSearchCV.__mro__[1]), "derives from another class")


def check_estimator_classifier(peer):
    """`check_estimator`, around a classifier."""
    return _checks(peer.search(LogisticRegression(), CS, n_iter=2, cv=2))


def check_estimator_regressor(peer):
    """`check_estimator`, around a regressor."""
    alphas = {"alpha": Floats(0.1, 1.0)}
    return _checks(peer.search(Ridge(), alphas, n_iter=2, cv=2))


def _checks(search):
    results = check_estimator(
        search,
        expected_failed_checks=EXPECTED_FAILURES,
        on_fail=None,
        on_skip=None,
    )
    asked = [check for check in results if check["status"] in ("passed", "failed")]
    failed = {c["check_name"] for c in asked if c["status"] == "failed"}
    n_passed = sum(check["status"] == "passed" for check in asked)
    return f"{n_passed}/{len(asked)} {', '.join(sorted(failed))}".strip()


def params_and_clone(peer):
    """`get_params`, `set_params` (nested, too) and `clone` agree."""
    search = peer.search(LogisticRegression(), CS, n_iter=3).fit(X, y)
    search.set_params(estimator__max_iter=321)
    copied = clone(search)
    require(copied.estimator.max_iter == 321, "the clone lost a nested parameter")
    params, others = search.get_params(deep=False), copied.get_params(deep=False)
    require(params.keys() == others.keys(), "the clone has other parameters")
    require(not hasattr(copied, "best_params_"), "the clone is fitted")
    copied.fit(X, y)


def pickled(peer):
    """Survives pickle, unfitted and fitted."""
    search = peer.search(LogisticRegression(), CS, n_iter=3)
    fitted = pickle.loads(pickle.dumps(search)).fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    require(np.array_equal(again.predict(X), fitted.predict(X)), "predicts otherwise")


def fitted_attributes(peer):
    """Has the fitted attributes of `GridSearchCV`, and they agree."""
    search = peer.search(LogisticRegression(), CS, n_iter=3).fit(X, y)
    missing = [name for name in FITTED if not hasattr(search, name)]
    require(not missing, f"lacks {', '.join(missing)}")
    means = search.cv_results_["mean_test_score"]
    require(search.best_score_ == max(means), "best_score_ is not the largest mean")
    best = search.cv_results_["params"][search.best_index_]
    require(search.best_params_ == best, "best_params_ is not at best_index_")


def feature_names(peer):
    """Takes a data frame and has its `feature_names_in_`."""
    try:
        import pandas as pd
    except ImportError:
        raise NotApplicableError("pandas is not installed") from None
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    search = peer.search(LogisticRegression(), CS, n_iter=3).fit(frame, pd.Series(y))
    require(hasattr(search, "feature_names_in_"), "lacks feature_names_in_")
    require(list(search.feature_names_in_) == list("vwxyz"), "has other names")


def results_columns(peer):
    """`cv_results_` has the columns of `GridSearchCV`, masked arrays included."""
    results = peer.search(Instant(), MIXED).fit(X, y).cv_results_
    grid = GridSearchCV(Instant(), {"a": [0.0], "b": [1], "c": ["p"]}, cv=3).fit(X, y)
    missing = sorted(grid.cv_results_.keys() - results.keys())
    require(not missing, f"lacks {', '.join(missing)}")
    masked = isinstance(results["param_a"], np.ma.MaskedArray)
    require(masked, "param_* are not masked arrays")
    lengths = {len(column) for column in results.values()}
    require(lengths == {len(results["params"])}, "has columns of different lengths")


def delegation(peer):
    """Has the methods of the estimator, and only those."""
    linear = peer.search(LogisticRegression(), CS, n_iter=3).fit(X, y)
    for method in ("predict", "predict_proba", "predict_log_proba", "score"):
        require(hasattr(linear, method), f"lacks {method}")
    require(linear.decision_function(X).shape == (len(X),), "decision_function differs")
    require(not hasattr(linear, "transform"), "has a transform")
    machine = peer.search(SVC(), CS, n_iter=3)
    require(not hasattr(machine, "predict_proba"), "SVC brings no predict_proba")
    pca = peer.search(PCA(), {"n_components": Ints(1, 3)}, n_iter=3).fit(X)
    back = pca.inverse_transform(pca.transform(X))
    require(back.shape == X.shape, "inverse_transform differs")


def tags(peer):
    """Tells classifiers, regressors and clusterers apart as the estimator does."""
    classifier = peer.search(LogisticRegression(), CS)
    require(is_classifier(classifier), "a classifier is not known as one")
    regressor = peer.search(Ridge(), {"alpha": Floats(0.1, 1.0)})
    require(is_regressor(regressor), "a regressor is not known as one")
    clusterer = peer.search(KMeans(), {"n_clusters": Ints(2, 4)})
    kind = get_tags(clusterer).estimator_type
    require(kind == get_tags(KMeans()).estimator_type, f"a clusterer is a {kind}")


def html_repr(peer):
    """Its HTML representation shows the estimator, and the best one after the fit."""
    search = peer.search(LogisticRegression(), CS, n_iter=3)
    before = estimator_html_repr(search)
    require("LogisticRegression" in before, "does not show the estimator")
    after = estimator_html_repr(search.fit(X, y))
    require("best_estimator_" in after, "does not show best_estimator_")


def leaves_estimator_alone(peer):
    """Leaves the estimator and the space that it was given as they were."""
    estimator = LogisticRegression()
    search = peer.search(estimator, CS, n_iter=3)
    before = _reprs(search)
    search.fit(X, y)
    require(search.estimator is estimator, "another estimator is in its place")
    require(not hasattr(estimator, "coef_"), "the given estimator is fitted")
    require(estimator.C == 1.0, "the given estimator's C has changed")
    after = _reprs(search)
    changed = [name for name in before if before[name] != after[name]]
    require(not changed, f"fit has changed {', '.join(changed)}")


def _reprs(search):
    params = search.get_params(deep=False)
    return {name: repr(value) for name, value in params.items()}


def fit_twice(peer):
    """A second fit starts again and finds the same."""
    search = peer.search(Instant(), LINE).fit(X, y)
    first, scores = search.best_params_, search.cv_results_["mean_test_score"]
    search.fit(X, y)
    n_first, n_second = len(scores), len(search.cv_results_["mean_test_score"])
    require(n_first == n_second, f"first {n_first} candidates, then {n_second}")
    require(search.best_params_ == first, "the second fit finds another best")


def composes(peer):
    """Works as a step of a pipeline and inside `cross_val_score`."""
    search = peer.search(LogisticRegression(), CS, n_iter=3)
    pipeline = make_pipeline(StandardScaler(), search)
    scores = cross_val_score(pipeline, X, y, cv=2, error_score="raise")
    require(np.isfinite(scores).all(), "has scores that are not finite")
    check_is_fitted(clone(pipeline).fit(X, y))
