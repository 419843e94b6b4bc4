"""Named streams of random numbers, so that a run can be repeated anywhere."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """The purpose of a stream."""

    #: Points of the initial design and candidates of the maximiser.
    POINTS = 0
    #: Starts and draws of the likelihood fits.
    MODELS = 1
    #: Draws from the models, to estimate the remaining gain.
    DRAWS = 2


def stream(
    seed: int, branch: int, ask: int, purpose: Purpose = Purpose.POINTS
) -> np.random.Generator:
    """Return the random stream for one purpose; equal arguments give equal streams.

    No generator state has to be stored. Branches and seeds never share a stream.
    """
    return np.random.default_rng([seed, ask, purpose, branch])
