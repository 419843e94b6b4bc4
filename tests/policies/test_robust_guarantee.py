"""The default's guarantee: whatever the models predict, the points cover the space."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import inside
from skrobustbo import Categorical, Integer, Optimizer, Real
from skrobustbo.acquisition import Maximizer
from skrobustbo.acquisition._maximizer import Uncovered, distances
from skrobustbo.policies import RobustUCB
from skrobustbo.policies._robust import FILL
from skrobustbo.space import Space

#: Smallest share of the largest distance that the maximiser finds.
FOUND = 0.8
#: Number of points for measuring the radius.
MANY = 4096


def cube(d):
    return {f"x{i}": Real(0, 1) for i in range(d)}


def steep(params):
    """A slope that misleads every model: the best point is in one corner."""
    return sum(value for value in params.values() if isinstance(value, float))


def waves(params):
    """An objective that no model could learn."""
    numbers = [value for value in params.values() if isinstance(value, float)]
    return math.sin(1e3 * sum((i + 1) * value for i, value in enumerate(numbers)))


def searched(space, objective, horizon, n):
    """Return an optimizer that was told n values."""
    optimizer = Optimizer(space, "robust", horizon=horizon, random_state=0)
    for _ in range(n):
        params = optimizer.ask()
        optimizer.tell(params, objective(params))
    return optimizer


def radius(optimizer):
    """Return the largest distance of any point from the nearest told one."""
    space = optimizer.space
    X = np.array([space.encode(params) for params in space.sample(MANY, 1)])
    return distances(X, inside.models(optimizer).X).min(axis=1).max()


@pytest.mark.parametrize("objective", [steep, waves])
@pytest.mark.parametrize(("d", "horizon"), [(1, 50), (2, 50), (3, 100), (5, 200)])
def test_the_points_of_a_cube_cover_it(d, horizon, objective):
    n = math.ceil(horizon - math.sqrt(horizon) - 2 * d)  # then, filling comes last
    optimizer = searched(cube(d), objective, horizon, n)
    m = inside.state(optimizer).counts[FILL]
    n_chosen = sum(inside.state(optimizer).counts)
    weights = RobustUCB().weights
    share = weights[FILL] / (sum(weights) - weights[1])
    assert share == pytest.approx(2 / 23)
    assert share > 1 / 12
    assert m >= share * (n_chosen + 1) - 1
    assert radius(optimizer) <= 1.5 / FOUND * m ** (-1 / d)


def test_the_points_of_a_mixed_space_cover_it():
    space = {**cube(2), "kind": Categorical(["a", "b", "c"])}
    optimizer = searched(space, steep, 120, 103)
    m = inside.state(optimizer).counts[FILL]
    assert radius(optimizer) <= 1.5 / FOUND * math.sqrt(3 / m)


def test_the_points_of_a_finite_space_are_all_asked_in_the_end():
    space = {"i": Integer(0, 4), "kind": Categorical(["a", "b"])}
    optimizer = searched(space, lambda params: -params["i"], 60, 10)
    assert radius(optimizer) == 0.0


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_maximiser_finds_nearly_the_farthest_point(d):
    space, rng = Space(cube(d)), np.random.default_rng(0)
    X = np.array([space.encode(params) for params in space.sample(2**14, 0)])
    for n in (3, 10, 40):
        seen = rng.random((n, d))
        uncovered = Uncovered(seen, space.climbed)
        for seed in range(5):
            argmax = Maximizer(space, rng=np.random.default_rng(seed), seen=seen)
            x = argmax.farthest()
            assert uncovered(x[None, :])[0] >= FOUND * uncovered(X).max()


def test_distances_of_many_choices_do_not_depend_on_their_codes():
    X = np.array([[0.1, 1.0], [0.1, 7.0], [0.4, 7.0]])
    expected = [[0.0, 1.0, 1.0], [1.0, 0.0, 0.3], [1.0, 0.3, 0.0]]
    np.testing.assert_allclose(distances(X, X), expected)


def test_uncovered():
    rng = np.random.default_rng(0)
    seen, Z = rng.random((6, 3)), rng.random((50, 3))
    uncovered = Uncovered(seen, np.array([0, 2]))
    nearest = cdist(Z, seen, "chebyshev").min(axis=1)
    border = np.minimum(Z, 1 - Z)[:, [0, 2]].min(axis=1)
    np.testing.assert_allclose(uncovered(Z), np.minimum(nearest, 2 * border))


def test_without_points_only_the_border_counts():
    uncovered = Uncovered(np.empty((0, 2)), np.arange(2))
    values = uncovered(np.array([[0.5, 0.5], [0.1, 0.5]]))
    np.testing.assert_allclose(values, [1.0, 0.2])
