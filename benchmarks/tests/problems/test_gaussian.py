"""Sums of kernels, draws of the process and their maxima, against plain formulas."""

import math

import numpy as np
import pytest
from scipy.stats import poisson
from sklearn.gaussian_process.kernels import RBF

from skrobustbo_benchmarks.problems._gaussian import (
    Basis,
    Draw,
    Expansion,
    OfNumber,
    drawn_interpolant,
    gaussian_kernel,
    highest_peaks,
    interpolant,
    maximum,
)

X = np.linspace(0.0, 1.0, 37)


def test_kernel_is_that_of_scikit_learn():
    expected = RBF(0.3)(X[:, None], X[:5, None])
    np.testing.assert_allclose(gaussian_kernel(X, X[:5], 0.3), expected, rtol=1e-12)
    assert gaussian_kernel(0.5, X, 0.3).shape == X.shape


def test_expansion_is_its_sum():
    function = Expansion(np.array([0.2, 0.7]), np.array([1.0, -2.0]), 0.1)
    expected = math.exp(-0.5 * 3.0**2) - 2 * math.exp(-0.5 * 2.0**2)
    assert float(function(0.5)) == pytest.approx(expected, abs=1e-15)
    # |f|^2 = 1 + 4 - 2 * 2 k(0.2, 0.7)
    assert function.norm == pytest.approx(math.sqrt(5 - 4 * math.exp(-12.5)), rel=1e-12)
    assert function.scaled_to(3.0).norm == pytest.approx(3.0, rel=1e-12)


def test_interpolant_meets_its_values():
    centres, values = np.linspace(0, 1, 21), np.sin(7 * np.linspace(0, 1, 21))
    np.testing.assert_allclose(
        interpolant(centres, values, 0.1)(centres), values, atol=1e-10
    )


def test_drawn_interpolant_has_the_law_of_the_process():
    centres, rng = np.linspace(0, 1, 6), np.random.default_rng(0)
    draws = np.array(
        [drawn_interpolant(centres, 0.2, rng)(centres) for _ in range(4000)]
    )
    covariance = draws.T @ draws / len(draws)
    # Five standard errors of an estimate of a variance.
    tolerance = 5 * math.sqrt(2 / 4000)
    expected = gaussian_kernel(centres, centres, 0.2)
    np.testing.assert_allclose(covariance, expected, atol=tolerance)


@pytest.mark.parametrize("theta", [0.05, 0.1, 0.2, 1.0])
def test_basis_sums_to_the_kernel(theta):
    basis = Basis(theta)
    phi = basis(X)
    np.testing.assert_allclose(
        phi @ phi.T, gaussian_kernel(X, X, theta), rtol=0, atol=1e-13
    )
    assert poisson.sf(basis.size - 1, (0.5 / theta) ** 2) <= 2e-16


def test_basis_is_the_formula_of_its_docstring():
    u = (0.8 - 0.5) / 0.2
    expected = [
        math.exp(-(u**2) / 2) * u**n / math.sqrt(math.factorial(n)) for n in range(6)
    ]
    np.testing.assert_allclose(Basis(0.2)(0.8)[:6], expected, rtol=1e-13)


def test_basis_is_orthonormal_in_the_space_of_the_kernel():
    # <phi_m, phi_n> by the reproducing property: with the expansion of phi_n in kernels
    # at many centres, <phi_m, sum_i w_i k(., c_i)> = sum_i w_i phi_m(c_i).
    centres = np.linspace(0.0, 1.0, 15)
    phi = Basis(0.4)(centres)[:, :4]
    weights = np.linalg.lstsq(gaussian_kernel(centres, centres, 0.4), phi, rcond=1e-13)
    np.testing.assert_allclose(phi.T @ weights[0], np.eye(4), atol=1e-3)


def test_derivative_of_the_basis():
    basis, h = Basis(0.2), 1e-6
    expected = (basis(X + h) - basis(X - h)) / (2 * h)
    np.testing.assert_allclose(basis.derivative(X), expected, atol=1e-7)


def test_draws_have_the_law_of_the_process():
    rng, x = np.random.default_rng(1), np.array([0.0, 0.13, 0.5, 0.94, 1.0])
    basis = Basis(0.2)
    z = rng.standard_normal((4000, basis.size))
    draws = np.array([Draw(basis, row)(x) for row in z])
    covariance = draws.T @ draws / len(draws)
    expected = gaussian_kernel(x, x, 0.2)
    np.testing.assert_allclose(covariance, expected, atol=5 * math.sqrt(2 / 4000))
    np.testing.assert_allclose(draws.mean(axis=0), 0, atol=5 / math.sqrt(4000))


def test_maximum_inside_and_at_the_ends():
    value, x = maximum(lambda x: 2 - (np.asarray(x) - 1 / 3) ** 2)
    assert (value, x) == pytest.approx((2.0, 1 / 3), abs=1e-8)
    assert maximum(lambda x: np.asarray(x, float)) == (1.0, 1.0)
    assert maximum(lambda x: -np.asarray(x, float)) == (0.0, 0.0)


def test_maximum_prefers_the_higher_of_two_near_peaks():
    def func(x):
        x = np.asarray(x)
        return np.exp(-(((x - 0.20003) / 0.01) ** 2)) + 0.9999999 * np.exp(
            -(((x - 0.8) / 0.01) ** 2)
        )

    # The lower peak lies on the grid, the higher one between its points.
    assert maximum(func)[1] == pytest.approx(0.20003, abs=1e-7)


def test_highest_peaks_of_a_row_and_of_a_square():
    row = np.array([3.0, 1.0, 2.0, 1.0, 5.0, 4.0])
    assert highest_peaks(row, 2).tolist() == [4, 0]
    square = np.zeros((4, 5)) - np.arange(5)
    square[2, 3] = 2.0
    assert highest_peaks(square, 1).tolist() == [13]


def test_function_of_a_number():
    function = OfNumber(np.square)
    assert function({"x": 3, "other": 1}) == 9.0
    assert type(function({"x": 3})) is float
