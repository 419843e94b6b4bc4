"""What is blamed for the death of a worker, and what is started afterwards."""

import math
from collections import deque
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool

import pytest

from skrobustbo.evaluation._folds import Fold
from skrobustbo.evaluation._stops import Stops
from skrobustbo.evaluation._workers import (
    FoldLostError,
    WorkerDiedError,
    WorkerPool,
)


class FakeJob:
    def __init__(self, error_score=math.nan):
        self.settings = {"error_score": error_score}

    def failed(self, fold, reason):
        return reason


class FakeWorker:
    """Does at once what its pool's script says; records what was started."""

    end_time = math.inf

    def __init__(self, pool):
        self.pool, self.fold, self.future = pool, None, None

    def is_ready(self, *, alone):
        return self.fold is None and not (alone and self.pool.n_busy())

    def start(self, fold, seconds, *, alone):
        beside = [worker.fold.key for worker in self.pool._workers if worker.fold]
        self.pool.started.append((fold.key, beside))
        self.fold, self.future = fold, Future()
        self.future.set_result(None)

    def is_done(self):
        return True

    def take(self):
        fold, self.fold, self.future = self.fold, None, None
        script = self.pool.script.get(fold.key, [])
        if script and (error := script.pop(0)) is not None:
            raise error
        return fold.key, "scored", 0.0


class FakePool(WorkerPool):
    def __init__(self, script, n_workers=2, **settings):
        super().__init__(FakeJob(**settings), Stops())
        self._workers = [FakeWorker(self) for _ in range(n_workers)]
        self.script, self.started = script, []

    def n_busy(self):
        return sum(worker.fold is not None for worker in self._workers)

    def fit(self, n_candidates=2, n_splits=3):
        folds = [
            Fold(c, s, {"c": c}, {})
            for c in range(n_candidates)
            for s in range(n_splits)
        ]
        results = list(self.run(deque(folds)))
        assert len(results) == len(folds)
        return dict(results)


def failed(results):
    return [key for key, result in results.items() if result != "scored"]


def died(alone=True):
    return WorkerDiedError(alone=alone)


def test_two_deaths_alone_fail_the_candidate():
    pool = FakePool({(0, 0): [died(), died()]})
    results = pool.fit()
    assert {candidate for candidate, _ in failed(results)} == {0}
    assert "died 2 times" in results[0, 0]


def test_one_death_costs_nothing():
    assert failed(FakePool({(0, 0): [died()], (1, 2): [died()]}).fit()) == []


def test_deaths_in_company_blame_nobody():
    script = {key: [died(alone=False)] * 5 for key in [(0, 0), (1, 1)]}
    assert failed(FakePool({k: list(v) for k, v in script.items()}).fit()) == []


def test_who_died_in_company_is_fitted_alone():
    pool = FakePool({(0, 0): [died(alone=False)]}, n_workers=3)
    pool.fit()
    beside = [others for key, others in pool.started if key == (0, 0)]
    assert len(beside) == 2
    assert beside[1] == []


def test_a_suspected_candidate_is_fitted_one_fold_at_a_time():
    """Its other folds would kill a worker each."""
    pool = FakePool({(0, 0): [died(), None]})
    pool.fit()
    started = [key for key, _ in pool.started]
    assert started[:2] == [(0, 0), (0, 1)]
    assert started[2:4] == [(0, 0), (1, 0)]


def test_a_fold_under_way_beside_its_guilty_sibling_has_no_second_life():
    pool = FakePool({(0, 0): [died()], (0, 1): [died()]})
    pool._guilty[0] = "guilty"
    results = pool.fit()
    assert failed(results) == [(0, 0), (0, 2), (0, 1)]
    assert [key for key, _ in pool.started if key[0] == 0] == [(0, 0), (0, 1)]


def test_a_fold_lost_for_other_reasons_is_fitted_again_without_blame():
    assert failed(FakePool({(0, 0): [FoldLostError()] * 5}).fit()) == []


def test_a_fold_lost_beside_its_guilty_sibling_is_not_fitted_again():
    pool = FakePool({(0, 1): [FoldLostError()]})
    pool._guilty[0] = "guilty"
    results = pool.fit()
    assert failed(results) == [(0, 1), (0, 2)]
    assert [key for key, _ in pool.started if key[0] == 0] == [(0, 0), (0, 1)]


@pytest.mark.parametrize("error", [died(), died(alone=False), FoldLostError()])
def test_a_fold_whose_candidate_is_over_is_not_sent_again(error):
    """Its worker died while other folds finished its candidate."""
    pool = FakePool({(0, 1): [error]})
    waiting = deque(Fold(c, s, {"c": c}, {}) for c, s in [(0, 0), (0, 1), (1, 0)])
    over = set()
    for (candidate, _), _ in pool.run(waiting, lambda fold: fold.candidate not in over):
        over.add(candidate)
    assert [key for key, _ in pool.started] == [(0, 0), (0, 1), (1, 0)]


def test_error_score_raise_names_the_guilty():
    pool = FakePool({(1, 0): [died(), died()]}, error_score="raise")
    error = pool.fit()[1, 0]
    assert isinstance(error, BrokenProcessPool)
    assert "{'c': 1}" in str(error)


def test_what_a_fit_raises_stands_for_its_result():
    error = ZeroDivisionError("of the fit")
    results = FakePool({(0, 1): [error]}).fit()
    assert [key for key, result in results.items() if result != "scored"] == [(0, 1)]
    assert results[0, 1] is error
