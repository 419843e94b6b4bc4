"""Climbs of known functions: their end points and their cost."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skrobustbo.acquisition._ascent import ascend


class Counted:
    """A function with its gradient that records the points it is called with."""

    def __init__(self, value, gradient):
        self.value, self.gradient, self.asked = value, gradient, []

    def __call__(self, Z):
        self.asked.append(Z.copy())
        return self.value(Z), self.gradient(Z)


def paraboloid(top, curvatures, scale=1.0):
    """Return -scale/2 (z - top)^T diag(curvatures) (z - top)."""
    return Counted(
        lambda Z: -0.5 * scale * ((Z - top) ** 2) @ curvatures,
        lambda Z: -scale * (Z - top) * curvatures,
    )


def waves(seed, d):
    """Return a smooth function with many maxima."""
    rng = np.random.default_rng(seed)
    W, phase = rng.normal(0, 6, (8, d)), rng.uniform(0, 7, 8)
    return Counted(
        lambda Z: np.cos(Z @ W.T + phase).sum(axis=1),
        lambda Z: -np.sin(Z @ W.T + phase) @ W,
    )


def starts(seed, k, d):
    return np.random.default_rng(seed).random((k, d))


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_finds_the_top_of_a_paraboloid(d):
    top = np.linspace(0.2, 0.7, d)
    ends = ascend(paraboloid(top, np.ones(d)), starts(0, 4, d), np.ones(d), 1e-14)
    np.testing.assert_allclose(ends, np.tile(top, (4, 1)), atol=1e-6)


def test_ends_on_the_border_where_the_top_lies_outside():
    top = np.array([1.4, 0.5, -0.3])
    curvatures = np.array([1.0, 3.0, 2.0])
    ends = ascend(paraboloid(top, curvatures), starts(1, 4, 3), np.ones(3), 1e-14)
    np.testing.assert_allclose(ends, np.tile([1.0, 0.5, 0.0], (4, 1)), atol=1e-6)


def test_leaves_the_border_where_the_slope_points_inwards():
    top = np.array([0.3, 0.6])
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    ends = ascend(paraboloid(top, np.array([1.0, 9.0])), corners, np.ones(2), 1e-14)
    np.testing.assert_allclose(ends, np.tile(top, (3, 1)), atol=1e-6)


def test_every_start_goes_to_a_maximum_of_its_own():
    f = Counted(lambda Z: np.sin(20 * Z[:, 0]), lambda Z: 20 * np.cos(20 * Z[:, [0]]))
    ends = ascend(f, np.array([[0.05], [0.38], [0.7]]), np.array([0.1]), 1e-14)
    tops = (np.array([1, 5, 9]) * np.pi / 2) / 20
    np.testing.assert_allclose(ends[:, 0], tops, atol=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 5))
@settings(deadline=None, derandomize=True)
def test_never_ends_lower_than_it_started_nor_outside(seed, d, k):
    f, X = waves(seed, d), starts(seed, k, d)
    ends = ascend(f, X, np.full(d, 0.2), 1e-9)
    assert (f.value(ends) >= f.value(X)).all()
    assert all(Z.min() >= 0 and Z.max() <= 1 for Z in [ends, *f.asked])


def test_one_climb_is_the_same_alone_and_among_lower_ones():
    f, X = waves(3, 4), starts(3, 4, 4)
    alone = [ascend(f, x[None], np.full(4, 0.2), 1e-9)[0] for x in X]
    best = int(np.argmax(f.value(np.array(alone))))
    among = ascend(f, X, np.full(4, 0.2), 1e-9)
    np.testing.assert_allclose(among[best], alone[best], atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_gives_up_what_cannot_become_the_best(seed):
    """Calls for low starts stop early; the best end point does not change."""
    f, X = waves(seed, 5), starts(seed, 6, 5)
    alone = [ascend(waves(seed, 5), x[None], np.full(5, 0.2), 1e-12) for x in X]
    best = max(f.value(x)[0] for x in alone)
    assert f.value(ascend(f, X, np.full(5, 0.2), 1e-12)).max() > best - 1e-9


def test_columns_without_reach_stay():
    X = starts(0, 4, 3)
    length_scales = np.array([1.0, 0.0, 1.0])
    ends = ascend(paraboloid(np.full(3, 0.5), np.ones(3)), X, length_scales, 1e-14)
    np.testing.assert_array_equal(ends[:, 1], X[:, 1])
    np.testing.assert_allclose(ends[:, [0, 2]], 0.5, atol=1e-6)


def test_a_known_reach_saves_calls_in_a_narrow_valley():
    curvatures = np.array([1.0, 1e2, 1e4, 1e6])
    top, X = np.full(4, 0.45), starts(5, 4, 4)
    told, untold = (paraboloid(top, curvatures) for _ in range(2))
    close = ascend(told, X, curvatures**-0.5, 1e-14)
    far = ascend(untold, X, np.ones(4), 1e-14)
    best = close[np.argmax(told.value(close))]
    np.testing.assert_allclose(best, top, atol=1e-6)
    assert len(told.asked) < 10 < len(untold.asked)
    assert untold.value(far).max() < told.value(close).max()


@pytest.mark.parametrize("scale", [1e-100, 1e-9, 1e9, 1e100])
def test_the_unit_of_the_function_does_not_matter(scale):
    top, curvatures = np.array([0.3, 0.6]), np.array([1.0, 40.0])
    X, length_scales = starts(2, 3, 2), np.ones(2)
    f, g = paraboloid(top, curvatures), paraboloid(top, curvatures, scale)
    plain = ascend(f, X, length_scales, 1e-12)
    np.testing.assert_allclose(
        ascend(g, X, length_scales, 1e-12 * scale), plain, atol=1e-6
    )


def test_values_that_are_not_finite_end_a_climb_and_nothing_else():
    def value(Z):
        v = -((Z - 0.5) ** 2).sum(axis=1)
        return np.where(Z[:, 0] > 0.8, np.nan, np.where(Z[:, 0] < 0.2, -np.inf, v))

    f = Counted(
        value, lambda Z: np.where(np.isfinite(value(Z))[:, None], 1 - 2 * Z, np.nan)
    )
    X = np.array([[0.9, 0.1], [0.1, 0.1], [0.3, 0.9]])
    ends = ascend(f, X, np.ones(2), 1e-14)
    np.testing.assert_array_equal(ends[:2], X[:2])
    np.testing.assert_allclose(ends[2], 0.5, atol=1e-6)


def test_steps_back_from_where_there_is_no_value():
    def value(Z):
        return np.where(Z[:, 0] > 0.6, np.nan, Z[:, 0])

    f = Counted(value, lambda Z: np.ones_like(Z))
    end = ascend(f, np.array([[0.5]]), np.ones(1), 1e-14)[0, 0]
    assert 0.55 < end <= 0.6


def test_a_flat_function_costs_two_calls():
    f = Counted(lambda Z: np.zeros(len(Z)), np.zeros_like)
    X = starts(0, 4, 3)
    np.testing.assert_array_equal(ascend(f, X, np.ones(3), 1e-9), X)
    assert len(f.asked) == 2


def test_calls_are_bounded():
    """Rosenbrock's valley, curved and narrow, from far away."""

    def gradient(Z):
        x, y = 4 * Z.T - 2
        return -4 * np.stack([-2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)], 1)

    def value(Z):
        x, y = 4 * Z.T - 2
        return -((1 - x) ** 2) - 100 * (y - x**2) ** 2

    f = Counted(value, gradient)
    ascend(f, starts(0, 4, 2), np.ones(2), 0.0)
    assert len(f.asked) <= 20


@pytest.mark.parametrize("seed", range(3))
def test_columns_of_no_reach_are_left_out_where_there_are_many(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    top, held = rng.random(3), rng.random((4, 400))

    def hill(X):
        difference = X[:, [5, 100, 399]] - top
        gradient = np.ones_like(X)  # must not be climbed
        gradient[:, [5, 100, 399]] = -2 * difference
        return -(difference**2).sum(axis=1), gradient

    length_scales = np.zeros(400)
    length_scales[[5, 100, 399]] = 0.5
    ends = ascend(hill, held, length_scales, 1e-12)
    np.testing.assert_allclose(ends[:, [5, 100, 399]], np.tile(top, (4, 1)), atol=1e-4)
    others = length_scales == 0
    np.testing.assert_array_equal(ends[:, others], held[:, others])
    monkeypatch.setattr("skrobustbo.acquisition._ascent._WIDE", 400)
    np.testing.assert_allclose(
        ascend(hill, held, length_scales, 1e-12), ends, atol=1e-7
    )


def test_matrices_of_climbs_do_not_grow_with_columns_of_no_reach():
    X, length_scales = np.full((4, 5000), 0.5), np.zeros(5000)
    length_scales[:2] = 1.0
    tracemalloc.start()
    ascend(lambda X: (-(X**2).sum(axis=1), -2 * X), X, length_scales, 1e-9)
    assert tracemalloc.get_traced_memory()[1] < 20 * X.nbytes
    tracemalloc.stop()
