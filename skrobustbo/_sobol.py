"""Scrambled Sobol sequences."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import qmc

# scipy 1.15 has renamed the argument.
_RNG = "rng" if "rng" in inspect.signature(qmc.Sobol).parameters else "seed"


def sobol(n: int, d: int, seed: int | np.random.Generator) -> NDArray[np.float64]:
    """Return the first `n` points in `d` dimensions, shape (n, d), in [0, 1).

    A generator has to be a fresh one for the same points at each call.
    """
    settings: dict[str, Any] = {"scramble": True, _RNG: np.random.default_rng(seed)}
    engine = qmc.Sobol(max(d, 1), **settings)
    # A balanced power of two, cut: scipy warns of any other number.
    points: NDArray[np.float64] = engine.random_base2(max(n - 1, 0).bit_length())
    return points[:n, :d]
