"""Kernels on some columns and on finite sets, and the contract of all new kernels."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from skrobustbo.kernels import (
    AdditiveKernel,
    EmpiricalKernel,
    ForgettingKernel,
    SubsetKernel,
    WienerKernel,
    diag_gradient,
    kernel_and_gradient,
    with_length_scale,
)
from skrobustbo.surrogate import Candidate, IncrementalGPR

#: Points have two columns of space, one that numbers the members of a set, and time.
COVARIANCE = np.cov(np.random.default_rng(0).normal(size=(5, 9)))
SPACE = Matern([0.3, 0.7], nu=2.5)
ALL = [0.3, 0.7, 2.0, 5.0]
SENSORS = SubsetKernel(EmpiricalKernel(COVARIANCE), [2])
KERNELS = {
    "subset": SubsetKernel(SPACE, [1, 0]),
    "subset of one": SubsetKernel(RBF(0.4), (-1,)),
    "subset of a subset": SubsetKernel(SubsetKernel(RBF(0.4), [1]), [3, 0]),
    "subset without gradients": SubsetKernel(RationalQuadratic(0.5, 2.0), [0, 1]),
    "additive": AdditiveKernel(Matern(ALL, nu=2.5), [(0,), (1, 2)]),
    "additive, one group": AdditiveKernel(RBF(ALL), [range(4)]),
    "additive, overlapping": AdditiveKernel(RBF(0.5), [(0, 1), [1, 3], (-1,)]),
    "additive, not stationary": AdditiveKernel(
        0.5 * DotProduct(0.5) ** 2 + RBF(0.5) * RationalQuadratic(0.5, 2.0),
        [(0,), (1, 2)],
    ),
    "additive with noise": AdditiveKernel(RBF(0.5) + WhiteKernel(0.1), [(0,), (1,)]),
    "additive with time": AdditiveKernel(RBF(0.5) * WienerKernel(0.3), [(0,), (1, 3)]),
    "empirical": SENSORS,
    "forgetting": ForgettingKernel(0.2),
    "no forgetting": ForgettingKernel(0.0),
    "wiener": WienerKernel(0.3),
    "no injection": WienerKernel(0.0),
    "space and time": SubsetKernel(AdditiveKernel(SPACE, [[0], [1]]), [0, 1])
    * ForgettingKernel(0.1),
    "sensors in time": SENSORS * WienerKernel(0.1),
    "all": (SubsetKernel(SPACE, [0, 1]) + SENSORS) ** 2 * (0.5 * WienerKernel(0.1))
    + ForgettingKernel(0.1) ** 3,
}
SET, TIME = 2, 3


@pytest.fixture(params=KERNELS)
def kernel(request):
    return clone(KERNELS[request.param])


def points(seed, n):
    rng = np.random.default_rng(seed)
    return np.column_stack(
        [rng.random((n, 2)), rng.integers(0, 5, n), rng.integers(1, 30, n)]
    )


# The contract of scikit-learn's kernels ----------------------------------------------


def test_copies_are_equal_and_apart(kernel):
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert repr(copy) == repr(kernel)
        assert copy.get_params().keys() == kernel.get_params().keys()
        np.testing.assert_array_equal(copy(points(0, 6)), kernel(points(0, 6)))
        if kernel.n_dims:
            copy.theta = copy.theta + 0.1
            assert copy != kernel


def test_repr_names_all_that_tells_kernels_apart():
    texts = [repr(kernel) for kernel in KERNELS.values()]
    assert len(set(texts)) == len(texts)
    assert repr(KERNELS["subset"]) == (
        "SubsetKernel(Matern(length_scale=[0.3, 0.7], nu=2.5), dims=[1, 0])"
    )
    assert repr(AdditiveKernel(RBF(), [(0,), (1, 2)])) == (
        "AdditiveKernel(RBF(length_scale=1), groups=[(0,), (1, 2)])"
    )
    assert repr(EmpiricalKernel(COVARIANCE)) == "EmpiricalKernel(<5 points>)"
    assert repr(ForgettingKernel(0.2)) == "ForgettingKernel(epsilon=0.2, column=-1)"
    assert repr(WienerKernel(0.2, column=0)) == "WienerKernel(variance=0.2, column=0)"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SubsetKernel(RBF(), [0]), SubsetKernel(RBF(), [1])),
        (SubsetKernel(RBF(), [0, 1]), SubsetKernel(RBF(), [1, 0])),
        (SubsetKernel(RBF(), [0]), SubsetKernel(RBF(), [0, 1])),
        (SubsetKernel(RBF(), [0]), SubsetKernel(RBF(2.0), [0])),
        (SubsetKernel(RBF(), [0]), RBF()),
        (AdditiveKernel(RBF(), [(0,)]), AdditiveKernel(RBF(), [(0,), (1,)])),
        (AdditiveKernel(RBF(), [(0,)]), AdditiveKernel(RBF(2.0), [(0,)])),
        (AdditiveKernel(RBF(), [(0,)]), SubsetKernel(RBF(), [0])),
        (EmpiricalKernel(np.eye(2)), EmpiricalKernel(np.eye(3))),
        (EmpiricalKernel(np.eye(1)), EmpiricalKernel(np.eye(1), [[0.0]])),
        (EmpiricalKernel(np.eye(1), [[1.0]]), EmpiricalKernel(np.eye(1), [[0.0]])),
        (ForgettingKernel(0.1), ForgettingKernel(0.2)),
        (ForgettingKernel(0.1), ForgettingKernel(0.1, column=0)),
        (ForgettingKernel(0.0), WienerKernel(0.0)),
    ],
)
def test_different_kernels_are_unequal(one, other):
    assert one != other
    assert other != one


def test_equality_is_of_content():
    assert SubsetKernel(RBF(), [0, 2]) == SubsetKernel(RBF(), np.array([0, 2]))
    assert AdditiveKernel(RBF(), [(0,), (1, 2)]) == AdditiveKernel(
        RBF(), (range(1), np.array([1, 2]))
    )
    assert EmpiricalKernel(np.eye(2)) == EmpiricalKernel([[1, 0], [0, 1]])
    assert EmpiricalKernel(np.eye(1), [[3]]) == EmpiricalKernel([[1]], np.array([[3]]))


def test_hyperparameters_are_those_of_the_parts(kernel):
    names = [h.name for h in kernel.hyperparameters if not h.fixed]
    values = [kernel.get_params()[name] for name in names]
    expected = np.log(np.hstack(values)) if values else []
    np.testing.assert_allclose(kernel.theta, expected)
    assert kernel.bounds.size == 2 * kernel.n_dims
    if kernel.n_dims:
        assert (kernel.bounds[:, 0] < kernel.theta).all()
        assert (kernel.theta < kernel.bounds[:, 1]).all()
    moved = kernel.clone_with_theta(kernel.theta - 0.1)
    np.testing.assert_allclose(moved.theta, kernel.theta - 0.1)


def test_nested_hyperparameters_by_name():
    kernel = AdditiveKernel(ConstantKernel(0.5) * RBF([0.1, 0.2]), [(0,), (1,)])
    names = ["kernel__k1__constant_value", "kernel__k2__length_scale"]
    assert [h.name for h in kernel.hyperparameters] == names
    np.testing.assert_allclose(kernel.theta, np.log([0.5, 0.1, 0.2]))
    kernel.set_params(kernel__k1__constant_value=0.25, groups=[(0, 1)])
    np.testing.assert_allclose(kernel.diag(np.zeros((2, 2))), 0.25)
    fixed = SubsetKernel(RBF(0.2, "fixed"), [0])
    assert fixed.n_dims == 0
    assert fixed.hyperparameters[0].fixed
    assert fixed(np.zeros((2, 2)), eval_gradient=True)[1].shape == (2, 2, 0)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("name", KERNELS)
def test_gradient_in_the_hyperparameters(name, seed):
    kernel, X, step = KERNELS[name], points(seed, 6), 1e-5
    K, gradient = kernel(X, eval_gradient=True)
    np.testing.assert_array_equal(K, kernel(X))
    assert gradient.shape == (6, 6, kernel.n_dims)
    for j, e in enumerate(step * np.eye(kernel.n_dims)):
        up, down = (kernel.clone_with_theta(kernel.theta + s * e) for s in (1, -1))
        slope = (up(X) - down(X)) / (2 * step)
        np.testing.assert_allclose(gradient[:, :, j], slope, rtol=1e-6, atol=1e-8)


def test_gradient_is_refused_between_two_sets(kernel):
    with pytest.raises(ValueError, match="Y"):
        kernel(points(0, 3), points(1, 4), eval_gradient=True)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 12))
@settings(max_examples=15, deadline=None)
@pytest.mark.parametrize("name", KERNELS)
def test_covariances_are_symmetric_and_positive_semidefinite(name, seed, n):
    kernel, X = KERNELS[name], points(seed, n)
    X = np.concatenate([X, X[:1]])  # a repeated point
    K = kernel(X)
    np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(K)[0] > -1e-10 * max(1, np.abs(K).max())
    np.testing.assert_allclose(np.diagonal(K), kernel.diag(X), rtol=1e-12)
    if kernel.is_stationary():
        np.testing.assert_allclose(kernel.diag(X), kernel.diag(X)[0])


def test_two_sets(kernel):
    X, Y = points(0, 4), points(1, 3)
    K = kernel(X, Y)
    assert K.shape == (4, 3)
    whole = kernel(np.concatenate([X, Y]))[:4, 4:]
    np.testing.assert_allclose(K, whole, rtol=1e-12)
    np.testing.assert_allclose(kernel(Y, X), K.T, rtol=1e-12)
    assert kernel(X, np.empty((0, 4))).shape == (4, 0)


def test_stationarity():
    stationary = {name for name, kernel in KERNELS.items() if kernel.is_stationary()}
    assert KERNELS.keys() - stationary == {
        "additive, not stationary",
        "additive with time",
        "empirical",
        "wiener",
        "no injection",
        "sensors in time",
        "all",
    }


# Gradients in x ----------------------------------------------------------------------


def differences(name, function, Z, step=1e-5):
    """Return central differences, zero in a column with only some valid values."""
    held = {SET} if name in ("empirical", "sensors in time", "all") else set()
    gradient = np.zeros((*function(Z).shape, Z.shape[1]))
    for j in set(range(Z.shape[1])) - held:
        e = step * np.eye(Z.shape[1])[j]
        gradient[..., j] = (function(Z + e) - function(Z - e)) / (2 * step)
    return gradient


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("name", KERNELS)
def test_gradient_in_x(name, seed):
    kernel, Z, X = KERNELS[name], points(seed, 4), points(seed + 1, 6)
    k, gradient = kernel_and_gradient(kernel, Z, X)
    np.testing.assert_allclose(k, kernel(Z, X), rtol=1e-12)
    expected = differences(name, lambda Z: kernel(Z, X), Z)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
@pytest.mark.parametrize("name", KERNELS)
def test_gradient_of_the_diagonal(name, seed):
    kernel, Z = KERNELS[name], points(seed, 4)
    expected = differences(name, kernel.diag, Z)
    np.testing.assert_allclose(diag_gradient(kernel, Z), expected, rtol=1e-6, atol=1e-6)


def test_gradient_in_x_with_all_columns_in_groups():
    kernel, rng = AdditiveKernel(Matern(ALL, nu=1.5), [(0, 3), (1, 2)]), np.random
    Z, X = rng.default_rng(0).random((2, 5, 4))
    _, gradient = kernel_and_gradient(kernel, Z, X)
    by_hand = np.zeros_like(gradient)
    for group in ([0, 3], [1, 2]):
        part = Matern(np.array(ALL)[group], nu=1.5)
        by_hand[:, :, group] = kernel_and_gradient(part, Z[:, group], X[:, group])[1]
    np.testing.assert_allclose(gradient, by_hand / 2, rtol=1e-12)


def test_no_gradient_in_columns_that_are_not_seen(kernel):
    subset = SubsetKernel(kernel, [0, 2, 4, 5])
    Z, X = points(0, 3), points(1, 3)
    wide = [np.insert(A, [1, 2], 0.5, axis=1) for A in (Z, X)]
    _, gradient = kernel_and_gradient(subset, *wide)
    assert (gradient[:, :, [1, 3]] == 0).all()
    np.testing.assert_allclose(
        gradient[:, :, [0, 2, 4, 5]], kernel_and_gradient(kernel, Z, X)[1]
    )


# In regressors -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_likelihood_fits(kernel):
    X = points(0, 25)
    y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * X[:, SET] + 0.02 * X[:, TIME]
    held = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, y)
    free = GaussianProcessRegressor(kernel, alpha=0.01, random_state=0).fit(X, y)
    gained = free.log_marginal_likelihood_value_ - held.log_marginal_likelihood_value_
    assert gained > 0 if kernel.n_dims else gained == 0


def test_incremental_regression_equals_a_fresh_fit(kernel):
    X, Z = points(0, 20), points(1, 7)
    y = np.sin(5 * X[:, 0]) + 0.1 * X[:, SET]
    fresh = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(X, y)
    grown = IncrementalGPR(kernel, alpha=0.01).fit(X[:8], y[:8])
    grown.partial_fit(X[8:], y[8:])
    for a, b in zip(fresh.predict(Z, True), grown.predict(Z, True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def test_candidate_models_are_told_apart_by_their_kernels():
    candidates = [Candidate(kernel) for kernel in KERNELS.values()]
    assert len({candidate.key for candidate in candidates}) == len(KERNELS)
    again = Candidate(clone(KERNELS["all"]))
    assert again.key == Candidate(KERNELS["all"]).key


# Subsets -----------------------------------------------------------------------------


def test_subset_is_the_kernel_on_the_columns():
    X, Y = points(0, 5), points(1, 4)
    kernel = SubsetKernel(SPACE, [3, 0])
    np.testing.assert_array_equal(kernel(X), SPACE(X[:, [3, 0]]))
    np.testing.assert_array_equal(kernel(X, Y), SPACE(X[:, [3, 0]], Y[:, [3, 0]]))
    np.testing.assert_array_equal(kernel(X), SubsetKernel(SPACE, (-1, -4))(X))
    np.testing.assert_array_equal(kernel(X.tolist()), kernel(X))


def test_white_noise_inside_counts_on_one_set_only():
    X = points(0, 3)
    kernel = SubsetKernel(RBF() + WhiteKernel(0.5), [0])
    np.testing.assert_allclose(kernel(X) - kernel(X, X), 0.5 * np.eye(3), atol=1e-15)


@pytest.mark.parametrize(
    "dims", [[2], [-3], [0, 0], [0, -2], [], [0.0], [True], "0", 0, None, [[0], [1]]]
)
def test_subset_refuses_what_are_no_columns(dims):
    kernel = SubsetKernel(RBF(), dims)
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match=r"the dims of SubsetKernel .* out of 2"):
            call(np.zeros((3, 2)))


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_sets_of_different_width_are_refused(kernel):
    with pytest.raises(ValueError, match="equally many columns, got 4 and 5"):
        kernel(np.zeros((1, 4)), np.zeros((1, 5)))


# Additive decompositions -------------------------------------------------------------


@pytest.mark.parametrize("groups", [[(0,), (1, 2)], [(0, 1), (1, 2)], [(2,)], [(1,)]])
def test_additive_is_the_mean_over_groups(groups):
    lengths = np.array([0.3, 0.7, 1.5])
    X, Y = np.random.default_rng(0).random((2, 5, 3))
    kernel = AdditiveKernel(Matern(lengths, nu=2.5), groups)
    total = 0
    for group in map(list, groups):
        total += Matern(lengths[group], nu=2.5)(X[:, group], Y[:, group])
    np.testing.assert_allclose(kernel(X, Y), total / len(groups), rtol=1e-13)
    np.testing.assert_allclose((len(groups) * kernel)(X, Y), total, rtol=1e-13)
    np.testing.assert_array_equal(kernel.diag(X), 1.0)


def test_additive_over_one_group_of_all_is_the_kernel():
    X, Y = points(0, 5), points(1, 4)
    base = Matern(ALL, nu=2.5)
    kernel = AdditiveKernel(base, [(2, 0, 1, 3)])
    for one, other in [((X,), {}), ((X, Y), {}), ((X,), {"eval_gradient": True})]:
        for a, b in zip(kernel(*one, **other), base(*one, **other), strict=True):
            np.testing.assert_array_equal(a, b)


def test_additive_of_linear_functions_is_linear():
    X = np.random.default_rng(0).random((5, 3))
    kernel = 3 * AdditiveKernel(DotProduct(0.0, "fixed"), [(0,), (1,), (2,)])
    np.testing.assert_allclose(kernel(X), X @ X.T)


def test_additive_ignores_columns_in_no_group():
    X = points(0, 5)
    moved = X + np.array([0, 0, 1, 1])
    kernel = AdditiveKernel(RBF(0.5), [(0,), (1,)])
    np.testing.assert_array_equal(kernel(X), kernel(moved))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([(0, 2)], "a group of AdditiveKernel .* out of 2, got"),
        ([(0, 0)], "a group of AdditiveKernel"),
        ([()], "a group of AdditiveKernel"),
        ([0, 1], "a group of AdditiveKernel .* got 0"),
        ([(0, 1), (1, 0)], "different groups"),
        ([], "different groups"),
        (None, "different groups"),
    ],
)
def test_additive_refuses_what_are_no_groups(groups, message):
    kernel = AdditiveKernel(RBF(), groups)
    for call in (kernel, kernel.diag):
        with pytest.raises(ValueError, match=message):
            call(np.zeros((3, 2)))


# Length scales -----------------------------------------------------------------------


@pytest.mark.parametrize("theta", [0.5, [0.5, 2.0, 4.0, 8.0]])
@pytest.mark.parametrize("name", ["subset", "subset of one", "subset of a subset"])
def test_with_length_scale_stretches_subsets(name, theta):
    X, Y = points(0, 5), points(1, 4)
    scaled = with_length_scale(KERNELS[name], theta)
    np.testing.assert_allclose(scaled(X, Y), KERNELS[name](X / theta, Y / theta))


@pytest.mark.parametrize("theta", [0.5, [0.5, 2.0, 4.0, 8.0]])
@pytest.mark.parametrize("groups", [[(0,), (1, 2)], [(0, 1), (1, 3)]])
@pytest.mark.parametrize("scale", [0.6, ALL])
def test_with_length_scale_stretches_additive_kernels(groups, theta, scale):
    X, Y = points(0, 5), points(1, 4)
    kernel = AdditiveKernel(Matern(scale, nu=2.5), groups)
    scaled = with_length_scale(kernel, theta)
    assert kernel == AdditiveKernel(Matern(scale, nu=2.5), groups)  # left alone
    np.testing.assert_allclose(scaled(X, Y), kernel(X / theta, Y / theta))


def test_with_length_scale_gives_subsets_what_is_theirs():
    kernel = SubsetKernel(
        AdditiveKernel(RBF(1.0) + RationalQuadratic(1.0), [(0,), (1,)]), [2, 0]
    )
    scaled = with_length_scale(kernel * ForgettingKernel(0.1), [4.0, 99.0, 1.0])
    assert scaled.k2 == ForgettingKernel(0.1)
    np.testing.assert_allclose(scaled.k1.kernel.kernel.k1.length_scale, [1.0, 4.0])
    assert scaled.k1.kernel.kernel.k2.length_scale == pytest.approx(2.0)


def test_with_length_scale_leaves_kernels_without_one():
    for name in ("empirical", "forgetting", "wiener", "sensors in time"):
        for theta in (0.1, [0.1, 0.2, 0.3, 0.4]):
            assert with_length_scale(KERNELS[name], theta) == KERNELS[name]


def test_with_length_scale_refuses_too_few():
    with pytest.raises(ValueError, match="out of 1, got"):
        with_length_scale(KERNELS["subset"], [0.5])


# Finite sets -------------------------------------------------------------------------


def test_empirical_reads_the_matrix_by_index():
    rows, columns = [3, 0, 0, 4], [1, 3]
    X, Y = np.array(rows)[:, None], np.array(columns)[:, None]
    kernel = EmpiricalKernel(COVARIANCE)
    np.testing.assert_allclose(kernel(X), COVARIANCE[np.ix_(rows, rows)])
    np.testing.assert_allclose(kernel(X, Y), COVARIANCE[np.ix_(rows, columns)])
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(COVARIANCE)[rows])


def test_empirical_finds_rows_up_to_rounding():
    places = np.random.default_rng(1).random((5, 3))
    kernel = EmpiricalKernel(COVARIANCE.tolist(), places.tolist())
    order = [4, 2, 2, 0]
    X = places[order] + 1e-12
    np.testing.assert_allclose(kernel(X), COVARIANCE[np.ix_(order, order)])
    for stranger in (places[:1] + 1e-3, np.full((1, 3), 7.0)):
        with pytest.raises(ValueError, match=r"points among the 5 .* got \["):
            kernel(np.concatenate([places, stranger]))


def test_empirical_of_one_point():
    kernel = EmpiricalKernel([[0.5]])
    np.testing.assert_array_equal(kernel(np.zeros((2, 1))), np.full((2, 2), 0.5))


def test_empirical_takes_covariances_of_low_rank():
    records = np.random.default_rng(0).normal(size=(40, 3))
    K = np.cov(records)
    assert np.linalg.matrix_rank(K) == 2
    kernel = EmpiricalKernel(K)
    np.testing.assert_allclose(kernel(np.arange(40)[:, None]), K)
    np.testing.assert_array_equal(EmpiricalKernel(np.zeros((2, 2)))([[0], [1]]), 0.0)


def test_empirical_removes_rounding():
    K = COVARIANCE.copy()
    K[0, 1] += 1e-10
    found = EmpiricalKernel(K)(np.arange(5)[:, None])
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, COVARIANCE, atol=1e-10)


def test_empirical_looks_at_an_array_once(monkeypatch):
    seen = []
    cholesky = np.linalg.cholesky
    monkeypatch.setattr(
        np.linalg, "cholesky", lambda K: seen.append(len(K)) or cholesky(K)
    )
    kernel, X = EmpiricalKernel(np.eye(2)), np.array([[0], [1]])
    kernel(X), kernel(X, X), kernel.diag(X)
    assert seen == [2]
    kernel.set_params(K=2 * np.eye(2))
    np.testing.assert_array_equal(kernel(X), 2 * np.eye(2))
    assert seen == [2, 2]
    kernel.set_params(X=[[5.0], [6.0]])
    np.testing.assert_array_equal(kernel([[6.0]]), [[2.0]])


@pytest.mark.parametrize(
    ("K", "message"),
    [
        ([[1.0, 0.5], [0.4, 1.0]], "symmetric, got .* differ by 0.1"),
        ([[1.0, np.nan], [np.nan, 1.0]], "2 entries not finite"),
        ([[np.inf, 0.0], [0.0, 1.0]], "1 entries not finite"),
        ([[1.0, 2.0], [2.0, 1.0]], "semidefinite, got a smallest eigenvalue of -1;"),
        ([[-1.0]], "semidefinite"),
        ([[1.0, 0.0]], r"square matrix .* got shape \(1, 2\)"),
        ([1.0], "square matrix"),
        (np.empty((0, 0)), "square matrix"),
    ],
)
def test_empirical_refuses_what_is_no_covariance(K, message):
    with pytest.raises(ValueError, match=message):
        EmpiricalKernel(K)(np.zeros((1, 1)))


@pytest.mark.parametrize(
    "X",
    [
        [[0.0]],
        [[0.0], [0.0]],
        [0.0, 1.0],
        [[0.0], [1.0], [2.0]],
        [[0.0], [np.nan]],
        [[[0.0]], [[1.0]]],
    ],
)
def test_empirical_refuses_points_that_do_not_fit(X):
    with pytest.raises(ValueError, match="2 different points, one for each row of K"):
        EmpiricalKernel(np.eye(2), X)(np.zeros((1, 1)))


@pytest.mark.parametrize("index", [-1, 2, 0.5])
def test_empirical_refuses_other_indices(index):
    with pytest.raises(ValueError, match="points among the 2"):
        EmpiricalKernel(np.eye(2))([[index]])


def test_empirical_refuses_other_columns():
    with pytest.raises(ValueError, match=r"1 columns, got 2; .* SubsetKernel"):
        EmpiricalKernel(np.eye(2))(np.zeros((3, 2)))
