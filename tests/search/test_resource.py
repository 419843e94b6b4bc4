"""A search with a resource: what folds get, what counts, and how it resumes."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fake_estimators import Fake, Noisy, search_of
from runs import assert_same, source_of
from skrobustbo import (
    Integer,
    Optimizer,
    Real,
    Resource,
    RobustBayesSearchCV,
    best_posterior_mean,
    load_checkpoint,
)
from skrobustbo._text import duration
from skrobustbo.evaluation import ResourceAxis
from skrobustbo.watching._views import counts

X, y = load_iris(return_X_y=True)
SPACE = {"a": Real(-1, 1)}


class Learner(Fake):
    """Is better the more rows or steps it has; fails above a bound."""

    def __init__(self, a=0.0, n_steps=60, fail_above=math.inf, seconds=0.0):
        self.a = a
        self.n_steps = n_steps
        self.fail_above = fail_above
        self.seconds = seconds

    def fit(self, X, y=None):
        time.sleep(self.seconds)
        if self.a > self.fail_above:
            raise ValueError("too large")
        self.n_rows_ = len(X)
        return super().fit(X, y)

    def score(self, X, y=None):
        noise = np.sin(1e4 * float(np.sum(X[:, 0])))
        missing = 1 / self.n_rows_ + 1 / self.n_steps
        return -((self.a - 0.3) ** 2) - missing + 0.01 * noise


def search(estimator=None, **settings):
    given = {"n_iter": 6, "resource": Resource("n_samples", min=17), **settings}
    return search_of(estimator or Learner(), SPACE, **given)


# The rows of a fold -------------------------------------------------------------------


def axis(n=90, strata=None, groups=None, seed=0):
    return ResourceAxis("n_samples", n, n, seed, strata, groups)


def test_smaller_subsets_are_inside_larger_ones():
    train = np.arange(10, 90)
    sizes = [9, 27, 60]
    rows = [set(axis().rows(train, 0, size)) for size in sizes]
    assert rows[0] < rows[1] < rows[2] < set(train)
    assert [len(found) for found in rows] == [int(80 * size / 90) for size in sizes]


def test_all_of_it_is_the_split_itself():
    train = np.array([5, 3, 8])
    assert axis().rows(train, 0, None) is train


def test_subsets_have_the_shares_of_the_classes():
    strata = np.repeat([0, 1, 2], [60, 24, 6])
    train = np.flatnonzero(np.arange(90) % 6 != 0)
    whole = np.bincount(strata[train]) / len(train)
    for amount in (15, 30, 60):
        rows = axis(strata=strata).rows(train, 1, amount)
        expected = whole * len(rows)
        assert np.abs(np.bincount(strata[rows], minlength=3) - expected).max() <= 1


def test_groups_are_whole():
    groups = np.repeat(np.arange(15), 6)
    for amount in (12, 30, 60):
        rows = axis(groups=groups).rows(np.arange(90), 0, amount)
        assert 0 < len(rows) <= amount
        _, counts = np.unique(groups[rows], return_counts=True)
        assert (counts == 6).all()


def test_subsets_depend_on_seed_and_split_only():
    train = np.arange(90)
    first = axis().rows(train, 0, 30)
    np.testing.assert_array_equal(axis().rows(train, 0, 30), first)
    np.testing.assert_array_equal(axis().rows(train >= 0, 0, 30), first)
    assert set(axis().rows(train, 1, 30)) != set(first)
    assert set(axis(seed=1).rows(train, 0, 30)) != set(first)


# What folds get -----------------------------------------------------------------------


def fitted_with(ours, monkeypatch, what):
    """Return the resources of the fits of a search, and the search."""
    seen = []
    fit = Learner.fit

    def noted(self, X, y=None):
        seen.append(len(X) if what == "rows" else self.n_steps)
        return fit(self, X, y)

    monkeypatch.setattr(Learner, "fit", noted)
    return seen, ours.fit(X, y)


def test_folds_get_their_share_of_the_rows(monkeypatch):
    seen, ours = fitted_with(search(), monkeypatch, "rows")
    results = ours.cv_results_
    assert ours.n_resources_ == [17, 50, 150]
    expected = [int(100 * n / 150) for n in results["n_resources"] for _ in range(3)]
    assert seen == [*expected, 150]


def test_folds_get_the_parameter_and_the_refit_all_of_it(monkeypatch):
    ours = search(Learner(n_steps=5), resource=Resource("n_steps", min=7, max=63))
    seen, ours = fitted_with(ours, monkeypatch, "steps")
    assert ours.n_resources_ == [7, 21, 63]
    expected = [n for n in ours.cv_results_["n_resources"] for _ in range(3)]
    assert seen == [*expected, 63]
    assert ours.best_estimator_.n_steps == 63
    assert ours.best_params_.keys() == {"a"}


def test_a_parameter_of_a_step_is_a_resource():
    model = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=18))
    space = {"gradientboostingclassifier__learning_rate": Real(0.01, 1, log=True)}
    name = "gradientboostingclassifier__n_estimators"
    ours = search_of(model, space, n_iter=2, resource=name).fit(X, y)
    assert ours.n_resources_ == [2, 6, 18]
    assert ours.best_estimator_[-1].n_estimators_ == 18


def test_there_are_twenty_rows_of_each_class_at_least():
    digits = load_digits(return_X_y=True)
    space = {"var_smoothing": Real(1e-9, 1, log=True)}
    ours = search_of(GaussianNB(), space, n_iter=2, resource="n_samples").fit(*digits)
    assert ours.n_resources_ == [200, 599, 1797]
    with pytest.warns(UserWarning, match="All folds get the full n_samples, 150"):
        ours = search(resource=Resource("n_samples", min=100)).fit(X, y)
    assert ours.n_resources_ == [150]
    assert ours.n_iter_ == 6


# What counts --------------------------------------------------------------------------


def test_only_full_evaluations_have_a_mean_and_can_win():
    ours = search(n_iter=10, return_train_score=True).fit(X, y)
    results = ours.cv_results_
    full = results["n_resources"] == 150
    assert 0 < full.sum() < len(full)
    for kind in ("test", "train"):
        splits = np.array([results[f"split{k}_{kind}_score"] for k in range(3)])
        assert np.isfinite(splits).all()
        np.testing.assert_array_equal(
            np.isfinite(results[f"mean_{kind}_score"]), full, err_msg=kind
        )
    tests = np.array([results[f"split{k}_test_score"] for k in range(3)])
    np.testing.assert_allclose(results["resource_score"], tests.mean(axis=0))
    assert full[ours.best_index_]
    assert (
        results["rank_test_score"][full].max() < results["rank_test_score"][~full].min()
    )
    assert ours.best_score_ == results["resource_score"][full].max()
    np.testing.assert_array_equal(
        results["iter"], [ours.n_resources_.index(n) for n in results["n_resources"]]
    )
    assert ours.n_candidates_ == np.bincount(results["iter"]).tolist()
    assert (ours.min_resources_, ours.max_resources_) == (17, 150)
    assert np.isfinite(results["mean_fit_time"]).all()


@pytest.mark.parametrize("n_iter", [1, 2, 7, 12])
def test_the_resource_used_is_about_n_iter(n_iter):
    ours = search(n_iter=n_iter).fit(X, y)
    used = ours.cv_results_["n_resources"].sum() / 150
    assert n_iter <= used + 1e-9 < n_iter + 1
    assert ours.stop_reason_ == "n_iter"
    assert np.isfinite(ours.best_score_)


def test_callable_refit_and_several_metrics():
    scoring = {"a": "accuracy", "f": "f1_macro"}
    settings = {"resource": Resource("n_samples", min=17), "n_iter": 6}
    space = {"var_smoothing": Real(1e-9, 1, log=True)}
    ours = search_of(GaussianNB(), space, scoring=scoring, refit="f", **settings)
    results = ours.fit(X, y).cv_results_
    full = results["n_resources"] == 150
    for name in scoring:
        assert (np.isfinite(results[f"mean_test_{name}"]) == full).all()
    splits = np.array([results[f"split{k}_test_f"] for k in range(3)])
    np.testing.assert_allclose(results["resource_score"], splits.mean(axis=0))
    ours = search(refit=best_posterior_mean).fit(X, y)
    assert ours.cv_results_["n_resources"][ours.best_index_] == 150


def test_a_small_resource_finds_the_optimum_too():
    ours = search(n_iter=12).fit(X, y)
    assert abs(ours.best_params_["a"] - 0.3) < 0.1


def test_the_honest_score_is_of_full_evaluations():
    space = {"var_smoothing": Real(1e-9, 1, log=True)}
    settings = {"resource": Resource("n_samples", min=17), "n_iter": 8}
    ours = search_of(GaussianNB(), space, honest_score=True, **settings).fit(X, y)
    low, high = ours.honest_interval_
    assert low <= ours.honest_score_ <= high
    ours = search(honest_score="folds").fit(X, y)
    assert ours.honest_score_ <= ours.best_score_


@pytest.mark.filterwarnings("ignore:The search was interrupted")
@pytest.mark.parametrize("honest_score", [False, True, "folds"])
def test_a_search_that_ends_before_a_full_evaluation(honest_score):
    def enough(trial):
        if trial["number"] == 3:
            signal.raise_signal(signal.SIGINT)

    model = GaussianNB()
    space = {"var_smoothing": Real(1e-9, 1, log=True)}
    settings = {"resource": Resource("n_samples", min=17), "n_iter": 20}
    settings |= {"honest_score": honest_score, "on_trial": enough}
    ours = search_of(model, space, **settings)
    with pytest.warns(UserWarning, match="before any candidate was .* full") as caught:
        ours.fit(X, y)
    assert {warning.filename for warning in caught} == {__file__}
    results = ours.cv_results_
    assert results["n_resources"].max() < 150
    assert math.isnan(ours.best_score_)
    assert "no candidate was evaluated in full" in ours.report()
    largest = results["n_resources"] == results["n_resources"].max()
    scores = np.where(largest, results["resource_score"], -np.inf)
    assert ours.best_index_ == np.argmax(scores)
    keys = list(zip(results["n_resources"], results["resource_score"], strict=True))
    ranks = [1 + sum(other > key for other in keys) for key in keys]
    assert list(results["rank_test_score"]) == ranks
    ours.set_params(on_trial=None).resume(X, y, n_iter=4)
    assert math.isfinite(ours.best_score_)


def test_the_report_says_what_was_spent_and_given_up():
    ours = search(n_iter=8).fit(X, y)
    ours.cv_results_["mean_fit_time"] = 0.01 * ours.cv_results_["n_resources"]
    ours.cv_results_["mean_score_time"] = np.zeros(len(ours.cv_results_["iter"]))
    text = " ".join(ours.report().split())
    n, amount = ours.n_candidates_[0], ours.n_resources_[0]
    took = duration(0.01 * n * amount * ours.n_splits_)
    assert f"evaluations by n_samples: {n} with {amount:g} ({took}), " in text
    assert re.search(r"n_samples used in all: that of [\d.]+ full evaluations", text)
    every = len({str(p) for p in ours.cv_results_["params"]}) * ours.n_splits_
    whole = duration(0.01 * every * ours.max_resources_)
    says = r"time: \S+ \w+, about \d+% less than evaluating every candidate in full "
    assert re.search(says + rf"\({whole}\)", text)
    assert "given up" not in text

    class Reversed(Learner):
        def score(self, X, y=None):
            score = super().score(X, y)
            return score if self.n_rows_ >= 100 else -score

    text = search(Reversed(), n_iter=40, n_initial_points=3).fit(X, y).report()
    assert "given up" in text
    assert "say too little" in text


def test_listeners_hear_of_partial_evaluations():
    heard = []
    ours = search(on_trial=heard.append).fit(X, y)
    kinds = [
        "complete" if n == 150 else "partial" for n in ours.cv_results_["n_resources"]
    ]
    assert [one["status"] for one in heard] == kinds
    assert all(math.isnan(one["score"]) for one in heard if one["status"] == "partial")


# Failures -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_what_fails_is_not_promoted():
    with pytest.warns(FitFailedWarning):
        ours = search(Learner(fail_above=0.5), n_iter=8).fit(X, y)
    results = ours.cv_results_
    failed = np.array([params["a"] > 0.5 for params in results["params"]])
    early = np.cumsum(results["n_resources"]) / 150 < 8 / 3
    assert failed.any()
    assert (results["n_resources"][failed & early] == 17).all()
    ours = search(Learner(fail_above=0.5), error_score=-9.0)
    with pytest.warns(FitFailedWarning):
        ours.fit(X, y)
    assert (ours.cv_results_["resource_score"][failed[: ours.n_iter_]] >= -9).all()


@pytest.mark.filterwarnings("ignore")
def test_if_all_full_evaluations_fail_no_other_wins():
    class Forgetful(Learner):
        def fit(self, X, y=None):
            if len(X) >= 100:
                raise MemoryError
            return super().fit(X, y)

    ours = search(Forgetful(), refit=False).fit(X, y)
    results = ours.cv_results_
    full = results["n_resources"] == 150
    assert full.any()
    assert np.isnan(results["mean_test_score"]).all()
    assert (results["rank_test_score"][full] == 1).all()
    assert (results["rank_test_score"][~full] == full.sum() + 1).all()
    assert results["n_resources"][ours.best_index_] == 150


def test_if_all_fits_fail_it_says_so():
    with pytest.raises(ValueError, match="All 9 fits of the first 3 candidates failed"):
        search(Learner(fail_above=-2.0)).fit(X, y)
    with pytest.raises(ValueError, match=r"'min' of Resource \(at most 17 so far\)"):
        search(Learner(fail_above=-2.0)).fit(X, y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_an_amount_with_which_every_fit_fails_is_given_up():
    class Large(Learner):
        def score(self, X, y=None):
            return super().score(X, y) if self.n_rows_ >= 90 else math.nan

    ours = search(Large(), n_iter=12, n_initial_points=3).fit(X, y)
    assert ours.n_candidates_[:2] == [8, 8]
    assert math.isfinite(ours.best_score_)
    text = ours.report()
    assert f"16 of {ours.n_iter_} evaluations got no score" in text
    assert "given up 17: every fit with it failed" in text


# Equal results on any workers, and after resuming -------------------------------------


@pytest.mark.parametrize("settings", [{}, {"batch_size": 3}])
@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_workers_do_not_change_the_results(schedule, settings):
    settings = {"schedule": schedule, **settings}
    expected = search(**settings).fit(X, y)
    with parallel_config("threading", n_jobs=3):
        assert_same(search(**settings).fit(X, y), expected)


@pytest.mark.slow
def test_processes_do_not_change_the_results():
    settings = {"schedule": "window", "batch_size": 4, "n_iter": 10}
    assert_same(search(**settings, n_jobs=2).fit(X, y), search(**settings).fit(X, y))


def test_the_free_schedule_uses_the_budget():
    with parallel_config("threading", n_jobs=3):
        ours = search(schedule="free", batch_size=3).fit(X, y)
    assert 6 <= ours.cv_results_["n_resources"].sum() / 150 + 1e-9 < 7


@pytest.mark.slow
def test_races_are_among_full_evaluations():
    settings = {
        "policy": "random",
        "n_iter": 30,
        "cv": KFold(5, shuffle=True, random_state=0),
    }
    ours = search(Noisy(), racing="confident", **settings).fit(X, y)
    results = ours.cv_results_
    assert results["raced"].any()
    assert (results["n_resources"][results["raced"]] == 150).all()
    assert (results["n_splits_evaluated"][results["n_resources"] < 150] == 5).all()
    assert not results["raced"][ours.best_index_]


class Stop(Exception):
    """Ends a search from inside."""


@pytest.mark.parametrize("schedule", ["rounds", "window", "free"])
@pytest.mark.parametrize(
    "n", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 9, 14))]
)
def test_a_search_that_was_cut_off_goes_on_the_same(n, schedule, tmp_path):
    settings = {"schedule": schedule, "batch_size": 2, "n_iter": 8}
    expected = search(**settings).fit(X, y)
    path = str(tmp_path / "checkpoint")
    with pytest.MonkeyPatch.context() as patch:
        told, note = [], Optimizer._record

        def stops(self, *args):
            told.append(args)
            if len(told) > n:
                raise Stop
            return note(self, *args)

        patch.setattr(Optimizer, "_record", stops)
        with pytest.raises(Stop):
            search(checkpoint=path, **settings).fit(X, y)
    ours = search(checkpoint=path, **settings).fit(X, y)
    assert_same(ours, expected)
    assert ours.report().count("from the checkpoint") == 1
    loaded = load_checkpoint(path)
    assert f"{ours.n_iter_} evaluations, " in counts(loaded)
    assert len(loaded.trials) == ours.n_iter_
    statuses = [one["status"] for one in loaded.trials]
    assert statuses.count("partial") == (ours.cv_results_["n_resources"] < 150).sum()


@pytest.mark.parametrize("schedule", ["window", "free"])
def test_asks_in_vain_are_repeated_by_a_resumed_search(schedule, tmp_path, recwarn):
    # All points are being evaluated, so there is nothing to ask. Later, some of them
    # are promoted.
    def few(**given):
        given |= {"n_iter": 9, "schedule": schedule, "batch_size": 4}
        return search(**given).set_params(param_space={"a": [0.1, 0.4, 0.8]})

    expected, path = few().fit(X, y), str(tmp_path / "checkpoint")
    few(checkpoint=path).fit(X, y)
    assert (expected.cv_results_["model_label"] == "promoted").any()
    for again in (
        few(checkpoint=path).fit(X, y),
        few().fit(X, y).resume(X, y, n_iter=1),
    ):
        assert_same(again, expected)
        assert again.stop_reason_ == expected.stop_reason_
    assert not [str(w.message) for w in recwarn]


_PROGRAM = """
import sys
from test_resource import Learner, X, search, y
search(Learner(seconds=0.01), checkpoint=sys.argv[1], n_iter=12, schedule="window",
       batch_size=3).fit(X, y)
"""


@pytest.mark.slow
def test_a_search_that_is_killed_again_and_again_ends_the_same(tmp_path):
    path = str(tmp_path / "checkpoint")
    here = os.path.dirname(__file__)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([here, *sys.path])}
    rng = np.random.default_rng(0)
    for _ in range(6):
        process = subprocess.Popen([sys.executable, "-c", _PROGRAM, path], env=env)
        time.sleep(1.5 + 1.5 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
    settings = {"n_iter": 12, "schedule": "window", "batch_size": 3}
    ours = search(Learner(seconds=0.01), checkpoint=path, **settings).fit(X, y)
    assert_same(ours, search(Learner(seconds=0.01), **settings).fit(X, y))


def test_more_resource_is_used_by_resume(tmp_path):
    ours = search(n_initial_points=3).fit(X, y)
    before = {k: list(v) for k, v in ours.cv_results_.items() if "split" in k}
    n = ours.n_iter_
    ours.resume(X, y, n_iter=4)
    used = ours.cv_results_["n_resources"].sum() / 150
    assert 10 <= used + 1e-9 < 12
    for name, values in before.items():
        np.testing.assert_array_equal(ours.cv_results_[name][:n], values)
    path = str(tmp_path / "checkpoint")
    again = search(checkpoint=path, n_initial_points=3).fit(X, y)
    again.resume(X, y, n_iter=4)
    assert_same(again, ours)


def test_other_resources_are_another_search(tmp_path):
    path = str(tmp_path / "checkpoint")
    search(checkpoint=path).fit(X, y)
    with pytest.raises(ValueError, match="belongs to another search"):
        search(checkpoint=path, resource=Resource("n_samples", min=50)).fit(X, y)


def test_earlier_candidates_are_those_evaluated_in_full():
    first = search().fit(X, y)
    second = search(previous=first).fit(X, y)
    n_full = int((first.cv_results_["n_resources"] == 150).sum())
    assert f"{n_full} of {n_full} earlier candidates" in second.report()
    assert second.cv_results_["params"][0] == first.best_params_


# Settings -----------------------------------------------------------------------------


def test_without_a_resource_nothing_is_new():
    plain = search_of(Learner(), SPACE, n_iter=6).fit(X, y)
    new = {"iter", "n_resources", "resource_score"}
    assert not new & plain.cv_results_.keys()
    assert not hasattr(plain, "n_resources_")


def test_evaluations_planned_are_full_ones_until_others_are_asked():
    source = source_of(search(n_iter=5), X=X, y=y)
    assert source.n_planned == 5
    n_asked = [len(source.next_round()) for _ in range(2)]
    assert n_asked == [1, 1]
    assert source.n_used < 2  # they got a part of the resource
    assert source.n_planned == 2 + 5 - int(source.n_used)


def test_a_clone_has_the_settings():
    given = Resource("n_samples", min=17, factor=2)
    ours = clone(search(resource=given))
    assert ours.resource.get_params() == given.get_params()
    assert ours.fit(X, y).n_resources_ == [19, 38, 75, 150]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("n_step", "did you mean 'n_steps'"),
        ("a", "must not be in .param_space."),
        (Resource("n_samples", max=151), "at most the number of rows, 150. Got 151"),
        (Resource("n_samples", min=151), "at most the full n_samples, 150. Got 151"),
        ("fail_above", "The 'max' of Resource must be given where"),
    ],
)
def test_what_is_said_of_wrong_settings(given, says):
    with pytest.raises(ValueError, match=says):
        search(resource=given).fit(X, y)


@pytest.mark.filterwarnings("ignore::UserWarning")  # of columns, of unused groups
def test_a_single_column_of_classes_or_groups():
    groups, space = np.repeat(np.arange(30), 5), {"var_smoothing": Real(1e-3, 1)}
    scores = []
    cases = [(y, None), (y[:, None], None), (y, groups), (y[:, None], groups[:, None])]
    for labels, of in cases:
        ours = search_of(GaussianNB(), space, cv=KFold(3, shuffle=True, random_state=0))
        ours.set_params(resource=Resource("n_samples", min=17))
        ours.fit(X, labels, groups=of)
        scores.append(ours.cv_results_["mean_test_score"].tolist())
    assert repr(scores[0]) == repr(scores[1])
    assert repr(scores[2]) == repr(scores[3]) != repr(scores[0])


def test_groups_and_branches_and_regressors():
    groups = np.repeat(np.arange(30), 5)
    ours = search(cv=GroupKFold(3), resource=Resource("n_samples", min=30))
    assert np.isfinite(ours.fit(X, y, groups=groups).best_score_)
    space = [{"max_depth": Integer(1, 3)}, {"max_leaf_nodes": Integer(3, 9)}]
    forest = RandomForestRegressor(n_estimators=9, random_state=0)
    ours = search_of(forest, space, n_iter=4, resource="n_estimators").fit(X, y * 1.0)
    assert ours.n_resources_ == [1, 3, 9]
    assert ours.best_estimator_.n_estimators == 9


def test_the_state_of_the_optimizer_is_json():
    ours = RobustBayesSearchCV(
        Learner(), SPACE, n_iter=5, resource="n_steps", cv=StratifiedKFold(2)
    ).fit(X, y)
    other = Optimizer.from_dict(json.loads(json.dumps(ours.optimizer_.to_dict())))
    asked = ours.optimizer_.ask(3, return_resource=True)
    assert other.ask(3, return_resource=True) == asked
