"""Models with a column of codes equal those with one column per choice."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from skrobustbo.kernels import AdditiveKernel
from skrobustbo.surrogate import Candidate, FactorCache, LogNormalPrior, Models, View
from skrobustbo.surrogate._factor_cache import spread_out
from skrobustbo.surrogate._likelihood import LengthScaleLikelihood

K, N = 30, 50
NOMINAL = np.array([1])
PRIOR = LogNormalPrior(0.7, 1.5)
BOUNDS = (0.005, 20.0)
KERNELS = [
    Matern(nu=2.5),
    RBF(0.7),
    Matern(nu=0.5),
    RationalQuadratic(),
    RBF(0.4) + 0.5 * Matern(1.5, nu=1.5),
]


def points(n, seed):
    rng = np.random.default_rng(seed)
    numbers, choices = rng.random((n, 2)), rng.integers(K, size=n)
    coded = np.column_stack([numbers[:, 0], (choices + 1) / K, numbers[:, 1]])
    one_hot = np.column_stack(
        [numbers[:, 0], np.sqrt(0.5) * np.eye(K)[choices], numbers[:, 1]]
    )
    return coded, one_hot, choices % 3 + np.sin(5 * numbers).sum(axis=1)


X, X1, y = points(N, 0)
Z, Z1, _ = points(70, 1)
GROUPS = [np.array([0]), NOMINAL, np.array([2])]
GROUPS1 = [np.array([0]), np.arange(1, 1 + K), np.array([1 + K])]


def models():
    z = (y - y.mean()) / y.std()
    some = slice(N - 3)
    coded = FactorCache(0.05, NOMINAL)
    return (
        Models(coded, View(X[some], z[some], X_pending=X[N - 3 :], groups=GROUPS)),
        Models(
            FactorCache(0.05),
            View(X1[some], z[some], X_pending=X1[N - 3 :], groups=GROUPS1),
        ),
    )


def assert_equal(one, other):
    for a, b in zip(one.predict(Z), other.predict(Z1), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)
    *values, d_mu, d_sigma = one.gradient(Z[:4])
    *values1, d_mu1, d_sigma1 = other.gradient(Z1[:4])
    np.testing.assert_allclose(values, values1, rtol=1e-8, atol=1e-9)
    for a, b in ((d_mu, d_mu1), (d_sigma, d_sigma1)):
        np.testing.assert_allclose(a[:, [0, 2]], b[:, [0, 1 + K]], atol=1e-6)
        assert not a[:, NOMINAL].any()
    for name in ("log_marginal_likelihood", "information_gain", "output_scale"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8)
    np.testing.assert_allclose(one.told_deviation(Z[0]), other.told_deviation(Z1[0]))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_posteriors(kernel):
    coded, one_hot = models()
    candidate = Candidate(kernel)
    assert_equal(coded[candidate], one_hot[candidate])
    assert coded[candidate].candidate is candidate
    assert_equal(coded.at(candidate), one_hot.at(candidate))
    weights = np.linspace(1, 3, coded.n)
    assert_equal(
        coded.weighted(candidate, weights), one_hot.weighted(candidate, weights)
    )
    assert_equal(coded.since(20)[candidate], one_hot.since(20)[candidate])


def test_a_factor_grows_as_it_would_be_made():
    whole = FactorCache(0.05, NOMINAL)
    steps = FactorCache(0.05, NOMINAL)
    candidate = Candidate(RationalQuadratic())
    for n in (5, 20, 33, 40):
        grown = steps.regressor(candidate, X[:n], n)
    made = whole.regressor(candidate, X[:40], 40)
    np.testing.assert_array_equal(grown._factor.lower, made._factor.lower)


# A kernel of a single length scale takes a mean over columns, of which there are fewer.
@pytest.mark.parametrize("kernel", [*KERNELS[:3], *KERNELS[4:], Matern(nu=2)], ids=str)
@pytest.mark.parametrize("fits_noise", [False, True])
def test_likelihood_and_its_gradient(kernel, fits_noise):
    (coded, one_hot) = models()
    of = [
        LengthScaleLikelihood(
            m._cache.kernel_of(kernel, m.X.shape[1]),
            m.X,
            m.z,
            noise=0.1,
            groups=m.groups,
            prior=PRIOR,
            fits_noise=fits_noise,
        )
        for m in (coded, one_hot)
    ]
    point = np.log([0.4, 0.8, 1.3, 0.2][: 3 + fits_noise])
    (value, slope), (value1, slope1) = (f(point) for f in of)
    np.testing.assert_allclose(value, value1, rtol=1e-9)
    np.testing.assert_allclose(slope, slope1, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(of[0].value(point), of[1].value(point), rtol=1e-9)


def test_the_length_scale_of_a_category_is_found():
    fits = [
        m.fit(Matern(nu=2.5), PRIOR, BOUNDS, [0.5], per_parameter=True)
        for m in models()
    ]
    np.testing.assert_allclose(*fits, rtol=1e-3)


def test_models_in_time():
    coded, one_hot = (m.timed() for m in models())
    found = [m[Candidate(RBF([0.5] * n))] for m, n in ((coded, 4), (one_hot, K + 3))]
    for a, b in zip(found[0].predict(Z), found[1].predict(Z1), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


def test_additive_models():
    coded, one_hot = models()
    one = coded[Candidate(AdditiveKernel(RBF(0.5), [[0, 1], [2]]))]
    groups = [list(range(1 + K)), [1 + K]]
    assert_equal(one, one_hot[Candidate(AdditiveKernel(RBF(0.5), groups))])


def test_codes_are_at_the_same_distance_for_an_active_set():
    # Ten choices with codes close to each other, and numbers slightly apart.
    X = np.column_stack([np.repeat(0.5, 50), np.linspace(0, 0.9, 50)])
    X[40:, 0] += np.linspace(0.001, 0.01, 10)
    kept = spread_out(X, np.arange(50.0)[::-1], 13, np.array([0]))
    assert set(range(40, 50)) <= set(kept.tolist())
    assert not set(range(40, 50)) <= set(spread_out(X, np.arange(50.0)[::-1], 13))


def test_the_active_set_of_a_bank_knows_its_codes(monkeypatch):
    for name, size in (("MOST_ROWS", 20), ("REFRESH", 7)):
        monkeypatch.setattr(f"skrobustbo.surrogate._factor_cache.{name}", size)
    X = np.column_stack([np.repeat(0.5, 50), np.linspace(0, 0.9, 50)])
    X[40:, 0] += np.linspace(0.001, 0.01, 10)
    rows = FactorCache(0.1, np.array([0])).active_rows(X, np.arange(50.0)[::-1], 0)
    assert set(range(40, 50)) <= set(rows.tolist())
    rows = FactorCache(0.1).active_rows(X, np.arange(50.0)[::-1], 0)
    assert not set(range(40, 50)) <= set(rows.tolist())
