"""Beta schedules and information gains, against numbers calculated by hand."""

import itertools
import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

import inside
from runs import assert_modelled, run
from skrobustbo import Integer, Optimizer, Real, Space
from skrobustbo._threads import limited_threads
from skrobustbo.policies import GPUCB, IGPUCB
from skrobustbo.policies._beta import (
    GREEDY_SHARE,
    bayes_continuous_beta,
    bayes_finite_beta,
    bound_gain,
    greedy_gain,
)
from skrobustbo.surrogate import Candidate, FactorCache, Models, View
from skrobustbo.surrogate._posterior import ReferencePoints

# Schedules for objectives drawn from the process ------------------------------------


def test_bayes_finite_by_hand():
    # 100 pi^2 9 / 0.6 = 14804.4; its logarithm is 9.602680; sqrt(2 * that) = 4.382392
    assert bayes_finite_beta(100, 3, 0.1) == pytest.approx(4.382392, abs=2e-6)
    # Half of delta for the band makes 3 delta of 6 delta, as the paper prints it.
    printed = math.sqrt(2 * math.log(100 * math.pi**2 * 9 / (3 * 0.1)))
    assert bayes_finite_beta(100, 3, 0.05) == pytest.approx(printed)


def test_bayes_continuous_by_hand():
    # d = 2, t = 3, delta = 0.1: ln(pi^2 9 / 0.3) = 5.690657...
    first = 2 * math.log(math.pi**2 * 9 / 0.3)
    # ... and d t^2 b r sqrt(ln(2 d a / delta)) = 18 sqrt(ln 40) = 34.5717
    second = 4 * math.log(18 * math.sqrt(math.log(40)))
    assert second == pytest.approx(4 * math.log(34.5717), abs=1e-4)
    expected = math.sqrt(first + second)
    assert bayes_continuous_beta(2, 3, 0.1) == pytest.approx(expected)


def test_bayes_continuous_with_constants():
    root = math.sqrt(math.log(2 * 3 * 0.5 / 0.05))
    inside = 2 * math.log(math.pi**2 * 4 / 0.15) + 6 * math.log(
        3 * 4 * 2.0 * 3.0 * root
    )
    beta = bayes_continuous_beta(3, 2, 0.05, a=0.5, b=2.0, r=3.0)
    assert beta == pytest.approx(math.sqrt(inside))


def test_bayes_continuous_of_a_flat_process_is_that_of_one_point():
    """With derivatives near zero, one point stands for all: never fewer."""
    expected = math.sqrt(2 * math.log(math.pi**2 / 0.3))
    assert bayes_continuous_beta(1, 1, 0.1, b=1e-9) == pytest.approx(expected)
    assert bayes_continuous_beta(1, 1, 0.1, a=0.01) == pytest.approx(expected)


def after_three(policy, space, points):
    """Ask once after three values."""
    optimizer = Optimizer(space, policy, n_initial_points=3, random_state=0)
    optimizer.tell(points, [0.0, 1.0, 0.5])
    return optimizer.ask()


def test_bayes_finite_knows_the_size_of_the_space():
    space = {"i": Integer(1, 7), "c": ["x", "y"]}
    points = [{"i": i, "c": "x"} for i in (1, 4, 7)]
    kernel = Matern(0.3, nu=2.5)
    beta = bayes_finite_beta(14, 1, 0.1)
    finite = after_three(GPUCB(kernel, beta="bayes-finite"), space, points)
    assert finite == after_three(GPUCB(kernel, beta=beta), space, points)
    assert finite != after_three(GPUCB(kernel, beta=0.0), space, points)


def test_bayes_finite_refuses_an_infinite_space():
    optimizer = Optimizer({"x": Real(0, 1)}, GPUCB(beta="bayes-finite"))
    for _ in range(4):
        optimizer.tell(optimizer.ask(), 0.0)
    with pytest.raises(ValueError, match="'bayes-finite' in finite spaces only"):
        optimizer.ask()


def posterior_of(kernel, X, ground, noise=0.1):
    models = Models(
        FactorCache(noise), View(X, np.zeros(len(X)), reference_points=ground)
    )
    return models[Candidate(kernel, norm_bound=1.5)]


def resolved(beta, posterior, gain="posterior"):
    policy = GPUCB(beta=beta, information_gain=gain, delta=0.1)
    return policy.beta_of(posterior, n_parameters=2, t=5)


def test_every_posterior_knows_the_size_of_the_space():
    X = np.random.default_rng(0).random((4, 2))
    posterior = posterior_of(RBF(0.5), X, ReferencePoints(X, 40))
    assert resolved("bayes-finite", posterior) == bayes_finite_beta(40, 5, 0.1)
    timed = Models(
        FactorCache(0.1), View(X, np.zeros(4), reference_points=ReferencePoints(X, 9))
    ).timed()
    present = timed[Candidate(RBF(0.5))]
    assert present.reference_points is None  # its points have a time as well
    assert resolved("bayes-finite", present) == bayes_finite_beta(9, 5, 0.1)
    expected = bayes_continuous_beta(2, 5, 0.1)
    assert resolved("bayes-continuous", posterior) == expected


def test_igp_ucb_has_a_norm_bound():
    def ask(policy):
        points = [{"x": x} for x in (0.1, 0.4, 0.7)]
        return after_three(policy, {"x": Real(0, 1)}, points)

    kernel, noise, delta = RBF(0.2), 0.3, 0.1
    gain = posterior_of(kernel, np.array([[0.1], [0.4], [0.7]]), None, noise)
    root = math.sqrt(2 * (gain.information_gain + 1 + math.log(1 / delta)))
    for norm in (0.5, 3.0):
        plain = GPUCB(kernel, noise=noise, beta=norm + noise * root)
        assert ask(IGPUCB(kernel, noise=noise, norm_bound=norm)) == ask(plain)
    with pytest.raises(ValueError, match="'norm_bound' of IGPUCB must be a positive"):
        IGPUCB(norm_bound=0).check()


# The greedy bound -------------------------------------------------------------------


def gain_of(kernel, X, noise):
    """Return the information gain of some points, by its definition."""
    _, log_det = np.linalg.slogdet(np.eye(len(X)) + kernel(X) / noise**2)
    return 0.5 * log_det


KERNELS = [RBF(0.3), Matern(0.2, nu=1.5), ConstantKernel(0.5) * RBF(0.7)]


def test_greedy_gain_by_hand():
    # Two independent points: each first, then each a second time.
    points, noise = np.array([[0.0], [100.0]]), 0.5
    once, twice = 0.5 * math.log(1 + 4), 0.5 * math.log(1 + 8)
    gains = [greedy_gain(RBF(1.0), points, n, noise) for n in range(5)]
    assert gains == pytest.approx([0, once, 2 * once, once + twice, 2 * twice])


def test_one_point_is_chosen_again_and_again():
    # n observations of one value: 1/2 ln(1 + n / noise^2).
    for n in (1, 2, 7):
        expected = 0.5 * math.log(1 + n / 0.04)
        assert greedy_gain(RBF(), np.zeros((1, 1)), n, 0.2) == pytest.approx(expected)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_greedy_gain_equals_brute_force_greedy(kernel, seed):
    """The largest variance has the largest gain; here, gains are computed directly."""
    points, noise = np.random.default_rng(seed).random((6, 2)), 0.3
    chosen = []
    for n in range(1, 9):
        gains = [gain_of(kernel, points[[*chosen, i]], noise) for i in range(6)]
        chosen.append(int(np.argmax(gains)))
        assert greedy_gain(kernel, points, n, noise) == pytest.approx(max(gains))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("noise", [0.05, 1.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_bound_holds_for_the_true_maximum(kernel, noise, seed):
    points = np.random.default_rng(seed).random((5, 2))
    for n in (1, 2, 3, 4):
        choices = itertools.combinations_with_replacement(range(5), n)
        best = max(gain_of(kernel, points[list(c)], noise) for c in choices)
        greedy = greedy_gain(kernel, points, n, noise)
        assert GREEDY_SHARE * best <= greedy <= best + 1e-9
        assert bound_gain(kernel, points, n, noise) >= best


def test_bound_of_a_singular_matrix():
    """Many equal points and little noise: the pivots stay positive."""
    points = np.repeat(np.linspace(0, 1, 3)[:, None], 20, axis=0)
    gain = greedy_gain(RBF(1.0), points, 60, 1e-6)
    even = np.repeat(np.linspace(0, 1, 3)[:, None], 20, axis=0)
    assert gain == pytest.approx(gain_of(RBF(1.0), even, 1e-6), rel=1e-3)


def test_schedules_take_the_bound_of_the_feasible_points():
    X, points = (
        np.array([[0.2, 0.3], [0.8, 0.1]]),
        np.random.default_rng(0).random((9, 2)),
    )
    posterior = posterior_of(RBF(0.5), X, ReferencePoints(points, 9))
    gain = bound_gain(RBF(0.5), points, 2, 0.1)
    expected = 1.5 + math.sqrt(2 * (gain + math.log(10)))
    assert resolved("self-normalised", posterior, "bound") == pytest.approx(expected)
    assert resolved("log", posterior, "bound") == math.sqrt(0.8 * math.log(20))


def test_bound_needs_to_know_the_points():
    posterior = posterior_of(RBF(0.5), np.zeros((1, 2)), None)
    with pytest.raises(ValueError, match="'bound' for models of points alone"):
        resolved("igp", posterior, "bound")
    models = Models(
        FactorCache(0.1),
        View(
            np.zeros((1, 1)),
            np.zeros(1),
            reference_points=ReferencePoints(np.zeros((1, 1))),
        ),
    )
    timed = models.timed()[Candidate(RBF(0.5))]
    with pytest.raises(ValueError, match="'bound' for models of points alone"):
        resolved("igp", timed, "bound")


def ground_of(space, **settings):
    return inside.reference_points(Optimizer(space, "random", **settings))


def test_ground_set_of_a_space():
    small = ground_of({"i": Integer(1, 7), "c": ["x", "y"]})
    assert small.n_points == 14
    assert len(np.unique(small.points, axis=0)) == 14
    large = ground_of({"i": Integer(1, 5000), "j": [1, 2]})
    assert (large.n_points, len(large.points)) == (10000, 512)
    space = {"x": Real(0, 1), "c": ["x", "y", "z"]}
    first = ground_of(space, random_state=3).points[0].tolist()
    for seed in (0, 1):
        endless = ground_of(space, random_state=seed)
        assert (endless.n_points, len(endless.points)) == (None, 512)
        assert endless.points[0].tolist() == pytest.approx(first)
    rows = Space.from_points([{"u": 0.1}, {"u": 0.5}])
    assert len(ground_of(rows).points) == 2


@pytest.mark.parametrize("gain", ["posterior", "rate", "bound"])
@pytest.mark.parametrize("beta", ["igp", "a-gp", "self-normalised", "bayes-continuous"])
def test_every_schedule_with_every_gain_runs(beta, gain):
    policy = GPUCB(Matern(0.3, nu=2.5), beta=beta, information_gain=gain)
    space = {"x": Real(0, 1), "c": ["u", "v"]}
    optimizer = Optimizer(space, policy, n_initial_points=2, random_state=0)
    run(optimizer, 5, lambda params: math.sin(6 * params["x"]))
    assert_modelled(optimizer.history_[2:])


# What theory promises ---------------------------------------------------------------


def band_holds(beta, f, kernel, points, noise, delta, seed):
    """Return whether |f - mu| <= beta sigma everywhere during one run of GP-UCB."""
    rng, asked, y = np.random.default_rng(seed), [], []
    cache, ground = FactorCache(noise), ReferencePoints(points, len(points))
    for t in range(1, 31):
        X = points[asked].reshape(-1, points.shape[1])
        posterior = Models(cache, View(X, np.array(y), reference_points=ground))[
            Candidate(kernel)
        ]
        mu, sigma = posterior.predict(points)
        policy = GPUCB(beta=beta, delta=delta)
        width = policy.beta_of(posterior, n_parameters=points.shape[1], t=t)
        if (np.abs(f - mu) > width * sigma).any():
            return False
        asked.append(int(np.argmax(mu + width * sigma)))
        y.append(f[asked[-1]] + rng.normal(0, noise))
    return True


def of_norm_one(kernel, points, rng):
    """Return a function of norm 1: a combination of covariances at a few points."""
    centres = rng.random((6, points.shape[1]))
    alpha = rng.standard_normal(6)
    return kernel(points, centres) @ alpha / math.sqrt(alpha @ kernel(centres) @ alpha)


@pytest.mark.slow
@pytest.mark.parametrize("beta", ["bayes-finite", "bayes-continuous"])
def test_bayesian_bands_hold(beta):
    """For functions drawn from the process, in at least 1 - delta of the runs."""
    kernel, points, delta = RBF(0.2), np.linspace(0, 1, 40)[:, None], 0.1
    root = np.linalg.cholesky(kernel(points) + 1e-10 * np.eye(40))
    held = 0
    with limited_threads():
        for seed in range(60):
            f = root @ np.random.default_rng([seed, 1]).standard_normal(40)
            held += band_holds(beta, f, kernel, points, 0.1, delta, seed)
    assert held >= 60 * (1 - delta)


@pytest.mark.slow
def test_the_self_normalised_band_holds_and_printed_ones_do_not():
    """For functions of norm 1 and little noise (frequentist)."""
    kernel, points = RBF(0.2), np.linspace(0, 1, 40)[:, None]
    held = {"self-normalised": 0, "igp": 0}
    with limited_threads():
        for seed in range(60):
            f = of_norm_one(kernel, points, np.random.default_rng([seed, 1]))
            for beta in held:
                held[beta] += band_holds(beta, f, kernel, points, 0.1, 0.1, seed)
    assert held["self-normalised"] >= 54
    assert held["igp"] < 54
