"""Kernels: closed forms against scikit-learn, gradients against differences."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    PairwiseKernel,
    RationalQuadratic,
    WhiteKernel,
)

from skrobustbo.kernels import (
    diag_gradient,
    kernel_and_gradient,
    radial,
    smoothness,
    with_length_scale,
)

#: The same examples in every run, however busy the machine is.
REPEATABLE = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
LENGTHS = np.array([0.3, 0.7, 1.5])
CLOSED = {
    "matern-1/2": Matern(0.4, nu=0.5),
    "matern-3/2": Matern(LENGTHS, nu=1.5),
    "matern-5/2": Matern(LENGTHS, nu=2.5),
    "matern-inf": Matern(0.6, nu=np.inf),
    "rbf": RBF(LENGTHS),
    "rbf of one entry": RBF([0.5]),
    "constant": ConstantKernel(0.3),
    "white": WhiteKernel(0.1),
    "sum": RBF(0.3) + Matern(LENGTHS, nu=1.5),
    "product": RBF(LENGTHS) * Matern(0.8, nu=2.5),
    "power": Matern(0.5, nu=2.5) ** 3,
    "root": RBF(0.9) ** 0.5,
    "scaling": 0.25 * Matern(LENGTHS, nu=2.5) + 1e-3 + WhiteKernel(1e-3),
    "nested": (0.5 * RBF(0.5) + 0.5 * Matern(LENGTHS, nu=1.5)) ** 2 * RBF(2.0),
}
DIFFERENCED = {
    "matern-0.7": Matern(0.5, nu=0.7),
    "matern-3.5": Matern(LENGTHS, nu=3.5),
    "rational quadratic": RationalQuadratic(0.5, 1.5),
    "periodic": ExpSineSquared(1.0, 0.6),
    "linear": DotProduct(0.5),
    "mixture": DotProduct(0.5) ** 2 * RBF(LENGTHS) + RationalQuadratic(0.5, 1.0),
    "pairwise": PairwiseKernel(gamma=2.0, metric="rbf"),
}
KERNELS = CLOSED | DIFFERENCED


@pytest.fixture(params=KERNELS)
def kernel(request):
    return KERNELS[request.param]


def points(seed, n, d=3):
    return np.random.default_rng(seed).random((n, d))


def differences(kernel, Z, X, step=1e-5):
    gradient = np.empty((len(Z), len(X), Z.shape[1]))
    for j, e in enumerate(step * np.eye(Z.shape[1])):
        gradient[:, :, j] = (kernel(Z + e, X) - kernel(Z - e, X)) / (2 * step)
    return gradient


@given(seed=st.integers(0, 2**32 - 1))
@settings(REPEATABLE, max_examples=10)
@pytest.mark.parametrize("name", KERNELS)
def test_gradient_equals_central_differences(name, seed):
    kernel = KERNELS[name]
    Z, X = points(seed, 4), points(seed + 1, 6)
    k, gradient = kernel_and_gradient(kernel, Z, X)
    np.testing.assert_allclose(k, kernel(Z, X), rtol=0, atol=1e-14)
    assert gradient.shape == (4, 6, 3)
    # A difference across the kink of Matern-1/2 is off by step / distance.
    away = cdist(Z, X).min() > 0.03
    tolerance = 1e-6 if away else 1e-2
    np.testing.assert_allclose(gradient, differences(kernel, Z, X), atol=tolerance)


def test_gradient_at_a_data_point_is_finite_and_flat_where_smooth(kernel):
    X = points(0, 5)
    _, gradient = kernel_and_gradient(kernel, X, X)
    assert np.isfinite(gradient).all()
    if kernel.is_stationary():
        np.testing.assert_allclose(np.diagonal(gradient), 0.0, atol=1e-4)


def test_gradient_over_no_data_is_empty(kernel):
    if isinstance(kernel, PairwiseKernel):
        pytest.skip("scikit-learn's PairwiseKernel takes no empty sets")
    k, gradient = kernel_and_gradient(kernel, points(0, 4), np.empty((0, 3)))
    assert k.shape == (4, 0)
    assert gradient.shape == (4, 0, 3)


def test_root_of_a_kernel_that_underflows_has_no_slope():
    k, gradient = kernel_and_gradient(
        RBF(0.01) ** 0.5, np.zeros((1, 2)), np.ones((3, 2))
    )
    assert (k == 0).all()
    assert (gradient == 0).all()


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, np.inf])
def test_radial_is_the_kernel_and_its_slope(nu):
    kernel = Matern(nu=nu)
    r = np.linspace(0, 5, 101)
    k, h = radial(kernel, r)
    exact = kernel(np.zeros((1, 1)), r[:, None])[0]
    np.testing.assert_allclose(k, exact, rtol=0, atol=1e-14)
    inner, step = r[5:], 1e-6
    slope = (radial(kernel, inner + step)[0] - radial(kernel, inner - step)[0]) / (
        2 * step
    )
    np.testing.assert_allclose(h[5:], -slope / inner, atol=1e-8)
    assert np.isfinite(h).all()


def test_radial_leaves_its_argument_alone():
    for nu in (0.5, 1.5, 2.5, np.inf):
        r = np.linspace(0, 2, 5)
        radial(Matern(nu=nu), r)
        np.testing.assert_array_equal(r, np.linspace(0, 2, 5))


@pytest.mark.parametrize("kernel", [Matern(nu=0.7), RationalQuadratic(), RBF() + RBF()])
def test_radial_knows_no_other_kernel(kernel):
    assert radial(kernel, np.zeros(1)) is None


@pytest.mark.parametrize(
    ("kernel", "nu"),
    [
        (RBF(0.2), math.inf),
        (Matern(nu=np.inf), math.inf),
        (Matern([0.1, 0.2], nu=1.5), 1.5),
        (Matern(nu=0.7), 0.7),
        (RationalQuadratic(), None),
        (ConstantKernel(), None),
        (2.0 * RBF(), None),
    ],
)
def test_smoothness(kernel, nu):
    assert smoothness(kernel) == nu


@given(seed=st.integers(0, 2**32 - 1))
@settings(REPEATABLE, max_examples=10)
@pytest.mark.parametrize("name", KERNELS)
def test_gradient_of_the_diagonal(name, seed):
    kernel, Z, step = KERNELS[name], points(seed, 4), 1e-5
    gradient = diag_gradient(kernel, Z)
    assert gradient.shape == Z.shape
    for j, e in enumerate(step * np.eye(3)):
        slope = (kernel.diag(Z + e) - kernel.diag(Z - e)) / (2 * step)
        np.testing.assert_allclose(gradient[:, j], slope, atol=1e-6)


# Length scales -----------------------------------------------------------------------


def scales(kernel):
    return {
        name: value
        for name, value in kernel.get_params().items()
        if name.rpartition("__")[2] == "length_scale"
    }


@pytest.mark.parametrize("theta", [0.5, [0.5, 2.0, 1.0]])
def test_with_length_scale_multiplies_every_length_scale(kernel, theta):
    before = scales(kernel)
    scaled = with_length_scale(kernel, theta)
    for name, value in scales(scaled).items():
        single = np.ndim(value) == 0  # takes the geometric mean
        factor = np.exp(np.log(theta).mean()) if single else np.asarray(theta)
        np.testing.assert_allclose(value, before[name] * factor)
    assert repr(scales(kernel)) == repr(before)  # a copy: the argument does not change
    others = kernel.get_params().keys() - before.keys()
    for name in others:
        if np.isscalar(kernel.get_params()[name]):
            assert scaled.get_params()[name] == kernel.get_params()[name]


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5, np.inf])
def test_with_length_scale_stretches_distances(nu):
    theta = np.array([0.5, 2.0, 4.0])
    kernel = 0.5 * Matern(LENGTHS, nu=nu) + RBF(0.3) ** 2 * ConstantKernel(0.1)
    Z, X = points(1, 4), points(2, 5)
    stretched = kernel(Z / theta, X / theta)
    np.testing.assert_allclose(with_length_scale(kernel, theta)(Z, X), stretched)


def test_with_length_scale_of_kernels_with_a_single_one():
    kernel = RationalQuadratic(0.4) + ExpSineSquared(0.8, 0.5) * RBF(1.0)
    scaled = with_length_scale(kernel, [0.25, 1.0])
    assert scaled.k1.length_scale == pytest.approx(0.2)
    assert scaled.k2.k1.length_scale == pytest.approx(0.4)
    assert scaled.k2.k1.periodicity == 0.5
    np.testing.assert_allclose(scaled.k2.k2.length_scale, [0.25, 1.0])


def test_with_length_scale_accepts_length_scales_in_a_list():
    scaled = with_length_scale(Matern([1.0, 2.0]), 0.5)
    np.testing.assert_allclose(scaled.length_scale, [0.5, 1.0])
    scaled(np.zeros((2, 2)))


def test_with_length_scale_leaves_kernels_without_one():
    kernel = DotProduct(0.3) + ConstantKernel(2.0)
    assert with_length_scale(kernel, 0.1) == kernel
