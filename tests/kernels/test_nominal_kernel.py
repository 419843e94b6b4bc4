"""A column of codes is equivalent to one column for each choice."""

import numpy as np
import pytest
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
    diag_gradient,
    kernel_and_gradient,
    radial,
    with_length_scale,
)
from skrobustbo.kernels._gradients import kernel_and_slopes, length_scales
from skrobustbo.kernels._radial import with_nominal

K = 30
#: Columns: a number, a code, a number, another code.
NOMINAL, NUMBERS, ONE_HOT = np.array([1, 3]), [0, 2], [0, 1 + K]
FIRST, SECOND = list(range(1, 1 + K)), list(range(2 + K, 2 + 2 * K))
ALL = [0, *FIRST, 1 + K, *SECOND]
SCALES = np.array([0.4, 0.7, 0.3, 1.5])
SPREAD = SCALES[[0, *[1] * K, 2, *[3] * K]]


def points(n, seed):
    """Return the same points with codes and with a column for each choice."""
    rng = np.random.default_rng(seed)
    numbers, choices = rng.random((n, 2)), rng.integers(K, size=(n, 2))
    coded = np.empty((n, 4))
    coded[:, NUMBERS], coded[:, NOMINAL] = numbers, (choices + 1) / K
    blocks = np.sqrt(0.5) * np.eye(K)[choices]
    one_hot = np.column_stack(
        [numbers[:, 0], blocks[:, 0], numbers[:, 1], blocks[:, 1]]
    )
    return coded, one_hot


def both(kernel):
    return kernel, kernel


KERNELS = {
    "RBF": both(RBF(0.6)),
    "exponential": both(Matern(0.5, nu=0.5)),
    "Matern-3/2": both(Matern(0.8, nu=1.5)),
    "Matern-5/2": (Matern(SCALES, nu=2.5), Matern(SPREAD, nu=2.5)),
    "anisotropic RBF": (RBF(SCALES), RBF(SPREAD)),
    "Matern without closed form": (Matern(SCALES, nu=2.0), Matern(SPREAD, nu=2.0)),
    "rational quadratic": both(RationalQuadratic(0.7, 0.9)),
    "dot product": both(0.2 * DotProduct(0.3)),
    "sum": both(0.5 * RBF(0.4) + 0.3 * Matern(0.9, nu=1.5) + WhiteKernel(0.1)),
    "product": (RBF(SCALES) * Matern(0.9), RBF(SPREAD) * Matern(0.9)),
    "power": both(RBF(0.8) ** 1.5),
    "subset": (
        SubsetKernel(Matern([0.7, 0.4], nu=2.5), [-3, 0]),
        SubsetKernel(Matern([0.7] * K + [0.4], nu=2.5), [*FIRST, 0]),
    ),
    "subset of numbers": (
        SubsetKernel(RBF([0.2, 0.4]), NUMBERS),
        SubsetKernel(RBF([0.2, 0.4]), ONE_HOT),
    ),
    "additive": (
        AdditiveKernel(RBF(SCALES), [[0, 1], [2], [3]]),
        AdditiveKernel(RBF(SPREAD), [[0, *FIRST], [1 + K], SECOND]),
    ),
    "additive dot product": (
        AdditiveKernel(DotProduct(0.3), [[0, 1], [2, 3]]),
        AdditiveKernel(DotProduct(0.3), [[0, *FIRST], [1 + K, *SECOND]]),
    ),
    "constant": both(ConstantKernel(0.7)),
}


@pytest.fixture(params=KERNELS)
def pair(request):
    coded, one_hot = KERNELS[request.param]
    return with_nominal(coded, NOMINAL, 4), one_hot


def test_covariances(pair):
    nominal, kernel = pair
    (X, X1), (Z, Z1) = points(40, 0), points(25, 1)
    np.testing.assert_allclose(nominal(X), kernel(X1), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(nominal(Z, X), kernel(Z1, X1), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(nominal.diag(X), kernel.diag(X1), rtol=1e-12)
    assert nominal.is_stationary() == kernel.is_stationary()


def test_gradients(pair):
    nominal, kernel = pair
    (X, X1), (Z, Z1) = points(40, 0), points(25, 1)
    k, slope = kernel_and_gradient(nominal, Z, X)
    k1, slope1 = kernel_and_gradient(kernel, Z1, X1)
    np.testing.assert_allclose(k, k1, rtol=1e-10, atol=1e-12)
    expected = slope1[:, :, ONE_HOT]
    np.testing.assert_allclose(slope[:, :, NUMBERS], expected, rtol=1e-8, atol=1e-9)
    assert not slope[:, :, NOMINAL].any()
    weights = np.random.default_rng(2).standard_normal(k.shape)
    summed = kernel_and_slopes(nominal, Z, X)[1](weights)
    expected = np.einsum("mn,mnj->mj", weights, slope)
    np.testing.assert_allclose(summed, expected, rtol=1e-9, atol=1e-9)
    at = diag_gradient(nominal, Z)
    np.testing.assert_allclose(at[:, NUMBERS], diag_gradient(kernel, Z1)[:, ONE_HOT])
    assert not at[:, NOMINAL].any()


def test_length_scales_are_stretched_and_known(pair):
    nominal, kernel = pair
    (X, X1), theta = points(20, 0), np.array([0.5, 2.0, 0.7, 1.3])
    factors = theta[[0, *[1] * K, 2, *[3] * K]]
    if "Rational" not in repr(kernel):  # of one length scale, the mean over columns
        stretched = with_length_scale(nominal, theta)(X)
        expected = with_length_scale(kernel, factors)(X1)
        np.testing.assert_allclose(stretched, expected, rtol=1e-10, atol=1e-12)
    expected = length_scales(kernel, 2 + 2 * K)[[0, 1, 1 + K, 2 + K]]
    np.testing.assert_array_equal(length_scales(nominal, 4), expected)


def test_choices_of_one_side_only_are_all_alike():
    kernel = with_nominal(Matern(0.5, nu=2.0), NOMINAL, 4)
    X = points(30, 0)[0]
    Z = np.repeat(X[:1], 2, axis=0)
    Z[:, 1] = 0.501, 0.999  # codes that no row of X has
    one, other = kernel(Z, X)
    np.testing.assert_array_equal(one, other)


def test_kernels_without_codes_are_left_as_they_are():
    time, table = ForgettingKernel(0.1), EmpiricalKernel(np.eye(3))
    for kernel in (time, table, ConstantKernel(), WhiteKernel()):
        assert with_nominal(kernel, NOMINAL, 4) is kernel
    none = np.empty(0, dtype=int)
    kernel = RBF(0.3) + Matern()
    assert with_nominal(kernel, none, 4) is kernel


def test_the_closed_form_is_known():
    r = np.linspace(0, 2, 5)
    nominal = with_nominal(Matern(0.3, nu=1.5), NOMINAL, 4)
    np.testing.assert_array_equal(radial(nominal, r), radial(Matern(nu=1.5), r))
    assert radial(with_nominal(DotProduct(), NOMINAL, 4), r) is None
