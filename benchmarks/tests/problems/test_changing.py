"""Problems that change in time follow their definitions."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process.kernels import RBF

from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks.problems._changing import THETA, DriftingDraw


def draw(seed=0, epsilon=0.03):
    return DriftingDraw(epsilon, seed)


# -- the drifting process ---------------------------------------------------------


def test_recursion_is_the_definition():
    functions, line = draw(epsilon=0.2), np.linspace(0, 1, 5)
    renewals = DriftingDraw(1.0, 0)  # g_t itself
    f = renewals.on_grid(line, 1)
    np.testing.assert_array_equal(functions.on_grid(line, 1), f)
    for t in range(2, 8):
        f = math.sqrt(0.8) * f + math.sqrt(0.2) * renewals.on_grid(line, t)
        np.testing.assert_allclose(functions.on_grid(line, t), f, atol=1e-13)


def test_covariance_in_space_and_time():
    epsilon, n_seeds = 0.2, 3000
    points = [{"x1": 0.0, "x2": 0.1}, {"x1": 0.15, "x2": 0.3}, {"x1": 0.9, "x2": 1.0}]
    times = [1, 2, 5]
    samples = np.array(
        [
            [functions(p, t) for t in times for p in points]
            for functions in (draw(seed, epsilon) for seed in range(n_seeds))
        ]
    )
    lags = np.abs(np.subtract.outer(times, times))
    space = RBF(0.2)(np.array([list(p.values()) for p in points]))
    expected = np.kron((1 - epsilon) ** (lags / 2), space)
    covariance = samples.T @ samples / n_seeds
    # Four and a half standard errors of an estimated variance.
    tolerance = 4.5 * math.sqrt(2 / n_seeds)
    np.testing.assert_allclose(covariance, expected, atol=tolerance)


def test_rates_of_none_and_all():
    line = np.linspace(0, 1, 6)
    still = draw(epsilon=0.0)
    first = still.on_grid(line, 1)
    np.testing.assert_array_equal(still.on_grid(line, 30), first)
    renewed = draw(epsilon=1.0)
    assert (
        abs(np.corrcoef(renewed.on_grid(line, 1).ravel(), first.ravel())[0, 1]) > 0.99
    )
    assert not np.allclose(renewed.on_grid(line, 2), first, atol=0.1)


def test_values_do_not_depend_on_the_order_of_the_calls():
    params = {"x1": 0.3, "x2": 0.6}
    forward, wild = draw(), draw()
    values = [forward(params, t) for t in range(1, 30)]
    order = np.random.default_rng(0).permutation(29)
    found = {t: wild(params, t) for t in (order + 1).tolist()}
    assert [found[t] for t in range(1, 30)] == values
    assert pickle.loads(pickle.dumps(wild))(params, 12) == values[11]


def test_threads_may_share_the_functions():
    shared, params = draw(), {"x1": 0.3, "x2": 0.6}
    times = [int(t) for t in np.random.default_rng(1).integers(1, 25, 200)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda t: shared(params, t), times))
    alone = draw()
    expected = {t: alone(params, t) for t in range(1, 25)}
    assert found == [expected[t] for t in times]


def test_memory_does_not_grow_with_time():
    functions = draw()
    before = len(pickle.dumps(functions))
    functions({"x1": 0.0, "x2": 0.0}, 300)
    assert len(pickle.dumps(functions)) < before + 1000


def test_grid_agrees_with_points():
    functions, line = draw(seed=2), np.linspace(0, 1, 4)
    values = functions.on_grid(line, 3)
    for i, a in enumerate(line):
        for j, b in enumerate(line):
            found = functions({"x1": a, "x2": b}, 3)
            assert found == pytest.approx(values[i, j], abs=1e-13)


def test_functions_are_those_of_the_square_on_a_grid():
    square = problems.get("tv-within-model", seed=4)
    grid = problems.get("tv-within-model", seed=4, n_grid=15)
    assert grid.space.size == 225
    table = np.array(
        [[p["x1"], p["x2"], grid.func(p, 5)] for p in grid.space.sample(50, 0)]
    )
    for x1, x2, value in table:
        assert square.func({"x1": x1, "x2": x2}, 5) == value
    # Encoded points are the points: the candidate's length scale is theta.
    params = {"x1": 1 / 14, "x2": 0.5}
    np.testing.assert_allclose(grid.space.encode(params), [1 / 14, 0.5])
    assert grid.candidates[0].kernel == RBF(THETA)


@pytest.mark.parametrize("n_grid", [2, 15])
def test_grid_optimum_is_the_best_of_all_points(n_grid):
    problem = problems.get("tv-within-model", seed=1, n_grid=n_grid)
    points = problem.space.decode_many(problem.space.enumerate())
    for t in (1, 2, 40):
        best = max(problem.func(p, t) for p in points)
        assert problem.optimum_at(t) == pytest.approx(best, abs=1e-13)
        assert problem.func(problem.optimum_params_at(t), t) == problem.optimum_at(t)


@pytest.mark.parametrize("seed", range(20))
def test_square_optimum_is_above_a_dense_grid_and_near(seed):
    problem = problems.get("tv-within-model", seed=seed)
    for t in (1, 7):
        dense = problem.func.on_grid(np.linspace(0, 1, 301), t).max()
        assert dense - 1e-12 <= problem.optimum_at(t) <= dense + 1e-3
        params = problem.optimum_params_at(t)
        assert problem.func(params, t) == problem.optimum_at(t)
        assert problem.space.decode(problem.space.encode(params)) == pytest.approx(
            params
        )


def test_square_optimum_has_no_slope_inside():
    functions = draw(seed=5)
    value, params = functions.square_maximum(3)
    x = np.array([params["x1"], params["x2"]])

    def func(x):
        return functions({"x1": x[0], "x2": x[1]}, 3)

    slope = approx_fprime(x, func, 1e-7)
    inside = (x > 0) & (x < 1)
    assert inside.any()
    np.testing.assert_allclose(slope[inside], 0, atol=1e-4)
    assert func(x) == value


def test_settings_of_the_source():
    problem = problems.get("tv-within-model")
    assert problem.noise_std**2 == pytest.approx(0.02)
    assert problem.horizon == 400
    assert problem.func.epsilon == 0.03


# -- changes by rule --------------------------------------------------------------


def hill(x, centre):
    return math.exp(-((x - centre) ** 2) / (2 * 0.2**2))


@pytest.mark.parametrize(
    ("times", "high", "low"),
    [((1, 50, 99), 0.2, 0.8), ((100, 199), 0.8, 0.2), ((200, 500, 900), 0.5, 0.8)],
)
def test_abrupt_values(times, high, low):
    problem = problems.get("abrupt-change")
    for t in times:
        for x in (0.0, 0.2, 0.45, 0.9):
            expected = hill(x, high) - hill(x, low)
            assert problem.func({"x": x}, t) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("t", [1, 100, 200])
def test_abrupt_optimum(t):
    problem = problems.get("abrupt-change")
    dense = max(problem.func({"x": x}, t) for x in np.linspace(0, 1, 20_001))
    assert dense <= problem.optimum_at(t) <= dense + 1e-7
    assert problem.func(problem.optimum_params_at(t), t) == problem.optimum_at(t)


def test_abrupt_changes_hurt():
    problem = problems.get("abrupt-change")
    for before, after in [(99, 100), (199, 200)]:
        kept = problem.func(problem.optimum_params_at(before), after)
        assert problem.optimum_at(after) - kept > 1.0


def test_norms_of_changing_functions():
    abrupt = problems.get("abrupt-change")
    for function in abrupt.func.functions:
        assert function.norm <= abrupt.candidates[0].norm_bound == math.sqrt(2)
    assert problems.get("slow-change").candidates[0].norm_bound == 1.0


def test_slow_values():
    problem = problems.get("slow-change")
    for t, centre in [(1, 0.3), (500, 0.7), (250, 0.3 + 0.4 * 249 / 499), (600, 0.7)]:
        assert problem.optimum_params_at(t) == {"x": pytest.approx(centre, abs=1e-15)}
        assert problem.optimum_at(t) == 1.0
        for x in (0.0, 0.33, 1.0):
            expected = hill(x, centre)
            assert problem.func({"x": x}, t) == pytest.approx(expected, rel=1e-12)


def test_slow_change_is_slow():
    problem = problems.get("slow-change")
    x = np.linspace(0, 1, 101)
    for t in (1, 250, 499):
        steps = [problem.func({"x": a}, t + 1) - problem.func({"x": a}, t) for a in x]
        assert 0 < np.abs(steps).max() < 0.003
    # The path: |k(., c) - k(., c')| = sqrt(2 - 2 k(c, c')), 499 times.
    gap = 0.4 / 499
    assert 499 * math.sqrt(2 - 2 * hill(gap, 0.0)) == pytest.approx(2.0, abs=1e-3)
