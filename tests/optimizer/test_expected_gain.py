"""`expected_gain`: the expected gain of a few more candidates."""

import json
import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

import inside
from skrobustbo import Integer, Optimizer, Real
from skrobustbo.optimizer import _branch
from skrobustbo.optimizer._gains import DRAWS, Outlook, expected_gain
from skrobustbo.policies import GPUCB, available

LINE = {"x": Real(-1, 1)}


def told(n=15, space=None, policy="robust", value=None, seed=0, **settings):
    optimizer = Optimizer(space or LINE, policy, random_state=seed, **settings)
    value = value or (lambda params: -((params["x"] - 0.3) ** 2))
    for _ in range(n):
        params = optimizer.ask()
        optimizer.tell(params, value(params))
    return optimizer


def test_the_gain_of_all_points_is_that_of_brute_force():
    """All points of the small space are chosen: a maximum of a normal vector."""
    space = {"x": Integer(0, 11)}
    policy = GPUCB(Matern(0.2, nu=2.5), noise=0.2, normalize_y=False)
    optimizer = told(
        5, space, policy, lambda p: 0.1 * math.sin(p["x"]), n_initial_points=3
    )
    (model,) = optimizer.models_.values()
    known = [record["params"] for record in optimizer.history_]
    new = [{"x": x} for x in range(12) if {"x": x} not in known]
    means = model.predict([optimizer.space.encode(params) for params in known])
    rows = [known[int(np.argmax(means))], *new]
    rows = [optimizer.space.encode(params) for params in rows]
    mean, covariance = model.predict(rows, return_cov=True)
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(mean, covariance, 100_000, method="cholesky")
    gains = np.maximum(draws[:, 1:].max(axis=1) - draws[:, 0], 0.0)
    error = gains.std() / math.sqrt(DRAWS)
    assert gains.mean() > 6 * error
    assert abs(optimizer.expected_gain(500) - gains.mean()) < 3 * error


@pytest.mark.parametrize("policy", ["robust", "he-gp-ucb"])
def test_more_candidates_gain_more(policy):
    space = {"x": Real(-1, 1), "y": Real(-1, 1)}
    optimizer = told(9, space, policy, lambda p: math.cos(5 * p["x"]) - p["y"] ** 2)
    gains = [optimizer.expected_gain(n) for n in (1, 2, 5, 20, 500, 2**53)]
    assert 0 < gains[0] < gains[3]
    assert gains == sorted(gains)
    assert optimizer.expected_gain() == gains[3]


def test_nothing_is_gained_where_every_point_is_told():
    optimizer = told(8, {"x": Integer(0, 7)}, value=lambda p: math.sin(p["x"]))
    assert optimizer.expected_gain() == 0.0


def test_equal_values_promise_no_gain_in_units_of_none():
    assert 0 <= told(value=lambda params: 1e9).expected_gain() < math.inf


def test_the_gain_is_in_units_of_the_objective():
    one, thousand = (
        told(value=lambda p, u=u: u * math.cos(9 * p["x"])) for u in (1.0, 1000.0)
    )
    for noise in (0.0, 0.1):
        gain = one.expected_gain(noise=noise)
        assert gain > 0
        found = thousand.expected_gain(noise=1000 * noise)
        np.testing.assert_allclose(found, 1000 * gain, rtol=1e-3)


def test_what_noise_explains_is_nothing_to_gain():
    rng = np.random.default_rng(0)

    def value(params):
        return 0.02 * float(rng.normal()) - params["x"] ** 2

    optimizer = told(30, policy="map-gp-ucb", value=value)
    assert optimizer.expected_gain(noise=0.02) < 0.5 * optimizer.expected_gain()


def test_a_gain_falls_as_the_search_goes_on():
    early, late = (
        told(n, value=lambda p: math.cos(9 * p["x"])).expected_gain() for n in (6, 30)
    )
    assert late < 0.1 * early


def test_asking_for_a_gain_changes_nothing():
    asked, plain = Optimizer(LINE, random_state=0), Optimizer(LINE, random_state=0)
    for _ in range(12):
        params = asked.ask()
        assert plain.ask() == params
        for optimizer in (asked, plain):
            optimizer.tell(params, -((params["x"] - 0.3) ** 2))
        before = json.dumps(asked.to_dict())
        assert asked.expected_gain() == asked.expected_gain()
        asked.expected_gain(5, noise=0.1)
        assert json.dumps(asked.to_dict()) == before
    again = Optimizer.from_dict(json.loads(before))
    assert again.expected_gain() == asked.expected_gain() < math.inf


@pytest.mark.parametrize(
    "space",
    [
        {"x": Real(-1, 1), "k": Integer(0, 5)},
        {"x": Integer(0, 999), "k": ["u", "v"]},
        {"x": Integer(0, 99), "k": Integer(0, 9999)},
    ],
)
def test_only_new_feasible_points_are_looked_at(space, monkeypatch):
    seen = []

    def outlook(posterior, models, X, normals):
        seen.append(X)
        return original(posterior, models, X, normals)

    original = _branch.outlook
    monkeypatch.setattr(_branch, "outlook", outlook)

    def low(params):
        return params["x"] < 50

    optimizer = told(12, space, value=lambda p: p["x"] / 99, constraints=low)
    assert 0 <= optimizer.expected_gain() < math.inf
    known = [record["params"] for record in optimizer.history_]
    for X in seen:
        assert 50 < len(X) <= 512
        points = [optimizer.space.decode(x) for x in X]
        assert all(map(low, points))
        assert not [point for point in points if point in known]


@pytest.mark.parametrize("name", available())
def test_every_policy_has_a_gain_or_says_why_not(name):
    optimizer = told(2, policy=name)
    if optimizer.policy.seeks_maximum:
        assert optimizer.expected_gain() == math.inf
        assert 0 <= told(9, policy=name).expected_gain(noise=0.01) < math.inf
    else:
        with pytest.raises(ValueError, match=r"maximum of a fixed .*an expected gain"):
            optimizer.expected_gain()


def test_errors():
    with pytest.raises(ValueError, match="at least one finite value"):
        told(0).expected_gain()
    for n in (0, -1, 1.5, "x", None):
        with pytest.raises(ValueError, match=r"'n' of expected_gain must be"):
            told(5).expected_gain(n)
    for noise in (-0.1, math.nan, math.inf, "x", None):
        with pytest.raises(ValueError, match=r"'noise' of expected_gain must be"):
            told(5).expected_gain(noise=noise)


# Several branches --------------------------------------------------------------------


def level(best, found):
    return Outlook(np.full(DRAWS, best), np.full(DRAWS, found))


def test_gains_of_branches_by_hand():
    # According to the worse model, branch 0 has reached 3, and branch 1 only 1.
    branches = [[level(4.0, 4.5), level(3.0, 3.5)], [level(1.0, 3.2), level(2.0, 2.5)]]
    # 0.5 in branch 0, and 3.2 against 3 in branch 1.
    assert expected_gain(branches) == pytest.approx(0.7)
    assert expected_gain([[level(2.0, 1.0)]]) == 0.0
    nothing = -np.inf
    assert expected_gain([[level(2.0, nothing)], [level(nothing, 2.5)]]) == 0.5


def test_what_is_reached_elsewhere_counts():
    """A branch that is far behind adds nothing."""
    space = [{"kind": [kind], "x": Real(0, 1)} for kind in ("a", "b")]

    def value(gap):
        return lambda p: math.cos(9 * p["x"]) - gap * (p["kind"] == "b")

    even, behind = (told(12, space, value=value(gap)) for gap in (0.0, 50.0))
    alone = inside.branch_of(behind, 0).outlooks(behind._n_asked, 20, 0.0)
    assert behind.expected_gain() == pytest.approx(expected_gain([alone]))
    assert even.expected_gain() > 0


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_branch_that_only_fails_does_not_prevent_a_gain(noise):
    space = [{"kind": [kind], "x": Real(0, 1)} for kind in ("a", "b")]
    optimizer = told(2, space, value=lambda p: 1.0)
    assert optimizer.expected_gain() == math.inf
    optimizer = told(
        12, space, value=lambda p: math.nan if p["kind"] == "b" else -p["x"]
    )
    assert 0 <= optimizer.expected_gain(noise=noise) < 5.0
