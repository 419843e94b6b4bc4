"""A model's own noise, and its noise_margin."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic

from skrobustbo import Candidate
from skrobustbo.policies import make_policy
from skrobustbo.policies._registry import policy_from_dict, policy_to_dict
from skrobustbo.surrogate import FactorCache, LogNormalPrior, Models, View
from skrobustbo.surrogate._likelihood import LengthScaleLikelihood

KERNEL, PRIOR, BOUNDS = Matern(nu=2.5), LogNormalPrior(), (0.005, 20.0)


def models(z, X, noise=0.01):
    return Models(
        FactorCache(noise), View(X, z, groups=[np.array([i]) for i in range(2)])
    )


def found(z, X, noise_margin=8.0, noise=0.01, start=None):
    seen = models(z, X, noise)
    theta = seen.fit(KERNEL, PRIOR, BOUNDS, [0.5], per_parameter=True)
    return seen.strong_noise(KERNEL, PRIOR, BOUNDS, theta, noise_margin, start)


def noisy(n, seed=0, noise=0.6):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 2))
    trend = np.sin(3 * X[:, 0])
    trend = (trend - trend.mean()) / trend.std() * np.sqrt(1 - noise**2)
    return trend + noise * rng.standard_normal(n), X


def test_posterior_of_a_candidate_with_noise_equals_scikit_learn_s():
    z, X = noisy(40)
    candidate = Candidate(Matern(0.3, nu=2.5), noise=0.6)
    mu, sigma = models(z, X)[candidate].predict(X[:5] + 0.01)
    other = GaussianProcessRegressor(candidate.kernel, alpha=0.36, optimizer=None)
    mean, std = other.fit(X, z).predict(X[:5] + 0.01, return_std=True)
    np.testing.assert_allclose(mu, mean)
    np.testing.assert_allclose(sigma, std)


def test_candidates_of_other_noise_share_no_factor():
    z, X = noisy(40)
    seen = models(z, X)
    kernel = Matern(0.05, nu=2.5)
    still, loud = Candidate(kernel), Candidate(kernel, noise=0.5)
    assert seen[still].noise == 0.01
    assert seen[loud].noise == 0.5
    assert seen.at(loud).noise == 0.5
    assert still.key != loud.key
    assert np.abs(seen[still].told_means - z).max() < 0.1
    assert np.abs(seen[loud].told_means - z).max() > 0.2


@pytest.mark.parametrize("noise", [0.0, -1.0, np.inf, np.nan])
def test_noise_that_is_none_is_refused(noise):
    with pytest.raises(ValueError, match="'noise' of a Candidate must be a positive"):
        Candidate(KERNEL, noise=noise)


def test_noise_of_a_candidate_survives_json():
    policy = make_policy("he-gp-ucb", candidates=[Candidate(KERNEL, noise=0.3)])
    again = policy_from_dict(policy_to_dict(policy))
    assert again.candidates[0].noise == 0.3


@pytest.mark.parametrize("kernel", [KERNEL, RationalQuadratic(1.0, 1.5)])
def test_gradient_in_the_logarithm_of_the_noise(kernel):
    z, X = noisy(20)
    groups = [np.array([0]), np.array([1])]
    likelihood = LengthScaleLikelihood(
        kernel, X, z, noise=0.01, groups=groups, prior=PRIOR, fits_noise=True
    )
    for point in np.log([[0.5, 0.3, 0.2], [2.0, 0.1, 0.9], [0.1, 0.1, 0.02]]):
        value, slopes = likelihood(point)
        assert value == pytest.approx(likelihood.value(point))
        by_hand = approx_fprime(point, likelihood.value, 1e-6)
        np.testing.assert_allclose(slopes, by_hand, rtol=1e-3, atol=1e-3)


def test_values_that_are_mostly_noise_are_known():
    theta, noise = found(*noisy(60))
    assert 0.5 < noise < 0.75
    assert theta[0] > 0.3
    # Also from an earlier result.
    again = found(*noisy(60), start=(theta, noise))
    assert again[1] == pytest.approx(noise, rel=0.05)


def test_smooth_values_are_not_taken_for_noise():
    _, X = noisy(60)
    smooth = np.sin(5 * X[:, 0]) * np.cos(3 * X[:, 1])
    smooth = (smooth - smooth.mean()) / smooth.std()
    assert found(smooth, X) is None
    assert found(smooth, X, start=(np.array([0.5, 0.5]), 0.6)) is None


def test_more_evidence_than_there_is_finds_nothing():
    assert found(*noisy(60), noise_margin=500.0) is None
    assert found(*noisy(6)) is None
    assert found(np.zeros(0), np.zeros((0, 2))) is None


def test_noise_that_is_given_is_not_looked_for():
    assert found(*noisy(60), noise=0.5) is None
