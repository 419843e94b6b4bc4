"""The refit of the untuned estimator, unless the best is significantly better."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skrobustbo import Integer, Real, RobustBayesSearchCV, default_unless_better

X, y = make_classification(300, 20, n_informative=5, flip_y=0.1, random_state=0)
TREE = {"max_depth": Integer(1, 12), "max_features": Real(0.1, 1)}


def table(*folds, labels=None, metric="score"):
    """Return results of candidates, each given by the scores of its folds."""
    folds = np.array(folds, dtype=float)
    labels = labels or ["default", *["fill"] * (len(folds) - 1)]
    columns = {f"split{k}_test_{metric}": each for k, each in enumerate(folds.T)}
    means = {f"mean_test_{metric}": folds.mean(axis=1)}
    return {**columns, **means, "model_label": np.array(labels, dtype=object)}


EFFECTS = np.array([0.0, 0.1, 0.2, 0.3])


@pytest.mark.parametrize(("factor", "index"), [(2.2, 0), (2.3, 1)])
def test_it_has_to_be_ahead_by_so_many_standard_errors(factor, index):
    """In the better half, one candidate has noise, and two have only the effects.

    One of four others must be ahead by 2.24 standard errors.
    """
    noise = 0.02 * np.array([1, -1, 1, -1])
    variance = np.sum(noise**2) * 2 / 3 / (2 * 3)
    ahead = factor * np.sqrt(2 * variance / 4)
    others = [EFFECTS + noise - 1e-9, EFFECTS - 1, EFFECTS - 2]
    results = table(EFFECTS, EFFECTS + ahead, *others)
    assert default_unless_better(results) == index


def test_of_a_single_pair_the_folds_decide():
    """Both are far ahead of the others, which have the same effects without noise."""
    away = np.array([0.01, -0.01, 0.01, -0.01])
    error = np.std(away, ddof=1) / 2
    others = [EFFECTS - 1 - k for k in range(29)]
    for factor, index in ((2.9, 0), (3.0, 1)):  # of 30 others: 2.94
        best = EFFECTS + factor * error + away
        assert default_unless_better(table(EFFECTS, best, *others)) == index


def test_what_cannot_be_shown():
    assert default_unless_better(table([0.5], [0.9])) == 0  # by a single fold
    assert default_unless_better(table([0.5, 0.6], [0.4, 0.5])) == 0
    without = table([0.5, 0.6], [0.4, 0.9], labels=["initial", "fill"])
    assert default_unless_better(without) == 1
    failed = table([np.nan, np.nan], [0.4, 0.5], [0.3, 0.6])
    assert default_unless_better(failed) in (1, 2)
    del without["model_label"]
    assert default_unless_better(without) == 1
    equal = table([0.5, 0.6], [0.5, 0.6], [0.7, 0.8])  # ahead without any noise
    assert default_unless_better(equal) == 2


def test_metrics():
    one = table([0.5, 0.6], [0.7, 0.8], metric="accuracy")
    both = {**one, **table([0.5, 0.6], [0.4, 0.5], metric="f1")}
    assert default_unless_better(one) == 1
    assert default_unless_better(both, metric="f1") == 0
    assert default_unless_better(both, metric="accuracy") == 1
    with pytest.raises(ValueError, match=r"one of \['accuracy', 'f1'\]. Got None"):
        default_unless_better(both)
    with pytest.raises(ValueError, match="got none"):
        default_unless_better(table([np.nan], [np.nan]))


def test_in_a_search():
    search = RobustBayesSearchCV(
        DecisionTreeClassifier(random_state=0),
        TREE,
        n_iter=10,
        refit=default_unless_better,
        random_state=0,
    )
    unrelated = np.random.default_rng(0).integers(2, size=len(X))
    search.fit(X, unrelated)
    means = search.cv_results_["mean_test_score"]
    assert search.best_index_ == 0
    assert np.argmax(means) > 0
    assert search.best_estimator_.get_params()["max_depth"] is None
    pays = RobustBayesSearchCV(
        SVC(gamma=1e3), {"gamma": Real(1e-3, 1e3, log=True)}, n_iter=8, random_state=0
    )
    pays.set_params(refit=default_unless_better).fit(*load_iris(return_X_y=True))
    assert pays.best_index_ == np.argmax(pays.cv_results_["mean_test_score"]) > 0
    several = search.set_params(
        scoring=["accuracy", "roc_auc"],
        refit=partial(default_unless_better, metric="roc_auc"),
        search_metric="roc_auc",
    )
    assert several.fit(X, unrelated).best_index_ == 0
