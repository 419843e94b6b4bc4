"""Searches on a real Dask cluster whose workers die."""

import logging
import os

import numpy as np
import pytest
from joblib import parallel_config
from killed_dask import is_right, killed_search
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

from fake_estimators import (
    Fake,
    Marked,
    Noisy,
    hang,
    processes_of,
    search_of,
    strike_once,
)
from fixed_source import FixedSource
from skrobustbo import Integer, Resource, RobustBayesSearchCV
from skrobustbo.evaluation import (
    SearchRun,
    Stops,
    _dask,
)

distributed = pytest.importorskip("distributed")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

X, y = load_iris(return_X_y=True)


def search(estimator=None, **settings):
    given = {"n_iter": 6, "refit": False, **settings}
    return search_of(estimator or Fake(), **given)


def listed(estimator, values, batch_size=None, cv=3, stops=None):
    """Return the mean scores of listed candidates, fitted on the cluster."""
    grid = GridSearchCV(estimator, {"a": [0.0]}, cv=cv, refit=False)
    source = FixedSource([{"a": a} for a in values], batch_size)
    with parallel_config(backend="dask"):
        SearchRun(grid, source, X, y, stops=stops or Stops()).run()
    return grid.cv_results_["mean_test_score"]


def local_cluster(n_workers=2, n_threads=1, **settings):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=n_threads,
        dashboard_address=None,
        silence_logs=logging.CRITICAL,
        **settings,
    )


@pytest.fixture(scope="module")
def cluster():
    with local_cluster() as made, distributed.Client(made) as client:
        client.run(__import__, "skrobustbo.evaluation._dask")
        yield client


def test_the_same_search(cluster, tmp_path):
    alone = search(batch_size=2, return_train_score=True).fit(X, y)
    with parallel_config(backend="dask"):
        estimator = Marked(seconds=0.1, marks=str(tmp_path))
        spread = search(estimator, batch_size=2).fit(X, y)
    assert spread.cv_results_["params"] == alone.cv_results_["params"]
    np.testing.assert_array_equal(
        spread.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )
    workers = processes_of(tmp_path)
    assert len(workers) == 2
    assert os.getpid() not in workers


@pytest.mark.parametrize("racing", [None, "confident"])
def test_a_window_is_the_same_search(cluster, racing):
    settings = {"schedule": "window", "batch_size": 3, "racing": racing, "n_iter": 12}
    alone = search(Noisy(), cv=5, **settings).fit(X, y).cv_results_
    with parallel_config(backend="dask"):
        spread = search(Noisy(seconds=0.02), cv=5, **settings).fit(X, y).cv_results_
    for key in alone:
        if "time" not in key:
            np.testing.assert_array_equal(spread[key], alone[key], err_msg=key)


@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_a_search_with_a_resource_is_the_same(cluster, schedule):
    forest = RandomForestClassifier(9, random_state=0, warm_start=True)
    settings = {"schedule": schedule, "batch_size": 3, "n_iter": 6, "cv": 3}
    ours = RobustBayesSearchCV(
        forest,
        {"max_depth": Integer(1, 9)},
        resource=Resource("n_estimators", min=1),
        random_state=0,
        **settings,
    )
    alone = clone(ours).fit(X, y).cv_results_
    with parallel_config(backend="dask"):
        spread = ours.fit(X, y).cv_results_
    assert "promoted" in alone["model_label"]
    for key in alone:
        if "time" not in key:
            np.testing.assert_array_equal(spread[key], alone[key], err_msg=key)


class Fragile(Marked):
    """Kills its worker once per folder."""

    def fit(self, X, y=None):
        if self.a > 0:
            strike_once(self.marks)
        return super().fit(X, y)


def test_a_worker_that_dies_once_changes_nothing(cluster, tmp_path):
    alone = search(batch_size=3).fit(X, y)
    with parallel_config(backend="dask"):
        ours = search(Fragile(marks=str(tmp_path)), batch_size=3).fit(X, y)
    assert (tmp_path / "struck").exists()
    np.testing.assert_array_equal(
        ours.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )


@pytest.mark.parametrize("schedule", ["window", "free"])
def test_a_worker_that_dies_once_costs_a_schedule_nothing(cluster, tmp_path, schedule):
    ours = search(Fragile(marks=str(tmp_path)), schedule=schedule, batch_size=3)
    with parallel_config(backend="dask"):
        ours.fit(X, y)
    assert (tmp_path / "struck").exists()
    assert np.isfinite(ours.cv_results_["mean_test_score"]).all()
    assert ours.n_iter_ == 6


def test_fits_that_kill_their_workers_cost_their_candidates_only(cluster):
    assert is_right(killed_search())


class Raises(Fake):
    def fit(self, X, y=None):
        if self.a > 0:
            raise SystemExit("of a fit")
        return super().fit(X, y)


def test_a_fit_that_exits_is_a_failure_and_may_be_raised(cluster):
    assert np.isfinite(listed(Raises(), [-0.5, 0.5])).tolist() == [True, False]
    ours = search(Raises(), error_score="raise")
    with parallel_config(backend="dask"), pytest.raises(SystemExit, match="of a fit"):
        ours.fit(X, y)


class Hangs(Fake):
    """Never returns for large values."""

    def fit(self, X, y=None):
        if self.a > 0.5:
            hang()
        return super().fit(X, y)


def test_a_fold_that_never_ends_is_ended(cluster):
    values = [0.1, 0.9, 0.2, 0.3]
    scores = listed(Hangs(), values, cv=2, stops=Stops(fit_timeout=5.0))
    assert np.isfinite(scores).tolist() == [True, False, True, True]


def test_the_time_is_met(cluster):
    ours = search(Marked(seconds=0.1), n_iter=500, max_time=15.0, batch_size=4)
    with parallel_config(backend="dask"):
        ours.fit(X, y)
    assert ours.stop_reason_ == "max_time"
    assert 0 < ours.n_iter_ < 500


def test_a_search_inside_a_task(cluster):
    ours = search(n_iter=3, refit=True)
    alone = ours.fit(X, y).cv_results_["mean_test_score"]

    def fit_there():
        with parallel_config(backend="dask"):
            return search(n_iter=3).fit(X, y).cv_results_["mean_test_score"]

    futures = [cluster.submit(fit_there, pure=False) for _ in range(2)]
    for scores in cluster.gather(futures):
        np.testing.assert_array_equal(scores, alone)


def test_who_shares_a_process_with_the_killer_is_not_blamed():
    with local_cluster(n_workers=1, n_threads=3) as made, distributed.Client(made):
        scores = listed(Marked(seconds=0.3, kill_above=0.5), [0.1, 0.9, 0.2, 0.3], cv=2)
    assert np.isfinite(scores).tolist() == [True, False, True, True]


def test_no_time_limit_in_threads_of_this_process():
    with (
        local_cluster(n_workers=1, processes=False) as made,
        distributed.Client(made),
        parallel_config(backend="dask"),
        pytest.raises(ValueError, match=r"'fit_timeout'.*processes=True"),
    ):
        search(fit_timeout=5.0).fit(X, y)


def test_workers_may_come_late_and_more_of_them_later(tmp_path):
    with (
        local_cluster(n_workers=0) as made,
        distributed.Client(made, set_as_default=True) as client,
        parallel_config(backend="dask"),
    ):
        client.loop.call_later(1.0, made.scale, 1)
        client.loop.call_later(4.0, made.scale, 2)
        estimator = Marked(seconds=0.3, marks=str(tmp_path))
        ours = search(estimator, n_iter=30, n_initial_points=30, batch_size=30)
        ours.fit(X, y)
    assert np.isfinite(ours.cv_results_["mean_test_score"]).all()
    assert len(processes_of(tmp_path)) == 2


def test_a_cluster_without_workers_ends_the_search(monkeypatch):
    monkeypatch.setattr(_dask, "PATIENCE", 0.5)
    with (
        local_cluster(n_workers=0) as made,
        distributed.Client(made),
        parallel_config(backend="dask", wait_for_workers_timeout=1),
        pytest.raises(TimeoutError, match=r"no worker for 1 s.*start workers"),
    ):
        search().fit(X, y)


def test_workers_that_die_while_they_get_ready_end_the_search(cluster, monkeypatch):
    monkeypatch.setattr(_dask, "STARTS", 1)
    monkeypatch.setattr(_dask, "prepare", lambda shared: os._exit(1))
    with (
        parallel_config(backend="dask"),
        pytest.raises(RuntimeError, match=r"died [23] times in a row"),
    ):
        search().fit(X, y)
