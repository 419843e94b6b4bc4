"""Schedules for beta, the width of a confidence band in standard deviations.

The upper confidence bound is mu + beta sigma; some papers write beta**(1/2) instead of
beta. In the formulas, B is a bound on the norm of the objective, s is the standard
deviation of the noise, and I is the information gain of the points seen so far. The
band holds with probability 1 - delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from skrobustbo._arrays import Array
from skrobustbo._names import wrong
from skrobustbo.kernels import smoothness
from skrobustbo.surrogate import Posterior

#: The gain is submodular: greedy selection reaches this share of the maximum.
GREEDY_SHARE = 1 - 1 / math.e


def greedy_gain(kernel: Kernel, points: Array, n: int, noise: float) -> float:
    """Return the information gain of `n` greedily chosen points.

    The gain is 1/2 log|I + K/s**2|. In each step, the point with the largest posterior
    variance is chosen, using a pivoted Cholesky decomposition of K + s**2 I. Because of
    the noise, a point may be chosen more than once.
    """
    variance = np.array(kernel.diag(points), dtype=float)
    rows = np.empty((n, len(points)))  # row i: covariance with choice i, whitened
    gain = 0.0
    for i in range(n):
        chosen = int(np.argmax(variance))
        pivot = variance[chosen] + noise**2
        gain += 0.5 * math.log(pivot / noise**2)
        covariance = kernel(points[chosen : chosen + 1], points)[0]
        covariance -= rows[:i, chosen] @ rows[:i]
        rows[i] = covariance / math.sqrt(pivot)
        variance = np.maximum(variance - rows[i] ** 2, 0.0)
    return gain


def bound_gain(kernel: Kernel, points: Array, n: int, noise: float) -> float:
    """Return an upper bound on the information gain of any `n` of the points.

    The information gain is submodular, so greedy selection reaches at least 1 - 1/e of
    the maximum. If the points are a sample from a space, the result is an estimate of
    the bound for the space.
    """
    return greedy_gain(kernel, points, n, noise) / GREEDY_SHARE


def log_beta(t: int, c1: float = 0.8, c2: float = 4.0) -> float:
    """Return beta = sqrt(max(0, c1 ln(c2 t))), the logarithmic schedule.

    The schedule is from Brunzema et al., "Event-triggered time-varying Bayesian
    optimization", section 6.
    """
    return math.sqrt(max(0.0, c1 * math.log(c2 * t)))


def igp_beta(norm: float, noise: float, gain: float, delta: float) -> float:
    """Return B + s sqrt(2 (I + 1 + ln(1/delta))) (Chowdhury and Gopalan 2017).

    This is the published form of the formula. For a posterior regularised by s**2, it
    is a valid bound only if s >= 1.
    """
    return norm + noise * math.sqrt(2 * (gain + 1 + math.log(1 / delta)))


def a_gp_beta(norm: float, noise: float, gain: float, delta: float) -> float:
    """Return B + 4 s sqrt(I + 1 + ln(1/delta)) (Berkenkamp et al. 2019, Lemma 1)."""
    return norm + 4 * noise * math.sqrt(gain + 1 + math.log(1 / delta))


def self_normalised_beta(norm: float, gain: float, delta: float) -> float:
    """Return B + sqrt(2 (I + ln(1/delta))) (Abbasi-Yadkori 2013).

    The bound is valid for the posterior used here and any noise level.
    """
    return norm + math.sqrt(2 * (gain + math.log(1 / delta)))


def bayes_finite_beta(n_points: int | None, t: int, delta: float) -> float:
    """Return sqrt(2 ln(m pi**2 t**2 / (6 delta))) for a space of m points.

    The objective must be a sample from the Gaussian process. The formula is from Ziomek
    et al., "Beyond lengthscales", Theorem 3.1, which has 3 instead of 6 because it uses
    only half of delta for the band. A ValueError is raised if `n_points` is None, which
    means infinitely many points.
    """
    if n_points is None:
        raise ValueError(
            "The 'beta' of a policy may be 'bayes-finite' in finite spaces only. Got "
            "an infinite space instead; use 'bayes-continuous'."
        )
    return math.sqrt(2 * math.log(n_points * math.pi**2 * t**2 / (6 * delta)))


def bayes_continuous_beta(
    d: int, t: int, delta: float, *, a: float = 1.0, b: float = 1.0, r: float = 1.0
) -> float:
    """Return beta for an objective that is a Gaussian process sample on [0, r]^d.

    The formula is sqrt(2 ln(pi**2 t**2 / (3 delta)) + 2 d ln(d t**2 b r sqrt(ln(2 d a /
    delta)))), from Ziomek et al., "Beyond lengthscales", Theorem 3.2. The formula
    printed in their Theorem 4.2B is smaller. The argument of the second logarithm is
    the number of grid points along one parameter, so it is set to at least 1. Each
    partial derivative is assumed to exceed L with a probability of at most a exp(-L**2
    / b**2).
    """
    slope = b * math.sqrt(max(0.0, math.log(2 * d * a / delta)))
    grid = max(1.0, d * t**2 * r * slope)
    return math.sqrt(
        2 * math.log(math.pi**2 * t**2 / (3 * delta)) + 2 * d * math.log(grid)
    )


def bayes_changing_beta(d: int, t: int, delta: float) -> float:
    """Return beta for a Gaussian process on the unit cube that changes over time.

    With p = pi**2 t**2 / (3 delta), the formula is sqrt(2 ln(2 p) + 2 d ln(d t**2
    sqrt(ln(2 d p)))). It is from Brunzema et al., "Event-triggered time-varying
    Bayesian optimization", Theorem 1, for a_1 = b_1 = 1. As in `bayes_continuous_beta`,
    the grid has at least one point.
    """
    p = math.pi**2 * t**2 / (3 * delta)
    grid = d * t**2 * math.sqrt(max(0.0, math.log(2 * d * p)))
    return math.sqrt(2 * math.log(2 * p) + 2 * d * math.log(max(1.0, grid)))


def rate_gain(n: int, theta: float, d: int, nu: float) -> float:
    """Return the growth rate of the maximum information gain after `n` points.

    The rate is theta**-d ln(n)**(d+1) for the RBF kernel, which has an infinite `nu`,
    and theta**-d n**(d/(2 nu+d)) ln(n)**(2 nu/(2 nu+d)) for Matern kernels. For n = 0,
    it is 0. The formulas are from Ziomek et al., Proposition 2.2, with the Matern
    exponent from the proof in Appendix A.
    """
    if n == 0:
        return 0.0
    log_n = math.log(n)
    if nu == math.inf:
        return float(theta**-d * log_n ** (d + 1))
    power = d / (2 * nu + d)
    return float(theta**-d * n**power * log_n ** (1 - power))


def _rate_gain_of(posterior: Posterior, d: int) -> float:
    theta = float(posterior.candidate.kernel.length_scale)
    return rate_gain(
        posterior.n_told, theta, d, checked_smoothness(posterior.candidate.kernel)
    )


def checked_smoothness(kernel: Any) -> float:
    """Return nu of a Matern or RBF kernel, or raise a ValueError."""
    nu = smoothness(kernel)
    if nu is None:
        raise ValueError(
            "The rate of the information gain is known for the Matern and RBF kernels "
            f"only, got {kernel!r}; pass one of those."
        )
    return nu


def _bound_gain_of(posterior: Posterior, d: int) -> float:
    reference = posterior.reference_points
    if reference is None:
        raise ValueError(
            "The 'information_gain' of a policy may be 'bound' for models of points "
            "alone, on a known set of points. Got another model; use 'posterior'."
        )
    n = posterior.n_told
    return bound_gain(posterior.kernel, reference.points, n, posterior.noise)


#: The meaning of each `information_gain` setting, in a space of d parameters.
GAINS: dict[str, Callable[[Posterior, int], float]] = {
    "posterior": lambda posterior, d: posterior.information_gain,
    "rate": _rate_gain_of,
    "bound": _bound_gain_of,
}


@dataclass(frozen=True)
class WidthInputs:
    """Inputs that are available to a schedule for beta."""

    t: int  # number of the query, from 1
    delta: float
    norm: float  # B
    noise: float  # s
    gain: Callable[[], float]  # returns I; called only if a schedule needs it
    n_parameters: int
    n_points: int | None = None  # None for infinitely many


_SCHEDULES: dict[str, Callable[[WidthInputs], float]] = {
    "log": lambda band: log_beta(band.t),
    "igp": lambda band: igp_beta(band.norm, band.noise, band.gain(), band.delta),
    "a-gp": lambda band: a_gp_beta(band.norm, band.noise, band.gain(), band.delta),
    "self-normalised": lambda band: self_normalised_beta(
        band.norm, band.gain(), band.delta
    ),
    "bayes-finite": lambda band: bayes_finite_beta(band.n_points, band.t, band.delta),
    "bayes-continuous": lambda band: bayes_continuous_beta(
        band.n_parameters, band.t, band.delta
    ),
    "bayes-changing": lambda band: bayes_changing_beta(
        band.n_parameters, band.t, band.delta
    ),
}
_OF_NORM = ("igp", "a-gp", "self-normalised")


def depends_on_norm(beta: float | str) -> bool:
    """Return whether a `beta` setting depends on the norm bound."""
    return beta in _OF_NORM


def band_beta(beta: float | str, band: WidthInputs) -> float:
    """Return the value of beta for a number or the name of a schedule."""
    return _SCHEDULES[beta](band) if isinstance(beta, str) else float(beta)


def check_beta(beta: Any) -> None:
    """Raise a ValueError unless `beta` is a valid number or schedule."""
    if not (beta in _SCHEDULES if isinstance(beta, str) else 0 <= beta < math.inf):
        known = f"a finite number >= 0 or one of {sorted(_SCHEDULES)}"
        raise wrong("beta", "a policy", known, beta)
