"""Every policy uses scikit-learn's Gaussian process."""

import dataclasses
import math

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor

from skrobustbo import Integer, Optimizer, Real, policies
from skrobustbo.acquisition import Maximizer
from skrobustbo.surrogate import Posterior

#: Whether models contradict the values depends on the initial design, which is
#: irrelevant here.
pytestmark = pytest.mark.filterwarnings("ignore:All candidate models contradict")

NAMES = sorted(policies.available())
SPACES = {
    "continuous": {"a": Real(-3, 3), "b": Real(1e-4, 1e2, log=True)},
    "mixed": {
        "a": Real(0, 1),
        "n": Integer(1, 500, log=True),
        "c": ["red", "green", "blue"],
        "many": [f"v{i}" for i in range(120)],
    },
    "branches": [{"a": Real(0, 1), "c": ["x"]}, {"i": Integer(1, 90), "c": ["y"]}],
}


@dataclasses.dataclass
class Spied:
    """The parts of acquisition functions, and how often each was called."""

    posteriors: dict = dataclasses.field(default_factory=dict)
    n_values: int = 0
    n_points: int = 0


def inside(acq):
    """Yield the posteriors that an acquisition function uses."""
    if hasattr(acq, "posterior"):
        yield acq.posterior
    for field in dataclasses.fields(acq):
        value = getattr(acq, field.name)
        for part in value if isinstance(value, list | tuple) else [value]:
            if dataclasses.is_dataclass(part) and callable(part):
                yield from inside(part)


@pytest.fixture
def spied(monkeypatch):
    """All parts of acquisition functions in a search, checked immediately."""
    seen = Spied()
    maximise = Maximizer.__call__

    def spy(self, acq, *, inner=False):
        found = list(inside(acq))
        assert found, f"{acq!r} is made of no posterior"
        for posterior in found:
            check(posterior)
            seen.posteriors[id(posterior)] = posterior
        return maximise(self, acq, inner=inner)

    def counted(method):
        def count(self, Z):
            assert isinstance(self.regressor, GaussianProcessRegressor)
            seen.n_values += 1
            return method(self, Z)

        return count

    def drawn(self):
        seen.n_points += 1
        return draw(self)

    draw = Maximizer.random
    monkeypatch.setattr(Maximizer, "__call__", spy)
    monkeypatch.setattr(Maximizer, "random", drawn)
    for name in ("predict", "gradient"):
        monkeypatch.setattr(Posterior, name, counted(getattr(Posterior, name)))
    return seen


def check(posterior):
    """Compare a posterior with scikit-learn's regressor on its data."""
    gpr = posterior.regressor
    assert type(posterior) in (Posterior, *Posterior.__subclasses__())
    assert isinstance(gpr, GaussianProcessRegressor)
    assert gpr.X_train_ is posterior.X
    fresh = GaussianProcessRegressor(gpr.kernel_, alpha=gpr.alpha, optimizer=None)
    fresh.fit(gpr.X_train_, gpr.y_train_)
    now = getattr(posterior, "now", None)
    Z = np.random.default_rng(0).random((20, posterior.X.shape[1]))
    at = Z if now is None else Z[:, :-1]
    Z = Z if now is None else np.column_stack([at, np.full(20, now)])
    mean, std = fresh.predict(Z, return_std=True)
    for got_mean, got_std in (posterior.predict(at), posterior.gradient(at)[:2]):
        np.testing.assert_allclose(got_mean, mean, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(got_std, std, rtol=1e-8, atol=1e-8)
    # The regressor's own predictions are the same.
    for a, b in zip(gpr.predict(Z, return_std=True), (mean, std), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        gpr.log_marginal_likelihood_value_,
        fresh.log_marginal_likelihood_value_,
        rtol=1e-8,
    )


def value(params):
    numbers = [v if isinstance(v, int | float) else len(v) for v in params.values()]
    return sum(math.sin(3.0 * v) for v in numbers)


@pytest.mark.filterwarnings("ignore:Predicted variances smaller than 0")
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", NAMES)
def test_every_value_of_an_acquisition_function_is_scikit_learn_s(name, space, spied):
    optimizer = Optimizer(SPACES[space], name, horizon=30, random_state=0)
    for _ in range(optimizer.n_initial_points):
        params = optimizer.ask()
        optimizer.tell(params, value(params))
    assert not spied.posteriors
    for n in (1, 3, 1):
        for params in reversed(optimizer.ask(n)):
            optimizer.tell(params, value(params))
    made = list(spied.posteriors.values())
    if name == "random":
        assert spied.n_points == 5
        assert bool(made) == (space == "branches")  # their promises
    else:
        assert len(made) >= 5
        assert spied.n_values > 2 * len(made)  # twice in the comparison
        assert any(len(p.X) > p.n_told for p in made)  # some with pending points


@pytest.mark.parametrize("n_pending", [0, 3])
def test_targets_of_points_under_way_are_their_means(n_pending):
    optimizer = Optimizer(SPACES["continuous"], "gp-ucb", random_state=0)
    for _ in range(40):
        params = optimizer.ask()
        optimizer.tell(params, value(params))
    seen = []
    optimizer.policy.beta_of = lambda posterior, *_: seen.append(posterior) or 2.0
    optimizer.ask(n_pending + 1)
    posterior = seen[-1]
    told, gpr = posterior.n_told, posterior.regressor
    assert (told, len(gpr.X_train_)) == (40, 40 + n_pending)
    alone = GaussianProcessRegressor(gpr.kernel_, alpha=gpr.alpha, optimizer=None)
    alone.fit(gpr.X_train_[:told], gpr.y_train_[:told])
    Z = np.random.default_rng(0).random((9, 2))
    np.testing.assert_allclose(gpr.predict(Z), alone.predict(Z), rtol=1e-8)
    if n_pending:
        under_way = gpr.X_train_[told:]
        means = alone.predict(under_way)
        np.testing.assert_allclose(gpr.y_train_[told:], means, rtol=1e-8)
        narrow, wide = (g.predict(under_way, return_std=True)[1] for g in (gpr, alone))
        assert (narrow < wide).all()
