"""LB-GP-UCB step by step, against numbers worked out by hand."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from skrobustbo import Optimizer, Real, Space
from skrobustbo.policies import GPUCB, LBGPUCB, Setup


class Told:
    """A history with the given values, nan for failures."""

    def __init__(self):
        self.list = []

    @property
    def values(self):
        return np.array(self.list, dtype=float)


class FakePosterior:
    noise, n_told, information_gain = 0.1, 3, 1.0

    def __init__(self, candidate):
        self.candidate = candidate

    def predict(self, Z):
        return np.zeros(len(Z)), np.full(len(Z), 0.5)

    def told_deviation(self, x):
        return 0.5


class FakeModels:
    """Every candidate has deviation 1/2; the objective's unit is 4 of the model's."""

    shift, scale = 1.0, 4.0

    def __getitem__(self, candidate):
        return FakePosterior(candidate)


def argmax(acq, *, inner=False):
    return np.zeros(1), 0.0


def start(policy, d=1):
    return policy.start(Setup(d), FakeModels())


def step(policy, state, history, value, pending=()):
    """Run one suggest and learn; return the candidate chosen."""
    _, memo = policy.suggest(state, FakeModels(), argmax, list(pending))
    history.list.append(value)
    policy.learn(state, memo, history)
    return memo["candidate"]


def fixed(n_candidates=3, **settings):
    """A policy with a fixed number of candidates 1, 1/e, ... and raw values."""
    g = math.exp(n_candidates - 1)
    return LBGPUCB(theta0=1.0, growth=lambda t: g, normalize_y=False, **settings)


# Candidates ------------------------------------------------------------------------


def test_five_candidates_from_the_start():
    policy = LBGPUCB(theta0=2.0)
    state = start(policy, d=2)
    thetas = [policy.theta(state, i) for i in state.alive]
    # q(i) = theta0 exp(-i/d), five of them as g(1) = exp(4/d) exactly.
    np.testing.assert_allclose(thetas, 2.0 * np.exp(-np.arange(5) / 2))


@pytest.mark.parametrize("d", [1, 2, 3, 5, 7])
def test_exact_tie_admits_the_candidate(d):
    assert start(LBGPUCB(theta0=0.37), d=d).alive == [0, 1, 2, 3, 4]


def test_ratio_of_the_authors_code():
    policy = LBGPUCB(theta0=1.0, ratio="code")
    state = start(policy, d=1)
    assert policy.theta(state, 1) == pytest.approx(math.exp(-1 / (1 + 2 * 2.5)))
    assert len(state.alive) == 5


def test_candidates_enter_as_the_lower_bound_passes_them():
    # d = 1: q(i) = exp(-i) enters once g(t) >= exp(i), here at t = 3, 8, 21.
    policy = LBGPUCB(theta0=1.0, growth=1.0, n_candidates=1, noise=10.0)
    state, history = start(policy), Told()
    counts = []
    for _ in range(22):
        step(policy, state, history, 0.0)
        counts.append(state.n_introduced)
    entered = [t for t in range(2, 23) if counts[t - 1] > counts[t - 2]]
    assert entered == [3, 8, 21]  # ceil of e, e**2, e**3
    assert counts[0] == 1
    # The count is 1 + floor(d ln g(t)).
    assert counts == [1 + math.floor(math.log(t)) for t in range(1, 23)]


def test_several_candidates_may_enter_at_once():
    policy = LBGPUCB(theta0=1.0, growth=lambda t: 1.0 if t < 2 else math.exp(3.5))
    state, history = start(policy), Told()
    assert state.alive == [0]
    step(policy, state, history, 0.0)
    step(policy, state, history, 0.0)
    assert state.n_introduced == 4


EXPECTED = [0, 1, 2, 0, 0, 0, 1, 0, 0, 0, 1]


# Balancing -------------------------------------------------------------------------


def test_suspected_regret_by_hand():
    policy = fixed()
    state = start(policy)
    # gamma_4(1) = 4**(1/6) ln(4)**(5/6); R = 2 (sqrt(gamma) + gamma)
    gamma = 4 ** (1 / 6) * math.log(4) ** (5 / 6)
    assert policy.regret(state, 0, 4) == pytest.approx(2 * (math.sqrt(gamma) + gamma))
    # theta = 1/e: gamma e times larger, B = e**(1/2)
    inner = math.exp(0.5) * math.sqrt(gamma * math.e) + gamma * math.e
    assert policy.regret(state, 1, 4) == pytest.approx(2 * inner)
    assert policy.regret(state, 1, 1) == 0.0


def test_regret_of_rbf_by_hand():
    policy = LBGPUCB(RBF(), theta0=0.5, norm_bound=3.0)
    state = start(policy, d=2)
    gamma = 0.5**-2 * math.log(9) ** 3
    expected = 3 * (3 * math.sqrt(gamma) + gamma)
    assert policy.regret(state, 0, 9) == pytest.approx(expected)


def test_order_of_choices_by_hand():
    # R(1) = 0 for all: each is tried once, the longest first. Then, with
    # R(n; 1) = 2.46, 4.22, 5.88, 7.46, 8.99, 10.48, 11.93 for n = 2..8,
    # R(n; 1/e) = 6.68, 11.48 and R(2; 1/e**2) = 18.1, the smallest comes next.
    policy = fixed(noise=10.0)
    state, history = start(policy), Told()
    chosen = [step(policy, state, history, 0.0) for _ in range(11)]
    assert chosen == EXPECTED


def test_pending_queries_count():
    policy = fixed()
    state = start(policy)
    pending = []
    for expected in EXPECTED[:6]:
        _, memo = policy.suggest(state, FakeModels(), argmax, pending)
        assert memo["candidate"] == expected
        pending.append(memo)
    assert state.t == 0
    assert state.members == [[], [], []]


def test_failed_queries_count_for_balancing_and_not_in_sums():
    policy = fixed(n_candidates=2, noise=1e-6)
    state, history = start(policy), Told()
    step(policy, state, history, math.nan)
    assert step(policy, state, history, 5.0) == 1
    assert state.members == [[0], [1]]
    # Candidate 0 has no finite value, so nothing is eliminated.
    assert state.alive == [0, 1]


def test_every_survivor_stays_balanced():
    """R(|S|) of the chosen never exceeds R(|S'| + 1) of a survivor."""
    space = Space({"x": Real(0, 1), "y": Real(0, 1)})
    policy = LBGPUCB(normalize_y=False, growth=0.7)
    optimizer = Optimizer(space, policy, random_state=0)
    for _ in range(45):
        params = optimizer.ask()
        optimizer.tell(params, math.sin(7 * params["x"]) * params["y"])
        state = optimizer._state
        if state is None or optimizer._history.trials[-1].memo is None:
            continue
        chosen = optimizer._history.trials[-1].memo["candidate"]
        after = policy.regret(state, chosen, len(state.members[chosen]))
        for other in state.alive:
            if len(state.members[other]):  # was there when the choice was made
                ahead = policy.regret(state, other, len(state.members[other]) + 1)
                assert after <= ahead


# Elimination -----------------------------------------------------------------------


def xi_by_hand(noise, introduced, t, delta=0.1):
    return 2 * noise**2 * math.log(introduced * math.pi**2 * t**2 / (3 * delta))


@pytest.mark.parametrize(("excess", "survives"), [(-1e-9, True), (1e-9, False)])
def test_elimination_at_the_threshold(excess, survives):
    # Candidate 0 has y = 0 and the memo's width beta sigma = 0.5 * 4 (scale) = 2; the
    # model's units are raw, so its slack is 2 * 2 / 1. After t = 2:
    noise = 0.3
    r = math.sqrt(xi_by_hand(noise, 2, 2) / 1)
    threshold = 0.0 + r + 2 * 2.0 + r  # y of the other minus its own r must pass it
    policy = fixed(n_candidates=2, noise=noise)
    state, history = start(policy), Told()
    step(policy, state, history, 0.0)
    assert state.alive == [0, 1]  # candidate 1 has not been tried yet
    step(policy, state, history, threshold + excess)
    assert state.alive == ([0, 1] if survives else [1])


def test_elimination_uses_present_units():
    """Standardised: values and widths enter with the present mean and scale."""
    policy = LBGPUCB(theta0=1.0, growth=lambda t: math.e, noise=0.01, beta=0.001)
    state, history = start(policy), Told()
    step(policy, state, history, -3.0)
    step(policy, state, history, 7.0)
    # z = -1, +1 (scale 5): widths 0.001 * 0.5 * 4 / 5 are far below the gap of 2.
    assert state.widths == [[pytest.approx(0.002)], [pytest.approx(0.002)]]
    assert state.alive == [1]


def test_a_wide_band_protects():
    policy = LBGPUCB(theta0=1.0, growth=lambda t: math.e, noise=0.01, beta=10.0)
    state, history = start(policy), Told()
    step(policy, state, history, -3.0)
    step(policy, state, history, 7.0)
    assert state.alive == [0, 1]  # slack 2 * 20 / 5 = 8 > 2


def test_the_last_candidate_stays_and_points_stay_with_it():
    policy = fixed(n_candidates=3, noise=1e-9, beta=0.0)
    state, history = start(policy), Told()
    for value in (0.0, 1.0, 2.0):
        step(policy, state, history, value)
    assert state.alive == [2]
    for _ in range(20):
        assert step(policy, state, history, -5.0) == 2
    assert state.alive == [2]
    assert state.members[0] == [0]


def test_eliminated_candidates_count_in_the_noise_term():
    policy = fixed(n_candidates=3, noise=0.5)
    assert policy.xi(3, 7) == pytest.approx(xi_by_hand(0.5, 3, 7))


# Reductions and settings -----------------------------------------------------------

MIXED = {"a": Real(0, 1), "b": [1, 5, 9], "c": ["x", "y", "z"], "d": [True, False]}


def objective(params):
    return math.sin(5 * params["a"]) + params["b"] / 9 - (params["c"] == "y")


@pytest.mark.parametrize("space", [{"a": Real(-2, 3)}, MIXED])
@pytest.mark.parametrize("beta", [1.5, "self-normalised"])
@pytest.mark.parametrize("seed", [0, 1])
def test_one_candidate_is_gp_ucb(space, beta, seed):
    def run(policy):
        optimizer = Optimizer(space, policy, n_initial_points=3, random_state=seed)
        asked = []
        for _ in range(25):
            asked.append(optimizer.ask())
            known = {"b": 1, "c": "x", **asked[-1]}
            optimizer.tell(asked[-1], objective(known))
        return asked

    kernel = Matern(length_scale=0.4, nu=2.5)
    one = LBGPUCB(theta0=0.4, growth=lambda t: 1.0, beta=beta, delta=0.2)
    plain = GPUCB(kernel, beta=beta, delta=0.1)
    assert run(one) == run(plain)


def test_growth_exponent_zero_and_one_candidate_never_grows():
    policy = LBGPUCB(theta0=1.0, growth=0.0, n_candidates=1)
    state, history = start(policy), Told()
    for _ in range(30):
        step(policy, state, history, 1.0)
    assert state.n_introduced == 1


def test_theta0_is_at_most_the_diameter():
    # Three nearly equal values: the likelihood would make theta as long as it may.
    space = {"x": Real(0, 1), "y": Real(0, 1)}
    policy = LBGPUCB(normalize_y=False)
    optimizer = Optimizer(space, policy, n_initial_points=3)
    for x in (0.2, 0.5, 0.9):
        optimizer.tell({"x": x, "y": 1 - x}, 1 + x / 100)
    optimizer.ask()
    assert optimizer._state.theta0 == pytest.approx(math.sqrt(2))


def test_other_kernels_are_refused():
    with pytest.raises(ValueError, match="known for the Matern and RBF kernels only"):
        start(LBGPUCB(RationalQuadratic(), theta0=1.0))


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [
        ({"ratio": "paprr"}, "ratio"),
        ({"ratio": 1.0}, "ratio"),
        ({"n_candidates": 0}, "n_candidates"),
        ({"theta0": -1.0}, "theta0"),
        ({"growth": -0.5}, "growth"),
        ({"beta": "lgo"}, "beta"),
        ({"noise": 0}, "noise"),
        ({"delta": 1.5}, "delta"),
        ({"information_gain": "x"}, "information_gain"),
        ({"normalize_y": (0, 0)}, "normalize_y"),
        ({"norm_bound": 0}, "norm_bound"),
    ],
)
def test_settings_out_of_range(settings, culprit):
    with pytest.raises(ValueError, match=f"'{culprit}'"):
        Optimizer({"x": Real(0, 1)}, LBGPUCB(**settings))
