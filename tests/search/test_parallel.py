"""Workers: what travels to them, how many threads they use, and a real cluster."""

import os
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from killed_dask import Deadly
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_info

from fake_estimators import HERE, Marked, Noisy, processes_of, search_of
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
