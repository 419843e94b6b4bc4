"""Widths of the confidence band: beta in mu + beta sigma.

Here beta multiplies the deviation; papers that write beta**(1/2) sigma mean the same.
Notation: B bounds the objective's norm, s is the noise's standard deviation, I the
information gain of the points seen, 1 - delta the band's probability.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from skrobustbo.kernels import smoothness
from skrobustbo.surrogate import Posterior


def constant_beta(beta: float) -> float:
    """Return `beta` at every step, as the length-scale balancing paper's code does."""
    return beta


def log_beta(t: int, c1: float = 0.8, c2: float = 4.0) -> float:
    """Return the logarithmic schedule, beta**2 = max(0, c1 ln(c2 t)).

    Brunzema et al., event-triggered time-varying BO, section 6.
    """
    return math.sqrt(max(0.0, c1 * math.log(c2 * t)))


def igp_beta(norm: float, noise: float, gain: float, delta: float) -> float:
    """Return B + s sqrt(2 (I + 1 + ln(1/delta))) (Chowdhury and Gopalan 2017).

    As the papers print it: with a posterior regularised by s**2 it bounds only for
    s >= 1.
    """
    return norm + noise * math.sqrt(2 * (gain + 1 + math.log(1 / delta)))


def a_gp_beta(norm: float, noise: float, gain: float, delta: float) -> float:
    """Return B + 4 s sqrt(I + 1 + ln(1/delta)) (Berkenkamp et al. 2019, Lemma 1)."""
    return norm + 4 * noise * math.sqrt(gain + 1 + math.log(1 / delta))


def self_normalised_beta(norm: float, gain: float, delta: float) -> float:
    """Return B + sqrt(2 (I + ln(1/delta))) (Abbasi-Yadkori 2013).

    The one that holds for our posterior, whatever the noise.
    """
    return norm + math.sqrt(2 * (gain + math.log(1 / delta)))


def rate_gain(n: int, theta: float, d: int, nu: float) -> float:
    """Return the growth rate of the maximum information gain after `n` points.

    Ziomek et al., Proposition 2.2, with the Matern exponent of its proof
    (Appendix A): theta**-d ln(n)**(d+1) for RBF (`nu` infinite), and
    theta**-d n**(d/(2 nu+d)) ln(n)**(2 nu/(2 nu+d)) for Matern. Zero for n = 0.

    Parameters
    ----------
    n : int
        Number of points.
    theta : float
        Length scale in unit-cube coordinates.
    d : int
        Dimension.
    nu : float
        Smoothness of the kernel.
    """
    if n == 0:
        return 0.0
    log_n = math.log(n)
    if nu == math.inf:
        return float(theta**-d * log_n ** (d + 1))
    power = d / (2 * nu + d)
    return float(theta**-d * n**power * log_n ** (1 - power))


def _posterior_gain(posterior: Posterior, d: int) -> float:
    return posterior.information_gain


def _rate_gain_of(posterior: Posterior, d: int) -> float:
    theta = float(posterior.candidate.kernel.length_scale)
    return rate_gain(
        posterior.n_told, theta, d, checked_smoothness(posterior.candidate.kernel)
    )


def checked_smoothness(kernel: Any) -> float:
    """Return nu of a Matern or RBF kernel; ValueError for any other."""
    nu = smoothness(kernel)
    if nu is None:
        raise ValueError(
            "The rate of the information gain is known for the Matern and RBF kernels "
            f"only, got {kernel!r}; pass one of those."
        )
    return nu


_GAINS: dict[str, Callable[[Posterior, int], float]] = {
    "posterior": _posterior_gain,
    "rate": _rate_gain_of,
}

_SCHEDULES: dict[str, Callable[[int, Posterior, float, float], float]] = {
    "log": lambda t, p, gain, delta: log_beta(t),
    "igp": lambda t, p, gain, delta: igp_beta(
        p.candidate.norm_bound, p.noise, gain, delta
    ),
    "a-gp": lambda t, p, gain, delta: a_gp_beta(
        p.candidate.norm_bound, p.noise, gain, delta
    ),
    "self-normalised": lambda t, p, gain, delta: self_normalised_beta(
        p.candidate.norm_bound, gain, delta
    ),
}


def resolve_beta(
    beta: float | str,
    *,
    t: int,
    posterior: Posterior,
    n_parameters: int,
    delta: float,
    information_gain: str,
) -> float:
    """Return the number that a `beta` setting stands for at query `t`."""
    if not isinstance(beta, str):
        return constant_beta(float(beta))
    gain = _GAINS[information_gain](posterior, n_parameters)
    return _SCHEDULES[beta](t, posterior, gain, delta)


def check_beta(beta: Any, information_gain: str, delta: float) -> None:
    """Raise a ValueError for settings that `resolve_beta` would not understand."""
    number = isinstance(beta, int | float) and not isinstance(beta, bool) and beta >= 0
    if not number and beta not in _SCHEDULES:
        raise ValueError(
            f"The 'beta' of a policy must be a number >= 0 or one of "
            f"{sorted(_SCHEDULES)}. Got {beta!r} instead."
        )
    if information_gain not in _GAINS:
        raise ValueError(
            f"The 'information_gain' of a policy must be one of {sorted(_GAINS)}. "
            f"Got {information_gain!r} instead."
        )
    if not 0 < delta < 1:
        raise ValueError(
            f"The 'delta' of a policy must be between 0 and 1. Got {delta!r} instead."
        )
