"""Designs: halves are balanced, and no two parameters are confounded."""

import math
from itertools import combinations

import numpy as np
import pytest

from skrobustbo import Categorical, Integer, Optimizer, Real, Space
from skrobustbo._sobol import design


def n_confounded(halves):
    """Return the number of pairs of columns with the same or opposite halves."""
    return sum(
        len(np.unique(halves[:, i] ^ halves[:, j])) == 1
        for i, j in combinations(range(halves.shape[1]), 2)
    )


def least_confounded(n, d):
    """Return the smallest number of pairs for the number of balanced halves."""
    ways = min(d, math.comb(n, n // 2) // (1 if n % 2 else 2))
    sizes = [d // ways + (i < d % ways) for i in range(ways)]
    return sum(math.comb(size, 2) for size in sizes)


@pytest.mark.parametrize("n", [*range(3, 17), 24, 32])
def test_halves_are_balanced_and_as_few_pairs_confounded_as_can_be(n):
    for d in (2, 6, 12):
        for seed in range(20 if d == 6 and n < 10 else 2):
            halves = design(n, d, np.random.default_rng(seed)) >= 0.5
            assert set(halves.sum(axis=0)) <= {n // 2, n - n // 2}
            assert n_confounded(halves) == least_confounded(n, d)


@pytest.mark.parametrize(("n", "d"), [(1, 3), (5, 1), (8, 6), (32, 12)])
def test_each_part_of_a_range_has_one_point(n, d):
    U = design(n, d, np.random.default_rng(0))
    assert (np.sort(np.floor(n * U), axis=0) == np.arange(n)[:, None]).all()


def test_points_are_farther_apart_than_independent_ones():
    rng = np.random.default_rng(0)

    def nearest(U):
        apart = np.linalg.norm(U[:, None] - U, axis=2)
        return apart[np.triu_indices(len(U), 1)].min()

    own = [nearest(design(14, 6, np.random.default_rng(s))) for s in range(20)]
    others = [nearest(rng.random((14, 6))) for _ in range(20)]
    assert np.median(own) > 1.3 * np.median(others)


def test_any_number_of_points():
    for n in (0, 1, 33, 100):
        U = design(n, 3, np.random.default_rng(0))
        assert U.shape == (n, 3)
        assert len(np.unique(U, axis=0)) == n


MIXED = {
    "a": Categorical(["x", "y"]),
    "b": Categorical([False, True]),
    "c": Integer(0, 1),
    "d": Real(0.0, 1.0),
    "e": Real(1e-3, 1.0, log=True),
    "f": Categorical(["p", "q"]),
}


def halves_of(params):
    space = Space(MIXED)
    half = {"a": "x", "b": False, "c": 0, "f": "p"}
    return np.array(
        [
            [
                p[name] == half[name]
                if name in half
                else space.dimensions[name].encode(p[name])[0] < 0.5
                for name in MIXED
            ]
            for p in params
        ]
    )


@pytest.mark.parametrize("n", [7, 8, 14, 32])
def test_samples_and_searches_confound_no_parameters(n):
    for seed in range(20):
        assert n_confounded(halves_of(Space(MIXED).sample(n, seed))) == 0
        optimizer = Optimizer(MIXED, n_initial_points=n, random_state=seed)
        params = optimizer.ask(n)
        assert n_confounded(halves_of(params)) == 0


def test_branches_and_given_points_have_designs_of_their_own():
    space = [{"model": ["one"], **MIXED}, {"model": ["two"], "x": Real(0, 1)}]
    pairs = np.zeros(20)
    for seed in range(20):
        optimizer = Optimizer(space, n_initial_points=18, random_state=seed)
        asked = [params for params in optimizer.ask(18) if params["model"] == "one"]
        assert 8 <= len(asked) <= 15
        pairs[seed] = n_confounded(halves_of(asked))
    assert (pairs == 0).mean() > 0.9
    first = Space(MIXED).sample(2, 0)
    optimizer = Optimizer(MIXED, n_initial_points=10, initial_params=first)
    assert n_confounded(halves_of(optimizer.ask(10)[2:])) == 0


def test_a_constraint_leaves_what_is_feasible_of_the_design():
    for seed in range(5):
        optimizer = Optimizer(
            MIXED,
            constraints=lambda params: params["d"] < 0.9,
            n_initial_points=16,
            random_state=seed,
        )
        asked = optimizer.ask(16)
        assert max(params["d"] for params in asked) < 0.9
        assert n_confounded(halves_of(asked)) == 0
