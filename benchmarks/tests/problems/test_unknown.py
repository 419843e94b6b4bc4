"""Problems of unknown period, decomposition and mean, and of known norm."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

from skrobustbo_benchmarks import problems


def evidence(candidate, X, y, noise=1e-4):
    """Log marginal likelihood of a candidate."""
    residual = y if candidate.mean is None else y - candidate.mean(X)
    model = GaussianProcessRegressor(candidate.kernel, alpha=noise, optimizer=None)
    return model.fit(X, residual).log_marginal_likelihood_value_


def data(problem, n, seed, keep=lambda params: True):
    params = [p for p in problem.space.sample(n, seed) if keep(p)]
    X = np.array([problem.space.encode(p) for p in params])
    return X, np.array([problem.func(p) for p in params])


def likeliest(problem, X, y):
    return int(np.argmax([evidence(c, X, y) for c in problem.candidates]))


def line_values(problem, x):
    return np.array([problem.func({"x": float(a)}) for a in x])


# -- the period -------------------------------------------------------------------


@pytest.fixture(scope="module")
def period():
    return problems.get("unknown-period")


def test_period_values(period):
    for x, expected in [
        (0.0, 0.0),
        (0.1, math.sin(8 * math.pi * (0.1 - 0.125))),
        (0.3, 1.5 * math.sin(8 * math.pi * (0.3 - 0.375))),
        (0.6, 1.2 * math.sin(28 / 3 * math.pi * (0.6 - 11 / 28))),
        (0.9, 0.8 * math.sin(7 * math.pi * (0.9 - 5 / 7))),
        (1.3, 1.5 * math.sin(8 * math.pi * (0.3 - 0.375))),
        (2.0, 0.0),
    ]:
        assert period.func({"x": x}) == pytest.approx(expected, abs=1e-13)


def test_period_is_one(period):
    x = np.random.default_rng(0).uniform(0, 1, 500)
    np.testing.assert_allclose(
        line_values(period, x), line_values(period, x + 1), atol=1e-12
    )


def test_period_is_continuous(period):
    # The steepest slope is that of the second wave, 1.5 * 8 pi.
    steps = np.abs(np.diff(line_values(period, np.linspace(0, 2, 20_001))))
    assert steps.max() <= 12 * math.pi * 1e-4 * (1 + 1e-6)
    for join in (0.25, 0.5, 5 / 7, 1.0):
        assert line_values(period, [join, join - 1e-12]) == pytest.approx(0, abs=1e-9)


def test_period_has_four_full_waves(period):
    x = np.linspace(0, 1, 4001)
    for low, high, amplitude in [
        (0, 0.25, 1.0),
        (0.25, 0.5, 1.5),
        (0.5, 5 / 7, 1.2),
        (5 / 7, 1, 0.8),
    ]:
        inside = line_values(period, x[(low < x) & (x < high)])
        assert inside.max() == pytest.approx(amplitude, abs=1e-4)
        assert inside.min() == pytest.approx(-amplitude, abs=1e-4)
        assert np.sum(np.diff(np.sign(inside[inside != 0])) != 0) == 1


def test_period_has_two_maxima(period):
    assert period.optimum == 1.5
    assert line_values(period, [7 / 16, 23 / 16]) == pytest.approx(1.5, abs=1e-13)


def test_period_candidates_are_those_that_likelihood_prefers(period):
    rng = np.random.default_rng(0)
    # The whole domain, encoded as [0, 1], then one wave at a time.
    for index, (low, high) in enumerate(
        [(0, 2), (0, 0.25), (0.25, 0.5), (0.5, 5 / 7), (5 / 7, 1)]
    ):
        x = rng.uniform(low, high, 200 if index == 0 else 100)
        X, y = x[:, None] / 2, line_values(period, x)
        assert likeliest(period, X, y) == index
        kernel = period.candidates[index].kernel
        at_its_values = evidence(period.candidates[index], X, y)
        for name in ("periodicity", "length_scale"):
            for factor in (0.8, 1.25):
                moved = kernel.clone_with_theta(kernel.theta)
                moved.set_params(**{name: factor * getattr(kernel, name)})
                model = GaussianProcessRegressor(moved, alpha=1e-4, optimizer=None)
                likelihood = model.fit(X, y).log_marginal_likelihood_value_
                assert likelihood < at_its_values


# -- the decomposition ------------------------------------------------------------


@pytest.fixture(scope="module")
def decomposition():
    return problems.get("unknown-decomposition")


def test_decomposition_values(decomposition):
    def bump(x):
        return math.exp(-0.5 * ((x - 0.25) / 0.2) ** 2)

    covariance = 0.15**2 * np.array([[1.0, 0.4], [0.4, 1.0]])
    for x1, x2 in [(0.3, 0.1), (0.9, 0.7), (0.8, 0.8), (0.6, 1.0)]:
        gap = np.array([x1 - 0.8, x2 - 0.8])
        hill = math.exp(-0.5 * gap @ np.linalg.solve(covariance, gap))
        expected = 0.5 * bump(x1) + 0.5 * bump(x2) + 1.5 * hill
        for x3 in (0.0, 0.4):
            found = decomposition.func({"x1": x1, "x2": x2, "x3": x3})
            assert found == pytest.approx(expected, rel=1e-12)


def test_decomposition_optimum_is_where_ascents_end(decomposition):
    def downhill(x):
        return -decomposition.func({"x1": x[0], "x2": x[1], "x3": 0.0})

    found = minimize(downhill, [0.7, 0.9], method="Nelder-Mead", tol=1e-12)
    assert -found.fun == pytest.approx(decomposition.optimum, abs=1e-13)
    assert found.x == pytest.approx([decomposition.optimum_params["x1"]] * 2, abs=1e-6)
    # Where the ridges cross an ascent is trapped.
    found = minimize(downhill, [0.2, 0.2], method="Nelder-Mead", tol=1e-12)
    assert -found.fun == pytest.approx(1.0001, abs=1e-4)
    assert -found.fun < decomposition.stuck_below


def test_decomposition_is_additive_in_the_picture_but_for_the_corner(decomposition):
    def func(x1, x2):
        return decomposition.func({"x1": x1, "x2": x2, "x3": 0.5})

    def interaction(a, b):
        """Vanishes for a sum of functions of one parameter each."""
        return func(a, a) + func(b, b) - func(a, b) - func(b, a)

    assert abs(interaction(0.1, 0.4)) < 0.02
    assert interaction(0.5, 0.8) > 0.5


@pytest.mark.parametrize("seed", range(3))
def test_decomposition_misleads_away_from_the_corner(decomposition, seed):
    away = data(decomposition, 64, seed, lambda p: max(p["x1"], p["x2"]) < 0.45)
    assert decomposition.candidates[likeliest(decomposition, *away)].label == (
        "(1)(2)(3)"
    )
    everywhere = data(decomposition, 128, seed)
    assert likeliest(decomposition, *everywhere) == decomposition.true_candidate == 1


# -- the prior mean ---------------------------------------------------------------


@pytest.fixture(scope="module")
def mean():
    return problems.get("unknown-mean")


def test_mean_functions(mean):
    assert [c.label for c in mean.candidates] == [
        *(f"hill={i}" for i in range(1, 11)),
        "hill=-1",
    ]
    middles = np.arange(0.05, 1.0, 0.1)[:, None]
    flat = np.array([0.0, 0.1, 0.2, 0.5, 0.9, 1.0, 0.0905, 0.11])[:, None]
    for number, candidate in enumerate(mean.candidates, start=1):
        heights = np.ones(10)
        if number <= 10:
            heights[number - 1] = 3.0
        np.testing.assert_allclose(candidate.mean(middles), heights, rtol=1e-12)
        np.testing.assert_allclose(candidate.mean(flat), 0, atol=1e-12)
        # Half way down a hill, 0.02 from its middle.
        halves = candidate.mean(middles + 0.02)
        np.testing.assert_allclose(halves, heights / 2, rtol=1e-9)


def test_mean_function_is_draw_plus_hills(mean):
    # One seed with two numbers differs by the hills alone.
    x = np.linspace(0, 1, 101)
    second = problems.get("unknown-mean", seed=8, hill=2)
    none = problems.get("unknown-mean", seed=8, hill=-1)
    expected = second.candidates[1].mean(x[:, None]) - none.candidates[10].mean(
        x[:, None]
    )
    gap = line_values(second, x) - line_values(none, x)
    np.testing.assert_allclose(gap, expected, atol=1e-12)
    assert second.true_candidate == 1
    assert none.true_candidate == 10


def test_mean_residuals_have_the_law_of_the_process(mean):
    x = np.array([0.05, 0.2, 0.31, 0.97])
    residuals = []
    for seed in range(300):
        problem = mean.sample_function(seed)
        true = problem.candidates[problem.true_candidate]
        residuals.append(line_values(problem, x) - true.mean(x[:, None]))
    covariance = np.cov(np.transpose(residuals))
    expected = RBF(0.2)(x[:, None])
    np.testing.assert_allclose(covariance, expected, atol=4 * math.sqrt(2 / 300))


def test_mean_numbers_are_all_drawn(mean):
    drawn = [mean.sample_function(seed).true_candidate for seed in range(110)]
    assert set(drawn) == set(range(11))


def test_mean_is_recognised_by_its_data_only_on_the_high_hill(mean):
    problem = problems.get("unknown-mean", seed=1, hill=4)
    x = np.linspace(0, 1, 25)
    off = x[np.abs(x - 0.35) > 0.04]
    for points, expected in [(off, 0.0), (np.append(off, 0.35), 1.0)]:
        X, y = points[:, None], line_values(problem, points)
        gap = evidence(problem.candidates[3], X, y) - evidence(
            problem.candidates[10], X, y
        )
        assert gap == pytest.approx(0, abs=1e-9) if expected == 0.0 else gap > 10


# -- known norm -------------------------------------------------------------------


def rkhs_norm(problem):
    """The norm from the definition, alpha' K alpha, with scikit-learn's kernel."""
    function = problem.func.formula
    return math.sqrt(
        function.weights @ RBF(0.1)(function.centres[:, None]) @ function.weights
    )


def test_example_function_has_norm_two():
    problem = problems.get("rkhs")
    assert rkhs_norm(problem) == pytest.approx(2.0, abs=1e-9)
    assert problem.candidates[0].norm_bound == 2.0
    assert problem.candidates[0].kernel == RBF(0.1)


@pytest.mark.parametrize("seed", range(5))
def test_sampled_functions_have_norm_four(seed):
    problem = problems.get("rkhs").sample_function(seed)
    assert rkhs_norm(problem) == pytest.approx(4.0, abs=1e-9)
    assert problem.candidates[0].norm_bound == 4.0
    assert problem.stuck_below is None


def test_values_of_the_example_function():
    problem, berkenkamp = problems.get("rkhs"), problems.get("berkenkamp")
    factor = problem.func({"x": 0.0}) / berkenkamp.func({"x": 0.0})
    for x in np.arange(21) / 20:
        expected = factor * berkenkamp.func({"x": x})
        assert problem.func({"x": x}) == pytest.approx(expected, rel=1e-9)


def test_example_function_is_a_line_with_a_bump():
    problem = problems.get("rkhs")
    x = np.linspace(0.5, 1, 101)
    y = line_values(problem, x)
    residual = y - np.polyval(np.polyfit(x, y, 1), x)
    assert np.abs(residual).max() < 0.01
    assert y.argmax() == 100
    assert y[-1] < problem.stuck_below < problem.optimum
    assert problem.optimum_params["x"] == pytest.approx(0.206, abs=1e-3)


def test_norm_bounds_the_function():
    # |f(x)| <= |f| sqrt(k(x, x)), and the posterior of exact values stays as close.
    problem = problems.get("rkhs").sample_function(0)
    x = np.linspace(0, 1, 201)
    y = line_values(problem, x)
    assert np.abs(y).max() <= 4.0
    seen = slice(0, 201, 20)
    model = GaussianProcessRegressor(RBF(0.1), alpha=1e-10, optimizer=None)
    mu, sigma = model.fit(x[seen, None], y[seen]).predict(x[:, None], return_std=True)
    assert (np.abs(y - mu) <= 4.0 * sigma + 1e-4).all()
