"""A pole balanced on a cart by linear feedback, whose bearing grows stiff."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from scipy.integrate import solve_ivp

from skrobustbo.space import Real, Space
from skrobustbo_benchmarks.problems._base import Params, Problem, at_least

_NAMES = ("k1", "k2", "k3", "k4")
_BOUNDS = ((-3.0, -2.0), (-6.0, -4.0), (-50.0, -25.0), (-4.0, -2.0))

_GRAVITY = 9.81  # m / s^2
_MASS = 0.0804  # of the pole, kg
_LENGTH = 0.147  # of the pole, m
_DIAMETER = 0.005  # of the pole, m
_FRICTION = 0.0022  # of the bearing, N m s
_TIME_CONSTANT = 1.0  # of the motor, s
_GAIN = 1.0  # of the motor, (m / s) per unit of the input

#: Moment of inertia of the pole, a cylinder, about its end, kg m^2.
_INERTIA = _MASS * (_LENGTH**2 / 4 + _LENGTH**2 / 12 + _DIAMETER**2 / 16)
#: Half the pole's length times its mass over its inertia, 1 / m.
_LEVER = 0.5 * _MASS * _LENGTH / _INERTIA

_START = (4.0, 0.0, 0.1, -0.01)
_SECONDS = 20.0
_STATE_WEIGHT = 10.0
_INPUT_WEIGHT = 1.0

_CHANGE = 100
_STIFFER = 2.5
_HORIZON = 300

#: The optimum before the change and from then on.
_OPTIMA = (
    (-13.892022551097, (-3.0, -5.963603971515, -34.392242880526, -3.909213029415)),
    (-14.676547872890, (-2.907893138387, -6.0, -36.940630020227, -3.282869325616)),
)


def _motion(
    gains: tuple[float, ...], friction: float
) -> Callable[[float, Any], list[float]]:
    """Return the derivative of the state and of the cost collected so far."""
    k1, k2, k3, k4 = gains

    def derivative(_: float, state: Any) -> list[float]:
        x, v, angle, omega = map(float, state[:4])
        u = -(k1 * x + k2 * v + k3 * angle + k4 * omega)
        acceleration = (_GAIN * u - v) / _TIME_CONSTANT
        torque = _LEVER * (_GRAVITY * math.sin(angle) - acceleration * math.cos(angle))
        slowing = friction / _INERTIA * omega
        squares = x * x + v * v + angle * angle + omega * omega
        cost = _STATE_WEIGHT * squares + _INPUT_WEIGHT * u * u
        return [v, acceleration, omega, torque - slowing, cost]

    return derivative


def _reward(params: Mapping[str, Any], friction: float) -> float:
    """Return minus the mean cost of an episode."""
    gains = tuple(float(params[name]) for name in _NAMES)
    episode = solve_ivp(
        _motion(gains, friction),
        (0.0, _SECONDS),
        [*_START, 0.0],
        method="DOP853",
        rtol=1e-9,
        atol=1e-9,
        t_eval=[_SECONDS],
    )
    return -float(episode.y[4, -1]) / _SECONDS


def _is_stiff(t: int) -> bool:
    return at_least("t", t, 1) >= _CHANGE


def _episode(params: Mapping[str, Any], t: int) -> float:
    """Return the reward of the episode at time t."""
    return _reward(params, _FRICTION * (_STIFFER if _is_stiff(t) else 1.0))


def _best(t: int) -> tuple[float, Params]:
    """Return the largest reward at time t and where it is reached."""
    value, gains = _OPTIMA[_is_stiff(t)]
    return value, dict(zip(_NAMES, gains, strict=True))


def cart_pole() -> Problem:
    """Return the tuning of a controller that balances a pole on a cart, 4-d, noisy.

    The state is s = (x, v, phi, w): the cart's position in m and speed, the pole's
    angle from the upright in radians, positive where it leans towards +x, and its
    speed. A motor turns the input u into the cart's acceleration, and the pole is a
    cylinder on a bearing with friction:

    - x' = v, v' = a = (K u - v) / T1,
    - phi' = w, J w' = (m l / 2) (g sin(phi) - a cos(phi)) - mu w,

    J = m (l^2 / 4 + l^2 / 12 + d^2 / 16), m = 0.0804 kg, l = 0.147 m, d = 0.005 m, mu =
    0.0022 N m s, T1 = 1 s, K = 1, g = 9.81 m/s^2. The feedback is u = -(k1 x + k2 v +
    k3 phi + k4 w) with gains k1 in [-3, -2], k2 in [-6, -4], k3 in [-50, -25] and k4 in
    [-4, -2]. An episode starts at s = (4, 0, 0.1, -0.01) and lasts 20 s; no gains of
    the domain let the pole fall.

    The reward is minus the mean over the episode of 10 |s|^2 + u^2, without discount,
    integrated along with the motion by an eighth-order Runge-Kutta method to a relative
    1e-9; -13.9 to -19 at first. From t = 100 on, the friction mu is 2.5 times larger.
    Gaussian noise of variance 0.02; 300 steps are a run.

    The optima, -13.8920 and from t = 100 -14.6765, are the best of six bounded
    quasi-Newton ascents (L-BFGS-B) from uniform starts, all of which ended within 1e-11
    of each other. After the change, the first optimum loses 0.117 to the second.

    Returns
    -------
    Problem
        Without candidates: the source estimates the length scales.

    Notes
    -----
    Brunzema, von Rohr, Solowjow and Trimpe, "Event-triggered time-varying Bayesian
    optimization", TMLR 2025, section 6 and appendix A.3: the domain, the change, the
    noise and the horizon. The pole, the motor, the start and the weights are those of
    Brunzema, von Rohr and Trimpe, "On controller tuning with time-varying Bayesian
    optimization", CDC 2022, to which it refers.

    A **reconstruction** in three points: the motion is the nonlinear one in continuous
    time, where the second source's code has its linearisation in steps of 0.02 s (the
    costs differ by some percent); the episode itself is free of noise, so that the
    optimum is known; and the reward is not standardised (the first source does not say
    how it is).
    """
    bounds = zip(_NAMES, _BOUNDS, strict=True)
    return Problem(
        name="cart-pole",
        space=Space({name: Real(low, high) for name, (low, high) in bounds}),
        func=_episode,
        source="minus the mean quadratic cost of 20 s of a cart-pole under linear "
        "feedback, bearing friction x 2.5 from t = 100 (after Brunzema et al. 2025, "
        "app. A.3)",
        noise_std=math.sqrt(0.02),
        horizon=_HORIZON,
        optimum_over_time=_best,
    )
