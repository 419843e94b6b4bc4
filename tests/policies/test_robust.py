"""The default: how often it estimates, which levels pass, how it ends."""

import math

import numpy as np
import pytest

import inside
from fake_models import Told
from runs import read_back, run
from skrobustbo import Optimizer, Real
from skrobustbo.policies import RobustUCB
from skrobustbo.policies import _robust as module
from skrobustbo.policies._robust import (
    CLIMB,
    FILL,
    MODEL,
    NO_ESTIMATE,
    SHORTER,
    Estimate,
    RobustState,
    Spacing,
    compress,
)
from skrobustbo.surrogate import FactorCache, LogNormalPrior, Models, View


@pytest.fixture
def fits(monkeypatch):
    """Record the number of values at each fit of the length scales."""
    sizes, fit = [], module.map_length_scales

    def noted(kernel, models, *args):
        sizes.append(models.n)
        return fit(kernel, models, *args)

    monkeypatch.setattr(module, "map_length_scales", noted)
    return sizes


def smooth(params):
    return -((params["a"] - 0.3) ** 2)


def search(n, objective=smooth):
    optimizer = Optimizer({"a": Real(0, 1)}, RobustUCB(), random_state=0)
    run(optimizer, n, objective)
    return optimizer


def test_every_step_at_first_and_ever_more_rarely_then(fits):
    search(200)
    assert set(range(10, 33)) <= set(fits)
    for kind in (0, 1):
        late = np.array([n for n in fits if n >= 33 and n % 2 == kind])
        # After n values, the next estimate waits for (n - 25) / 8 more, and its turn.
        assert (np.diff(late) <= 2 + (late[1:] - 25) // 8).all()
        assert len(late) < 30


def test_a_batch_asks_with_one_estimate(fits):
    optimizer = search(70)
    fits.clear()
    optimizer.ask(8)
    assert len(fits) <= 1


def test_the_state_says_from_how_many_values_the_estimate_is():
    optimizer = search(30)
    state = inside.state(optimizer)
    assert [fit["n_fitted"] for fit in state.fits] == [28, 29]
    assert [len(fit["theta"]) for fit in state.fits] == [1, 1]


def finished(min_improvement=0.01, **settings):
    policy = RobustUCB(min_improvement=min_improvement, **settings)
    optimizer = Optimizer({"a": Real(0, 1)}, policy, horizon=40, random_state=0)
    run(optimizer, 40, smooth)
    return optimizer


def jumping(policy, n=40, deviation=0.7):
    """Return an optimizer that was told a parabola with heavy noise."""
    rng = np.random.default_rng(0)
    optimizer = Optimizer({"a": Real(0, 1)}, policy, horizon=n, random_state=0)
    for _ in range(n):
        params = optimizer.ask()
        spread = 0.3 * deviation * rng.standard_normal()
        optimizer.tell(params, smooth(params) + spread)
    return optimizer


def test_noise_is_estimated_where_it_is_most_of_the_values(monkeypatch):
    optimizer = jumping(RobustUCB())
    again = Optimizer.from_dict(optimizer.to_dict())
    for one in (optimizer, again):
        assert 0.5 <= inside.state(one).fits[False]["noise"] <= 1.0
    monkeypatch.setattr(module, "_NOISE_MARGIN", math.inf)
    believing = jumping(RobustUCB())
    assert [fit["noise"] for fit in inside.state(believing).fits] == [None, None]


def test_predictions_average_what_is_mostly_noise(monkeypatch):
    rng = np.random.default_rng(0)
    points = [{"a": a} for a in rng.random(60)]
    true = np.array([smooth(params) for params in points])
    errors = []
    for margin in (8.0, math.inf):
        monkeypatch.setattr(module, "_NOISE_MARGIN", margin)
        optimizer = Optimizer({"a": Real(0, 1)}, RobustUCB(), random_state=0)
        optimizer.tell(points, true + 0.2 * np.random.default_rng(1).normal(size=60))
        errors.append(np.abs(optimizer.predict(points) - true).mean())
    assert errors[0] < 0.5 * errors[1]


def test_no_noise_is_estimated_of_what_is_smooth():
    assert [fit["noise"] for fit in inside.state(finished()).fits] == [None, None]


def test_a_search_that_goes_on_beyond_its_horizon_explores_again():
    policy = RobustUCB(endgame=0.8)
    assert [n for n in range(15) if policy.is_endgame(10, n)] == [8, 9]
    never = RobustUCB(endgame=0.0)
    assert not any(never.is_endgame(10, n) for n in range(15))


def test_the_horizon_may_be_set_again():
    settings = {"n_initial_points": 4, "random_state": 0}
    whole = Optimizer({"a": Real(0, 1)}, horizon=30, **settings)
    expected = run(whole, 30, smooth)
    other = Optimizer({"a": Real(0, 1)}, horizon=1000, **settings)
    run(other, 4, smooth)
    other.horizon = 30
    assert run(other, 16, smooth) == expected[4:20]
    other = read_back(other)
    assert other.horizon == 30
    assert run(other, 10, smooth) == expected[20:]


def test_settings_out_of_range_are_refused():
    for name in ("min_improvement", "endgame"):
        with pytest.raises(ValueError, match=f"'{name}' of RobustUCB"):
            RobustUCB(**{name: -0.1}).check()
    for weights in [(np.inf, 1, 1, 1), (1, 1, 1), (1, 1, 1, 0)]:
        with pytest.raises(ValueError, match="'weights' of RobustUCB must be four"):
            RobustUCB(weights=weights).check()


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


# Compressed values ----------------------------------------------------------------


def test_compressed_values_tell_by_which_factor_gaps_differ():
    gaps = np.array([0.0, 1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4])
    z, _ = compress(3.0 - gaps, 5.0, 2.0)
    assert (z.mean(), z.std()) == (pytest.approx(0.0, abs=1e-9), pytest.approx(1.0))
    assert (np.diff(z) < 0).all()
    # Far from the best value, each factor of 100 is the same difference.
    steps = -np.diff(z)
    assert steps[-3:] == pytest.approx(steps[-1], rel=0.02)
    # The gap of a quarter of the values is the unit, below which nothing is compressed.
    assert steps[0] < 0.02 * steps[-1]


def test_slopes_of_compressed_values():
    values = np.sort(np.random.default_rng(0).exponential(size=400))
    targets, slopes = compress((values - 5.0) / 2.0, 5.0, 2.0)
    middle = (slopes[1:] + slopes[:-1]) / 2
    assert np.diff(targets) == pytest.approx(middle * np.diff(values), rel=0.1)


@pytest.mark.parametrize("n_best", [3, 19])
def test_values_are_compressed_though_many_are_the_best_one(n_best):
    values = np.concatenate([np.ones(n_best), [0.9, 0.0]])
    z, slopes = compress(values, 0.0, 1.0)
    assert np.isfinite(slopes).all()
    assert z[0] > z[-2] > z[-1]


def test_equal_values_and_those_that_differ_by_rounding_are_not_compressed():
    for z in (np.zeros(4), np.array([1.0, 1.0, 1.0 - 2e-16, 1.0])):
        same, slopes = compress(z, 0.0, 2.0)
        assert same is z
        assert slopes.tolist() == [0.5] * 4


def test_huge_differences_are_compressed():
    z, slopes = compress(np.array([1.0, 0.5, 0.0, -1e300]), 0.0, 1.0)
    assert np.isfinite(z).all()
    assert np.isfinite(slopes).all()


def test_values_and_compressed_ones_take_turns():
    optimizer = Optimizer({"a": Real(0, 1)}, RobustUCB(), horizon=40, random_state=0)
    turns = []
    for _ in range(30):
        params = optimizer.ask()
        pending = inside.branch_of(optimizer).history.pending_metadata
        turns += [metadata["compressed"] for metadata in pending]
        optimizer.tell(params, smooth(params))
    assert turns[:4] == [False, True, False, True]
    assert turns == [turns[0], turns[1]] * (len(turns) // 2)
    optimizer.ask(4)
    waiting = inside.branch_of(optimizer).history.pending_metadata
    assert [metadata["compressed"] for metadata in waiting] == [False, True] * 2


def test_what_is_said_of_a_point_is_in_the_units_of_the_objective():
    optimizer = Optimizer({"a": Real(0, 1)}, RobustUCB(), horizon=40, random_state=0)
    run(optimizer, 30, lambda params: 1e3 - 10 ** (4 * abs(params["a"] - 0.3)))
    said = optimizer.history_[10:]
    errors = [abs(record["model_mean"] - record["value"]) for record in said]
    assert np.median(errors) < 20


# Levels ---------------------------------------------------------------------------


def metadata_of(level, **others):
    """Return the metadata of a query of a level."""
    fit = Estimate(theta=[1.0], noise=None, n_fitted=4)
    turn = {"level": level, "passed": [], "compressed": False, "fit": fit}
    return {"mean": 0.0, **turn, **others}


def test_levels_take_turns_by_their_weights():
    policy, state = RobustUCB(), RobustState(2, [0] * 4)
    turns = []
    for _ in range(46):
        turns.append(policy.order(state, [], 60, 10)[0])
        state.counts[turns[-1]] += 1
    assert state.counts == [40, 0, 2, 4]
    # Pending queries count too: 20/1 is less than 2/0.05, 51/1 is more.
    state.counts = [19, 0, 1, 4]
    assert policy.order(state, [], 60, 10)[0] == MODEL
    under_way = [metadata_of(MODEL)] * 31
    assert policy.order(state, under_way, 60, 10) == [CLIMB, FILL, MODEL]


@pytest.mark.parametrize(
    ("d", "horizon", "levels"),
    [
        (1, 50, {MODEL, CLIMB, FILL}),
        (4, 100, {MODEL, CLIMB, FILL}),
        (4, 50, {MODEL, SHORTER}),
        (20, 1000, {MODEL, SHORTER}),
        (3, None, {MODEL, CLIMB, FILL}),
    ],
)
def test_a_space_is_filled_where_half_the_points_can_do_it(d, horizon, levels):
    state = RobustState(d, [0] * 4)
    assert set(RobustUCB().order(state, [], horizon, 10)) == levels


def test_without_a_horizon_it_is_filled_once_there_are_enough_points():
    state = RobustState(4, [0] * 4)
    assert FILL not in RobustUCB().order(state, [], None, 70)
    assert FILL in RobustUCB().order(state, [], None, 90)


def test_shorter_length_scales_reach_what_the_budget_resolves():
    # The mean distance of 100 points in two dimensions is 100**(-1/2) = 0.1.
    assert Spacing.of(2, 100, 10).divisor([0.8, 2.0]) == pytest.approx(20)
    assert Spacing.of(1, 50, 10).divisor([0.01]) == 1.0
    assert Spacing.of(1, None, 200).divisor([1.0]) == pytest.approx(200)


@pytest.mark.parametrize(("d", "horizon", "n"), [(2, 100, 1), (4, 50, 2)])
def test_what_is_left_to_gain_is_told_without_the_model_of_a_climb(d, horizon, n):
    """A model with shorter length scales counts if it takes turns."""
    space = {f"x{i}": Real(0, 1) for i in range(d)}
    optimizer = Optimizer(space, horizon=horizon, random_state=0)
    run(optimizer, 14, lambda p: -sum(value**2 for value in p.values()))
    models = inside.models(optimizer, pending=False)
    spanning = optimizer.policy.spanning(inside.state(optimizer), models)
    posteriors = optimizer.policy.posteriors(inside.state(optimizer), models)
    assert len(spanning) == n
    labels = [each.candidate.label for each in posteriors]
    assert labels == [*(each.label for each in spanning), "climb"]


def test_a_level_that_passed_rests_for_a_step():
    policy, state = RobustUCB(normalize_y=False), RobustState(2, [0] * 4)
    policy.learn(state, metadata_of(FILL, passed=[MODEL, CLIMB]), Told([0.0, 1.0, 0.5]))
    assert policy.order(state, [], 60, 10) == [FILL]
    policy.learn(state, metadata_of(FILL), Told([0.0, 1.0, 0.5, 0.5]))
    assert set(policy.order(state, [], 60, 10)) == {MODEL, CLIMB, FILL}
    gain = Told([0.0, 1.0, 0.5, 0.5, 2.0])
    policy.learn(state, metadata_of(FILL, passed=[MODEL]), gain)
    assert MODEL in policy.order(state, [], 60, 10)
    policy.learn(state, metadata_of(FILL, passed=[MODEL]), Told([0.0, 1.0, 0.5]))
    assert policy.order(state, [], 60, 55) == [CLIMB, MODEL]  # none rests at the end


def test_those_that_pass_are_those_before_the_one_that_asks():
    optimizer = Optimizer({"a": Real(0, 1)}, RobustUCB(), horizon=60, random_state=0)
    seen, resting = set(), []
    for _ in range(50):
        params = optimizer.ask()
        for metadata in inside.branch_of(optimizer).history.pending_metadata:
            assert metadata["level"] not in metadata["passed"]
            assert FILL not in metadata["passed"]
            assert not set(resting) & {metadata["level"], *metadata["passed"]}
            seen.update(metadata["passed"])
        optimizer.tell(params, smooth(params))
        state = inside.state(optimizer)  # None until the first query
        resting = state.passed if state else []
    assert MODEL in seen


def test_a_state_in_which_all_levels_rest_goes_on():
    state = RobustState(2, [0] * 4, passed=[MODEL, CLIMB, FILL])
    assert set(RobustUCB().order(state, [], 60, 10)) == {MODEL, CLIMB, FILL}


def test_many_length_scales_have_most_of_their_spread_in_common():
    for d in (1, 5):
        assert module.default_prior(d) == LogNormalPrior(0.7, 1.5)
    prior = module.default_prior(20)
    assert (prior.median, prior.sigma) == (0.7, 1.5 / 4)
    assert math.hypot(prior.sigma, prior.common) == pytest.approx(1.5)


def test_the_end_goes_to_what_is_known_to_be_good():
    optimizer = finished()
    labels = [record["model_label"] for record in optimizer.history_]
    assert set(labels[-6:]) == {"theta/1", "climb"}
    assert "fill" in labels[:-6]


def test_filling_comes_last_when_a_climb_would_not_end_in_time():
    policy, state = RobustUCB(), RobustState(2, [9] * 4)
    assert policy.order(state, [], 100, 85) == [MODEL, FILL, CLIMB]
    assert policy.order(state, [], 100, 86) == [
        MODEL,
        CLIMB,
        FILL,
    ]  # 2 d before the endgame
    assert policy.order(state, [], 100, 89) == [MODEL, CLIMB, FILL]
    assert policy.order(state, [], 100, 90) == [MODEL]
    assert policy.order(state, [], 100, 100) == [
        MODEL,
        FILL,
        CLIMB,
    ]  # after the horizon
    policy = RobustUCB(endgame=0)
    assert policy.order(state, [], 100, 95) == [MODEL, FILL, CLIMB]
    assert policy.order(state, [], 100, 96) == [MODEL, CLIMB, FILL]


def test_filling_takes_late_turns_if_no_other_level_does(monkeypatch):
    monkeypatch.setattr(RobustUCB, "by_climb", lambda *args: None)  # no box has room
    policy = RobustUCB(min_improvement=1e9)  # the model never expects enough
    optimizer = Optimizer({"a": Real(0, 1)}, policy, horizon=25, random_state=0)
    run(optimizer, 20, smooth)
    labels = [record["model_label"] for record in optimizer.history_]
    assert labels[-2:] == ["fill", "fill"]


def test_the_end_is_that_of_all_branches_together():
    space = [{"model": ["a"], "x": Real(0, 1)}, {"model": ["b"], "y": Real(0, 1)}]
    optimizer = Optimizer(space, RobustUCB(), horizon=40, random_state=0)
    run(optimizer, 40, lambda params: smooth({"a": params.get("x", params.get("y"))}))
    labels = [record["model_label"] for record in optimizer.history_]
    assert "fill" in labels[:-6]
    assert "fill" not in labels[-6:]


def test_shorter_length_scales_believe_what_the_estimate_takes_for_noise():
    rng = np.random.default_rng(0)
    X = rng.random((40, 1))
    z = np.sin(3 * X[:, 0]) + rng.standard_normal(40)
    models = Models(FactorCache(0.01), View(X, (z - z.mean()) / z.std()))
    policy = RobustUCB()
    fit = policy.estimate(NO_ESTIMATE, models)
    assert 0.5 <= models[policy.model(models, fit)].noise <= 1.0
    assert models[policy.model(models, fit, 2.0)].noise == 0.01
    assert models[policy.noiseless(models, fit)].noise == 0.01


def test_what_fills_is_the_farthest_point():
    optimizer = finished()
    X = np.array([record["params"]["a"] for record in optimizer.history_])
    labels = [record["model_label"] for record in optimizer.history_]
    grid = np.linspace(0, 1, 2001)
    for i in [i for i, label in enumerate(labels) if label == "fill"]:
        gaps = np.abs(grid[:, None] - X[:i]).min(axis=1)
        largest = np.minimum(gaps, 2 * np.minimum(grid, 1 - grid)).max()
        own = min(np.abs(X[i] - X[:i]).min(), 2 * X[i], 2 * (1 - X[i]))
        assert own >= 0.98 * largest
