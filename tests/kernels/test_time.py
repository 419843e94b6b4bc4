"""Kernels in time: the formulas of the time-varying policies."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern

from skrobustbo.kernels import (
    ForgettingKernel,
    SubsetKernel,
    WienerKernel,
    diag_gradient,
    kernel_and_gradient,
)

TIMES = np.array([[0.0], [1.0], [4.0], [9.0]])
SPACE = RBF([0.2, 0.3])


def space_time(seed, n):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.random((n, 2)), np.arange(1, n + 1)])


@given(epsilon=st.floats(0, 0.999), i=st.integers(0, 400), j=st.integers(0, 400))
@settings(max_examples=100, deadline=None)
def test_forgetting_formula(epsilon, i, j):
    k = ForgettingKernel(epsilon)([[i]], [[j]])
    expected = (1 - epsilon) ** (abs(i - j) / 2)
    np.testing.assert_allclose(k, expected, rtol=1e-10, atol=1e-300)


def test_forgetting_is_the_exponential_kernel_in_time():
    epsilon = 0.03
    exponential = Matern(-2 / np.log(1 - epsilon), nu=0.5)
    kernel = ForgettingKernel(epsilon)
    np.testing.assert_allclose(kernel(TIMES), exponential(TIMES))


def test_forgetting_is_the_markov_chain_of_the_paper():
    """f_t = sqrt(1 - eps) f_{t-1} + sqrt(eps) g_t, by its covariances."""
    epsilon, steps = 0.05, 6
    # Each f as its weights of g_1, ..., g_6, with f_1 = g_1.
    weights = np.zeros((steps, steps))
    weights[0, 0] = 1.0
    for t in range(1, steps):
        weights[t] = np.sqrt(1 - epsilon) * weights[t - 1]
        weights[t, t] = np.sqrt(epsilon)
    times = np.arange(1, steps + 1)[:, None]
    np.testing.assert_allclose(
        ForgettingKernel(epsilon)(times), weights @ weights.T, rtol=1e-12
    )


@given(
    variance=st.floats(0, 10),
    i=st.floats(0, 400, allow_subnormal=False),
    j=st.floats(0, 400, allow_subnormal=False),
)
@settings(max_examples=100, deadline=None)
def test_wiener_formula(variance, i, j):
    k = WienerKernel(variance)([[i]], [[j]])
    np.testing.assert_allclose(k, 1 + variance * min(i, j), rtol=1e-12)


def test_wiener_is_a_random_walk_that_starts_at_variance_one():
    variance, steps = 0.3, 6
    # Each f as its weights of the start and of the steps, all independent.
    weights = np.tril(np.full((steps, steps), np.sqrt(variance)))
    weights[:, 0] = 1.0
    times = np.arange(steps)[:, None]
    np.testing.assert_allclose(WienerKernel(variance)(times), weights @ weights.T)


@pytest.mark.parametrize("still", [ForgettingKernel(0.0), WienerKernel(0.0)])
def test_without_change_the_factor_is_exactly_one(still):
    X, Y = space_time(0, 30), space_time(1, 20)
    space = SubsetKernel(SPACE, [0, 1])
    np.testing.assert_array_equal(still(X), 1.0)
    np.testing.assert_array_equal((space * still)(X), space(X))
    np.testing.assert_array_equal((space * still)(X, Y), SPACE(X[:, :2], Y[:, :2]))
    np.testing.assert_array_equal((space * still).diag(X), 1.0)
    k, gradient = kernel_and_gradient(space * still, X, Y)
    k_space, gradient_space = kernel_and_gradient(space, X, Y)
    np.testing.assert_array_equal(k, k_space)
    np.testing.assert_array_equal(gradient, gradient_space)
    np.testing.assert_array_equal(diag_gradient(space * still, X), 0.0)


@pytest.mark.parametrize("still", [ForgettingKernel(0.0), WienerKernel(0.0)])
def test_zero_is_fixed_for_want_of_a_logarithm(still):
    assert still.n_dims == 0
    assert [h.fixed for h in still.hyperparameters] == [True]
    assert still(TIMES, eval_gradient=True)[1].shape == (4, 4, 0)
    X = space_time(0, 10)
    model = GaussianProcessRegressor(still * SubsetKernel(RBF(0.3), [0]), alpha=0.1)
    assert model.fit(X, np.sin(4 * X[:, 0])).kernel_.k1 == still


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (ForgettingKernel(0.2, (0.01, 0.5)), "epsilon"),
        (WienerKernel(0.2, (0.01, 0.5)), "variance"),
    ],
)
def test_hyperparameter(kernel, name):
    np.testing.assert_allclose(kernel.theta, [np.log(0.2)])
    np.testing.assert_allclose(kernel.bounds, np.log([[0.01, 0.5]]))
    assert [h.name for h in kernel.hyperparameters] == [name]
    kernel.set_params(**{f"{name}_bounds": "fixed"})
    assert kernel.n_dims == 0


def test_likelihood_finds_the_rate_of_change():
    rng = np.random.default_rng(0)
    times = np.arange(400)[:, None]
    for kernel, held in [
        (ForgettingKernel(0.2), "epsilon"),
        (WienerKernel(0.2), "variance"),
    ]:
        K = kernel(times) + 1e-10 * np.eye(400)
        y = np.linalg.cholesky(K) @ rng.standard_normal(400)
        start = kernel.clone_with_theta(np.log([0.02]))
        fitted = GaussianProcessRegressor(start, alpha=1e-6).fit(times, y).kernel_
        assert fitted.get_params()[held] == pytest.approx(0.2, rel=0.25)


@pytest.mark.parametrize("cls", [ForgettingKernel, WienerKernel])
def test_time_may_be_any_column(cls):
    X = space_time(0, 5)
    last, first = cls(0.3), cls(0.3, column=0)
    np.testing.assert_array_equal(last(X), first(X[:, ::-1]))
    np.testing.assert_array_equal(last(X), cls(0.3, column=2)(X))
    np.testing.assert_array_equal(last(X), last(X[:, 2:].astype(int)))
    _, gradient = kernel_and_gradient(first, X[:, ::-1], X[:, ::-1])
    assert (gradient[:, :, 1:] == 0).all()
    assert (gradient[:, :, 0] != 0).any()


def test_gradients_in_time():
    s, t = np.array([[2.0], [3.0], [7.0]]), np.array([[3.0]])
    _, slopes = kernel_and_gradient(ForgettingKernel(0.19), s, t)
    rate = np.log(0.9)
    by_hand = [-rate * 0.9, 0.0, rate * 0.9**4]
    np.testing.assert_allclose(slopes[:, 0, 0], by_hand)
    _, slopes = kernel_and_gradient(WienerKernel(0.4), s, t)
    np.testing.assert_allclose(slopes[:, 0, 0], [0.4, 0.2, 0.0])
    np.testing.assert_allclose(diag_gradient(WienerKernel(0.4), s), 0.4)
    np.testing.assert_array_equal(diag_gradient(ForgettingKernel(0.4), s), 0.0)


@pytest.mark.parametrize("epsilon", [-0.1, 1.0, 1.5, np.nan, np.inf])
def test_epsilon_out_of_range(epsilon):
    with pytest.raises(ValueError, match=f"epsilon of ForgettingKernel.*{epsilon!r}"):
        ForgettingKernel(epsilon)(TIMES)


@pytest.mark.parametrize("variance", [-0.1, np.nan, np.inf])
def test_variance_out_of_range(variance):
    for call in (WienerKernel(variance), WienerKernel(variance).diag):
        with pytest.raises(ValueError, match=f"variance of Wiener.*{variance!r}"):
            call(TIMES)


def test_negative_times_have_no_wiener_process():
    with pytest.raises(ValueError, match=r"times of WienerKernel .* got -4\.0"):
        WienerKernel(0.1)(-TIMES[:3])
    with pytest.raises(ValueError, match="times of WienerKernel"):
        WienerKernel(0.1)(TIMES, -TIMES)


@pytest.mark.parametrize("cls", [ForgettingKernel, WienerKernel])
@pytest.mark.parametrize("column", [3, -4, 0.5, None, [0]])
def test_column_out_of_range(cls, column):
    for call in (cls(0.1, column=column), cls(0.1, column=column).diag):
        with pytest.raises(ValueError, match=f"the column of {cls.__name__} .* of 3"):
            call(space_time(0, 4))
