"""The posterior against scikit-learn's, its gradient against differences."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skrobustbo.surrogate import Candidate, FactorCache, Models, View

pytestmark = pytest.mark.usefixtures("one_blas")

#: The same examples in every run, however busy the machine is.
REPEATABLE = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
LENGTHS = np.array([0.4, 0.9])
SMOOTH = {
    "matern-3/2": Matern(0.5, nu=1.5),
    "matern-5/2": Matern(LENGTHS, nu=2.5),
    "rbf": RBF(LENGTHS),
    "sum": 0.5 * RBF(LENGTHS) + 0.5 * Matern(0.7, nu=1.5),
    "product": RBF(LENGTHS) * Matern(0.9, nu=2.5),
    "power": Matern(0.8, nu=2.5) ** 2,
    "scaling": ConstantKernel(0.5) * Matern(LENGTHS, nu=2.5) + WhiteKernel(1e-3),
    "matern-3.5": Matern(0.6, nu=3.5),
    "rational quadratic": RationalQuadratic(0.5, 1.0),
    "periodic": ExpSineSquared(0.9, 1.4) * RBF(0.8),
    "linear": DotProduct(0.5) + 0.3 * RBF(0.5),
}
KERNELS = SMOOTH | {"matern-1/2": Matern(LENGTHS, nu=0.5)}
SEEDS = st.integers(0, 2**32 - 1)


def data(rng, n):
    X = rng.random((n, 2))
    return X, np.sin(5 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)


def posterior(kernel, X, z, noise=0.05, mean=None, **others):
    return Models(FactorCache(noise), View(X, z, **others))[Candidate(kernel, mean)]


def scikit_learn(kernel, X, z, noise=0.05):
    return GaussianProcessRegressor(kernel, alpha=noise**2, optimizer=None).fit(X, z)


@given(
    name=st.sampled_from(list(KERNELS)),
    seed=SEEDS,
    n=st.integers(1, 70),
    m=st.integers(1, 40),
    noise=st.sampled_from([1e-3, 0.01, 0.2]),
)
@settings(REPEATABLE, max_examples=60)
def test_mean_and_deviation_equal_scikit_learn_s(name, seed, n, m, noise):
    rng, kernel = np.random.default_rng(seed), KERNELS[name]
    X, z = data(rng, n)
    Z = rng.random((m, 2))
    expected = scikit_learn(kernel, X, z, noise).predict(Z, return_std=True)
    model = posterior(kernel, X, z, noise)
    for got, exact in zip(model.predict(Z), expected, strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-8, atol=1e-8)
    mu, sigma, _, _ = model.gradient(Z)
    np.testing.assert_allclose([mu, sigma], expected, rtol=1e-8, atol=1e-8)
    deviations = [model.told_deviation(z) for z in Z]
    np.testing.assert_allclose(deviations, expected[1], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n", [1, 40, 1500])
@pytest.mark.parametrize("m", [0, 1, 31, 513, 1100])
def test_blocks_join_without_seams(n, m):
    rng = np.random.default_rng(0)
    X, z = rng.random((n, 2)), rng.random(n)
    Z = rng.random((m, 2))
    model = posterior(Matern(0.5, nu=2.5), X, z)
    mu, sigma = model.predict(Z)
    assert mu.shape == sigma.shape == (m,)
    for i in range(0, m, 97):
        np.testing.assert_allclose(
            model.predict(Z[i : i + 1]), [mu[i : i + 1], sigma[i : i + 1]], rtol=1e-9
        )


@given(
    name=st.sampled_from(list(KERNELS)),
    seed=SEEDS,
    n=st.integers(0, 40),
    n_pending=st.integers(1, 10),
)
@settings(REPEATABLE, max_examples=40)
def test_pending_points_narrow_the_deviation_and_leave_the_mean(
    name, seed, n, n_pending
):
    rng, kernel = np.random.default_rng(seed), KERNELS[name]
    X, z = data(rng, n)
    pending, Z = rng.random((n_pending, 2)), rng.random((6, 2))
    told = posterior(kernel, X, z)
    model = posterior(kernel, X, z, X_pending=pending)
    rows = np.concatenate([X, pending])
    full = scikit_learn(kernel, rows, rng.random(len(rows)))
    mu, sigma = model.predict(Z)
    expected_mu, expected_sigma = told.predict(Z)
    np.testing.assert_allclose(mu, expected_mu, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(
        sigma, full.predict(Z, return_std=True)[1], rtol=1e-8, atol=1e-8
    )
    assert (sigma <= expected_sigma + 1e-10).all()
    for a, b in zip(model.gradient(Z)[:3:2], told.gradient(Z)[:3:2], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
    deviations = [model.told_deviation(z) for z in Z]
    np.testing.assert_allclose(deviations, expected_sigma, rtol=1e-10, atol=1e-10)
    assert model.information_gain == pytest.approx(told.information_gain, abs=1e-9)
    assert model.n_told == n


@given(
    name=st.sampled_from(list(KERNELS)),
    seed=SEEDS,
    n=st.integers(0, 40),
    noise=st.sampled_from([0.01, 0.3]),
)
@settings(REPEATABLE, max_examples=30)
def test_information_gain(name, seed, n, noise):
    X, z = data(np.random.default_rng(seed), n)
    K = KERNELS[name](X) if n else np.zeros((0, 0))
    exact = 0.5 * np.linalg.slogdet(np.eye(n) + K / noise**2)[1]
    gain = posterior(KERNELS[name], X, z, noise).information_gain
    assert gain == pytest.approx(exact, rel=1e-9, abs=1e-9)


def test_without_data_the_posterior_is_the_prior():
    kernel, empty = 0.25 * Matern(0.5, nu=2.5), np.empty((0, 2))
    model = posterior(kernel, empty, np.empty(0), mean=lambda X: 3.0 * X[:, 0])
    Z = np.random.default_rng(0).random((600, 2))
    mu, sigma, d_mu, d_sigma = model.gradient(Z)
    np.testing.assert_allclose(model.predict(Z), [mu, sigma])
    np.testing.assert_allclose(mu, 3.0 * Z[:, 0])
    np.testing.assert_allclose(sigma, 0.5)
    np.testing.assert_allclose(d_mu, np.tile([3.0, 0.0], (600, 1)), atol=1e-8)
    np.testing.assert_array_equal(d_sigma, 0.0)
    assert model.told_deviation(Z[0]) == 0.5
    assert model.information_gain == 0.0


def test_prior_mean_is_added_to_the_model_of_the_rest():
    rng = np.random.default_rng(0)
    X, z = data(rng, 20)
    Z = rng.random((5, 2))

    def mean(X):
        return 1.0 + X[:, 0] ** 2 - X[:, 1]

    model, rest = (
        posterior(RBF(0.4), X, z, mean=mean),
        posterior(RBF(0.4), X, z - mean(X)),
    )
    for with_mean, without in (
        (model.predict(Z), rest.predict(Z)),
        (model.gradient(Z)[:2], rest.gradient(Z)[:2]),
    ):
        np.testing.assert_allclose(with_mean[0], without[0] + mean(Z))
        np.testing.assert_allclose(with_mean[1], without[1])
    slope = np.stack([2 * Z[:, 0], np.full(5, -1.0)], axis=1)
    np.testing.assert_allclose(
        model.gradient(Z)[2], rest.gradient(Z)[2] + slope, atol=1e-8
    )


def slopes(model, Z, step):
    """Return central differences of mean and deviation, each (m, n_columns)."""
    d_mu, d_sigma = np.empty_like(Z), np.empty_like(Z)
    for j, e in enumerate(step * np.eye(Z.shape[1])):
        (mu_up, sigma_up), (mu_down, sigma_down) = (
            model.predict(Z + e),
            model.predict(Z - e),
        )
        d_mu[:, j] = (mu_up - mu_down) / (2 * step)
        d_sigma[:, j] = (sigma_up - sigma_down) / (2 * step)
    return d_mu, d_sigma


@pytest.mark.parametrize("name", KERNELS)
@given(seed=SEEDS, n=st.integers(1, 25), n_pending=st.integers(0, 4))
@settings(REPEATABLE, max_examples=10)
def test_gradients_equal_central_differences(name, seed, n, n_pending):
    rng = np.random.default_rng(seed)
    X, z = data(rng, n)
    pending = rng.random((n_pending, 2))
    model = posterior(KERNELS[name], X, z, 0.1, X_pending=pending)
    # Away from the data: Matern-1/2 has kinks there, and Matern-3/2 bends sharply.
    Z = rng.random((40, 2))
    Z = Z[cdist(Z, np.concatenate([X, pending])).min(axis=1) > 0.03][:5]
    _, _, d_mu, d_sigma = model.gradient(Z)
    expected_mu, expected_sigma = slopes(model, Z, 1e-5)
    np.testing.assert_allclose(d_mu, expected_mu, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(d_sigma, expected_sigma, rtol=1e-5, atol=1e-5)


def test_at_a_data_point_without_noise_nothing_breaks():
    X, z = data(np.random.default_rng(0), 30)
    for kernel in KERNELS.values():
        model = posterior(kernel, X, z, 1e-6)
        mu, sigma, d_mu, d_sigma = model.gradient(X)
        assert np.isfinite([d_mu, d_sigma]).all()
        assert (sigma > 0).all()
        np.testing.assert_allclose(model.predict(X), [mu, sigma], rtol=1e-2, atol=1e-6)


def test_units_of_the_deviation():
    X, z = data(np.random.default_rng(0), 1)
    model = posterior(0.25 * RBF(0.5), X, z, noise=0.5)
    # One observation of a variable of variance 1/4 with noise of variance 1/4.
    assert model.told_deviation(X[0]) == pytest.approx(math.sqrt(0.125))
    assert model.predict(X)[0][0] == pytest.approx(z[0] / 2)


def test_means_at_the_told_points_are_those_of_a_prediction():
    rng = np.random.default_rng(0)
    X, z = rng.uniform(size=(12, 2)), rng.standard_normal(12)
    pending = rng.uniform(size=(3, 2))
    for mean in (None, lambda X: X.sum(axis=1)):
        models = Models(FactorCache(0.1), View(X, z, X_pending=pending))
        posterior = models[Candidate(Matern(0.4, nu=2.5), mean=mean)]
        np.testing.assert_allclose(
            posterior.told_means, posterior.predict(X)[0], rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("mean", [None, lambda X: X.sum(axis=1)])
def test_errors_of_points_left_out_are_those_of_models_without_them(mean):
    rng = np.random.default_rng(0)
    X, z = data(rng, 12)
    kernel, noise, pending = Matern(0.4, nu=2.5), 0.1, rng.random((3, 2))
    model = posterior(kernel, X, z, noise, mean, X_pending=pending)
    expected = []
    for i, x in enumerate(X):
        rest = np.arange(len(X)) != i
        mu, sigma = posterior(kernel, X[rest], z[rest], noise, mean).predict(x[None])
        expected.append((z[i] - mu[0]) / math.hypot(sigma[0], noise))
    np.testing.assert_allclose(model.left_out_errors, expected, rtol=1e-8)
