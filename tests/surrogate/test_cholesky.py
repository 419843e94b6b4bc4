"""The growing Cholesky factor against numpy's."""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
)

from skrobustbo.surrogate._cholesky import CholeskyFactor

pytestmark = pytest.mark.usefixtures("one_blas")

#: The same examples in every run, however busy the machine is.
REPEATABLE = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def positive_definite(rng, n):
    A = rng.standard_normal((n, n))
    return A @ A.T + 0.1 * n * np.eye(n)


def grown(K):
    factor = CholeskyFactor()
    for i in range(len(K)):
        factor.append(K[i, :i], K[i, i])
    return factor


def check(factor, K):
    assert factor.n == len(K)
    L = np.linalg.cholesky(K) if len(K) else np.zeros((0, 0))
    np.testing.assert_allclose(factor.lower, L, rtol=1e-9, atol=1e-9)
    assert (np.triu(factor.lower, 1) == 0).all()
    assert factor.log_diagonal() == pytest.approx(np.log(np.diag(L)).sum(), abs=1e-9)


FULL = positive_definite(np.random.default_rng(0), 600)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 9)),
        st.tuples(st.just("truncate"), st.integers(0, 40)),
        st.tuples(st.just("restart"), st.integers(0, 40)),
    ),
    max_size=15,
)


@given(operations=OPERATIONS)
@settings(REPEATABLE, max_examples=60)
def test_any_sequence_gives_the_factor_of_the_rows_held(operations):
    full, fresh = FULL, iter(range(600))
    factor, held = CholeskyFactor(), []
    for name, n in operations:
        if name == "append":
            for new in itertools.islice(fresh, n):
                factor.append(full[new, held], full[new, new])
                held.append(new)
        elif name == "truncate":
            factor.truncate(n)
            del held[n:]
        else:
            held = list(itertools.islice(fresh, n))
            factor.restart(full[np.ix_(held, held)])
        check(factor, full[np.ix_(held, held)])


@pytest.mark.parametrize("shape", [(7,), (7, 1), (7, 5)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("spare", [0, 4])
def test_solve(shape, order, spare):
    rng = np.random.default_rng(0)
    K = positive_definite(rng, 7 + spare)
    factor = grown(K)
    factor.truncate(7)
    L, B = np.linalg.cholesky(K[:7, :7]), np.asarray(rng.random(shape), order=order)
    given = B.copy()
    np.testing.assert_allclose(factor.solve(B), np.linalg.solve(L, B))
    np.testing.assert_allclose(
        factor.solve(B, transposed=True), np.linalg.solve(L.T, B)
    )
    np.testing.assert_array_equal(B, given)
    assert factor.solve(B).shape == shape


def test_an_empty_factor_solves_nothing():
    factor = CholeskyFactor()
    for shape in ((0,), (0, 3)):
        B = np.empty(shape)
        assert factor.solve(B).shape == shape
        assert factor.solve(B) is not B
    assert factor.log_diagonal() == 0.0
    assert factor.lower.shape == (0, 0)


def test_of_takes_a_factor_over():
    K = positive_definite(np.random.default_rng(0), 30)
    factor = CholeskyFactor.of(np.linalg.cholesky(K[:20, :20]))
    for i in range(20, 30):
        factor.append(K[i, :i], K[i, i])
    check(factor, K)


def test_truncating_to_more_rows_than_there_are_keeps_them():
    factor = grown(np.eye(3))
    factor.truncate(5)
    check(factor, np.eye(3))


@pytest.mark.parametrize("change", ["append", "truncate", "restart", "grow"])
def test_what_is_held_stays_as_it_is(change):
    rng = np.random.default_rng(0)
    K, other = (np.asfortranarray(positive_definite(rng, 12)) for _ in range(2))
    factor = grown(K[:7, :7])
    held = factor.held()
    again = held.held()
    if change == "restart":
        factor.restart(other)
    else:
        n = factor.n if change in ("append", "grow") else 3
        factor.truncate(n)
        for i in range(n, 8 if change == "append" else 12):
            factor.append(K[i, :i] if n == 7 else 2 * other[i, :i] / 9, 9 * K[i, i])
    check(held, K[:7, :7])
    if change == "append":  # not copied if nothing is overwritten
        assert np.shares_memory(held.lower, factor.lower)
    before = factor.lower.copy()
    held.append(K[7, :7], K[7, 7])
    check(held, K[:8, :8])
    check(again, K[:7, :7])
    np.testing.assert_array_equal(factor.lower, before)


def test_log_diagonal_of_the_first_rows():
    K = positive_definite(np.random.default_rng(0), 9)
    expected = np.log(np.diag(np.linalg.cholesky(K)))[:4].sum()
    assert grown(K).log_diagonal(4) == pytest.approx(expected)


def test_restart_leaves_the_matrix_alone():
    K = positive_definite(np.random.default_rng(0), 9)
    given = K.copy()
    CholeskyFactor().restart(K)
    np.testing.assert_array_equal(K, given)


SINGULAR = {
    "rbf": (RBF(0.5), "random"),
    "long rbf": (RBF(20.0), "random"),
    "rbf on a grid": (RBF(0.5), "grid"),
    "duplicates": (Matern(0.5, nu=2.5), "duplicates"),
    "constant": (ConstantKernel(1.0), "random"),
    "linear": (DotProduct(1.0), "random"),
    "large": (1e6 * RBF(0.5), "duplicates"),
    "small": (1e-6 * RBF(0.5), "duplicates"),
}


@pytest.mark.parametrize("name", SINGULAR)
@pytest.mark.parametrize("noise", [1e-15, 1e-14, 1e-12])
@pytest.mark.parametrize("whole", [False, True])
def test_a_singular_matrix_has_a_factor(name, noise, whole):
    kernel, kind = SINGULAR[name]
    n = 100
    X = np.random.default_rng(0).random((n, 1))
    if kind == "grid":
        X = np.linspace(0, 1, n)[:, None]
    if kind == "duplicates":
        X = np.repeat(X[:5], n // 5, axis=0)
    scale = kernel.diag(X)[0]
    K = kernel(X) + noise * scale * np.eye(n)
    factor = CholeskyFactor()
    factor.restart(K if whole else K[:1, :1])
    for i in range(factor.n, n):
        factor.append(K[i, :i], K[i, i])
    np.testing.assert_allclose(
        factor.lower @ factor.lower.T, K, rtol=0, atol=2e-8 * scale
    )
    row = kernel(X, np.array([[0.37]]))[:, 0]
    v = factor.solve(row)
    assert v @ v <= scale * (1 + 1e-6)


def test_a_duplicate_without_noise_tells_nothing_new():
    factor = grown(np.ones((50, 50)))
    alpha = factor.solve(factor.solve(np.full(50, 3.0)), transposed=True)
    assert np.ones(50) @ alpha == pytest.approx(3.0, rel=1e-6)


@pytest.mark.parametrize("whole", [False, True])
def test_a_kernel_that_is_none_is_told_from_rounding(whole):
    X = np.random.default_rng(0).random((100, 5))
    K = ExpSineSquared(1.0, 0.5)(X)  # positive definite in one dimension only
    factor = CholeskyFactor()
    with pytest.raises(np.linalg.LinAlgError, match="positive definite kernel"):
        factor.restart(K) if whole else [
            factor.append(K[i, :i], K[i, i]) for i in range(100)
        ]
    assert np.isfinite(factor.lower).all()
