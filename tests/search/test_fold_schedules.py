"""When candidates are proposed and told: in rounds, in a window, or freely."""

import itertools
import math
import os
import signal
import time

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_iris
from sklearn.exceptions import FitFailedWarning

from fake_estimators import (
    Fake,
    Marked,
    Noisy,
    marks_of,
    processes_of,
    search_of,
)
from runs import assert_same
from skrobustbo import Optimizer
from skrobustbo._trials import Evaluation, Trial
from skrobustbo.evaluation import Races, Stops
from skrobustbo.evaluation._folds import Fold
from skrobustbo.evaluation._plan import Batch, Plan, Running, Schedule

X, y = load_iris(return_X_y=True)


def search(estimator=None, schedule="window", **settings):
    given = {"n_iter": 10, "refit": False, "batch_size": 3, **settings}
    return search_of(estimator or Noisy(), schedule=schedule, **given)


# The order of asking and telling ------------------------------------------------------


class Log:
    """Candidates without an optimizer; records what is asked and told."""

    def __init__(self, n, per_group=1):
        self.left, self.per_group, self.said = list(range(n)), per_group, []

    def ask(self):
        numbers, self.left = self.left[: self.per_group], self.left[self.per_group :]
        self.said += [f"ask {i}" for i in numbers]
        return Batch([running(i) for i in numbers]) if numbers else None

    def tell(self, batch):
        self.said += [f"tell {candidate.trial.number}" for candidate in batch.over]

    def plan(self, **schedule):
        return Plan(Schedule(**schedule), 2, self.ask, self.tell)


def running(number):
    folds = [Fold(number, split, {}, {}) for split in range(2)]
    return Running(Evaluation(Trial({}), number=number), folds)


def flown(order, n=4, per_group=1, **schedule):
    """Return what was asked and told if folds finish in a given order."""
    log = Log(n, per_group)
    plan = log.plan(**schedule)
    plan.fill()
    for number in order:
        for split in range(2):
            plan.take((number, split), {"test_scores": 0.0})
            plan.fill()
    return log.said


def test_a_round_waits_for_its_last_candidate():
    said = flown([1, 0, 3, 2], per_group=2)
    asked = ["ask 0", "ask 1", "tell 0", "tell 1", "ask 2", "ask 3"]
    assert said == [*asked, "tell 2", "tell 3"]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [1, 0, 2, 3], [1, 0, 3, 2]])
def test_a_window_tells_in_the_order_asked_whatever_finishes_first(order):
    said = flown(order, n_in_flight=2)
    asked = ["ask 0", "ask 1", "tell 0", "ask 2", "tell 1", "ask 3"]
    assert said == [*asked, "tell 2", "tell 3"]


def test_a_free_schedule_tells_what_finishes():
    said = flown([1, 2, 0, 3], n_in_flight=2, in_order=False)
    asked = ["ask 0", "ask 1", "tell 1", "ask 2", "tell 2", "ask 3"]
    assert said == [*asked, "tell 0", "tell 3"]


def test_what_is_over_at_the_end_is_told_and_the_rest_left():
    log = Log(4)
    plan = log.plan(n_in_flight=3)
    plan.fill()
    for split in range(2):
        plan.take((1, split), {"test_scores": 0.0})
    plan.finish()
    assert log.said == ["ask 0", "ask 1", "ask 2", "tell 1"]


def raced():
    """Return a plan that races two candidates at a time."""
    races = Races(
        0.05, 0.25, 9, score=lambda fold: fold["test_scores"], beliefs=lambda trial: []
    )
    plan = Log(4).plan(n_in_flight=2, racing=races)
    plan.fill()
    return plan


FAILED, SCORED = {"test_scores": math.nan}, {"test_scores": 0.5}


def test_in_a_race_the_error_of_a_fold_that_is_not_needed_is_not_raised():
    plan = raced()
    plan.take((0, 1), ZeroDivisionError())
    plan.take((0, 0), FAILED)  # the end of candidate 0
    plan.fill()
    plan.take((0, 1), ZeroDivisionError())  # nor is one that comes later


def test_in_a_race_an_error_is_raised_once_its_fold_is_needed():
    plan = raced()
    plan.take((0, 1), ZeroDivisionError())
    plan.take((1, 0), SCORED)
    with pytest.raises(ZeroDivisionError):
        plan.take((0, 0), SCORED)
    with pytest.raises(ZeroDivisionError):
        raced().take((1, 0), ZeroDivisionError())


def test_without_a_race_an_error_is_raised_at_once():
    plan = Log(4).plan(n_in_flight=2)
    plan.fill()
    with pytest.raises(ZeroDivisionError):
        plan.take((1, 1), ZeroDivisionError())


def test_a_fold_that_comes_back_when_its_candidate_is_over_is_not_wanted():
    plan = raced()
    sent = {fold.key: fold for fold in plan.waiting if fold.key != (1, 1)}
    for fold in sent.values():
        plan.waiting.remove(fold)
    plan.take((0, 0), {"test_scores": math.nan})  # the end of candidate 0
    plan.fill()
    plan.waiting.appendleft(sent[0, 1])
    plan.take((1, 0), {"test_scores": 0.5})
    keys = [fold.key for fold in plan.waiting]
    assert keys == [(1, 1), (2, 0), (2, 1)]


# Searches -----------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["window", "free"])
def test_one_candidate_at_a_time_is_todays_search(schedule):
    found = search(schedule=schedule, batch_size=1).fit(X, y)
    assert_same(found, search(schedule="rounds", batch_size=1).fit(X, y))


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
@pytest.mark.parametrize("n_jobs", [2, 4])
def test_a_window_is_the_same_wherever_folds_run(backend, n_jobs):
    expected = search().fit(X, y)
    with parallel_config(backend=backend):
        assert_same(search(n_jobs=n_jobs).fit(X, y), expected)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_the_number_of_jobs_of_the_surroundings_counts(backend, tmp_path):
    marked = Marked(marks=str(tmp_path), seconds=0.05)
    with parallel_config(backend=backend, n_jobs=2):
        found = search(marked).fit(X, y)
    assert_same(found, search(Marked()).fit(X, y))
    assert (os.getpid() in processes_of(tmp_path)) == (backend == "threading")
    times = [float(t) for lines in marks_of(tmp_path).values() for *_, t in lines]
    assert np.diff(np.sort(times)).min() < 0.04  # two at a time


def test_a_window_is_the_same_in_timed_processes():
    expected = search().fit(X, y)
    assert_same(search(n_jobs=2, fit_timeout=60.0).fit(X, y), expected)


def test_a_window_differs_from_rounds():
    window, rounds = search().fit(X, y), search(schedule="rounds").fit(X, y)
    assert window.cv_results_["params"][:3] == rounds.cv_results_["params"][:3]
    assert window.cv_results_["params"] != rounds.cv_results_["params"]


@pytest.mark.parametrize("schedule", ["window", "free"])
def test_all_folds_of_all_candidates_run(schedule):
    found = search(schedule=schedule, n_jobs=2).fit(X, y)
    assert found.n_iter_ == 10
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    assert not any(record["pending"] for record in found.optimizer_.history_)


@pytest.mark.parametrize("schedule", ["window", "free"])
def test_a_tolerance_ends_the_search_for_good(schedule, monkeypatch):
    bounds = itertools.chain([math.inf] * 6, [0.0], itertools.repeat(math.inf))
    monkeypatch.setattr(Optimizer, "regret_bound", lambda self, **_: next(bounds))
    found = search(schedule=schedule, n_iter=20, tol=0.1).fit(X, y)
    assert found.stop_reason_ == "tol"
    assert found.n_iter_ == 3 + 6


@pytest.mark.parametrize("schedule", ["window", "free"])
def test_a_space_of_fewer_points_is_used_up(schedule):
    found = search_of(
        Fake(), {"a": [0.1, 0.2, 0.3, 0.4]}, schedule=schedule, batch_size=3
    ).fit(X, y)
    assert found.stop_reason_ == "space_exhausted"
    assert sorted(found.cv_results_["param_a"]) == [0.1, 0.2, 0.3, 0.4]


def record(search):
    return [
        (told["params"], told["value"])
        for told in search.optimizer_.history_
        if not told["pending"]
    ]


@pytest.mark.parametrize("racing", [None, "confident"])
def test_a_free_search_resumes_to_what_was_done_in_the_order_it_was(tmp_path, racing):
    settings = {"schedule": "free", "checkpoint": tmp_path / "c", "racing": racing}
    with parallel_config(backend="threading"):
        first = search(Uneven(), n_jobs=6, cv=3, **settings).fit(X, y)
    expected = list(first.cv_results_["params"])
    again = search(Uneven(), cv=3, **settings).fit(X, y)
    assert_same(again, first)
    assert record(again) == record(first)
    longer = search(Uneven(), cv=3, **{**settings, "n_iter": 13}).fit(X, y)
    assert list(longer.cv_results_["params"])[:10] == expected


class Uneven(Noisy):
    """Takes longer for smaller values."""

    def fit(self, X, y=None):
        time.sleep(0.01 if self.a > 0 else 0.1)
        return super().fit(X, y)


# Ends and faults ----------------------------------------------------------------------


class Spends(Noisy):
    """Takes time on a clock that only fits move forward."""

    clock = None

    def fit(self, X, y=None):
        self.clock.spend(self.a, 0.05)
        return super().fit(X, y)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_time_runs_out_in_a_window(n_jobs, clock, monkeypatch):
    monkeypatch.setattr(Spends, "clock", clock)
    with parallel_config(backend="threading"):
        found = search(Spends(), n_iter=1000, max_time=2.0, n_jobs=n_jobs).fit(X, y)
    assert found.stop_reason_ == "max_time"
    assert clock.now < 2.0 + n_jobs * 0.05
    # Three folds each; those of the last window may have been interrupted.
    assert 40 // 3 - 3 <= found.n_iter_ <= 40 // 3 + 1


def test_those_under_way_are_finished_when_there_is_no_time_for_another():
    stops = Stops(max_time=10.0)
    stops.plan(5, 1)
    assert stops.admits(0)
    stops.note(9.0)
    assert not stops.admits(1)
    assert stops.reason == "max_time"
    assert stops.admits(0)


class Interrupting(Noisy):
    """Sends a signal to the search from one of its fits."""

    n_fits, at = 0, None

    def fit(self, X, y=None):
        Interrupting.n_fits += 1
        if Interrupting.n_fits == Interrupting.at:
            os.kill(os.getpid(), signal.SIGINT)
        return super().fit(X, y)


@pytest.mark.parametrize("schedule", ["window", "free"])
def test_ctrl_c_keeps_what_is_complete(schedule):
    Interrupting.n_fits, Interrupting.at = 0, 14
    with pytest.warns(UserWarning, match="interrupted after 4 of 10"):
        found = search(Interrupting(), schedule=schedule).fit(X, y)
    assert found.stop_reason_ == "interrupted"
    assert found.n_iter_ == 4
    assert sum(record["pending"] for record in found.optimizer_.history_) == 3


@pytest.mark.filterwarnings("ignore:One or more")
@pytest.mark.parametrize(
    "racing", [pytest.param(None, marks=pytest.mark.slow), "confident"]
)
def test_a_fold_that_kills_its_workers_fails_its_candidate_alone(tmp_path, racing):
    marked = Marked(kill_above=0.6, marks=str(tmp_path))
    with pytest.warns(FitFailedWarning, match="fits failed"):
        found = search(marked, n_jobs=2, racing=racing).fit(X, y)
    results = found.cv_results_
    killers = np.array(results["param_a"], dtype=float) > 0.6
    assert killers.any()
    np.testing.assert_array_equal(np.isnan(results["mean_test_score"]), killers)


def test_an_error_to_be_raised_is_raised():
    with pytest.raises(RuntimeError, match="too large"):
        search(Noisy(fail_above=-0.9), n_jobs=2, error_score="raise").fit(X, y)


def test_a_fold_that_hangs_is_ended():
    hanging = Marked(seconds=60.0)
    with pytest.raises(ValueError, match="fit_timeout"):
        search(hanging, n_jobs=2, fit_timeout=0.3, n_iter=1).fit(X, y)
