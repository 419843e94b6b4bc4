"""Each decision about rungs against a slow model of it, and rungs in odd situations."""

import json
import math

import numpy as np
import pytest

from functions import LearningCurves
from runs import read_back
from skrobustbo import Optimizer, Real
from skrobustbo.acquisition import SpaceExhausted
from skrobustbo.optimizer._rungs import Link
from skrobustbo.policies import available
from skrobustbo.space import to_json

SPACE = {"x": Real(0, 1), "y": Real(0, 1)}
AMOUNTS = [9, 27, 81]


def optimizer_of(space=SPACE, policy="random", **settings):
    given = {"resources": AMOUNTS, "horizon": 12, "random_state": 0, **settings}
    return Optimizer(space, policy, **given)


def plain(params, amount):
    return -((sum(params.values()) - 0.7) ** 2) - 1 / amount


def step(optimizer, value=plain):
    params, amount = optimizer.ask(return_resource=True)
    optimizer.tell(params, value(params, amount), resource=amount)
    return params, amount


def low_cost(optimizer):
    """Return the cost of evaluations below the full resource."""
    return optimizer._rungs.spent[:-1].sum()


# A slow model -------------------------------------------------------------------------


def regression(low, high, spread, *, given_up=False):
    """Return slope, variance and prediction, by weighted least squares."""
    n = len(low)
    w = []
    for i, value in enumerate(low):
        # Of equal ones, the one that was asked first ranks first.
        rank = sum(low > value) + sum(low[:i] == value)
        w.append(1 / (1 + (rank / max(4, n / 3)) ** 2))
    w = np.array(w)
    means = np.average(low, weights=w), np.average(high, weights=w)
    # The prior slope 0.8 counts as a quarter of a pair, one deviation from the mean.
    x = np.append(low - means[0], spread)
    y = np.append(high - means[1], 0.8 * spread)
    root = np.sqrt(np.append(w, 0.25))[:, None]
    (slope,), *_ = np.linalg.lstsq(root * x[:, None], root[:, 0] * y, rcond=None)
    slope = max(0.0, slope)
    # The prior error, half the deviation of the values, counts as half a pair.
    squares = w @ (y[:n] - slope * x[:n]) ** 2 + 0.5 * (0.5 * spread) ** 2
    variance = squares / (w.sum() + 0.5 - min(1.0, w.sum() / 2))
    information = float(root[:, 0] ** 2 @ x**2)
    if given_up:  # it only gives the average quality of candidates
        slope, variance = 0.0, (10 * spread) ** 2

    def carry(value, own):
        away = value - means[0]
        of_line = 1 / w.sum() + away**2 / information
        error = slope**2 * own + variance * (1 + of_line)
        return means[1] + slope * away, error

    return slope, variance, carry


class SlowRungs:
    """A user's knowledge of an optimizer, and the next step that follows from it."""

    def __init__(self, amounts, budget):
        self.amounts, self.budget = amounts, budget
        self.shares = [amount / amounts[-1] for amount in amounts]
        self.top = len(amounts) - 1
        self.values, self.pending = {}, {}  # by candidate, in the order told
        self.order = {}  # the candidates, in the order asked
        self.spent = [0.0] * len(amounts)
        self.over = False

    def asked(self, key, rung):
        self.pending[key] = self.order[key] = rung
        self.spent[rung] += self.shares[rung]

    def told(self, key, rung, value):
        del self.pending[key]
        self.values.setdefault(key, {})[rung] = value
        told = sum(self.shares[k] for v in self.values.values() for k in v)
        used_up = round(told - self.budget / 3, 9) >= 0
        self.over = self.over or used_up or self.in_use == [self.top]

    def pairs(self, low, high):
        every = [self.values.get(key, {}) for key in self.order]
        found = [v for v in every if low in v and high in v]
        found = [(v[low], v[high]) for v in found]
        finite = [pair for pair in found if all(map(math.isfinite, pair))]
        return np.array(finite).reshape(-1, 2).T

    @property
    def in_use(self):
        return [rung for rung in range(self.top) if self.pays(rung)] + [self.top]

    def pays(self, rung):
        low, high = self.pairs(rung, self.top)
        if len(low) < 4 or len(set(low)) == 1 or len(set(high)) == 1:
            return True
        x, y = low - low.mean(), high - high.mean()
        r = sum(x * y) / math.sqrt(sum(x * x) * sum(y * y))
        r = min(max(r, -0.999), 0.999)
        z = 0.5 * math.log((1 + r) / (1 - r)) + 1 / math.sqrt(len(low) - 3)
        r = (math.exp(2 * z) - 1) / (math.exp(2 * z) + 1)
        return r > 0 and r**2 / (1 - r**2) > self.shares[rung]

    def expected(self, key):
        rung = max(self.values[key])
        value, variance = self.values[key][rung], 0.0
        every = [v for told in self.values.values() for v in told.values()]
        every = [v for v in every if math.isfinite(v)]
        quartiles = np.quantile(every, [0.25, 0.75]) if every else [0.0, 0.0]
        spread = (quartiles[1] - quartiles[0]) / 1.35 or np.std(every or [0.0]) or 1.0
        while math.isfinite(value) and rung < self.top:
            above = min(other for other in self.in_use if other > rung)
            low, high = self.pairs(rung, above)
            if len(low):
                up = rung not in self.in_use
                _, _, carry = regression(low, high, spread, given_up=up)
                value, variance = carry(value, variance)
            else:
                variance += (0.5 * spread) ** 2
            rung = above
        return value, math.sqrt(variance)

    def next(self):
        """Return the best of those that may be promoted, None for a new one; a rung."""
        if self.over or round(sum(self.spent) - self.budget / 3, 9) >= 0:
            value, keys = self.best_below(self.top)
            full = [v[self.top] for v in self.values.values() if self.top in v]
            reached = max(filter(math.isfinite, full), default=-math.inf)
            return (keys if value > reached else None), self.top
        after = [round(s + t, 9) for s, t in zip(self.spent, self.shares, strict=True)]
        turn = min(self.in_use, key=lambda rung: after[rung])
        for rung in reversed([k for k in self.in_use if k <= turn]):
            _, keys = self.best_below(rung)
            if keys:
                return keys, rung
        return None, self.in_use[0]

    def best_below(self, rung):
        free = [key for key in self.values if key not in self.pending]
        below = {key: max(self.values[key]) for key in free}
        below = {k: at for k, at in below.items() if at < rung}
        expected = {key: self.expected(key)[0] for key in below}
        below = {k: at for k, at in below.items() if math.isfinite(expected[k])}
        highest = [k for k, at in below.items() if at == max(below.values())]
        best = max((expected[key] for key in highest), default=-math.inf)
        # Values that differ only by rounding are equally good.
        close = 1e-9 * max(1.0, abs(best))
        return best, [key for key in highest if expected[key] >= best - close]


def failing(params, amount):
    return math.nan if min(params.values()) > 0.4 else plain(params, amount)


def failing_in_full(params, amount):
    fails = min(params.values()) > 0.2 and amount == 81
    return math.nan if fails else plain(params, amount)


def reversed_below(bound):
    """Return values that are wrong with less than an amount."""
    return lambda params, amount: plain(params, amount) * (1 if amount >= bound else -1)


#: The space of learning curves, and values on it.
CURVES = LearningCurves().space
VALUES = {
    "agreeing": LearningCurves().value,
    "reversed": reversed_below(81),
    "half reversed": reversed_below(27),
    "unrelated": LearningCurves("unrelated").value,
    "failing": failing,
    "failing in full": failing_in_full,
    "constant": lambda params, amount: 1.0,
}


def check_decisions(kind, amounts=AMOUNTS, at_once=1, horizon=24, n=60):
    """Compare an optimizer with the slow model; return both."""
    optimizer = optimizer_of(CURVES, resources=amounts, horizon=horizon)
    slow, rng = SlowRungs(amounts, horizon), np.random.default_rng(0)
    for _ in range(n // at_once):
        asked = []
        for _ in range(at_once):
            known, (keys, rung) = {*slow.values, *slow.pending}, slow.next()
            params, amount = optimizer.ask(return_resource=True)
            key = tuple(params.values())
            assert amount == amounts[rung]
            assert key in keys if keys else key not in known
            slow.asked(key, rung)
            asked.append((params, key, rung))
        rng.shuffle(asked)
        for params, key, rung in asked:
            value = VALUES[kind](params, amounts[rung])
            optimizer.tell(params, value, resource=amounts[rung])
            slow.told(key, rung, value)
        assert optimizer._rungs.in_use == slow.in_use
        assert optimizer._rungs.over == slow.over
        check_shown(optimizer, slow)
    np.testing.assert_allclose(optimizer._rungs.spent, slow.spent)
    return optimizer, slow


def check_shown(optimizer, slow):
    """Check that the model uses only full values once all evaluations are full."""
    (branch,) = optimizer._branches
    shown = {tuple(trial.params.values()) for trial in branch.history.told}
    full = {key for key, told in slow.values.items() if slow.top in told}
    n_finite = sum(math.isfinite(slow.values[key][slow.top]) for key in full)
    assert shown == (full if slow.over and n_finite >= 4 else set(slow.values))
    assert len(shown) == len(branch.history.told)


def check_expected(optimizer, slow):
    for record in optimizer.history_:
        expected = slow.expected(tuple(record["params"].values()))
        found = record["value"], record["value_std"]
        assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("amounts", "at_once"),
    [(AMOUNTS, 1), (AMOUNTS, 4), ([3, 81], 1), ([1, 3, 9, 27, 81], 4), ([81], 1)],
)
@pytest.mark.parametrize("kind", VALUES)
def test_each_decision_is_that_of_the_slow_model(kind, amounts, at_once):
    check_expected(*check_decisions(kind, amounts, at_once))


@pytest.mark.parametrize(
    ("kind", "in_use"), [("reversed", [2]), ("half reversed", [1, 2])]
)
def test_so_it_is_where_rungs_are_given_up(kind, in_use):
    optimizer, slow = check_decisions(kind, horizon=60, n=110)
    assert slow.in_use == in_use
    check_expected(optimizer, slow)


def test_what_is_expected_of_noisy_values_is_that_of_the_slow_model():
    rng = np.random.default_rng(3)
    optimizer, slow = optimizer_of(), SlowRungs(AMOUNTS, 12)
    for i in range(24):
        params = {"x": float(rng.random()), "y": float(rng.random())}
        key = tuple(params.values())
        for rung in range(1 + (i % 2) + (i % 4 == 3)):
            value = plain(params, AMOUNTS[rung]) + 0.02 * rng.normal()
            optimizer.tell(params, value, resource=AMOUNTS[rung])
            slow.asked(key, rung)
            slow.told(key, rung, value)
    assert slow.in_use == [0, 1, 2]
    for record in optimizer.history_:
        expected = slow.expected(tuple(record["params"].values()))
        assert (record["value"], record["value_std"]) == pytest.approx(expected)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 12, 30])
def test_a_link_of_any_number_of_pairs_is_the_slow_regression(n):
    rng = np.random.default_rng(n)
    low = rng.normal(size=n)
    high = 5 + 0.6 * low + 0.3 * rng.normal(size=n)
    slope, variance, carry = regression(low, high, 0.7)
    link = Link.of(low, high, 0.7)
    assert (link.slope, link.variance * 0.7**2) == pytest.approx((slope, variance))
    value, error = link.carry(1.5, 0.4)
    assert (value, error**2) == pytest.approx(carry(1.5, 0.16))


# Irrelevant circumstances -------------------------------------------------------------


def test_one_amount_is_as_none():
    ours = optimizer_of(policy="robust", resources=[5], n_initial_points=3)
    other = Optimizer(SPACE, horizon=12, n_initial_points=3, random_state=0)
    for _ in range(9):
        params, amount = step(ours)
        assert amount == 5
        assert other.ask() == params
        other.tell(params, plain(params, 5))


def test_only_the_ratios_of_amounts_matter():
    ours = optimizer_of(policy="robust", n_initial_points=3)
    other = optimizer_of(policy="robust", n_initial_points=3, resources=[0.5, 1.5, 4.5])
    for _ in range(20):
        params, amount = step(ours)
        assert other.ask(return_resource=True) == (params, amount / 18)
        other.tell(params, plain(params, amount), resource=amount / 18)


@pytest.mark.parametrize(
    "scale", [1e-300, 1e-200, 1e-160, 1e150, 1e200, 1e307, 1.7e308]
)
def test_values_of_any_size_can_be_told(scale):
    rng = np.random.default_rng(0)
    optimizer = optimizer_of(policy="robust")
    for _ in range(40):
        step(optimizer, lambda params, amount: scale * rng.uniform(-1, 1))
    values = [record["value"] for record in optimizer.history_]
    assert np.isfinite(values).all()
    assert optimizer.best_value_ > 0


# Failures -----------------------------------------------------------------------------


@pytest.mark.parametrize("failure", [math.nan, math.inf, -math.inf])
def test_a_failure_of_any_kind_is_not_promoted(failure):
    optimizer = optimizer_of(horizon=30)
    asked = [
        step(optimizer, lambda p, a: failure if p["x"] > 0.6 else plain(p, a))
        for _ in range(30)
    ]
    failed = [amount for params, amount in asked if params["x"] > 0.6]
    early = failed[: sum(amount < 81 for amount in failed)]
    assert early
    assert set(early) == {9}
    assert optimizer.best_params_["x"] <= 0.6


@pytest.mark.parametrize(
    "value", [plain, lambda params, amount: -plain(params, amount)]
)
def test_low_rungs_cost_two_ninths_at_most(value):
    def wrong(params, amount):
        return value(params, amount) if amount < 81 else plain(params, amount)

    optimizer = optimizer_of(horizon=36)
    for _ in range(90):
        step(optimizer, wrong)
    assert 4 < low_cost(optimizer) <= 36 * 2 / 9 + 1 / 3


def test_low_rungs_that_mostly_fail_cost_a_third_at_most():
    optimizer = optimizer_of(horizon=30)
    for i in range(110):
        params, amount = optimizer.ask(return_resource=True)
        fails = amount < 81 and i > 0  # a rung where all fail would be dropped
        value = math.nan if fails else plain(params, amount)
        optimizer.tell(params, value, resource=amount)
    assert low_cost(optimizer) == pytest.approx(30 / 3)
    assert math.isfinite(optimizer.best_value_)


# Told without being asked, or otherwise than asked ------------------------------------


def test_a_point_told_with_more_than_it_was_asked_with_can_rise():
    optimizer = optimizer_of(horizon=30)
    first, amount = optimizer.ask(return_resource=True)
    assert amount == 9
    optimizer.tell(first, 9.0, resource=27)
    for _ in range(15):
        step(optimizer)
    told = {each["rung"]: each["value"] for each in optimizer._trials.trials[0].rungs}
    assert told[1] == 9.0
    assert told.get(2) == plain(first, 81)


def test_a_value_told_twice_is_the_later_one():
    optimizer = optimizer_of()
    point = {"x": 0.1, "y": 0.2}
    for value in (1.0, 3.0):
        optimizer.tell(point, value, resource=81)
    assert len(optimizer.history_) == 1
    assert optimizer.best_value_ == 3.0


def test_a_point_told_in_full_is_not_asked_with_less():
    optimizer = optimizer_of(horizon=30)
    point = {"x": 0.35, "y": 0.35}
    optimizer.tell(point, 5.0)
    optimizer.tell(point, 1.0, resource=9)
    assert optimizer.best_value_ == 5.0
    assert all(step(optimizer)[0] != point for _ in range(30))
    assert optimizer.history_[0]["value"] == 5.0
    assert optimizer.history_[0]["value_std"] == 0.0


def test_results_of_a_search_are_those_of_full_evaluations():
    results = {
        "params": [{"x": 0.1, "y": 0.1}, {"x": 0.2, "y": 0.2}, {"x": 0.1, "y": 0.1}],
        "mean_test_score": [math.nan, 1.0, 2.0],
        "resource_score": [0.5, 1.0, 2.0],
        "n_resources": [9, 81, 81],
        "iter": [0, 2, 2],
    }
    optimizer = Optimizer.from_cv_results(results, SPACE)
    assert optimizer.best_value_ == 2.0
    assert [record["value"] for record in optimizer.history_] == [1.0, 2.0]


def test_constraints_hold_at_all_rungs():
    def allowed(params):
        return params["x"] + params["y"] < 1

    optimizer = optimizer_of(policy="robust", constraints=allowed)
    asked = [step(optimizer) for _ in range(25)]
    assert {amount for _, amount in asked} == set(AMOUNTS)
    assert all(allowed(params) for params, _ in asked)
    other = read_back(optimizer, constraints=allowed)
    assert other.ask(2, return_resource=True) == optimizer.ask(2, return_resource=True)


def test_a_small_space_is_not_exhausted_while_values_are_due():
    optimizer = optimizer_of({"a": [1, 2, 3]}, resources=[9, 81])
    asked = optimizer.ask(3, return_resource=True)
    assert [amount for _, amount in asked] == [9, 9, 9]
    with pytest.raises(SpaceExhausted):
        optimizer.ask(return_resource=True)
    for params, _ in asked:
        optimizer.tell(params, float(params["a"]), resource=9)
    assert optimizer.ask(return_resource=True) == ({"a": 3}, 81)
    risen = optimizer.ask(2, return_resource=True)
    assert risen == [({"a": 2}, 81), ({"a": 1}, 81)]


# States -------------------------------------------------------------------------------


BRANCHES = [{"x": Real(0, 1)}, {"z": [1, 2, 3, 4]}]


@pytest.mark.parametrize(
    ("policy", "space"),
    [*((policy, SPACE) for policy in available()), ("robust", BRANCHES)],
)
def test_a_state_with_values_due_goes_on_the_same(policy, space):
    optimizer = optimizer_of(space, policy, n_initial_points=4)
    waiting = []
    for i in range(14):
        other = read_back(optimizer)
        asked = optimizer.ask(return_resource=True)
        assert other.ask(return_resource=True) == asked
        waiting.append(asked)
        if i % 3:  # two or three are due at a time
            params, amount = waiting.pop(0)
            optimizer.tell(params, plain(params, amount), resource=amount)
        while len(waiting) > 2:
            params, amount = waiting.pop()
            optimizer.tell(params, plain(params, amount), resource=amount)
    other = read_back(optimizer)
    for params, amount in waiting:
        for each in (optimizer, other):
            each.tell(params, plain(params, amount), resource=amount)
    assert [r["value"] for r in other.history_] == [
        r["value"] for r in optimizer.history_
    ]
    assert other._rungs.in_use == optimizer._rungs.in_use


def state_of_one():
    optimizer = optimizer_of()
    optimizer.tell({"x": 0.5, "y": 0.5}, 1.0, resource=9)
    return json.loads(json.dumps(optimizer.to_dict()))


@pytest.mark.parametrize("std", [-1.0, math.nan, math.inf, True, "0", None])
def test_a_state_with_an_impossible_error_of_a_rung_is_refused(std):
    state = state_of_one()
    state["trials"][0]["rungs"][0]["std"] = to_json(std)
    with pytest.raises(ValueError, match="state"):
        Optimizer.from_dict(state)


def test_a_state_with_a_rung_twice_is_refused():
    state = state_of_one()
    state["trials"][0]["rungs"] *= 2
    with pytest.raises(ValueError, match="state"):
        Optimizer.from_dict(state)


@pytest.mark.parametrize(
    "amounts", [None, [81, 27, 9], [27, 27], [], [0, 9], [True, 9], ["9"], 9]
)
def test_a_state_whose_amounts_do_not_fit_is_refused(amounts):
    state = state_of_one()
    state["resources"] = amounts
    with pytest.raises(ValueError, match="state"):
        Optimizer.from_dict(state)


def test_a_state_of_rungs_without_amounts_is_refused():
    state = state_of_one()
    del state["resources"]
    with pytest.raises(ValueError, match="state"):
        Optimizer.from_dict(state)


@pytest.mark.parametrize(
    "resources",
    [[], [81, 9], [9, 9], [0, 9], [-1, 9], [9, math.inf], [True, 9], 9, "9"],
)
def test_what_is_said_of_wrong_resources(resources):
    with pytest.raises(ValueError, match="'resources' of Optimizer must be a list"):
        optimizer_of(resources=resources)
