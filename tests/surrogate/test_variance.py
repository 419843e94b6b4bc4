"""Fitting an output variance with the length scales, in space and in time."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from skrobustbo.kernels import ForgettingKernel, WienerKernel
from skrobustbo.surrogate import FactorCache, FlatPrior, GammaPrior, Models, View
from skrobustbo.surrogate._likelihood import LengthScaleLikelihood

NOISE = 0.1
BOUNDS = ((0.005, 20.0), (0.01, 20.0))
TIMES = {"static": None, "wiener": WienerKernel(0.1), "forgetting": ForgettingKernel()}


def sample(n, d, variance, theta, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    K = variance * Matern(theta, nu=2.5)(X) + NOISE**2 * np.eye(n)
    return X, np.linalg.cholesky(K) @ rng.standard_normal(n)


def in_time(X):
    return np.column_stack([X, 1.0 + np.arange(len(X))])


@pytest.mark.parametrize("fits_noise", [False, True])
@pytest.mark.parametrize("time", TIMES.values(), ids=TIMES)
def test_gradient_equals_differences(time, fits_noise):
    X, z = sample(20, 3, 2.0, 0.5, 0)
    likelihood = LengthScaleLikelihood(
        Matern(nu=2.5),
        X,
        z,
        noise=NOISE,
        groups=[np.array([0]), np.array([1, 2])],
        prior=GammaPrior(3, 6),
        fits_noise=fits_noise,
        fits_variance=True,
        modulation=None if time is None else time(in_time(X)),
    )
    point = np.log([0.4, 0.8] + [0.3] * fits_noise + [2.0])
    _, slopes = likelihood(point)
    assert slopes == pytest.approx(
        approx_fprime(point, likelihood.value, 1e-6), abs=2e-4
    )


def test_value_is_scikit_learns():
    X, z = sample(15, 2, 3.0, 0.4, 1)
    likelihood = LengthScaleLikelihood(
        Matern(nu=2.5),
        X,
        z,
        noise=NOISE,
        groups=[np.arange(2)],
        prior=FlatPrior(),
        fits_variance=True,
    )
    kernel = ConstantKernel(2.5) * Matern(0.3, nu=2.5)
    regressor = GaussianProcessRegressor(kernel, alpha=NOISE**2, optimizer=None)
    expected = regressor.fit(X, z).log_marginal_likelihood_value_
    assert -likelihood.value(np.log([0.3, 2.5])) == pytest.approx(expected)


@pytest.mark.parametrize("variance", [0.3, 8.0])
def test_fit_finds_what_made_the_sample(variance):
    X, z = sample(150, 2, variance, 0.3, 2)
    models = Models(FactorCache(NOISE), View(X, z))
    theta, found = models.fit_with_variance(
        Matern(nu=2.5), FlatPrior(), BOUNDS, (np.array([1.0]), 1.0)
    )
    assert found == pytest.approx(variance, rel=0.6)
    assert theta == pytest.approx([0.3], rel=0.4)


def test_a_kernel_in_time_explains_what_changed():
    X, z = sample(60, 1, 1.0, 0.3, 3)
    z = z + np.repeat([0.0, 3.0], 30)
    view = View(X, z, groups=[np.array([0])])
    models = Models(FactorCache(NOISE), view).timed()
    start = (np.array([0.3]), 1.0)
    best = {}
    for rate in (1e-4, 0.1):
        time = ForgettingKernel(rate)
        theta, variance = models.fit_with_variance(
            Matern(nu=2.5), FlatPrior(), BOUNDS, start, time
        )
        K = variance * Matern(theta[0], nu=2.5)(X) * time(in_time(X))
        K += NOISE**2 * np.eye(len(z))
        _, log_det = np.linalg.slogdet(K)
        best[rate] = -0.5 * (z @ np.linalg.solve(K, z) + log_det)
    assert best[0.1] > best[1e-4] + 5


def fitted(X, z, ties):
    models = Models(FactorCache(0.01), View(X, z))
    starts = [2.0**-i for i in range(7)]
    return models.fit(Matern(nu=2.5), FlatPrior(), (0.005, 1.0), starts, ties=ties)[0]


def test_ties_go_to_the_longest_where_the_likelihood_is_flat():
    X = (
        np.random.default_rng(0)
        .permuted(np.tile(np.linspace(0, 1, 6), (5, 1)), axis=1)
        .T
    )
    z = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])  # no length scale explains it
    assert fitted(X, z, "longest") >= 2 * fitted(X, z, None)
    assert fitted(X, z, "longest") in {2.0**-i for i in range(7)}


def test_no_tie_where_the_data_say_enough():
    X, z = sample(40, 2, 1.0, 0.2, 4)
    assert fitted(X, z, "longest") == fitted(X, z, None)
