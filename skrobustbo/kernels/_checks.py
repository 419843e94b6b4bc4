"""What the kernels of this package ask of their arguments."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]


def checked_columns(columns: Any, n_columns: int, name: str) -> Indices:
    """Return distinct columns of an array, those counted from its end as from 0.

    Parameters
    ----------
    columns : sequence of int
        What the user gave.
    n_columns : int
        Columns of the array.
    name : str
        How an error calls what the user gave.

    Raises
    ------
    ValueError
        If there is none, or one is no whole number, out of range or named twice.
    """
    given = list(columns) if np.iterable(columns) else []
    indices = {
        int(column) % n_columns
        for column in given
        if isinstance(column, Integral)
        and not isinstance(column, bool)
        and -n_columns <= column < n_columns
    }
    if not given or len(indices) < len(given):
        raise ValueError(
            f"Expected the {name} to be a sequence of distinct columns out of "
            f"{n_columns}, got {columns!r}; count the columns of X from 0."
        )
    return np.array(given, dtype=np.intp) % n_columns


def check_one_set(Y: Any, eval_gradient: bool) -> None:
    """Refuse gradients in the hyperparameters between two sets, as scikit-learn does.

    Raises
    ------
    ValueError
        If a gradient is asked for while `Y` is given.
    """
    if eval_gradient and Y is not None:
        raise ValueError(
            "Expected Y=None together with eval_gradient=True, got an array of shape "
            f"{np.shape(Y)}; evaluate the gradient on one set of points."
        )
