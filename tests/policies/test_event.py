"""Resets and windows, step by step, against numbers calculated by hand."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

import inside
from fake_models import FakeModels, FakePosterior, Told, argmax
from runs import CUBE, GRID, assert_modelled, read_back, run, run_over_time
from skrobustbo import Optimizer, Real, policies
from skrobustbo.policies import BRGPUCB, ETGPUCB, GPUCB, RGPUCB, SWGPUCB, Setup

KERNEL = RBF(0.2)
FAMILY = ["et-gp-ucb", "r-gp-ucb", "br-gp-ucb", "sw-gp-ucb"]


class Narrow(FakePosterior):
    """A deviation of 0.3, and of 0.5 at the query."""

    def predict(self, Z):
        return np.zeros(len(Z)), np.full(len(Z), 0.3)


class NarrowModels(FakeModels):
    """A unit of the objective is `scale` of the model; records where models start."""

    n, posterior, X = 50, Narrow, np.zeros((50, 1))

    def __init__(self, scale=4.0):
        self.scale = scale
        self.starts = []

    def since(self, start):
        self.starts.append(start)
        return self


def begin(policy, d=2, horizon=None):
    return policy.start(Setup(d, horizon), NarrowModels()), Told()


def propose(policy, state, scale=4.0, pending=()):
    return policy.suggest(state, NarrowModels(scale), argmax, list(pending))[1]


def tell(policy, state, history, metadata, value):
    history.list.append(value)
    return policy.learn(state, metadata, history)


def step(policy, state, history, value):
    return tell(policy, state, history, propose(policy, state), value)


# The trigger -----------------------------------------------------------------------


def threshold_by_hand(step, noise=0.1, scale=4.0):
    # rho = 2 ln(2 pi_t' / 0.1), pi_t' = pi^2 t'^2 / 6; sigma 1/2, in the model's units.
    rho = 2 * math.log(20 * (math.pi**2 * step**2 / 6))
    return scale * (0.5 * math.sqrt(rho) + noise * math.sqrt(rho))


def test_threshold_is_a_number():
    # t' = 1: rho = 2 ln 32.899 = 6.9868, its root 2.64327; times 0.6 * 4: 6.34384
    assert threshold_by_hand(1) == pytest.approx(6.34384, abs=1e-5)
    assert ETGPUCB(noise=0.1).threshold(1, 2.0, 4.0) == pytest.approx(6.34384, abs=1e-5)


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize("at", [1, 2, 7])
@pytest.mark.parametrize(("excess", "fires"), [(1e-9, True), (-1e-9, False)])
def test_trigger_on_both_sides_of_the_threshold(side, at, excess, fires):
    policy = ETGPUCB(KERNEL, noise=0.1)
    state, history = begin(policy)
    for _ in range(at - 1):
        assert not step(policy, state, history, 1.0)  # the prediction itself
    assert state.step == at
    value = 1.0 + side * (threshold_by_hand(at) + excess)
    assert step(policy, state, history, value) is fires
    assert (state.first, state.step) == ((at - 1, 1) if fires else (0, at + 1))
    assert state.t == at


def test_units_are_those_of_the_step_that_predicted():
    policy = ETGPUCB(KERNEL, noise=0.1)
    for scale, fires in ((4.0, False), (1.0, True)):
        state, history = begin(policy)
        metadata = propose(policy, state, scale)
        assert metadata["deviation"] == 0.5 * scale  # without pending points
        assert metadata["std"] == pytest.approx(0.3 * scale)
        assert tell(policy, state, history, metadata, 6.0) is fires


def test_cap_on_the_noise_term():
    rho = 2 * math.log(20 * (math.pi**2 * 30**2 / 6))
    capped = ETGPUCB(noise=0.1, noise_cap=0.2)
    assert capped.threshold(30, 0.0, 4.0) == pytest.approx(0.8)
    free = ETGPUCB(noise=0.1)
    assert free.threshold(30, 0.0, 4.0) == pytest.approx(0.4 * math.sqrt(rho))
    assert capped.threshold(30, 1.0, 4.0) == pytest.approx(math.sqrt(rho) + 0.8)


def test_events_before_n_low_do_not_reset():
    policy = ETGPUCB(KERNEL, n_low=3)
    state, history = begin(policy)
    resets = [step(policy, state, history, 1e3) for _ in range(7)]
    assert resets == [False, False, True, False, False, True, False]
    assert state.first == 5
    assert state.step == 2


def test_the_clock_resets_at_n_up():
    policy = ETGPUCB(KERNEL, n_up=3)
    state, history = begin(policy)
    values = [1.0, 1.0, 1.0, 1.0, 1e3, 1.0, 1.0, 1.0]
    resets = [step(policy, state, history, value) for value in values]
    assert resets == [False, False, True, False, True, False, False, True]


def test_a_failure_is_a_step_and_no_event():
    policy = ETGPUCB(KERNEL, n_up=2)
    state, history = begin(policy)
    assert not step(policy, state, history, math.nan)
    assert (state.t, state.step) == (1, 2)
    assert step(policy, state, history, math.nan)  # the clock ignores the value


def test_a_memo_older_than_the_reset_never_triggers():
    policy = ETGPUCB(KERNEL)
    state, history = begin(policy)
    early, late = propose(policy, state), propose(policy, state)
    assert tell(policy, state, history, late, 1e3)
    assert not tell(policy, state, history, early, -1e3)
    assert (state.t, state.step, state.first) == (2, 2, 0)
    assert step(policy, state, history, 1e3)
    assert state.first == 2


def test_a_memo_older_than_the_reset_counts_for_the_clock():
    policy = RGPUCB(KERNEL, period=2)
    state, history = begin(policy)
    pending = [propose(policy, state) for _ in range(5)]
    resets = [tell(policy, state, history, metadata, 1.0) for metadata in pending[::-1]]
    assert resets == [False, True, False, True, False]


def test_beta_keeps_the_count_of_all_queries():
    policy = ETGPUCB(KERNEL, c1=0.4, c2=3.0)
    state, history = begin(policy)
    for _ in range(4):
        step(policy, state, history, 1e3)
    assert (state.t, state.step) == (4, 1)
    seen = []
    spy = lambda acq, *, inner=False: (seen.append(acq.beta), (np.zeros(1), 0.0))[1]  # noqa: E731
    policy.suggest(state, NarrowModels(), spy, [{}, {}])
    assert seen == [pytest.approx(math.sqrt(0.4 * math.log(3.0 * 7)))]


@pytest.mark.parametrize("cls", [ETGPUCB, SWGPUCB])
def test_beta_is_that_of_the_query_to_come(cls):
    class Counting(cls):
        def beta_of(self, posterior, n_parameters, t):
            asked_for.append(t)
            return 1.0

    asked_for = []
    policy = Counting(KERNEL)
    state, _ = begin(policy)
    propose(policy, state)
    state.t = 4
    propose(policy, state, pending=[{}, {}])
    assert asked_for == [1, 7]


def test_a_window_counts_all_queries():
    policy = SWGPUCB(KERNEL, window=2)
    state, history = begin(policy)
    for told in (1, 2, 3):
        tell(policy, state, history, {"estimate": []}, 1.0)
        assert state.t == told


def test_models_see_what_came_since_the_reset():
    policy = ETGPUCB(KERNEL)
    state, history = begin(policy)
    history.list += [1.0, 1.0, 1.0]  # the initial design
    step(policy, state, history, 1.0)
    step(policy, state, history, 1e3)
    models = NarrowModels()
    policy.suggest(state, models, argmax, [])
    assert models.starts == [4]  # the value of the reset stays


# Lengths ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "period"), [(0.01, 38), (0.03, 29), (0.05, 26), (0.001, 68), (0.2, 18)]
)
def test_periods_of_the_paper(epsilon, period):
    state, _ = begin(RGPUCB(KERNEL, epsilon=epsilon), horizon=400)
    assert state.up == period


def test_reset_windows_of_the_paper():
    state, _ = begin(ETGPUCB(KERNEL, epsilon_bounds=(0.01, 0.05)), horizon=400)
    assert (state.low, state.up) == (26, 38)
    state, _ = begin(ETGPUCB(KERNEL, epsilon_bounds=(0.0, 1.0)), horizon=400)
    assert (state.low, state.up) == (12, None)
    state, _ = begin(ETGPUCB(KERNEL), horizon=400)
    assert (state.low, state.up) == (1, None)
    both = ETGPUCB(KERNEL, epsilon_bounds=(0.01, 0.05), n_low=2, n_up=30)
    assert begin(both)[0].low == 2
    assert begin(both)[0].up == 30


def test_matern_exponent():
    # nu = 5/2, d = 2: kappa = 6/11, so 12 * 0.03^(-11/38) = 33.1
    assert begin(RGPUCB(Matern(0.2, nu=2.5)))[0].up == 34
    assert begin(RGPUCB(Matern(0.2, nu=2.5)), d=1)[0].up == 31  # kappa = 2/7: 30.9


def test_a_reset_at_the_horizon_is_none():
    assert begin(RGPUCB(KERNEL, period=30), horizon=30)[0].up is None
    assert begin(RGPUCB(KERNEL, period=30), horizon=31)[0].up == 30
    assert begin(RGPUCB(KERNEL, epsilon=0))[0].up is None
    assert begin(ETGPUCB(KERNEL, epsilon_bounds=(1e-9, 1e-8)), horizon=20)[0].low == 20


def test_memory_for_a_variation_budget():
    # RBF 0.2, d = 1: gamma = 5 ln(100)^2 = 106.04, so H = 3.209 sqrt(100 / B)
    wide = RBF(0.2)
    assert begin(BRGPUCB(wide), d=1)[0].up == 33
    assert begin(BRGPUCB(wide, budget=4.0), d=1)[0].up == 17
    assert begin(SWGPUCB(wide, budget=4.0), d=1)[0].window == 17
    assert begin(SWGPUCB(wide), d=1, horizon=400)[0].window == 74  # gamma = 179.5
    # The growth rate is capped: 50 ln(1 + 1e4) = 460.5 for a tiny length scale.
    assert begin(BRGPUCB(RBF(1e-6)), d=400)[0].up == 47


def test_the_fitted_length_scale_enters_the_period():
    optimizer = Optimizer({"x": Real(0, 1)}, "br-gp-ucb", random_state=0)
    run_over_time(optimizer, 5, objective)
    state = inside.state(optimizer)
    gamma = math.log(100) ** (5 / 6) * 100 ** (1 / 6) / state.theta
    assert state.up == math.ceil(gamma**0.25 * 10)


# Whole runs ------------------------------------------------------------------------


def objective(params, t):
    known = {"a": 0.5, "b": 0.5, **params}
    phase = 2.5 * (t >= 18)
    return math.sin(1.3 * known["a"] + phase) + math.cos(known["b"] - phase)


def queries(policy, space, n=30, seed=0):
    optimizer = Optimizer(space, policy, n_initial_points=3, random_state=seed)
    asked = run_over_time(optimizer, n, objective)
    return asked, [record["reset"] for record in optimizer.history_]


@pytest.mark.parametrize("space", [GRID, CUBE])
@pytest.mark.parametrize("beta", [1.5, "log"])
def test_et_before_its_first_reset_is_gp_ucb(space, beta):
    plain, none = queries(GPUCB(KERNEL, beta=beta, repeats=True), space)
    asked, resets = queries(ETGPUCB(KERNEL, beta=beta), space)
    assert not any(none)
    assert any(resets)
    same = resets.index(True) + 1
    assert asked[:same] == plain[:same]
    off, resets = queries(ETGPUCB(KERNEL, beta=beta, delta_b=None), space)
    assert off == plain
    assert not any(resets)


@pytest.mark.parametrize("space", [GRID, CUBE])
def test_et_without_trigger_is_r(space):
    et = queries(ETGPUCB(KERNEL, delta_b=None, n_up=8), space)
    assert et == queries(RGPUCB(KERNEL, period=8), space)
    assert et == queries(BRGPUCB(KERNEL, period=8), space)
    assert [i for i, reset in enumerate(et[1]) if reset] == [10, 18, 26]
    assert et[0] != queries(GPUCB(KERNEL, beta="log", repeats=True), space)[0]


@pytest.mark.parametrize("space", [GRID, CUBE])
def test_a_window_over_all_is_gp_ucb(space):
    plain = queries(GPUCB(KERNEL, beta="log", repeats=True), space)[0]
    assert queries(SWGPUCB(KERNEL, window=30), space)[0] == plain
    assert queries(SWGPUCB(KERNEL, window=10), space)[0] != plain


def test_the_window_holds_the_latest_values():
    optimizer = Optimizer(GRID, SWGPUCB(KERNEL, window=6), random_state=0)
    run_over_time(optimizer, 15, objective)
    posterior = optimizer.policy.posterior(
        inside.state(optimizer), inside.models(optimizer)
    )
    np.testing.assert_array_equal(posterior.X, inside.models(optimizer).X[-6:])


def test_a_reset_leaves_one_value_and_shows_in_the_history():
    optimizer = Optimizer(GRID, ETGPUCB(KERNEL, normalize_y=False), random_state=0)
    while not any(record["reset"] for record in optimizer.history_):
        run(optimizer, 1, lambda _: 0.0 if len(optimizer.history_) < 12 else 30.0)
    assert len(optimizer.history_) == 12
    posterior = optimizer.policy.posterior(
        inside.state(optimizer), inside.models(optimizer)
    )
    np.testing.assert_array_equal(posterior.X, inside.models(optimizer).X[-1:])
    # The value of the reset is all that is known: 30 / (1 + noise^2) there.
    mu, _ = posterior.predict(posterior.X)
    assert mu[0] == pytest.approx(30 / (1 + 1e-4))


def test_recommend_speaks_of_now():
    """The best point of long ago is forgotten with its data."""
    policy = RGPUCB(KERNEL, period=4, normalize_y=False)
    space = {"a": [0, 1, 2, 3, 4, 5, 6]}
    optimizer = Optimizer(space, policy, n_initial_points=3, random_state=0)
    initial = optimizer.ask(3)
    optimizer.tell(initial, [50.0, 0.0, 0.0])
    assert optimizer.recommend() == initial[0]  # the rule of the initial design
    for value in (0.1, 0.2, math.nan, 0.3, 0.1):
        optimizer.tell(optimizer.ask(), value)
    assert inside.state(optimizer).first == 6
    recent = [record["params"] for record in optimizer.history_[6:]]
    assert optimizer.recommend() in recent
    # If all values in use have failed, the finite values count.
    for value in (0.0, 0.0, math.nan):
        optimizer.tell(optimizer.ask(), value)
    assert optimizer.history_[-1]["reset"]
    failed = optimizer.history_[-1]["params"]
    told = [r["params"] for r in optimizer.history_ if math.isfinite(r["value"])]
    assert optimizer.recommend() in told
    assert optimizer.recommend() != failed


@pytest.mark.parametrize("name", policies.available())
def test_who_may_ask_again(name):
    changing = {*FAMILY, "tv-gp-ucb", "ui-tvbo", "w-gp-ucb"}
    assert policies.make_policy(name).repeats == (name in changing)


@pytest.mark.parametrize("name", FAMILY)
def test_points_are_asked_again(name):
    optimizer = Optimizer({"c": [1, 2, 3]}, name, random_state=0)
    run(optimizer, 12, lambda params: float(params["c"]))
    assert optimizer.recommend() == {"c": 3}
    # While there are new points, the initial design contains no point twice.
    assert {record["params"]["c"] for record in optimizer.history_[:3]} == {1, 2, 3}


@pytest.mark.parametrize("name", FAMILY)
def test_round_trips_across_resets(name):
    def new():
        settings = {"sw-gp-ucb": {"window": 5}, "et-gp-ucb": {"n_up": 6}}
        policy = policies.make_policy(name, **settings.get(name, {"period": 5}))
        return Optimizer(CUBE, policy, n_initial_points=3, random_state=0)

    whole = new()
    expected = run_over_time(whole, 25, objective)
    optimizer, asked = new(), []
    for t in range(25):
        asked.append(optimizer.ask())
        optimizer = read_back(optimizer)
        optimizer.tell(asked[-1], objective(asked[-1], t))
    assert asked == expected
    resets = [[r["reset"] for r in o.history_] for o in (whole, optimizer)]
    assert resets[0] == resets[1]


def test_batches_told_out_of_order_across_a_reset():
    optimizer = Optimizer(CUBE, ETGPUCB(KERNEL), n_initial_points=3, random_state=0)
    run_over_time(optimizer, 8, objective)
    batch = optimizer.ask(4)
    for params, value in zip(batch[::-1], (500.0, -500.0, 400.0, 1.0), strict=True):
        optimizer.tell(params, value)
    # The first one told resets; the others were asked before.
    told = [trial.reset for trial in inside.log(optimizer).told[8:]]
    assert told == [True, False, False, False]
    assert inside.state(optimizer).step == 4
    optimizer.ask()


@pytest.mark.parametrize(
    ("policy", "culprit"),
    [
        (ETGPUCB(delta_b=0.0), "delta_b"),
        (ETGPUCB(n_low=0), "n_low"),
        (ETGPUCB(n_low=2.5), "n_low"),
        (ETGPUCB(n_low=5, n_up=4), "n_up"),
        (ETGPUCB(epsilon_bounds=(0.2, 0.1)), "epsilon_bounds"),
        (ETGPUCB(epsilon_bounds=(0.0, 0.0)), "epsilon_bounds"),
        (ETGPUCB(Matern(nu=1.5), epsilon_bounds=(0.1, 0.2)), "epsilon_bounds"),
        (ETGPUCB(noise_cap=0.0), "noise_cap"),
        (ETGPUCB(c1=0.0), "c1"),
        (ETGPUCB(c2=-1.0), "c2"),
        (ETGPUCB(beta="lgo"), "beta"),
        (ETGPUCB(noise=0), "noise"),
        (RGPUCB(period=True), "period"),
        (RGPUCB(epsilon=1.5), "epsilon"),
        (RGPUCB(RationalQuadratic()), "epsilon"),
        (BRGPUCB(period=0), "period"),
        (BRGPUCB(budget=0.0), "budget"),
        (BRGPUCB(RationalQuadratic()), "budget"),
        (SWGPUCB(window=0), "window"),
        (SWGPUCB(RationalQuadratic()), "budget"),
    ],
)
def test_settings_out_of_range(policy, culprit):
    with pytest.raises(ValueError, match=f"'{culprit}' of"):
        Optimizer({"x": Real(0, 1)}, policy)


def test_other_kernels_with_lengths_given():
    for policy in (
        RGPUCB(RationalQuadratic(), period=4),
        BRGPUCB(RationalQuadratic(), period=4),
        SWGPUCB(RationalQuadratic(), window=4),
        ETGPUCB(RationalQuadratic(), n_up=4),
    ):
        optimizer = Optimizer({"x": Real(0, 1)}, policy, random_state=0)
        run_over_time(optimizer, 8, objective)
        assert_modelled(optimizer.history_[optimizer.n_initial_points :])
