"""Sobol sequences and space-filling designs in the unit cube."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

# scipy 1.15 renamed the argument.
_RNG = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"

#: Designs with more points than this are Sobol sequences.
MOST_DESIGNED = 32
#: Number of candidates for each column of a design, selected first by halves and then
#: by distances.
_TRIED, _COMPARED = 256, 24


def sobol(n: int, d: int, seed: int | np.random.Generator) -> NDArray[np.float64]:
    """Return the first `n` points of a scrambled Sobol sequence, shape (n, d).

    The coordinates are in [0, 1). A generator in the same state returns the same
    points.
    """
    settings: dict[str, Any] = {"scramble": True, _RNG: np.random.default_rng(seed)}
    engine = qmc.Sobol(max(d, 1), **settings)
    # A balanced power of two, then truncated: scipy warns about other numbers.
    points: NDArray[np.float64] = engine.random_base2(max(n - 1, 0).bit_length())
    return points[:n, :d]


def design(n: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a space-filling design of `n` points in [0, 1), shape (n, d).

    Up to 32 points form a Latin hypercube: each range is divided into `n` equal
    intervals, and each interval contains one point. Two ranges are *confounded* if
    every point lies in the same half of both ranges, or if every point lies in opposite
    halves. The effects of confounded ranges cannot be distinguished, so the design
    confounds as few ranges as possible. Subject to this, each column is chosen such
    that the points are far apart.
    """
    if not 0 < n <= MOST_DESIGNED:
        return sobol(n, d, rng)
    points, uses = np.empty((n, d)), dict[bytes, int]()
    apart = np.full((n, n), 1 / n**2)  # squared distances
    for column in range(d):
        tried = rng.permuted(np.tile(np.arange(n), (_TRIED, 1)), axis=1)
        tried = (tried + rng.random(tried.shape)) / n
        upper = tried >= 0.5
        patterns = [row.tobytes() for row in upper ^ upper[:, :1]]
        used = np.array([uses.get(pattern, 0) for pattern in patterns])
        rows = np.flatnonzero(used == used.min())[:_COMPARED]
        close = [(1 / (apart + (x[:, None] - x) ** 2)).sum() for x in tried[rows]]
        best = rows[np.argmin(close)]
        points[:, column] = tried[best]
        apart += (tried[best][:, None] - tried[best]) ** 2
        uses[patterns[best]] = uses.get(patterns[best], 0) + 1
    return points
