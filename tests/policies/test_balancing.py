"""The balancing policies step by step, against numbers calculated by hand."""

import json
import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

import inside
import runs
from fake_models import FakeModels, Told, argmax
from runs import MIXED, mixed_value
from skrobustbo import Candidate, Optimizer, Real, Space
from skrobustbo.policies import GPUCB, HBGPUCB, LBGPUCB, LNBGPUCB, RegretBalancer, Setup
from skrobustbo.policies._balancing import _admitted


def start(policy, d=1):
    return policy.start(Setup(d), FakeModels())


def label(policy, state, i):
    return policy.candidate(state, i).label


def step(policy, state, history, value, pending=()):
    """Run one suggest and learn; return the chosen candidate."""
    _, metadata = policy.suggest(state, FakeModels(), argmax, list(pending))
    history.list.append(value)
    policy.learn(state, metadata, history)
    return metadata["candidate"]


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


def test_a_growth_function_below_one_admits_the_first():
    policy = LBGPUCB(theta0=1.0, growth=lambda t: 0.5 * t)
    state, history = start(policy, d=2), Told()
    assert state.introduced == [[0, 0]]
    step(policy, state, history, 0.0)
    step(policy, state, history, 0.0)
    assert state.introduced == [[0, 0]]  # g(2) = 1 < exp(1/2)
    step(policy, state, history, 0.0)
    assert state.introduced == [[0, 0]]  # g(3) = 1.5 < 1.65
    step(policy, state, history, 0.0)
    assert state.introduced == [[0, 0], [1, 0]]


@pytest.mark.parametrize("d", range(1, 12))
def test_a_tie_up_to_rounding(d):
    for i in range(1, 12):
        for g in (math.exp(1 / d) ** i, math.exp(i / d)):
            state = start(LBGPUCB(theta0=1.0, growth=lambda t, g=g: g), d=d)
            assert len(state.introduced) == i + 1
        state = start(LBGPUCB(theta0=1.0, growth=lambda t, g=g: g * (1 - 1e-6)), d=d)
        assert len(state.introduced) == i


def test_schedules_of_the_ladder_by_hand():
    assert LBGPUCB().step(3) == pytest.approx(math.exp(1 / 3))
    assert LBGPUCB(ratio="code").step(2) == pytest.approx(math.exp(1 / 7))
    assert LBGPUCB(ratio=1.7).step(3) == 1.7
    assert LBGPUCB().g(1, 2) == pytest.approx(math.exp(2))
    assert LBGPUCB(growth=1.5).g(16, 2) == pytest.approx(64)
    assert LNBGPUCB(norm_growth=1.5).b(16) == pytest.approx(64)
    assert [_admitted(g, 2.0) for g in (0.5, 1, 1.9, 2, 15, 16)] == [1, 1, 1, 2, 4, 5]
    assert _admitted(1.0, 1.5) == 1


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
        counts.append(len(state.introduced))
    entered = [t for t in range(2, 23) if counts[t - 1] > counts[t - 2]]
    assert entered == [3, 8, 21]  # ceil of e, e**2, e**3
    assert counts[0] == 1
    # The count is 1 + floor(d ln g(t)).
    assert counts == [1 + math.floor(math.log(t)) for t in range(1, 23)]


def test_the_start_has_the_candidates_of_the_first_query():
    def grow(t):
        return math.exp(t)

    assert start(LBGPUCB(theta0=1.0, growth=grow)).introduced == [[0, 0], [1, 0]]
    pairs = start(LNBGPUCB(theta0=1.0, growth=0, n_candidates=1, norm_growth=grow))
    assert pairs.introduced == [[0, 0], [0, 1]]


def test_several_candidates_may_enter_at_once():
    policy = LBGPUCB(theta0=1.0, growth=lambda t: 1.0 if t < 2 else math.exp(3.5))
    state, history = start(policy), Told()
    assert state.alive == [0]
    step(policy, state, history, 0.0)
    step(policy, state, history, 0.0)
    assert len(state.introduced) == 4


EXPECTED = [0, 1, 2, 0, 0, 0, 1, 0, 0, 0, 1]


# Balancing -------------------------------------------------------------------------


def test_suspected_regret_by_hand():
    policy = fixed()
    state = start(policy)
    # gamma_4(1) = 4**(1/6) ln(4)**(5/6); R = 2 (sqrt(gamma) + gamma)
    gamma = 4 ** (1 / 6) * math.log(4) ** (5 / 6)
    assert policy.suspected_regret(state, 0, 4) == pytest.approx(
        2 * (math.sqrt(gamma) + gamma)
    )
    # theta = 1/e: gamma e times larger, B = e**(1/2)
    inner = math.exp(0.5) * math.sqrt(gamma * math.e) + gamma * math.e
    assert policy.suspected_regret(state, 1, 4) == pytest.approx(2 * inner)
    assert policy.suspected_regret(state, 1, 1) == 0.0


def test_regret_of_rbf_by_hand():
    policy = LBGPUCB(RBF(), theta0=0.5, norm_bound=3.0)
    state = start(policy, d=2)
    gamma = 0.5**-2 * math.log(9) ** 3
    expected = 3 * (3 * math.sqrt(gamma) + gamma)
    assert policy.suspected_regret(state, 0, 9) == pytest.approx(expected)


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
        _, metadata = policy.suggest(state, FakeModels(), argmax, pending)
        assert metadata["candidate"] == expected
        pending.append(metadata)
    assert state.t == 0
    assert state.members == [[], [], []]


def test_band_of_each_query_by_hand(monkeypatch):
    """beta of query t, counting pending ones, with half of delta."""
    policy, calls = fixed(), []

    def beta_of(posterior, d, t):
        calls.append((posterior.candidate.label, d, t))
        return 0.25

    monkeypatch.setattr(policy, "beta_of", beta_of)
    state, history = start(policy, d=2), Told()
    assert step(policy, state, history, 0.0) == 0
    assert state.t == 1
    _, metadata = policy.suggest(state, FakeModels(), argmax, [{"candidate": 1}] * 3)
    assert calls == [("theta=1", 2, 1), ("theta=0.368", 2, 5)]
    assert policy.share == 0.5
    # beta sigma before the query, in units of the objective
    assert metadata["width"] == pytest.approx(0.25 * 0.5 * 4)


def test_schedules_get_half_of_delta():
    seen = []

    def spy(acq, *, inner=False):
        seen.append((acq.posterior.candidate.label, acq.beta))
        return np.zeros(1), 0.0

    policy = fixed(1, beta="self-normalised", delta=0.2, norm_bound=3.0)
    policy.suggest(start(policy), FakeModels(), spy, [])
    root = math.sqrt(2 * (1.0 + math.log(1 / 0.1)))
    assert seen == [("theta=1", pytest.approx(3 + root))]


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
        state = inside.state(optimizer)
        if state is None or inside.metadata(optimizer) is None:
            continue
        chosen = inside.metadata(optimizer)["candidate"]
        after = policy.suspected_regret(state, chosen, len(state.members[chosen]))
        for other in state.alive:
            if len(state.members[other]):  # was there when the choice was made
                ahead = policy.suspected_regret(
                    state, other, len(state.members[other]) + 1
                )
                assert after <= ahead


def test_queries_are_indices_into_the_history(monkeypatch):
    policy, (history, chosen) = fixed(), (Told(), [])
    monkeypatch.setattr(policy, "_eliminate", lambda state, values: None)
    state = start(policy)
    history.list += [3.0, 4.0]  # the initial design
    for _ in range(4):
        chosen.append(step(policy, state, history, 0.0))
    assert chosen == [0, 1, 2, 0]
    assert state.members == [[2, 5], [3], [4]]


# Elimination -----------------------------------------------------------------------


def xi_by_hand(noise, introduced, t, delta=0.1):
    return 2 * noise**2 * math.log(introduced * math.pi**2 * t**2 / (3 * delta))


@pytest.mark.parametrize(("excess", "survives"), [(-1e-9, True), (1e-9, False)])
def test_elimination_at_the_threshold(excess, survives):
    # Candidate 0 has y = 0 and a width beta sigma = 0.5 * 4 (scale) = 2; the model's
    # units are raw, so its slack is 2 * 2 / 1. After t = 2:
    noise = 0.3
    r = math.sqrt(xi_by_hand(noise, 2, 2) / 1)
    threshold = 0.0 + r + 2 * 2.0 + r  # y of the other minus its own r must exceed it
    policy = fixed(n_candidates=2, noise=noise)
    state, history = start(policy), Told()
    step(policy, state, history, 0.0)
    assert state.alive == [0, 1]  # candidate 1 has not been tried yet
    step(policy, state, history, threshold + excess)
    assert state.alive == ([0, 1] if survives else [1])


@pytest.mark.parametrize(("excess", "survives"), [(-1e-9, True), (1e-9, False)])
def test_elimination_after_several_queries(excess, survives):
    """Means, noise terms and slacks are over 3 queries of one and 2 of the other."""
    noise = 0.3
    policy = fixed(n_candidates=2, noise=noise)
    state, history = start(policy), Told()
    xi = xi_by_hand(noise, 2, 5)
    threshold = 0.2 + math.sqrt(xi / 3) + 2 * (1 + 0.5 + 0.75) / 3 + math.sqrt(xi / 2)
    told = [(0, 0.1, 1.0), (1, 3.0, 9.0), (0, 0.2, 0.5), (0, 0.3, 0.75)]
    for candidate, value, width in [*told, (1, 2 * threshold - 3.0 + 2 * excess, 9.0)]:
        assert state.alive == [0, 1]
        history.list.append(value)
        policy.learn(state, {"candidate": candidate, "width": width}, history)
    assert state.alive == ([0, 1] if survives else [1])


def test_elimination_waits_until_all_have_a_value(monkeypatch):
    policy = fixed(n_candidates=3)
    monkeypatch.setattr(RegretBalancer, "xi", lambda *_: pytest.fail("too early"))
    state, history = start(policy), Told()
    for value in (0.0, 1.0, math.nan):
        step(policy, state, history, value)
    assert state.members == [[0], [1], [2]]


def test_elimination_uses_present_units():
    """Standardised: values and widths use the current mean and scale."""
    policy = LBGPUCB(theta0=1.0, growth=lambda t: math.e, noise=0.01, beta=0.5)
    state, history = start(policy), Told()
    step(policy, state, history, -3.0)
    step(policy, state, history, 7.0)
    # z = -1, +1 (scale 5): the slack 2 * 0.5 * 0.5 * 4 / 5 is below the gap of 2.
    assert state.widths == [[pytest.approx(1.0)], [pytest.approx(1.0)]]
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


def test_a_tie_in_the_test_keeps_the_last():
    """The noise is so small that m + r and m - r are the same number."""
    policy = fixed(n_candidates=1, noise=1e-30, beta=0.0)
    state, history = start(policy), Told()
    step(policy, state, history, 2.0)
    assert state.alive == [0]


def test_eliminated_candidates_count_in_the_noise_term():
    policy = fixed(n_candidates=3, noise=0.5)
    rule = RegretBalancer(policy.noise, policy.delta)
    assert rule.xi(3, 7) == pytest.approx(xi_by_hand(0.5, 3, 7))


# Pairs of a length scale and a norm (LNB) --------------------------------------------


def pairs(n_theta=2, **settings):
    """A policy with length scales 1, 1/e, ... and raw values."""
    g = math.exp(n_theta - 1)
    return LNBGPUCB(theta0=1.0, growth=lambda t: g, normalize_y=False, **settings)


def test_norms_enter_with_every_length_scale():
    # b(t) = t: v(j) = e**j enters once t >= e**j, at t = 3 and 8; g(t) = max(1, t/4)
    # lets q(1) in at t = 11, together with the three norms there are.
    policy = LNBGPUCB(
        theta0=1.0, growth=lambda t: max(1.0, t / 4), norm_growth=1.0, noise=10.0
    )
    state, history = start(policy), Told()
    entered = {}
    for t in range(1, 12):
        before = len(state.introduced)
        step(policy, state, history, 0.0)
        entered[t] = state.introduced[before:]
    assert {t: new for t, new in entered.items() if new} == {
        3: [[0, 1]],
        8: [[0, 2]],
        11: [[1, 0], [1, 1], [1, 2]],
    }
    assert state.introduced[0] == [0, 0]


def test_both_may_grow_at_once_and_the_product_is_whole():
    big = lambda t: 1.0 if t < 2 else math.exp(2.5)  # noqa: E731
    policy = LNBGPUCB(theta0=1.0, growth=big, norm_growth=big)
    state, history = start(policy), Told()
    assert state.introduced == [[0, 0]]
    step(policy, state, history, 0.0)
    assert state.introduced == [[0, 0]]
    step(policy, state, history, 0.0)
    assert sorted(state.introduced) == [[i, j] for i in range(3) for j in range(3)]
    # Norm by norm, the longest length scales first.
    assert state.introduced[1:4] == [[1, 0], [2, 0], [0, 1]]


def test_pairs_from_the_start():
    state = start(pairs(2, norm_growth=lambda t: math.e))
    assert state.introduced == [[0, 0], [1, 0], [0, 1], [1, 1]]
    assert state.alive == [0, 1, 2, 3]


def test_exact_tie_admits_the_norm():
    for j in range(1, 9):
        state = start(pairs(1, norm_growth=lambda t, j=j: math.exp(j)))
        assert len(state.introduced) == j + 1
        state = start(pairs(1, norm_growth=lambda t, j=j: math.exp(j) - 1e-5))
        assert len(state.introduced) == j


def test_eliminated_pairs_do_not_come_back():
    policy = pairs(1, norm_growth=lambda t: math.e, noise=1e-9, beta=0.0)
    state, history = start(policy), Told()
    for value in (0.0, 1.0):
        step(policy, state, history, value)
    assert state.alive == [1]
    step(policy, state, history, 0.0)
    assert state.introduced == [[0, 0], [0, 1]]
    assert state.alive == [1]


def test_norm_of_a_pair_by_hand():
    policy = pairs(2, norm_growth=lambda t: math.e, norm_bound=3.0)
    state = start(policy, d=2)
    i = state.introduced.index([1, 1])
    # q(1) = exp(-1/2), v(1) = 3 e: B = (e**(1/2))**(2/2) 3 e.
    B = 3 * math.exp(1.5)
    assert policy.candidate(state, i).norm_bound == pytest.approx(B)
    gamma = math.e * 5 ** (2 / 7) * math.log(5) ** (5 / 7) * math.exp(-0.5 * 2 + 1)
    gamma *= math.exp(-0.5 * 2 + 1)
    expected = math.sqrt(5) * (B * math.sqrt(gamma) + gamma)
    assert policy.suspected_regret(state, i, 5) == pytest.approx(expected)
    assert label(policy, state, i) == "theta=0.607, N=8.15"
    assert policy.alive(state)[0]["label"] == "theta=1, N=3"


def test_every_pair_counts_in_the_noise_term(monkeypatch):
    policy = pairs(2, norm_growth=lambda t: math.e)
    state, history = start(policy), Told()
    seen = []
    monkeypatch.setattr(
        RegretBalancer, "xi", lambda self, A, t: seen.append((A, t)) or 1e6
    )
    for _ in range(5):
        step(policy, state, history, 0.0)
    assert seen == [(4, 4), (4, 5)]


# Candidates of any form (HB) -------------------------------------------------------


def test_default_candidates_halve_the_estimate():
    optimizer = Optimizer({"x": Real(0, 1), "y": Real(0, 1)}, "hb-gp-ucb")
    points = optimizer.space.sample(8, 0)
    optimizer.tell(points, [math.sin(5 * p["x"]) + p["y"] for p in points])
    optimizer.ask()
    policy, state = optimizer.policy, inside.state(optimizer)
    models = [policy.candidate(state, i) for i in range(5)]
    theta0 = Optimizer({"x": Real(0, 1), "y": Real(0, 1)}, "lb-gp-ucb")
    theta0.tell(points, [math.sin(5 * p["x"]) + p["y"] for p in points])
    theta0.ask()
    scales = [model.kernel.length_scale for model in models]
    np.testing.assert_allclose(
        scales, inside.state(theta0).theta0 / 2.0 ** np.arange(5)
    )
    # B = (theta0 / theta)**(d/2) N with d = 2.
    assert [model.norm_bound for model in models] == [1, 2, 4, 8, 16]
    assert state.introduced == [[0], [1], [2], [3], [4]]


def test_norm_bounds_of_the_default_candidates():
    policy = HBGPUCB(norm_bound=3.0)
    state = policy.state_type(3, 0.8, introduced=[[0], [3]])
    assert policy.candidate(state, 1).norm_bound == pytest.approx(3 * 2**4.5)
    assert label(policy, state, 1) == "theta=0.1"


def test_kernels_get_the_norm_bound_and_candidates_keep_theirs():
    own = Candidate(RBF(0.2), mean=lambda X: X[:, 0], norm_bound=5.0)
    policy = HBGPUCB(candidates=[RBF(0.5), own], norm_bound=2.0)
    state = start(policy)
    assert policy.candidate(state, 0).norm_bound == 2.0
    assert policy.candidate(state, 1) is own
    assert state.theta0 == 1.0


def test_regret_of_a_kernel_by_hand():
    several = Candidate(Matern([0.25, 1.0], nu=1.5), norm_bound=2.0)
    policy = HBGPUCB(candidates=[RBF(0.5), several])
    state = start(policy, d=2)
    gamma = 0.5**-2 * math.log(9) ** 3
    expected = 3 * (math.sqrt(gamma) + gamma)
    assert policy.suspected_regret(state, 0, 9) == pytest.approx(expected)
    # The geometric mean of 1/4 and 1 is 1/2.
    gamma = 0.5**-2 * 9 ** (2 / 5) * math.log(9) ** (3 / 5)
    expected = 3 * (2 * math.sqrt(gamma) + gamma)
    assert policy.suspected_regret(state, 1, 9) == pytest.approx(expected)


def test_given_regrets_balance():
    # R = 1 n and 3 n: the second asks when 3 (n + 1) < n' + 1; ties to the first.
    policy = HBGPUCB(
        candidates=[RationalQuadratic(), RBF(0.1)],
        regret=lambda i, n: (1, 3)[i] * n,
        noise=10.0,
    )
    state, history = start(policy), Told()
    chosen = [step(policy, state, history, 0.0) for _ in range(9)]
    assert chosen == [0, 0, 0, 1, 0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    "proposing", [(0, 2, 3), lambda t: 0 if t < 2 else t, lambda t: {2: 2}.get(t, t)]
)
def test_candidates_enter_as_proposed(proposing):
    policy = HBGPUCB(candidates=[RBF(3.0), RBF(2.0), RBF(1.0)], proposing=proposing)
    state, history = start(policy), Told()
    assert state.introduced == [[0]]
    counts = []
    for _ in range(6):
        step(policy, state, history, 0.0)
        counts.append(len(state.introduced))
    assert counts == [1, 2, 3, 3, 3, 3]


def test_candidates_may_enter_out_of_order():
    policy = HBGPUCB(candidates=[RBF(3.0), RBF(2.0), RBF(1.0)], proposing=[1, 0, 0])
    state, history = start(policy), Told()
    assert state.introduced == [[1], [2]]
    step(policy, state, history, 0.0)
    assert state.introduced == [[1], [2], [0]]
    assert label(policy, state, 2) == "RBF(length_scale=3)"
    regret = policy.suspected_regret(state, 2, 4)
    assert regret < policy.suspected_regret(state, 1, 4)


def test_a_candidate_that_enters_pauses_the_elimination():
    policy = HBGPUCB(
        candidates=[RBF(3.0), RBF(2.0)],
        proposing=(0, 3),
        noise=1e-9,
        beta=0.0,
        normalize_y=False,
    )
    state, history = start(policy), Told()
    for value in (0.0, 0.0, 0.0):
        assert step(policy, state, history, value) == 0
    assert state.alive == [0, 1]
    assert step(policy, state, history, 1.0) == 1
    assert state.alive == [1]


# Reductions and settings -----------------------------------------------------------


def run(policy, space, seed, n=25):
    optimizer = Optimizer(space, policy, n_initial_points=3, random_state=seed)
    return runs.run(optimizer, n, mixed_value), inside.state(optimizer)


@pytest.mark.parametrize("space", [{"a": Real(-2, 3)}, MIXED])
@pytest.mark.parametrize("beta", [1.5, "self-normalised"])
@pytest.mark.parametrize("seed", [0, 1])
def test_one_candidate_is_gp_ucb(space, beta, seed):
    kernel = Matern(length_scale=0.4, nu=2.5)
    one = LBGPUCB(theta0=0.4, growth=lambda t: 1.0, beta=beta, delta=0.2)
    plain = GPUCB(kernel, beta=beta, delta=0.1)
    assert run(one, space, seed)[0] == run(plain, space, seed)[0]


@pytest.mark.parametrize("space", [{"a": Real(-2, 3)}, MIXED])
@pytest.mark.parametrize("beta", [0.3, "self-normalised"])
def test_one_norm_is_lb(space, beta):
    settings = {"growth": 0.7, "n_candidates": 2, "beta": beta, "norm_bound": 0.6}
    one = LNBGPUCB(norm_growth=lambda t: 1.0, **settings)
    asked, state = run(one, space, 0)
    expected, plain = run(LBGPUCB(**settings), space, 0)
    assert asked == expected
    assert state == plain


@pytest.mark.parametrize("space", [{"a": Real(-2, 3)}, MIXED])
@pytest.mark.parametrize("beta", [0.3, "self-normalised"])
def test_balancing_the_same_candidates_is_lb(space, beta):
    d, settings = len(space), {"beta": beta, "noise": 0.05}
    growing = LBGPUCB(theta0=0.7, growth=lambda t: min(t, math.exp(2 / d)), **settings)
    expected, plain = run(growing, space, 0)
    # q(i) = theta0 exp(-i/d) enters once g(t) = t >= exp(i/d); B = exp(i/2).
    grid = [growing.candidate(plain, i) for i in range(3)]
    enter = [math.ceil(math.exp(i / d)) if i else 0 for i in range(3)]
    same = HBGPUCB(candidates=grid, proposing=enter, **settings)
    asked, state = run(same, space, 0)
    assert asked == expected
    assert (state.members, state.alive) == (plain.members, plain.alive)
    assert len(state.introduced) == 3
    for i, model in enumerate(grid):
        assert model.kernel.length_scale == pytest.approx(0.7 * math.exp(-i / d))
        assert model.norm_bound == pytest.approx(math.exp(i / 2))


def test_growth_exponent_zero_and_one_candidate_never_grows():
    policy = LBGPUCB(theta0=1.0, growth=0.0, n_candidates=1)
    state, history = start(policy), Told()
    for _ in range(30):
        step(policy, state, history, 1.0)
    assert len(state.introduced) == 1


def test_theta0_is_at_most_the_diameter():
    # Three nearly equal values: the likelihood would make theta as long as possible.
    space = {"x": Real(0, 1), "y": Real(0, 1)}
    policy = LBGPUCB(normalize_y=False)
    optimizer = Optimizer(space, policy, n_initial_points=3)
    for x in (0.2, 0.5, 0.9):
        optimizer.tell({"x": x, "y": 1 - x}, 1 + x / 100)
    optimizer.ask()
    assert inside.state(optimizer).theta0 == pytest.approx(math.sqrt(2))


def test_other_kernels_are_refused():
    with pytest.raises(ValueError, match="known for the Matern and RBF kernels only"):
        LBGPUCB(RationalQuadratic(), theta0=1.0).check()


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
    for policy in (LBGPUCB, LNBGPUCB):
        with pytest.raises(ValueError, match=f"'{culprit}'"):
            Optimizer({"x": Real(0, 1)}, policy(**settings))


def test_step_of_the_authors_code_needs_a_smoothness():
    with pytest.raises(ValueError, match="The 'ratio' of LNBGPUCB must be 'paper' or"):
        LNBGPUCB(RBF(), ratio="code").check()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"candidates": []}, "'candidates' of HBGPUCB must be a list"),
        ({"candidates": [0.5]}, "'candidates'"),
        ({"candidates": [RBF()], "proposing": (0, 1)}, "'proposing'"),
        ({"candidates": [RBF()], "proposing": (1,)}, "'proposing'"),
        ({"proposing": (0, 1)}, "'proposing'"),
        ({"candidates": [RationalQuadratic()]}, "'regret' .* RationalQuadratic"),
        ({"candidates": [Candidate(RationalQuadratic())]}, "'regret'"),
        ({"regret": 3.0}, "'regret'"),
        ({"kernel": RationalQuadratic()}, "'regret' of HBGPUCB must be a callable"),
        ({"norm_bound": -1.0}, "'norm_bound'"),
    ],
)
def test_settings_of_hb_out_of_range(settings, message):
    with pytest.raises(ValueError, match=message):
        Optimizer({"x": Real(0, 1)}, HBGPUCB(**settings))


def test_norm_growth_out_of_range():
    with pytest.raises(ValueError, match="'norm_growth' of LNBGPUCB"):
        Optimizer({"x": Real(0, 1)}, LNBGPUCB(norm_growth=-1.0))


def test_candidates_as_json():
    policy = HBGPUCB(candidates=[Matern(0.3), RBF(0.2)], proposing=(0, 4))
    whole = Optimizer({"x": Real(0, 1)}, policy, random_state=0)
    state = None
    for _ in range(10):
        optimizer = whole if state is None else Optimizer.from_dict(state)
        params = optimizer.ask()
        assert params == (whole.ask() if optimizer is not whole else params)
        for each in {id(optimizer): optimizer, id(whole): whole}.values():
            each.tell(params, math.sin(5 * params["x"]))
        state = json.loads(json.dumps(optimizer.to_dict()))
