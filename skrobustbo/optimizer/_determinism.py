"""Random number streams that make every run reproducible."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """Purpose of a random number stream."""

    #: Points of the initial design and candidates of the maximiser.
    POINTS = 0
    #: Starts and draws of the likelihood fits.
    MODELS = 1
    #: Draws from the models, to estimate the remaining gain.
    DRAWS = 2


def stream(
    seed: int, branch: int, ask: int, purpose: Purpose = Purpose.POINTS
) -> np.random.Generator:
    """Return the random number stream for one purpose.

    Equal arguments give equal streams, so no generator state has to be stored.
    Different branches and different seeds never share a stream.
    """
    return np.random.default_rng([seed, ask, purpose, branch])
