"""Validation of kernel arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skrobustbo._arrays import Indices


def checked_columns(columns: Any, n_columns: int, name: str) -> Indices:
    """Validate column indices and return them as nonnegative integers.

    Error messages refer to the argument as `name`.
    """
    given = list(columns) if np.iterable(columns) else []
    indices = {int(c) % n_columns for c in given if _is_column(c, n_columns)}
    if not given or len(indices) < len(given):
        raise ValueError(
            f"Expected {name} to be a sequence of distinct columns out of {n_columns}, "
            f"got {columns!r}; count the columns of X from 0."
        )
    return np.array(given, dtype=np.intp) % n_columns


def _is_column(value: Any, n_columns: int) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and -n_columns <= value < n_columns


def checked_sets(
    X: ArrayLike, Y: ArrayLike | None, eval_gradient: bool
) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Validate the two point sets of a kernel and return them as 2D arrays.

    As in scikit-learn's kernels, `Y` must be None if `eval_gradient` is True.
    """
    X = np.atleast_2d(X)
    if Y is None:
        return X, None
    Y = np.atleast_2d(Y)
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"Expected X and Y with equally many columns, got {X.shape[1]} and "
            f"{Y.shape[1]}; encode both in the same way."
        )
    if eval_gradient:
        raise ValueError(
            "Expected Y=None together with eval_gradient=True, got an array of shape "
            f"{Y.shape}; evaluate the gradient on one set of points."
        )
    return X, Y
