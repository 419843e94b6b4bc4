"""A-GP-UCB step by step, against numbers calculated by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

import inside
import runs
from fake_models import FakeModels, FakePosterior, Probe, argmax
from runs import MIXED, assert_modelled, mixed_value
from skrobustbo import Integer, Optimizer, Real, Space
from skrobustbo.policies import AGPUCB, GPUCB, Setup
from skrobustbo.policies._growing import GrowingState, _Step, first_crossing
from skrobustbo.surrogate import FlatPrior, GammaPrior, LogNormalPrior


class Scaled(FakePosterior):
    """Deviation theta / 2; information gain 3."""

    information_gain = 3.0

    def __init__(self, candidate):
        super().__init__(candidate)
        self.sigma = 0.5 * float(np.max(candidate.kernel.length_scale))


class ScaledModels(FakeModels):
    posterior = Scaled

    def __init__(self, theta=(0.5,)):
        self.theta_map = np.array(theta)
        self.fitted_with = []

    def fit(self, kernel, prior, bounds, starts, per_parameter=False):
        self.fitted_with.append((prior, starts))
        return self.theta_map


def choice(policy, t, d=1, h=1.0, width=0.0, models=None, pending=()):
    """Return what the policy maximises after t told queries, and the metadata."""
    probe, state = Probe(), GrowingState(d, policy.theta0, t=t, h=h, width=width)
    models = ScaledModels() if models is None else models
    _, metadata = policy.suggest(state, models, probe, list(pending))
    posterior, beta = probe.acq.posterior, probe.acq.beta
    theta = np.asarray(posterior.candidate.kernel.length_scale)
    norm = posterior.candidate.norm_bound
    return SimpleNamespace(theta=theta, norm=norm, beta=beta), metadata


# Given growth -----------------------------------------------------------------------


def given(**settings):
    return AGPUCB(RBF(), matching=None, noise=0.1, **settings)


def test_length_scale_norm_and_beta_by_hand():
    # t = 4, d = 2: g = 4^0.5 = 2, b = 4^1 = 4, so theta = 0.4, B = 4 * 2^2 * 1.5 = 24;
    # beta = 24 + 0.4 sqrt(3 + 1 + ln 10).
    policy = given(theta0=0.8, norm_bound=1.5, growth=0.5, norm_growth=1.0)
    probe, metadata = choice(policy, t=4, d=2)
    assert probe.theta == pytest.approx(0.4)
    assert probe.norm == pytest.approx(24.0)
    assert probe.beta == pytest.approx(24 + 0.4 * math.sqrt(4 + math.log(10)))
    # The metadata's width is 2 beta sigma in units of the objective.
    assert metadata["width"] == pytest.approx(2 * probe.beta * 0.2 * 4)


@pytest.mark.parametrize("t", [0, 1])
def test_nothing_has_grown_at_the_start(t):
    probe, _ = choice(given(theta0=0.8, growth=0.7, norm_growth=0.3), t=t)
    assert (float(probe.theta), probe.norm) == (0.8, 2.0)


def test_callables_are_g_and_b_themselves():
    policy = given(growth=lambda t: 1 + t / 2, norm_growth=lambda t: 2.0**t)
    probe, _ = choice(policy, t=2)
    assert float(probe.theta) == 0.5
    assert probe.norm == pytest.approx(4 * 2 * 2.0)


def test_pending_queries_count():
    policy = given(growth=1.0)
    _, metadata = choice(policy, t=3)
    probe, _ = choice(policy, t=2, pending=[metadata, metadata])
    assert probe.theta == pytest.approx(1 / 4)


# Given h -----------------------------------------------------------------------------


def test_split_by_hand():
    # lambda = 0: all to the length scale, g = h^(1/d).
    assert AGPUCB(balance=0.0).factors(9.0, 2) == pytest.approx((3.0, 1.0))
    # lambda = 1: eps_g = eps_b = sqrt(h) - 1.
    assert AGPUCB(balance=1.0).factors(9.0, 1) == pytest.approx((3.0, 3.0))
    # lambda = 2, eps_g = 1, eps_b = 2: h = 2 * 3.
    assert AGPUCB(balance=2.0).factors(6.0, 1) == pytest.approx((2.0, 3.0))
    # lambda to infinity: all to the norm bound.
    assert AGPUCB(balance=1e12).factors(9.0, 3) == pytest.approx((1.0, 9.0))
    assert AGPUCB(balance=math.inf).factors(9.0, 3) == (1.0, 9.0)


@pytest.mark.parametrize("balance", [0.0, 1e-9, 0.1, 1.0, 30.0, 1e9])
@pytest.mark.parametrize("h", [1.0, 1 + 1e-12, 1.3, 50.0, 1e8])
def test_split_is_the_formula_of_the_paper(balance, h):
    d = 3
    g, b = AGPUCB(balance=balance).factors(h, d)
    assert g**d * b == pytest.approx(h)
    assert b - 1 == pytest.approx(balance * (g**d - 1), rel=1e-6, abs=1e-9 * h)
    if 0.01 < balance < 100 and h > 1.1:
        root = math.sqrt((1 + balance) ** 2 + 4 * balance * (h - 1))
        assert g**d - 1 == pytest.approx((root - 1 - balance) / (2 * balance))


@pytest.mark.parametrize("beta", [2.0, "log", "bayes-continuous"])
def test_a_beta_without_norm_gives_all_to_the_length_scale(beta):
    assert AGPUCB(beta=beta, balance=1.0).factors(9.0, 2) == (9.0, 1.0)


@pytest.mark.parametrize("beta", ["igp", "self-normalised"])
def test_other_schedules_with_norm_are_split(beta):
    assert AGPUCB(beta=beta, balance=1.0).factors(9.0, 1) == pytest.approx((3.0, 3.0))


# Matching ----------------------------------------------------------------------------


def step_of(policy, *, t, d=1, h=1.0, width=0.0, pending=()):
    state = GrowingState(d, policy.theta0, t=t, h=h, width=width)
    return _Step(policy, state, ScaledModels(), argmax, list(pending))


def test_regret_bound_by_hand():
    # d = 2, lambda = 1, h = 9: g^d = b = 3; before, h = 4: g^d = b = 2. The gain 3
    # becomes 3/2 * 3 = 4.5; beta = 3 * 3 * 2 + 0.4 sqrt(4.5 + 1 + ln 10);
    # C1 = 8 / ln(1 + 100).
    policy = AGPUCB(RBF(), balance=1.0)
    regret = step_of(policy, t=7, d=2, h=4.0).regret_bound()
    beta = 18 + 0.4 * math.sqrt(5.5 + math.log(10))
    expected = math.sqrt(8 / math.log(101) * 7 * beta**2 * 4.5)
    assert regret(9.0) == pytest.approx(expected)


def test_gain_of_a_class_grown_by_hand(monkeypatch):
    # As above: the norm bound is 3 * 3 * 2, the gain 3/2 * 3. Nothing asked: no regret.
    bands = []
    spy = lambda beta, band: (bands.append(band), 1.0)[1]  # noqa: E731
    monkeypatch.setattr("skrobustbo.policies._growing.band_beta", spy)
    policy = AGPUCB(RBF(), balance=1.0)
    assert step_of(policy, t=0, d=2, h=4.0).regret_bound()(9.0) == 0.0
    assert (bands[0].t, bands[0].norm) == (1, pytest.approx(18.0))
    assert bands[0].gain() == pytest.approx(4.5)


@pytest.mark.parametrize("balance", [0.0, 0.1, 3.0, math.inf])
@pytest.mark.parametrize("beta", ["a-gp", "igp", "self-normalised", "log", 2.0])
def test_regret_bound_increases(balance, beta):
    policy = AGPUCB(RBF(), balance=balance, beta=beta)
    regret = step_of(policy, t=7, d=2, h=1.7).regret_bound()
    values = [regret(h) for h in np.geomspace(1.7, 100, 30)]
    assert np.all(np.diff(values) > 0)


def test_one_step_by_hand():
    # lambda = 0, d = 1, h = 4: theta = 1/4, sigma = 1/8, B = 4 * 2 = 8. Widths so far:
    # 12 in objective units, 3 in the model's, and 4 pending, 1 in the model's.
    policy = AGPUCB(RBF(), balance=0.0)
    pending = [{"h": 1.0, "width": 4.0}]
    step = step_of(policy, t=7, width=12.0, pending=pending)
    beta = 8 + 0.4 * math.sqrt(4 + math.log(10))
    assert step.t == 8
    assert step.one_step(4.0) == pytest.approx(3 + 1 + 2 * beta / 8)


@pytest.mark.parametrize("matching", ["one-step", "regret-bound"])
def test_matched_growth_meets_the_reference(matching):
    target = lambda t: 200.0  # noqa: E731
    policy = AGPUCB(
        RBF(), balance=1.0, matching=matching, reference=target, ceiling=9.0
    )
    step = step_of(policy, t=7, width=12.0)
    h = step.matched(matching)
    regret = step.regret_bound() if matching == "regret-bound" else step.one_step
    assert regret(h) == pytest.approx(200, rel=1e-2)
    assert regret(h) >= 200
    _, metadata = choice(policy, t=7, width=12.0)
    assert metadata["h"] == h


def test_growth_stays_where_the_estimate_exceeds_the_reference():
    policy = AGPUCB(RBF(), reference=0.0)
    _, metadata = choice(policy, t=50, h=3.5, width=100.0)
    assert metadata["h"] == 3.5


def test_growth_is_bounded_by_the_ceiling():
    policy = AGPUCB(RBF(), beta=0.01, reference=lambda t: 1e6, ceiling=0.5)
    assert choice(policy, t=15)[1]["h"] == 4.0
    assert choice(policy, t=15, h=5.0)[1]["h"] == 5.0


def test_default_reference():
    assert AGPUCB().p(0) == 0.0
    assert AGPUCB().p(100) == pytest.approx(100**0.9)
    assert AGPUCB(reference=lambda t: 2 * t).p(3) == 6.0


def test_first_crossing():
    rising = lambda h: h**2  # noqa: E731
    assert first_crossing(rising, 4.0, 3.0, 50.0, 1e-9) == 3.0
    h = first_crossing(rising, 30.0, 1.0, 50.0, 1e-9)
    assert h == pytest.approx(math.sqrt(30))
    assert rising(h) >= 30
    assert first_crossing(rising, 30.0, 1.0, 2.0, 1e-9) == 2.0
    assert first_crossing(rising, 3.9, 1.0, 2.0, 1e-9) == pytest.approx(math.sqrt(3.9))
    # Not monotone: up at 2, down at 3, up again at 40.
    jumps = lambda h: float(2 < h < 3 or h > 40)  # noqa: E731
    assert first_crossing(jumps, 1.0, 1.0, 1e3, 1e-6) == pytest.approx(2.0, rel=1e-5)


def test_learn_keeps_the_largest_growth_in_any_order():
    policy, state = AGPUCB(), GrowingState(1, 1.0)
    for h, width in ((1.5, 2.0), (4.0, 3.0), (2.0, 0.5)):
        policy.learn(state, {"h": h, "width": width, "estimate": []}, None)
    assert (state.t, state.h, state.width) == (3, 4.0, 5.5)


# With MAP estimates ------------------------------------------------------------------


def test_combinations_by_hand():
    # g = 4^0.5 = 2: theta0 / g = 0.5 beside 0.3 and 0.9.
    for combine, expected in (("min", [0.3, 0.5]), ("divide", [0.15, 0.45])):
        policy = given(growth=0.5, combine=combine)
        models = ScaledModels([0.3, 0.9])
        probe, metadata = choice(policy, t=4, d=2, models=models)
        assert probe.theta == pytest.approx(expected)
        assert probe.norm == pytest.approx(2 * 2**2)
        assert metadata["estimate"] == [0.3, 0.9]


def test_before_growth_the_estimate_itself_is_used():
    policy = given(growth=0.5, combine="divide")
    probe, _ = choice(policy, t=1, d=2, models=ScaledModels([0.3, 0.9]))
    assert probe.theta == pytest.approx([0.3, 0.9])


def test_prior_of_the_estimate():
    for prior, expected in (
        (None, GammaPrior(3.0, 6.0)),
        (LogNormalPrior(), LogNormalPrior()),
        (FlatPrior(), FlatPrior()),
    ):
        models = ScaledModels()
        choice(given(combine="divide", prior=prior), t=2, models=models)
        assert models.fitted_with[0][0] == expected


@pytest.mark.parametrize("combine", ["min", "divide"])
@pytest.mark.parametrize("matching", ["one-step", "regret-bound", None])
@pytest.mark.parametrize("beta", ["a-gp", 2.0])
def test_combinations_run_and_resume(combine, matching, beta):
    space = {"a": Real(0, 1), "c": ["x", "y", "z"]}
    policy = AGPUCB(
        combine=combine, matching=matching, beta=beta, growth=0.3, prior=GammaPrior()
    )
    optimizer = Optimizer(space, policy, n_initial_points=3, random_state=0)
    runs.run(
        optimizer, 9, lambda params: math.sin(9 * params["a"]) + (params["c"] == "y")
    )
    again = Optimizer.from_dict(optimizer.to_dict())
    assert again.ask() == optimizer.ask()


# Reductions and whole runs -----------------------------------------------------------


def run(policy, space, seed, n=20):
    optimizer = Optimizer(space, policy, n_initial_points=3, random_state=seed)
    return runs.run(optimizer, n, mixed_value), optimizer


@pytest.mark.parametrize("space", [{"a": Real(-2, 3)}, MIXED])
@pytest.mark.parametrize("noise", [0.01, 0.3])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_class_that_does_not_grow_is_gp_ucb(space, noise, seed):
    plain = GPUCB(Matern(0.4, nu=2.5), beta="a-gp", noise=noise)
    settings = {"theta0": 0.4, "norm_bound": 1.0, "noise": noise}
    expected, _ = run(plain, space, seed)
    ones = AGPUCB(matching=None, growth=lambda t: 1.0, **settings)
    assert run(ones, space, seed)[0] == expected
    # A reference that is always exceeded stops the growth as well.
    for matching in ("one-step", "regret-bound"):
        still = AGPUCB(matching=matching, reference=lambda t: 0.0, **settings)
        assert run(still, space, seed)[0] == expected


@pytest.mark.parametrize("matching", ["one-step", "regret-bound"])
def test_growth_increases_and_label_follows(matching):
    policy = AGPUCB(
        Matern(nu=2.5), matching=matching, reference=lambda t: 20.0 * t, balance=0.5
    )
    _, optimizer = run(policy, {"a": Real(0, 1)}, 0, n=25)
    pending = [trial.metadata for trial in inside.trials(optimizer) if trial.metadata]
    growth = [metadata["h"] for metadata in pending]
    assert growth == sorted(growth)
    assert growth[0] == 1.0 < growth[-1]
    g, _ = policy.factors(growth[-1], 1)
    assert pending[-1]["label"] == f"theta={1 / g:.3g}"
    assert inside.state(optimizer).h == growth[-1]
    assert inside.state(optimizer).t == 22


def test_growth_counts_failed_queries():
    policy = AGPUCB(matching=None, growth=0.5)
    optimizer = Optimizer({"a": Real(0, 1)}, policy, n_initial_points=2, random_state=0)
    for i in range(8):
        optimizer.tell(optimizer.ask(), math.nan if i % 2 else float(i))
    assert inside.state(optimizer).t == 6
    optimizer.ask()
    assert optimizer.history_[-1]["model_label"] == f"theta={6**-0.5:.3g}"


def test_bounds_of_the_gain_serve_as_well():
    space = Space({"i": Integer(0, 30)})
    for gain in ("bound", "rate"):
        policy = AGPUCB(information_gain=gain, matching="regret-bound")
        optimizer = Optimizer(space, policy, n_initial_points=2, random_state=0)
        runs.run(optimizer, 6, lambda params: -float(params["i"]))
        assert_modelled(optimizer.history_[2:])


def test_first_length_scale_may_be_fitted():
    policy = AGPUCB(theta0=None, normalize_y=False)
    optimizer = Optimizer({"a": Real(0, 1)}, policy, n_initial_points=3)
    optimizer.tell([{"a": a} for a in (0.2, 0.5, 0.9)], [1.0, 1.01, 1.03])
    optimizer.ask()
    assert inside.state(optimizer).theta0 == pytest.approx(1.0)


def test_start_uses_the_setting():
    assert AGPUCB(theta0=0.3).start(Setup(2), ScaledModels()) == GrowingState(2, 0.3)


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [
        ({"theta0": 0.0}, "theta0"),
        ({"norm_bound": -1}, "norm_bound"),
        ({"matching": "two-step"}, "matching"),
        ({"combine": "max"}, "combine"),
        ({"growth": -0.1}, "growth"),
        ({"growth": lambda t: t**0.9}, "growth"),
        ({"norm_growth": lambda t: 2.0}, "norm_growth"),
        ({"reference": -1}, "reference"),
        ({"balance": -0.1}, "balance"),
        ({"ceiling": -1}, "ceiling"),
        ({"combine": "min", "information_gain": "rate"}, "combine"),
        ({"beta": "none"}, "beta"),
    ],
)
def test_settings_out_of_range(settings, culprit):
    with pytest.raises(ValueError, match=f"'{culprit}'"):
        Optimizer({"x": Real(0, 1)}, AGPUCB(**settings))
