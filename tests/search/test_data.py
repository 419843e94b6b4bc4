"""Every kind of data that scikit-learn's searches accept."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fake_estimators import Fake
from skrobustbo import Real, RobustBayesSearchCV

X, y = load_iris(return_X_y=True)
C = {"C": Real(1e-2, 1e2, log=True)}


def search(estimator=None, space=None, **settings):
    given = {"n_iter": 4, "cv": 2, "random_state": 0, **settings}
    estimator = SVC() if estimator is None else estimator
    return RobustBayesSearchCV(estimator, space or C, **given)


def test_lists():
    ours = search().fit(X.tolist(), y.tolist())
    assert ours.best_score_ == search().fit(X, y).best_score_


def test_sparse_of_any_format():
    expected = search().fit(scipy.sparse.csr_matrix(X), y).best_score_
    for make in (scipy.sparse.csc_matrix, scipy.sparse.coo_matrix):
        assert search().fit(make(X), y).best_score_ == expected


class Wide(Fake):
    def fit(self, X, y):
        assert X.ndim == 3
        return super().fit(X, y)

    def predict(self, X):
        assert X.ndim == 3
        return super().predict(X)

    def score(self, X, y):
        return self.a


def test_three_dimensional_arrays():
    ours = search(Wide(), {"a": Real(0, 1)}).fit(X.reshape(150, 2, 2), y)
    assert ours.predict(X.reshape(150, 2, 2)).shape == (150,)


def test_data_frames_keep_their_columns():
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = make_pipeline(
        make_column_transformer((StandardScaler(), ["a", "b"])), SVC()
    )
    space = {"svc__C": Real(0.1, 10)}
    ours = search(model, space).fit(frame, pd.Series(y))
    assert list(ours.feature_names_in_) == list("abcd")
    assert ours.predict(frame.iloc[:3]).shape == (3,)


def test_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(X, schema=list("abcd"))
    model = make_pipeline(StandardScaler(), SVC())
    ours = search(model, {"svc__C": Real(0.1, 10)}).fit(frame, polars.Series(y))
    assert list(ours.feature_names_in_) == list("abcd")
    plain = search(model, {"svc__C": Real(0.1, 10)}).fit(X, y)
    assert ours.best_score_ == plain.best_score_


def test_precomputed_kernels():
    ours = search(SVC(kernel="precomputed")).fit(X @ X.T, y)
    assert ours.best_score_ == search(SVC(kernel="linear")).fit(X, y).best_score_


def test_groups():
    groups = np.arange(150) % 5
    ours = search(cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    assert ours.n_splits_ == 5
    with pytest.raises(ValueError, match="groups"):
        search(cv=GroupKFold(2)).fit(X, y)


def test_sample_weights():
    weights = np.where(y == 0, 0.0, 1.0)
    ours = search(LogisticRegression(max_iter=300)).fit(X, y, sample_weight=weights)
    assert not (ours.predict(X) == 0).any()


def test_several_targets():
    from sklearn.linear_model import Ridge

    ours = search(Ridge(), {"alpha": Real(0.1, 1)}).fit(X[:, :2], X[:, 2:])
    assert ours.predict(X[:, :2]).shape == (150, 2)


def test_no_targets():
    model = KMeans(2, n_init=1, random_state=0)
    ours = search(model, {"n_clusters": [2, 3, 4]}, n_iter=3).fit(X)
    assert ours.best_params_ == {"n_clusters": 4}


def test_inside_a_pipeline_and_a_cross_validation():
    model = make_pipeline(StandardScaler(), search())
    scores = cross_val_score(model, X, y, cv=3)
    assert (scores > 0.85).all()
    model.fit(X, y)
    assert model[-1].n_features_in_ == 4


def test_a_search_inside_a_search():
    inner = search(n_iter=3)
    outer = search(inner, {"estimator__gamma": Real(1e-3, 1, log=True)}, n_iter=3)
    outer.fit(X, y)
    assert outer.best_estimator_.best_params_["C"] > 0
