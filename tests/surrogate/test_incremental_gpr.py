"""IncrementalGPR against a fresh GaussianProcessRegressor on the same data."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
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
from sklearn.utils.estimator_checks import estimator_checks_generator

from skrobustbo.surrogate import IncrementalGPR

pytestmark = pytest.mark.usefixtures("one_blas")

#: The same examples in every run, however busy the machine is.
REPEATABLE = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
LENGTHS = np.array([0.3, 1.2])
KERNELS = {
    "matern-1/2": Matern(0.5, nu=0.5),
    "matern-3/2": Matern(0.5, nu=1.5),
    "matern-5/2": Matern(0.5, nu=2.5),
    "anisotropic matern-1/2": Matern(LENGTHS, nu=0.5),
    "anisotropic matern-3/2": Matern(LENGTHS, nu=1.5),
    "anisotropic matern-5/2": Matern(LENGTHS, nu=2.5),
    "rbf": RBF(0.4),
    "anisotropic rbf": RBF(LENGTHS),
    "sum": RBF(0.3) + Matern(LENGTHS, nu=1.5),
    "product": RBF(LENGTHS) * Matern(0.8, nu=2.5),
    "scaled": ConstantKernel(2.5) * Matern(LENGTHS, nu=2.5),
    "shifted": ConstantKernel(0.5) + 0.5 * RBF(0.6),
    "white": Matern(0.5, nu=2.5) + WhiteKernel(1e-2),
    "all": 0.5 * Matern(0.5, nu=1.5) * RBF(2.0) + WhiteKernel(1e-3) + 0.1,
    "linear": DotProduct(0.5) + RationalQuadratic(0.4, 1.0),
    "default": None,
}


def points(rng, n):
    return rng.random((n, 2))


def targets(rng, n, n_targets=None):
    return 3.0 + 2.0 * rng.standard_normal(n if n_targets is None else (n, n_targets))


def fresh(gpr, X, y):
    params = gpr.get_params(deep=False)
    return GaussianProcessRegressor(**params).fit(X, y)


def check(gpr, X, y, tolerance=1e-8):
    """Compare with a regressor that was fitted only to `X` and `y`."""
    other = fresh(gpr, X, y)

    def close(a, b, scale=1.0):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)

    # The weights grow as 1 / alpha, and so does their rounding error.
    close(gpr.alpha_, other.alpha_, np.abs(other.alpha_).max())
    close(gpr.L_, other.L_)
    close(gpr.X_train_, other.X_train_)
    close(gpr.y_train_, other.y_train_)
    Z = np.random.default_rng(1).random((7, X.shape[1]))
    scale = max(1.0, np.abs(y).max())
    close(gpr.predict(Z), other.predict(Z), scale)
    for option in ("return_std", "return_cov"):
        got, expected = (model.predict(Z, **{option: True}) for model in (gpr, other))
        close(got[0], expected[0], scale)
        close(got[1], expected[1], scale)
    # Apart from each other and from the data: a draw turns with the eigenvectors of a
    # covariance, which rounding turns where it is singular.
    far = np.zeros((3, X.shape[1]))
    far[:, :2] = [[1.1, 0.0], [-0.4, 0.6], [0.5, 2.0]]
    draws = [model.sample_y(far, 3, random_state=0) for model in (gpr, other)]
    close(*draws, scale)
    np.testing.assert_allclose(
        gpr.log_marginal_likelihood_value_,
        other.log_marginal_likelihood_value_,
        rtol=tolerance,
    )
    assert gpr.log_marginal_likelihood() == gpr.log_marginal_likelihood_value_
    theta = gpr.kernel_.theta
    for a, b in zip(
        gpr.log_marginal_likelihood(theta, eval_gradient=True),
        other.log_marginal_likelihood(theta, eval_gradient=True),
        strict=True,
    ):
        size = np.abs(b).max(initial=0.0)
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6 * size)


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("partial_fit"), st.integers(1, 9)),
        st.tuples(st.just("retarget"), st.just(0)),
        st.tuples(st.just("truncate"), st.integers(1, 30)),
        st.tuples(st.just("fit"), st.integers(1, 5)),
    ),
    min_size=1,
    max_size=10,
)


@given(
    name=st.sampled_from(list(KERNELS)),
    operations=OPERATIONS,
    seed=st.integers(0, 2**32 - 1),
    noise=st.sampled_from([1e-3, 1e-2, 0.3]),
    normalize_y=st.booleans(),
    n_targets=st.sampled_from([None, 1, 3]),
    checked=st.booleans(),
)
@settings(REPEATABLE, max_examples=80)
def test_any_sequence_equals_a_fresh_fit(
    name, operations, seed, noise, normalize_y, n_targets, checked
):
    rng = np.random.default_rng(seed)
    gpr = IncrementalGPR(KERNELS[name], alpha=noise**2, normalize_y=normalize_y)
    X, y = points(rng, 0), targets(rng, 0, n_targets)
    for operation, n in operations:
        if operation == "partial_fit" or not len(X):
            new = points(rng, max(n, 1)), targets(rng, max(n, 1), n_targets)
            assert gpr.partial_fit(*new) is gpr
            X, y = np.concatenate([X, new[0]]), np.concatenate([y, new[1]])
        elif operation == "retarget":
            y = targets(rng, len(X), n_targets)
            assert gpr.retarget(y) is gpr
        elif operation == "truncate":
            n = min(n, len(X))
            X, y = X[:n], y[:n]
            assert gpr.truncate(n) is gpr
        else:
            X, y = points(rng, n), targets(rng, n, n_targets)
            assert gpr.fit(X, y) is gpr
        if checked:
            check(gpr, X, y)
    check(gpr, X, y)


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (2,)])
def test_one_point(normalize_y, shape):
    gpr = IncrementalGPR(RBF(0.5), alpha=1e-4, normalize_y=normalize_y)
    X, y = np.array([[0.3, 0.4]]), np.full((1, *shape), 2.5)
    check(gpr.partial_fit(X, y), X, y)
    more = points(np.random.default_rng(0), 5)
    gpr.partial_fit(more, np.arange(5 * y.size, dtype=float).reshape(5, *shape))
    check(gpr.truncate(1), X, y)


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_constant_targets(normalize_y, value, shape):
    X = points(np.random.default_rng(0), 12)
    y = np.full((12, *shape), value)
    gpr = IncrementalGPR(RBF(0.5), alpha=1e-4, normalize_y=normalize_y)
    gpr.fit(X[:3], y[:3]).partial_fit(X[3:], y[3:])
    check(gpr, X, y)
    check(gpr.retarget(y + 1.0), X, y + 1.0)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_duplicate_points(normalize_y):
    rng = np.random.default_rng(0)
    X = np.repeat(points(rng, 4), 5, axis=0)
    y = targets(rng, 20)
    gpr = IncrementalGPR(Matern(0.5, nu=2.5), alpha=1e-6, normalize_y=normalize_y)
    for x, value in zip(X, y, strict=True):
        gpr.partial_fit([x], [value])
    check(gpr, X, y)


@pytest.mark.parametrize("alpha", [1e-18, 1e-14, 1e-10])
def test_tiny_noise_does_not_raise(alpha):
    rng = np.random.default_rng(0)
    X = np.concatenate([np.repeat(points(rng, 3), 6, axis=0), points(rng, 20)])
    gpr = IncrementalGPR(RBF(0.5), alpha=alpha).fit(X[:1], [0.0])
    for x in X[1:]:
        gpr.partial_fit([x], [x.sum()])
    gpr.retarget(X.sum(axis=1))
    np.testing.assert_allclose(gpr.predict(X), X.sum(axis=1), atol=0.01)
    assert np.isfinite(gpr.log_marginal_likelihood_value_)


def test_fit_tunes_the_kernel_and_partial_fit_keeps_it():
    rng = np.random.default_rng(0)
    X = points(rng, 20)
    y = np.sin(6 * X[:, 0])
    gpr = IncrementalGPR(
        RBF(0.5, (0.05, 5.0)),
        alpha=1e-4,
        optimizer="fmin_l_bfgs_b",
        n_restarts_optimizer=1,
        random_state=0,
    ).fit(X[:15], y[:15])
    tuned = gpr.kernel_
    assert tuned.length_scale != 0.5
    gpr.partial_fit(X[15:], y[15:])
    assert gpr.kernel_ is tuned
    assert gpr.kernel.length_scale == 0.5
    check(clone(gpr).set_params(kernel=tuned, optimizer=None).fit(X, y), X, y)
    expected = GaussianProcessRegressor(tuned, alpha=1e-4, optimizer=None).fit(X, y)
    np.testing.assert_allclose(gpr.predict(X), expected.predict(X), rtol=1e-8)


def test_kernel_without_vector_input():
    class Edits(RBF):
        """A kernel on strings."""

        requires_vector_input = False

        def __call__(self, X, Y=None, eval_gradient=False):
            return super().__call__(encoded(X), None if Y is None else encoded(Y))

        def diag(self, X):
            return np.ones(len(X))

    def encoded(X):
        return np.array([[len(x), x.count("a")] for x in X], dtype=float)

    X, y = np.array(["a", "ab", "aab", "bbb", "abab"]), np.arange(5.0)
    gpr = IncrementalGPR(Edits(1.0), alpha=1e-4).fit(X[:2], y[:2])
    gpr.partial_fit(X[2:], y[2:])
    expected = fresh(gpr, X, y)
    np.testing.assert_allclose(gpr.predict(X), expected.predict(X), rtol=1e-8)


# The estimator's contract ------------------------------------------------------------


def fitted(**params):
    rng = np.random.default_rng(0)
    X, y = points(rng, 8), targets(rng, 8)
    return IncrementalGPR(RBF(0.5), **{"alpha": 1e-4} | params).fit(X, y), X, y


def test_signature_is_that_of_scikit_learn():
    ours = IncrementalGPR().get_params()
    theirs = GaussianProcessRegressor().get_params()
    assert ours == theirs | {"optimizer": None}


def test_clone_and_get_params():
    gpr, _, _ = fitted(normalize_y=True, n_targets=1, random_state=3)
    copied = clone(gpr)
    assert type(copied) is IncrementalGPR
    assert copied.get_params() == gpr.get_params()
    assert not hasattr(copied, "X_train_")


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_go_on_by_themselves(how):
    gpr, X, y = fitted()
    other = how(gpr)
    rng = np.random.default_rng(1)
    X_new, y_new = points(rng, 6), targets(rng, 6)
    other.partial_fit(X_new, y_new)
    check(gpr, X, y)
    check(other, np.concatenate([X, X_new]), np.concatenate([y, y_new]))
    check(other.truncate(8), X, y)
    gpr.partial_fit(X_new[:2], y_new[:2])
    check(gpr, np.concatenate([X, X_new[:2]]), np.concatenate([y, y_new[:2]]))


@pytest.mark.parametrize("copy_X_train", [False, True])
def test_the_caller_may_change_its_targets_afterwards(copy_X_train):
    gpr, X, y = fitted(copy_X_train=copy_X_train)
    given = y + 1.0
    gpr.retarget(given)
    given[:] = np.nan
    check(gpr.truncate(5), X[:5], y[:5] + 1.0)


def test_accepts_lists_and_columns():
    gpr = IncrementalGPR(RBF(0.5), alpha=1e-4)
    gpr.partial_fit([[0, 1], [1, 0]], [[1], [2]])
    gpr.partial_fit([[1, 1]], [[4]]).retarget([[1], [2], [3]])
    check(gpr, np.array([[0, 1], [1, 0], [1, 1]]), np.array([[1.0], [2.0], [3.0]]))


def test_array_alpha_is_refused():
    gpr = IncrementalGPR(alpha=np.full(3, 1e-3))
    for method in (gpr.fit, gpr.partial_fit):
        with pytest.raises(
            ValueError, match=r"'alpha'.*must be a scalar.*shape \(3,\)"
        ):
            method(np.eye(3), np.zeros(3))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(bad):
    gpr, X, y = fitted()
    with pytest.raises(ValueError, match="contains"):
        gpr.partial_fit([[bad, 0.0]], [0.0])
    with pytest.raises(ValueError, match="contains"):
        gpr.partial_fit([[0.0, 0.0]], [bad])
    with pytest.raises(ValueError, match="finite targets"):
        gpr.retarget([*y[:-1], bad])
    check(gpr, X, y)


def test_shapes_that_do_not_fit_are_refused():
    gpr, X, y = fitted()
    with pytest.raises(ValueError, match="features"):
        gpr.partial_fit([[0.0]], [0.0])
    with pytest.raises(ValueError, match="inconsistent"):
        gpr.partial_fit([[0.0, 0.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match=r"shape \(1,\), as in fit, got \(1, 2\)"):
        gpr.partial_fit([[0.0, 0.0]], [[0.0, 1.0]])
    for bad in (y[:-1], [*y, 0.0], np.stack([y, y], axis=1), 1.0):
        with pytest.raises(ValueError, match=r"finite targets of shape \(8,\)"):
            gpr.retarget(bad)
    for bad in (0, -1, 9):
        with pytest.raises(ValueError, match="between 1 and 8 points"):
            gpr.truncate(bad)
    with pytest.raises(TypeError):
        gpr.truncate(2.5)
    check(gpr.retarget(y), X, y)


def test_a_kernel_that_fails_leaves_the_model_as_it_was():
    class Fragile(RBF):
        broken = False

        def __call__(self, X, Y=None, eval_gradient=False):
            if Fragile.broken:
                raise ZeroDivisionError
            return super().__call__(X, Y, eval_gradient)

    rng = np.random.default_rng(0)
    X, y = points(rng, 6), targets(rng, 6)
    gpr = IncrementalGPR(Fragile(0.5), alpha=1e-4).fit(X[:4], y[:4])
    Fragile.broken = True
    with pytest.raises(ZeroDivisionError):
        gpr.partial_fit(X[4:], y[4:])
    Fragile.broken = False
    check(gpr, X[:4], y[:4])
    check(gpr.partial_fit(X[4:], y[4:]), X, y)


def test_rows_that_break_the_kernel_matrix_leave_the_model_as_it_was():
    rng = np.random.default_rng(0)
    X, y = rng.random((3, 5)), targets(rng, 3)
    many = rng.random((200, 5))
    # Positive definite in one dimension only: some rows are taken before one fails.
    gpr = IncrementalGPR(ExpSineSquared(1.0, 0.5), alpha=1e-4).fit(X[:2], y[:2])
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        gpr.partial_fit(many, targets(rng, 200))
    for n in (2, 3):
        expected = fresh(gpr, X[:n], y[:n]).predict(many)
        np.testing.assert_allclose(gpr.predict(many), expected, rtol=1e-8)
        gpr.partial_fit(X[2:], y[2:])


@pytest.mark.parametrize("method", ["retarget", "truncate"])
def test_methods_that_need_a_fit(method):
    with pytest.raises(ValueError, match="not fitted"):
        getattr(IncrementalGPR(), method)(1)


# GaussianProcessRegressor itself passes all of these.
CHECKS = list(estimator_checks_generator(IncrementalGPR()))


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[check.func.__name__ for _, check in CHECKS]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
