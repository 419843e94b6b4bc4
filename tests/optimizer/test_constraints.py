"""Constraints: only feasible points are ever proposed."""

import json
import math

import numpy as np
import pytest

from runs import run
from skrobustbo import (
    Integer,
    Optimizer,
    Real,
    Space,
    SpaceExhausted,
    maximize,
    minimize,
    policies,
)
from skrobustbo.acquisition import Maximizer, _maximizer
from skrobustbo.space._cube import Constraint

SQUARE = {"x": Real(-1, 1), "y": Real(-1, 1)}


def disc(params):
    return params["x"] ** 2 + params["y"] ** 2 <= 0.5


def corner(params):
    """Larger towards a corner that is outside the disc."""
    return params["x"] + params["y"]


@pytest.mark.parametrize("name", sorted(policies.available()))
def test_every_policy_asks_feasible_points_only(name):
    optimizer = Optimizer(
        SQUARE, name, n_initial_points=4, constraints=disc, random_state=0
    )
    assert all(map(disc, run(optimizer, 7, corner)))
    assert all(map(disc, optimizer.ask(2)))


def test_the_optimum_on_the_border_is_found():
    result = maximize(corner, SQUARE, constraints=disc, n_iter=25, random_state=0)
    assert all(map(disc, result.params_history))
    assert result.fun > 0.98  # the best is 1, where x = y = 1/2
    result = minimize(corner, SQUARE, constraints=disc, n_iter=25, random_state=0)
    assert result.fun < -0.98


def test_the_predicate_sees_plain_params_and_no_point_twice():
    seen = []

    def predicate(params):
        seen.append(json.dumps(params))
        assert set(params) == {"x", "n", "c"}
        assert type(params["x"]) is float
        assert type(params["n"]) is int
        params.clear()  # it gets a copy
        return True

    space = {"x": Real(0, 1), "n": Integer(1, 9), "c": ["a", "b"]}
    optimizer = Optimizer(space, constraints=predicate, random_state=0)
    for params in run(optimizer, 12, lambda p: p["x"]):
        assert set(params) == {"x", "n", "c"}
    assert len(seen) == len(set(seen))


def rare(params):
    """True on a thousandth of the cube."""
    return all(abs(params[name] - 0.62) < 0.05 for name in "xyz")


def test_a_rare_region():
    space = {name: Real(0, 1) for name in "xyz"}

    def values(params):
        return -sum((params[name] - 0.6) ** 2 for name in "xyz")

    result = maximize(values, space, constraints=rare, n_iter=25, random_state=0)
    assert all(map(rare, result.params_history))
    assert len({json.dumps(params) for params in result.params_history}) == 25
    assert result.fun > -1e-3


def test_a_region_too_rare_to_be_found_starts_from_a_given_point():
    space = {"x": Real(0, 1), "y": Real(0, 1)}

    def thin(params):
        return abs(params["x"] - 0.5) < 1e-3 and abs(params["y"] - 0.25) < 1e-3

    with pytest.raises(ValueError, match=r"none among \d+ points tried"):
        Optimizer(space, constraints=lambda p: False)
    first = [{"x": 0.5, "y": 0.25}]
    optimizer = Optimizer(space, constraints=thin, initial_params=first, random_state=0)
    asked = run(optimizer, 12, lambda p: p["x"])
    assert all(map(thin, asked))
    assert len({json.dumps(params) for params in asked}) == 12


def test_nothing_feasible_says_how_many_were_tried():
    with pytest.raises(ValueError, match="none among 15 points tried; loosen"):
        Optimizer({"i": range(5), "c": list("abc")}, constraints=lambda p: False)
    pool = Space.from_points([{"u": 1}, {"u": 2}])
    with pytest.raises(ValueError, match="must allow some point"):
        Optimizer(pool, constraints=lambda p: p["u"] > 2)


@pytest.mark.parametrize(
    "space",
    [
        {"i": Integer(0, 9), "c": list("abc")},
        Space.from_points([{"i": i, "c": c} for i in range(10) for c in "abc"]),
        {"i": Integer(0, 99), "j": Integer(0, 99), "c": list("abc")},
    ],
    ids=["grid", "points", "larger grid"],
)
def test_finite_spaces_are_exhausted(space):
    def allowed(params):
        return params["i"] < 4 and params["c"] != "b" and params.get("j", 0) == 0

    optimizer = Optimizer(space, constraints=allowed, random_state=0)
    asked = run(optimizer, 8, lambda p: p["i"])
    assert all(map(allowed, asked))
    assert len({json.dumps(params) for params in asked}) == 8
    with pytest.raises(SpaceExhausted, match="All 8 points"):
        optimizer.ask()


def test_large_finite_spaces_are_exhausted():
    """There are too many points to count: the last ones are found by listing all."""
    space = {"i": Integer(0, 299), "j": Integer(0, 299)}
    optimizer = Optimizer(
        space,
        "random",
        constraints=lambda p: p["i"] % 100 == 0 and p["j"] % 100 == 0,
        initial_params=[{"i": 0, "j": 0}],
        random_state=0,
    )
    asked = run(optimizer, 9, lambda p: p["i"])
    assert len({json.dumps(params) for params in asked}) == 9
    with pytest.raises(SpaceExhausted):
        optimizer.ask()


def test_a_state_is_read_back_with_its_constraints():
    whole = Optimizer(SQUARE, constraints=disc, horizon=20, random_state=1)
    expected = run(whole, 14, corner)
    optimizer, asked = (
        Optimizer(SQUARE, constraints=disc, horizon=20, random_state=1),
        [],
    )
    for _ in range(14):
        asked.append(optimizer.ask())
        state = json.loads(json.dumps(optimizer.to_dict()))
        optimizer = Optimizer.from_dict(state, constraints=disc)
        optimizer.tell(asked[-1], corner(asked[-1]))
    assert asked == expected
    with pytest.raises(ValueError, match="Expected 'constraints' to be passed"):
        Optimizer.from_dict(state)
    free = Optimizer(SQUARE, random_state=0).to_dict()
    with pytest.raises(ValueError, match="Expected no 'constraints'"):
        Optimizer.from_dict(free, constraints=disc)


def test_points_given_that_violate_them():
    bad = {"x": 1.0, "y": 1.0}
    with pytest.raises(ValueError, match=r"'initial_params'.*'x': 1\.0"):
        Optimizer(SQUARE, constraints=disc, initial_params=[bad])
    optimizer = Optimizer(SQUARE, constraints=disc, random_state=0)
    optimizer.tell(bad, 2.0)  # known anyway
    assert optimizer.best_params_ == bad
    assert all(map(disc, run(optimizer, 10, corner)))


@pytest.mark.parametrize("constraints", [3, "x < 1", [disc]])
def test_constraints_must_be_callable(constraints):
    with pytest.raises(ValueError, match="must be a callable"):
        Optimizer(SQUARE, constraints=constraints)


@pytest.mark.parametrize("answer", [None, 1, 0.5, "yes", []])
def test_answers_must_be_yes_or_no(answer):
    with pytest.raises(ValueError, match="must return True or False"):
        Optimizer(SQUARE, constraints=lambda p: answer)
    Optimizer(SQUARE, constraints=lambda p: np.bool_(True))


def test_a_predicate_that_raises():
    with pytest.raises(ValueError, match=r"KeyError\('z'\) at \{'x'"):
        Optimizer(SQUARE, constraints=lambda p: p["z"] > 0)


def test_constraints_over_branches():
    space = [{"a": Real(0, 1)}, {"b": Real(0, 1)}, {"c": [1, 2]}]

    def allowed(params):
        return params.get("a", 1.0) > 0.5 and "c" not in params

    optimizer = Optimizer(space, constraints=allowed, horizon=20, random_state=0)
    asked = run(optimizer, 16, lambda p: sum(p.values()))
    assert all(map(allowed, asked))
    assert {name for params in asked for name in params} == {"a", "b"}


@pytest.mark.parametrize(
    "space", [SQUARE, {"x": Integer(-9, 9), "y": Integer(-9, 9)}], ids=["cube", "grid"]
)
def test_perturbations_stay_feasible(space):
    def half(params):
        return params["x"] <= 0.2

    region = Space(space).within(half)
    ball = region.ball(0.3)
    X = region.from_uniform(np.random.default_rng(0).random((200, 2)))
    X = X[region.allows(X)]
    around = ball(X)
    assert around.shape[0] == len(X)
    np.testing.assert_array_equal(around[:, 0], X)
    for point in around.reshape(-1, 2):
        assert half(region.decode(point))
    assert (np.abs(around - X[:, None]) > 0.1).any()


# The maximiser -----------------------------------------------------------------------


class Fixed:
    """An acquisition without a useful gradient."""

    def __init__(self, value):
        self.value = value

    def __call__(self, Z):
        return self.value(Z)

    def with_gradient(self, Z):
        return self.value(Z), np.zeros_like(Z)


@pytest.mark.parametrize("odd", [-math.inf, math.nan])
@pytest.mark.parametrize("share", [0.5, 1.0])
def test_values_that_are_no_numbers_do_not_win(odd, share):
    space = Space(SQUARE)
    argmax = Maximizer(space, rng=np.random.default_rng(0))
    x, value = argmax(Fixed(lambda Z: np.where(Z[:, 0] < share, odd, Z[:, 1])))
    assert np.array_equal(space.snap(x[None, :])[0], x)
    if share < 1:
        assert x[0] >= share
        assert value > 0.9


def test_sweeps_and_climbs_return_feasible_points():
    space = {"x": Real(0, 1), "n": Integer(0, 20), "c": list("abcd"), "k": ["only"]}

    def allowed(params):
        return params["x"] * 20 + params["n"] < 18 and params["c"] != "d"

    region = Space(space).within(allowed)
    columns = [region.columns(name)[0] for name in ("x", "n")]
    last = region.columns("c")[-1]
    for seed in range(10):
        argmax = Maximizer(region, rng=np.random.default_rng(seed))
        acq = Fixed(lambda Z: Z[:, columns].sum(axis=1) + 3 * Z[:, last])
        x, value = argmax(acq)
        assert allowed(region.decode(x))
        assert value > 0.8  # x + n / 20 < 0.9
        assert allowed(region.decode(argmax.random()))


def test_every_step_along_a_border_is_looked_at(monkeypatch):
    drawn, asked = [], []

    def spied(domain, X, rng, neighbours=_maximizer.neighbours):
        drawn.append(neighbours(domain, X, rng))
        return drawn[-1]

    class Slope:
        def __call__(self, Z):
            asked.extend(Z.tolist())
            return Z.sum(axis=1)

        def with_gradient(self, Z):
            return Z.sum(axis=1), np.ones_like(Z)

    monkeypatch.setattr(_maximizer, "neighbours", spied)
    space = Space(SQUARE).within(Constraint(disc))
    x, _ = Maximizer(space, rng=np.random.default_rng(0))(Slope())
    assert corner(space.decode(x)) > 0.99
    assert len(drawn) == 3  # after the climbs; there is no incumbent
    seen = set(map(tuple, asked))
    assert all(tuple(row) in seen for X in drawn for row in X.tolist())
