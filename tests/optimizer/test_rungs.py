"""A resource: rungs, promotions, predictions from low rungs, and dropped rungs."""

import json
import math
from contextlib import suppress

import numpy as np
import pytest

from functions import LearningCurves
from skrobustbo import Categorical, Optimizer, Real
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.optimizer._rungs import Link
from skrobustbo.policies import available

SPACE = {"x": Real(0, 1), "y": Real(0, 1)}
AMOUNTS = [9, 27, 81]


def optimizer_of(problem=None, policy="robust", horizon=12, **settings):
    space = SPACE if problem is None else problem.space
    given = {"resources": AMOUNTS, "horizon": horizon, "random_state": 0, **settings}
    return Optimizer(space, policy, **given)


def step(optimizer, value):
    """Ask once and tell; return the point and its amount."""
    params, amount = optimizer.ask(return_resource=True)
    optimizer.tell(params, value(params, amount), resource=amount)
    return params, amount


def run(problem, n, **settings):
    optimizer = optimizer_of(problem, **settings)
    asked = [step(optimizer, problem.value) for _ in range(n)]
    return optimizer, asked


def plain(params, amount):
    return -((params["x"] - 0.3) ** 2) - 1 / amount


# Links --------------------------------------------------------------------------------


def test_a_link_is_a_weighted_bayesian_regression():
    rng = np.random.default_rng(0)
    low = rng.normal(size=15)
    high = 0.7 * low + 0.1 * rng.normal(size=15) + 3
    link = Link.of(low, high, spread=1.0)
    ranks = [sum(other > each for other in low) for each in low]
    w = [1 / (1 + (rank / 5) ** 2) for rank in ranks]
    n = sum(w)
    mean = sum(a * b for a, b in zip(w, low, strict=True)) / n
    above = sum(a * b for a, b in zip(w, high, strict=True)) / n
    # A prior slope of 0.8 counts as a quarter of a pair one deviation away.
    squares = sum(a * (b - mean) ** 2 for a, b in zip(w, low, strict=True)) + 0.25
    products = 0.25 * 0.8
    for a, b, c in zip(w, low, high, strict=True):
        products += a * (b - mean) * (c - above)
    slope = products / squares
    errors = 0.5 * 0.5**2
    for a, b, c in zip(w, low, high, strict=True):
        errors += a * (c - above - slope * (b - mean)) ** 2
    variance = errors / (n + 0.5 - 1)
    assert (link.low, link.high) == pytest.approx((mean, above))
    assert (link.slope, link.variance) == pytest.approx((slope, variance))
    value, error = link.carry(2.0, 0.2)
    assert value == pytest.approx(above + slope * (2 - mean))
    expected = slope**2 * 0.04 + variance * (1 + 1 / n + (2 - mean) ** 2 / squares)
    assert error == pytest.approx(math.sqrt(expected))
    twice = Link.of(2 * low, 2 * high, spread=2.0)
    assert twice.carry(4.0, 0.4) == pytest.approx((2 * value, 2 * error))


def test_without_pairs_a_value_is_carried_as_it_is_with_a_large_error():
    link = Link.of(np.empty(0), np.empty(0), spread=2.0)
    assert link.carry(5.0, 0.0) == (5.0, 1.0)


def test_better_pairs_and_more_of_them_make_the_error_smaller():
    rng = np.random.default_rng(1)
    low = rng.normal(size=40)
    sizes = []
    for n, noise in [(5, 0.5), (40, 0.5), (40, 0.05)]:
        high = low[:n] + noise * rng.normal(size=n)
        sizes.append(Link.of(low[:n], high, 1.0).carry(0.0, 0.0)[1])
    assert sizes[2] < min(sizes[:2])


def test_a_slope_is_never_negative():
    low = np.arange(10.0)
    assert Link.of(low, -low, spread=3.0).slope == 0


# The next rung ------------------------------------------------------------------------


def test_rungs_get_equal_shares_of_a_third_and_then_all_is_full():
    problem = LearningCurves()
    optimizer, asked = run(problem, 70, horizon=30)
    amounts = np.array([amount for _, amount in asked])
    paid = np.cumsum(amounts) / 81
    early = amounts[: np.searchsorted(paid, 10.0) + 1]
    spent = [(early == amount).sum() * amount / 81 for amount in AMOUNTS]
    assert max(spent) - min(spent) <= 1
    assert (amounts[len(early) :] == 81).all()
    assert sum(optimizer._rungs.spent) == pytest.approx(paid[-1])


def test_a_candidate_rises_rung_by_rung_and_the_best_one_rises():
    problem = LearningCurves()
    _, asked = run(problem, 40, horizon=60)
    seen = {}
    for params, amount in asked:
        key = tuple(params.values())
        assert amount == AMOUNTS[len(seen.setdefault(key, []))]
        seen[key].append(amount)
    value = problem.value
    low = {key: value(dict(zip(problem.space, key, strict=True)), 9) for key in seen}
    risen = [low[key] for key, amounts in seen.items() if len(amounts) == 3]
    left = [low[key] for key, amounts in seen.items() if len(amounts) == 1]
    assert np.median(risen) > np.max(np.sort(left)[: len(left) // 2])


def test_a_pending_candidate_is_not_promoted_again():
    optimizer = optimizer_of(horizon=60)
    for _ in range(12):
        step(optimizer, plain)
    asked = optimizer.ask(6, return_resource=True)
    keys = [tuple(params.values()) for params, _ in asked]
    assert len(set(keys)) == 6
    for params, amount in reversed(asked):
        optimizer.tell(params, plain(params, amount), resource=amount)
    assert not any(record["pending"] for record in optimizer.history_)


def test_the_best_is_one_of_full_evaluations():
    optimizer = optimizer_of()
    optimizer.tell({"x": 0.1, "y": 0.1}, 9.0, resource=9)
    optimizer.tell({"x": 0.2, "y": 0.2}, 1.0)
    optimizer.tell({"x": 0.3, "y": 0.3}, 8.0, resource=27)
    assert optimizer.best_value_ == 1.0
    assert optimizer.best_params_ == {"x": 0.2, "y": 0.2}
    optimizer.tell({"x": 0.3, "y": 0.3}, 2.0, resource=81)
    assert optimizer.best_value_ == 2.0
    assert len(optimizer.history_) == 3


def test_without_a_horizon_shares_stay_equal():
    optimizer = optimizer_of(horizon=None)
    amounts = [step(optimizer, plain)[1] for _ in range(60)]
    spent = [amounts.count(amount) * amount / 81 for amount in AMOUNTS]
    assert max(spent) - min(spent) <= 1


# Uninformative rungs ------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_reversed_rungs_are_given_up_and_agreeing_ones_are_not(seed):
    wrong, _ = run(LearningCurves("reversed", seed), 60, horizon=40)
    assert wrong._rungs.in_use == [2]
    right, _ = run(LearningCurves("agreeing", seed), 60, horizon=40)
    assert right._rungs.in_use == [0, 1, 2]


def test_after_all_rungs_are_given_up_new_points_are_full():
    problem = LearningCurves("reversed")
    optimizer, _ = run(problem, 60, horizon=40)
    assert step(optimizer, problem.value)[1] == 81


# Failures, finite spaces, branches, policies ------------------------------------------


def test_a_failure_at_a_low_rung_is_a_failure_and_not_promoted():
    optimizer = optimizer_of(horizon=30)

    def value(params, amount):
        return math.nan if params["x"] > 0.5 else plain(params, amount)

    asked = [step(optimizer, value) for _ in range(40)]
    amounts = {}
    for params, amount in asked:
        amounts.setdefault(params["x"], []).append(amount)
    failed = [found for x, found in amounts.items() if x > 0.5]
    assert {len(found) for found in failed} == {1}
    assert optimizer.best_params_["x"] <= 0.5


def test_a_rung_where_everything_fails_is_given_up():
    def value(params, amount):
        return math.nan if amount < 81 else plain(params, amount)

    optimizer = optimizer_of(horizon=30)
    amounts = [step(optimizer, value)[1] for _ in range(30)]
    assert amounts == [9] * 8 + [27] * 8 + [81] * 14
    assert optimizer.best_value_ > -0.05


def test_a_rung_where_one_of_many_succeeds_is_not_given_up():
    succeeds = iter([False] * 7 + [True] + [False] * 22)
    optimizer = optimizer_of(horizon=30)
    for _ in range(30):
        step(optimizer, lambda *at: plain(*at) if next(succeeds) else math.nan)
    assert optimizer._rungs.in_use == [0, 1, 2]


def test_what_failed_at_a_low_rung_is_evaluated_in_full_when_nothing_else_is_left():
    def value(params, amount):
        return math.nan if params["a"] == "r" and amount < 81 else len(params["a"])

    space = {"a": Categorical(["p", "qq", "r"])}
    optimizer = Optimizer(space, resources=AMOUNTS, horizon=20, random_state=0)
    asked = []
    with suppress(SpaceExhausted):
        while True:
            asked.append(step(optimizer, value))
    assert asked[-1] == ({"a": "r"}, 81)
    assert sorted(a["value"] for a in optimizer.history_) == [1, 1, 2]
    assert optimizer.best_params_ == {"a": "qq"}


def test_a_failure_in_full_counts_however_good_it_looked():
    optimizer = optimizer_of()
    optimizer.tell({"x": 0.1, "y": 0.1}, 9.0, resource=9)
    optimizer.tell({"x": 0.1, "y": 0.1}, math.nan, resource=81)
    assert optimizer.history_[0]["failed_reason"] is not None
    with pytest.raises(ValueError, match="at least one finite value"):
        _ = optimizer.best_value_


def test_a_finite_space_is_taken_to_the_top_before_it_ends():
    space = {"a": Categorical(["p", "q", "r"]), "b": Categorical([True, False])}
    optimizer = Optimizer(space, resources=AMOUNTS, horizon=50, random_state=0)
    with suppress(SpaceExhausted):
        for _ in range(6 * 3):
            step(optimizer, lambda params, amount: len(params["a"]) - 1 / amount)
    with pytest.raises(SpaceExhausted):
        optimizer.ask(return_resource=True)
    assert len(optimizer.history_) == 6
    assert all(record["value_std"] == 0 for record in optimizer.history_)


def test_branches_share_the_rungs():
    space = [{"x": Real(0, 1)}, {"z": Real(0, 1)}]
    optimizer = Optimizer(space, resources=AMOUNTS, horizon=15, random_state=0)
    asked = [step(optimizer, lambda p, a: sum(p.values()) - 1 / a) for _ in range(35)]
    assert {next(iter(params)) for params, _ in asked} == {"x", "z"}
    assert optimizer.best_value_ > 0.9


@pytest.mark.parametrize("policy", available())
def test_every_policy_goes_on_and_resumes(policy):
    optimizer = optimizer_of(policy=policy, n_initial_points=4)
    for _ in range(14):
        step(optimizer, plain)
    other = Optimizer.from_dict(json.loads(json.dumps(optimizer.to_dict())))
    assert optimizer.ask(2, return_resource=True) == other.ask(2, return_resource=True)


def shown(optimizer):
    """Return the numbers of the trials that the model uses."""
    return [trial.number for trial in optimizer._branches[0].history.told]


@pytest.mark.parametrize("policy", available())
def test_every_policy_goes_on_with_full_values_alone(policy):
    problem = LearningCurves("reversed")
    optimizer = optimizer_of(problem, policy=policy, horizon=15, n_initial_points=4)
    while not optimizer._branches[0].history.only_full:
        step(optimizer, problem.value)
    waiting = optimizer.ask(2, return_resource=True)
    assert {amount for _, amount in waiting} == {AMOUNTS[-1]}
    for params, _ in waiting:
        optimizer.tell(params, problem.value(params, AMOUNTS[-1]))
    for _ in range(4):
        step(optimizer, problem.value)
    full = [
        record["value_std"] == 0 and record["resource_values"][AMOUNTS[-1]] is not None
        for record in optimizer.history_
    ]
    assert sorted(shown(optimizer)) == np.flatnonzero(full).tolist()
    other = Optimizer.from_dict(json.loads(json.dumps(optimizer.to_dict())))
    assert shown(other) == shown(optimizer)
    assert optimizer.ask(2, return_resource=True) == other.ask(2, return_resource=True)


def test_values_of_low_rungs_no_longer_matter():
    """Predictions equal those of an optimizer that never had them."""
    problem = LearningCurves("reversed")
    optimizer = optimizer_of(problem, horizon=15, n_initial_points=4)
    while not optimizer._branches[0].history.only_full:
        step(optimizer, problem.value)
    other = optimizer_of(problem, horizon=15, n_initial_points=4)
    for trial in optimizer._branches[0].history.told:
        other.tell(trial.params, trial.value)
    points = [record["params"] for record in optimizer.history_]
    np.testing.assert_allclose(optimizer.predict(points), other.predict(points))


def test_a_candidate_promoted_late_is_told_last():
    """Its full value arrives after the model has stopped using it."""
    optimizer = optimizer_of(policy="random", horizon=6, n_initial_points=2)
    late = {"x": 0.123, "y": 0.456}
    optimizer.tell(late, -5.0, resource=AMOUNTS[0])
    for x in np.linspace(0.1, 0.9, 5):
        optimizer.tell({"x": x, "y": 0.5}, x)
    assert shown(optimizer) == [1, 2, 3, 4, 5]
    optimizer.tell(late, 0.7)
    assert shown(optimizer) == [1, 2, 3, 4, 5, 0]
    other = Optimizer.from_dict(json.loads(json.dumps(optimizer.to_dict())))
    assert shown(other) == shown(optimizer)
    assert other.best_value_ == optimizer.best_value_ == 0.9
    # Values with a part of the resource that arrive then are ignored too.
    optimizer.tell({"x": 0.3, "y": 0.9}, 9.0, resource=AMOUNTS[1])
    assert shown(optimizer) == [1, 2, 3, 4, 5, 0]
    asked, _ = optimizer.ask(return_resource=True)
    optimizer.tell(asked, 0.1, resource=AMOUNTS[0])
    assert shown(optimizer) == [1, 2, 3, 4, 5, 0]
    assert not any(record["pending"] for record in optimizer.history_)


def test_nothing_begins_anew_where_nothing_is_forgotten():
    optimizer = optimizer_of(policy="robust", horizon=6, n_initial_points=3)
    for x in np.linspace(0.1, 0.9, 4):
        optimizer.tell({"x": x, "y": 0.5}, x)
    for _ in range(3):
        params, amount = optimizer.ask(return_resource=True)
        optimizer.tell(params, sum(params.values()), resource=amount)
    (branch,) = optimizer._branches
    state = branch.state
    assert state is not None
    assert branch.history.only_full
    optimizer.tell({"x": 0.123, "y": 0.456}, -5.0, resource=AMOUNTS[0])
    assert branch.state is state
    assert len(shown(optimizer)) == 7


def test_there_is_a_recommendation_when_all_full_values_have_failed():
    optimizer = optimizer_of(policy="random", horizon=6)
    optimizer.tell({"x": 0.1, "y": 0.1}, 0.5, resource=AMOUNTS[0])
    points = [{"x": x, "y": 0.5} for x in (0.1, 0.3, 0.5, 0.7, 0.9)]
    for value in (1.0, math.nan):
        for point in points:
            optimizer.tell(point, value)
    assert optimizer.recommend() == {"x": 0.1, "y": 0.1}


def test_a_point_asked_twice_is_told_twice():
    """Policies for changing objectives may ask a point again."""
    optimizer = optimizer_of(policy="et-gp-ucb", horizon=30, n_initial_points=3)
    for _ in range(40):
        step(optimizer, lambda params, amount: 1.0)
    assert not any(record["pending"] for record in optimizer.history_)


@pytest.mark.parametrize("seed", range(3))
def test_branches_go_on_the_same_from_any_step(seed):
    space = [{"x": Real(0, 1)}, {"z": Real(0, 1)}]
    optimizer = Optimizer(space, resources=AMOUNTS, horizon=9, random_state=seed)
    other = optimizer
    for _ in range(24):
        other = Optimizer.from_dict(json.loads(json.dumps(other.to_dict())))
        asked = {str(step(each, plain_sum)) for each in (optimizer, other)}
        assert len(asked) == 1
        ours, theirs = ({**each.to_dict()} for each in (optimizer, other))
        for trial in (*ours["trials"], *theirs["trials"]):
            del trial["time"]
        assert ours == theirs


def plain_sum(params, amount):
    return math.cos(9 * sum(params.values())) - 1 / amount


@pytest.mark.parametrize("full", [[], [None, None], [[0]], [[]], [[1, 1]], [[99]], [1]])
def test_a_state_with_impossible_full_values_is_refused(full):
    optimizer = optimizer_of(horizon=6)
    optimizer.tell({"x": 0.5, "y": 0.1}, 0.5, resource=AMOUNTS[0])
    for x in np.linspace(0.1, 0.9, 5):
        optimizer.tell({"x": x, "y": 0.5}, x)
    state = optimizer.to_dict()
    state["full"] = full
    with pytest.raises(ValueError, match="state"):
        Optimizer.from_dict(state)


@pytest.mark.parametrize("kind", ["agreeing", "reversed"])
def test_a_state_at_any_step_goes_on_the_same(kind):
    problem = LearningCurves(kind)
    optimizer = optimizer_of(problem, horizon=10, n_initial_points=4)
    for _ in range(30):
        state = json.loads(json.dumps(optimizer.to_dict()))
        asked = step(optimizer, problem.value)
        assert step(Optimizer.from_dict(state), problem.value) == asked


@pytest.mark.parametrize(
    "rungs",
    [
        [{"rung": 3, "value": 1.0, "std": 0.0}],
        [{"rung": -1, "value": 1.0, "std": 0.0}],
        [{"rung": 0, "value": None, "std": 0.0}],
        [{"rung": 0, "value": "1", "std": 0.0}],
        [],
    ],
)
def test_a_state_with_impossible_rungs_is_refused(rungs):
    optimizer = optimizer_of()
    step(optimizer, plain)
    state = optimizer.to_dict()
    state["trials"][0]["rungs"] = rungs
    with pytest.raises(ValueError, match="state"):
        Optimizer.from_dict(state)


def test_a_state_without_a_resource_has_no_more_than_before():
    optimizer = Optimizer(SPACE, random_state=0)
    optimizer.tell({"x": 0.5, "y": 0.5}, 1.0)
    state = optimizer.to_dict()
    assert "resources" not in state
    assert "rungs" not in state["trials"][0]


@pytest.mark.parametrize(
    ("do", "says"),
    [
        (lambda o, p: o.ask(), "'return_resource' of Optimizer.ask must be True"),
        (lambda o, p: o.ask(return_resource=1), "must be True or False. Got 1"),
        (lambda o, p: o.tell(p, 1.0, resource=5), "must be one of its 'resources'"),
        (lambda o, p: o.tell(p, 1.0, resource="9"), "Got '9' instead"),
        (lambda o, p: Optimizer(SPACE).ask(return_resource=True), "must be False"),
        (lambda o, p: Optimizer(SPACE).tell(p, 1.0, resource=9), "must be None"),
    ],
)
def test_what_is_said_of_wrong_amounts(do, says):
    with pytest.raises(ValueError, match=says):
        do(optimizer_of(), {"x": 0.5, "y": 0.5})


def test_several_points_are_told_with_one_amount():
    optimizer = optimizer_of()
    points = [{"x": 0.1, "y": 0.1}, {"x": 0.2, "y": 0.2}]
    optimizer.tell(points, [1.0, 2.0], resource=27)
    assert [t.rungs[0]["rung"] for t in optimizer._trials.told] == [1, 1]
