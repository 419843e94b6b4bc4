"""`RobustBayesSearchCV` as users of scikit-learn know it."""

import math
import pickle
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from fake_estimators import Fake, search_of
from runs import source_of
from skrobustbo import Integer, Real, RobustBayesSearchCV, Space
from skrobustbo._sklearn_compat import BaseSearchCV
from skrobustbo._trials import SINGLE, FoldResult
from skrobustbo.evaluation import take_folds
from skrobustbo.policies import GPUCB

X, y = load_iris(return_X_y=True)
SVC_SPACE = {"C": Real(1e-2, 1e3, log=True), "gamma": scipy.stats.loguniform(1e-4, 10)}


class Hill(Fake):
    """Scores a known function of two parameters; fails where told to."""

    def __init__(self, a=0.0, b=0.0, fail_above=math.inf):
        self.a = a
        self.b = b
        self.fail_above = fail_above

    def fit(self, X, y=None, sample_weight=None):
        if self.a > self.fail_above:
            raise RuntimeError(f"a={self.a} is too large")
        self.weight_ = sample_weight
        return super().fit(X, y)

    def score(self, X, y=None):
        return super().score(X, y) - (self.b + 0.1) ** 2


SPACE = {"a": Real(-1, 1), "b": Real(-1, 1)}


def search(**settings):
    return search_of(Hill(), SPACE, **{"n_iter": 12, **settings})


# The results -----------------------------------------------------------------------


def test_fitted_like_grid_search():
    start = time.perf_counter()
    ours = RobustBayesSearchCV(SVC(), SVC_SPACE, n_iter=10, random_state=0).fit(X, y)
    elapsed = time.perf_counter() - start
    grid = GridSearchCV(SVC(), {"C": [1.0, 10.0], "gamma": [0.1]}).fit(X, y)
    extra = {
        "model_label",
        "model_mean",
        "model_std",
        "posterior_mean",
        "posterior_std",
    }
    assert set(ours.cv_results_) == set(grid.cv_results_) | extra
    for name in vars(grid):
        if name.endswith("_") and name != "_checked_cv_orig":
            assert hasattr(ours, name), name
    assert isinstance(ours, BaseSearchCV)
    assert ours.n_splits_ == 5
    assert ours.n_iter_ == 10
    assert ours.stop_reason_ == "n_iter"
    assert 0 < ours.tuner_time_ < elapsed - ours.refit_time_ < elapsed
    assert ours.best_score_ == ours.cv_results_["mean_test_score"].max()
    assert ours.best_params_ == ours.cv_results_["params"][ours.best_index_]
    assert ours.cv_results_["rank_test_score"][ours.best_index_] == 1
    assert not ours.multimetric_


def test_delegation():
    ours = RobustBayesSearchCV(
        LogisticRegression(max_iter=500), {"C": Real(0.1, 10, log=True)}, n_iter=4
    )
    assert hasattr(ours, "predict_proba")
    assert not hasattr(ours, "transform")
    ours.fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), ours.best_estimator_.predict(X))
    assert ours.predict_proba(X).shape == (150, 3)
    assert ours.score(X, y) == ours.best_estimator_.score(X, y)
    assert list(ours.classes_) == [0, 1, 2]
    assert ours.n_features_in_ == 4


def test_columns_of_the_model():
    ours = search(n_iter=15).fit(X, y)
    results = ours.cv_results_
    initial = results["model_label"] == "initial"
    assert initial.sum() == ours.optimizer_.n_initial_points == 5
    assert np.isnan(results["model_mean"][initial]).all()
    assert np.isfinite(results["model_mean"][~initial]).all()
    assert (results["model_std"][~initial] > 0).all()
    # The default's model sees scores far below the middle raised: see its `tail`.
    scores = results["mean_test_score"]
    good = scores > np.median(scores)
    np.testing.assert_allclose(results["posterior_mean"][good], scores[good], atol=0.01)
    assert (results["posterior_std"] > 0).all()


def test_finds_the_optimum():
    ours = search(n_iter=25).fit(X, y)
    assert ours.best_score_ > -1e-3
    assert ours.best_params_["a"] == pytest.approx(0.3, abs=0.05)


def test_values_are_plain_types():
    space = {
        "max_depth": np.array([1, 2, 3]),
        "min_samples_split": Integer(2, 10),
        "criterion": ["gini", "entropy"],
        "ccp_alpha": scipy.stats.uniform(0, 0.1),
        "splitter": np.array(["best"]),
    }
    tree = DecisionTreeClassifier(max_depth=3)
    ours = RobustBayesSearchCV(tree, space, n_iter=5, cv=2).fit(X, y)
    for params in ours.cv_results_["params"]:
        kinds = {type(value) for value in params.values()}
        assert kinds <= {int, float, str}
    assert ours.cv_results_["param_max_depth"].dtype.kind == "i"


def test_estimators_as_values():
    pipe = Pipeline([("scale", StandardScaler()), ("clf", SVC())])
    space = {
        "scale": [StandardScaler(), MinMaxScaler(), None, "passthrough"],
        "clf": [SVC(), RandomForestClassifier(n_estimators=5, random_state=0)],
    }
    ours = RobustBayesSearchCV(pipe, space, n_iter=20, cv=2, random_state=0).fit(X, y)
    assert ours.n_iter_ == 8  # the whole space
    assert ours.stop_reason_ == "space_exhausted"
    assert ours.best_estimator_.named_steps["clf"] is not space["clf"][0]
    assert not hasattr(space["clf"][0], "classes_")  # values were cloned


def test_a_finite_set_of_points():
    points = Space.from_points([{"a": 0.1, "b": 0.0}, {"a": 0.3, "b": -0.1}])
    given = {"n_iter": 9, "cv": 2, "include_default": False}
    ours = RobustBayesSearchCV(Hill(), points, **given).fit(X, y)
    assert ours.n_iter_ == 2
    assert ours.best_params_ == {"a": 0.3, "b": -0.1}


# Equal results for any number of jobs ----------------------------------------------


@pytest.mark.parametrize("policy", ["robust", "lb-gp-ucb", "random"])
def test_equal_candidates_for_any_number_of_jobs(policy):
    pipe = make_pipeline(StandardScaler(), SVC())
    space = {f"svc__{name}": value for name, value in SVC_SPACE.items()}
    runs = [
        RobustBayesSearchCV(
            pipe, space, n_iter=14, policy=policy, n_jobs=n_jobs, cv=3, random_state=1
        ).fit(X, y)
        for n_jobs in (None, 1, 2)
    ]
    first, *others = [run.cv_results_ for run in runs]
    for other in others:
        assert other["params"] == first["params"]
        np.testing.assert_array_equal(
            other["mean_test_score"], first["mean_test_score"]
        )
        np.testing.assert_array_equal(other["model_label"], first["model_label"])


def test_splits_are_drawn_once():
    """A splitter without a seed gives all candidates the same folds."""
    space = {"alpha": Real(1.0, 1.0001)}
    data = make_regression(60, 5, noise=20.0, random_state=0)
    cv = ShuffleSplit(2, test_size=0.3, random_state=np.random.RandomState(0))
    ours = RobustBayesSearchCV(Ridge(), space, n_iter=6, cv=cv).fit(*data)
    spread = np.ptp(ours.cv_results_["split0_test_score"])
    assert spread < 1e-3


def test_random_state_forms():
    def params(state):
        return search(random_state=state, n_iter=4).fit(X, y).cv_results_["params"]

    assert params(3) == params(3)
    assert params(np.random.RandomState(3)) == params(np.random.RandomState(3))
    assert params(None) != params(None)


# Settings --------------------------------------------------------------------------


def test_initial_params_are_completed_from_the_estimator():
    ours = RobustBayesSearchCV(
        Hill(a=0.25, b=0.5),
        SPACE,
        n_iter=6,
        initial_params=[{}, {"a": -1}],
        cv=2,
        random_state=0,
    ).fit(X, y)
    assert ours.cv_results_["params"][:2] == [
        {"a": 0.25, "b": 0.5},
        {"a": -1, "b": 0.5},
    ]
    assert list(ours.cv_results_["model_label"][:2]) == ["default", "initial"]


def test_policy_objects():
    policy = GPUCB(beta=2.0)
    ours = search(policy=policy).fit(X, y)
    assert ours.policy is policy
    assert ours.optimizer_.policy is not policy


def test_refit_forms():
    none = search(refit=False).fit(X, y)
    assert none.best_params_["a"] is not None
    assert not hasattr(none, "best_estimator_")
    with pytest.raises(AttributeError, match="no attribute 'predict'"):
        none.predict(X)

    worst = search(refit=lambda results: int(np.argmin(results["mean_test_score"])))
    worst.fit(X, y)
    assert worst.best_estimator_.a == worst.best_params_["a"]
    assert worst.cv_results_["rank_test_score"][worst.best_index_] == 12
    assert not hasattr(worst, "best_score_")


def test_several_metrics_search_the_one_of_refit():
    ours = RobustBayesSearchCV(
        SVC(), SVC_SPACE, n_iter=6, scoring=["accuracy", "f1_macro"], refit="f1_macro"
    ).fit(X, y)
    assert ours.multimetric_
    assert ours.best_score_ == ours.cv_results_["mean_test_f1_macro"].max()
    told = [record["value"] for record in ours.optimizer_.history_]
    # The first one is the estimator as given.
    np.testing.assert_allclose(told, ours.cv_results_["mean_test_f1_macro"][1:])


def test_train_scores():
    assert "mean_train_score" in search(return_train_score=True).fit(X, y).cv_results_
    assert "mean_train_score" not in search().fit(X, y).cv_results_


def test_verbose_counts_fits(capsys):
    search(verbose=1, n_iter=4).fit(X, y)
    assert "Fitting 3 folds for each of 4 candidates, totalling 12 fits" in (
        capsys.readouterr().out
    )
    search(verbose=2, n_iter=3, cv=2).fit(X, y)
    assert capsys.readouterr().out.count("END") == 6


def test_no_more_candidates_are_announced_than_the_space_has_points(capsys):
    few = {"a": [-1, 0, 1], "b": [0, 1]}
    search_of(Hill(), few, verbose=1, n_iter=10).fit(X, y)
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "Fitting 3 folds for each of 6 candidates, totalling 18 fits"
    assert last.startswith("6 of 6 candidates")
    again = search_of(Hill(), few, verbose=1, n_iter=10, policy="et-gp-ucb").fit(X, y)
    assert "each of 10 candidates" in capsys.readouterr().out
    assert len(again.cv_results_["params"]) == 10


def test_clone_params_and_pickle():
    ours = search(policy=GPUCB(beta=2.0), initial_params=[{"a": 0.0}])
    copy = clone(ours)
    assert repr(copy) == repr(ours)
    assert copy.get_params()["policy__beta"] == 2.0
    ours.fit(X, y)
    loaded = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(loaded.predict(X), ours.predict(X))
    assert loaded.optimizer_.ask() == ours.optimizer_.ask()


def test_fit_twice_starts_anew():
    ours = search()
    first = ours.fit(X, y).cv_results_["params"]
    assert ours.fit(X, y).cv_results_["params"] == first


def test_metadata_reaches_the_fit():
    weights = np.arange(len(X), dtype=float)
    ours = search(n_iter=3, scoring=lambda est, X, y: est.score(X, y))
    with warnings.catch_warnings():
        # Newer releases tell that this scorer ignores the weights.
        warnings.simplefilter("ignore", UserWarning)
        ours.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(ours.best_estimator_.weight_, weights)


def test_groups_reach_the_splitter():
    groups = np.arange(len(X)) % 3
    ours = search(n_iter=3, cv=GroupKFold(3)).fit(X, y, groups=groups)
    assert ours.n_splits_ == 3


def test_data_frames_and_nesting():
    frame = pd.DataFrame(X, columns=list("abcd"))
    ours = RobustBayesSearchCV(SVC(), SVC_SPACE, n_iter=4, cv=2, random_state=0)
    ours.fit(frame, pd.Series(y))
    assert list(ours.feature_names_in_) == list("abcd")
    assert cross_val_score(ours, X, y, cv=2).mean() > 0.8
    pipe = make_pipeline(StandardScaler(), ours).fit(X, y)
    assert pipe.score(X, y) > 0.8


def test_without_targets():
    class Scored(Hill):
        def fit(self, X, y=None):
            return self

    ours = RobustBayesSearchCV(Scored(), SPACE, n_iter=4, cv=KFold(2)).fit(X)
    assert ours.n_iter_ == 4


# Failures --------------------------------------------------------------------------


def test_failing_candidates_are_recorded_and_avoided():
    ours = search(n_iter=20).set_params(estimator=Hill(fail_above=0.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours.fit(X, y)
    texts = [str(w.message) for w in caught if w.category is FitFailedWarning]
    assert len(texts) == 1  # once for the whole search
    assert "fits failed out of a total of 60" in texts[0]
    scores = ours.cv_results_["mean_test_score"]
    failed = np.isnan(scores)
    assert 0 < failed.sum() < 10
    assert failed[10:].sum() <= failed[:10].sum()
    assert ours.best_params_["a"] <= 0
    reasons = [record["failed_reason"] for record in ours.optimizer_.history_]
    assert [reason is not None for reason in reasons] == failed.tolist()


def test_a_numeric_error_score_is_told():
    ours = search(error_score=-5.0, n_iter=9).set_params(estimator=Hill(fail_above=0.0))
    with pytest.warns(FitFailedWarning):
        ours.fit(X, y)
    told = [record["value"] for record in ours.optimizer_.history_]
    assert min(told) == -5.0


def test_error_score_raise():
    ours = search(error_score="raise").set_params(estimator=Hill(fail_above=-2.0))
    with pytest.raises(RuntimeError, match="is too large"):
        ours.fit(X, y)


def one_sentence(error):
    text = str(error.value)
    assert "\n" not in text
    return text


def test_an_estimator_that_always_fails():
    """The message contains the value, so each candidate has another one."""
    ours = search(n_iter=50).set_params(estimator=Hill(fail_above=-2.0))
    with pytest.raises(
        ValueError, match="All 18 fits of the first 6 candidates"
    ) as error:
        ours.fit(X, y)
    text = one_sentence(error)
    assert "Hill" in text
    assert "is too large" in text
    assert "error_score='raise'" in text


class Unrouted(Hill):
    def fit(self, X, y=None):
        raise TypeError("fit() lacks 'sample_weight'")


@pytest.mark.parametrize(("batch_size", "n"), [(1, 3), (2, 4), (5, 5)])
def test_one_error_of_all_fits_ends_the_search_after_three(batch_size, n):
    ours = search(n_iter=50, n_initial_points=20, batch_size=batch_size)
    with pytest.raises(ValueError, match=f"All {3 * n} fits .* lacks 'sample_weight'"):
        ours.set_params(estimator=Unrouted()).fit(X, y)


@pytest.mark.parametrize("schedule", ["rounds", "window", "free"])
def test_failures_of_all_planned_candidates_are_told_in_our_words(schedule):
    ours = search(n_iter=2, batch_size=2, schedule=schedule)
    with pytest.raises(ValueError, match="All 6 fits of the first 2 candidates"):
        ours.set_params(estimator=Unrouted()).fit(X, y)


def test_three_candidates_that_take_too_long_do_not_end_the_search():
    """They have raised nothing; others may be faster."""
    source = source_of(search(n_iter=20, n_initial_points=10))
    late = FoldResult({SINGLE: math.nan}, fit_error="The fold took longer than 2 s.")
    for _ in range(10):
        (trial,) = source.next_round()
        take_folds(trial, [late] * 3)
        source.tell(trial)
    with pytest.raises(ValueError, match="All 30 fits of the first 10 candidates"):
        source.next_round()


class Seldom(Hill):
    """Fails for the first three candidates."""

    def fit(self, X, y=None):
        if self.a < 0.2:
            raise TypeError("always the same")
        return self


def test_a_fit_that_succeeds_lets_the_search_go_on():
    given = [{"a": -0.9}, {"a": -0.5}, {"a": 0.5}]
    ours = search(n_iter=8, initial_params=given, include_default=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours.set_params(estimator=Seldom()).fit(X, y)
    assert ours.n_iter_ == 8


@pytest.mark.parametrize("error_score", [0, -5.0])
def test_a_number_for_failures_lets_the_search_go_on(error_score):
    """It ends normally, and scikit-learn says that all fits failed."""
    ours = search(n_iter=7, error_score=error_score)
    with pytest.raises(ValueError, match="All the 21 fits failed"):
        ours.set_params(estimator=Unrouted()).fit(X, y)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_scorer_without_finite_values_never_ends_a_search(value):
    """As with `GridSearchCV`, which warns and takes the first candidate."""
    ours = search(n_iter=9, scoring=lambda estimator, X, y: value)
    with pytest.warns(UserWarning, match="test scores are non-finite"):
        ours.fit(X, y)
    assert ours.n_iter_ == 9
    assert ours.best_index_ == 0
    assert "no candidate got a finite score" in ours.report()


class Counting(Hill):
    fits = 0

    def fit(self, X, y=None):
        Counting.fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("change", "culprit"),
    [
        (
            {"param_space": {"aa": Real(0, 1)}},
            "Invalid parameter 'aa'.*did you mean 'a'",
        ),
        ({"param_space": {"nested__a": [1]}}, "Invalid parameter 'nested__a'"),
        ({"param_space": {}}, "at least one parameter"),
        ({"param_space": {"a": (0, 1)}}, r"Parameter 'a': the tuple \(0, 1\)"),
        ({"param_space": {"a": "rbf"}}, "Parameter 'a': the string 'rbf'"),
        ({"param_space": {"a": []}}, "Parameter 'a': .*empty"),
        ({"param_space": {"a": 3}}, r"Parameter 'a': .*write \[3\]"),
        ({"param_space": [SPACE, 3]}, "Expected a dict from parameter names"),
        ({"n_iter": 0}, "The 'n_iter' parameter"),
        ({"n_initial_points": 0}, "The 'n_initial_points' parameter"),
        ({"policy": "robsut"}, "did you mean 'robust'"),
        ({"policy": GPUCB(noise=-1)}, "The 'noise' of a policy"),
        (
            {"initial_params": [{"a": 7}]},
            "In 'initial_params', parameter 'a' is outside the space",
        ),
        (
            {"param_space": {**SPACE, "a": Real(1, 2)}, "initial_params": [{"b": 0}]},
            "has no 'a', and the estimator's own value, 0.0, is outside the space",
        ),
        ({"initial_params": [{"c": 0}]}, "got 'c'"),
        ({"initial_params": ["a"]}, "must be a list of dicts"),
        ({"scoring": "acuracy"}, "scoring"),
        ({"refit": "accuracy", "scoring": ["accuracy", "f1_macr"]}, "f1_macr"),
        ({"random_state": "seed"}, "random_state"),
    ],
)
def test_mistakes_are_caught_before_the_first_fit(change, culprit):
    Counting.fits = 0
    settings = {"param_space": SPACE, "n_iter": 5, "cv": 2, **change}
    with pytest.raises(ValueError, match=culprit):
        RobustBayesSearchCV(Counting(), **settings).fit(X, y)
    assert Counting.fits == 0


@pytest.mark.parametrize(
    ("make", "culprit"),
    [
        (lambda: Real(2, 1), r"Real\(2.0, 1.0\) is empty"),
        (lambda: Integer(3, 3), r"Integer\(3, 3\) is empty.*write \[3\]"),
        (lambda: Real(0, 1, log=True), "'low' must be positive on a log scale"),
        (lambda: Real(-1, math.inf), "must be a finite number"),
    ],
)
def test_dimensions_complain_when_made(make, culprit):
    with pytest.raises(ValueError, match=culprit):
        make()


def test_a_searched_component_may_bring_parameters():
    pipe = Pipeline([("clf", SVC())])
    space = {"clf": [SVC()], "clf__C": [0.5, 1.0]}
    ours = RobustBayesSearchCV(pipe, space, n_iter=2, cv=2).fit(X, y)
    assert ours.n_iter_ == 2


def test_sparse_input():
    from scipy.sparse import csr_matrix

    data, target = make_classification(60, 5, random_state=0)
    ours = RobustBayesSearchCV(SVC(), SVC_SPACE, n_iter=4, cv=2, random_state=0)
    assert ours.fit(csr_matrix(data), target).n_iter_ == 4
