"""One contract for every policy of the registry."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from sklearn.base import clone

from runs import read_back, run, run_over_time
from skrobustbo import (
    Integer,
    Optimizer,
    Real,
    Space,
    SpaceExhausted,
    maximize,
    policies,
)
from tiers import mostly_long

#: Whether models contradict the values depends on the initial design, which is
#: irrelevant here.
pytestmark = pytest.mark.filterwarnings("ignore:All candidate models contradict")

NAMES = sorted(policies.available())

SPACES = {
    "continuous": {"a": Real(-3, 3), "b": Real(1e-4, 1e2, log=True)},
    "mixed": {
        "a": Real(0, 1),
        "n": Integer(1, 500, log=True),
        "c": ["red", "green", "blue"],
        "flag": [True, False],
        "rank": [10, 2, 30],
        "law": scipy.stats.loguniform(1e-3, 1.0),
        "constant": ["only"],
    },
    "grid": {"i": Integer(0, 4), "c": ["x", "y", "z"]},
    "points": Space.from_points(
        [{"u": u, "kind": kind} for u in (0.1, 0.4, 2.5, 3.0) for kind in "pq"]
    ),
}


#: Spaces in which only some points are allowed, or with several branches.
RESTRICTED = {
    "small": (
        {"a": list("vwxyz"), "b": [True, False]},
        lambda p: p["b"] or p["a"] > "w",
    ),
    "triangle": (
        {"i": Integer(1, 8), "j": Integer(1, 8)},
        lambda p: p["i"] <= p["j"],
    ),
    "corner": (
        {"i": Integer(1, 80), "j": Integer(1, 80)},
        lambda p: p["i"] * p["j"] < 120,
    ),
    "strip": (
        {"a": Real(0, 1), "b": Real(0, 1)},
        lambda p: abs(p["a"] - p["b"]) < 0.1,
    ),
    "branches": (
        [{"a": Real(0, 1), "c": ["x"]}, {"i": Integer(1, 8), "c": ["y", "z"]}],
        lambda p: p.get("i", 0) != 3,
    ),
}


def score(params):
    total = 0.0
    for name, value in params.items():
        number = value if isinstance(value, int | float) else len(str(value))
        total += math.sin(len(name) + 3 * number)
    return total


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def once(name):
    """The policy set to ask no point twice, the default of almost all."""
    policy = policies.make_policy(name)
    return policy.set_params(repeats=False) if policy.repeats else policy


@pytest.fixture(params=SPACES)
def space(request):
    return SPACES[request.param]


def test_points_are_feasible_plain_and_new(once, space):
    optimizer = Optimizer(space, once, horizon=14, random_state=0)
    n = int(min(14, optimizer.space.size))
    asked = run(optimizer, n, score)
    for params in asked:
        optimizer.space.encode(params)
        for value in params.values():
            assert type(value) in (int, float, str, bool)
    assert len({json.dumps(params) for params in asked}) == n


def test_equal_seeds_ask_equal_points(name, space):
    first, second, other = (
        run(Optimizer(space, name, horizon=12, random_state=seed), 8, score)
        for seed in (3, 3, 4)
    )
    assert first == second
    assert first != other


def test_state_round_trips_at_every_step(name, space):
    """Restoring the state after every call asks the same as an uninterrupted run."""
    n = int(min(12, Space(space).size if isinstance(space, dict) else space.size))
    whole = Optimizer(space, name, horizon=12, random_state=1)
    expected = run(whole, n, score)

    optimizer, asked = Optimizer(space, name, horizon=12, random_state=1), []
    for _ in range(n):
        asked.append(optimizer.ask())
        optimizer = read_back(optimizer)
        optimizer.tell(asked[-1], score(asked[-1]))
        optimizer = read_back(optimizer)
    assert asked == expected
    assert optimizer.best_params_ == whole.best_params_
    assert [r["model_mean"] for r in optimizer.history_][:3] == pytest.approx(
        [r["model_mean"] for r in whole.history_][:3], nan_ok=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("which", RESTRICTED)
def test_restricted_spaces_round_trip_at_every_step(once, which):
    """This includes the initial design, which is longest if little is allowed."""
    space, allowed = RESTRICTED[which]
    settings = {"horizon": 14, "n_initial_points": 8, "random_state": 1}
    n = 8 if which == "small" else 11
    expected = run(Optimizer(space, once, constraints=allowed, **settings), n, score)

    optimizer, asked = Optimizer(space, once, constraints=allowed, **settings), []
    for _ in range(n):
        asked.append(optimizer.ask())
        optimizer = reread(optimizer, allowed)
        optimizer.tell(asked[-1], score(asked[-1]))
    assert asked == expected
    assert all(map(allowed, asked))


def reread(optimizer, allowed):
    state = json.loads(json.dumps(optimizer.to_dict()))
    return Optimizer.from_dict(state, constraints=allowed)


RESUME = """
import json, math, sys
from skrobustbo import Optimizer
asked = {}
for name, state in json.load(sys.stdin).items():
    optimizer = Optimizer.from_dict(state)
    asked[name] = []
    for _ in range(4):
        params = optimizer.ask()
        asked[name].append(params)
        optimizer.tell(params, math.sin(5 * params["a"]) - params["b"])
json.dump(asked, sys.stdout)
"""


@pytest.fixture(scope="module")
def gone_on():
    """The next points of each policy, here and in a process that only has its state."""
    space, states, here = {"a": Real(0, 1), "b": Real(0, 1)}, {}, {}
    values = lambda p: math.sin(5 * p["a"]) - p["b"]  # noqa: E731
    for name in NAMES:
        optimizer = Optimizer(space, name, horizon=14, random_state=5)
        run(optimizer, 9, values)
        states[name] = optimizer.to_dict()
        here[name] = run(optimizer, 4, values)
    done = subprocess.run(
        [sys.executable, "-c", RESUME],
        input=json.dumps(states),
        capture_output=True,
        text=True,
        check=True,
    )
    return here, json.loads(done.stdout)


def test_another_process_goes_on_identically(name, gone_on):
    here, there = gone_on
    assert there[name] == here[name]


def test_batches_hold_no_duplicates(name, space):
    optimizer = Optimizer(space, name, n_initial_points=3, random_state=0)
    for params in optimizer.ask(3):
        optimizer.tell(params, score(params))
    batch = optimizer.ask(5)
    assert len({json.dumps(params) for params in batch}) == 5
    assert sum(record["pending"] for record in optimizer.history_) == 5


def test_tells_in_any_order(once, space):
    optimizer = Optimizer(space, once, n_initial_points=3, random_state=0)
    batch = optimizer.ask(3)
    for params in reversed(batch):
        optimizer.tell(params, score(params))
    batch = optimizer.ask(3)
    optimizer.tell(batch[2], score(batch[2]))
    optimizer.tell(batch[0], score(batch[0]))
    assert optimizer.ask() not in batch
    optimizer.tell(batch[1], math.nan)
    optimizer.ask()


def test_failures_are_recorded_and_avoided(once, space):
    optimizer = Optimizer(space, once, n_initial_points=3, random_state=0)
    failed = []
    for i in range(8):
        params = optimizer.ask()
        assert params not in failed
        value = [math.nan, 1.0 + i, math.inf, -math.inf][i % 4]
        optimizer.tell(params, value)
        if not math.isfinite(value):
            failed.append(params)
    reasons = [record["failed_reason"] for record in optimizer.history_]
    assert sum(reason is not None for reason in reasons) == 6
    assert optimizer.best_value_ == 6.0


def test_only_failures_so_far(name, space):
    optimizer = Optimizer(space, name, n_initial_points=3, random_state=0)
    asked = run(optimizer, 6, lambda params: math.nan)
    assert len({json.dumps(params) for params in asked}) == 6


@pytest.mark.parametrize("constant", [0.0, 1e-300, -7.5e250, 1e12])
def test_constant_values(name, constant):
    optimizer = Optimizer({"x": Real(0, 1), "y": Real(0, 1)}, name, random_state=0)
    run(optimizer, 12, lambda params: constant)
    assert optimizer.best_value_ == constant


#: Objectives on the unit square with equal values at first, or often.
SHAPES = {
    "hill": lambda p: -((p["a"] - 0.437) ** 2) - (p["b"] - 0.219) ** 2,
    "flat": lambda p: max(0.0, 0.04 + SHAPES["hill"](p)),
    "raised": lambda p: SHAPES["flat"](p) - 1.0,
    "steps": lambda p: math.ceil(8 * SHAPES["hill"](p)) / 8,
    "fails": lambda p: h if (h := SHAPES["hill"](p)) > -0.2 else math.nan,
}
UNIT = {"a": Real(0, 1), "b": Real(0, 1)}
BRANCHES = [{**UNIT, "c": ["x"]}, {"a": Real(0, 1), "b": [0.2], "c": ["y"]}]


def asked_of(name, space, values, n=8, **settings):
    optimizer = Optimizer(space, name, random_state=0, **settings)
    return run_over_time(optimizer, n, values)


@pytest.mark.parametrize("space", [SPACES["continuous"], SPACES["mixed"]])
def test_units_of_the_objective_do_not_matter(name, space):
    def asked(factor):
        return asked_of(name, space, lambda params, t: score(params) * factor)

    # Powers of two scale exactly; others only up to rounding.
    assert asked(1.0) == asked(2.0**830) == asked(2.0**-830)


@pytest.mark.parametrize("shape", SHAPES)
def test_units_do_not_matter_while_values_are_equal(name, shape):
    def asked(factor):
        values = SHAPES[shape]
        points = {"n_initial_points": 2, "horizon": 8}
        return asked_of(name, BRANCHES, lambda p, t: values(p) * factor, **points)

    assert asked(1.0) == asked(2.0**-830)


@pytest.mark.parametrize("factor", [2.0**-830, 2.0**830])
def test_large_and_small_values_can_be_written_and_read_back(name, factor):
    one = Optimizer(UNIT, name, n_initial_points=3, random_state=0)
    asked = run(one, 6, SHAPES["hill"])
    other = Optimizer(UNIT, name, n_initial_points=3, random_state=0)
    for params in asked:
        other = read_back(other)
        assert other.ask() == params
        other.tell(params, factor * SHAPES["hill"](params))


@pytest.mark.parametrize("space", [UNIT, BRANCHES], ids=["one", "branches"])
@pytest.mark.parametrize("constant", [-1e9, 3e-200])
def test_a_constant_plus_rounding_is_a_constant(name, constant, space):
    errors = np.random.default_rng(0).integers(-3, 4, 8) * np.finfo(float).eps

    def rounded(params, t):
        return constant * (1 + errors[t])

    assert asked_of(name, space, rounded) == asked_of(
        name, space, lambda params, t: constant
    )


@pytest.mark.parametrize(
    "name", mostly_long(NAMES, ["robust", "map-gp-ucb", "w-gp-ucb", "random"])
)
def test_an_offset_loses_no_more_than_the_resolution_of_floats(name):
    """An offset at most doubles the median regret of 20 seeds, or adds an ulp."""

    def regret(offset, seed):
        found = maximize(
            lambda params: offset + SHAPES["hill"](params),
            UNIT,
            n_iter=16,
            policy=name,
            random_state=seed,
        )
        return -SHAPES["hill"](found.x)

    plain, *shifted = (
        np.median([regret(offset, seed) for seed in range(20)])
        for offset in (0.0, -1e9, 1e12)
    )
    for offset, found in zip((1e9, 1e12), shifted, strict=True):
        assert found <= 2 * plain + np.spacing(offset)


def test_a_space_of_one_point(once):
    optimizer = Optimizer({"c": ["only"]}, once, random_state=0)
    assert optimizer.ask() == {"c": "only"}
    optimizer.tell({"c": "only"}, 1.0)
    with pytest.raises(SpaceExhausted, match="The only point"):
        optimizer.ask()


@pytest.mark.parametrize("which", ["grid", "points"])
def test_a_finite_space_is_exhausted_exactly(once, which):
    optimizer = Optimizer(SPACES[which], once, random_state=0)
    size = int(optimizer.space.size)
    asked = run(optimizer, size, score)
    assert len({json.dumps(params) for params in asked}) == size
    with pytest.raises(SpaceExhausted):
        optimizer.ask()


@pytest.mark.parametrize("n_initial", [2, 8])
def test_an_ask_in_vain_leaves_no_trace(once, n_initial):
    given = {"n_initial_points": n_initial, "random_state": 0}
    optimizer = Optimizer(SPACES["points"], once, **given)
    run(optimizer, 8, score)
    before = json.dumps(optimizer.to_dict())
    with pytest.raises(SpaceExhausted):
        optimizer.ask()
    assert json.dumps(optimizer.to_dict()) == before


def test_unsolicited_points_are_learnt_from(once, space):
    optimizer = Optimizer(space, once, n_initial_points=2, random_state=0)
    told = optimizer.space.sample(3, 9)
    optimizer.tell(told, [score(params) for params in told])
    for _ in range(3):
        params = optimizer.ask()
        assert params not in told
        optimizer.tell(params, score(params))


def test_settings_clone_and_repr():
    for name, cls in policies.available().items():
        policy = policies.make_policy(name)
        assert type(policy) is cls
        assert clone(policy).get_params() == policy.get_params()
        assert repr(policy).startswith(cls.__name__)


def test_a_policy_object_is_copied(name):
    policy = policies.make_policy(name)
    optimizer = Optimizer({"x": Real(0, 1)}, policy)
    assert optimizer.policy is not policy


def test_many_duplicates_told(name):
    """Telling the same point repeatedly must not break the factors."""
    optimizer = Optimizer({"x": Real(0, 1)}, name, n_initial_points=2, random_state=0)
    rng = np.random.default_rng(0)
    for _ in range(20):
        optimizer.tell({"x": 0.5}, float(rng.normal()))
    for params in optimizer.ask(3):
        assert 0 <= params["x"] <= 1
