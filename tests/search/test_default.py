"""The estimator as given: the first candidate, in the space or outside."""

import math
import sqlite3
from contextlib import closing

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fake_estimators import Fake, search_of
from skrobustbo import (
    Integer,
    Real,
    Resource,
    RobustBayesSearchCV,
    best_posterior_mean,
    load_checkpoint,
    one_standard_error,
)
from skrobustbo.checkpoint import CheckpointError

X, y = load_iris(return_X_y=True)
SPACE = {"C": Real(1e-2, 1e3, log=True), "gamma": Real(1e-4, 10, log=True)}
GIVEN = {"C": 1.0, "gamma": "scale"}


def search(estimator=None, space=SPACE, **settings):
    given = {"n_iter": 6, "random_state": 0, **settings}
    return RobustBayesSearchCV(estimator or SVC(), space, **given)


def params(fitted):
    return fitted.cv_results_["params"]


# Outside the space --------------------------------------------------------------------


def test_outside_it_is_a_row_that_no_model_learns_from():
    ours = search().fit(X, y)
    results = ours.cv_results_
    assert len(params(ours)) == ours.n_iter_ == 6
    assert params(ours)[0] == GIVEN
    assert results["model_label"][0] == "default"
    score = cross_val_score(SVC(), X, y).mean()
    assert results["mean_test_score"][0] == results["posterior_mean"][0] == score
    assert math.isnan(results["posterior_std"][0])
    history = ours.optimizer_.history_
    assert [record["params"] for record in history] == params(ours)[1:]
    # The others are those of a search without it and with one candidate less.
    others = search(include_default=False, n_iter=5).fit(X, y)
    assert params(others) == params(ours)[1:]
    assert "outside the space (" in ours.report()


class Given(SVC):
    """Is best as given, and records what is set."""

    def set_params(self, **params):
        self.set_ = {**getattr(self, "set_", {}), **params}
        return super().set_params(**params)

    def score(self, X, y=None):
        return 1.0 if self.gamma == "scale" else 0.0


@pytest.mark.parametrize("n_iter", [1, 6])
def test_it_can_win_and_is_refitted_untouched(n_iter):
    ours = search(Given(), n_iter=n_iter).fit(X, y)
    assert (ours.best_index_, ours.best_params_) == (0, GIVEN)
    assert (ours.best_score_, ours.n_iter_) == (1.0, n_iter)
    assert ours.best_estimator_.get_params() == SVC().get_params()
    assert getattr(ours.best_estimator_, "set_", {}) == {}
    says = " ".join(ours.report().split())
    assert "widen the space to contain the best candidate" in says
    assert "(outside: gamma = 'scale')" in says
    ours.resume(X, y, n_iter=2)
    assert (ours.n_iter_, ours.best_index_) == (n_iter + 2, 0)


@pytest.mark.parametrize(
    "settings",
    [
        {"schedule": "window", "batch_size": 3, "n_jobs": 2},
        {"batch_size": 4},
        {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"},
        {"honest_score": True},
        {"honest_score": "folds"},
        {"racing": True},
        {"resource": Resource("n_samples", min=30)},
        {"tol": 1e-3},
    ],
    ids=str,
)
def test_a_search_goes_on_from_it(settings, tmp_path):
    path = tmp_path / "search.ckpt"
    unbroken = search(n_iter=6, n_initial_points=2, **settings).fit(X, y)
    given = {"n_initial_points": 2, "checkpoint": path, **settings}
    ours = search(n_iter=6, **given).fit(X, y)
    assert params(ours)[0] == GIVEN
    again = search(n_iter=6, **given).fit(X, y)
    for fitted in (ours, again):
        assert params(fitted) == params(unbroken)
    loaded = load_checkpoint(path)
    assert [trial["params"] for trial in loaded.trials] == params(ours)
    assert loaded.trials[0]["branch"] == -1
    assert loaded.trials[0]["status"] == "complete"
    more = search(n_iter=8, **given).fit(X, y)
    assert params(more)[: len(params(ours))] == params(ours)


@pytest.mark.parametrize("change", [("scale", "auto"), ("-1", "-2")])
def test_another_row_than_the_estimators_is_damage(change, tmp_path):
    path = tmp_path / "search.ckpt"
    search(n_iter=2, checkpoint=path).fit(X, y)
    with closing(sqlite3.connect(path)) as db:
        (body,) = db.execute("SELECT body FROM candidate WHERE number = 0").fetchone()
        new = body.replace(*change)
        db.execute("UPDATE candidate SET body = ? WHERE number = 0", [new])
        db.commit()
    with pytest.raises(CheckpointError, match="damaged"):
        search(n_iter=2, checkpoint=path).fit(X, y)


def test_callables_that_choose():
    ours = search(Given(), refit=best_posterior_mean).fit(X, y)
    assert ours.best_index_ == 0
    ours = search(n_iter=10, refit=one_standard_error("gamma")).fit(X, y)
    assert ours.best_index_ > 0
    ours = search(Given(), refit=one_standard_error("gamma")).fit(X, y)
    assert ours.best_index_ == 0


class NoScale(SVC):
    def fit(self, X, y, sample_weight=None):
        if self.gamma == "scale":
            raise ValueError("no scale")
        return super().fit(X, y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_it_may_fail():
    with pytest.warns(FitFailedWarning, match="no scale"):
        ours = search(NoScale()).fit(X, y)
    assert math.isnan(ours.cv_results_["mean_test_score"][0])
    assert ours.best_index_ > 0
    with pytest.raises(ValueError, match="no scale"):
        search(NoScale(), error_score="raise").fit(X, y)


# In the space -------------------------------------------------------------------------


def test_in_the_space_it_is_the_first_of_initial_params():
    ours = search(SVC(gamma=0.1), initial_params=[{"C": 10}]).fit(X, y)
    plain = {"include_default": False, "initial_params": [{}, {"C": 10}]}
    assert params(ours) == params(search(SVC(gamma=0.1), **plain).fit(X, y))
    assert len(ours.optimizer_.history_) == 6
    again = search(SVC(gamma=0.1), initial_params=[{"C": 10}, {}]).fit(X, y)
    assert params(again) == params(ours)


def test_what_a_constraint_forbids_is_outside():
    ours = search(SVC(gamma=0.1), constraints=lambda p: p["C"] > 5).fit(X, y)
    assert params(ours)[0] == {"C": 1.0, "gamma": 0.1}
    assert ours.cv_results_["model_label"][0] == "default"


@pytest.mark.parametrize("gamma", [0.1, "scale"])
def test_it_gets_all_of_a_resource(gamma):
    rows = {"resource": Resource("n_samples", min=30), "racing": True}
    ours = search(SVC(gamma=gamma), **rows).fit(X, y)
    assert ours.cv_results_["n_resources"][:2].tolist() == [150, 50]
    assert math.isfinite(ours.cv_results_["mean_test_score"][0])
    assert ours.n_candidates_[-1] == (ours.cv_results_["n_resources"] == 150).sum()


def test_a_resource_that_it_does_not_have():
    pipe = Pipeline([("clf", SVC())])
    space = {"clf": [GradientBoostingClassifier()], "clf__max_depth": Integer(1, 3)}
    resource = Resource("clf__n_estimators", min=1, max=9)
    ours = search(pipe, space, n_iter=3, resource=resource).fit(X, y)
    assert ours.cv_results_["n_resources"][0] == 9
    assert ours.cv_results_["mean_test_score"][0] > 0.9
    assert set(params(ours)[0]) == {"clf"}


def test_what_an_earlier_search_knows_is_not_evaluated_again():
    estimator = SVC(gamma=0.1)
    before = search(estimator).fit(X, y)
    ours = search(estimator, previous=before).fit(X, y)
    assert {"C": 1.0, "gamma": 0.1} not in params(ours)
    assert "the estimator as given is known from 'previous'" in ours.report()
    # A point outside is never told.
    ours = search(previous=search().fit(X, y)).fit(X, y)
    assert params(ours)[0] == GIVEN
    assert "5 of 6 earlier candidates fit the space" in ours.report()


# Branches and steps -------------------------------------------------------------------

STEPS = [
    {"clf": [SVC()], "clf__C": Real(0.1, 10)},
    {"clf": [LogisticRegression()], "clf__max_iter": Integer(50, 100)},
]


@pytest.mark.parametrize(
    ("clf", "branch", "shown"),
    [
        (LogisticRegression(), 1, ["clf", "clf__max_iter"]),
        (LogisticRegression(C=2), -1, ["clf", "clf__C", "clf__max_iter"]),
    ],
)
def test_branches(clf, branch, shown):
    pipe = Pipeline([("scale", StandardScaler()), ("clf", clf)])
    ours = search(pipe, STEPS).fit(X, y)
    assert list(params(ours)[0]) == shown
    assert ours.trials_dataframe()["branch"].iloc[0] == branch
    assert "Branches" in ours.report()


@pytest.mark.parametrize(
    "clf", [None, "passthrough", object()], ids=["None", "passthrough", "object"]
)
def test_a_step_to_be_filled_in(clf):
    pipe = Pipeline([("scale", StandardScaler()), ("clf", clf)])
    ours = search(pipe, STEPS, scoring="accuracy", error_score="raise").fit(X, y)
    assert "default" not in ours.cv_results_["model_label"]
    assert "left out, as it has no 'clf' yet" in ours.report()


class Unlisted(Fake):
    """Lists no parameters, like some estimators of other packages."""

    def get_params(self, deep=True):
        return {}

    def set_params(self, **params):
        vars(self).update(params)
        return self


def test_parameters_that_are_not_listed_have_no_value():
    ours = search_of(Unlisted(), n_iter=3, include_default=True).fit(X, y)
    assert params(ours)[0] == {}
    assert ours.cv_results_["param_a"].mask.tolist() == [True, False, False]
    assert np.isclose(ours.cv_results_["mean_test_score"][0], -0.09)


def test_it_can_be_left_out():
    ours = search(include_default=False).fit(X, y)
    assert "default" not in ours.cv_results_["model_label"]
    assert "estimator as given" not in ours.report()


def test_a_log_range_that_should_contain_zero_is_named():
    class Best(Given):
        def score(self, X, y=None):
            return 1.0 if self.coef0 == 0 else 0.0

    space = {"coef0": Real(1e-3, 1, log=True)}
    ours = RobustBayesSearchCV(Best(), space, n_iter=4, random_state=0).fit(X, y)
    says = " ".join(ours.report().split())
    assert "(outside: coef0 = 0.0); a log range cannot contain 0, so lower" in says
