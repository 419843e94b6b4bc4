"""Points that cover the unit cube: scrambled Sobol sequences and designs."""

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
    """Return the first `n` points in `d` dimensions, shape (n, d), in [0, 1).

    To get the same points again, pass a generator in the same state.
    """
    settings: dict[str, Any] = {"scramble": True, _RNG: np.random.default_rng(seed)}
    engine = qmc.Sobol(max(d, 1), **settings)
    # A balanced power of two, then truncated: scipy warns about other numbers.
    points: NDArray[np.float64] = engine.random_base2(max(n - 1, 0).bit_length())
    return points[:n, :d]


def design(n: int, d: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return `n` points that cover the unit cube, shape (n, d), in [0, 1).

    Up to 32 points form a Latin hypercube: each of `n` equal parts of a range contains
    one point, so the halves of every range are balanced. Two ranges are *confounded*
    if, at all points, the half in one range is always the same as, or always the
    opposite of, the half in the other: their effects could then not be told apart. No
    two ranges are confounded if there are enough ways to divide the points; otherwise,
    as few as possible are. Among the columns that satisfy this, each is chosen to keep
    the points as far apart as possible.
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
