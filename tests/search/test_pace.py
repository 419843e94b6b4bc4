"""Searches with a time limit plan for the candidates that it allows."""

import itertools
import json
import sqlite3
import warnings
from contextlib import closing

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import load_iris

from fake_estimators import Noisy, search_of
from skrobustbo import Real, Resource
from skrobustbo.evaluation import Stops

X, y = load_iris(return_X_y=True)
PLANE = {"a": Real(-1, 1), "b": Real(-1, 1)}


class Paced(Noisy):
    """Moves the clock forward with each fit, and may be interrupted before one."""

    clock, costs, stop_before = None, None, 0

    def __init__(self, a=0.0, b=0.0, size=9):
        super().__init__(a)
        self.b = b
        self.size = size

    def fit(self, X, y=None):
        if len(self.clock.begun) + 1 == self.stop_before:
            raise KeyboardInterrupt
        self.clock.spend(self.a, next(self.costs))
        return super().fit(X, y)

    def score(self, X, y=None):
        return super().score(X, y) - (self.b + 0.2) ** 2


@pytest.fixture(autouse=True)
def paced(clock, monkeypatch):
    monkeypatch.setattr(Paced, "clock", clock)
    monkeypatch.setattr(Paced, "costs", itertools.repeat(1.0))


def search(space=PLANE, **settings):
    given = {"n_iter": 5000, "cv": 2, "refit": False, **settings}
    return search_of(Paced(), space, **given)


def told(ours):
    """Return the points asked, and the models that chose them."""
    results = ours.cv_results_
    return list(zip(map(str, results["params"]), results["model_label"], strict=True))


def rows(path):
    """Return the horizons in a checkpoint."""
    with closing(sqlite3.connect(path)) as db:
        found = db.execute("SELECT body FROM candidate ORDER BY number").fetchall()
    return [json.loads(body)["horizon"] for (body,) in found]


def test_the_last_phase_comes_before_the_time_is_up():
    ours = search(max_time=60.0).fit(X, y)
    assert (ours.stop_reason_, ours.n_iter_) == ("max_time", 29)
    labels = [label for _, label in told(ours)]
    assert "fill" in labels[:-10]
    assert set(labels[-5:]) <= {"theta/1", "climb"}
    # With constant costs, it is known exactly, and nothing else differs.
    assert ours.optimizer_.horizon == 29
    assert told(search(n_iter=29).fit(X, y)) == told(ours)


def test_a_first_fit_that_takes_long_ends_nothing_early(monkeypatch, tmp_path):
    monkeypatch.setattr(Paced, "costs", itertools.chain([20.0], itertools.repeat(1.0)))
    ours = search(max_time=80.0, checkpoint=tmp_path / "c").fit(X, y)
    horizons = rows(tmp_path / "c")
    assert horizons == [5000] * 5 + [ours.n_iter_] * (ours.n_iter_ - 5)


def test_the_pace_is_that_of_the_latter_half(clock):
    stops = Stops(max_time=100.0)
    for n in range(41):
        expected = stops.expected(n, float(n))
        if n < 5:
            assert expected is None
        clock.now += 2.0 if n < 20 else 1.0
    assert expected == 40 + 40 - 1
    assert Stops().expected(40, 40.0) == np.inf


@pytest.mark.parametrize("schedule", ["rounds", "window", "free"])
def test_candidates_side_by_side_are_counted_per_time(schedule):
    how = {"schedule": schedule, "batch_size": 4}
    with parallel_config("threading", n_jobs=2 if schedule == "rounds" else 1):
        ours = search(max_time=97.0, **how).fit(X, y)
    assert abs(ours.optimizer_.horizon - ours.n_iter_) <= 4
    labels = [label for _, label in told(ours)]
    assert set(labels[-4:]) <= {"theta/1", "climb"}


@pytest.mark.parametrize("stop_before", [9, 27, 38, 45])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_a_resumed_search_asks_what_it_has_asked(
    stop_before, batch_size, tmp_path, clock, monkeypatch
):
    def varied():
        return iter(np.random.default_rng(0).lognormal(0, 0.5, 1000))

    given = {"max_time": 60.0, "batch_size": batch_size, "schedule": "window"}
    monkeypatch.setattr(Paced, "costs", varied())
    unbroken = search(**given).fit(X, y)
    clock.now, clock.begun[:] = 0.0, []
    monkeypatch.setattr(Paced, "costs", varied())
    monkeypatch.setattr(Paced, "stop_before", stop_before)
    path = tmp_path / "c"
    with pytest.raises(KeyboardInterrupt):
        search(**given, checkpoint=path).fit(X, y)
    before, n = rows(path), (stop_before - 1) // 2
    monkeypatch.setattr(Paced, "stop_before", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of candidates that would not be asked here
        ours = search(**given, checkpoint=path).fit(X, y)
        assert told(ours)[:n] == told(unbroken)[:n]
        assert rows(path)[: len(before)] == before
        # Its time starts again, so there are more candidates in total.
        assert unbroken.n_iter_ < ours.n_iter_ <= n + unbroken.n_iter_ + 12
        assert abs(ours.optimizer_.horizon - ours.n_iter_) <= 3
        again = search(**{**given, "max_time": 1e-9}, checkpoint=path).fit(X, y)
    assert told(again) == told(ours)
    assert again.optimizer_.horizon == ours.optimizer_.horizon


def test_without_a_limit_the_search_goes_on_as_planned():
    ours = search(n_iter=200, max_time=40.0).fit(X, y)
    assert ours.optimizer_.horizon == ours.n_iter_ == 19
    ours.set_params(max_time=None).resume(X, y, n_iter=3)
    assert ours.optimizer_.horizon == 200
    ours.set_params(max_time=40.0).resume(X, y, n_iter=170)
    assert ours.optimizer_.horizon == ours.n_iter_ == 22 + 19


def test_low_rungs_get_a_third_of_the_time(clock):
    class Partly(Paced):
        def fit(self, X, y=None):
            self.clock.spend(self.a, 1.0 * self.size / 9)
            return super(Paced, self).fit(X, y)

        def score(self, X, y=None):
            return super().score(X, y) - 0.3 / self.size

    how = {"resource": Resource("size", 1, 9), "max_time": 90.0}
    ours = search_of(Partly(), PLANE, n_iter=5000, cv=2, refit=False, **how).fit(X, y)
    amounts = np.array(ours.cv_results_["n_resources"])
    n_low = np.flatnonzero(amounts < 9)[-1] + 1
    assert 0.2 < amounts[:n_low].sum() / amounts.sum() < 0.5
    assert abs(ours.optimizer_.horizon - amounts.sum() / 9) <= 2
