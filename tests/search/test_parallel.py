"""Workers: what travels to them, how many threads they use, and a real cluster."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris
from threadpoolctl import threadpool_info

from skrobustbo import Real, RobustBayesSearchCV

X, y = load_iris(return_X_y=True)


class Fake(ClassifierMixin, BaseEstimator):
    def __init__(self, a=0.0, seconds=0.0, folder=None):
        self.a = a
        self.seconds = seconds
        self.folder = folder

    def fit(self, X, y=None, extra=None):
        time.sleep(self.seconds)
        self.extra_ = extra
        self.classes_ = np.unique(y)
        if self.folder is not None:
            (Path(self.folder) / str(os.getpid())).touch()
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])

    def score(self, X, y=None):
        return -((self.a - 0.3) ** 2)


def search(estimator=None, **settings):
    given = {"n_iter": 6, "cv": 3, "random_state": 0, "refit": False, **settings}
    return RobustBayesSearchCV(estimator or Fake(), {"a": Real(-1, 1)}, **given)


class SeesItsThreads(Fake):
    def score(self, X, y=None):
        return float(max(pool["num_threads"] for pool in threadpool_info()))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_inner_thread_for_every_number_of_jobs(n_jobs):
    ours = search(SeesItsThreads(), n_jobs=n_jobs, n_iter=2).fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], [1, 1])


class SeesItsJobs(Fake):
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


class SeesItsData(Fake):
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
    subprocess.run([sys.executable, "-c", code], check=True)


# A cluster of processes of their own --------------------------------------------------


@pytest.fixture(scope="module")
def started():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=50,
        ) as made,
        distributed.Client(made) as client,
    ):
        yield client


@pytest.fixture
def cluster(started):
    # joblib runs folds in this process while there is but one worker.
    started.wait_for_workers(2, timeout=60)
    return started


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_same_search_on_a_dask_cluster(cluster, tmp_path):
    alone = search(batch_size=2, return_train_score=True).fit(X, y)
    with parallel_config(backend="dask"):
        spread = search(Fake(folder=str(tmp_path)), batch_size=2).fit(X, y)
    assert spread.cv_results_["params"] == alone.cv_results_["params"]
    np.testing.assert_array_equal(
        spread.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )
    workers = {int(path.name) for path in tmp_path.iterdir()}
    assert len(workers) == 2
    assert os.getpid() not in workers


class Fragile(Fake):
    """Takes its worker down once in the life of the folder."""

    def fit(self, X, y=None, extra=None):
        flag = Path(self.folder) / "struck"
        if self.a > 0 and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_round_is_completed_when_a_dask_worker_dies(cluster, tmp_path):
    alone = search(batch_size=3).fit(X, y)
    with parallel_config(backend="dask"):
        ours = search(Fragile(folder=str(tmp_path)), batch_size=3).fit(X, y)
    assert (tmp_path / "struck").exists()
    assert ours.cv_results_["params"] == alone.cv_results_["params"]
    assert np.isfinite(ours.cv_results_["mean_test_score"]).all()


class Deadly(Fake):
    """Takes down every worker that fits it where `a` is large."""

    def fit(self, X, y=None, extra=None):
        if self.a > 0.5:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


@pytest.fixture
def impatient(cluster):
    scheduler = cluster.cluster.scheduler
    before, scheduler.allowed_failures = scheduler.allowed_failures, 1
    yield
    scheduler.allowed_failures = before


def in_time(seconds, function):
    """Return what a function does, or raise TimeoutError if it is not there in time."""
    result = Future()

    def run():
        try:
            result.set_result(function())
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return result.result(timeout=seconds)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_fold_that_dask_gives_up_costs_its_candidate_only(impatient):
    def fit_there():
        with parallel_config(backend="dask"):
            # Little enough to travel with the task: it is not lost with a worker.
            return search(Deadly(), batch_size=3).fit(X[::5, :1], y[::5])

    ours = in_time(240, fit_there)
    deadly = np.asarray(ours.cv_results_["param_a"], dtype=float) > 0.5
    assert 0 < np.sum(deadly) < len(deadly)
    np.testing.assert_array_equal(np.isnan(ours.cv_results_["mean_test_score"]), deadly)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_same_search_on_ray():
    ray = pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    ray.init(num_cpus=2, include_dashboard=False)
    register_ray()
    alone = search(batch_size=2).fit(X, y)
    with parallel_config(backend="ray"):
        spread = search(batch_size=2).fit(X, y)
    ray.shutdown()
    assert spread.cv_results_["params"] == alone.cv_results_["params"]
