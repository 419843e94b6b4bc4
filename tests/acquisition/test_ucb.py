"""The upper confidence bound and its gradient."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, Matern

from skrobustbo.acquisition import UCB
from skrobustbo.surrogate import Candidate, FactorCache, Models, View

pytestmark = pytest.mark.usefixtures("one_blas")

#: The same examples in every run, however busy the machine is.
REPEATABLE = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def posterior(seed, kernel, n=15, n_pending=0):
    rng = np.random.default_rng(seed)
    X, z = rng.random((n, 3)), rng.standard_normal(n)
    pending = rng.random((n_pending, 3))
    return Models(FactorCache(0.1), View(X, z, X_pending=pending))[Candidate(kernel)]


@pytest.mark.parametrize("beta", [2.5, 0.0, -1.0])
def test_bound_is_mean_plus_beta_deviations(beta):
    model = posterior(0, RBF(0.4))
    Z = np.random.default_rng(1).random((600, 3))
    mu, sigma = model.predict(Z)
    bound = UCB(model, beta)
    np.testing.assert_array_equal(bound(Z), mu + beta * sigma)
    assert bound(Z).shape == (600,)
    np.testing.assert_allclose(bound.with_gradient(Z)[0], bound(Z))


@pytest.mark.parametrize("kernel", [RBF(0.5), 0.5 * Matern([0.3, 1.0, 0.6], nu=2.5)])
@given(
    seed=st.integers(0, 2**32 - 1), beta=st.floats(-3, 3), n_pending=st.integers(0, 3)
)
@settings(REPEATABLE, max_examples=25)
def test_gradient_equals_central_differences(kernel, seed, beta, n_pending):
    bound = UCB(posterior(seed, kernel, n_pending=n_pending), beta)
    Z, step = np.random.default_rng(seed + 1).random((4, 3)), 1e-5
    values, gradient = bound.with_gradient(Z)
    assert values.shape == (4,)
    assert gradient.shape == (4, 3)
    for j, e in enumerate(step * np.eye(3)):
        slope = (bound(Z + e) - bound(Z - e)) / (2 * step)
        np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-5, atol=1e-5)


def test_a_batch_is_its_points_one_by_one():
    bound = UCB(posterior(0, Matern(0.5, nu=1.5)), 1.5)
    Z = np.random.default_rng(1).random((5, 3))
    values, gradients = bound.with_gradient(Z)
    for z, value, gradient in zip(Z, values, gradients, strict=True):
        one, slope = bound.with_gradient(z[None, :])
        assert one[0] == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(slope[0], gradient, rtol=1e-9, atol=1e-12)
