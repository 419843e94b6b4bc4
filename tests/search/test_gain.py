"""The gain of tuning over the estimator as given."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skrobustbo import (
    Integer,
    Real,
    RobustBayesSearchCV,
    default_unless_better,
    one_standard_error,
)
from skrobustbo.model_selection._bootstrap import score_of_winner
from skrobustbo.model_selection._honest import corrected

X, y = make_classification(
    200, 12, n_informative=4, flip_y=0.2, class_sep=0.7, random_state=0
)
TREE = {"max_depth": Integer(1, 12), "max_features": Real(0.1, 1)}


def tree_search(**settings):
    settings = {"n_iter": 12, "random_state": 0} | settings
    return RobustBayesSearchCV(DecisionTreeClassifier(random_state=0), TREE, **settings)


def means(search, metric="score"):
    return search.cv_results_[f"mean_test_{metric}"]


def test_it_is_the_difference_of_two_scores():
    search = tree_search().fit(X, y)
    assert search.gain_ == pytest.approx(search.best_score_ - means(search)[0])
    assert search.gain_ > 0
    assert np.isnan(search.gain_interval_).all()
    said = f"tuning gained {search.gain_:.3f} over the untuned DecisionTreeClassifier"
    report = " ".join(search.report().split())
    assert f"{said}, not corrected for the choice (see honest_score)" in report


@pytest.mark.parametrize("gamma", ["scale", 0.1])
def test_its_row_has_a_label_inside_the_space_and_outside(gamma):
    space = {"C": Real(0.1, 10, log=True), "gamma": Real(1e-3, 1, log=True)}
    search = RobustBayesSearchCV(SVC(gamma=gamma), space, n_iter=5, random_state=0)
    search.fit(*load_iris(return_X_y=True))
    labels = search.cv_results_["model_label"].tolist()
    assert labels[0] == "default"
    assert labels.count("default") == 1
    assert search.gain_ == pytest.approx(search.best_score_ - means(search)[0])


def test_there_is_none_without_the_estimator_as_given():
    search = tree_search(include_default=False, honest_score=True).fit(X, y)
    assert not hasattr(search, "gain_")
    assert not hasattr(search, "gain_interval_")
    assert "gained" not in search.report()


def test_it_is_nan_where_the_estimator_as_given_fails():
    class Fails(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None, check_input=True):
            if self.min_samples_leaf == 1:
                raise ValueError("as given")
            return super().fit(X, y, sample_weight, check_input)

    space = {"min_samples_leaf": Integer(2, 40)}
    search = RobustBayesSearchCV(Fails(random_state=0), space, n_iter=6, random_state=0)
    with pytest.warns((FitFailedWarning, UserWarning), match="as given|non-finite"):
        search.set_params(honest_score=True).fit(X, y)
    assert math.isnan(search.gain_)
    assert math.isfinite(search.honest_score_)
    assert "gained" not in search.report()


def test_it_is_zero_where_the_estimator_as_given_wins():
    space = {"strategy": ["stratified", "uniform"]}
    search = RobustBayesSearchCV(
        DummyClassifier(strategy="prior", random_state=0), space, n_iter=3
    )
    rare = (np.arange(200) % 10 == 0).astype(int)
    search.set_params(honest_score=True, random_state=0).fit(X, rare)
    assert search.best_index_ == 0
    assert search.gain_ == pytest.approx(0, abs=1e-12)
    low, high = search.gain_interval_
    assert low <= 0 <= high
    report = " ".join(search.report().split())
    assert "no candidate was better than the untuned DummyClassifier" in report


def test_an_honest_score_corrects_it():
    raw, honest = (tree_search(honest_score=h).fit(X, y) for h in (False, True))
    assert raw.cv_results_["params"] == honest.cv_results_["params"]
    assert honest.gain_ < raw.gain_
    low, high = honest.gain_interval_
    assert low < honest.gain_ < high
    wide = np.ptp(honest.honest_interval_)
    assert high - low < 1.5 * wide
    said = f"gained {honest.gain_:.3f} (95% interval {low:.3f} to {high:.3f}) over"
    assert said in " ".join(honest.report().split())


def test_the_correction_by_folds():
    search = tree_search(honest_score="folds").fit(X, y)
    splits = [search.cv_results_[f"split{i}_test_score"] for i in range(5)]
    scores = np.transpose(splits)
    assert search.gain_ == pytest.approx(corrected(scores) - scores[0].mean())
    assert np.isnan(search.gain_interval_).all()


def test_several_metrics_and_a_choice_of_another_candidate():
    search = tree_search(scoring=["accuracy", "roc_auc"], refit="roc_auc").fit(X, y)
    expected = search.best_score_ - means(search, "roc_auc")[0]
    assert search.gain_ == pytest.approx(expected)
    search = tree_search(refit=one_standard_error("max_depth")).fit(X, y)
    assert search.gain_ == pytest.approx(means(search).max() - means(search)[0])


def test_resuming_renews_it(tmp_path):
    search = tree_search(honest_score=True, checkpoint=tmp_path / "a.db").fit(X, y)
    before = search.gain_, search.gain_interval_
    search.resume(X, y, n_iter=6)
    assert search.cv_results_["model_label"].tolist().count("default") == 1
    whole = tree_search(honest_score=True, n_iter=18).fit(X, y)
    assert (search.gain_, search.gain_interval_) != before
    again = tree_search(honest_score=True, checkpoint=tmp_path / "a.db", n_iter=18)
    again.fit(X, y)
    assert (again.gain_, again.gain_interval_) == (search.gain_, search.gain_interval_)
    assert math.isfinite(whole.gain_)


def test_with_a_resource_the_row_is_a_full_one():
    search = tree_search(resource="n_samples", n_iter=6).fit(X, y)
    assert search.cv_results_["model_label"][0] == "default"
    full = search.cv_results_["n_resources"] == search.max_resources_
    assert full[0]
    assert search.gain_ == pytest.approx(means(search)[full].max() - means(search)[0])


def test_the_least_simple_is_one_without_the_measure():
    search = RobustBayesSearchCV(
        SVC(), {"gamma": Real(1e-3, 1, log=True)}, n_iter=6, random_state=0
    )
    search.set_params(refit=one_standard_error("gamma"))
    search.fit(*load_iris(return_X_y=True))
    assert search.cv_results_["params"][0] == {"gamma": "scale"}
    assert search.best_index_ > 0
    near = RobustBayesSearchCV(
        KNeighborsClassifier(1), {"n_neighbors": Integer(1, 30)}, n_iter=6
    )
    near.set_params(refit=one_standard_error("n_neighbors"), random_state=0)
    near.fit(*load_iris(return_X_y=True))
    simplest = near.cv_results_["params"][near.best_index_]["n_neighbors"]
    best = np.argmax(means(near))
    error = np.std(
        [near.cv_results_[f"split{i}_test_score"][best] for i in range(5)], ddof=1
    ) / math.sqrt(5)
    within = means(near) >= means(near)[best] - error
    numbers = [p["n_neighbors"] for p in near.cv_results_["params"]]
    assert simplest == min(
        n for n, is_near in zip(numbers, within, strict=True) if is_near
    )


# The estimate of it: differences from one candidate -----------------------------------


def gains(rng, truths, n_rows=150, n_bags=300):
    """Return the raw, the corrected and the true gain over candidate 0."""
    common = rng.normal(size=n_rows)
    noise = rng.normal(size=(len(truths), n_rows))
    rows = truths[:, None] + 2 * common + noise
    counts = rng.multinomial(n_rows, [1 / n_rows] * n_rows, size=n_bags)
    of_all, bags = rows.mean(axis=1), counts @ rows.T / n_rows
    ahead, in_bags = of_all - of_all[0], bags - bags[:, [0]]
    winner = int(np.argmax(of_all))
    found = score_of_winner(ahead, in_bags, n_rows)
    return ahead[winner], found, truths[winner] - truths[0]


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.3])
def test_on_average_it_is_the_true_gain(spread):
    rng = np.random.default_rng(0)
    raw, errors, covered = [], [], []
    for _ in range(300):
        truths = spread * rng.normal(size=20)
        naive, found, truth = gains(rng, truths)
        low, high = found.interval
        raw.append(naive - truth)
        errors.append(found.score - truth)
        covered.append(low <= truth <= high)
    # A quarter of the optimism, or half a standard error of the difference.
    limit = max(0.25 * np.mean(raw), 0.5 * math.sqrt(2 / 150))
    assert abs(np.mean(errors)) < limit
    assert np.mean(covered) > 0.9


def test_the_report_says_if_tuning_may_have_gained_nothing():
    search = tree_search(honest_score=True).fit(X, y)
    says = "tuning may have gained nothing, as the interval of the gain contains 0"
    for low, expected in [(-0.01, True), (0.0, True), (0.01, False)]:
        search.gain_interval_ = (low, 0.1)
        assert (says in " ".join(search.report().split())) is expected
    search.gain_interval_ = (-0.01, 0.1)
    search.refit = default_unless_better
    assert says not in " ".join(search.report().split())
