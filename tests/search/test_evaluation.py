"""The evaluation of candidates: where folds run, and folds that do not return."""

import math
import warnings
from collections import deque
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
from joblib import parallel_config
from joblib.parallel import ThreadingBackend
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import GridSearchCV, KFold

from fake_estimators import Marked, marks_of, search_of, strike_once
from fixed_source import FixedSource
from runs import source_of
from skrobustbo._trials import SINGLE, Evaluation, FoldResult, Trial
from skrobustbo.evaluation import JoblibPool, SearchRun, Stops
from skrobustbo.evaluation._folds import Fold
from skrobustbo.evaluation._joblib_pool import is_loss

X, y = load_iris(return_X_y=True)


def search(estimator, **settings):
    return search_of(estimator, **{"n_iter": 10, **settings})


# Rounds ------------------------------------------------------------------------------


@pytest.mark.parametrize("batch_size", [None, 1, 2, 5])
def test_a_fixed_list_gives_the_results_of_a_grid(batch_size):
    grid = [{"a": a} for a in (0.1, 0.2, 0.9, 0.35)]
    theirs = GridSearchCV(Marked(), {"a": [0.1, 0.2, 0.9, 0.35]}, cv=3).fit(X, y)
    ours = GridSearchCV(Marked(), {"a": [0.1, 0.2, 0.9, 0.35]}, cv=3)
    assert SearchRun(ours, FixedSource(grid, batch_size), X, y).run() == ""
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for key, expected in theirs.cv_results_.items():
        if "time" not in key:
            np.testing.assert_array_equal(ours.cv_results_[key], expected)
    assert ours.best_params_ == theirs.best_params_


@pytest.mark.parametrize("batch_size", [2, 3, 7])
def test_rounds_hold_a_batch_and_the_budget(batch_size, tmp_path):
    ours = search(Marked(marks=str(tmp_path)), batch_size=batch_size).fit(X, y)
    assert ours.n_iter_ == len(ours.cv_results_["params"]) == 10
    assert len({params["a"] for params in ours.cv_results_["params"]}) == 10
    assert ours.stop_reason_ == "n_iter"
    fits = marks_of(tmp_path)
    refitted = f"{ours.best_params_['a']:.12f}"
    assert all(len(fits[name]) == 3 + (name == refitted) for name in fits)


def test_batches_are_the_ones_that_the_optimizer_gives():
    ours = search(Marked(), batch_size=4, n_iter=12).fit(X, y)
    again = source_of(search(Marked(), batch_size=4, n_iter=12)).optimizer
    asked = []
    for _ in range(3):
        candidates = again.ask(4)
        asked.extend(candidates)
        again.tell(
            candidates, [np.mean([-((c["a"] - 0.3) ** 2)] * 3) for c in candidates]
        )
    assert asked == ours.cv_results_["params"]


def test_more_jobs_and_other_backends_change_nothing():
    one = search(Marked(), batch_size=2).fit(X, y)
    for backend in ("threading", "loky", "multiprocessing"):
        with parallel_config(backend=backend, n_jobs=2):
            two = search(Marked(), batch_size=2).fit(X, y)
        assert two.cv_results_["params"] == one.cv_results_["params"]
        np.testing.assert_array_equal(
            two.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"]
        )


def test_folds_know_the_settings_of_the_session():
    import sklearn

    class Asks(Marked):
        def score(self, X, y=None):
            return float(sklearn.get_config()["assume_finite"])

    with sklearn.config_context(assume_finite=True):
        ours = search(Asks(), n_iter=2, n_jobs=2).fit(X, y)
    assert (ours.cv_results_["mean_test_score"] == 1).all()


# Failures ----------------------------------------------------------------------------


def test_failures_are_reported_once_with_counts_over_the_search():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours = search(Marked(fail_above=0.0), batch_size=2).fit(X, y)
    failed = np.isnan(ours.cv_results_["mean_test_score"])
    assert 0 < failed.sum() < 10
    fits = [w for w in caught if w.category is FitFailedWarning]
    assert len(fits) == 1
    assert f"{3 * failed.sum()} fits failed out of a total of 30" in str(
        fits[0].message
    )
    scores = [w for w in caught if "non-finite" in str(w.message)]
    assert len(scores) == 1
    assert len(caught) == 2


def test_a_search_goes_on_while_some_fits_succeed():
    class OneFold(Marked):
        def fit(self, X, y=None):
            if X[0, 0] > 5.2:
                raise RuntimeError("not this fold")
            return super().fit(X, y)

    ours = search(OneFold(), refit=False, cv=KFold(3))
    with pytest.warns((FitFailedWarning, UserWarning)):
        ours.fit(X, y)
    assert ours.n_iter_ == 10
    assert np.isnan(ours.cv_results_["mean_test_score"]).all()
    assert np.isnan(ours.cv_results_["posterior_mean"]).all()


def test_a_candidate_that_kills_its_worker_is_recorded_as_failed(tmp_path):
    estimator = Marked(marks=str(tmp_path), kill_above=0.5)
    ours = search(estimator, n_jobs=2, n_iter=5, n_initial_points=4, batch_size=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours.fit(X, y)
    assert any("worker process died 2 times" in str(w.message) for w in caught)
    asked = np.array([params["a"] for params in ours.cv_results_["params"]])
    failed = np.isnan(ours.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(failed, asked > 0.5)
    assert failed.sum() == 1
    # Once among others and twice alone; folds that were under way with it may have
    # started, too, but no fold after the verdict.
    (guilty,) = asked[failed]
    assert 3 <= len(marks_of(tmp_path)[f"{guilty:.12f}"]) <= 5


@pytest.mark.slow
def test_a_worker_killed_from_outside_costs_no_candidate(tmp_path):
    class Struck(Marked):
        """Kills its worker once in the search."""

        def fit(self, X, y=None):
            if self.a > 0:
                strike_once(self.marks)
            return super().fit(X, y)

    calm = search(Marked(), n_jobs=2).fit(X, y)
    ours = search(Struck(marks=str(tmp_path)), n_jobs=2)
    with warnings.catch_warnings():
        # joblib says that a worker stopped; it did.
        warnings.filterwarnings("ignore", message=".*worker.*", category=UserWarning)
        ours.fit(X, y)
    assert (tmp_path / "struck").exists()
    assert ours.cv_results_["params"] == calm.cv_results_["params"]
    assert np.isfinite(ours.cv_results_["mean_test_score"]).all()


class FakeJob:
    def __init__(self):
        self.settings = {"error_score": math.nan}

    def alone(self, fold):
        return self

    def fit(self, fold):
        return fold.key, "result", 0.0

    def failed(self, fold, reason):
        return reason


@pytest.mark.parametrize(("starting", "busy"), [(4, 0), (0, 2), (4, 1), (4, 2)])
def test_only_deaths_with_a_fold_at_work_count(starting, busy, monkeypatch):
    """Some workers die while starting, others because of the fold."""
    left = {"first": 1, "starting": starting, "fold": busy}

    def submit(function, *args):
        future = Future()
        name = "fold" if args else "starting"
        cause = next(c for c in ("first", "starting", name) if left[c] or c == name)
        if left[cause]:
            left[cause] -= 1
            future.set_exception(BrokenProcessPool())
        else:
            future.set_result(function(*args))
        return future, None

    with JoblibPool(FakeJob(), 2, Stops(), 1) as pool:
        monkeypatch.setattr(pool, "submit", submit)
        monkeypatch.setattr(pool, "_restart", lambda: None)
        ((_, result),) = pool.run(deque([Fold(0, 0, {}, {})]))
    assert (result == "result") == (busy < 2)
    assert left == {"first": 0, "starting": 0, "fold": 0}


class SaysNothing(ThreadingBackend):
    """A backend that does not report finished tasks."""

    supports_retrieve_callback = False

    def submit(self, func, callback=None):
        assert callback is None
        parent = super()  # in older versions of joblib, it has only `apply_async`
        return getattr(parent, "submit", parent.apply_async)(func)

    apply_async = submit


@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_a_backend_need_not_report_finished_tasks(schedule):
    settings = {"batch_size": 2, "schedule": schedule}
    one = search(Marked(), **settings).fit(X, y)
    with parallel_config(backend=SaysNothing(), n_jobs=2):
        two = search(Marked(), **settings).fit(X, y)
    np.testing.assert_array_equal(
        two.cv_results_["mean_test_score"], one.cv_results_["mean_test_score"]
    )


class RayActorError(Exception):
    """Ray's error, recognised by its name."""


class ActorDiedError(RayActorError):
    """Ray's more specific error."""


def test_what_says_that_a_worker_died():
    assert is_loss(BrokenProcessPool())
    assert is_loss(ActorDiedError())
    assert not is_loss(RuntimeError())


def test_error_score_raise_ends_at_the_first_failure():
    estimator = Marked(fail_above=0.0)
    with pytest.raises(RuntimeError, match="too large"):
        search(estimator, error_score="raise", n_jobs=2).fit(X, y)


def test_the_folds_of_a_trial():
    trial = Evaluation(
        Trial({"a": 1}),
        folds=[
            FoldResult({"m": 1.0, "n": 2}),
            FoldResult({SINGLE: 0.5}, fit_error="Traceback ..."),
        ],
    )
    assert trial.metrics == ["m", "n"]
    assert trial.scores("m") == [1.0, 0.5]
    assert trial.mean_score("n") == 1.25
    assert trial.errors == ["Traceback ..."]
    infinite = Evaluation(Trial({}), folds=[FoldResult({SINGLE: math.inf})])
    assert math.isnan(infinite.mean_score(None))


# Splits ------------------------------------------------------------------------------


def test_no_splits_and_other_counts_of_splits():
    with pytest.raises(ValueError, match="No fits were performed"):
        search(Marked(), cv=[]).fit(X, y)

    class Liar(KFold):
        def split(self, X, y=None, groups=None):
            return list(super().split(X, y, groups))[:-1]

    with pytest.raises(ValueError, match=r"Expected 3 splits, got 2"):
        search(Marked(), cv=Liar(3)).fit(X, y)
