"""The points at which runs start: a scrambled Sobol sequence that never changes.

The package may change how it samples a space. What a study compares has to start where
it started before, so the laboratory draws its own points.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc
from sklearn.utils import check_random_state

from skrobustbo.space import Space

# scipy 1.15 has renamed the argument.
_RNG = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"


def sobol(n: int, d: int, seed: int) -> NDArray[np.float64]:
    """Return the first `n` points in `d` dimensions, shape (n, d), in [0, 1)."""
    settings: dict[str, Any] = {"scramble": True, _RNG: np.random.default_rng(seed)}
    engine = qmc.Sobol(max(d, 1), **settings)
    # A balanced power of two, cut: scipy warns of any other number.
    points: NDArray[np.float64] = engine.random_base2(max(n - 1, 0).bit_length())
    return points[:n, :d]


def starts(space: Space, n: int, seed: int) -> list[dict[str, Any]]:
    """Return `n` points of a space, the same ones for a seed in every version."""
    drawn = int(check_random_state(seed).randint(2**31 - 1))
    return space.decode_many(space.from_uniform(sobol(n, space.n_uniform, drawn)))
