"""Are the values mostly noise? Where the evidence for it is strong, how much of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from skrobustbo.surrogate._likelihood import LengthScaleLikelihood, fit_length_scale

Array = NDArray[np.float64]

#: Deviations of the noise that are looked for, in those of the model's prior. Below,
#: ripples and steps of an objective would be taken for noise, and smoothed away.
BOUNDS = (0.5, 1.0)
#: Where the climb begins: length scales are no shorter than the first number.
_START_THETA, _START_NOISE = 0.3, 0.6
#: A climb gains a few nats. Where its start lacks more than that, it is not made.
_CLIMB = 4.0


def strong_noise(
    likelihood: LengthScaleLikelihood,
    theta: Array,
    bounds: tuple[float, float],
    evidence: float,
    start: tuple[Array, float] | None = None,
) -> tuple[Array, float] | None:
    """Return length scales and noise that are far more probable than those assumed.

    Parameters
    ----------
    likelihood : LengthScaleLikelihood
        One that fits the noise; its own is the one assumed.
    theta : array of shape (n_groups,)
        Length scales of highest posterior with the noise assumed.
    bounds : (float, float)
        Shortest and longest length scale allowed.
    noise_margin : float
        Nats of log posterior that the noise has to gain.
    start : (array of shape (n_groups,), float), optional
        An earlier result to begin with.

    Returns
    -------
    found : (array of shape (n_groups,), float) or None
        None if the values are not mostly noise, so far as they tell.
    """
    if likelihood.noise >= BOUNDS[0] or not len(likelihood.z):
        return None
    most = likelihood.value(np.log([*theta, likelihood.noise])) - evidence
    point = np.array([*np.maximum(theta, _START_THETA), _START_NOISE])
    if start is not None:
        point = np.array([*start[0], start[1]])
    elif likelihood.value(np.log(point)) > most + _CLIMB:
        return None
    low, high = np.full((2, len(point)), np.reshape(bounds, (2, 1)))
    low[-1], high[-1] = BOUNDS
    point = fit_length_scale(likelihood, (low, high), [point])
    if likelihood.value(np.log(point)) > most:
        return None
    return point[:-1], float(point[-1])
