"""`models_`: the regressors of a search for its users."""

import math

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern

from skrobustbo import Candidate, Categorical, Optimizer, Real, policies
from skrobustbo.surrogate import IncrementalGPR

#: Whether models contradict the values depends on the initial design, which is
#: irrelevant here.
pytestmark = pytest.mark.filterwarnings("ignore:All candidate models contradict")

NAMES = sorted(policies.available())
SPACES = {
    "one": {"a": Real(-3, 3), "b": Real(1e-4, 1e2, log=True)},
    "choices": {"a": Real(0, 1), "c": Categorical([f"v{i}" for i in range(120)])},
    "branches": [{"a": Real(0, 1)}, {"b": Real(0, 2), "c": Real(0, 1)}],
}


def searched(space, policy, n, **settings):
    optimizer = Optimizer(space, policy, random_state=0, **settings)
    for _ in range(n):
        params = optimizer.ask()
        numbers = [v if isinstance(v, float) else len(v) for v in params.values()]
        optimizer.tell(params, 40.0 + 3 * sum(math.sin(3 * v) for v in numbers))
    return optimizer


def fresh(gpr):
    other = GaussianProcessRegressor(gpr.kernel_, alpha=gpr.alpha, optimizer=None)
    return other.fit(gpr.X_train_, gpr.y_train_)


def assert_as_fresh(gpr):
    other = fresh(gpr)
    Z = np.random.default_rng(0).random((6, gpr.X_train_.shape[1]))
    for a, b in zip(
        gpr.predict(Z, return_std=True), other.predict(Z, return_std=True), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        gpr.log_marginal_likelihood_value_,
        other.log_marginal_likelihood_value_,
        rtol=1e-8,
    )
    assert gpr.sample_y(Z[:2], 3, random_state=0).shape == (2, 3)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", NAMES)
def test_they_are_scikit_learn_s_and_say_what_a_fresh_one_says(name, space):
    optimizer = searched(SPACES[space], name, 16, horizon=30)
    found = optimizer.models_
    assert found
    told = [trial["value"] for trial in optimizer.history_]
    for label, gpr in found.items():
        assert type(gpr) is IncrementalGPR
        assert isinstance(gpr, GaussianProcessRegressor)
        assert label.startswith("branch ") == (space == "branches")
        assert_as_fresh(gpr)
        back = gpr.y_train_ * gpr.scale_ + gpr.shift_
        assert np.ptp(gpr.y_train_) > 0.5  # standardised
        near = np.abs(back[:, None] - told).min(axis=1) < 1e-9
        # The lowest values may have been raised.
        assert (near | (back <= np.median(told))).all()


@pytest.mark.parametrize("name", ["robust", "he-gp-ucb", "gp-ucb", "et-gp-ucb"])
def test_labels_are_those_of_the_results(name):
    optimizer = searched(SPACES["one"], name, 12, horizon=30)
    for _ in range(3):
        labels = set(optimizer.models_)
        params = optimizer.ask()
        label = optimizer.history_[-1]["model_label"]
        assert label in labels or label == "fill"  # that of a point without a model
        optimizer.tell(params, 40.0)


def test_none_while_the_initial_design_goes_on():
    optimizer = Optimizer(SPACES["one"], "he-gp-ucb", random_state=0)
    assert optimizer.models_ == {}
    for _ in range(optimizer.n_initial_points):
        optimizer.tell(optimizer.ask(), 1.0)
        assert optimizer.models_ == {}
    optimizer.ask()
    assert len(optimizer.models_) == 5


def test_points_under_way_are_left_out():
    optimizer = searched(SPACES["one"], "gp-ucb", 12)
    optimizer.ask(3)
    (gpr,) = optimizer.models_.values()
    assert len(gpr.X_train_) == len(gpr.y_train_) == 12


@pytest.mark.parametrize("name", ["robust", "he-gp-ucb", "tv-gp-ucb", "w-gp-ucb"])
def test_what_is_done_to_them_does_not_touch_the_search(name):
    touched, left = (searched(SPACES["one"], name, 12) for _ in range(2))
    for _ in range(6):
        for gpr in touched.models_.values():
            for array in (gpr.X_train_, gpr.y_train_, gpr.L_, gpr.alpha_):
                array[:] = 7.0
            gpr.kernel_.theta = gpr.kernel_.theta + 1.0
        for gpr in touched.models_.values():
            gpr.retarget(np.zeros(len(gpr.y_train_)))
            if np.ndim(gpr.alpha) == 0:
                gpr.truncate(3).partial_fit(gpr.X_train_ + 0.1, [5.0, 6.0, 7.0])
        params = left.ask()
        assert touched.ask() == params
        for optimizer in (touched, left):
            optimizer.tell(params, 40.0 + math.sin(3 * params["a"]))


def test_they_stay_as_they_are_while_the_search_goes_on():
    optimizer = searched(SPACES["one"], "he-gp-ucb", 30)
    found, Z = optimizer.models_, np.random.default_rng(0).random((5, 2))
    before = {label: gpr.predict(Z, return_cov=True) for label, gpr in found.items()}
    for _ in range(8):
        optimizer.tell(optimizer.ask(), 41.0)
    for label, gpr in found.items():
        np.testing.assert_array_equal(before[label][0], gpr.predict(Z))
        np.testing.assert_array_equal(
            before[label][1], gpr.predict(Z, return_cov=True)[1]
        )
        assert_as_fresh(gpr)
        assert_as_fresh(clone(gpr).fit(gpr.X_train_, gpr.y_train_))


def test_units_of_the_objective_and_prior_means():
    candidates = [
        Candidate(Matern(0.5, nu=2.5), label="twin"),
        Candidate(RBF(0.3), lambda X: 30.0 + 8.0 * X[:, 0], label="twin"),
    ]
    policy = policies.HEGPUCB(candidates)
    optimizer = searched({"x": Real(0, 1)}, policy, 12)
    plain, with_mean = optimizer.models_.values()
    assert list(optimizer.models_) == ["twin #1", "twin #2"]
    params = [trial["params"] for trial in optimizer.history_]
    X = np.array([optimizer.space.encode(p) for p in params])
    told = [trial["value"] for trial in optimizer.history_]
    mean, std = plain.predict(X, return_std=True)
    np.testing.assert_allclose(mean * plain.scale_ + plain.shift_, told, atol=0.1)
    assert (std * plain.scale_ < 0.1).all()
    rest = with_mean.predict(X) * with_mean.scale_
    np.testing.assert_allclose(rest + 30.0 + 8.0 * X[:, 0], told, atol=0.1)


def test_a_time_column_is_the_last():
    optimizer = searched(SPACES["one"], "tv-gp-ucb", 14)
    (gpr,) = optimizer.models_.values()
    np.testing.assert_array_equal(gpr.X_train_[:, -1], 1.0 + np.arange(14))
    assert gpr.X_train_.shape[1] == 3


def test_noise_of_each_row_takes_no_more_rows():
    optimizer = searched(SPACES["one"], "w-gp-ucb", 12)
    (gpr,) = optimizer.models_.values()
    for change in (
        lambda: gpr.partial_fit([[0.5, 0.5]], [1.0]),
        lambda: gpr.truncate(3),
    ):
        with pytest.raises(ValueError, match=r"'alpha'.*must be a scalar"):
            change()
    assert_as_fresh(gpr.retarget(np.arange(12.0)))


def test_where_models_fail_there_is_a_plain_one(monkeypatch):
    optimizer = searched(SPACES["one"], "gp-ucb", 12)

    def broken(self, state, models):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(policies.GPUCB, "posteriors", broken)
    (gpr,) = optimizer.models_.values()
    assert_as_fresh(gpr)
