"""Equal runs anywhere: named streams of random numbers, and one BLAS thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import numpy as np

from skrobustbo._threads import limited_threads


class Purpose(IntEnum):
    """What a stream is for."""

    #: Points of the initial design, and the candidate points of the maximiser.
    POINTS = 0
    #: Starts and draws of the likelihood fits.
    MODELS = 1


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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run the body with one BLAS thread: a hand-over costs more than small matrices.

    It also makes results the same on any number of cores.
    """
    with limited_threads():
        yield
