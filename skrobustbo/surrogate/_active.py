"""The rows that a model is given where there are too many: its active set.

A factor takes memory and time in proportion to the square of its rows. So beyond
`MOST_ROWS` told points a model sees a part of them: those of highest value, where
precision matters, then those that leave the least of the space uncovered, and all that
came since these were chosen. They are chosen again when `REFRESH` more have come, so
that factors grow by rows in between.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

#: Told points up to this number are all seen.
MOST_ROWS = 2048
#: Told points between two choices.
REFRESH = 256
#: Told points that the likelihood of length scales is computed from, at most.
MOST_FITTED = 1024
#: Share of the chosen that is chosen for its values.
_BEST = 0.25
_NO_COLUMNS = np.empty(0, dtype=np.intp)


class ActiveSet:
    """The choice for each view of the told points; what depends on nothing else.

    Values enter as they were told: in the units of the model they change at every
    step, and the choice must not.

    Parameters
    ----------
    nominal : array of int, optional
        Columns in which points are equal, or at distance 1.
    """

    def __init__(self, nominal: Indices = _NO_COLUMNS) -> None:
        self._nominal = nominal
        self._kept: dict[Hashable, tuple[int, Indices]] = {}

    def rows(self, X: Array, values: Array, view: Hashable) -> Indices:
        """Return the rows of the told points that a model sees, in their order.

        Parameters
        ----------
        X : array of shape (n, n_columns)
            Told points.
        values : array of shape (n,)
            Their values, nan where there is none.
        view : hashable
            Names the points: those of one view only ever grow.

        Returns
        -------
        rows : array of shape (at most `MOST_ROWS`,)
        """
        old = chosen_at(len(X))
        if not old:
            return np.arange(len(X), dtype=np.intp)
        if view not in self._kept or self._kept[view][0] != old:
            size = MOST_ROWS - REFRESH
            kept = spread_out(X[:old], values[:old], size, self._nominal)
            self._kept[view] = old, kept
        return np.concatenate([self._kept[view][1], np.arange(old, len(X))])


def chosen_at(n: int) -> int:
    """Return how many of `n` told points there were at the latest choice (0: none)."""
    return 0 if n <= MOST_ROWS else n - 1 - (n - 1 - MOST_ROWS) % REFRESH


def latest_rows(n: int) -> Indices:
    """Return the rows that a model of a changing objective sees: the latest."""
    first = max(0, chosen_at(n) - (MOST_ROWS - REFRESH))
    return np.arange(first, n, dtype=np.intp)


def fitted_rows(n: int) -> slice:
    """Return every so-manieth of `n` rows, for a likelihood at a bounded cost."""
    return slice(None, None, max(1, -(-n // MOST_FITTED)))


def spread_out(
    X: Array, values: Array, size: int, nominal: Indices = _NO_COLUMNS
) -> Indices:
    """Return `size` rows: the best, then always the one farthest from those chosen."""
    known = np.where(np.isfinite(values), values, -np.inf)
    order = np.argsort(-known, kind="stable")
    chosen = list(order[: int(_BEST * size)])
    # Squared distances to the nearest chosen row, those of chosen rows below all.
    gaps = np.full(len(X), np.inf)
    for i in chosen:
        _narrow(gaps, X, i, nominal)
    while len(chosen) < size:
        i = int(np.argmax(gaps))
        chosen.append(i)
        _narrow(gaps, X, i, nominal)
    return np.sort(np.array(chosen, dtype=np.intp))


def _narrow(gaps: Array, X: Array, i: int, nominal: Indices) -> None:
    difference = X - X[i]
    difference[:, nominal] = difference[:, nominal] != 0
    np.minimum(gaps, np.einsum("ij,ij->i", difference, difference), out=gaps)
    gaps[i] = -1.0
