"""The cart-pole: its motion against textbook facts, its optima against a search."""

import math
import pickle

import numpy as np
import pytest
from scipy.linalg import expm, solve_continuous_lyapunov

from skrobustbo import Optimizer
from skrobustbo_benchmarks import problems
from skrobustbo_benchmarks.problems import _cart_pole
from skrobustbo_benchmarks.problems._cart_pole import _motion, _reward

BOUNDS = {"k1": (-3, -2), "k2": (-6, -4), "k3": (-50, -25), "k4": (-4, -2)}
MIDDLE = {"k1": -2.5, "k2": -5.0, "k3": -37.5, "k4": -3.0}


def test_a_still_upright_pole_stays():
    assert _motion((-2.5, -5.0, -37.5, -3.0), 0.0022)(0.0, [0.0] * 5) == [0.0] * 5


def test_motion_by_hand():
    # No feedback: the cart brakes with time constant 1 s, the pole falls freely.
    lever = 0.5 * 0.147 / (0.147**2 / 3 + 0.005**2 / 16)
    rates = _motion((0.0, 0.0, 0.0, 0.0), 0.0)(0.0, [0.0, 2.0, math.pi / 2, 0.5, 0.0])
    assert rates[:3] == [2.0, -2.0, 0.5]
    assert rates[3] == pytest.approx(lever * 9.81)
    squares = 4 + math.pi**2 / 4 + 0.25
    assert rates[4] == pytest.approx(10 * squares)
    # The bearing brakes the pole: mu w / J with J = m (l^2 / 3 + d^2 / 16).
    braked = _motion((0.0, 0.0, 0.0, 0.0), 0.0022)(0.0, [0.0, 0.0, 0.0, 1.0, 0.0])
    inertia = 0.0804 * (0.147**2 / 3 + 0.005**2 / 16)
    assert braked[3] == pytest.approx(-0.0022 / inertia)


def test_energy_of_a_free_pole_is_kept():
    from scipy.integrate import solve_ivp

    motion = _motion((0.0, 0.0, 0.0, 0.0), 0.0)
    fall = solve_ivp(motion, (0, 2), [0, 0, 0.3, 0, 0], method="DOP853", rtol=1e-10)
    lever = 0.5 * 0.147 / (0.147**2 / 3 + 0.005**2 / 16)
    energy = 0.5 * fall.y[3] ** 2 + lever * 9.81 * np.cos(fall.y[2])
    np.testing.assert_allclose(energy, energy[0], rtol=1e-7)


def test_small_motions_cost_what_linear_theory_says(monkeypatch):
    start = np.array([1e-3, 0.0, 1e-3, 0.0])
    monkeypatch.setattr(_cart_pole, "_START", tuple(start))
    gains = np.array(list(MIDDLE.values()))
    lever, slowing = _cart_pole._LEVER, 0.0022 / _cart_pole._INERTIA
    A = np.array(
        [
            [0, 1, 0, 0],
            [0, -1, 0, 0],
            [0, 0, 0, 1],
            [0, lever, lever * 9.81, -slowing],
        ]
    )
    closed = A - np.outer([0, 1, 0, -lever], gains)
    weight = 10 * np.eye(4) + np.outer(gains, gains)
    P = solve_continuous_lyapunov(closed.T, -weight)
    end = expm(20 * closed) @ start
    cost = (start @ P @ start - end @ P @ end) / 20
    assert _reward(MIDDLE, 0.0022) == pytest.approx(-cost, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("t", [1, 100])
def test_optima(t):
    problem = problems.get("cart-pole")
    value, params = problem.optimum_at(t), problem.optimum_params_at(t)
    assert problem.func(params, t) == pytest.approx(value, abs=1e-8)
    assert all(problem.func(p, t) < value for p in problem.space.sample(16, 0))
    for name, (low, high) in BOUNDS.items():
        x, step = params[name], 1e-3 * (high - low)
        inside = max(low + step, min(high - step, x))  # the middle of the difference
        up = problem.func(params | {name: inside + step}, t)
        down = problem.func(params | {name: inside - step}, t)
        slope = (up - down) / 2e-3
        if x == low:
            assert slope < -1e-3  # better only outside
        else:
            # A thousandth of the range off the peak, all that is left is curvature.
            assert abs(slope) < 1e-4
            assert max(up, down) < value


def test_the_bearing_grows_stiff_at_100():
    problem = problems.get("cart-pole")
    before, after = problem.func(MIDDLE, 99), problem.func(MIDDLE, 100)
    assert problem.func(MIDDLE, 1) == before
    assert problem.func(MIDDLE, 300) == after
    assert after == _reward(MIDDLE, 2.5 * 0.0022) < before
    loss = problem.optimum_at(100) - problem.func(problem.optimum_params_at(1), 100)
    assert loss == pytest.approx(0.117, abs=1e-3)
    assert problem.noise_std**2 == pytest.approx(0.02)


def test_works_with_the_optimizer():
    problem = pickle.loads(pickle.dumps(problems.get("cart-pole")))
    optimizer = Optimizer(problem.space, "et-gp-ucb", random_state=0)
    rng = np.random.default_rng(0)
    for t in range(1, 7):
        params = optimizer.ask()
        assert {type(gain) for gain in params.values()} == {float}
        optimizer.tell(params, problem.observe(params, rng, t))
    assert -19 < optimizer.best_value_ < -13.5
