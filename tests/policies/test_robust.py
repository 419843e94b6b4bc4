"""The default: how often it estimates, which levels pass, how it ends."""

import numpy as np
import pytest

import inside
from fake_models import Told
from runs import run
from skrobustbo import Optimizer, Real
from skrobustbo.acquisition import UCB, LogEI
from skrobustbo.policies import RobustUCB
from skrobustbo.policies import _robust as module
from skrobustbo.policies._interface import Setup
from skrobustbo.policies._robust import GridState
from skrobustbo.surrogate import FactorCache, Models, View


@pytest.fixture
def fits(monkeypatch):
    """Note the number of values at each fit of the length scales."""
    sizes, fit = [], module.map_length_scales

    def noted(kernel, models, *args):
        sizes.append(models.n)
        return fit(kernel, models, *args)

    monkeypatch.setattr(module, "map_length_scales", noted)
    return sizes


def smooth(params):
    return -((params["a"] - 0.3) ** 2)


def search(n, objective=smooth):
    optimizer = Optimizer({"a": Real(0, 1)}, RobustUCB(winsorize=None), random_state=0)
    run(optimizer, n, objective)
    return optimizer


def test_every_step_at_first_and_ever_more_rarely_then(fits):
    search(200)
    assert set(range(10, 41)) <= set(fits)
    late = np.array([n for n in fits if n >= 41])
    gaps = np.diff(late)
    # After n values the next estimate waits for (n - 25) / 16 more, a fourth at least.
    spacing = 1 + (late[1:] - 25) // 16
    assert (gaps <= spacing).all()
    assert len(late) < 60


def test_a_batch_asks_with_one_estimate(fits):
    optimizer = search(70)
    fits.clear()
    optimizer.ask(8)
    assert len(fits) <= 1


def test_a_surprise_brings_the_next_estimate_forward(fits):
    calm = search(150)
    due = fits[-1] + 1 + (150 - 25) // 16
    fits.clear()
    run(calm, 2, lambda params: smooth(params) + 50.0)
    while not fits:
        calm.ask()
        params = calm.ask()
        calm.tell(params, smooth(params))
    assert fits[0] < due


def test_the_state_says_from_how_many_values_the_estimate_is():
    optimizer = search(30)
    state = inside.state(optimizer)
    assert state.n_fitted == 29
    assert len(state.theta) == 1


def modelled(optimizer):
    """Return by what each model step divided the estimate."""
    labels = [record["model_label"] for record in optimizer.history_]
    return [float(text.removeprefix("theta/")) for text in labels if "/" in text]


def finished(min_improvement=0.01, **settings):
    policy = RobustUCB(min_improvement=min_improvement, **settings)
    optimizer = Optimizer({"a": Real(0, 1)}, policy, horizon=40, random_state=0)
    run(optimizer, 40, smooth)
    return optimizer


def test_rungs_that_expect_nothing_leave_their_turns_to_the_shorter():
    # The parabola is known by heart soon: then the shortest length scales look around.
    searching = modelled(finished(endgame=0.0))[:30]
    taking_turns = modelled(finished(min_improvement=0.0, endgame=0.0))[:30]
    assert np.mean(np.array(searching) > 1) > np.mean(np.array(taking_turns) > 1) + 0.2
    assert min(modelled(finished(min_improvement=0.0, weights=(1,)))) == 1.0


def test_a_rung_that_passed_rests_until_something_happens():
    state = GridState(1, None, [0, 0, 0], cooldown=[30, 0, 0])
    assert state.active(0, 29) == [1, 2]
    assert state.active(0, 30) == [0, 1, 2]
    assert state.active(2, 0) == [2]
    policy = RobustUCB(weights=(1, 1, 1), winsorize=None, normalize_y=False)
    metadata = {
        "level": 0,
        "theta": [1.0],
        "noise": None,
        "n_fitted": 9,
        "skipped": [0, 1],
    }
    calm = {"mean": 0.0, "std": 0.0, "expected_error": 0.1, "raw": False}
    told = [1.0, *[0.0] * 19]
    policy.learn(state, metadata | calm, Told(told))
    assert state.cooldown == [22, 22, 0]
    policy.learn(state, metadata | calm, Told([*told, 0.5]))  # a surprise
    assert state.cooldown == [0, 0, 0]
    policy.learn(state, metadata | calm | {"mean": 1.0}, Told([*told, 1.0]))  # as good
    assert state.cooldown == [23, 23, 0]
    policy.learn(state, metadata | calm | {"mean": 2.0}, Told([*told, 2.0]))  # better
    assert state.cooldown == [0, 0, 0]


def test_the_end_of_the_horizon_belongs_to_the_estimate():
    rng = np.random.default_rng(0)

    def noisy(params):
        return smooth(params) + 0.3 * rng.standard_normal()

    policy = RobustUCB(min_improvement=1e-6)
    optimizer = Optimizer({"a": Real(0, 1)}, policy, horizon=40, random_state=0)
    run(optimizer, 40, noisy)
    divisors = modelled(optimizer)
    assert divisors[-6:] == [1.0] * 6
    assert max(divisors[:-6]) > 1.0


def test_the_end_is_that_of_all_branches_together():
    space = [{"model": ["a"], "x": Real(0, 1)}, {"model": ["b"], "y": Real(0, 1)}]
    optimizer = Optimizer(
        space, RobustUCB(min_improvement=0.0), horizon=40, random_state=0
    )
    run(optimizer, 40, lambda params: smooth({"a": params.get("x", params.get("y"))}))
    divisors = modelled(optimizer)
    assert divisors[-6:] == [1.0] * 6
    assert max(divisors[:-6]) > 1.0


def jumping(policy, n=40, deviation=0.7):
    """Return an optimizer that has been told a parabola under heavy noise."""
    rng = np.random.default_rng(0)
    optimizer = Optimizer({"a": Real(0, 1)}, policy, horizon=n, random_state=0)
    for _ in range(n):
        params = optimizer.ask()
        spread = 0.3 * deviation * rng.standard_normal()
        optimizer.tell(params, smooth(params) + spread)
    return optimizer


def test_noise_is_estimated_where_it_is_most_of_the_values():
    optimizer = jumping(RobustUCB())
    again = Optimizer.from_dict(optimizer.to_dict())
    for one in (optimizer, again):
        assert 0.5 <= inside.state(one).noise <= 1.0
    believing = jumping(RobustUCB(noise_margin=None))
    assert inside.state(believing).noise is None


def test_predictions_average_what_is_mostly_noise():
    rng = np.random.default_rng(0)
    points = [{"a": a} for a in rng.random(60)]
    true = np.array([smooth(params) for params in points])
    errors = []
    for evidence in (8.0, None):
        policy = RobustUCB(noise_margin=evidence)
        optimizer = Optimizer({"a": Real(0, 1)}, policy, random_state=0)
        optimizer.tell(points, true + 0.2 * np.random.default_rng(1).normal(size=60))
        errors.append(np.abs(optimizer.predict(points) - true).mean())
    assert errors[0] < 0.5 * errors[1]


def test_shorter_length_scales_believe_what_the_first_takes_for_noise():
    rng = np.random.default_rng(0)
    X = rng.random((40, 1))
    z = np.sin(3 * X[:, 0]) + rng.standard_normal(40)
    models = Models(FactorCache(0.01), View(X, (z - z.mean()) / z.std()))
    state = GridState(1, 60, [0] * 4, cooldown=[0] * 4)
    seen = []

    def argmax(acq):
        seen.append(acq.posterior.noise)
        return X[0], 0.0

    # No level gains so much: all are asked in turn.
    RobustUCB(min_improvement=1e6).suggest(state, models, argmax, [])
    assert 0.5 <= seen[0] <= 1.0
    assert seen[1:] == [0.01] * 3


def test_no_noise_is_estimated_of_what_is_smooth():
    assert inside.state(finished()).noise is None


def test_a_search_that_goes_on_beyond_its_horizon_explores_again():
    policy, state = RobustUCB(endgame=0.2), GridState(1, 10, [0])
    assert [n for n in range(15) if policy.is_endgame(state, n)] == [8, 9]
    never = RobustUCB(endgame=0.0)
    assert not any(never.is_endgame(state, n) for n in range(15))


def test_settings_out_of_range_are_refused():
    for name in ("noise_margin", "min_improvement", "endgame", "endgame_beta"):
        with pytest.raises(ValueError, match=f"'{name}' of RobustUCB"):
            RobustUCB(**{name: -0.1}).start(Setup(1), None)
    for name in ("winsorize", "endgame_beta"):
        with pytest.raises(ValueError, match=f"'{name}' of RobustUCB .* finite"):
            RobustUCB(**{name: np.inf}).start(Setup(1), None)
    with pytest.raises(ValueError, match="'weights' of RobustUCB"):
        RobustUCB(weights=(np.inf, 1)).start(Setup(1), None)
    for name in ("n_ucb", "raw_every"):
        with pytest.raises(ValueError, match=f"'{name}' of RobustUCB must be >= 0"):
            RobustUCB(**{name: -1}).start(Setup(1), None)


def seen_by(policy, values, n_queries, horizon=None):
    """Return what queries of the first point go by, and their pending.

    That is the means at the told points: the values seen, noise being negligible.
    """
    X = np.linspace(0, 1, len(values))[:, None]
    z, shift, scale = policy.targets(values)
    models = Models(
        FactorCache(1e-5), View(X, z, shift=shift, scale=scale, values=values)
    )
    state, pending, seen = policy.start(Setup(1, horizon), models), [], []

    def argmax(acq):
        seen.append(acq.posterior.told_means)
        return X[0], 0.0

    for _ in range(n_queries):
        _, metadata = policy.suggest(state, models, argmax, pending)
        pending.append(metadata)
    return seen, pending


def test_every_third_query_sees_the_values_as_they_are():
    values = np.array([-1e3, 0.0, 1.0, 2.0, np.nan])
    raised, as_they_are = [-4.0, 0, 1, 2, -4.0], [-1e3, 0, 1, 2, -1e3]
    fixed = {"min_improvement": 0.0, "normalize_y": False}
    seen, pending = seen_by(RobustUCB(**fixed), values, 6)
    raw = [metadata["raw"] for metadata in pending]
    assert raw == [False, False, True] * 2
    for z, as_is in zip(seen, raw, strict=True):
        np.testing.assert_allclose(z, as_they_are if as_is else raised, atol=1e-2)
    # The sixth comes after ten others: of a horizon of eleven, it is the last 15 %.
    _, pending = seen_by(RobustUCB(**fixed), values, 6, horizon=11)
    raw = [metadata["raw"] for metadata in pending]
    assert raw == [False, False, True, False, False, False]
    for z in seen_by(RobustUCB(raw_every=0, **fixed), values, 6)[0]:
        np.testing.assert_allclose(z, raised, atol=1e-2)


def test_units_of_queries_are_those_of_the_values_they_see():
    values = np.array([-1e3, 0.0, 1.0, 2.0, 1.5])
    _, [metadata] = seen_by(RobustUCB(raw_every=1, min_improvement=0.0), values, 1)
    assert metadata["mean"] == pytest.approx(-1e3, rel=1e-2)  # not the floor, -3


def test_values_that_are_all_the_same_keep_the_units_they_are_given():
    values = np.full(5, 7.0)
    models = Models(
        FactorCache(0.01),
        View(np.eye(5), np.zeros(5), shift=7.0, scale=20.0, values=values),
    )
    assert RobustUCB()._raw(models) is models


@pytest.mark.parametrize("raw", [True, False])
def test_surprises_are_judged_by_the_values_that_the_query_saw(raw):
    policy, state = RobustUCB(weights=(1,)), GridState(1, None, [0], cooldown=[0])
    metadata = {"level": 0, "theta": [1.0], "noise": None, "n_fitted": 4, "skipped": []}
    told = [0.0, 1.0, 2.0, 1.5, -1e3]  # a model of these as they are expected as much
    metadata |= {"mean": -1e3, "std": 1.0, "expected_error": 1.0, "raw": raw}
    policy.learn(state, metadata, Told(told))
    assert (state.n_surprised == 5) == (not raw)


def test_predictions_are_of_the_values_as_they_are():
    # Half of the range is good, the rest falls off steeply: the search clips that.
    def cliff(params):
        return -(max(0.0, params["a"] - 0.45) ** 2)

    optimizer = Optimizer({"a": Real(0, 1)}, random_state=0)
    points = [{"a": a} for a in np.linspace(0, 1, 21)]
    optimizer.tell(points, [cliff(params) for params in points])
    clipped = optimizer.policy.targets(inside.log(optimizer).values)
    assert clipped[0].min() * clipped[2] + clipped[1] > -0.2
    between = [{"a": a} for a in (0.1, 0.77, 0.93)]
    true = [cliff(params) for params in between]
    np.testing.assert_allclose(optimizer.predict(between), true, atol=0.01)


def test_predictions_are_not_spoilt_by_a_fit_that_diverged():
    optimizer = Optimizer({"a": Real(0, 1)}, random_state=0)
    points = [{"a": a} for a in np.linspace(0, 1, 21)]
    values = [smooth(params) for params in points]
    optimizer.tell(points, [*values[:-1], -1e9])
    between = [{"a": a} for a in (0.12, 0.37, 0.61)]
    true = [smooth(params) for params in between]
    np.testing.assert_allclose(optimizer.predict(between), true, atol=0.05)


def acquisitions(policy, n_told=12, counts=(0, 0, 0, 0), horizon=40):
    """Return what a policy maximises in its next step, level by level as they pass."""
    rng = np.random.default_rng(0)
    X = rng.random((n_told, 1))
    models = Models(FactorCache(policy.noise), View(X, np.sin(6 * X[:, 0])))
    state = GridState(1, horizon, list(counts), cooldown=[0] * len(counts))
    seen = []

    def argmax(acq):
        seen.append(acq)
        return X[0], 0.0  # a point told, of which no level expects a gain

    policy.suggest(state, models, argmax, [])
    return seen


def test_the_first_rung_goes_by_the_bound_and_the_others_by_improvement():
    bound, *improvements = acquisitions(RobustUCB())
    assert isinstance(bound, UCB)
    assert bound.beta == 0.7
    assert len(improvements) == 3
    for improvement in improvements:
        assert isinstance(improvement, LogEI)
        assert improvement.incumbent == improvement.posterior.told_means.max()


@pytest.mark.parametrize("n_ucb", [0, 1, 2, 4, 9])
def test_n_ucb_says_how_many_rungs_go_by_the_bound(n_ucb):
    kinds = [type(acq) for acq in acquisitions(RobustUCB(n_ucb=n_ucb))]
    assert kinds == [UCB] * min(n_ucb, 4) + [LogEI] * max(0, 4 - n_ucb)


def test_at_the_end_the_estimate_goes_by_a_narrow_bound():
    for n_ucb in (0, 1):
        first, *_ = acquisitions(RobustUCB(n_ucb=n_ucb), n_told=35)
        assert isinstance(first, UCB)
        assert first.beta == 0.3
