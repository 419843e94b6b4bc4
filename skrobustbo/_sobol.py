"""Points that cover the unit cube: scrambled Sobol sequences and designs."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

# scipy 1.15 has renamed the argument.
_RNG = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"

#: A design with more points than this is a Sobol sequence.
MOST_DESIGNED = 32
#: Candidates for each column of a design: first chosen by halves, then the best of them
#: by distances.
_TRIED, _COMPARED = 256, 24


def sobol(n: int, d: int, seed: int | np.random.Generator) -> NDArray[np.float64]:
    """Return the first `n` points in `d` dimensions, shape (n, d), in [0, 1).

    A generator must be in the same state to get the same points again.
    """
    settings: dict[str, Any] = {"scramble": True, _RNG: np.random.default_rng(seed)}
    engine = qmc.Sobol(max(d, 1), **settings)
    # A balanced power of two, then cut: scipy warns of other numbers.
    points: NDArray[np.float64] = engine.random_base2(max(n - 1, 0).bit_length())
    return points[:n, :d]


def design(n: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return `n` points that cover the unit cube, shape (n, d), in [0, 1).

    Up to 32 points are a Latin hypercube: each of `n` equal parts of a range has one
    point, so the halves of any two ranges are balanced. Two ranges are *confounded* if
    the halves of one are the same as those of the other, or the opposite, at all
    points: an effect of one could then be that of the other. No two are confounded if
    there are enough ways to divide the points; otherwise, as few as possible. Among the
    columns that satisfy this, each one keeps the points as far apart as possible.
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
