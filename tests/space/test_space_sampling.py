"""Samples: reproducible, inside the space, and balanced."""

import math

import numpy as np
import pytest
import scipy.stats
from sklearn.utils import check_random_state

from skrobustbo import Categorical, Integer, Real, Space
from skrobustbo._sobol import sobol

MIXED = {
    "C": Real(1e-3, 1e3, log=True),
    "degree": Integer(1, 5),
    "kernel": ["rbf", "linear", "poly"],
    "gamma": scipy.stats.loguniform(1e-4, 1),
    "shrinking": [True, False],
    "constant": [7],
}


def shares(dimension, n=2**14):
    """Return the values of evenly spread uniform draws, and their frequencies."""
    space = Space({"a": dimension})
    X = space.from_uniform((np.arange(n)[:, None] + 0.5) / n)
    values = [params["a"] for params in space.decode_many(X)]
    found, counts = np.unique(values, return_counts=True)
    return found, counts / n


@pytest.mark.parametrize("n", [0, 1, 2, 5, 16])
def test_samples_are_reproducible_and_in_the_space(n):
    space = Space(MIXED)
    params = space.sample(n, 3)
    assert len(params) == n
    assert params == space.sample(n, 3)
    assert params == space.sample(n, np.random.RandomState(3))
    for point in params:
        assert list(point) == list(MIXED)
        assert space.decode(space.encode(point)) == point


def test_samples_differ_by_seed_and_a_shared_state_moves_on():
    space = Space(MIXED)
    assert space.sample(4, 0) != space.sample(4, 1)
    state = check_random_state(0)
    assert space.sample(4, state) != space.sample(4, state)


def test_a_long_sample_begins_with_a_shorter_one():
    space = Space(MIXED)  # beyond 32 points, which are a design of their own
    assert space.sample(60, 0)[:40] == space.sample(40, 0)


@pytest.mark.parametrize("bounds", [(1, 7), (-3, 3), (0, 1), (10, 64)])
def test_integers_are_drawn_equally_often(bounds):
    found, share = shares(Integer(*bounds))
    size = bounds[1] - bounds[0] + 1
    np.testing.assert_array_equal(found, np.arange(bounds[0], bounds[1] + 1))
    np.testing.assert_allclose(share, 1 / size, atol=2e-4)


@pytest.mark.parametrize("bounds", [(1, 2), (1, 8), (3, 20), (1, 100)])
def test_integers_on_a_log_scale_are_drawn_by_their_share_of_it(bounds):
    found, share = shares(Integer(*bounds, log=True))
    values = np.arange(bounds[0], bounds[1] + 1)
    np.testing.assert_array_equal(found, values)
    mass = np.log((values + 0.5) / (values - 0.5))
    np.testing.assert_allclose(share, mass / mass.sum(), atol=2e-4)


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("ordered", [False, True])
def test_choices_are_drawn_equally_often(k, ordered):
    found, share = shares(Categorical(list("abcdefg")[:k], ordered=ordered))
    assert len(found) == k
    np.testing.assert_allclose(share, 1 / k, atol=2e-4)


@pytest.mark.parametrize(
    "law",
    [
        scipy.stats.binom(10, 0.3),
        scipy.stats.poisson(3),
        scipy.stats.rv_discrete(values=([1, 5, 9], [0.5, 0.2, 0.3]))(),
    ],
)
def test_discrete_laws_are_drawn_by_their_probability(law):
    found, share = shares(law)
    np.testing.assert_allclose(share, law.pmf(found), atol=1.2e-3)  # clipped at 0.999


@pytest.mark.parametrize("law", [scipy.stats.norm(2, 3), scipy.stats.beta(0.5, 2)])
def test_continuous_laws_are_drawn_by_their_probability(law):
    space = Space({"a": law})
    values = [params["a"] for params in space.sample(1024, 0)]
    assert scipy.stats.kstest(values, law.cdf).statistic < 0.005


def test_sobol_points_are_balanced():
    space = Space({"x": Real(0, 1), "y": Real(-2, 2), "k": ["a", "b", "c", "d"]})
    params = space.sample(64, 0)
    for name, low, width in (("x", 0, 1), ("y", -2, 4)):
        cells = [math.floor((p[name] - low) / width * 64) for p in params]
        assert sorted(cells) == list(range(64))
    for letter in "abcd":
        assert sum(p["k"] == letter for p in params) == 16


@pytest.mark.parametrize(("n", "d"), [(0, 2), (1, 1), (5, 3), (8, 0), (33, 40)])
def test_sobol_shape(n, d):
    points = sobol(n, d, 0)
    assert points.shape == (n, d)
    assert ((points >= 0) & (points < 1)).all()


def test_the_ends_of_uniform_draws_are_the_ends_of_the_range():
    # A draw of exactly 1 does not occur, but must not break anything.
    space = Space({**MIXED, "law": scipy.stats.poisson(3)})
    [low, high] = space.decode_many(
        space.from_uniform(np.array([[0.0] * 7, [1.0] * 7]))
    )
    assert low == {
        **{"C": 1e-3, "degree": 1, "kernel": "rbf", "gamma": 1e-4},
        **{"shrinking": True, "constant": 7, "law": 0},
    }
    assert high == {
        **{"C": 1e3, "degree": 5, "kernel": "poly", "gamma": 1.0},
        **{"shrinking": False, "constant": 7, "law": 10},
    }
