"""Workers: what travels to them, how many threads they use, and a real cluster."""

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import ClassVar

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from killed_dask import Deadly
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info, threadpool_limits

from fake_estimators import HERE, Fake, Marked, Noisy, processes_of, search_of
from fixed_source import FixedSource
from skrobustbo.evaluation import run_search

X, y = load_iris(return_X_y=True)


class Sees(Marked):
    """What is seen inside a fold is its score."""

    def fit(self, X, y=None, extra=None):
        self.extra_ = extra
        return super().fit(X, y)


def search(estimator=None, **settings):
    given = {"n_iter": 6, "refit": False, **settings}
    return search_of(estimator or Marked(), **given)


class SeesItsThreads(Sees):
    def score(self, X, y=None):
        return float(max(pool["num_threads"] for pool in threadpool_info()))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_inner_thread_for_every_number_of_jobs(n_jobs):
    ours = search(SeesItsThreads(), n_jobs=n_jobs, n_iter=2).fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], [1, 1])


def blas_threads():
    return {p["filepath"]: p["num_threads"] for p in threadpool_info() if is_blas(p)}


def is_blas(pool):
    return pool["user_api"] == "blas"


class OverlapsItsNeighbour(Fake):
    """Ends in the order of the starts, of two side by side: the first one first."""

    order: ClassVar[list] = []
    both, first_is_over = threading.Event(), threading.Event()

    def fit(self, X, y=None):
        self.order.append(self)
        self.place_ = len(self.order)
        if self.place_ == 2:
            self.both.set()
        return super().fit(X, y)

    def score(self, X, y=None):
        if self.place_ == 1:
            assert self.both.wait(30)
            # The second one is to end well after the first.
            threading.Timer(0.2, self.first_is_over.set).start()
        if self.place_ == 2:
            assert self.first_is_over.wait(30)
        return float(max(blas_threads().values()))


@pytest.mark.parametrize("schedule", ["rounds", "window"])
@pytest.mark.parametrize(
    ("backend", "n_jobs"), [("loky", 1), ("loky", 2), ("threading", 2)]
)
def test_blas_has_its_threads_again_after_a_search(backend, n_jobs, schedule):
    given = {"n_jobs": n_jobs, "schedule": schedule, "n_iter": 4}
    with threadpool_limits(3, user_api="blas"), parallel_config(backend):
        before = blas_threads()
        found = search(SeesItsThreads(), **given).fit(X, y)
        assert blas_threads() == before
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], 1)
    assert set(before.values()) == {3}


@pytest.mark.parametrize("schedule", ["rounds", "window"])
def test_blas_has_its_threads_again_whichever_fold_ends_last(schedule):
    estimator = OverlapsItsNeighbour()
    estimator.order.clear()
    estimator.both.clear()
    estimator.first_is_over.clear()
    with threadpool_limits(3, user_api="blas"), parallel_config("threading"):
        given = {"n_jobs": 2, "schedule": schedule, "n_iter": 2, "cv": 2}
        found = search(estimator, **given).fit(X, y)
        assert set(blas_threads().values()) == {3}
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], 1)
    assert len(estimator.order) == 4


class SeesItsJobs(Sees):
    def score(self, X, y=None):
        pids = Parallel(n_jobs=4)(delayed(os.getpid)() for _ in range(4))
        return float(len(set(pids)) + 10 * effective_n_jobs(4))


def test_what_is_inside_the_folds_starts_no_jobs_where_they_take_every_core():
    every = search(SeesItsJobs(), n_jobs=max(2, joblib.cpu_count()), n_iter=2)
    np.testing.assert_array_equal(
        every.fit(X, y).cv_results_["mean_test_score"], [11, 11]
    )


def test_what_is_inside_may_use_the_cores_that_folds_leave():
    one = search(SeesItsJobs(), n_jobs=1, n_iter=1, cv=2).fit(X, y)
    assert one.cv_results_["mean_test_score"][0] > 20


class SeesItsData(Sees):
    def score(self, X, y=None):
        return float(isinstance(self.extra_, np.memmap))


@pytest.mark.slow
def test_large_arrays_are_mapped_and_not_sent():
    extra = np.zeros(1_000_000)
    ours = search(SeesItsData(), n_jobs=2, n_iter=2).fit(X, y, extra=extra)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], [1, 1])


def test_the_package_imports_nothing_that_runs_clusters():
    code = (
        "import sys; sys.modules |= dict.fromkeys(['dask', 'distributed', 'ray']); "
        "from skrobustbo import RobustBayesSearchCV"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# Ray ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray_cluster():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    path = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), HERE])}
    ray.init(num_cpus=2, include_dashboard=False, runtime_env={"env_vars": path})
    register_ray()
    yield
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_same_search_on_ray(ray_cluster, tmp_path):
    alone = search(batch_size=2).fit(X, y)
    with parallel_config(backend="ray", n_jobs=-1):
        spread = search(Marked(marks=str(tmp_path)), batch_size=2).fit(X, y)
    assert spread.cv_results_["params"] == alone.cv_results_["params"]
    assert os.getpid() not in processes_of(tmp_path)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("racing", [None, "confident"])
def test_a_window_is_the_same_on_ray(ray_cluster, racing):
    settings = {"schedule": "window", "batch_size": 3, "racing": racing, "n_iter": 12}
    alone = search(Noisy(), cv=5, **settings).fit(X, y).cv_results_
    with parallel_config(backend="ray", n_jobs=-1):
        spread = search(Noisy(), cv=5, **settings).fit(X, y).cv_results_
    for key in alone:
        if "time" not in key:
            np.testing.assert_array_equal(spread[key], alone[key], err_msg=key)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("schedule", ["window", "free"])
def test_deadly_fits_cost_their_candidates_only_in_schedules_on_ray(
    ray_cluster, schedule
):
    settings = {"schedule": schedule, "batch_size": 3, "n_iter": 5}
    with parallel_config(backend="ray", n_jobs=-1):
        found = search(Marked(kill_above=0.6), cv=3, **settings).fit(X, y)
    results = found.cv_results_
    deadly = np.array(results["param_a"], dtype=float) > 0.6
    assert deadly.any()
    np.testing.assert_array_equal(np.isnan(results["mean_test_score"]), deadly)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_fits_that_kill_their_workers_on_ray_cost_their_candidates_only(ray_cluster):
    grid = GridSearchCV(Deadly(), {"number": [0]}, cv=3, refit=False)
    candidates = FixedSource([{"number": i} for i in range(7)], 4)
    with parallel_config(backend="ray", n_jobs=-1):
        run_search(grid, candidates, X, y)
    failed = np.isnan(grid.cv_results_["mean_test_score"])
    assert np.flatnonzero(failed).tolist() == [3, 4]
