"""The likelihood of length scales: values, gradients and fits."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import gamma, multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skrobustbo.kernels import with_length_scale
from skrobustbo.surrogate import FlatPrior, GammaPrior, LogNormalPrior
from skrobustbo.surrogate._likelihood import LengthScaleLikelihood, fit_length_scale

pytestmark = pytest.mark.usefixtures("one_blas")

#: The same examples in every run, however busy the machine is.
REPEATABLE = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
KERNELS = {
    "matern-1/2": Matern(nu=0.5),
    "matern-3/2": Matern(nu=1.5),
    "matern-5/2": Matern(nu=2.5),
    "rbf": RBF(),
    "ratios": Matern([1.0, 0.5, 2.0, 1.0], nu=2.5),
    "list": RBF(length_scale=[0.5, 0.5, 1.0, 3.0]),
    "scaled": ConstantKernel(0.5) * Matern(nu=2.5),
    "sum": 0.5 * RBF() + 0.5 * Matern(0.3, nu=1.5) + WhiteKernel(1e-3),
    "matern-0.7": Matern(nu=0.7),
    "rational quadratic": RationalQuadratic(1.0, 1.5),
}
GROUPS = {
    "one": [[0, 1, 2, 3]],
    "each": [[0], [1], [2], [3]],
    "tied": [[0], [1, 3], [2]],
}
PRIORS = {
    "flat": FlatPrior(),
    "log-normal": LogNormalPrior(0.5, 0.8),
    "gamma": GammaPrior(3.0, 6.0),
    "correlated": LogNormalPrior(0.5, 0.4, 0.7),
}


def likelihood(kernel, X, z, groups, prior, noise=0.1):
    groups = [np.array(columns) for columns in groups]
    return LengthScaleLikelihood(kernel, X, z, noise=noise, groups=groups, prior=prior)


def sample(seed, n=25):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    return X, np.sin(4 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("groups", GROUPS)
def test_value_is_the_log_marginal_likelihood(name, groups):
    X, z = sample(0)
    function = likelihood(KERNELS[name], X, z, GROUPS[groups], FlatPrior())
    theta = np.array([0.4, 0.9, 1.7, 0.6])[: len(GROUPS[groups])]
    columns = np.empty(4)
    for value, group in zip(theta, GROUPS[groups], strict=True):
        columns[group] = value
    np.testing.assert_array_equal(
        function.columns(np.log(theta)), np.exp(np.log(columns))
    )
    kernel = with_length_scale(KERNELS[name], columns)
    exact = GaussianProcessRegressor(kernel, alpha=0.1**2, optimizer=None).fit(X, z)
    assert function(np.log(theta))[0] == pytest.approx(
        -exact.log_marginal_likelihood_value_, rel=1e-10
    )


@pytest.mark.parametrize("name", KERNELS)
@given(
    groups=st.sampled_from(list(GROUPS)),
    prior=st.sampled_from(list(PRIORS)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 25),
)
@settings(REPEATABLE, max_examples=12)
def test_gradient_equals_central_differences(name, groups, prior, seed, n):
    X, z = sample(seed, n)
    function = likelihood(KERNELS[name], X, z, GROUPS[groups], PRIORS[prior])
    point = np.random.default_rng(seed).uniform(-1.5, 1.0, len(GROUPS[groups]))
    _, gradient = function(point)
    step = 1e-5
    for i, e in enumerate(step * np.eye(len(point))):
        slope = (function(point + e)[0] - function(point - e)[0]) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("noise", [1e-3, 0.01])
@pytest.mark.parametrize("nu", [0.5, 2.5, np.inf])
def test_gradient_with_repeated_points_and_little_noise(noise, nu):
    X, z = sample(0, 20)
    X = np.concatenate([X, X[:10], X[:3] + 1e-9])
    z = np.concatenate([z, z[:10] + 1e-3, z[:3]])
    function = likelihood(Matern(nu=nu), X, z, GROUPS["tied"], FlatPrior(), noise)
    point, step = np.log([0.5, 0.8, 1.2]), 1e-4
    _, gradient = function(point)
    for i, e in enumerate(step * np.eye(3)):
        slope = (function(point + e)[0] - function(point - e)[0]) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-4, abs=0.01)


# Priors ------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", PRIORS.values(), ids=PRIORS)
@given(point=st.lists(st.floats(-4, 3), min_size=1, max_size=4).map(np.array))
@settings(REPEATABLE, max_examples=20)
def test_gradient_of_a_prior(prior, point):
    value, gradient = prior.log_density(point)
    assert isinstance(value, float)
    assert gradient.shape == point.shape
    step = 1e-6
    for i, e in enumerate(step * np.eye(len(point))):
        up, down = prior.log_density(point + e)[0], prior.log_density(point - e)[0]
        assert gradient[i] == pytest.approx(
            (up - down) / (2 * step), abs=1e-4, rel=1e-6
        )


def test_densities_of_the_priors():
    a, b = np.log([0.2]), np.log([0.9])

    def ratio(prior):
        return prior.log_density(a)[0] - prior.log_density(b)[0]

    law = gamma(3.0, scale=1 / 6.0)
    assert ratio(GammaPrior(3.0, 6.0)) == pytest.approx(
        law.logpdf(0.2) - law.logpdf(0.9)
    )
    scores = (np.array([a, b]) - math.log(0.5)) / 0.8
    expected = -0.5 * (scores[0] ** 2 - scores[1] ** 2)[0]
    assert ratio(LogNormalPrior(0.5, 0.8)) == pytest.approx(expected)
    assert ratio(FlatPrior()) == 0.0


@pytest.mark.parametrize(
    ("prior", "settings", "expected"),
    [
        (LogNormalPrior, {"sigma": 0}, "'sigma' of LogNormalPrior must be positive"),
        (LogNormalPrior, {"median": -1.0}, "'median' of LogNormalPrior must be posi"),
        (LogNormalPrior, {"common": -0.1}, "'common' of LogNormalPrior must be >= 0"),
        (LogNormalPrior, {"common": "1"}, "'common' of LogNormalPrior must be >= 0"),
        (GammaPrior, {"shape": math.inf}, "'shape' of GammaPrior must be positive"),
        (GammaPrior, {"rate": "6"}, "'rate' of GammaPrior must be positive"),
    ],
)
def test_settings_of_a_prior_out_of_range(prior, settings, expected):
    with pytest.raises(ValueError, match=expected):
        prior(**settings)


def test_length_scales_with_a_common_part_are_correlated():
    prior = LogNormalPrior(0.5, sigma=0.4, common=0.7)
    law = multivariate_normal(
        np.full(3, math.log(0.5)), 0.4**2 * np.eye(3) + 0.7**2 * np.ones((3, 3))
    )
    a, b = np.array([0.2, -1.0, 0.4]), np.array([-0.3, 0.1, -2.0])
    expected = law.logpdf(a) - law.logpdf(b)
    assert prior.log_density(a)[0] - prior.log_density(b)[0] == pytest.approx(expected)
    alone, wider = np.array([0.2]), LogNormalPrior(0.5, math.hypot(0.4, 0.7))
    assert prior.log_density(alone)[0] == pytest.approx(wider.log_density(alone)[0])


def test_other_priors_of_several_length_scales_add_up():
    for name in PRIORS.keys() - {"correlated"}:
        prior = PRIORS[name]
        parts = [prior.log_density(np.array([x]))[0] for x in (-1.0, 0.5)]
        assert prior.log_density(np.array([-1.0, 0.5]))[0] == pytest.approx(sum(parts))


# Fits --------------------------------------------------------------------------------

BOUNDS = (0.005, 20.0)
STARTS = [np.array([value]) for value in (0.05, 0.3, 1.5)]


@pytest.mark.parametrize("theta", [0.1, 0.3])
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, np.inf])
@pytest.mark.parametrize("seed", range(5))
def test_fit_finds_the_length_scale_that_made_the_sample(theta, nu, seed):
    rng = np.random.default_rng(seed)
    X = rng.random((60, 1))
    K = Matern(theta, nu=nu)(X) + 0.05**2 * np.eye(60)
    z = np.linalg.cholesky(K) @ rng.standard_normal(60)
    function = likelihood(Matern(nu=nu), X, z, [[0]], FlatPrior(), noise=0.05)
    found = fit_length_scale(function, BOUNDS, STARTS)
    assert found.shape == (1,)
    # The likelihood of a rough path is flat.
    factor = 2.0 if nu > 1 else 3.0
    assert theta / factor < found[0] < theta * factor


def test_fit_finds_a_length_scale_for_each_group():
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    theta = np.array([0.3, 1.0, 1.0])
    K = Matern(theta, nu=2.5)(X) + 0.05**2 * np.eye(60)
    z = np.linalg.cholesky(K) @ rng.standard_normal(60)
    function = likelihood(Matern(nu=2.5), X, z, [[0], [1, 2]], FlatPrior(), noise=0.05)
    found = fit_length_scale(function, BOUNDS, [np.array([0.5, 0.5])])
    assert (found / theta[:2] < 2.0).all()
    assert (theta[:2] / found < 2.0).all()


def test_fit_is_at_least_as_good_as_every_start():
    X, z = sample(0)
    function = likelihood(RBF(), X, z, GROUPS["each"], LogNormalPrior())
    starts = [np.full(4, value) for value in (0.05, 0.2, 1.0, 5.0)]
    value, gradient = function(np.log(fit_length_scale(function, BOUNDS, starts)))
    assert all(value <= function(np.log(start))[0] for start in starts)
    assert np.abs(gradient).max() < 0.1


def test_fit_returns_the_best_of_several_climbs():
    X, z = sample(0)
    function = likelihood(RBF(), X, z, GROUPS["one"], FlatPrior())
    # Where all length scales are short the likelihood is flat.
    starts = [np.array([0.005]), np.array([0.5])]
    best = fit_length_scale(function, BOUNDS, starts[1:])
    assert best[0] > 0.1
    for order in (starts, starts[::-1]):
        np.testing.assert_allclose(fit_length_scale(function, BOUNDS, order), best)


@pytest.mark.parametrize(("start", "expected"), [(0.5, 0.5), (0.01, 0.1), (9.0, 2.0)])
def test_fit_returns_its_first_start_where_there_are_no_data(start, expected):
    nothing = likelihood(
        Matern(nu=2.5), np.empty((0, 2)), np.empty(0), [[0], [1]], FlatPrior()
    )
    starts = [np.full(2, start), np.ones(2), np.full(2, 0.2)]
    found = fit_length_scale(nothing, (0.1, 2.0), starts)
    np.testing.assert_array_equal(found, expected)


def test_fit_stays_within_bounds():
    X, z = sample(0)
    function = likelihood(RBF(), X, z, GROUPS["one"], FlatPrior())
    for low, high in ((0.05, 0.1), (5.0, 6.0)):
        for start in (1e-4, 0.07, 100.0):
            found = fit_length_scale(function, (low, high), [np.array([start])])
            assert low <= found[0] <= high


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("noise", [1e-6, 0.01])
def test_fit_survives_poor_data(name, noise):
    X, z = sample(0, 12)
    cases = {
        "one point": (X[:1], z[:1]),
        "constant": (X, np.zeros(12)),
        "duplicates": (np.repeat(X[:2], 6, axis=0), np.repeat(z[:2], 6)),
        "contradictory": (np.repeat(X[:1], 12, axis=0), z),
        "on a line": (np.repeat(X[:, :1], 4, axis=1), np.arange(12.0)),
    }
    for case, (points, targets) in cases.items():
        function = likelihood(
            KERNELS[name], points, targets, GROUPS["each"], FlatPrior(), noise
        )
        found = fit_length_scale(function, BOUNDS, [np.full(4, 0.1), np.full(4, 2.0)])
        assert np.isfinite(found).all(), case
        assert (found >= BOUNDS[0]).all(), case
        assert (found <= BOUNDS[1]).all(), case


@pytest.mark.parametrize("kernel", [RBF(), RBF() * Matern(nu=1.5)])
def test_no_length_scale_makes_a_singular_matrix_likely(kernel):
    X, z = np.zeros((5, 4)), np.arange(5.0)
    function = likelihood(kernel, X, z, GROUPS["one"], FlatPrior(), noise=1e-12)
    value, gradient = function(np.zeros(1))
    assert value == math.inf
    np.testing.assert_array_equal(gradient, 0.0)
    assert np.isfinite(fit_length_scale(function, BOUNDS, STARTS)).all()


def test_kernel_without_length_scales_is_left_as_it_is():
    X, z = sample(0, 10)
    function = likelihood(DotProduct(1.0), X, z, GROUPS["one"], FlatPrior())
    value, gradient = function(np.array([0.3]))
    assert math.isfinite(value)
    assert gradient[0] == 0.0
