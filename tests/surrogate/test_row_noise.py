"""Values with their own errors: each row has its own noise, in every formula."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from skrobustbo.surrogate import Candidate, FactorCache, GammaPrior, Models, View
from skrobustbo.surrogate._likelihood import LengthScaleLikelihood

NOISE, SCALE = 0.1, 2.5
KERNEL = Matern(0.4, nu=2.5)


def made(n=12, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X, z = rng.random((n, d)), rng.standard_normal(n)
    stds = np.where(np.arange(n) % 3 == 0, rng.random(n), 0.0)
    return X, z, stds


def models(X, z, stds, pending=None):
    view = View(X, z, X_pending=pending, scale=SCALE, value_stds=stds)
    return Models(FactorCache(NOISE), view)


def reference(X, z, stds):
    """Return scikit-learn's regressor with a noise variance for each row."""
    alpha = NOISE**2 + (stds / SCALE) ** 2
    return GaussianProcessRegressor(KERNEL, alpha=alpha, optimizer=None).fit(X, z)


@pytest.mark.parametrize("way", ["kept", "once"])
def test_posterior_is_scikit_learns(way):
    X, z, stds = made()
    found = models(X, z, stds)
    candidate = Candidate(KERNEL)
    posterior = found[candidate] if way == "kept" else found.at(candidate)
    gpr, Z = reference(X, z, stds), np.random.default_rng(1).random((20, 2))
    for mine, theirs in zip(posterior.predict(Z), gpr.predict(Z, True), strict=True):
        assert mine == pytest.approx(theirs)
    assert posterior.told_means == pytest.approx(gpr.predict(X))
    assert posterior.log_marginal_likelihood == pytest.approx(
        gpr.log_marginal_likelihood_value_
    )
    variances = NOISE**2 + (stds / SCALE) ** 2
    gain = 0.5 * np.linalg.slogdet(np.eye(len(X)) + KERNEL(X) / variances)[1]
    assert posterior.information_gain == pytest.approx(gain)


@pytest.mark.parametrize("known", [True, False])
def test_further_errors_add_up_in_variance(known):
    X, z, stds = made()
    found = models(X, z, stds if known else None).with_errors(0.7)
    stds = np.hypot(stds if known else 0.0, np.full(len(X), 0.7))
    gpr, Z = reference(X, z, stds), np.random.default_rng(1).random((20, 2))
    predicted = found[Candidate(KERNEL)].predict(Z)
    for mine, theirs in zip(predicted, gpr.predict(Z, True), strict=True):
        assert mine == pytest.approx(theirs)


def test_draws_have_the_moments_of_the_posterior():
    X, z, stds = made()
    posterior, gpr = models(X, z, stds)[Candidate(KERNEL)], reference(X, z, stds)
    Z = np.random.default_rng(1).random((6, 2))
    Z[5] = Z[4]  # a singular covariance
    mean, covariance = gpr.predict(Z, return_cov=True)
    # Draws are a matrix times the given numbers, which must be a root of it.
    at_zero = posterior.draws(Z, np.zeros((6, 1)))[:, 0]
    assert at_zero == pytest.approx(mean)
    root = posterior.draws(Z, np.eye(6)) - at_zero[:, None]
    assert root @ root.T == pytest.approx(covariance, abs=2e-8)


def test_residuals_are_those_of_leaving_one_out():
    X, z, stds = made()
    posterior = models(X, z, stds)[Candidate(KERNEL)]
    for i, (residual,) in enumerate(posterior.residuals(np.arange(len(X))[:, None])):
        rest = np.arange(len(X)) != i
        gpr = reference(X[rest], z[rest], stds[rest])
        assert residual == pytest.approx(z[i] - gpr.predict(X[[i]])[0])


def test_pending_points_have_no_error_of_their_own():
    X, z, stds = made()
    pending = np.array([[0.5, 0.5]])
    posterior = models(X, z, stds, pending)[Candidate(KERNEL)]
    told = reference(X, z, stds)
    both = np.concatenate([X, pending])
    gpr = reference(both, np.append(z, told.predict(pending)), np.append(stds, 0.0))
    Z = np.random.default_rng(1).random((5, 2))
    assert posterior.predict(Z)[0] == pytest.approx(told.predict(Z))
    assert posterior.predict(Z)[1] == pytest.approx(gpr.predict(Z, True)[1])


@pytest.mark.parametrize("fits", ["", "noise", "variance", "both"])
def test_likelihood_slopes_equal_differences(fits):
    X, z, stds = made(20, 3)
    fits_noise, fits_variance = fits in ("noise", "both"), fits in ("variance", "both")
    likelihood = LengthScaleLikelihood(
        Matern(nu=2.5),
        X,
        z,
        noise=NOISE,
        groups=[np.array([0]), np.array([1, 2])],
        prior=GammaPrior(3, 6),
        fits_noise=fits_noise,
        fits_variance=fits_variance,
        errors=stds**2,
    )
    point = np.log([0.4, 0.8] + [0.3] * fits_noise + [2.0] * fits_variance)
    _, slopes = likelihood(point)
    assert slopes == pytest.approx(
        approx_fprime(point, likelihood.value, 1e-6), abs=2e-4
    )


def test_length_scales_are_fitted_with_the_errors():
    X, z, stds = made(30)
    found = models(X, z, stds)
    starts, bounds = [0.1, 0.5], (0.05, 5.0)
    (theta,) = found.fit(Matern(nu=2.5), GammaPrior(3, 6), bounds, starts)
    alpha = NOISE**2 + (stds / SCALE) ** 2
    prior = GammaPrior(3, 6)

    def value(theta):
        gpr = GaussianProcessRegressor(Matern(theta, nu=2.5), alpha=alpha)
        gpr.optimizer = None
        gpr.fit(X, z)
        return (
            gpr.log_marginal_likelihood_value_ + prior.log_density(np.log([theta]))[0]
        )

    grid = np.geomspace(0.05, 5.0, 60)
    assert value(theta) >= max(map(value, grid)) - 1e-3


def test_windows_and_units_carry_the_errors():
    X, z, stds = made()
    later = models(X, z, stds).since(4)
    gpr = reference(X[4:], z[4:], stds[4:])
    Z = np.random.default_rng(1).random((5, 2))
    assert later[Candidate(KERNEL)].predict(Z)[0] == pytest.approx(gpr.predict(Z))
    doubled = models(X, z, stds).seen_as(2 * z, np.full(len(z), 2 / SCALE))
    gpr = reference(X, 2 * z, 2 * stds)
    assert doubled[Candidate(KERNEL)].predict(Z)[0] == pytest.approx(gpr.predict(Z))


def test_without_errors_the_factor_is_kept():
    X, z, _ = made()
    cache = FactorCache(NOISE)
    Models(cache, View(X, z, value_stds=None))[Candidate(KERNEL)]
    assert len(cache._held) == 1
