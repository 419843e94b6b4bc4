"""GP-UCB averaged over draws of the length scale: by hand, and in special cases."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import inside
import runs
from fake_models import FakeModels, FakePosterior, Probe
from runs import read_back
from skrobustbo import Integer, Optimizer, Real
from skrobustbo.policies import GPUCB, MCMCGPUCB, Setup
from skrobustbo.policies._models import LENGTH_SCALE_BOUNDS
from skrobustbo.surrogate import FlatPrior, GammaPrior, LogNormalPrior, Models

# By hand ---------------------------------------------------------------------------


class Wide(FakePosterior):
    """Mean theta, deviation 2 theta; information gain 1 / theta."""

    def __init__(self, candidate):
        super().__init__(candidate)
        self.mu = candidate.kernel.length_scale
        self.sigma, self.information_gain = 2 * self.mu, 1 / self.mu


class Draws(FakeModels):
    """Three draws, two of them equal; records the models built from them."""

    def __init__(self, thetas=((0.1,), (0.4,), (0.1,))):
        self.thetas, self.asked, self.built = np.array(thetas), None, []

    def sample(self, kernel, prior, bounds, starts, n, **settings):
        self.asked = {"prior": prior, "bounds": bounds, "starts": starts, "n": n}
        self.asked |= settings
        return self.thetas

    def at(self, candidate):
        self.built.append(candidate)
        return Wide(candidate)


def suggest(policy, models, state=None, pending=()):
    state = policy.start(Setup(1), models) if state is None else state
    argmax = Probe()
    _, metadata = policy.suggest(state, models, argmax, list(pending))
    return argmax.acq, metadata


def test_bounds_are_averaged_by_hand():
    models = Draws()
    acq, metadata = suggest(MCMCGPUCB(beta=3.0), models)
    # Each draw's bound is theta + 3 * 2 theta = 7 theta; the mean theta is 0.2.
    np.testing.assert_allclose(acq(np.zeros((2, 1))), [1.4, 1.4])
    # One model for each distinct draw, weighted by its frequency.
    assert [c.kernel.length_scale for c in models.built] == [0.1, 0.4]
    np.testing.assert_allclose(acq.weights, [2 / 3, 1 / 3])
    assert metadata["thetas"] == [[0.1], [0.4], [0.1]]


def test_prediction_is_that_of_the_mixture_by_hand():
    _, metadata = suggest(MCMCGPUCB(), Draws())
    # Mean 0.2; mean of squares of mu 0.06, of sigma 4 * 0.06: variance 0.3 - 0.04.
    assert metadata["mean"] == pytest.approx(0.2 * 4 + 1)
    assert metadata["std"] == pytest.approx(math.sqrt(0.26) * 4)
    assert metadata["label"] == "theta=0.159"  # (0.1 * 0.4 * 0.1)**(1/3)


def test_each_draw_has_its_own_beta():
    acq, _ = suggest(MCMCGPUCB(beta="self-normalised", delta=0.2), Draws())
    betas = [part.beta for part in acq.acqs]
    expected = [1 + math.sqrt(2 * (gain + math.log(5))) for gain in (10.0, 2.5)]
    assert betas == pytest.approx(expected)


class Counting(MCMCGPUCB):
    """Beta is the number of the query."""

    def beta_of(self, posterior, n_parameters, t, **settings):
        return t


def test_beta_counts_queries_told_and_pending():
    policy, models, metadata = Counting(), Draws(), {"thetas": [[0.1]]}
    state = policy.start(Setup(1), models)
    assert suggest(policy, models, state)[0].acqs[0].beta == 1
    for _ in range(4):
        policy.learn(state, metadata, None)
    assert suggest(policy, models, state)[0].acqs[0].beta == 5
    assert suggest(policy, models, state, [metadata, metadata])[0].acqs[0].beta == 7


def test_chain_burns_in_once_and_goes_on():
    policy, models = MCMCGPUCB(n_samples=3, burn_in=9, thin=5), Draws()
    state = policy.start(Setup(1), models)
    _, metadata = suggest(policy, models, state)
    assert len(models.asked["starts"]) > 1
    assert (models.asked["n"], models.asked["burn_in"]) == (3, 9)
    assert models.asked["thin"] == 5
    assert models.asked["bounds"] == LENGTH_SCALE_BOUNDS

    policy.learn(state, metadata, None)
    models.thetas = np.array([[0.2], [0.3], [0.6]])
    _, metadata = suggest(policy, models, state)
    assert models.asked["starts"] == [[0.1]]  # the last draw of the previous step
    assert models.asked["burn_in"] == 0

    suggest(policy, models, state, [metadata])
    assert models.asked["starts"] == [[0.6]]  # that of the last point asked


def test_prior_is_gamma_unless_given():
    models = Draws()
    suggest(MCMCGPUCB(), models)
    assert models.asked["prior"] == GammaPrior(3.0, 6.0)
    suggest(MCMCGPUCB(prior=FlatPrior()), models)
    assert models.asked["prior"] == FlatPrior()


def test_suggest_leaves_the_state_alone():
    policy, models = MCMCGPUCB(), Draws()
    state = policy.start(Setup(1), models)
    suggest(policy, models, state)
    assert (state.thetas, state.t, policy.alive(state)) == ([], 0, [])


# Special case: plain GP-UCB ---------------------------------------------------------


def wave(params):
    return sum(math.sin(7 * value + i) for i, value in enumerate(params.values()))


def run(policy, space, n=14, seed=0):
    optimizer = Optimizer(space, policy, n_initial_points=4, random_state=seed)
    runs.run(optimizer, n, wave)
    return optimizer


def asked(optimizer):
    return [tuple(record["params"].values()) for record in optimizer.history_]


CUBE = {"a": Real(0, 1), "b": Real(0, 1)}
GRID = {"a": Integer(0, 30), "b": Integer(0, 30)}


@pytest.mark.parametrize("n_samples", [1, 4])
def test_point_mass_is_gp_ucb(monkeypatch, n_samples):
    """If all draws agree, the queries equal those of the fixed kernel."""
    monkeypatch.setattr(
        Models, "sample", lambda self, *args, **settings: np.full((n_samples, 1), 0.3)
    )
    settings = {"beta": 2.0, "normalize_y": False}
    averaged = run(MCMCGPUCB(n_samples=n_samples, **settings), CUBE)
    plain = run(GPUCB(Matern(0.3, nu=2.5), **settings), CUBE)
    assert asked(averaged) == asked(plain)
    for mine, other in zip(averaged.history_, plain.history_, strict=True):
        for key in ("model_mean", "model_std"):
            assert mine[key] == pytest.approx(other[key], nan_ok=True)


@pytest.mark.parametrize("anisotropic", [False, True])
def test_narrow_prior_is_gp_ucb(anisotropic):
    """With the sampler, and a prior as narrow as 1e-7 around 0.3."""
    narrow = LogNormalPrior(median=0.3, sigma=1e-7)
    settings = {"beta": "self-normalised", "normalize_y": False, "noise": 0.1}
    policy = MCMCGPUCB(RBF(), prior=narrow, anisotropic=anisotropic, **settings)
    plain = GPUCB(RBF(0.3), **settings)
    assert asked(run(policy, GRID)) == asked(run(plain, GRID))


# In a run --------------------------------------------------------------------------


def test_draws_follow_the_data():
    """A function that changes fast in one parameter gets short length scales there."""
    policy = MCMCGPUCB(anisotropic=True)
    optimizer = Optimizer(CUBE, policy, n_initial_points=2, random_state=0)
    points = optimizer.space.sample(40, 0)
    optimizer.tell(points, [math.sin(15 * p["a"]) + 0.1 * p["b"] for p in points])
    optimizer.ask()
    thetas = np.array(inside.metadata(optimizer)["thetas"])
    assert thetas.shape == (8, 2)
    assert np.median(thetas[:, 1]) > 2 * np.median(thetas[:, 0])
    assert len(np.unique(thetas)) == 16
    low, high = LENGTH_SCALE_BOUNDS
    assert low <= thetas.min() < thetas.max() <= high


def test_chain_differs_from_ask_to_ask():
    optimizer = Optimizer(CUBE, "mcmc-gp-ucb", n_initial_points=3, random_state=0)
    for params in optimizer.ask(3):
        optimizer.tell(params, wave(params))
    optimizer.ask(3)
    draws = [trial.metadata["thetas"] for trial in inside.trials(optimizer)[3:]]
    assert len(np.unique(draws)) == 3 * 8


@pytest.mark.parametrize("anisotropic", [False, True])
def test_state_round_trips_at_every_step(anisotropic):
    policy = MCMCGPUCB(
        Matern(nu=1.5), prior=GammaPrior(2, 4), anisotropic=anisotropic, n_samples=3
    )
    expected = asked(run(policy, CUBE, n=12, seed=3))
    optimizer = Optimizer(CUBE, policy, n_initial_points=4, random_state=3)
    for _ in range(12):
        params = optimizer.ask()
        optimizer = read_back(optimizer)
        optimizer.tell(params, wave(params))
        optimizer = read_back(optimizer)
    assert asked(optimizer) == expected


def test_finds_the_top():
    optimizer = run(MCMCGPUCB(), CUBE, n=25)
    assert optimizer.best_value_ > 1.99


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"n_samples": 0},
            "'n_samples' of MCMCGPUCB must be a positive integer. Got 0",
        ),
        ({"n_samples": 2.5}, "'n_samples' of MCMCGPUCB must be a positive integer"),
        ({"burn_in": -1}, "'burn_in' of MCMCGPUCB must be an integer >= 0. Got -1"),
        ({"thin": True}, "'thin' of MCMCGPUCB must be a positive integer. Got True"),
        ({"prior": "gamma"}, "'prior' of MCMCGPUCB must be a prior, such as"),
        ({"beta": "wide"}, "'beta' of a policy must be"),
        ({"noise": 0.0}, "'noise' of a policy must be"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        Optimizer(CUBE, MCMCGPUCB(**settings))
