"""Searches that end early, and fits that do not end."""

import math
import os
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import KFold

from fake_estimators import Marked, hang, marks_of, processes_of, search_of
from skrobustbo.evaluation import Stops, _timed
from skrobustbo.model_selection._source import OptimizerSource
from tiers import mostly_long

X, y = load_iris(return_X_y=True)


def search(estimator=None, **settings):
    given = {"n_iter": 200, "refit": False, **settings}
    return search_of(estimator or Marked(), **given)


def timed(ours):
    start = time.monotonic()
    ours.fit(X, y)
    return time.monotonic() - start


# max_time -----------------------------------------------------------------------------


class Timed(Marked):
    """Takes longer the larger its parameter is, on its own clock."""

    clock = None

    def fit(self, X, y=None):
        self.clock.spend(self.a, self.cost(self.a))
        return super().fit(X, y)

    @staticmethod
    def cost(a):
        return 0.1 + 2.9 * (a + 1) / 2


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_time_is_met(seed, batch_size, clock, monkeypatch):
    monkeypatch.setattr(Timed, "clock", clock)
    settings = {"max_time": 30.0, "batch_size": batch_size, "random_state": seed}
    ours = search(Timed(), **settings).fit(X, y)
    assert ours.stop_reason_ == "max_time"
    longest = max(Timed.cost(a) for a in clock.ended)
    assert clock.now < 30 + longest
    assert max(when for _, when in clock.begun) < 30
    # Finished candidates count, unfinished ones do not.
    asked = [params["a"] for params in ours.cv_results_["params"]]
    assert asked == [a for a in dict.fromkeys(clock.ended) if clock.ended.count(a) == 3]
    assert len(set(clock.ended)) - len(asked) <= 1
    assert ours.n_iter_ == len(asked) == len(ours.cv_results_["mean_test_score"])
    told = [r for r in ours.optimizer_.history_ if not r["pending"]]
    assert [record["params"]["a"] for record in told] == asked
    # No candidate was started against the estimate.
    spent = [Timed.cost(a) for a in clock.ended]
    firsts = {}
    for i, (a, when) in enumerate(clock.begun):
        firsts.setdefault(a, (i, when))
    for i, when in firsts.values():
        if i > 0:
            assert when + 3 * np.median(spent[max(0, i - 25) : i]) < 30


def test_no_candidate_is_begun_that_would_not_be_finished(clock, monkeypatch):
    monkeypatch.setattr(Timed, "clock", clock)
    monkeypatch.setattr(Timed, "cost", staticmethod(lambda a: 1.0))
    ours = search(Timed(), max_time=7.5, cv=2).fit(X, y)
    assert ours.n_iter_ == 3
    assert clock.now == 6.0


@pytest.mark.parametrize("batch_size", [1, 4])
def test_the_time_is_met_with_workers(batch_size, tmp_path):
    search(n_jobs=2, n_iter=2).fit(X, y)  # starts the workers
    settings = {"n_jobs": 2, "batch_size": batch_size, "max_time": 4.0}
    settings["n_iter"] = 2000
    ours = search(Marked(seconds=0.1, marks=str(tmp_path)), **settings)
    assert timed(ours) < 150  # and not the 300 s that all would take, at least
    assert ours.stop_reason_ == "max_time"
    fits = marks_of(tmp_path)
    asked = [params["a"] for params in ours.cv_results_["params"]]
    assert all(len(fits[f"{a:.12f}"]) == 3 for a in asked)
    assert len(fits) - len(asked) <= 1
    assert ours.n_iter_ == len(asked) == len(ours.cv_results_["mean_test_score"])


def test_time_to_spare_changes_nothing():
    calm = search(n_iter=8).fit(X, y)
    ours = search(n_iter=8, max_time=1000.0).fit(X, y)
    assert ours.stop_reason_ == "n_iter"
    assert ours.cv_results_["params"] == calm.cv_results_["params"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_candidate_finished_in_time_is_an_error(n_jobs):
    ours = search(Marked(seconds=0.2), max_time=0.1, n_jobs=n_jobs)
    with pytest.raises(TimeoutError, match="No candidate was finished within max_time"):
        ours.fit(X, y)


@pytest.mark.parametrize("setting", ["max_time", "fit_timeout"])
@pytest.mark.parametrize("value", [0, -1, "1", math.nan])
def test_seconds_are_positive_numbers(setting, value):
    with pytest.raises(ValueError, match=f"The '{setting}' parameter of RobustBayes"):
        search(**{setting: value}).fit(X, y)


def test_the_estimate_follows_recent_folds():
    stops = Stops(max_time=100.0)
    stops.plan(n_splits=5, n_workers=2)
    assert stops.admits(0)
    for _ in range(30):
        stops.note(40.0)
    assert stops.over()  # three folds in turn of 40 s
    assert not stops.admits(1)
    fresh = Stops(max_time=100.0)
    fresh.plan(n_splits=5, n_workers=2)
    for seconds in [40.0] * 30 + [10.0] * 25:
        fresh.note(seconds)
    assert not fresh.over()
    assert fresh.admits(1)
    assert fresh.reason == ""


@pytest.mark.parametrize("seed", mostly_long(range(20), slow=range(6)))
def test_ten_seconds_are_met(seed):
    class Varied(Marked):
        def fit(self, X, y=None):
            self.seconds = 0.1 + 2.9 * (self.a + 1) / 2
            return super().fit(X, y)

    n_jobs = 1 + seed % 2
    # Workers that have not been started could take all of the ten seconds to come.
    Parallel(n_jobs)(delayed(Marked)() for _ in range(2 * n_jobs))
    settings = {"n_jobs": n_jobs, "batch_size": 1 + seed // 2 % 3}
    ours = search(Varied(), max_time=10.0, random_state=seed, **settings)
    # The last fold, and what a busy machine may add to it.
    assert timed(ours) < 10.0 + 3.0 + 10.0
    assert ours.stop_reason_ == "max_time"


# fit_timeout --------------------------------------------------------------------------


class Hangs(Marked):
    """Never returns for large values."""

    def fit(self, X, y=None):
        super().fit(X, y)
        if self.a > 0.5:
            hang()
        return self


class HangsInScoring(Marked):
    def score(self, X, y=None):
        while self.a > 0.5:
            pass
        return super().score(X, y)


@pytest.fixture
def hangs(monkeypatch):
    """Say which folds hang: on a busy machine, any other one may take long too.

    These keep their time limit; the others get one of hours.
    """
    start, hanging = _timed._Worker.start, [lambda fold: fold.params["a"] > 0.5]

    def started(worker, fold, seconds, *, alone):
        given = seconds if hanging[-1](fold) else 1e4
        start(worker, fold, given, alone=alone)

    monkeypatch.setattr(_timed._Worker, "start", started)
    return hanging.append


@pytest.mark.usefixtures("hangs")
@pytest.mark.parametrize(
    ("estimator", "n_jobs"),
    [(Hangs(), 2), pytest.param(HangsInScoring(), 1, marks=pytest.mark.slow)],
)
def test_a_fit_that_never_ends_is_a_failure(estimator, n_jobs, tmp_path):
    estimator.set_params(marks=str(tmp_path))
    settings = {"n_iter": 5, "n_initial_points": 4, "cv": 2, "batch_size": 2}
    ours = search(estimator, fit_timeout=1.5, n_jobs=n_jobs, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours.fit(X, y)
    asked = np.array([params["a"] for params in ours.cv_results_["params"]])
    failed = np.isnan(ours.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(failed, asked > 0.5)
    assert failed.sum() == 1
    assert ours.stop_reason_ == "n_iter"
    fits = [w for w in caught if w.category is FitFailedWarning]
    assert len(fits) == 1
    assert "2 fits failed out of a total of 10" in str(fits[0].message)
    assert "fit_timeout=1.5" in str(fits[0].message)
    # No other fold was started twice, and this process did not fit.
    marks = marks_of(tmp_path)
    assert {len(lines) for lines in marks.values()} == {2}
    workers = processes_of(tmp_path)
    assert os.getpid() not in workers
    assert not any(map(alive, workers))


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_only_the_fold_that_hangs_is_charged(hangs):
    class OneFold(Marked):
        def fit(self, X, y=None):
            if self.a > 0.5 and X[0, 0] > 5.2:  # the first of the splits
                time.sleep(600)
            return super().fit(X, y)

    hangs(lambda fold: fold.params["a"] > 0.5 and fold.split == 0)
    settings = {"n_iter": 4, "n_initial_points": 4, "cv": KFold(3), "n_jobs": 2}
    ours = search(OneFold(), fit_timeout=1.5, error_score=-9.0, **settings)
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 12"):
        ours.fit(X, y)
    results = ours.cv_results_
    (i,) = [i for i, params in enumerate(results["params"]) if params["a"] > 0.5]
    scores = [results[f"split{k}_test_score"][i] for k in range(3)]
    assert [score == -9.0 for score in scores] == [True, False, False]


@pytest.fixture
def events(monkeypatch):
    """The starts and ends of worker processes, in order."""
    noted = []

    class Noted(_timed._Process):
        def __init__(self, payload):
            noted.append("start")
            super().__init__(payload)

    class Ends(_timed._Processes):
        def end(self, process):
            noted.append("end")
            super().end(process)

    monkeypatch.setattr(_timed, "_Process", Noted)
    monkeypatch.setattr(_timed, "_Processes", Ends)
    return noted


@pytest.mark.slow
@pytest.mark.usefixtures("hangs")
def test_a_spare_process_gets_ready_before_the_first_is_ended(events):
    settings = {"n_iter": 4, "n_initial_points": 4, "cv": 2, "fit_timeout": 0.6}
    ours = search(HangsInScoring(), **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours.fit(X, y)
    asked = np.array([params["a"] for params in ours.cv_results_["params"]])
    expected = np.where(asked > 0.5, np.nan, -((asked - 0.3) ** 2))
    np.testing.assert_array_equal(ours.cv_results_["mean_test_score"], expected)
    assert events[:3] == ["start", "start", "end"]
    assert events.count("start") == events.count("end") == 3  # two folds end theirs


def test_no_spare_process_for_folds_that_are_quick(events):
    search(n_iter=4, fit_timeout=60.0).fit(X, y)
    assert events == ["start", "end"]


class Brittle(Marked):
    """Ends its process just after its only fold."""

    def score(self, X, y=None):
        threading.Timer(0.1, os._exit, [1]).start()
        return super().score(X, y)


@pytest.mark.slow
def test_a_worker_that_died_while_it_had_nothing_to_do_blames_nobody(monkeypatch):
    tell = OptimizerSource.tell

    def told(source, outcome):
        time.sleep(0.5)
        tell(source, outcome)

    monkeypatch.setattr(OptimizerSource, "tell", told)
    settings = {"n_iter": 2, "n_initial_points": 2, "cv": KFold(2), "n_jobs": 2}
    ours = search(Brittle(), fit_timeout=30, **settings).fit(X, y)
    assert np.isfinite(ours.cv_results_["mean_test_score"]).all()


@pytest.mark.slow
def test_a_time_limit_for_folds_changes_nothing_else():
    calm = search(n_iter=8, return_train_score=True).fit(X, y)
    for n_jobs in (1, 2):
        ours = search(n_iter=8, fit_timeout=60, n_jobs=n_jobs, return_train_score=True)
        ours.fit(X, y)
        assert list(ours.cv_results_) == list(calm.cv_results_)
        assert ours.cv_results_["params"] == calm.cv_results_["params"]
        for key in ("mean_test_score", "mean_train_score"):
            np.testing.assert_array_equal(ours.cv_results_[key], calm.cv_results_[key])


def test_error_score_raise_raises_for_a_fold_that_takes_too_long():
    ours = search(Marked(seconds=30), fit_timeout=0.3, error_score="raise")
    with pytest.raises(TimeoutError, match=r"fit_timeout=0.3 s with \{'a'"):
        ours.fit(X, y)


class Refuses(Marked):
    def fit(self, X, y=None):
        raise RuntimeError("never in time nor out of it")


def test_errors_of_fits_come_back_from_workers_with_a_time_limit():
    ours = search(Refuses(), fit_timeout=30, error_score="raise")
    with pytest.raises(RuntimeError, match="never in time"):
        ours.fit(X, y)


def test_other_backends_are_refused_before_the_first_fit(tmp_path):
    ours = search(Marked(marks=str(tmp_path)), fit_timeout=1)
    with (
        parallel_config(backend="threading"),
        pytest.raises(ValueError, match=r"'fit_timeout'.*processes on this machine"),
    ):
        ours.fit(X, y)
    assert not list(tmp_path.iterdir())


def test_a_worker_that_dies_with_a_time_limit(tmp_path):
    settings = {"n_iter": 4, "n_initial_points": 4, "cv": 2, "fit_timeout": 30}
    ours = search(Marked(marks=str(tmp_path), kill_above=0.5), **settings)
    with pytest.warns((FitFailedWarning, UserWarning)):
        ours.fit(X, y)
    asked = np.array([params["a"] for params in ours.cv_results_["params"]])
    failed = np.isnan(ours.cv_results_["mean_test_score"])
    np.testing.assert_array_equal(failed, asked > 0.5)
    (guilty,) = asked[failed]
    assert len(marks_of(tmp_path)[f"{guilty:.12f}"]) == 2  # one fold, twice


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_no_time_limit_inside_daemons():
    import multiprocessing

    def child(queue):
        try:
            search(fit_timeout=1).fit(X, y)
        except ValueError as error:
            queue.put(str(error))

    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        process = context.Process(target=child, args=(queue,), daemon=True)
        process.start()
    assert "inside a daemonic process" in queue.get(timeout=60)
    process.join()
