"""Points that cover the unit cube: scrambled Sobol sequences, and designs."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

# scipy 1.15 has renamed the argument.
_RNG = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"

#: A design of more points than this is a Sobol sequence.
MOST_DESIGNED = 32
#: Columns that each column of a design is chosen from, first by halves, then of the
#: best of them by distances.
_TRIED, _COMPARED = 256, 24


def sobol(n: int, d: int, seed: int | np.random.Generator) -> NDArray[np.float64]:
    """Return the first `n` points in `d` dimensions, shape (n, d), in [0, 1).

    A generator has to be a fresh one for the same points at each call.
    """
    settings: dict[str, Any] = {"scramble": True, _RNG: np.random.default_rng(seed)}
    engine = qmc.Sobol(max(d, 1), **settings)
    # A balanced power of two, cut: scipy warns of any other number.
    points: NDArray[np.float64] = engine.random_base2(max(n - 1, 0).bit_length())
    return points[:n, :d]


def design(n: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return `n` points that cover the unit cube, shape (n, d), in [0, 1).

    Up to 32 points are a Latin hypercube: each of `n` equal parts of a range has one
    point. The halves of two ranges are thus balanced. They are *confounded* if the
    halves of one are those of the other, or the opposite ones, at all points: an effect
    of one could be that of the other. No two are, as long as there are enough ways to
    divide the points, and as few as possible otherwise. Of the columns that meet this,
    each is the one that keeps the points farthest apart.
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
