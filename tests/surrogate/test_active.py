"""The active set: a bounded subset of the told points, the same for all callers."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from runs import read_back
from skrobustbo import Optimizer, Real
from skrobustbo.policies import GPUCB, RobustUCB
from skrobustbo.surrogate import (
    Candidate,
    FactorCache,
    FlatPrior,
    Models,
    View,
    _factor_cache,
)
from skrobustbo.surrogate._factor_cache import (
    chosen_at,
    latest_rows,
    spread_out,
)

CANDIDATE = Candidate(Matern(0.3, nu=2.5))


@pytest.fixture
def few_rows(monkeypatch):
    """Let models use at most 64 points, chosen again every 16."""
    monkeypatch.setattr(_factor_cache, "MOST_ROWS", 64)
    monkeypatch.setattr(_factor_cache, "REFRESH", 16)
    monkeypatch.setattr(_factor_cache, "MOST_FITTED", 32)


def points(n, seed=0):
    X = np.random.default_rng(seed).uniform(size=(n, 2))
    return X, np.sin(5 * X[:, 0]) * X[:, 1]


def test_all_rows_are_seen_up_to_the_limit(few_rows):
    X, y = points(64)
    np.testing.assert_array_equal(FactorCache(0.1).active_rows(X, y, 0), np.arange(64))
    assert chosen_at(64) == 0


def test_the_choice_is_renewed_in_steps_and_bounded(few_rows):
    X, y = points(200)
    active, sizes, choices = FactorCache(0.1), [], set()
    for n in range(65, 201):
        rows = active.active_rows(X[:n], y[:n], 0)
        assert (np.diff(rows) > 0).all()
        assert rows[-1] == n - 1
        sizes.append(len(rows))
        choices.add(chosen_at(n))
    assert min(sizes) == 64 - 16 + 1
    assert max(sizes) == 64
    assert len(choices) == -(-136 // 16)


def test_a_choice_depends_on_the_points_and_raw_values_alone(few_rows):
    X, y = points(150)
    steady = FactorCache(0.1)
    for n in range(65, 151):
        grown = steady.active_rows(X[:n], y[:n], 0)
    np.testing.assert_array_equal(grown, FactorCache(0.1).active_rows(X, y, 0))


def test_the_best_and_the_most_remote_are_kept():
    X, y = points(300)
    X[7], y[5] = [3.0, 3.0], np.nan  # far away; and one that failed
    kept = spread_out(X, y, 40)
    assert len(set(kept)) == 40
    assert set(np.argsort(-np.nan_to_num(y, nan=-9.0))[:10]) <= set(kept)
    assert 7 in kept
    gaps = np.linalg.norm(X[:, None] - X[kept], axis=2).min(axis=1)
    random = np.random.default_rng(0).permutation(300)[:40]
    theirs = np.linalg.norm(X[:, None] - X[random], axis=2).min(axis=1)
    assert gaps.max() < 0.7 * theirs.max()


def test_duplicates_do_not_fill_the_choice_twice():
    X = np.zeros((50, 2))
    assert len(set(spread_out(X, np.arange(50.0), 20))) == 20


def test_posteriors_are_those_of_the_chosen_points(few_rows):
    X, y = points(100)
    rows = FactorCache(0.1).active_rows(X, y, 0)
    pending = np.array([[0.5, 0.5]])
    models = Models(FactorCache(0.01), View(X, y, X_pending=pending))
    part = Models(FactorCache(0.01), View(X[rows], y[rows], X_pending=pending))
    Z = points(20, seed=1)[0]
    assert len(rows) < 100
    for ours, theirs in [
        (models[CANDIDATE], part[CANDIDATE]),
        (models.at(CANDIDATE), part.at(CANDIDATE)),
    ]:
        np.testing.assert_allclose(ours.predict(Z), theirs.predict(Z), rtol=1e-7)
        assert ours.n_told == len(rows)
    weights = np.linspace(1, 2, 100)
    weighted = models.weighted(CANDIDATE, weights).predict(Z)
    same = part.weighted(CANDIDATE, weights[rows]).predict(Z)
    np.testing.assert_allclose(weighted, same, rtol=1e-7)


def test_likelihoods_are_of_a_bounded_number_of_points(few_rows):
    X, y = points(100)
    models = Models(FactorCache(0.01), View(X, y))
    # Up to 64 rows, at most 32 of them.
    rows = FactorCache(0.1).active_rows(X, y, 0)[::2]
    part = Models(FactorCache(0.01), View(X[rows], y[rows]))
    ours, theirs = (
        m.fit(Matern(nu=2.5), FlatPrior(), (0.01, 10.0), [0.3]) for m in (models, part)
    )
    assert len(rows) <= 32
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def test_views_of_the_recent_and_of_time_are_bounded_too(few_rows):
    X, y = points(300)
    models = Models(FactorCache(0.01), View(X, y))
    assert models.since(100)[CANDIDATE].n_told <= 64
    timed = models.timed()[Candidate(Matern([0.3, 0.3, 50.0], nu=2.5))]
    assert timed.n_told <= 64
    np.testing.assert_array_equal(timed.X[-3:, -1], [298.0, 299.0, 300.0])
    np.testing.assert_array_equal(latest_rows(300), np.arange(300 - timed.n_told, 300))


@pytest.mark.parametrize("policy", [RobustUCB(), GPUCB(Matern(0.2, nu=2.5))])
def test_a_search_beyond_the_limit_resumes_identically(few_rows, policy):
    def objective(params):
        return -((params["a"] - 0.3) ** 2) - (params["b"] - 0.6) ** 2

    space = {"a": Real(0, 1), "b": Real(0, 1)}
    optimizer = Optimizer(space, policy, random_state=0)
    for i in range(90):
        if i == 75:
            resumed = read_back(optimizer)
        params = optimizer.ask()
        if i >= 75:
            assert resumed.ask() == params
            resumed.tell(params, objective(params))
        optimizer.tell(params, objective(params))
    assert optimizer.best_value_ > -1e-3
