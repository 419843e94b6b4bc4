"""Workers: what is sent to them, how many threads they use, and a real cluster."""

import ast
import json
import os
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import ClassVar

import joblib
import numpy as np
import pytest
import threadpoolctl
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import MultiprocessingBackend, ThreadingBackend
from killed_dask import Deadly
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_info, threadpool_limits

from fake_estimators import (
    FAKE_SPACE,
    HERE,
    Fake,
    Marked,
    Noisy,
    processes_of,
    search_of,
)
from fixed_source import FixedSource
from skrobustbo import Real
from skrobustbo.evaluation import SearchRun

X, y = load_iris(return_X_y=True)


class Sees(Marked):
    """Its score is what it sees inside a fold."""

    def fit(self, X, y=None, extra=None):
        self.extra_ = extra
        return super().fit(X, y)


def search(estimator=None, space=FAKE_SPACE, **settings):
    given = {"n_iter": 6, "refit": False, **settings}
    return search_of(estimator or Marked(), space, **given)


class SeesItsThreads(Sees):
    def score(self, X, y=None):
        return float(max(pool["num_threads"] for pool in threadpool_info()))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_one_inner_thread_for_every_number_of_jobs(n_jobs):
    ours = search(SeesItsThreads(), n_jobs=n_jobs, n_iter=2).fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], [1, 1])


class CountsItsThreads(Sees):
    """Scores by the most and the fewest threads that it sees."""

    def score(self, X, y=None):
        seen = {pool["num_threads"] for pool in threadpool_info()}
        return max(seen) + 100.0 * (len(seen) - 1)


#: Where folds run: a backend and settings of the search.
EVERYWHERE = {
    "one": ("loky", {"n_jobs": 1}),
    "none": ("loky", {}),
    "two": ("loky", {"n_jobs": 2}),
    "every": ("loky", {"n_jobs": max(2, joblib.cpu_count())}),
    "window": ("loky", {"n_jobs": 2, "schedule": "window"}),
    "window alone": ("loky", {"schedule": "window"}),
    "timed": ("loky", {"fit_timeout": 600}),
    "threads": (ThreadingBackend, {"n_jobs": 2}),
    "window of threads": (ThreadingBackend, {"n_jobs": 2, "schedule": "window"}),
    "processes": (MultiprocessingBackend, {"n_jobs": 2}),
}


def told(backend, n_threads):
    """Return joblib's context with a limit on inner threads."""
    if isinstance(backend, str):
        return parallel_config(backend, inner_max_num_threads=n_threads)
    # joblib accepts the limit for these backends only with the backend.
    return parallel_config(backend(inner_max_num_threads=n_threads))


@pytest.mark.parametrize("where", EVERYWHERE)
def test_joblib_is_told_the_threads_of_a_fold(where):
    backend, settings = EVERYWHERE[where]
    with told(backend, 3):
        ours = search(CountsItsThreads(), n_iter=2, **settings).fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], 3)


class SearchesInside(Sees):
    def score(self, X, y=None):
        inner = search(CountsItsThreads(), n_iter=1).fit(X, y)
        return inner.cv_results_["mean_test_score"][0]


@pytest.mark.parametrize("where", ["one", "two", "every", "timed"])
@pytest.mark.parametrize("n_threads", [None, 3])
def test_a_search_inside_a_fold_has_the_threads_of_the_fold(where, n_threads):
    backend, settings = EVERYWHERE[where]
    with told(backend, n_threads):
        ours = search(SearchesInside(), n_iter=1, cv=2, **settings).fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], n_threads or 1)


@pytest.mark.parametrize("n_threads", [0, -1, 1.5, "2"])
def test_what_is_no_number_of_threads_is_refused_before_the_first_fit(n_threads):
    with told("loky", n_threads), pytest.raises(ValueError, match="inner_max_num_thr"):
        search(Unfit()).fit(X, y)


class Unfit(Fake):
    def fit(self, X, y=None):
        raise AssertionError("is fitted")


class LoadsALibrary(Fake):
    """Loads a library with its own threads in its first fit, through a new module."""

    def __init__(self, a=0.0, folder=None):
        self.a = a
        self.folder = folder

    def fit(self, X, y=None):
        if "loads_openmp" not in sys.modules:
            sys.path.insert(0, self.folder)
            import loads_openmp  # noqa: F401
        return super().fit(X, y)

    def score(self, X, y=None):
        own = [p for p in threadpool_info() if p["filepath"].startswith(self.folder)]
        return float(own[0]["num_threads"])


def printed(code, *words):
    """Return the output of a program in a new process that may import this module."""
    path = os.pathsep.join([str(Path(__file__).parent), HERE, *sys.path])
    command = [sys.executable, "-c", code, *words]
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_library_that_a_fit_has_loaded_is_limited_in_the_next_fold(
    n_threads, tmp_path
):
    there = [pool["filepath"] for pool in threadpool_info() if is_blas(pool)]
    if not there:
        pytest.skip("there is no BLAS to be copied")
    # To the system, a copy of it is another library.
    copied = shutil.copy(there[0], tmp_path / f"libopenblas{Path(there[0]).suffix}")
    text = f"import ctypes\n\nctypes.CDLL({str(copied)!r})\n"
    (tmp_path / "loads_openmp.py").write_text(text)
    code = """
import sys
from test_parallel import LoadsALibrary, X, search, told, y
with told("loky", int(sys.argv[2])):
    found = search(LoadsALibrary(folder=sys.argv[1]), n_iter=2, cv=2).fit(X, y)
print([found.cv_results_[f"split{k}_test_score"].tolist() for k in (0, 1)])
"""
    (_, third), others = printed(code, str(tmp_path), str(n_threads))
    assert {third, *others} == {float(n_threads)}


def test_libraries_are_looked_for_again_only_when_there_are_new_modules(monkeypatch):
    import skrobustbo._threads as own

    looked = []

    def look():
        looked.append(1)
        return threadpoolctl.ThreadpoolController()

    monkeypatch.setattr(own, "ThreadpoolController", look)
    search(n_iter=3).fit(X, y)  # imports what is imported late
    looked.clear()
    search(n_iter=12).fit(X, y)
    assert looked == []
    monkeypatch.setitem(sys.modules, "a_module_of_this_test", own)
    search(n_iter=3).fit(X, y)
    assert looked == [1]


# Estimators with threads of their own -------------------------------------------------


class Greedy(Fake):
    """Would use threads, whatever the name of the setting."""

    def __init__(
        self,
        a=0.0,
        n_jobs=None,
        nthread=None,
        num_threads=None,
        thread_count=None,
        other=None,
    ):
        self.a = a
        self.n_jobs = n_jobs
        self.nthread = nthread
        self.num_threads = num_threads
        self.thread_count = thread_count
        self.other = other

    def score(self, X, y=None):
        known = (self.n_jobs, self.nthread, self.num_threads, self.thread_count)
        if hasattr(self.other, "score"):
            return self.other.score(X, y)
        return float("".join("9" if n is None or n < 1 else str(n) for n in known))


def inner_score(ours):
    """Return the score of a search, the same for all, and its best estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours.fit(X, y)
    (score,) = set(ours.cv_results_["mean_test_score"])
    return score, ours.best_estimator_


@pytest.mark.parametrize(
    ("given", "one", "three"),
    [
        # n_jobs=None is one job, as in scikit-learn; other names leave it to a library.
        ({}, 9111, 9333),
        ({"n_jobs": 1, "nthread": 1}, 1111, 1133),
        ({"n_jobs": 4, "nthread": 4}, 1111, 3333),
        ({"n_jobs": -1, "thread_count": -1}, 1111, 3333),
        ({"n_jobs": 0, "num_threads": np.int64(2)}, 1111, 3323),
    ],
)
def test_parameters_for_threads_are_held_in_folds_only(given, one, three):
    for n_threads, expected in ((None, one), (3, three)):
        with told("loky", n_threads):
            ours = search(Greedy(**given), n_iter=2, cv=2, refit=True)
            score, best = inner_score(ours)
        assert score == expected
        assert best.get_params() == {**Greedy(**given).get_params(), "a": best.a}
        assert all(list(params) == ["a"] for params in ours.cv_results_["params"])


@pytest.mark.parametrize("where", EVERYWHERE)
def test_parameters_for_threads_are_held_wherever_folds_run(where):
    backend, settings = EVERYWHERE[where]
    with told(backend, None):
        ours = search(Greedy(n_jobs=-1), n_iter=2, cv=2, refit=True, **settings)
        assert inner_score(ours) == (1111, ours.best_estimator_)
    assert ours.best_estimator_.n_jobs == -1


def test_parameters_for_threads_are_held_in_every_part():
    inside = Greedy(n_jobs=4)
    ours = search(Greedy(other=inside), n_iter=2, cv=2, refit=True)
    assert inner_score(ours) == (1111, ours.best_estimator_)
    assert ours.best_estimator_.other.n_jobs == 4
    # Also in the choices, and in what is set there.
    space = {"other": [inside, Greedy(nthread=5)], "other__a": Real(0, 1)}
    ours = search(Greedy(), space, n_iter=2, cv=2, refit=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours.fit(X, y)
    assert set(ours.cv_results_["mean_test_score"]) <= {1111, 9111}
    for params in ours.cv_results_["params"]:
        assert set(params) == {"other", "other__a"}
        assert 4 in (params["other"].n_jobs, 4 * bool(params["other"].nthread))
    best = ours.best_estimator_.other
    assert (best.n_jobs, best.nthread) in ((4, None), (None, 5))
    # Also in a list of steps, and if only all parameters together can be set.
    steps = [[("only", Greedy(n_jobs=4))], [("only", Greedy(n_jobs=-1))]]
    whole = Pipeline([("first", Greedy()), ("last", Greedy())])
    for space in (
        {"steps": steps, "only__a": Real(0, 1)},
        {"steps": steps[:1], "only": [Greedy(n_jobs=8)]},
    ):
        ours = search(whole, space, n_iter=2, cv=2, refit=True)
        assert inner_score(ours) == (1111, ours.best_estimator_)
        assert ours.best_estimator_[-1].n_jobs in (4, -1, 8)


def test_parameters_for_threads_that_are_searched_are_not_held():
    ours = search(Greedy(), {"n_jobs": [2, 4], "a": Real(0, 1)}, n_iter=4, cv=2)
    ours.fit(X, y)
    asked = [params["n_jobs"] for params in ours.cv_results_["params"]]
    expected = [1000 * n + 111 for n in asked]
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], expected)


@pytest.mark.parametrize("many", [4, -1])
def test_cores_that_folds_leave_idle_are_no_secret(many, monkeypatch):
    monkeypatch.setattr("skrobustbo.evaluation._inner_threads.cpu_count", lambda: 4)
    ours = search(Greedy(n_jobs=many, nthread=1), n_iter=1)
    with pytest.warns(UserWarning, match=rf"1 thread.*n_jobs={many} of Gree") as caught:
        ours.fit(X, y)
    assert [Path(warning.filename) for warning in caught] == [Path(__file__)]
    monkeypatch.setattr("skrobustbo.evaluation._inner_threads.cpu_count", lambda: 1)
    ours.fit(X, y)
    search(Greedy(n_jobs=1, nthread=1), n_iter=1).fit(X, y)


def real(name, **settings):
    """Return an estimator of a package with its own threads."""
    module, _, of = name.rpartition(".")
    return getattr(pytest.importorskip(module), of)(**settings)


def seen_by_a_library(estimator, X=None, y=None):
    """Return the number of threads of a library during fit and prediction: a scorer."""
    booster = getattr(estimator, "booster_", None)
    if booster is not None:
        return float(booster.params["num_threads"])
    if hasattr(estimator, "get_booster"):
        config = json.loads(estimator.get_booster().save_config())
        return float(config["learner"]["generic_param"]["nthread"])
    if hasattr(estimator, "get_all_params"):
        return float(estimator.get_params()["thread_count"])
    return float(max(pool["num_threads"] for pool in threadpool_info()))


LIBRARIES = {
    "hist": ("sklearn.ensemble.HistGradientBoostingClassifier", {"max_iter": 2}),
    "lightgbm": ("lightgbm.LGBMClassifier", {"n_estimators": 2, "verbose": -1}),
    "xgboost": ("xgboost.XGBClassifier", {"n_estimators": 2}),
    "catboost": (
        "catboost.CatBoostClassifier",
        {"iterations": 2, "verbose": 0, "allow_writing_files": False},
    ),
}


@pytest.mark.parametrize(
    ("library", "given"),
    [
        ("hist", {}),
        ("lightgbm", {}),
        ("lightgbm", {"n_jobs": -1}),
        ("lightgbm", {"n_jobs": 4}),
        ("lightgbm", {"num_threads": 4}),
        ("lightgbm", {"nthread": 4}),
        ("xgboost", {}),
        ("xgboost", {"n_jobs": 4}),
        ("xgboost", {"nthread": 4}),
        ("catboost", {}),
        ("catboost", {"thread_count": -1}),
        ("catboost", {"thread_count": 4}),
    ],
)
@pytest.mark.parametrize("n_threads", [None, 3])
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_boosting_libraries_keep_to_the_threads_of_a_fold(library, given, n_threads):
    name, few = LIBRARIES[library]
    estimator = real(name, **few, **given)
    settings = {"scoring": seen_by_a_library, "n_iter": 2, "cv": 2, "refit": True}
    with told("loky", n_threads):
        ours = search(estimator, {"learning_rate": Real(0.1, 0.3)}, **settings)
        score, best = inner_score(ours)
    assert score == (n_threads or 1)
    before, after = estimator.get_params(), best.get_params()
    for name in {"n_jobs", "num_threads", "nthread", "thread_count"}:
        assert after.get(name) == before.get(name)


def test_boosting_libraries_keep_to_the_threads_of_a_fold_in_workers_and_parts():
    libraries = [real(name, **few) for name, few in LIBRARIES.values()]
    steps = Pipeline([("last", libraries[0])])
    settings = {"n_iter": 8, "cv": 2, "n_jobs": 2, "scoring": last_seen}
    ours = search(steps, {"last": libraries}, **settings).fit(X, y)
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], 1)
    kinds = {type(params["last"]) for params in ours.cv_results_["params"]}
    assert len(kinds) == len(libraries)
    voting = VotingClassifier([(str(i), one) for i, one in enumerate(libraries)])
    held = search(voting, {"0__learning_rate": Real(0.1, 0.3)}, n_iter=1, cv=2)
    held.set_params(scoring=most_seen).fit(X, y)
    np.testing.assert_array_equal(held.cv_results_["mean_test_score"], 1)


def last_seen(steps, X, y):
    return seen_by_a_library(steps[-1])


def most_seen(voting, X, y):
    return max(map(seen_by_a_library, voting.estimators_))


@pytest.mark.skipif(sys.platform != "linux", reason="reads the threads from /proc")
def test_lightgbm_starts_no_threads_in_a_fold():
    """OpenMP keeps started threads, so they can be counted later."""
    pytest.importorskip("lightgbm")
    code = """
import os, warnings
from test_parallel import LIBRARIES, Real, X, real, search, y
warnings.simplefilter("ignore")
name, few = LIBRARIES["lightgbm"]
estimator = real(name, n_jobs=1, **few).fit(X, y)
estimator.predict(X)
threads = set(os.listdir("/proc/self/task"))
estimator.set_params(n_jobs=4)
search(estimator, {"learning_rate": Real(0.1, 0.3)}, n_iter=2, cv=2).fit(X, y)
folds = set(os.listdir("/proc/self/task")) - threads
estimator.fit(X, y)
alone = set(os.listdir("/proc/self/task")) - threads
print((len(folds), len(alone)))
"""
    folds, alone = printed(code)
    assert folds == 0
    assert alone == 3


def blas_threads():
    return {p["filepath"]: p["num_threads"] for p in threadpool_info() if is_blas(p)}


def is_blas(pool):
    return pool["user_api"] == "blas"


class OverlapsItsNeighbour(Fake):
    """Of two in parallel, the one that starts first ends first."""

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
            assert self.both.wait(300)
            # The second one must end well after the first.
            threading.Timer(0.2, self.first_is_over.set).start()
        if self.place_ == 2:
            assert self.first_is_over.wait(300)
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
        SearchRun(grid, candidates, X, y).run()
    failed = np.isnan(grid.cv_results_["mean_test_score"])
    assert np.flatnonzero(failed).tolist() == [3, 4]
