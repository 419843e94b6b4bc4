"""BOHO step by step, against numbers calculated by hand."""

import math
from functools import partial

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import inside
import runs
from fake_models import FakeModels, FakePosterior, Probe
from runs import MIXED, mixed_value
from skrobustbo import Optimizer, Real
from skrobustbo._threads import limited_threads
from skrobustbo.acquisition import EI, UCB
from skrobustbo.policies import BOHO, Policy, Setup
from skrobustbo.policies._boho import BOHOState
from skrobustbo.policies._models import length_scale_candidate, metadata_of
from skrobustbo.surrogate import Candidate, FactorCache, FlatPrior, Models, View


class Scaled(FakePosterior):
    information_gain, output_scale = 4.0, 2.0

    def __init__(self, candidate, sigma):
        super().__init__(candidate)
        self.sigma = sigma


class ScaledModels(FakeModels):
    shift = 0.0

    def __init__(self, sigma=0.5, n_parameters=2):
        self.posterior = partial(Scaled, sigma=sigma)
        self.groups = [np.array([j]) for j in range(n_parameters)]
        self.best = 1.5

    def fit(self, kernel, prior, bounds, starts, per_parameter=False):
        self.bounds, self.prior = bounds, prior
        return np.array(bounds[1], dtype=float)


def step(policy, state, models):
    _, metadata = policy.suggest(state, models, Probe(d=2, best=0.7), [])
    policy.learn(state, metadata, None)
    return metadata


# Shrinking --------------------------------------------------------------------------


def test_shrunk_bounds_by_hand():
    # p = 1/2: half of the largest, 0.8, is 0.4; 0.3 is below it; the lower bound 0.6
    # of the third holds it up.
    policy = BOHO(lower=(0.1, 0.1, 0.6))
    assert policy.shrunk([0.8, 0.3, 0.7]) == [0.4, 0.3, 0.6]
    # Then 0.6 is the largest: 0.3 is not below half of it, so only the first moves.
    assert policy.shrunk([0.4, 0.3, 0.6]) == [0.3, 0.3, 0.6]
    assert BOHO(shrink=0.25, lower=0.1).shrunk([1.0, 0.2]) == [0.25, 0.2]
    assert BOHO(lower=0.1).shrunk([0.15]) == [0.1]
    assert BOHO().shrunk([]) == []  # nothing varies


def test_five_confident_steps_in_a_row():
    policy, state = BOHO(lower=0.05, upper=(1.0, 0.4)), BOHOState([1.0, 0.4])
    sure, unsure = ScaledModels(0.099), ScaledModels(0.101)
    counts = []
    for models in [sure] * 4 + [unsure] + [sure] * 4:
        step(policy, state, models)
        counts.append(state.confident)
    assert counts == [1, 2, 3, 4, 0, 1, 2, 3, 4]
    assert state.upper == [1.0, 0.4]
    step(policy, state, sure)
    assert (state.confident, state.upper, state.t) == (0, [0.5, 0.4], 10)
    for _ in range(5):
        step(policy, state, sure)
    assert state.upper == [0.25, 0.25]
    for _ in range(20):
        step(policy, state, sure)
    assert state.upper == [0.05, 0.05]


@pytest.mark.parametrize(("threshold", "confident"), [(0.8, False), (0.82, True)])
def test_threshold_of_confidence(threshold, confident):
    # sigma^2 = 0.0081 beside t_sigma 0.01.
    models = ScaledModels(0.09)
    metadata = step(BOHO(threshold=threshold), BOHOState([1.0, 1.0]), models)
    assert metadata["confident"] is confident


def test_the_next_estimate_is_inside_the_new_bounds():
    policy, state = BOHO(lower=0.05), BOHOState([1.0, 1.0])
    models = ScaledModels(0.01)
    for t in range(1, 12):
        metadata = step(policy, state, models)
        expected = 1.0 if t <= 5 else 0.5 if t <= 10 else 0.25
        assert metadata["theta"] == [expected, expected]
    np.testing.assert_array_equal(models.bounds, [[0.05, 0.05], [0.25, 0.25]])
    assert models.prior == FlatPrior()


def test_bounds_at_the_start():
    start = lambda policy: policy.start(Setup(2), ScaledModels()).upper  # noqa: E731
    assert start(BOHO()) == [math.sqrt(2)] * 2
    assert start(BOHO(anisotropic=False)) == [math.sqrt(2)]
    assert start(BOHO(upper=0.7)) == [0.7, 0.7]
    assert start(BOHO(upper=(0.7, 0.2))) == [0.7, 0.2]
    assert start(BOHO(lower=3.0)) == [3.0, 3.0]
    with pytest.raises(ValueError, match="'upper' of BOHO must be one number or 2"):
        start(BOHO(upper=(1.0, 1.0, 1.0)))
    with pytest.raises(ValueError, match="'lower' of BOHO must be one number or 1"):
        start(BOHO(anisotropic=False, lower=(0.1, 0.1)))


# The scale and the incumbent ---------------------------------------------------------


def test_xi_by_hand():
    # t = 3, delta = 0.1: ln(9 pi^2 / 0.3) = 5.690657, with 2 inside 6.383804;
    # xi = 4 + sqrt(6.383804 * 4) + 5.690657 = 14.743895.
    assert BOHO().xi(4.0, 3) == pytest.approx(14.743895, abs=2e-6)


@pytest.mark.parametrize(
    ("output_scale", "share"), [(0.0, 0.2), (2.0, None), (1e9, 0.9)]
)
def test_scale_is_clipped(output_scale, share):
    policy, posterior = BOHO(nu_range=(0.2, 0.9)), Scaled(None, 0.5)
    posterior.output_scale = output_scale
    root = math.sqrt(policy.xi(4.0, 3))
    expected = output_scale if share is None else share * root
    assert policy.scale(posterior, 3) == pytest.approx(expected)
    assert BOHO(nu=1.7).scale(posterior, 3) == 1.7


def test_output_scale_is_the_maximum_likelihood_one():
    rng = np.random.default_rng(0)
    X, z, noise = rng.random((12, 2)), rng.standard_normal(12), 0.3
    posterior = Models(FactorCache(noise), View(X, z, X_pending=X[:2] + 0.1))[
        Candidate(RBF(0.4))
    ]
    K = RBF(0.4)(X) + noise**2 * np.eye(12)
    assert posterior.output_scale == pytest.approx(
        math.sqrt(z @ np.linalg.inv(K) @ z / 12)
    )

    def log_likelihood(v):
        _, log_det = np.linalg.slogdet(v**2 * K)
        return -0.5 * (z @ np.linalg.inv(v**2 * K) @ z + log_det)

    best = log_likelihood(posterior.output_scale)
    for factor in (0.99, 1.01):
        assert log_likelihood(posterior.output_scale * factor) < best
    empty = Models(FactorCache(noise), View(X[:0], z[:0]))[Candidate(RBF(0.4))]
    assert empty.output_scale == 1.0


@pytest.mark.parametrize(("incumbent", "expected"), [("mu", 0.7), ("f", 1.5)])
def test_incumbent(incumbent, expected):
    probe, models = Probe(d=2, best=0.7), ScaledModels()
    policy = BOHO(incumbent=incumbent, nu=1.3)
    policy.suggest(BOHOState([1.0, 1.0]), models, probe, [])
    assert isinstance(probe.acq, EI)
    assert (probe.acq.incumbent, probe.acq.nu) == (expected, 1.3)
    if incumbent == "mu":
        assert isinstance(probe.inner, UCB)
        assert probe.inner.beta == 0.0


def test_pending_queries_count_in_the_scale():
    probe, models = Probe(d=2, best=0.7), ScaledModels()
    policy = BOHO(nu_range=(10.0, 20.0))  # so that nu is c1 sqrt(xi)
    policy.suggest(BOHOState([1.0, 1.0], t=4), models, probe, [{}, {}])
    assert probe.acq.nu == pytest.approx(10 * math.sqrt(policy.xi(4.0, 7)))


# Bounds of the likelihood fit --------------------------------------------------------


def test_fit_inside_bounds_for_each_length_scale():
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    z = np.sin(9 * X[:, 0]) + 0.1 * X[:, 1]
    groups = [np.array([0]), np.array([1])]
    models = Models(FactorCache(0.1), View(X, z, groups=groups))

    def fit(low, high):
        bounds, starts = (low, high), [0.1, 0.5, 2.0]
        with limited_threads():
            return models.fit(RBF(), FlatPrior(), bounds, starts, per_parameter=True)

    free = fit(0.01, 10.0)
    np.testing.assert_array_equal(
        free, fit(np.array([0.01, 0.01]), np.array([10.0, 10.0]))
    )
    assert free[0] < 0.5 < free[1]
    held = fit(np.array([0.05, 0.1]), np.array([5.0, 0.6 * free[1]]))
    assert held[1] == pytest.approx(0.6 * free[1])
    assert held[0] == pytest.approx(free[0], rel=0.3)
    # Equal bounds give that very number.
    fixed = fit(np.array([0.37, 0.01]), np.array([0.37, 10.0]))
    assert fixed[0] == 0.37
    assert 0.01 < fixed[1] < 10.0


# Reductions --------------------------------------------------------------------------


class PlainEI(Policy):
    """EI(mu) on a fixed kernel."""

    def __init__(self, theta=0.4, noise=0.01):
        self.theta = theta
        self.noise = noise

    def suggest(self, state, models, argmax, pending):
        posterior = models[length_scale_candidate(self.base_kernel(), self.theta)]
        _, best = argmax(UCB(posterior, 0.0), inner=True)
        x, _ = argmax(EI(posterior, best))
        return x, metadata_of(models, posterior, x)


@pytest.mark.parametrize("space", [{"a": Real(-2, 3)}, MIXED])
@pytest.mark.parametrize("seed", [0, 1])
def test_equal_bounds_and_scale_one_is_plain_ei(space, seed):
    def run(policy):
        optimizer = Optimizer(space, policy, n_initial_points=3, random_state=seed)
        return runs.run(optimizer, 20, mixed_value)

    boho = BOHO(lower=0.4, upper=0.4, nu=1.0, anisotropic=False)
    assert run(boho) == run(PlainEI())


def test_variants_run_and_resume():
    space = {"a": Real(0, 1), "c": ["x", "y", "z"]}
    for settings in (
        {"incumbent": "f"},
        {"anisotropic": False, "kernel": RBF()},
        {"lower": (0.01, 0.02), "upper": (1.0, 0.5), "nu": 1.0},
        {"kernel": Matern(nu=1.5), "normalize_y": False, "threshold": 100.0},
    ):
        policy = BOHO(**settings)
        optimizer = Optimizer(space, policy, n_initial_points=3, random_state=0)
        runs.run(
            optimizer,
            12,
            lambda params: math.sin(9 * params["a"]) + (params["c"] == "y"),
        )
        again = Optimizer.from_dict(optimizer.to_dict())
        assert again.policy.get_params().keys() == policy.get_params().keys()
        assert again.ask() == optimizer.ask()


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [
        ({"lower": 0.0}, "lower"),
        ({"lower": 0.5, "upper": 0.4}, "upper"),
        ({"threshold": 0}, "threshold"),
        ({"shrink": 1.0}, "shrink"),
        ({"nu": -1.0}, "nu"),
        ({"nu_range": (1.0, 0.5)}, "nu_range"),
        ({"incumbent": "y"}, "incumbent"),
        ({"delta": 0}, "delta"),
    ],
)
def test_settings_out_of_range(settings, culprit):
    with pytest.raises(ValueError, match=f"'{culprit}'"):
        Optimizer({"x": Real(0, 1)}, BOHO(**settings))


@pytest.mark.slow
def test_bounds_shrink_in_the_trap(record_property):
    """On the hill beside the needle, the model becomes over-confident."""

    def hill_and_needle(params, rng):
        hill = 2 * math.exp(-0.5 * ((params["x"] - 0.1) / 0.1) ** 2)
        needle = 4 * math.exp(-0.5 * ((params["x"] - 0.9) / 0.01) ** 2)
        return hill + needle + 0.01 * float(rng.standard_normal())

    uppers, found = [], 0
    for seed in (1, 2, 3):  # with seed 0, an initial point is beside the needle
        rng = np.random.default_rng(seed)
        optimizer = Optimizer(
            {"x": Real(0, 1)}, BOHO(RBF()), n_initial_points=3, random_state=seed
        )
        runs.run(optimizer, 60, partial(hill_and_needle, rng=rng))
        uppers.append(inside.state(optimizer).upper[0])
        found += optimizer.best_value_ > 3.5
    record_property("upper bounds", uppers)
    record_property("needles found", found)
    assert max(uppers) <= 0.25
