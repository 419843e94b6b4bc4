"""The cache of factors: equal bits however rows arrive, and its models."""

import copy
import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import (
    RBF,
    DotProduct,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from skrobustbo.surrogate import (
    Candidate,
    FactorCache,
    FlatPrior,
    Models,
    Posterior,
    View,
)
from skrobustbo.surrogate import _factor_cache as module

pytestmark = pytest.mark.usefixtures("one_blas")

#: The same examples in every run, however busy the machine is.
REPEATABLE = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
LENGTHS = np.array([0.3, 0.5, 2.0])
KERNELS = {
    "matern-1/2": Matern(0.3, nu=0.5),
    "matern-3/2": Matern(LENGTHS, nu=1.5),
    "matern-5/2": Matern(LENGTHS, nu=2.5),
    "matern-0.7": Matern(0.5, nu=0.7),
    "rbf": RBF(LENGTHS),
    "rational quadratic": RationalQuadratic(0.4, 0.7),
    "root": Matern(0.5, nu=1.5) ** 0.7,
    "linear": DotProduct(0.5) ** 2,  # a product of matrices
    "pairwise": PairwiseKernel(gamma=1.0, metric="rbf"),
    "composite": 0.5 * Matern(LENGTHS, nu=2.5) + WhiteKernel(1e-3) + 0.2 * RBF(0.3),
}


def at_once(candidate, X, noise=0.01):
    return FactorCache(noise).regressor(candidate, X, len(X))._factor.lower


@given(
    name=st.sampled_from(list(KERNELS)),
    start=st.integers(0, 70),
    chunks=st.lists(
        st.tuples(st.sampled_from([1, 1, 1, 2, 7, 40]), st.integers(0, 8)),
        min_size=1,
        max_size=40,
    ),
    noise=st.sampled_from([1e-3, 0.01, 0.3]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(REPEATABLE, max_examples=60)
def test_bits_depend_on_the_rows_alone(name, start, chunks, noise, seed):
    rng = np.random.default_rng(seed)
    X, candidate, cache = (
        rng.random((110, 3)),
        Candidate(KERNELS[name]),
        FactorCache(noise),
    )
    told = start
    for size, n_pending in chunks:
        told = min(len(X), told + size)
        # Some pending points are told next, in another order.
        ahead = rng.permutation(X[told : told + 5])[: n_pending // 2]
        pending = np.concatenate([ahead, rng.random((n_pending - len(ahead), 3))])
        gpr = cache.regressor(candidate, np.concatenate([X[:told], pending]), told)
        np.testing.assert_array_equal(
            gpr._factor.lower[:told, :told], at_once(candidate, X[:told], noise)
        )


@pytest.mark.parametrize("name", KERNELS)
def test_bits_row_by_row(name):
    X, candidate = np.random.default_rng(0).random((100, 3)), Candidate(KERNELS[name])
    cache = FactorCache(0.01)
    for n in range(101):
        factor = cache.regressor(candidate, X[:n], n)._factor
        if n % 9 == 0:
            np.testing.assert_array_equal(factor.lower, at_once(candidate, X[:n]))


def test_bits_after_eviction(monkeypatch):
    monkeypatch.setattr(module, "_MAX_FACTORS", 3)
    X = np.random.default_rng(0).random((70, 2))
    candidates = [Candidate(Matern(scale, nu=2.5)) for scale in np.linspace(0.1, 1, 5)]
    cache = FactorCache(0.01)
    for n in (10, 33, 65, 70):
        for candidate in candidates:
            factor = cache.regressor(candidate, X[:n], n)._factor
            np.testing.assert_array_equal(factor.lower, at_once(candidate, X[:n]))
        assert len(cache._held) == 3


def test_large_factors_are_fewer(monkeypatch):
    """Memory is bounded even if every step has its own candidate."""
    monkeypatch.setattr(module, "_MAX_NUMBERS", 6 * 64**2)
    X, cache = np.random.default_rng(0).random((128, 2)), FactorCache(0.01)

    def kept(n):
        for scale in np.linspace(0.1, 1, 12):
            cache.regressor(Candidate(RBF(scale)), X[:n], n)
        return len(cache._held)

    assert kept(32) == 12
    assert kept(64) == 6
    assert kept(128) == 4  # too large for six times 64, but these are few


def test_factor_is_that_of_the_kernel_matrix():
    X = np.random.default_rng(0).random((45, 3))
    for name, kernel in KERNELS.items():
        L = np.linalg.cholesky(kernel(X) + 0.01**2 * np.eye(45))
        got = at_once(Candidate(kernel), X)
        np.testing.assert_allclose(got, L, rtol=0, atol=1e-10, err_msg=name)


def test_pending_rows_come_after_the_told_ones():
    rng = np.random.default_rng(0)
    X, pending, candidate = rng.random((40, 2)), rng.random((5, 2)), Candidate(RBF(0.3))
    cache = FactorCache(0.01)
    rows = np.concatenate([X, pending])
    lower = cache.regressor(candidate, rows, 40)._factor.lower
    np.testing.assert_array_equal(lower[:40, :40], at_once(candidate, X))
    K = RBF(0.3)(rows) + 0.01**2 * np.eye(45)
    np.testing.assert_allclose(lower, np.linalg.cholesky(K), atol=1e-12)


def test_candidates_of_equal_kernels_share_a_factor():
    cache, X = FactorCache(0.01), np.random.default_rng(0).random((5, 2))
    first = cache.regressor(Candidate(Matern([0.1, 0.2], nu=1.5), label="a"), X, 5)
    second = cache.regressor(
        Candidate(Matern(np.array([0.1, 0.2]), nu=1.5), mean=np.sum, label="b"), X, 5
    )
    assert len(cache._held) == 2  # a list is not an array: to be safe
    np.testing.assert_array_equal(first._factor.lower, second._factor.lower)
    third = cache.regressor(Candidate(Matern(np.array([0.1, 0.2]), nu=1.5)), X, 5)
    assert third is second


DIFFERENT = [
    RBF(0.1),
    RBF(0.2),
    RBF([0.1, 0.1]),
    Matern(0.1, nu=0.5),
    Matern(0.1, nu=1.5),
    2.0 * RBF(0.1),
    3.0 * RBF(0.1),
    RBF(0.1) + RBF(0.2),
    RBF(0.1) * RBF(0.2),
    RBF(0.1) ** 2,
    RBF(0.1) ** 3,
    PairwiseKernel(metric="rbf"),
    PairwiseKernel(metric="polynomial", pairwise_kernels_kwargs={"degree": 2}),
    PairwiseKernel(metric="polynomial", pairwise_kernels_kwargs={"degree": 3}),
]


def test_keys_tell_kernels_apart():
    keys = {Candidate(kernel).key for kernel in DIFFERENT}
    assert len(keys) == len(DIFFERENT)
    again = {Candidate(kernel.clone_with_theta(kernel.theta)).key for kernel in [RBF()]}
    assert again == {Candidate(RBF()).key}


def test_label_of_a_candidate():
    assert Candidate(RBF(0.5)).label == "RBF(length_scale=0.5)"
    assert Candidate(RBF(0.5), label="short").label == "short"


@pytest.mark.parametrize("noise", [1e-12, 1e-7])
def test_noise_that_rounding_swallows_breaks_nothing(noise):
    X = np.repeat(np.random.default_rng(0).random((10, 1)), 20, axis=0)
    cache, candidate = FactorCache(noise), Candidate(RBF(0.5))
    for n in (1, 20, 33, 150, 200):
        models = Models(cache, View(X[:n], np.sin(6 * X[:n, 0])))
        mu, sigma = models[candidate].predict(X)
        assert np.isfinite([mu, sigma]).all()
    np.testing.assert_allclose(mu, np.sin(6 * X[:, 0]), atol=1e-3)
    assert models[candidate].information_gain >= 0
    assert models.noise == 1e-6
    assert FactorCache(0.1).noise == 0.1


# Models ------------------------------------------------------------------------------


def test_models_hand_out_one_posterior_for_each_candidate():
    X = np.random.default_rng(0).random((6, 2))
    models = Models(FactorCache(0.1), View(X, np.zeros(6), X_pending=X[:2] / 2))
    a, b = Candidate(RBF(0.2)), Candidate(RBF(0.3))
    assert models[a] is models[a]
    assert models[a] is not models[b]
    assert models[b].candidate is b
    assert (models.n, models[a].n_told, len(models[a].X)) == (6, 6, 8)


def test_prior_mean_is_in_units_of_the_objective():
    X = np.random.default_rng(0).random((6, 2))
    y = 100.0 + 20.0 * X[:, 0]
    candidate = Candidate(RBF(0.2), mean=lambda X: 100.0 + 20.0 * X[:, 0])
    models = Models(
        FactorCache(0.1), View(X, (y - 107.0) / 5.0, shift=107.0, scale=5.0)
    )
    Z = np.random.default_rng(1).random((9, 2))
    mu, _ = models[candidate].predict(Z)
    np.testing.assert_allclose(mu * 5.0 + 107.0, 100.0 + 20.0 * Z[:, 0])


def test_spread_gives_each_column_its_parameter_s_length_scale():
    groups = [np.array([0]), np.array([2, 3]), np.array([1])]
    models = Models(
        FactorCache(0.1), View(np.zeros((1, 4)), np.zeros(1), groups=groups)
    )
    np.testing.assert_array_equal(
        models.spread(np.array([1.0, 2.0, 3.0])), [1.0, 3.0, 2.0, 2.0]
    )
    np.testing.assert_array_equal(models.spread(np.array([0.5])), np.full(4, 0.5))


def test_fit_gives_one_length_scale_or_one_for_each_parameter():
    rng = np.random.default_rng(0)
    X = rng.random((40, 3))
    z = np.sin(8 * X[:, 0]) + 0.1 * X[:, 1]
    groups = [np.array([0]), np.array([1, 2])]
    models = Models(FactorCache(0.01), View(X, z - z.mean(), groups=groups))
    kernel, bounds = Matern(nu=2.5), (0.05, 20.0)
    one = models.fit(kernel, FlatPrior(), bounds, [0.5])
    each = models.fit(kernel, FlatPrior(), bounds, [0.5], per_parameter=True)
    assert one.shape == (1,)
    assert each.shape == (2,)
    assert max(one[0], each[0]) < each[1]


def test_fit_looks_at_told_points_only():
    rng = np.random.default_rng(0)
    X, z = rng.random((20, 2)), rng.standard_normal(20)
    fits = [
        Models(FactorCache(0.1), View(X, z, X_pending=pending)).fit(
            RBF(), FlatPrior(), (0.01, 10.0), [0.3]
        )
        for pending in (None, rng.random((5, 2)))
    ]
    np.testing.assert_array_equal(*fits)


# Finished objects do not change ------------------------------------------------------


@pytest.mark.parametrize("n", [20, 31, 60])
def test_a_posterior_outlives_the_steps_that_follow(n):
    """Whatever the cache does to its factors: add, drop or refactor rows."""
    rng = np.random.default_rng(0)
    X, z, Z = rng.random((90, 2)), rng.standard_normal(90), rng.random((5, 2))
    cache, candidate = FactorCache(0.1), Candidate(Matern(0.4, nu=2.5))

    def seen(first, told, pending):
        view = View(X[:told], z[:told], X_pending=X[told : told + pending])
        return Models(cache, view).since(first)[candidate]

    def said(posterior):
        numbers = [posterior.information_gain, posterior.log_marginal_likelihood]
        return [*posterior.predict(Z), *posterior.gradient(Z), numbers]

    kept, expected = [], []
    for first, told, pending in [(0, n, 4), (0, n, 0), (0, n + 2, 9), (0, n + 25, 1)]:
        kept.append(seen(first, told, pending))
        fresh = Posterior(
            candidate,
            copy.deepcopy(kept[-1].regressor),
            kept[-1].n_told,
            kept[-1].noise,
        )
        expected.append(said(fresh))
    for posterior, before in zip(kept, expected, strict=True):
        for a, b in zip(said(posterior), before, strict=True):
            np.testing.assert_array_equal(a, b)


def test_what_is_finished_cannot_be_set():
    X = np.random.default_rng(0).random((6, 2))
    view = View(X, np.zeros(6))
    models = Models(FactorCache(0.1), view)
    for finished, name in [
        (view, "shift"),
        (models[Candidate(RBF())], "log_weight"),
        (models.timed()[Candidate(RBF())], "now"),
    ]:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(finished, name, 1.0)


def test_views_are_new_and_leave_the_first_as_it_was():
    X = np.random.default_rng(0).random((6, 2))
    models = Models(FactorCache(0.1), View(X, np.arange(6.0), shift=1.0))
    others = [models.seen_as(np.ones(6), np.ones(6)), models.since(2), models.timed()]
    assert [m.z[-1] for m in others] == [1.0, 5.0, 5.0]
    assert [m.n for m in others] == [6, 4, 6]
    assert [m.X.shape[1] for m in others] == [2, 2, 3]
    assert (models.shift, models.scale, models.n) == (1.0, 1.0, 6)
    np.testing.assert_array_equal(models.z, np.arange(6.0))
