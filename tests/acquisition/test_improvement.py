"""Expected improvement and its logarithm."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from skrobustbo.acquisition import EI, LogEI
from skrobustbo.acquisition._functions import log_improvement
from skrobustbo.surrogate import Candidate, FactorCache, Models, View

pytestmark = pytest.mark.usefixtures("one_blas")

#: a, log h(a), Phi(a) / h(a) and phi(a) / h(a), computed with 80 digits.
EXACT = np.array(
    [
        (-1e6, -500000000028.55, 1000000.000002, 1000000000003.0),
        (-1000.0, -500014.7344520912, 1000.001999994, 1000002.999994),
        (-150.0, -11260.940342434, 150.0133315561084, 22502.99973341626),
        (-100.0001, -5010.139580804649, 100.0200939842139, 10003.01940043078),
        (-99.9999, -5010.119576805848, 100.0198940241779, 10002.97940042839),
        (-37.5, -711.2947484475127, 37.55322011798027, 1409.24575442426),
        (-10.0, -55.55312203612236, 10.19438303341255, 102.9438303341255),
        (-1.0, -2.485121025712641, 1.904271233329692, 2.904271233329692),
        (-1e-9, -0.9189385344579869, 1.253314137886297, 1.000000001253314),
        (0.0, -0.9189385332046727, 1.2533141373155, 1.0),
        (0.5, -0.3598276837450638, 0.99092271800411, 0.504538640997945),
        (3.0, 1.098739665327708, 0.3328409684517952, 0.001477094644614293),
        (50.0, 3.912023005428146, 0.02, 0.0),
    ]
)


def posterior(seed=0, n=15):
    rng = np.random.default_rng(seed)
    X, z = rng.random((n, 3)), rng.standard_normal(n)
    return Models(FactorCache(0.1), View(X, z))[Candidate(Matern(0.4, nu=2.5))]


@pytest.fixture
def Z():
    return np.random.default_rng(1).random((50, 3))


class Certain:
    """A belief without uncertainty: given means, zero deviation."""

    length_scales = np.ones(1)

    def predict(self, Z):
        return Z[:, 0], np.zeros(len(Z))

    def gradient(self, Z):
        return *self.predict(Z), np.ones((len(Z), 1)), np.zeros((len(Z), 1))


def test_improvement_is_exact_in_the_middle_and_far_out():
    a, *expected = EXACT.T
    for found, exact in zip(log_improvement(a), expected, strict=True):
        np.testing.assert_allclose(found, exact, rtol=3e-10)


@pytest.mark.filterwarnings("error")
def test_improvement_grows_without_overflow_and_its_slope_is_the_cdf():
    a = np.concatenate([-np.logspace(9, -9, 800), np.logspace(-9, 9, 800)])
    log_h, cdf, pdf = log_improvement(a)
    assert (np.diff(log_h) > 0).all()
    assert (cdf > 0).all()
    assert (pdf >= 0).all()
    # h = phi + a Phi, in units of h. The terms cancel far below.
    near = a > -30
    np.testing.assert_allclose((pdf + a * cdf)[near], 1.0, rtol=1e-9)
    for i in range(0, len(a), 40):  # one by one, by the short way if possible
        found = np.ravel(log_improvement(a[i : i + 1]))
        np.testing.assert_allclose(found, [log_h[i], cdf[i], pdf[i]], rtol=1e-9)


def test_logarithm_is_that_of_the_improvement(Z):
    model = posterior()
    for incumbent in (-2.0, 0.0, 1.5):
        np.testing.assert_allclose(
            np.exp(LogEI(model, incumbent)(Z)), EI(model, incumbent)(Z), rtol=1e-9
        )


@pytest.mark.parametrize("incumbent", [-3.0, 0.5, 4.0, 300.0])
def test_gradient_equals_central_differences(incumbent, Z):
    acq, step = LogEI(posterior(), incumbent), 1e-5
    values, gradient = acq.with_gradient(Z)
    np.testing.assert_allclose(values, acq(Z), rtol=1e-9)
    for j, e in enumerate(step * np.eye(3)):
        slope = (acq(Z + e) - acq(Z - e)) / (2 * step)
        np.testing.assert_allclose(gradient[:, j], slope, rtol=1e-4, atol=1e-4)


def test_there_is_a_way_up_where_the_improvement_is_no_number(Z):
    model = posterior()
    assert (EI(model, 100.0)(Z) == 0).all()
    values, gradient = LogEI(model, 100.0).with_gradient(Z)
    assert np.isfinite(values).all()
    assert (np.abs(gradient).max(axis=1) > 0).all()


def test_certainty_is_the_worst_below_the_incumbent_and_no_error():
    values, gradient = LogEI(Certain(), 0.5).with_gradient(np.array([[0.2], [0.7]]))
    assert np.isfinite(values).all()
    assert np.isfinite(gradient).all()
    assert values[0] < -1e20
    np.testing.assert_allclose(values[1], np.log(0.2))


def test_length_scales_are_those_of_the_posterior():
    model = posterior()
    np.testing.assert_array_equal(LogEI(model, 0.0).length_scales, model.length_scales)
