"""Climbs from single points: where they start and end."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from skrobustbo import Optimizer, Real
from skrobustbo.acquisition import Maximizer
from skrobustbo.acquisition._maximizer import Within, distances
from skrobustbo.policies._climbs import _is_full, ranks, tops
from skrobustbo.policies._models import length_scale_candidate
from skrobustbo.space import Space
from skrobustbo.surrogate import FactorCache, Models, View

SPACE = Space({"a": Real(0, 1), "b": Real(0, 1)})
KERNEL = Matern(nu=2.5)
#: Half the side of the boxes.
RADIUS = 0.1


def hill(X):
    return np.exp(-2 * ((X - 0.3) ** 2).sum(axis=1))


def modelled(X, z, theta=0.7):
    """Return models of some values, and the posterior for one length scale."""
    view = View(X, (z - z.mean()) / z.std(), groups=SPACE.groups)
    models = Models(FactorCache(0.01), view)
    candidate = length_scale_candidate(KERNEL, models.spread(np.full(2, theta)))
    return models, models[candidate]


@pytest.fixture
def surprising():
    """Values of a hill with one that does not fit: the last but one."""
    X = np.random.default_rng(0).random((30, 2))
    X[28] = 0.9, 0.9
    X[29] = 0.3, 0.3
    z = hill(X)
    z[28] += 0.3
    return X, z


@pytest.mark.parametrize("block", [[28], [0, 28, 3]])
def test_residuals_are_those_of_the_others_predictions(surprising, block):
    X, z = surprising
    models, posterior = modelled(X, z)
    (residuals,) = posterior.residuals([np.array(block)])
    others = np.setdiff1d(np.arange(30), block)
    without = Models(FactorCache(0.01), View(X[others], models.z[others]))
    mean, _ = without[posterior.candidate].predict(X[block])
    np.testing.assert_allclose(residuals, models.z[block] - mean, atol=1e-6)


def test_a_posterior_of_other_targets_is_that_of_a_model_that_was_told_them(surprising):
    X, z = surprising
    models, posterior = modelled(X, z)
    squared = models.seen_as(models.z**2, 2 * models.z)[posterior.candidate]
    other = posterior.of_targets(models.z**2)
    np.testing.assert_allclose(other.told_targets, models.z**2)
    np.testing.assert_allclose(other.predict(X + 0.1), squared.predict(X + 0.1))
    np.testing.assert_allclose(posterior.told_targets, models.z)


def test_ranks_are_shares_of_the_weights_below():
    z = np.array([3.0, 1.0, 1.0 + 1e-9, -2.0])
    shares = ranks(z, np.array([2.0, 1.0, 1.0, 4.0])) / np.sqrt(12) + 0.5
    np.testing.assert_allclose(shares, [7 / 8, 5 / 8, 5 / 8, 2 / 8])
    even = ranks(np.random.default_rng(0).random(4000), np.ones(4000))
    assert even.std() == pytest.approx(1.0, abs=1e-3)


def test_climbs_begin_at_what_stands_out_and_the_best_comes_last(surprising):
    _, posterior = modelled(*surprising)
    found = list(tops(posterior, RADIUS, 2))
    assert found[0].row == 28
    assert found[-1].row == 29
    assert [top.free for top in found] == [True] * (len(found) - 1) + [False]
    assert {top.radius for top in found[:-1]} == {RADIUS}


def test_what_stands_out_does_not_depend_on_how_high_the_hills_are():
    X = np.random.default_rng(0).random((40, 2))
    X[39] = 0.9, 0.9
    found = []
    for height in (1.0, 100.0):
        z = height * np.maximum(hill(X) - 0.8, 0.0)
        z[39] = 1e-3  # slightly above a plain
        found.append([top.row for top in tops(modelled(X, z)[1], RADIUS, 2)])
    assert found[0] == found[1]
    assert 39 in found[0]


def test_there_is_no_climb_below_a_better_point_nearby(surprising):
    X, z = surprising
    X[0], z[0] = X[28] + 0.05, z[28] + 0.1
    _, posterior = modelled(X, z)
    assert 28 not in [top.row for top in tops(posterior, RADIUS, 2)]


def test_there_is_no_climb_in_a_box_that_is_full(surprising):
    X, z = surprising
    # The box has room for four points, and contains three.
    for n, climbs in [(1, True), (2, False)]:
        around = X[28] - 0.01 * np.arange(1, n + 1)[:, None]
        lower = z[28] - 0.1 - hill(around)
        _, posterior = modelled(np.concatenate([X, around]), np.concatenate([z, lower]))
        assert (28 in [top.row for top in tops(posterior, RADIUS, 2)]) == climbs


def test_the_box_of_the_best_point_is_halved_when_it_is_full(surprising):
    X, z = surprising
    for n, radius in [(0, RADIUS), (4, RADIUS / 2)]:
        around = X[29] + 0.8 * RADIUS * np.linspace(0.7, 1, n)[:, None]
        more = np.concatenate([X, around]), np.concatenate([z, hill(around)])
        (top,) = tops(modelled(*more)[1], RADIUS, 2, only_best=True)
        assert top.row == 29
        assert top.radius == pytest.approx(radius)
    around = X[29] + 1e-3 * np.arange(1, 9)[:, None]
    more = np.concatenate([X, around]), np.concatenate([z, hill(around)])
    assert list(tops(modelled(*more)[1], RADIUS, 2, only_best=True)) == []


def test_points_along_a_face_do_not_fill_a_box():
    face, around = (
        np.array([[0.09, 0.0]] * 5),
        np.array([[0.09, 0.0]] * 4 + [[0, 0.06]]),
    )
    outside = np.array([[0.2, 0.0]] * 20)
    for points, full in [(face, False), (around, True), (around[:4], False)]:
        assert _is_full(np.concatenate([points, outside]), 0.1, 4) == full
    assert not _is_full(np.concatenate([face, face[:3]]), 0.1, 4)
    assert _is_full(np.concatenate([face, face[:4]]), 0.1, 4)


def test_a_climb_stays_in_its_box(surprising):
    X, z = surprising
    models, posterior = modelled(X, z)
    argmax = Maximizer(SPACE, rng=np.random.default_rng(0), seen=X)
    for top in tops(posterior, RADIUS, 2):
        query = top.climb(models, argmax, KERNEL)
        assert distances(query.x[None, :], X[[top.row]])[0, 0] <= 1.05 * top.radius
        assert query.gain > 0
        assert query.free == (top.row != 29)
        assert query.candidate.label == "climb"


def test_what_is_within_falls_off_outside():
    def plane(Z):
        return Z.sum(axis=1)

    plane.with_gradient = lambda Z: (plane(Z), np.ones_like(Z))
    acq = Within(plane, np.array([0.5, 0.5]), 0.1)
    Z = np.array([[0.5, 0.55], [0.5, 0.8], [0.2, 0.1]])
    values, slopes = acq.with_gradient(Z)
    np.testing.assert_allclose(values, [1.05, 1.3 - 2000, 0.3 - 500 * (4 + 9)])
    np.testing.assert_allclose(acq(Z), values)
    np.testing.assert_allclose(slopes[0], 1.0)
    for j in range(2):
        moved = acq(Z + 1e-7 * np.eye(2)[j])
        np.testing.assert_allclose((moved - values) / 1e-7, slopes[:, j], rtol=1e-4)


def test_the_narrow_peak_of_a_square_is_found():
    """A hill of width 0.35, and a peak twice as high in the opposite corner."""

    def two(params):
        x = np.array([params["a"], params["b"]])
        broad = np.exp(-((x - 0.25) ** 2).sum() / 0.245)
        return max(broad, 1.9 * np.exp(-((x - 0.8) ** 2).sum() / 0.0128))

    found = 0
    for seed in range(6):
        optimizer = Optimizer(SPACE, horizon=55, random_state=seed)
        for _ in range(55):
            params = optimizer.ask()
            optimizer.tell(params, two(params))
        found += optimizer.best_value_ > 1.85
    assert found >= 5
