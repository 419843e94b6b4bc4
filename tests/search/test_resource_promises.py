"""A search with a resource with odd data, small spaces and sudden ends."""

import json
import math
import os
import pickle
import random
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import Pipeline

import fake_estimators
from fake_estimators import Fake, search_of
from runs import assert_same, read_back
from skrobustbo import Integer, Optimizer, Real, Resource, one_standard_error
from skrobustbo.evaluation import ResourceAxis
from skrobustbo.model_selection import _honest

N = 150
ROWS = np.random.default_rng(0)
X = ROWS.normal(size=(N, 2))
X[:, 1] = np.arange(N)  # says which row it is
y = np.arange(N) % 3
SMOOTHING = {"var_smoothing": Real(1e-9, 1, log=True)}


class Interrupt(BaseException):
    """Ends a search from inside a fit, like a kill."""


class Pupil(Fake):
    """Is better the more rows or trees it has; can record its fits in a file."""

    #: Called in each fit with the estimator and the rows, if set.
    on_fit = None

    def __init__(self, a=0.0, n_trees=60, log=None, seconds=0.0):
        self.a = a
        self.n_trees = n_trees
        self.log = log
        self.seconds = seconds

    def fit(self, X, y=None, sample_weight=None):
        if Pupil.on_fit is not None:
            Pupil.on_fit(self, X, sample_weight)
        time.sleep(self.seconds)
        if self.log is not None:
            with Path(self.log).open("a") as file:
                key = f"{self.a!r} {self.n_trees} {len(X)} {X[:, 1].sum()}"
                file.write(f"{key}\n")
        self.n_rows_ = len(X)
        return super().fit(X, y)

    def score(self, X, y=None, sample_weight=None):
        noise = 0.01 * np.sin(1e3 * float(X[:, 0].sum()))
        return noise - (self.a - 0.3) ** 2 - 1 / self.n_rows_ - 1 / self.n_trees


@pytest.fixture
def on_fit(monkeypatch):
    return lambda call: monkeypatch.setattr(Pupil, "on_fit", staticmethod(call))


def search(estimator=None, space=None, **settings):
    given = {"n_iter": 6, "resource": Resource("n_samples", min=17), **settings}
    model = Pupil() if estimator is None else estimator
    return search_of(model, space or {"a": Real(-1, 1)}, **given)


def amounts_of(ours):
    return ours.cv_results_["n_resources"].tolist()


# Rows ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["strata", "groups"])
@pytest.mark.parametrize("seed", range(3))
def test_smaller_subsets_are_inside_larger_ones_of_all_kinds(kind, seed):
    labels = np.random.default_rng(seed).integers(0, 12, size=300)
    axis = ResourceAxis("n_samples", 300, 300, seed, **{kind: labels})
    train = np.flatnonzero(np.arange(300) % 5 != seed)
    rows = [axis.rows(train, 2, amount) for amount in (40, 80, 160, 299)]
    for smaller, larger in zip(rows, [*rows[1:], train], strict=True):
        assert set(smaller) < set(larger)
        assert len(set(smaller)) == len(smaller)


def test_rows_of_a_slice_or_with_repetitions_are_of_the_split():
    axis = ResourceAxis("n_samples", 90, 90, 0)
    rows = axis.rows(slice(10, 70), 0, 30)
    assert len(rows) == 20
    assert set(rows) <= set(range(10, 70))
    repeated = axis.rows(np.repeat([1, 2, 3], 20), 0, 45)
    assert len(repeated) == 30
    assert set(repeated) <= {1, 2, 3}


@pytest.mark.parametrize("seed", range(3))
def test_a_subset_has_rows_of_every_class_where_it_can(seed):
    strata = np.repeat([0, 1, 2], [290, 7, 3])
    axis = ResourceAxis("n_samples", 300, 300, seed, strata)
    for amount in (4, 10, 34, 100):
        rows = axis.rows(np.arange(300), 0, amount)
        assert len(rows) == amount
        assert set(strata[rows]) == {0, 1, 2}


def test_rare_classes_can_be_searched():
    labels = np.repeat([0, 1], [396, 4])
    features = np.random.default_rng(0).normal(size=(400, 2))
    space = {"C": Real(0.1, 10, log=True)}
    ours = search_of(LogisticRegression(), space, n_iter=3, resource="n_samples")
    ours.fit(features, labels)
    assert np.isfinite(ours.cv_results_["resource_score"]).all()


def test_no_fold_has_more_rows_than_the_full_amount(on_fit):
    seen = []
    on_fit(lambda model, X, weight: seen.append(len(X)))
    ours = search(resource=Resource("n_samples", min=10, max=90), n_iter=3).fit(X, y)
    assert ours.n_resources_ == [10, 30, 90]
    # Its share of a split's rows is the share of the amount in all rows.
    expected = [100 * n / N for n in ours.cv_results_["n_resources"] for _ in range(3)]
    np.testing.assert_allclose(seen[:-1], expected, atol=1)


def test_weights_belong_to_their_rows(on_fit):
    seen = []
    on_fit(lambda model, X, weight: seen.append((X[:, 1], weight)))
    weights = np.arange(N) + 0.5
    ours = search(n_iter=2).fit(X, y, sample_weight=weights)
    sizes = {len(rows) for rows, _ in seen}
    assert sizes == {11, 33, 100, 150}
    assert ours.n_resources_ == [17, 50, 150]
    for rows, weight in seen:
        np.testing.assert_array_equal(weight, rows + 0.5)


@pytest.mark.parametrize(
    "made",
    [
        lambda X, y: (pd.DataFrame(X, columns=["u", "v"], index=range(7, N + 7)), y),
        lambda X, y: (
            X,
            pd.Series(np.array(["p", "q", "r"])[y], index=range(N, 0, -1)),
        ),
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (sparse.csr_matrix(X), y),
    ],
)
def test_rows_do_not_depend_on_the_kind_of_table(made):
    features = abs(X)
    settings = {"n_iter": 3, "resource": Resource("n_samples", min=30)}
    ours = search_of(MultinomialNB(), {"alpha": Real(0.01, 1)}, **settings)
    expected = ours.fit(features, y).cv_results_["resource_score"]
    found = ours.fit(*made(features, y)).cv_results_["resource_score"]
    np.testing.assert_array_equal(found, expected)


def test_clusters_need_no_y():
    model = KMeans(n_init=1, random_state=0)
    space = {"n_clusters": Integer(2, 6)}
    ours = search_of(model, space, n_iter=3, resource="n_samples").fit(X)
    assert ours.n_resources_ == [50, 150]
    assert np.isfinite(ours.best_score_)


# Parameters ---------------------------------------------------------------------------


def test_a_resource_may_be_inside_a_step_that_is_searched():
    models = [RandomForestClassifier(9, random_state=0), ExtraTreesClassifier(9)]
    space = {"clf": models, "clf__max_depth": Integer(1, 4)}
    model = Pipeline([("clf", RandomForestClassifier())])
    ours = search(model, space, n_iter=3, resource="clf__n_estimators").fit(X, y)
    assert ours.n_resources_ == [1, 3, 9]
    assert ours.best_estimator_[-1].n_estimators == 9
    assert [model.n_estimators for model in models] == [9, 9]


@pytest.mark.parametrize("value", [True, 0, -1, 2.5, None, "9"])
def test_what_a_parameter_holds_must_be_a_positive_integer(value):
    with pytest.raises(ValueError, match="is not a positive integer"):
        search(Pupil(n_trees=value), resource="n_trees").fit(X, y)
    given = Resource("n_trees", max=9)
    ours = search(Pupil(n_trees=value), n_iter=2, resource=given).fit(X, y)
    assert ours.n_resources_ == [1, 3, 9]
    assert ours.best_estimator_.n_trees == 9


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("factor", 1),
        ("factor", 2.5),
        ("min", 0),
        ("max", "full"),
        ("name", 3),
    ],
)
def test_settings_of_other_kinds_are_refused(name, value):
    given = Resource(**{"name": "n_samples", name: value})
    with pytest.raises(ValueError, match=f"The '{name}' parameter of Resource must"):
        search(resource=given).fit(X, y)


# Small spaces -------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["rounds", "window", "free"])
@pytest.mark.parametrize("batch_size", [1, 2, 4])
def test_a_small_space_is_evaluated_in_full(schedule, batch_size):
    space = {"a": [0.1, 0.2, 0.4]}
    settings = {"schedule": schedule, "batch_size": batch_size, "n_iter": 20}
    ours = search(space=space, **settings).fit(X, y)
    full = ours.cv_results_["n_resources"] == N
    tried = {params["a"] for params in np.array(ours.cv_results_["params"])[full]}
    assert tried == {0.1, 0.2, 0.4}
    assert full.sum() == 3
    assert ours.stop_reason_ == "space_exhausted"


def test_constraints_hold_for_all_amounts():
    ours = search(constraints=lambda params: params["a"] < 0).fit(X, y)
    assert min(ours.n_candidates_) > 0
    assert max(params["a"] for params in ours.cv_results_["params"]) < 0


# What counts --------------------------------------------------------------------------


def test_the_honest_score_by_folds_is_that_of_full_evaluations():
    ours = search(n_iter=8, honest_score="folds").fit(X, y)
    results = ours.cv_results_
    full = results["n_resources"] == N
    scores = np.array([results[f"split{k}_test_score"][full] for k in range(3)])
    winner = scores.mean(axis=0).argmax()
    bias = np.mean([fold.max() - fold[winner] for fold in scores])
    assert ours.honest_score_ == pytest.approx(scores[:, winner].mean() - bias)


def test_the_honest_score_knows_full_evaluations_only(monkeypatch):
    seen, fold_scores = [], _honest.fold_scores

    def noted(job, recorder, kept, groups):
        seen.append(kept)
        return fold_scores(job, recorder, kept, groups)

    monkeypatch.setattr(_honest, "fold_scores", noted)
    ours = search(GaussianNB(), SMOOTHING, honest_score=True).fit(X, y)
    (kept,) = seen
    assert len(kept) == ours.n_candidates_[-1] < ours.n_iter_


def test_one_standard_error_chooses_a_full_evaluation():
    ours = search(refit=one_standard_error("a"), n_iter=8).fit(X, y)
    assert ours.cv_results_["n_resources"][ours.best_index_] == N


def test_a_tolerance_needs_a_full_evaluation():
    ours = search(tol=1e3).fit(X, y)
    assert ours.stop_reason_ == "tol"
    assert sum(amounts_of(ours)) < 6 * N
    assert np.isfinite(ours.best_score_)


def test_no_refit_of_several_metrics():
    scoring = {"a": "accuracy", "f": "f1_macro"}
    settings = {"scoring": scoring, "refit": False, "search_metric": "f"}
    ours = search(GaussianNB(), SMOOTHING, n_iter=3, **settings).fit(X, y)
    results = ours.cv_results_
    splits = [results[f"split{k}_test_f"] for k in range(3)]
    np.testing.assert_allclose(results["resource_score"], np.mean(splits, axis=0))
    assert not hasattr(ours, "best_index_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the:UserWarning")
def test_failed_folds_of_a_callable_scorer(on_fit):
    def fails(model, X, weight):
        if model.a < -0.2:
            raise ValueError("too small")

    def two(estimator, X, y):
        return {"u": estimator.score(X, y), "v": 1.0}

    on_fit(fails)
    settings = {"scoring": two, "refit": "u", "return_train_score": True}
    ours = search(n_iter=8, **settings).fit(X, y)
    results = ours.cv_results_
    failed = np.array([params["a"] < -0.2 for params in results["params"]])
    full = results["n_resources"] == N
    assert (failed & ~full).any()
    for name in ("resource_score", "split0_test_v", "split2_train_u"):
        np.testing.assert_array_equal(np.isnan(results[name]), failed, err_msg=name)
    np.testing.assert_array_equal(np.isfinite(results["mean_train_v"]), full & ~failed)


@pytest.mark.filterwarnings("ignore:One or more of the test scores:UserWarning")
def test_a_race_ends_a_partial_evaluation_that_fails(on_fit):
    def fails(model, X, weight):
        if model.a > 0.0:
            raise ValueError("too large")

    on_fit(fails)
    with pytest.warns(FitFailedWarning):
        ours = search(n_iter=8, racing="confident").fit(X, y)
    failed = np.array([params["a"] > 0 for params in ours.cv_results_["params"]])
    partial = ours.cv_results_["n_resources"] < N
    folds = ours.cv_results_["n_splits_evaluated"]
    assert (folds[failed & partial] == 1).all()
    assert (folds[~failed & partial] == 3).all()
    assert failed.any()


def test_if_no_full_evaluation_has_a_score_this_is_said(on_fit):
    def interrupts(model, X, weight):
        if len(X) > 20 and not done:
            done.append(True)
            os.kill(os.getpid(), signal.SIGINT)

    done = []
    on_fit(interrupts)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ours = search().fit(X, y)
    assert ours.stop_reason_ == "interrupted"
    assert amounts_of(ours) == [17, 17]
    others = [str(w.message) for w in said if "interrupted" not in str(w.message)]
    assert any("non-finite" in text or "full" in text for text in others)
    ours.resume(X, y, n_iter=5)
    assert amounts_of(ours)[:3] == [17, 17, 50]
    assert np.isfinite(ours.best_score_)


# Earlier searches ---------------------------------------------------------------------


def earlier(**settings):
    return search_of(Pupil(), {"a": Real(-1, 1)}, n_iter=5, **settings).fit(X, y)


def test_earlier_candidates_enter_once_and_the_state_can_be_read_back():
    ours = search(previous=earlier()).fit(X, y)
    trials = ours.optimizer_._trials.trials
    assert len({id(trial) for trial in trials}) == len(trials)
    other = read_back(ours.optimizer_)
    asked = ours.optimizer_.ask(2, return_resource=True)
    assert other.ask(2, return_resource=True) == asked


def test_earlier_candidates_cost_nothing():
    ours = search(previous=earlier(), n_iter=9).fit(X, y)
    assert min(ours.n_candidates_) > 0
    assert 9 * N <= sum(amounts_of(ours)) < 10 * N


def test_low_rungs_cost_no_more_with_earlier_candidates():
    before = search_of(Pupil(), {"a": Real(-1, 1)}, n_iter=30, policy="random")
    ours = search(previous=before.fit(X, y), policy="random", n_iter=9).fit(X, y)
    low = sum(n for n in amounts_of(ours) if n < N) / N
    assert 0 < low <= 9 * 2 / 9 + 1 / 3


def test_a_state_tells_earlier_candidates_from_what_was_spent():
    ours = search(previous=earlier()).fit(X, y).optimizer_
    other = read_back(ours)
    np.testing.assert_array_equal(other._rungs.spent, ours._rungs.spent)
    for _ in range(8):
        params, amount = ours.ask(return_resource=True)
        assert other.ask(return_resource=True) == (params, amount)
        for each in (ours, other):
            each.tell(params, -abs(params["a"]), resource=amount)


@pytest.mark.parametrize("form", ["search", "results", "checkpoint"])
def test_a_search_with_a_resource_can_be_the_earlier_one(form, tmp_path):
    path = str(tmp_path / "checkpoint")
    first = search(checkpoint=path).fit(X, y)
    given = {"search": first, "results": first.cv_results_, "checkpoint": path}
    second = search_of(Pupil(), {"a": Real(-1, 1)}, n_iter=3, previous=given[form])
    second.fit(X, y)
    found = [record["value"] for record in second.optimizer_.history_]
    full = first.cv_results_["mean_test_score"][first.cv_results_["n_resources"] == N]
    # The best one is evaluated again instead.
    before = [score for score in full if score != first.best_score_]
    assert found[: -second.n_iter_] == pytest.approx(before)


def test_an_optimizer_takes_over_full_evaluations_only():
    ours = search(n_iter=8).fit(X, y)
    other = Optimizer.from_cv_results(ours.cv_results_, {"a": Real(-1, 1)})
    assert len(other.history_) == ours.n_candidates_[-1]
    assert other.best_value_ == ours.best_score_


# Workers, limits, ends ----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 4])
@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_processes_do_not_change_the_results_of_trees(schedule, batch_size):
    model = GradientBoostingClassifier(n_estimators=18, random_state=0)
    space = {"learning_rate": Real(0.01, 1, log=True)}
    settings = {"schedule": schedule, "batch_size": batch_size, "n_iter": 4}
    settings |= {"resource": Resource("n_estimators", 2), "cv": StratifiedKFold(2)}
    expected = search(model, space, **settings).fit(X, y)
    assert expected.n_resources_ == [2, 6, 18]
    assert_same(search(model, space, n_jobs=2, **settings).fit(X, y), expected)


def test_a_time_limit_of_folds_does_not_change_the_results():
    expected = search(GaussianNB(), SMOOTHING, n_iter=2).fit(X, y)
    assert_same(
        search(GaussianNB(), SMOOTHING, n_iter=2, fit_timeout=60.0).fit(X, y), expected
    )


# On a busy machine, the time may be over before the first full evaluation.
@pytest.mark.filterwarnings("ignore:The search ended before any candidate")
def test_max_time_ends_a_search_and_resume_goes_on():
    ours = search(Pupil(seconds=0.01), n_iter=100, max_time=0.6).fit(X, y)
    assert ours.stop_reason_ == "max_time"
    assert 0 < sum(amounts_of(ours)) / N < 99
    before, n = ours.cv_results_["resource_score"], ours.n_iter_
    ours.set_params(max_time=None)
    used = sum(amounts_of(ours)) / N
    ours.resume(X, y, n_iter=2)
    np.testing.assert_array_equal(ours.cv_results_["resource_score"][:n], before)
    assert used + 2 <= sum(amounts_of(ours)) / N + 1e-9 < used + 5


def test_a_search_that_was_pickled_goes_on_the_same():
    ours = search(n_iter=4).fit(X, y)
    other = pickle.loads(pickle.dumps(ours))
    assert_same(other.resume(X, y, n_iter=3), ours.resume(X, y, n_iter=3))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"batch_size": 4},
        {"schedule": "window", "batch_size": 4},
        {"schedule": "free", "batch_size": 4},
        {"racing": "confident"},
        {"resource": Resource("n_trees", min=7)},
        {"policy": "he-gp-ucb"},
    ],
    ids=str,
)
def test_no_fold_is_fitted_twice_however_often_a_search_ends(
    settings, on_fit, tmp_path
):
    fits, rng = Counter(), random.Random(1)

    def noted(model, X, weight):
        if rng.random() < 0.2:
            raise Interrupt
        # All rows: that is the refit.
        if len(X) < N:
            fits[model.a, model.n_trees, len(X), X[:, 1].sum()] += 1

    expected = search(**settings).fit(X, y)
    on_fit(noted)
    path, n_ends = str(tmp_path / "checkpoint"), 0
    while True:
        try:
            ours = search(checkpoint=path, **settings).fit(X, y)
            break
        except Interrupt:
            n_ends += 1
    assert n_ends > 2
    assert set(fits.values()) == {1}
    assert_same(ours, expected)
    n_folds = ours.cv_results_.get("n_splits_evaluated", 3 * np.ones(ours.n_iter_))
    assert fits.total() == n_folds.sum()


def scores_of(ours):
    """Return the score of each evaluation by its parameters."""
    results = ours.cv_results_
    keys = [
        (params["a"], n)
        for params, n in zip(results["params"], amounts_of(ours), strict=True)
    ]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, results["resource_score"], strict=True))


@pytest.mark.filterwarnings("ignore:The candidates in the checkpoint:UserWarning")
@pytest.mark.filterwarnings("ignore:One or more of the:UserWarning")
@pytest.mark.parametrize("schedule", ["rounds", "window", "free"])
def test_failed_folds_can_be_fitted_again(schedule, on_fit, tmp_path):
    def fails(model, X, weight):
        if model.a > 0.2:
            raise ValueError("too large")

    settings = {"schedule": schedule, "batch_size": 3, "n_iter": 7}
    settings["checkpoint"] = str(tmp_path / "checkpoint")
    on_fit(fails)
    with pytest.warns(FitFailedWarning):
        first = search(**settings).fit(X, y)
    on_fit(None)
    again = search(retry_failed=True, **settings).fit(X, y)
    before, now = scores_of(first), scores_of(again)
    assert before.keys() <= now.keys()
    assert any(map(math.isnan, before.values()))
    assert all(map(math.isfinite, now.values()))
    for key, score in before.items():
        assert math.isnan(score) or now[key] == score
    told = Counter(json.dumps(params) for params in again.cv_results_["params"])
    assert len(again.optimizer_._trials.trials) == len(told)
    other = read_back(again.optimizer_)
    asked = again.optimizer_.ask(2, return_resource=True)
    assert other.ask(2, return_resource=True) == asked


_PROGRAM = """
import sys
from test_resource_promises import Pupil, X, search, y
search(Pupil(seconds=0.02, log=sys.argv[2]), checkpoint=sys.argv[1], n_iter=12,
       n_jobs=2, schedule="window", batch_size=3).fit(X, y)
"""


@pytest.mark.slow
def test_a_search_with_workers_that_is_killed_ends_the_same(tmp_path):
    path, log = str(tmp_path / "checkpoint"), tmp_path / "fits"
    here = Path(__file__).parent
    folders = [str(here), str(Path(fake_estimators.__file__).parent), *sys.path]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    rng, n_kills = random.Random(1), 5
    log.touch()
    for _ in range(n_kills):
        goal = len(log.read_text().splitlines()) + rng.randint(1, 15)
        command = [sys.executable, "-c", _PROGRAM, path, str(log)]
        process = subprocess.Popen(command, env=env)
        end = time.monotonic() + 60
        while len(log.read_text().splitlines()) < goal and process.poll() is None:
            assert time.monotonic() < end
            time.sleep(0.005)
        time.sleep(0.03 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.wait()
    settings = {"n_iter": 12, "schedule": "window", "batch_size": 3}
    model = Pupil(seconds=0.02, log=str(log))
    ours = search(model, checkpoint=path, **settings).fit(X, y)
    assert_same(ours, search(Pupil(), **settings).fit(X, y))
    fits = log.read_text().splitlines()
    folds = 3 * ours.n_iter_ + 1
    assert len(set(fits)) == folds
    # Folds running at a kill are fitted again, but no others.
    assert len(fits) - folds <= 8 * n_kills


def test_what_is_printed_counts_the_resource(capsys):
    search(n_iter=2, verbose=1).fit(X, y)
    text = "".join(capsys.readouterr())
    assert "Fitting 3 folds, with the resource of 2 full evaluations" in text
