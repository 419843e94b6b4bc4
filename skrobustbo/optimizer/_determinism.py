"""Equal runs anywhere: named streams of random numbers."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What a stream is for."""

    #: Points of the initial design, and the candidate points of the maximiser.
    POINTS = 0
    #: Starts and draws of the likelihood fits.
    MODELS = 1
    #: Draws from the models, to say what is left to gain.
    DRAWS = 2


def stream(
    seed: int, branch: int, ask: int, purpose: Purpose = Purpose.POINTS
) -> np.random.Generator:
    """Return the stream of random numbers of one purpose, the same at each call.

    There is no generator whose state would have to be kept: the same four numbers give
    the same stream, and no two branches or seeds share one.

    Parameters
    ----------
    seed : int
        Seed of the optimizer, from 0 to 2**31 - 1.
    branch : int
        Position of the branch.
    ask : int
        Number of asks so far; 0 for what does not depend on it.
    purpose : Purpose, default=Purpose.POINTS
        What it is for.
    """
    return np.random.default_rng([seed, ask, purpose, branch])
