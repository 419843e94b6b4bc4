"""The shape of the data, which are not kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from skrobustbo._sklearn_compat import num_samples

Shape = tuple[int, int | None]


def shape_of(X: Any) -> Shape:
    """Return the number of rows and of columns, None where there are no columns."""
    shape: Sequence[int] = (
        np.shape(X[:1]) if isinstance(X, list) else getattr(X, "shape", ())
    )
    return num_samples(X), int(shape[1]) if len(shape) > 1 else None


def check_shape(X: Any, before: Shape | None) -> None:
    """Raise a ValueError if the data of `resume` have another shape than before."""
    now = shape_of(X)
    if now != before:
        raise ValueError(
            "The 'X' of RobustBayesSearchCV.resume must be that of fit, with "
            f"{_shown(before)}. Got {_shown(now)} instead; call fit for other data, "
            "with previous= to make use of this search."
        )


def _shown(shape: Shape | None) -> str:
    if shape is None:
        return "rows that are not known"
    n_rows, n_columns = shape
    return f"{n_rows} rows" + ("" if n_columns is None else f" of {n_columns} columns")
