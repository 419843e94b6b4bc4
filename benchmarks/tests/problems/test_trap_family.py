"""Traps: a broad rise that shows, and a narrow, higher peak."""

import pickle

import numpy as np
import pytest

from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks._starts import sobol

CASES = [
    (kind, d)
    for kind in ("hill", "hills", "plateau", "slope", "ridge")
    for d in (1, 2, 3, 5)
    if (kind, d) != ("ridge", 1)
]


def made(kind, d, seed=3, share=0.1, **settings):
    return problems.get("trap", kind=kind, d=d, seed=seed, share=share, **settings)


def rows(params):
    return np.array([list(p.values()) for p in params])


def values(problem, X):
    return np.array([problem.func(p) for p in problem.space.decode_many(X)])


@pytest.mark.parametrize("share", [0.03, 0.2])
@pytest.mark.parametrize(("kind", "d"), CASES)
def test_the_basin_takes_its_share(kind, d, share):
    func = made(kind, d, share=share).func
    U = np.random.default_rng(0).random((20_000, d))
    assert func.enters(U).mean() == pytest.approx(share, abs=0.012)


@pytest.mark.parametrize(("kind", "d"), CASES)
def test_heights(kind, d):
    problem = made(kind, d)
    X = sobol(4096, d, 1)
    assert problem.func(problem.optimum_params) == pytest.approx(problem.optimum)
    assert 1.5 <= problem.optimum <= 2
    assert values(problem, X[:500]).max() <= problem.optimum
    ground = problem.func.background(X)
    assert ground.min() >= 0.02
    assert 0.6 < ground.max() <= 1
    assert problem.stuck_below > 1
    best_outside = values(problem, X[~problem.func.enters(X)]).max()
    assert best_outside < problem.stuck_below


@pytest.mark.parametrize("kind", ["hill", "hills"])
def test_centres_are_apart(kind):
    for seed in range(20):
        func = made(kind, 3, seed).func
        apart = np.linalg.norm(func.rise.centres - func.centre, axis=1)
        assert apart.min() >= 0.3 * np.sqrt(3)


def test_a_slope_leads_away():
    for seed in range(20):
        func = made("slope", 2, seed).func
        toward = func.centre - np.full(2, 0.5)
        assert func.rise.direction @ toward < np.linalg.norm(func.rise.direction) / 2


@pytest.mark.parametrize(("kind", "d"), CASES)
def test_starts_hide_the_basin_or_not(kind, d):
    hidden, seen = made(kind, d, share=0.3), made(kind, d, share=0.3, hidden=False)
    for seed in range(5):
        X = rows(hidden.initial_params(seed, 10))
        assert X.shape == (10, d)
        assert not hidden.func.enters(X).any()
    assert any(seen.func.enters(rows(seen.initial_params(s, 10))).any() for s in (0, 1))


def test_a_seed_draws_a_function():
    one, again, other = (made("hills", 2, seed) for seed in (0, 0, 1))
    X = sobol(64, 2, 0)
    np.testing.assert_array_equal(values(one, X), values(again, X))
    assert (values(one, X) != values(other, X)).any()
    sampled = one.sample_function(1)
    np.testing.assert_array_equal(values(sampled, X), values(other, X))
    np.testing.assert_array_equal(
        values(pickle.loads(pickle.dumps(one)), X), values(one, X)
    )


def test_a_seed_draws_the_kind():
    drawn = [problems.get("trap", d=2, seed=seed) for seed in range(40)]
    assert {problem.func.kind for problem in drawn} == {kind for kind, _ in CASES}
    for seed, problem in enumerate(drawn):
        given = made(problem.func.kind, 2, seed)
        assert problem.optimum_params == given.optimum_params
        assert problem.func.width == given.func.width
        assert drawn[0].sample_function(seed).func.kind == problem.func.kind
    in_1d = {problems.get("trap", d=1, seed=seed).func.kind for seed in range(20)}
    assert "ridge" not in in_1d


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kind": "hole"}, "kind of the problem 'trap'.*'hill', 'hills'"),
        ({"share": 0.0}, "'share' setting of 'trap' must be between 0 and 1. Got 0.0"),
        ({"share": 1}, "between 0 and 1. Got 1"),
        ({"d": 0}, "'d' must be an integer >= 1. Got 0"),
        ({"kind": "ridge", "d": 1}, "'d' must be an integer >= 2. Got 1"),
        ({"seed": -1}, "'seed' must be an integer >= 0"),
    ],
)
def test_wrong_settings(settings, said):
    with pytest.raises(ValueError, match=said):
        problems.get("trap", **settings)
